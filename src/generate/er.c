/* SPDX-License-Identifier: Apache-2.0 */
/* Erdos-Renyi matrices G(n, M): the first M cells of a shuffled matrix, so they have exactly M distinct
 * entries. */
#include "generate/edges.h"
#include "generate/generators.h"
#include "generate/shuffle.h"

enum { EDGES_AT_ONCE = 1 << 16 };

typedef struct cells {
  int64_t cols;
  sl_shuffle shuffle;
} cells;

static void emit(const void *context, int64_t begin, int64_t end, sl_edge_sink *sink) {
  const cells *self = context;
  for (int64_t e = begin; e < end; e++) {
    int64_t cell = sl_shuffle_at(&self->shuffle, e);
    sl_edge_put(sink, cell / self->cols, cell % self->cols);
  }
}

sley_status sl_generate_er(const sl_request *request, sley_matrix **out) {
  int64_t n = -1, rows = -1, cols = -1, nnz = -1, cell_count;
  const int64_t most = INT64_C(1) << 40;
  SL_TRY(sl_spec_int(request->spec, "n", 0, most, &n));
  rows = cols = n;
  SL_TRY(sl_spec_int(request->spec, "m", 0, most, &rows));
  SL_TRY(sl_spec_int(request->spec, "rows", 0, most, &rows));
  SL_TRY(sl_spec_int(request->spec, "cols", 0, most, &cols));
  SL_TRY(sl_spec_int(request->spec, "nnz", 0, INT64_MAX, &nnz));
  SL_TRY(sl_spec_done(request->spec));
  if (rows < 0 || cols < 0 || nnz < 0)
    return sl_fail(SLEY_ERR_ARG, "er: give n (or rows and cols) and nnz, as in er:n=1000,nnz=8000");
  if (__builtin_mul_overflow(rows, cols, &cell_count) || cell_count > INT64_C(1) << 62)
    return sl_fail(SLEY_ERR_ARG, "er: %lld x %lld has more than 2^62 cells", (long long)rows,
                   (long long)cols);
  if (nnz > cell_count)
    return sl_fail(SLEY_ERR_ARG, "er: nnz=%lld, but %lld x %lld has only %lld cells", (long long)nnz,
                   (long long)rows, (long long)cols, (long long)cell_count);
  cells self = {.cols = cols};
  if (cell_count > 0)
    self.shuffle = sl_shuffle_of(request->seed, cell_count);
  sl_edge_source source = {.rows = rows,
                           .cols = cols,
                           .items = nnz,
                           .grain = EDGES_AT_ONCE,
                           .edges = nnz,
                           .seed = request->seed,
                           .emit = emit,
                           .context = &self};
  return request->build(request->context, &source, request->dtype, request->team, out);
}
