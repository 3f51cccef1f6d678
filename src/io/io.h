/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix files: readers, chosen by the first lines, the name or all lines; writers, chosen by the path's
   ending; dense .npy. */
#ifndef SLEY_IO_IO_H
#define SLEY_IO_IO_H

#include "matrix/matrix.h"

/* How a file is to be read. */
typedef struct sl_reading {
  sley_dtype dtype;
  int64_t limit;      /* maximum number of bytes to which it may unpack, or that may come from a pipe; 0: no
                         limit */
  const char *format; /* the format that the file must have, a word of sl_format_words; NULL: detected from
                         the file */
  int base;           /* sl_base (io/format.h) */
} sl_reading;

/* Reads a matrix file of any known format, plain or compressed. Errors: SLEY_ERR_IO, SLEY_ERR_INPUT (file
 * and, for a text, line), SLEY_ERR_UNSUPPORTED (complex values), SLEY_ERR_MEMORY (also beyond the limit),
 * SLEY_ERR_ARG (an unknown format; a base for a format that prescribes it), SLEY_ERR_INTERRUPTED. */
sley_status sl_matrix_read_as(const char *path, const sl_reading *reading, sl_team *team, sley_matrix **out);

/* The words of all formats, NULL-terminated, static. */
const char *const *sl_format_words(void);
/* Returns the name of the format with that word, and the ending under which it is written; NULL if there is
 * no such format. Static. */
const char *sl_format_summary(const char *word);

/* Checks that word is NULL or names a format. Errors: SLEY_ERR_ARG. */
sley_status sl_format_check_word(const char *word);

/* Converts the record of how a matrix was read to words. */
void sl_source_tell(const sl_source *source, sley_matrix_source *out);

/* Reads from a .npz the matrix whose keys begin with prefix. */
sley_status sl_npz_read_file(const char *path, const char *prefix, sley_dtype dtype, int64_t limit,
                             sl_team *team, sley_matrix **out);

/* Writes the matrix in the format of the path's ending, compressed if .gz or .zst follows it; the file
 * appears whole or not at all. Errors: SLEY_ERR_ARG (an unknown ending; the message lists the known endings),
 * SLEY_ERR_IO, SLEY_ERR_MEMORY. */
sley_status sl_matrix_write_file(const sley_matrix *matrix, const char *path, sl_team *team);

/* Returns SLEY_ERR_ARG, with the same message, if the path's ending is unknown. */
sley_status sl_matrix_check_ending(const char *path);

/* Finds the type in which a file stores its values, if its format states one: .sley, .npz and .npy (plain or
 * compressed, .npz plain only); f32 for whole numbers up to 16 bits, else f64. *dims: 2 for a matrix, else
 * the array's number of dimensions. Errors: SLEY_ERR_UNSUPPORTED (texts, pipes, damaged files), SLEY_ERR_IO,
 * SLEY_ERR_MEMORY. */
sley_status sl_stored_type(const char *path, sley_dtype *dtype, int *dims);

/* Reads a dense array of 1 or 2 dimensions as row-major rows x cols values of dtype (a vector: rows x 1);
 * *data is from sl_alloc. Errors: SLEY_ERR_IO, SLEY_ERR_INPUT (damaged, truncated, other dimensions),
 * SLEY_ERR_UNSUPPORTED (complex values, objects, text), SLEY_ERR_MEMORY. */
sley_status sl_npy_read(const char *path, sley_dtype dtype, int64_t *rows, int64_t *cols, void **data);

/* Reads rows which[i], or first + i if which is NULL, as sl_npy_read; from a plain file in C order only these
 * rows are read. *rows, *cols: the size of the file's array. Errors also: SLEY_ERR_ARG (a row that the file
 * does not have). */
sley_status sl_npy_read_rows(const char *path, sley_dtype dtype, const int64_t *which, int64_t first,
                             int64_t count, int64_t *rows, int64_t *cols, void **data);

/* Writes rows x cols values with leading dimension ld, version 1.0 in C order; if cols is SLEY_VECTOR, an
 * array of one dimension with one value per row. The file appears whole or not at all. Errors: SLEY_ERR_ARG
 * (a negative size, ld < cols), SLEY_ERR_IO, SLEY_ERR_MEMORY. */
sley_status sl_npy_write(const char *path, sley_dtype dtype, int64_t rows, int64_t cols, const void *data,
                         int64_t ld);

#endif
