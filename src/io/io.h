/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix files: readers told apart by content, writers by the path's ending; dense .npy. */
#ifndef SLEY_IO_IO_H
#define SLEY_IO_IO_H

#include "matrix/matrix.h"

sley_status sl_matrix_read_file(const char *path, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_matrix_write_file(const sley_matrix *matrix, const char *path, sl_team *team);

sley_status sl_npy_read(const char *path, sley_dtype dtype, int64_t *rows, int64_t *cols, void **data);
sley_status sl_npy_write(const char *path, sley_dtype dtype, int64_t rows, int64_t cols, const void *data,
                         int64_t ld);

#endif
