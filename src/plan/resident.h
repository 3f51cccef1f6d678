/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's row block in device memory during planning. A device with its own memory needs the block there
 * anyway. It then finds the halo, marks what rows need and cuts parts faster than the threads of the host,
 * and the parts stay there. Only small results are copied to the host: bits of columns, counts, row pointers.
 *
 * The results equal those of the host's code in inspect.c, halo_pieces.c and parts.c, entry by entry. The
 * host's code is used on CPUs, and for blocks that the device does not take: 64-bit columns, more than four
 * columns per entry, too little memory. */
#ifndef SLEY_PLAN_RESIDENT_H
#define SLEY_PLAN_RESIDENT_H

#include "plan/inspect.h"

typedef struct sl_resident {
  sl_device *device;
  sl_block_arrays block;
  sl_colset_word *words; /* words of the set of remote columns; NULL before sl_resident_number */
} sl_resident;

/* Copies the block's row pointers and columns to the device and sets ins->resident. Leaves it NULL if the
 * device does not support this or memory is short. Waits for the rank's queue. Local. */
sley_status sl_resident_open(sl_inspection *ins);

/* Frees the memory; resident may be NULL. */
void sl_resident_close(sl_resident *resident);

/* Finds the set of remote columns and owner_nnz of an inspection whose block is resident. Local. */
sley_status sl_resident_columns(sl_inspection *ins);

/* Runs SL_OP_NEEDS. Both results are in host memory: needs has an element per row, piece one per remote
 * column. piece_row: pieces elements. Local. */
sley_status sl_resident_needs(const sl_inspection *ins, int pieces, const int64_t *piece_row, int32_t *needs,
                              int32_t *piece);

/* For callers that run other kernels on the block. upload allocates device memory, copies host memory to it
 * and sets *out to it. download copies back and waits. */
sley_status sl_resident_upload(const sl_inspection *ins, const void *host, int64_t count, size_t bytes_each,
                               void *out);
sley_status sl_resident_download(const sl_inspection *ins, void *host, const void *from, int64_t count,
                                 size_t bytes_each);

/* Uploads the set's words, which kernels need to number remote columns, unless that has been done. */
sley_status sl_resident_number(const sl_inspection *ins);

#endif
