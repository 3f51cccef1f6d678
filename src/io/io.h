/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix files: readers told apart by banner, name and lines, writers by the path's ending; dense .npy. */
#ifndef SLEY_IO_IO_H
#define SLEY_IO_IO_H

#include "matrix/matrix.h"

/* Reads a matrix file of any known format, plain or compressed. Errors: SLEY_ERR_IO, SLEY_ERR_INPUT (file
 * and, for a text, line), SLEY_ERR_UNSUPPORTED (complex values), SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_matrix_read_file(const char *path, sley_dtype dtype, sl_team *team, sley_matrix **out);

/* How a file is to be read. */
typedef struct sl_reading {
  sley_dtype dtype;
  int64_t limit;      /* bytes that it may unpack to, or that come from a pipe; 0: any */
  const char *format; /* a word of sl_format_words, as it must be one of them; NULL: told by the file */
  int base;           /* sl_base (io/format.h) */
} sl_reading;

/* The same, read so. Errors also: SLEY_ERR_MEMORY beyond the limit, SLEY_ERR_ARG (an unknown format; a base
 * where the format has its own). */
sley_status sl_matrix_read_as(const char *path, const sl_reading *reading, sl_team *team, sley_matrix **out);

/* The words of all formats, NULL-terminated, static. */
const char *const *sl_format_words(void);

/* Errors: SLEY_ERR_ARG, if word is neither NULL nor names a format. */
sley_status sl_format_check_word(const char *word);

/* What a matrix was read as, in words. */
void sl_source_tell(const sl_source *source, sley_matrix_source *out);

/* The same of a .npz alone, of the matrix whose keys begin with prefix. */
sley_status sl_npz_read_file(const char *path, const char *prefix, sley_dtype dtype, int64_t limit,
                             sl_team *team, sley_matrix **out);

/* The same of a file's bytes in memory; name is for messages, and its ending counts where an ending does. */
sley_status sl_matrix_read_memory(const char *name, const void *bytes, size_t size, sley_dtype dtype,
                                  sl_team *team, sley_matrix **out);

/* Writes by the path's ending, compressed with .gz or .zst after it; the file appears whole or not at all.
 * Errors: SLEY_ERR_ARG (an unknown ending; the message lists the known ones), SLEY_ERR_IO, SLEY_ERR_MEMORY.
 */
sley_status sl_matrix_write_file(const sley_matrix *matrix, const char *path, sl_team *team);

/* SLEY_ERR_ARG, with that message, if the path's ending is none of those. */
sley_status sl_matrix_check_ending(const char *path);

/* The type in which a file stores its values, where its format carries one: .sley, .npz and .npy (plain or
 * compressed, an .npz plain); f32 for whole numbers. *dims: 2 for a matrix, else the array's. Errors:
 * SLEY_ERR_UNSUPPORTED (texts, pipes, whatever is damaged), SLEY_ERR_IO, SLEY_ERR_MEMORY. */
sley_status sl_stored_type(const char *path, sley_dtype *dtype, int *dims);

/* Reads a dense array of 1 or 2 dimensions as row-major rows x cols values of dtype (a vector: rows x 1);
 * *data is from sl_alloc. Errors: SLEY_ERR_IO, SLEY_ERR_INPUT (damaged, truncated, other dimensions),
 * SLEY_ERR_UNSUPPORTED (complex values, objects, text), SLEY_ERR_MEMORY. */
sley_status sl_npy_read(const char *path, sley_dtype dtype, int64_t *rows, int64_t *cols, void **data);

/* The same of some rows: which[i], or first + i where which is NULL; of a plain file in C order nothing else
 * is looked at. *rows, *cols: of the file. Errors also: SLEY_ERR_ARG (a row that is not in it). */
sley_status sl_npy_read_rows(const char *path, sley_dtype dtype, const int64_t *which, int64_t first,
                             int64_t count, int64_t *rows, int64_t *cols, void **data);

/* Writes rows x cols values of leading dimension ld, version 1.0 in C order; cols SLEY_VECTOR: one value a
 * row, as an array of one dimension. The file appears whole or not at all. Errors: SLEY_ERR_ARG (a negative
 * size, ld < cols), SLEY_ERR_IO, SLEY_ERR_MEMORY. */
sley_status sl_npy_write(const char *path, sley_dtype dtype, int64_t rows, int64_t cols, const void *data,
                         int64_t ld);

#endif
