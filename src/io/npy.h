/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the .npy reader and writer that other files use: the fuzz target, and the .npz writer. */
#ifndef SLEY_IO_NPY_H
#define SLEY_IO_NPY_H

#include "io/format.h"

/* Reads rows of the dense array in an input, as sl_npy_read_rows does; count < 0: all rows. *data is from
 * sl_alloc. Errors: SLEY_ERR_INPUT, SLEY_ERR_UNSUPPORTED, SLEY_ERR_MEMORY, SLEY_ERR_ARG. */
sley_status sl_npy_read_input(const sl_input *input, sley_dtype dtype, const int64_t *which, int64_t first,
                              int64_t count, int64_t *rows, int64_t *cols, void **data);

enum { SL_NPY_HEADER_ROOM = 192 };

/* Writes a version 1.0 header for an array of this element type in C order, with dims lengths (0 to 2).
 * Returns its number of bytes, a multiple of 64. */
size_t sl_npy_header(char header[SL_NPY_HEADER_ROOM], const char *type, int dims, int64_t first,
                     int64_t second);

/* The type of this machine's numbers of kind f with 2, 4 or 8 bytes, or kind i with 4 or 8, e.g. "<f4". */
const char *sl_npy_type(char kind, size_t bytes);

/* Returns the dtype in which values are written: f32 for bf16, which NumPy does not have; every bf16 number
 * is an f32 number. */
sley_dtype sl_npy_dtype(sley_dtype dtype);

#endif
