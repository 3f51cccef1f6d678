/* SPDX-License-Identifier: Apache-2.0 */
/* Dense operands in NumPy's .npy. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "io/format.h"
#include "io/inflate.h"
#include "io/io.h"
#include "io/npy.h"
#include "io/npy_array.h"

/* An array that can be an operand. */
static sley_status look(const sl_input *input, sl_npy_array *array, int64_t *rows, int64_t *cols) {
  int64_t size = input->end - input->begin;
  SL_TRY(sl_npy_parse(input->name, (const uint8_t *)input->begin, (size_t)size, array));
  if (!sl_npy_is_number(array))
    return sl_fail(SLEY_ERR_UNSUPPORTED, "%s: an array of text is no dense operand; save numbers",
                   input->name);
  if (array->dims < 1 || array->dims > 2)
    return sl_fail(SLEY_ERR_INPUT, "%s: the array has %d dimensions; a dense operand has 1 or 2", input->name,
                   array->dims);
  int64_t present = size - array->data_offset, wanted = array->count * array->bytes_each;
  if (present != wanted)
    return sl_fail(SLEY_ERR_INPUT, "%s: %" PRId64 " bytes follow the header, but the shape needs %" PRId64,
                   input->name, present, wanted);
  *rows = array->shape[0];
  *cols = array->dims == 2 ? array->shape[1] : 1;
  return SLEY_OK;
}

/* Row i of an array of m x n. */
static void take_row(const sl_npy_array *array, const uint8_t *elements, int64_t i, int64_t m, int64_t n,
                     sley_dtype dtype, void *out) {
  sl_npy_values(array, elements, array->fortran ? i : i * n, array->fortran ? m : 1, n, dtype, out);
}

sley_status sl_npy_read_input(const sl_input *input, sley_dtype dtype, int64_t *rows, int64_t *cols,
                              void **data) {
  sl_npy_array array;
  int64_t m = 0, n = 0;
  SL_TRY(look(input, &array, &m, &n));
  void *values = sl_alloc(array.count, sley_dtype_bytes(dtype), "a dense operand");
  if (!values)
    return SLEY_ERR_MEMORY;
  const uint8_t *elements = (const uint8_t *)input->begin + array.data_offset;
  if (array.fortran && array.count > 0) {
    size_t row_bytes = (size_t)n * sley_dtype_bytes(dtype);
    for (int64_t i = 0; i < m; i++)
      take_row(&array, elements, i, m, n, dtype, (char *)values + (size_t)i * row_bytes);
  } else {
    sl_npy_values(&array, elements, 0, 1, array.count, dtype, values);
  }
  *rows = m;
  *cols = n;
  *data = values;
  return SLEY_OK;
}

sley_status sl_npy_read(const char *path, sley_dtype dtype, int64_t *rows, int64_t *cols, void **data) {
  sl_input input;
  SL_TRY(sl_input_open(path, &input));
  sley_status status = sl_npy_read_input(&input, dtype, rows, cols, data);
  sl_input_close(&input);
  return status;
}

static sley_status read_rows(const sl_input *input, sley_dtype dtype, const int64_t *which, int64_t first,
                             int64_t count, int64_t *rows, int64_t *cols, void **data) {
  sl_npy_array array;
  int64_t m = 0, n = 0, values;
  SL_TRY(look(input, &array, &m, &n));
  if (__builtin_mul_overflow(count, n, &values))
    return sl_fail(SLEY_ERR_OVERFLOW, "%s: %" PRId64 " rows of %" PRId64 " values are too many", input->name,
                   count, n);
  char *out = sl_alloc(values, sley_dtype_bytes(dtype), "rows of a dense operand");
  if (!out)
    return SLEY_ERR_MEMORY;
  const uint8_t *elements = (const uint8_t *)input->begin + array.data_offset;
  size_t row_bytes = (size_t)n * sley_dtype_bytes(dtype);
  for (int64_t i = 0; i < count; i++) {
    int64_t row = which ? which[i] : first + i;
    if (row < 0 || row >= m) {
      sl_free(out);
      return sl_fail(SLEY_ERR_ARG, "%s: row %" PRId64 " is not within its %" PRId64 " rows", input->name, row,
                     m);
    }
    take_row(&array, elements, row, m, n, dtype, out + (size_t)i * row_bytes);
  }
  *rows = m;
  *cols = n;
  *data = out;
  return SLEY_OK;
}

