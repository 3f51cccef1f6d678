/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices whose windows of 16 rows all have the same number of distinct columns and of entries, placed at
 * random (HC-SpMM, section 4.2: the training data of its model). */
#include "base/random.h"
#include "generate/edges.h"
#include "generate/generators.h"

enum { ROWS = 16, MOST_COLUMNS = 1 << 16 };

typedef struct windows {
  int64_t cols, columns, entries, near;
  uint64_t seed;
} windows;

/* Returns the first of the columns that a window may use: near its own rows, inside the matrix. */
static int64_t first_of(const windows *self, int64_t window) {
  int64_t first = window * ROWS + ROWS / 2 - self->near / 2;
  return first < 0 ? 0 : first > self->cols - self->near ? self->cols - self->near : first;
}

/* Column d of a window: one random column from each of `columns` equal ranges. */
static int64_t column_of(const windows *self, int64_t window, int64_t d) {
  int64_t begin = d * self->near / self->columns, end = (d + 1) * self->near / self->columns;
  return first_of(self, window) + begin +
         sl_below(sl_random(self->seed, (uint64_t)window, (uint64_t)d), end - begin);
}

/* Emits a window: in each column, the first `share` rows of a random order. */
static void emit_window(const windows *self, int64_t window, sl_edge_sink *sink) {
  for (int64_t d = 0; d < self->columns; d++) {
    int64_t share = (d + 1) * self->entries / self->columns - d * self->entries / self->columns;
    int64_t column = column_of(self, window, d);
    int row[ROWS];
    for (int i = 0; i < ROWS; i++)
      row[i] = i;
    for (int64_t i = 0; i < share; i++) {
      uint64_t bits = sl_random(self->seed + 1, (uint64_t)(window * self->columns + d), (uint64_t)i);
      int64_t other = i + sl_below(bits, ROWS - i);
      int swapped = row[i];
      row[i] = row[other];
      row[other] = swapped;
      sl_edge_put(sink, window * ROWS + row[i], column);
    }
  }
}

static void emit(const void *context, int64_t begin, int64_t end, sl_edge_sink *sink) {
  for (int64_t window = begin; window < end; window++)
    emit_window(context, window, sink);
}

sley_status sl_generate_windows(const sl_request *request, sley_matrix **out) {
  int64_t rows = -1, columns = -1, entries = -1, near = 0;
  const int64_t most = INT64_C(1) << 40;
  SL_TRY(sl_spec_int(request->spec, "rows", 0, most, &rows));
  SL_TRY(sl_spec_int(request->spec, "columns", 1, MOST_COLUMNS, &columns));
  SL_TRY(sl_spec_int(request->spec, "entries", 1, ROWS * MOST_COLUMNS, &entries));
  SL_TRY(sl_spec_int(request->spec, "near", 0, most, &near));
  SL_TRY(sl_spec_done(request->spec));
  if (rows < 0 || columns < 0 || entries < 0)
    return sl_fail(SLEY_ERR_ARG, "windows: give rows, columns and entries");
  near = near > 0 && near < rows ? near : rows;
  if (rows % ROWS != 0 || (rows > 0 && near < columns) || entries < columns || entries > ROWS * columns)
    return sl_fail(SLEY_ERR_ARG,
                   "windows: rows are a multiple of 16, and no fewer than columns, nor is near; "
                   "each column has 1 to 16 entries");
  windows self = {.cols = rows, .columns = columns, .entries = entries, .near = near, .seed = request->seed};
  sl_edge_source source = {.rows = rows,
                           .cols = rows,
                           .items = rows / ROWS,
                           .grain = entries > 4096 ? 1 : 64,
                           .edges = rows / ROWS * entries,
                           .seed = request->seed,
                           .emit = emit,
                           .context = &self};
  return request->build(request->context, &source, request->dtype, request->team, out);
}
