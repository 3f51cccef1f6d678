/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's row block in the memory of its device while it is planned. Devices with memory of their own get
 * the block anyway; once it is there they find the halo, mark what rows need and cut parts faster than the
 * threads of the host, and the parts stay there. Only what is small comes back: bits of columns, counts, row
 * pointers.
 *
 * Results are those of the host's paths in inspect.c, halo_pieces.c and parts.c, entry by entry. Those serve
 * CPUs, and blocks that do not suit: columns of 64 bits, more columns than entries, too little memory. */
#ifndef SLEY_PLAN_RESIDENT_H
#define SLEY_PLAN_RESIDENT_H

#include "plan/inspect.h"

typedef struct sl_resident {
  sl_device *device;
  sl_block_arrays block;
  sl_colset_word *words; /* of the remote columns; NULL until wanted */
} sl_resident;

/* Copies the block's rows and columns to the device: ins->resident; leaves it NULL where the block does not
 * suit or memory is short. Local. Waits for the rank's queue. */
sley_status sl_resident_open(sl_inspection *ins);

/* Gives the memory back; NULL is accepted. */
void sl_resident_close(sl_resident *resident);

/* The set of remote columns and owner_nnz of an inspection whose block is resident. Local. */
sley_status sl_resident_columns(sl_inspection *ins);

/* See SL_OP_NEEDS: both results lie in the host's memory, needs with an entry a row, piece with one a remote
 * column. piece_row: pieces entries. Local. */
sley_status sl_resident_needs(const sl_inspection *ins, int pieces, const int64_t *piece_row, int32_t *needs,
                              int32_t *piece);

/* For those that run kernels of their own on the block. *out in the device's memory gets a copy of the
 * host's; the other way waits. */
sley_status sl_resident_upload(const sl_inspection *ins, const void *host, int64_t count, size_t bytes_each,
                               void *out);
sley_status sl_resident_download(const sl_inspection *ins, void *host, const void *from, int64_t count,
                                 size_t bytes_each);

/* Sees to it that the block has its words, by which kernels number remote columns. */
sley_status sl_resident_number(const sl_inspection *ins);

#endif
