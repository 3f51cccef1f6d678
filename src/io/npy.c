/* SPDX-License-Identifier: Apache-2.0 */
/* Dense operands in NumPy's .npy. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "io/bytes/inflate.h"
#include "io/format.h"
#include "io/io.h"
#include "io/npy.h"
#include "io/npy_array.h"

/* Reads the header of an array, and checks that it can be an operand. */
static sley_status look(const sl_file *file, sl_npy_array *array, int64_t *rows, int64_t *cols) {
  uint8_t prefix[SL_NPY_PREFIX] = {0}, *header = NULL;
  int64_t offset, head = file->size < SL_NPY_PREFIX ? file->size : SL_NPY_PREFIX;
  SL_TRY(sl_file_read(file, 0, head, prefix, NULL));
  SL_TRY(sl_npy_offset(file->name, prefix, (size_t)head, &offset));
  if (offset > file->size)
    return sl_fail(SLEY_ERR_INPUT, "%s: the file ends inside the NumPy header", file->name);
  SL_TRY(SL_NEW(header, offset, "a NumPy header"));
  sley_status status = sl_file_read(file, 0, offset, header, NULL);
  if (status == SLEY_OK)
    status = sl_npy_parse(file->name, header, (size_t)offset, array);
  sl_free(header);
  SL_TRY(status);
  if (!sl_npy_is_number(array))
    return sl_fail(SLEY_ERR_UNSUPPORTED, "%s: an array of text is no dense operand; save numbers",
                   file->name);
  if (array->dims < 1 || array->dims > 2)
    return sl_fail(SLEY_ERR_INPUT, "%s: the array has %d dimensions; a dense operand has 1 or 2", file->name,
                   array->dims);
  int64_t present = file->size - array->data_offset, wanted = array->count * array->bytes_each;
  if (present != wanted)
    return sl_fail(SLEY_ERR_INPUT, "%s: %" PRId64 " bytes follow the header, but the shape needs %" PRId64,
                   file->name, present, wanted);
  *rows = array->shape[0];
  *cols = array->dims == 2 ? array->shape[1] : 1;
  return SLEY_OK;
}

/* Rows of an array of m x n to read: which[i], or first + i if which is NULL. */
typedef struct rows_wanted {
  const sl_npy_array *array;
  const int64_t *which;
  int64_t first, count, m, n;
  sley_dtype dtype;
  char *out;
} rows_wanted;

static int64_t row_at(const rows_wanted *w, int64_t i) {
  return w->which ? w->which[i] : w->first + i;
}

/* Reads `count` consecutive elements, starting with `element`, to the values starting at `to`. */
static sley_status take_run(const rows_wanted *w, sl_window *window, int64_t element, int64_t count,
                            int64_t to) {
  int64_t each = w->array->bytes_each, step = SL_WINDOW / each;
  size_t value = sley_dtype_bytes(w->dtype);
  for (int64_t done = 0; done < count; done += step) {
    int64_t some = count - done < step ? count - done : step;
    const void *bytes;
    SL_TRY(sl_window_look(window, w->array->data_offset + (element + done) * each, some * each, &bytes));
    SL_TRY(sl_npy_values(window->file->name, w->array, bytes, element + done, some, w->dtype,
                         w->out + (size_t)(to + done) * value));
  }
  return SLEY_OK;
}

/* Reads an array in Fortran order, column by column. */
static sley_status take_fortran(const rows_wanted *w, sl_window *window) {
  size_t value = sley_dtype_bytes(w->dtype);
  for (int64_t j = 0; j < w->n; j++)
    for (int64_t i = 0; i < w->count; i++) {
      const void *bytes;
      int64_t element = j * w->m + row_at(w, i);
      if (i % 65536 == 0)
        SL_TRY(sl_interrupted());
      SL_TRY(sl_window_look(window, w->array->data_offset + element * w->array->bytes_each,
                            w->array->bytes_each, &bytes));
      SL_TRY(sl_npy_values(window->file->name, w->array, bytes, element, 1, w->dtype,
                           w->out + (size_t)(i * w->n + j) * value));
    }
  return SLEY_OK;
}

static sley_status take_rows(const rows_wanted *w, sl_window *window) {
  if (w->array->fortran)
    return take_fortran(w, window);
  if (!w->which)
    return take_run(w, window, w->first * w->n, w->count * w->n, 0);
  for (int64_t i = 0; i < w->count; i++) {
    if (i % 65536 == 0)
      SL_TRY(sl_interrupted());
    SL_TRY(take_run(w, window, w->which[i] * w->n, w->n, i * w->n));
  }
  return SLEY_OK;
}

