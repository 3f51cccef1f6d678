/* SPDX-License-Identifier: Apache-2.0 */
/* The binary cache, .sley: a header and the CSR arrays, ready to be read by offset.
 *
 *   0             sl_cache_header, 128 bytes
 *   128           rowptr: rows + 1 int64, rowptr[0] = 0
 *   next multiple of 64   col: nnz int32 or int64, ascending within rows
 *   next multiple of 64   val: nnz float or double
 * and nothing after. All in the byte order of the writer, which the header tells. */
#ifndef SLEY_IO_CACHE_H
#define SLEY_IO_CACHE_H

#include "io/format.h"

enum { SL_CACHE_VERSION = 1, SL_CACHE_ALIGN = 64 };

typedef struct sl_cache_header {
  unsigned char magic[8];
  uint32_t order; /* 0x01020304 as the writer's machine stores it */
  uint32_t version;
  uint32_t dtype, index; /* of sley_dtype and sley_index */
  int64_t rows, cols, nnz, entries_stored;
  int64_t file_bytes;
  int64_t reserved[7]; /* zero */
  uint64_t checksum;   /* of all bytes before, by sl_cache_checksum */
} sl_cache_header;

uint64_t sl_cache_checksum(const sl_cache_header *header);

/* The header, checked. Errors: SLEY_ERR_INPUT, SLEY_ERR_UNSUPPORTED (of another version or byte order),
 * SLEY_ERR_IO. */
sley_status sl_cache_look(const sl_file *file, sl_cache_header *header);

/* Whether a file is a cache by its first bytes. Errors: SLEY_ERR_IO. */
sley_status sl_cache_is(const sl_file *file, bool *out);

/* count + 1 row pointers from row first on, as the file has them, which need not ascend. Errors: SLEY_ERR_IO,
 * SLEY_ERR_INTERRUPTED. */
sley_status sl_cache_pointers(const sl_file *file, int64_t first, int64_t count, sl_team *team,
                              int64_t *rowptr);

/* Rows [first, first + count), which are the caller's promise, as a matrix of its own memory, repeated
 * entries summed; nothing of the other rows is looked at. Errors: SLEY_ERR_INPUT (these rows are damaged),
 * SLEY_ERR_IO (the file became another meanwhile), SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_cache_read_rows(const sl_file *file, const sl_cache_header *header, int64_t first,
                               int64_t count, sley_dtype dtype, sl_team *team, sley_matrix **out);

/* The whole matrix. Errors: those of the two. */
sley_status sl_cache_read_file(const sl_file *file, sley_dtype dtype, sl_team *team, sley_matrix **out);

#endif
