/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices that ranks read together, each rank its own rows, and operands that they write together. */
#ifndef SLEY_PARALLEL_IO_PARALLEL_IO_H
#define SLEY_PARALLEL_IO_PARALLEL_IO_H

#include "io/io.h"
#include "transport/transport.h"

/* The figures of a whole matrix that is divided among ranks. */
typedef struct sl_pio_info {
  int64_t rows, cols, nnz, entries_stored, max_row_nnz;
  sley_index index;
} sl_pio_info;

/* Reads a file, or runs a generator, on all ranks: begin (size + 1 entries) receives the partition, by equal
 * rows or by nonzeros, and *out this rank's rows, with the same bits as sl_matrix_read_as or sl_generate.
 *
 * A .sley file: every rank reads its rows. Matrix Market and edge lists: every rank parses the lines that
 * begin in its share of the bytes, and entries go to the owners of their rows; a compressed text is
 * decompressed by rank 0, which distributes it. Generators: every rank generates its share of the edges,
 * which go to the owners of their rows. Other formats: rank 0 reads the matrix and distributes its rows.
 *
 * how: the request, as in sl_matrix_read_as; *out records how the file was read.
 *
 * Errors are the errors of the whole matrix's reader, with its messages, on all ranks; also SLEY_ERR_ARG (the
 * ranks read different things). Collective. */
sley_status sl_pio_read(sl_comm *comm, const char *name, const sl_reading *how, uint64_t seed,
                        bool by_nonzeros, int64_t *begin, sl_pio_info *info, sley_matrix **out);

/* Writes rows x cols values as .npy; this rank has rows first .. first + count - 1 with leading dimension ld,
 * and the ranks' rows are all of them, each once. Every rank writes its own rows into one temporary file,
 * which is renamed once all have finished. Collective, agreed alike. Errors: SLEY_ERR_ARG, SLEY_ERR_IO; then
 * no file is left. */
sley_status sl_pio_write(sl_comm *comm, const char *path, sley_dtype dtype, int64_t rows, int64_t cols,
                         int64_t first, int64_t count, const void *data, int64_t ld);

#endif
