/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic of tile-summa (tile/products/summa.c): the tiles of A in a column of tiles and a row of the grid
 * are a panel, which is broadcast along this row; so are the tiles of B in a row of tiles and a column of the
 * grid. */
#include "base/memory.h"
#include "roofline/roofline_count.h"
#include "tile/broadcast_tree.h"

sley_status sl_panel_sizes_open(const sl_tile_cut *cut, sl_panel_sizes *out) {
  *out = (sl_panel_sizes){0};
  SL_TRY(SL_NEW_ZERO(out->a, cut->between * cut->grid_rows, "sizes of panels"));
  SL_TRY(SL_NEW_ZERO(out->b, cut->between * cut->grid_cols, "sizes of panels"));
  SL_TRY(SL_NEW_ZERO(out->has_a, cut->down * cut->between, "sizes of panels"));
  return SL_NEW_ZERO(out->has_b, cut->between * cut->across, "sizes of panels");
}

void sl_panel_sizes_close(sl_panel_sizes *panels) {
  sl_free(panels->a);
  sl_free(panels->b);
  sl_free(panels->has_a);
  sl_free(panels->has_b);
}

void sl_panel_sizes_add(const sl_tile_cut *cut, sl_panel_sizes *panels, int64_t i, int64_t l, int64_t j,
                        double a, double b) {
  bool *has_a = &panels->has_a[i * cut->between + l], *has_b = &panels->has_b[l * cut->across + j];
  panels->a[l * cut->grid_rows + i % cut->grid_rows] += *has_a ? 0 : a;
  panels->b[l * cut->grid_cols + j % cut->grid_cols] += *has_b ? 0 : b;
  *has_a = *has_b = true;
}

/* A broadcast along a line of ranks, in which rank first + p * apart has place p. */
static void move_panel(const sl_tiled_product *p, int ranks, int first, int apart, int owner, double bytes,
                       sl_rank_tally *tally) {
  const sl_broadcast_tree tree = sl_broadcast_tree_of(ranks, p->ranks_per_node >= p->ranks);
  for (int level = 0; level < tree.levels; level++)
    for (int place = 0; place < ranks; place++) {
      const int from = sl_broadcast_parent(&tree, owner, level, place);
      if (from >= 0)
        sl_tally_move(tally, p->ranks_per_node, first + from * apart, first + place * apart, bytes);
    }
}

void sl_panel_sizes_move(const sl_tiled_product *p, const sl_panel_sizes *panels, sl_rank_tally *tally) {
  const int rows = p->cut.grid_rows, cols = p->cut.grid_cols;
  for (int64_t l = 0; l < p->cut.between; l++) {
    for (int row = 0; row < rows; row++)
      move_panel(p, cols, row * cols, 1, (int)(l % cols), panels->a[l * rows + row], tally);
    for (int col = 0; col < cols; col++)
      move_panel(p, rows, col, cols, (int)(l % rows), panels->b[l * cols + col], tally);
  }
}
