/* SPDX-License-Identifier: Apache-2.0 */
/* Dense operands of the public interface: memory, files, random values. */
#include "base/memory.h"
#include "base/value.h"
#include "generate/generate.h"
#include "io/arrays.h"
#include "io/io.h"

sley_status sley_buffer_alloc(int64_t bytes, void **out) {
  if (!out)
    return sl_fail(SLEY_ERR_ARG, "sley_buffer_alloc: out is NULL");
  *out = NULL;
  if (bytes < 0)
    return sl_fail(SLEY_ERR_ARG, "a buffer of %lld bytes: the size must not be negative", (long long)bytes);
  *out = sl_alloc(bytes, 1, "a buffer");
  return *out ? SLEY_OK : SLEY_ERR_MEMORY;
}

void sley_buffer_free(void *buffer) {
  sl_free(buffer);
}

/* Checks a rows x cols operand with leading dimension ld at data. */
static sley_status check_dense(int64_t rows, int64_t cols, sley_dtype dtype, const void *data, int64_t ld) {
  int64_t elements;
  if (rows < 0 || cols < 0 || ld < cols)
    return sl_fail(SLEY_ERR_ARG,
                   "%lld x %lld values with leading dimension %lld: sizes must not be negative, and the "
                   "leading dimension must be at least the number of columns",
                   (long long)rows, (long long)cols, (long long)ld);
  if (sley_dtype_bytes(dtype) == 0)
    return sl_fail(SLEY_ERR_ARG, "unknown dtype %d: give SLEY_F32, SLEY_F64, SLEY_F16 or SLEY_BF16",
                   (int)dtype);
  if (__builtin_mul_overflow(rows, ld, &elements) || elements > INT64_MAX / 8)
    return sl_fail(SLEY_ERR_OVERFLOW, "%lld rows of %lld values are more than memory can address",
                   (long long)rows, (long long)ld);
  if (!data && rows > 0 && cols > 0)
    return sl_fail(SLEY_ERR_ARG, "the dense operand is NULL");
  return SLEY_OK;
}

sley_status sley_dense_random(uint64_t seed, int64_t first, int64_t rows, int64_t cols,
                              const int64_t *row_names, sley_dtype dtype, void *data, int64_t ld) {
  SL_TRY(check_dense(rows, cols, dtype, data, ld));
  sl_generate_values(seed, first, rows, cols, row_names, dtype, data, ld);
  return SLEY_OK;
}

sley_status sley_convert(sley_dtype from, const void *src, sley_dtype to, void *dst, int64_t count) {
  if (sley_dtype_bytes(from) == 0 || sley_dtype_bytes(to) == 0)
    return sl_fail(SLEY_ERR_ARG, "cannot convert dtype %d to %d: both must be constants of sley_dtype",
                   (int)from, (int)to);
  if (count < 0 || (count > 0 && (!src || !dst)))
    return sl_fail(SLEY_ERR_ARG, "cannot convert %lld values%s", (long long)count, count < 0 ? "" : ": NULL");
  sl_values_convert(from, src, to, dst, count);
  return SLEY_OK;
}

sley_status sley_dense_read(const char *path, sley_dtype dtype, int64_t *rows, int64_t *cols, void **data) {
  if (!path || !rows || !cols || !data)
    return sl_fail(SLEY_ERR_ARG, "sley_dense_read: path, rows, cols and data must not be NULL");
  *rows = *cols = 0;
  *data = NULL;
  if (sley_dtype_bytes(dtype) == 0)
    return sl_fail(SLEY_ERR_ARG, "unknown dtype %d: give SLEY_F32, SLEY_F64, SLEY_F16 or SLEY_BF16",
                   (int)dtype);
  return sl_npy_read(path, dtype, rows, cols, data);
}

sley_status sley_dense_write(const char *path, sley_dtype dtype, int64_t rows, int64_t cols, const void *data,
                             int64_t ld) {
  if (!path)
    return sl_fail(SLEY_ERR_ARG, "sley_dense_write: path is NULL");
  SL_TRY(check_dense(rows, cols == SLEY_VECTOR ? 1 : cols, dtype, data, ld));
  return sl_npy_write(path, dtype, rows, cols, data, ld);
}

sley_status sley_arrays_write(const char *path, const sley_array *arrays, int count) {
  if (!path || (!arrays && count > 0) || count < 0)
    return sl_fail(SLEY_ERR_ARG, "sley_arrays_write: path or arrays is NULL, or count is negative");
  return sl_arrays_write(path, arrays, count);
}

sley_status sley_array_read(const char *path, const char *name, sley_type type, int64_t *rows, int64_t *cols,
                            void **data) {
  sl_arrays arrays;
  if (!path || !name || !rows || !cols || !data)
    return sl_fail(SLEY_ERR_ARG, "sley_array_read: path, name, rows, cols and data must not be NULL");
  *rows = *cols = 0;
  *data = NULL;
  if ((unsigned)type > SLEY_TYPE_I64)
    return sl_fail(SLEY_ERR_ARG, "sley_array_read: there is no type %d", (int)type);
  SL_TRY(sl_arrays_open(path, &arrays));
  const sley_status status = sl_arrays_read(&arrays, name, type, rows, cols, data);
  sl_arrays_close(&arrays);
  return status;
}

sley_status sley_stored_type(const char *path, sley_dtype *dtype, int *dims) {
  if (!path || !dtype || !dims)
    return sl_fail(SLEY_ERR_ARG, "sley_stored_type: path, dtype and dims must not be NULL");
  return sl_stored_type(path, dtype, dims);
}
