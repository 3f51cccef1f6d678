/* SPDX-License-Identifier: Apache-2.0 */
/* One tile of a matrix: argument checks. */
#include "tile/access.h"
#include "tile/tile_part.h"

static sley_status check_tile(const char *call, const sley_tiled *tiled, int64_t i, int64_t j) {
  if (!tiled)
    return sl_fail(SLEY_ERR_ARG, "%s: tiled is NULL", call);
  const sl_tiling *t = &tiled->tiling;
  return i >= 0 && i < t->down && j >= 0 && j < t->across
             ? SLEY_OK
             : sl_fail(SLEY_ERR_ARG, "%s: there is no tile (%lld, %lld): the matrix has %lld x %lld", call,
                       (long long)i, (long long)j, (long long)t->down, (long long)t->across);
}

sley_status sley_tile_info_get(const sley_tiled *tiled, int64_t i, int64_t j, sley_tile_info *out) {
  static const char call[] = "sley_tile_info_get";
  if (!out)
    return sl_fail(SLEY_ERR_ARG, "%s: out is NULL", call);
  SL_TRY(check_tile(call, tiled, i, j));
  const sl_tiling *t = &tiled->tiling;
  const sl_tile_pointer *p = sl_tile_at(tiled, i, j);
  *out = (sley_tile_info){.rank = p->rank,
                          .first_row = sl_tile_row(t, i),
                          .first_col = sl_tile_col(t, j),
                          .rows = sl_tile_height(t, i),
                          .cols = sl_tile_width(t, j),
                          .bytes = p->bytes};
  out->entries = tiled->sparse ? p->entries : out->rows * out->cols;
  return SLEY_OK;
}

sley_status sley_tile_get_begin(const sley_tiled *tiled, int64_t i, int64_t j, sley_tile_future **out) {
  static const char call[] = "sley_tile_get_begin";
  if (!out)
    return sl_fail(SLEY_ERR_ARG, "%s: out is NULL", call);
  SL_TRY(check_tile(call, tiled, i, j));
  return sl_tile_future_begin(tiled, i, j, out);
}

sley_status sley_tile_get_matrix(sley_tile_future *future, sley_matrix **out) {
  static const char call[] = "sley_tile_get_matrix";
  if (!future || !out)
    return sl_fail(SLEY_ERR_ARG, "%s: future or out is NULL", call);
  if (!future->fetch.of->sparse)
    return sl_fail(SLEY_ERR_ARG, "%s: the matrix is dense: use sley_tile_get_values", call);
  return sl_tile_future_matrix(future, out);
}

sley_status sley_tile_get_values(sley_tile_future *future, void *data, int64_t ld) {
  static const char call[] = "sley_tile_get_values";
  if (!future || !data)
    return sl_fail(SLEY_ERR_ARG, "%s: future or data is NULL", call);
  if (future->fetch.of->sparse)
    return sl_fail(SLEY_ERR_ARG, "%s: the matrix is sparse: use sley_tile_get_matrix", call);
  const int64_t cols = sl_tile_width(&future->fetch.of->tiling, future->fetch.j);
  if (ld < cols)
    return sl_fail(SLEY_ERR_ARG, "%s: the leading dimension is %lld, less than the %lld columns of the tile",
                   call, (long long)ld, (long long)cols);
  return sl_tile_future_values(future, data, ld);
}

void sley_tile_future_destroy(sley_tile_future *future) {
  sl_tile_future_destroy(future);
}

static sley_status check_part(const char *call, const sley_tiled *tiled, int64_t i, int64_t j, bool sparse,
                              const sley_tile_part *p) {
  SL_TRY(check_tile(call, tiled, i, j));
  if (!p)
    return sl_fail(SLEY_ERR_ARG, "%s: part is NULL", call);
  if (tiled->sparse != sparse)
    return sl_fail(SLEY_ERR_ARG, "%s: the matrix is %s: use %s", call, sparse ? "dense" : "sparse",
                   sparse ? "sley_tile_part_values" : "sley_tile_part_matrix");
  const int64_t rows = sl_tile_height(&tiled->tiling, i), cols = sl_tile_width(&tiled->tiling, j);
  if (p->first_row < 0 || p->rows < 0 || p->first_row > rows || p->rows > rows - p->first_row ||
      p->first_col < 0 || p->cols < 0 || p->first_col > cols || p->cols > cols - p->first_col)
    return sl_fail(SLEY_ERR_ARG,
                   "%s: %lld x %lld from row %lld, column %lld on are not in the tile of %lld x %lld", call,
                   (long long)p->rows, (long long)p->cols, (long long)p->first_row, (long long)p->first_col,
                   (long long)rows, (long long)cols);
  return SLEY_OK;
}

sley_status sley_tile_part_matrix(const sley_tiled *tiled, int64_t i, int64_t j, const sley_tile_part *part,
                                  sley_matrix **out) {
  static const char call[] = "sley_tile_part_matrix";
  if (!out)
    return sl_fail(SLEY_ERR_ARG, "%s: out is NULL", call);
  SL_TRY(check_part(call, tiled, i, j, true, part));
  return sl_tile_part_matrix(tiled, i, j, part, out);
}

sley_status sley_tile_part_values(const sley_tiled *tiled, int64_t i, int64_t j, const sley_tile_part *part,
                                  void *data, int64_t ld) {
  static const char call[] = "sley_tile_part_values";
  SL_TRY(check_part(call, tiled, i, j, false, part));
  if (!data || ld < part->cols)
    return sl_fail(SLEY_ERR_ARG, "%s: data is NULL, or the leading dimension %lld less than %lld columns",
                   call, (long long)ld, (long long)part->cols);
  return sl_tile_part_values(tiled, i, j, part, data, ld);
}

sley_status sley_tile_put(sley_tiled *tiled, int64_t i, int64_t j, const void *values) {
  static const char call[] = "sley_tile_put";
  SL_TRY(check_tile(call, tiled, i, j));
  if (!values)
    return sl_fail(SLEY_ERR_ARG, "%s: values is NULL", call);
  return sl_tile_put(tiled, i, j, values);
}
