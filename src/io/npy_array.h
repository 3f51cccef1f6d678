/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's array format (.npy, also inside .npz): the header, and the elements as values or whole numbers.
 * Source: NumPy Enhancement Proposal 1 and numpy.lib.format, versions 1.0 to 3.0. */
#ifndef SLEY_IO_NPY_ARRAY_H
#define SLEY_IO_NPY_ARRAY_H

#include "base/status.h"

enum {
  SL_NPY_PREFIX = 12,      /* bytes that contain the header's length */
  SL_NPY_DIMS = 8,         /* most dimensions that are accepted */
  SL_NPY_HEADER = 1 << 20, /* bytes of the longest header that is accepted */
};

typedef struct sl_npy_array {
  char kind;          /* f, i, u, b (bool), S (bytes), U (UCS-4), as in NumPy */
  int64_t bytes_each; /* bytes of one element */
  bool swapped;       /* the elements' byte order is not this machine's */
  bool fortran;       /* Fortran order: the first index varies fastest */
  int dims;
  int64_t shape[SL_NPY_DIMS];
  int64_t count;       /* number of elements */
  int64_t data_offset; /* offset of the elements from the start of the array, in bytes */
} sl_npy_array;

/* Computes *offset, the offset of the elements, from the first SL_NPY_PREFIX bytes; size: number of bytes
 * present. Errors: SLEY_ERR_INPUT with the name. */
sley_status sl_npy_offset(const char *name, const uint8_t *bytes, size_t size, int64_t *offset);

/* Parses the header; bytes must hold everything before the elements, size is their number. Errors:
 * SLEY_ERR_INPUT (not an array), SLEY_ERR_UNSUPPORTED (complex, objects, structures, dates). */
sley_status sl_npy_parse(const char *name, const uint8_t *bytes, size_t size, sl_npy_array *out);

/* Return whether the elements are numbers, and whether they are whole numbers. */
bool sl_npy_is_number(const sl_npy_array *array);
bool sl_npy_is_whole(const sl_npy_array *array);

/* Converts elements: out[i] = element i, for i in [0, count), as dtype. data points at the elements (any
 * alignment), the first of which is number `first` of the array; first and name are for messages. Errors:
 * SLEY_ERR_INPUT for a finite element beyond the range of dtype, and for an integer beyond 2^53 as f64. */
sley_status sl_npy_values(const char *name, const sl_npy_array *array, const uint8_t *data, int64_t first,
                          int64_t count, sley_dtype dtype, void *out);

/* Element i of an array of whole numbers; returns -1 for a number above INT64_MAX. */
int64_t sl_npy_int(const sl_npy_array *array, const uint8_t *data, int64_t i);

#endif
