/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/tiling.h"

sley_status sl_tiling_check(const sl_tiling *t, int size, const char *what) {
  if (t->grid_rows < 1 || t->grid_cols < 1 || t->grid_rows > size ||
      t->grid_rows * (int64_t)t->grid_cols != size)
    return sl_fail(SLEY_ERR_ARG, "%s: a grid of %d x %d does not have %d rank%s: give factors of that number",
                   what, t->grid_rows, t->grid_cols, size, size == 1 ? "" : "s");
  if (t->rows < 0 || t->cols < 0)
    return sl_fail(SLEY_ERR_ARG, "%s: the matrix is %lld x %lld: sizes must not be negative", what,
                   (long long)t->rows, (long long)t->cols);
  if (t->down < 1 || t->across < 1 || t->down > SL_TILES_MOST / t->across)
    return sl_fail(SLEY_ERR_ARG,
                   "%s: %lld x %lld tiles: there must be at least 1 x 1 and at most %lld in all", what,
                   (long long)t->down, (long long)t->across, (long long)SL_TILES_MOST);
  return SLEY_OK;
}

void sl_tiling_grid(int size, int *rows, int *cols) {
  int least = 1;
  for (int c = 1; c <= size / c; c++)
    if (size % c == 0)
      least = c;
  *cols = least;
  *rows = size / least;
}

int64_t sl_share_begin(int64_t total, int64_t shares, int64_t i) {
  const int64_t more = total % shares;
  return total / shares * i + (i < more ? i : more);
}

static int64_t every_nth(int64_t count, int of, int64_t first) {
  return first < count ? (count - first - 1) / of + 1 : 0;
}

int64_t sl_own_count(const sl_tiling *t, int rank) {
  return every_nth(t->down, t->grid_rows, rank / t->grid_cols) *
         every_nth(t->across, t->grid_cols, rank % t->grid_cols);
}

int64_t sl_own_local(const sl_tiling *t, int64_t i, int64_t j) {
  return i / t->grid_rows * every_nth(t->across, t->grid_cols, j % t->grid_cols) + j / t->grid_cols;
}

bool sl_tiling_same(const sl_tiling *a, const sl_tiling *b) {
  return a->rows == b->rows && a->cols == b->cols && a->down == b->down && a->across == b->across &&
         a->grid_rows == b->grid_rows && a->grid_cols == b->grid_cols;
}