sley_status sl_npy_read_rows(const char *path, sley_dtype dtype, const int64_t *which, int64_t first,
                             int64_t count, int64_t *rows, int64_t *cols, void **data) {
  sl_input input;
  sley_status status = sl_input_map(path, &input);
  if (status == SLEY_OK && sl_is_compressed(input.begin, (size_t)(input.end - input.begin))) {
    sl_input_close(&input);
    status = SLEY_ERR_UNSUPPORTED;
  }
  if (status == SLEY_ERR_UNSUPPORTED)
    status = sl_input_open(path, &input);
  SL_TRY(status);
  status = read_rows(&input, dtype, which, first, count, rows, cols, data);
  sl_input_close(&input);
  return status;
}

size_t sl_npy_header(char header[SL_NPY_HEADER_ROOM], const char *type, int dims, int64_t first,
                     int64_t second) {
  enum { PREFIX = 10, ALIGN = 64 };
  int length;
  char *text = header + PREFIX;
  size_t room = SL_NPY_HEADER_ROOM - PREFIX;
  static const char start[] = "{'descr': '%s', 'fortran_order': False, 'shape': ";
  length = snprintf(text, room, start, type);
  if (dims == 0)
    length += snprintf(text + length, room - (size_t)length, "(), }");
  else if (dims == 1)
    length += snprintf(text + length, room - (size_t)length, "(%" PRId64 ",), }", first);
  else
    length += snprintf(text + length, room - (size_t)length, "(%" PRId64 ", %" PRId64 "), }", first, second);
  int total = (PREFIX + length + 1 + ALIGN - 1) / ALIGN * ALIGN;
  memset(text + length, ' ', (size_t)(total - PREFIX - length));
  header[total - 1] = '\n';
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  header[8] = (char)((total - PREFIX) & 255);
  header[9] = (char)((total - PREFIX) >> 8);
  return (size_t)total;
}

const char *sl_npy_type(char kind, size_t bytes) {
  const uint16_t one = 1;
  bool little = *(const uint8_t *)&one == 1;
  if (kind == 'f' && bytes == 2)
    return little ? "<f2" : ">f2";
  if (kind == 'f')
    return bytes == 4 ? (little ? "<f4" : ">f4") : (little ? "<f8" : ">f8");
  return bytes == 4 ? (little ? "<i4" : ">i4") : (little ? "<i8" : ">i8");
}

sley_dtype sl_npy_dtype(sley_dtype dtype) {
  return dtype == SLEY_BF16 ? SLEY_F32 : dtype;
}

/* count values as written; piece has room for PIECE of them. */
enum { PIECE = 1 << 14 };
static sley_status put_values(sl_sink *sink, sley_dtype dtype, const char *values, int64_t count,
                              void *piece) {
  size_t bytes = sley_dtype_bytes(dtype);
  sley_dtype to = sl_npy_dtype(dtype);
  if (to == dtype)
    return sl_sink_put(sink, values, (size_t)count * bytes);
  for (int64_t first = 0; first < count; first += PIECE) {
    int64_t some = count - first < PIECE ? count - first : PIECE;
    sl_values_convert(dtype, values + (size_t)first * bytes, to, piece, some);
    SL_TRY(sl_sink_put(sink, piece, (size_t)some * sley_dtype_bytes(to)));
  }
  return SLEY_OK;
}

sley_status sl_npy_write(const char *path, sley_dtype dtype, int64_t rows, int64_t cols, const void *data,
                         int64_t ld) {
  if (rows < 0 || cols < 0 || (rows > 1 && ld < cols))
    return sl_fail(SLEY_ERR_ARG,
                   "%s: cannot write %" PRId64 " x %" PRId64 " values of leading dimension %" PRId64, path,
                   rows, cols, ld);
  size_t bytes = sley_dtype_bytes(dtype);
  char header[SL_NPY_HEADER_ROOM];
  size_t header_bytes =
      sl_npy_header(header, sl_npy_type('f', sley_dtype_bytes(sl_npy_dtype(dtype))), 2, rows, cols);
  void *piece = NULL;
  if (sl_npy_dtype(dtype) != dtype && !(piece = sl_alloc(PIECE, sizeof(double), "values to write")))
    return SLEY_ERR_MEMORY;
  sl_sink *sink;
  sley_status status;
  SL_TRY_GOTO(status, sl_sink_open(path, &sink), done);
  SL_TRY_GOTO(status, sl_sink_put(sink, header, header_bytes), failed);
  if (ld == cols || rows == 1) {
    SL_TRY_GOTO(status, put_values(sink, dtype, data, rows * cols, piece), failed);
  } else {
    for (int64_t i = 0; i < rows && cols > 0; i++)
      SL_TRY_GOTO(status, put_values(sink, dtype, (const char *)data + (size_t)(i * ld) * bytes, cols, piece),
                  failed);
  }
  status = sl_sink_commit(sink);
  goto done;
failed:
  sl_sink_discard(sink);
done:
  sl_free(piece);
  return status;
}