static sley_status check_rows(const char *name, const rows_wanted *w) {
  int64_t looked = w->which ? w->count : w->count > 0 ? 2 : 0; /* for a range, only its ends are checked */
  for (int64_t i = 0; i < looked; i++) {
    int64_t row = w->which ? w->which[i]
                  : i == 0 ? w->first
                           : w->count - 1 + (w->first < w->m ? w->first : 0);
    if (row < 0 || row >= w->m)
      return sl_fail(SLEY_ERR_ARG, "%s: row %" PRId64 " is not within its %" PRId64 " rows", name, row, w->m);
  }
  return SLEY_OK;
}

/* Reads rows of a file; count < 0: all rows. */
static sley_status read_rows(const sl_file *file, sley_dtype dtype, const int64_t *which, int64_t first,
                             int64_t count, int64_t *rows, int64_t *cols, void **data) {
  sl_npy_array array;
  int64_t m = 0, n = 0, values;
  SL_TRY(look(file, &array, &m, &n));
  count = count < 0 ? m : count;
  if (__builtin_mul_overflow(count, n, &values))
    return sl_fail(SLEY_ERR_OVERFLOW, "%s: %" PRId64 " rows of %" PRId64 " values are too many", file->name,
                   count, n);
  rows_wanted w = {&array, which, first, count, m, n, dtype, NULL};
  SL_TRY(check_rows(file->name, &w));
  w.out = sl_alloc(values, sley_dtype_bytes(dtype), "a dense operand");
  if (!w.out)
    return SLEY_ERR_MEMORY;
  sl_window window = {.file = file};
  sley_status status = values > 0 ? take_rows(&w, &window) : SLEY_OK;
  sl_window_free(&window);
  if (status == SLEY_OK)
    status = sl_file_check_unchanged(file);
  if (status != SLEY_OK) {
    sl_free(w.out);
    return status;
  }
  *rows = m;
  *cols = n;
  *data = w.out;
  return SLEY_OK;
}

sley_status sl_npy_read_input(const sl_input *input, sley_dtype dtype, const int64_t *which, int64_t first,
                              int64_t count, int64_t *rows, int64_t *cols, void **data) {
  sl_file file = sl_file_of_memory(input->name, input->begin, input->end - input->begin);
  return read_rows(&file, dtype, which, first, count, rows, cols, data);
}

/* Reads rows; a file that is compressed, or not a plain file, is first read whole. */
static sley_status read_path(const char *path, sley_dtype dtype, const int64_t *which, int64_t first,
                             int64_t count, int64_t *rows, int64_t *cols, void **data) {
  sl_file file;
  sl_input input = {0};
  char start[4] = {0};
  sley_status status = sl_file_open(path, &file);
  if (status == SLEY_ERR_UNSUPPORTED) {
    SL_TRY(sl_input_open(path, &input));
  } else {
    SL_TRY(status);
    status = sl_file_read(&file, 0, file.size < 4 ? file.size : 4, start, NULL);
    if (status == SLEY_OK && sl_is_compressed(start, sizeof start))
      status = sl_input_load(&file, 0, NULL, &input);
    else if (status == SLEY_OK)
      status = read_rows(&file, dtype, which, first, count, rows, cols, data);
    sl_file_close(&file);
    if (status != SLEY_OK || !input.begin)
      return status;
  }
  status = sl_npy_read_input(&input, dtype, which, first, count, rows, cols, data);
  sl_input_close(&input);
  return status;
}

sley_status sl_npy_read(const char *path, sley_dtype dtype, int64_t *rows, int64_t *cols, void **data) {
  return read_path(path, dtype, NULL, 0, -1, rows, cols, data);
}

sley_status sl_npy_read_rows(const char *path, sley_dtype dtype, const int64_t *which, int64_t first,
                             int64_t count, int64_t *rows, int64_t *cols, void **data) {
  return read_path(path, dtype, which, first, count, rows, cols, data);
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

/* Writes count values; piece has memory for PIECE values. */
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
  int dims = cols == SLEY_VECTOR ? 1 : 2;
  cols = dims == 1 ? 1 : cols;
  if (rows < 0 || cols < 0 || (rows > 1 && ld < cols))
    return sl_fail(SLEY_ERR_ARG,
                   "%s: cannot write %" PRId64 " x %" PRId64 " values of leading dimension %" PRId64, path,
                   rows, cols, ld);
  size_t bytes = sley_dtype_bytes(dtype);
  char header[SL_NPY_HEADER_ROOM];
  size_t header_bytes =
      sl_npy_header(header, sl_npy_type('f', sley_dtype_bytes(sl_npy_dtype(dtype))), dims, rows, cols);
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
