/* SPDX-License-Identifier: Apache-2.0 */
/* Small structured matrices: dense, diagonal, band, grid and empty. */
#include "generate/edges.h"
#include "generate/generators.h"

typedef struct shape {
  int64_t cols, width, nx, ny;
} shape;

static const int64_t most_rows = INT64_C(1) << 40;

/* Reads a key that must be present. */
static sley_status need(const sl_request *request, const char *key, int64_t least, int64_t *value) {
  *value = -1;
  SL_TRY(sl_spec_int(request->spec, key, least, most_rows, value));
  if (*value < 0)
    return sl_fail(SLEY_ERR_ARG, "%s: give %s", request->spec->name, key);
  return SLEY_OK;
}

/* Makes a matrix whose rows the function emit generates one by one, with at most row_entries entries each. */
static sley_status by_rows(const sl_request *request, int64_t rows, int64_t row_entries, const shape *self,
                           void (*emit)(const void *, int64_t, int64_t, sl_edge_sink *), sley_matrix **out) {
  SL_TRY(sl_spec_done(request->spec));
  sl_edge_source source = {.rows = rows,
                           .cols = self->cols,
                           .items = rows,
                           .grain = row_entries > 4096 ? 1 : 1024,
                           .seed = request->seed,
                           .emit = emit,
                           .context = self};
  if (__builtin_mul_overflow(rows, row_entries, &source.edges))
    return sl_fail(SLEY_ERR_OVERFLOW, "%s: too many entries", request->spec->name);
  return request->build(request->context, &source, request->dtype, request->team, out);
}

/* Emits rows of a band: row i has columns i - width .. i + width, cut at the borders. A diagonal has width 0,
 * a dense matrix the full width. */
static void emit_band(const void *context, int64_t begin, int64_t end, sl_edge_sink *sink) {
  const shape *self = context;
  for (int64_t i = begin; i < end; i++) {
    int64_t first = i > self->width ? i - self->width : 0;
    int64_t last = self->width < self->cols - 1 - i ? i + self->width : self->cols - 1;
    for (int64_t j = first; j <= last; j++)
      sl_edge_put(sink, i, j);
  }
}

static void emit_grid(const void *context, int64_t begin, int64_t end, sl_edge_sink *sink) {
  const shape *self = context;
  for (int64_t i = begin; i < end; i++) {
    int64_t x = i % self->nx, y = i / self->nx;
    if (y > 0)
      sl_edge_put(sink, i, i - self->nx);
    if (x > 0)
      sl_edge_put(sink, i, i - 1);
    sl_edge_put(sink, i, i);
    if (x + 1 < self->nx)
      sl_edge_put(sink, i, i + 1);
    if (y + 1 < self->ny)
      sl_edge_put(sink, i, i + self->nx);
  }
}

static void emit_nothing(const void *context, int64_t begin, int64_t end, sl_edge_sink *sink) {
  (void)context;
  (void)begin;
  (void)end;
  (void)sink;
}

sley_status sl_generate_dense(const sl_request *request, sley_matrix **out) {
  int64_t rows, cols;
  SL_TRY(need(request, "rows", 0, &rows));
  SL_TRY(need(request, "cols", 0, &cols));
  shape self = {.cols = cols, .width = rows > cols ? rows : cols};
  return by_rows(request, rows, cols, &self, emit_band, out);
}

sley_status sl_generate_diag(const sl_request *request, sley_matrix **out) {
  int64_t n;
  SL_TRY(need(request, "n", 0, &n));
  shape self = {.cols = n, .width = 0};
  return by_rows(request, n, 1, &self, emit_band, out);
}

sley_status sl_generate_band(const sl_request *request, sley_matrix **out) {
  int64_t n, width;
  SL_TRY(need(request, "n", 0, &n));
  SL_TRY(need(request, "width", 0, &width));
  shape self = {.cols = n, .width = width};
  return by_rows(request, n, width < n ? 2 * width + 1 : n, &self, emit_band, out);
}

sley_status sl_generate_grid(const sl_request *request, sley_matrix **out) {
  int64_t nx, ny, n;
  SL_TRY(need(request, "nx", 0, &nx));
  SL_TRY(need(request, "ny", 0, &ny));
  if (__builtin_mul_overflow(nx, ny, &n))
    return sl_fail(SLEY_ERR_OVERFLOW, "grid: %lld x %lld points are too many", (long long)nx, (long long)ny);
  shape self = {.cols = n, .nx = nx, .ny = ny};
  return by_rows(request, n, 5, &self, emit_grid, out);
}

sley_status sl_generate_empty(const sl_request *request, sley_matrix **out) {
  int64_t rows, cols;
  SL_TRY(need(request, "rows", 0, &rows));
  SL_TRY(need(request, "cols", 0, &cols));
  shape self = {.cols = cols};
  return by_rows(request, rows, 0, &self, emit_nothing, out);
}
