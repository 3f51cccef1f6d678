/* SPDX-License-Identifier: Apache-2.0 */
/* The binary cache, .sley: a header and the CSR arrays, which can be read by offset.
 *
 *   0             sl_cache_header, 128 bytes
 *   128           rowptr: rows + 1 int64, rowptr[0] = 0
 *   next multiple of 64   col: nnz int32 or int64, ascending within rows
 *   next multiple of 64   val: nnz float or double
 * and nothing after. All in the byte order of the writer, which the header records. */
#ifndef SLEY_IO_CACHE_H
#define SLEY_IO_CACHE_H

#include "io/format.h"

enum { SL_CACHE_VERSION = 1, SL_CACHE_ALIGN = 64 };

typedef struct sl_cache_header {
  unsigned char magic[8];
  uint32_t order; /* 0x01020304 as the writer's machine stores it */
  uint32_t version;
  uint32_t dtype, index; /* numbers of sley_dtype and sley_index */
  int64_t rows, cols, nnz, entries_stored;
  int64_t file_bytes;
  int64_t reserved[7]; /* zero */
  uint64_t checksum;   /* checksum of all bytes before it, by sl_cache_checksum */
} sl_cache_header;

uint64_t sl_cache_checksum(const sl_cache_header *header);

/* Reads and checks the header. Errors: SLEY_ERR_INPUT, SLEY_ERR_UNSUPPORTED (another version or byte order),
 * SLEY_ERR_IO. */
sley_status sl_cache_look(const sl_file *file, sl_cache_header *header);

/* Sets *out to whether a file is a cache, by its first bytes. Errors: SLEY_ERR_IO. */
sley_status sl_cache_is(const sl_file *file, bool *out);

/* Reads count + 1 row pointers, starting with row first, without checking that they ascend. Errors:
 * SLEY_ERR_IO, SLEY_ERR_INTERRUPTED. */
sley_status sl_cache_pointers(const sl_file *file, int64_t first, int64_t count, sl_team *team,
                              int64_t *rowptr);

/* Reads rows [first, first + count), a range that the caller guarantees, into a matrix with its own memory,
 * repeated entries summed; other rows are not read. Errors: SLEY_ERR_INPUT (these rows are damaged),
 * SLEY_ERR_IO (the file has changed meanwhile), SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_cache_read_rows(const sl_file *file, const sl_cache_header *header, int64_t first,
                               int64_t count, sley_dtype dtype, sl_team *team, sley_matrix **out);

/* Reads the whole matrix. Errors: as sl_cache_look and sl_cache_read_rows. */
sley_status sl_cache_read_file(const sl_file *file, sley_dtype dtype, sl_team *team, sley_matrix **out);

#endif
