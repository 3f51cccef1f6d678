/* SPDX-License-Identifier: Apache-2.0 */
/* Named arrays of numbers in one file, as numpy.savez writes and numpy.load reads them. */
#ifndef SLEY_IO_ARRAYS_H
#define SLEY_IO_ARRAYS_H

#include "io/bytes/archive.h"

enum { SL_ARRAY_NAME = 120 }; /* bytes of a name, with the terminating zero */

/* As sley_arrays_write. */
sley_status sl_arrays_write(const char *path, const sley_array *arrays, int count);

/* An open file of arrays. */
typedef struct sl_arrays {
  sl_input input;
  sl_archive archive;
} sl_arrays;

/* Opens a file of arrays; path outlives it. Errors: SLEY_ERR_IO, SLEY_ERR_INPUT (another kind of file),
 * SLEY_ERR_MEMORY. */
sley_status sl_arrays_open(const char *path, sl_arrays *out);

/* As sley_array_read. */
sley_status sl_arrays_read(sl_arrays *arrays, const char *name, sley_type type, int64_t *rows, int64_t *cols,
                           void **data);
void sl_arrays_close(sl_arrays *arrays); /* Closes the file. Accepts a zeroed struct. */

#endif
