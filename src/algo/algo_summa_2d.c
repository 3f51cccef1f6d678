/* SPDX-License-Identifier: Apache-2.0 */
/* summa-2d: ranks form a grid of pr x pc. Rank (i, j) computes the rows of Y of row team i, for the j-th
 * slice of the k columns. Stage by stage a panel of A is sent along each grid row, and the matching panel of
 * X, cut into slices, down the grid columns (bulk-synchronous SUMMA; CAGNET 2D). At the end the slices of Y
 * are sent to the owners of the rows.
 *
 * A row team is pc consecutive ranks; a panel is the columns owned by P / lcm(pr, pc) consecutive ranks. */
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "partition/partition.h"
#include "algo/algorithm.h"
#include "plan/parts.h"
#include "plan/resident_cut.h"
#include "plan/travel.h"

typedef struct grid {
  const sl_inspection *ins;
  int pr, pc, i, j;
  int panels, panel_ranks;
  size_t value_bytes, sum_bytes, index_bytes;
  sley_index index; /* index type of the tiles' columns */
  int64_t *stored;  /* rows with entries in row team i's tile of each panel */
  int64_t *entries;
} grid;

/* Byte offsets of the arrays of a tile in the bytes that are sent. */
typedef struct tile_layout {
  int64_t rowid, rowptr, val, col, bytes;
} tile_layout;

static int64_t round_up(int64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

static tile_layout lay_out(const grid *g, int panel) {
  tile_layout l = {.rowid = 0};
  l.rowptr = l.rowid + g->stored[panel] * 8;
  l.val = l.rowptr + (g->stored[panel] + 1) * 8;
  l.col = l.val + round_up(g->entries[panel] * (int64_t)g->value_bytes);
  l.bytes = l.col + round_up(g->entries[panel] * (int64_t)g->index_bytes);
  return l;
}

static int64_t slice_begin(const grid *g, int j) {
  return g->ins->wishes->k * j / g->pc;
}

static int panel_of(const grid *g, int64_t col) {
  return sl_partition_owner(g->ins->col_begin, g->ins->comm->size, col) / g->panel_ranks;
}

/* First column of a panel. */
static int64_t panel_begin(const grid *g, int panel) {
  return g->ins->col_begin[panel * g->panel_ranks];
}

/* The rank that holds an entry's tile and sends it along its grid row. */
static int holder(const void *context, int64_t row, int64_t col) {
  const grid *g = context;
  int team = sl_partition_owner(g->ins->row_begin, g->ins->comm->size, row) / g->pc;
  return team * g->pc + panel_of(g, col) % g->pc;
}

/* sizes: for each thread and panel, the rows with entries and the entries. */
typedef struct sizing {
  const grid *g;
  int64_t *sizes;
} sizing;

/* Columns ascend within a row, so the panel is looked up only if it changes. */
static sley_status size_rows(void *context, int thread, int threads) {
  const sizing *s = context;
  const grid *g = s->g;
  const sley_matrix *block = g->ins->block;
  int64_t *sizes = s->sizes + 2 * (int64_t)thread * g->panels;
  int64_t end_row = sl_csr_split(block->rows, block->rowptr, thread + 1, threads);
  for (int64_t row = sl_csr_split(block->rows, block->rowptr, thread, threads); row < end_row; row++) {
    int64_t end = -1; /* end of the panel's columns */
    int panel = 0;
    for (int64_t e = block->rowptr[row]; e < block->rowptr[row + 1]; e++) {
      int64_t col = sl_index_at(block->col, block->index, e);
      if (col >= end) {
        panel = panel_of(g, col);
        end = panel_begin(g, panel + 1);
        sizes[2 * panel]++;
      }
      sizes[2 * panel + 1]++;
    }
  }
  return SLEY_OK;
}

/* Like size_block, for a block in device memory. */
static sley_status size_resident(const grid *g, int64_t **out) {
  const sl_inspection *ins = g->ins;
  int32_t *panel;
  SL_TRY(SL_NEW(panel, ins->halo_set.count, "the column map"));
  for (int p = 0; p < ins->comm->size; p++)
    for (int64_t h = ins->halo->begin[p]; h < ins->halo->begin[p + 1]; h++)
      panel[h] = p / g->panel_ranks;
  sley_status status = SL_NEW(*out, 2 * (int64_t)g->panels, "tile sizes");
  if (status == SLEY_OK)
    status = sl_resident_sizes(ins, g->panels, ins->comm->rank / g->panel_ranks, panel, *out);
  sl_free(panel);
  return status;
}

/* Finds the sizes of this rank's share of its row team's tiles: 2 panels elements from sl_alloc. */
static sley_status size_block(const grid *g, int64_t **out) {
  if (g->ins->resident && g->panels <= SL_CUT_PARTS)
    return size_resident(g, out);
  sl_team *team = sl_plan_team(g->ins);
  int threads = sl_team_size(team), width = 2 * g->panels;
  sizing s = {.g = g};
  SL_TRY(SL_NEW_ZERO(s.sizes, (int64_t)threads * width, "tile sizes"));
  *out = s.sizes;
  SL_TRY(sl_team_run(team, size_rows, &s));
  for (int i = width; i < threads * width; i++)
    s.sizes[i % width] += s.sizes[i];
  return SLEY_OK;
}

/* Finds the sizes of the row team's tiles, the sums over its ranks. Collective. */
static sley_status size_tiles(grid *g) {
  sl_comm *comm = g->ins->comm;
  int64_t *mine = NULL, *told = NULL, *all = NULL, *counts = NULL, width = 2 * (int64_t)g->panels;
  int first = g->i * g->pc;
  sley_status status = size_block(g, &mine);
  if (status == SLEY_OK)
    status = SL_NEW(told, width * g->pc, "tile sizes");
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(counts, 2 * (int64_t)comm->size, "tile sizes");
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(g->stored, g->panels, "tile sizes");
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(g->entries, g->panels, "tile sizes");
  for (int j = 0; status == SLEY_OK && j < g->pc; j++) {
    memcpy(told + j * width, mine, (size_t)width * sizeof *mine);
    counts[first + j] = width;
  }
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sl_exchange_items(comm, sizeof(int64_t), told, counts, (void **)&all, counts + comm->size);
  for (int64_t i = 0; status == SLEY_OK && i < width * g->pc; i += 2) {
    g->stored[i % width / 2] += all[i];
    g->entries[i % width / 2] += all[i + 1];
  }
  sl_free(all);
  sl_free(counts);
  sl_free(told);
  sl_free(mine);
  return status;
}

/* Packs the items of one of this rank's tiles, sorted by row and column, into the bytes that are sent. */
static sley_status pack_tile(sl_plan *plan, const grid *g, int panel, const sl_item *items, int64_t count,
                             const void **out) {
  tile_layout l = lay_out(g, panel);
  char *bytes = sl_plan_alloc(plan, l.bytes, 1);
  if (!bytes)
    return SLEY_ERR_MEMORY;
  memset(bytes, 0, (size_t)l.bytes);
  int64_t *rowid = (int64_t *)(bytes + l.rowid), *rowptr = (int64_t *)(bytes + l.rowptr), stored = 0, at = 0,
          last = -1;
  for (int64_t i = 0; i < count; i++) {
    if (panel_of(g, items[i].col) != panel)
      continue;
    if (items[i].row != last) {
      rowid[stored] = items[i].row - g->ins->row_begin[g->i * g->pc];
      rowptr[stored++] = at;
      last = items[i].row;
    }
    sl_index_set(bytes + l.col, g->index, at, items[i].col - panel_begin(g, panel));
    sl_value_set(bytes + l.val, plan->dtype, at++, items[i].value);
  }
  rowptr[stored] = at;
  *out = bytes;
  return SLEY_OK;
}

/* Adds the exchange of a panel of A along this grid row, and the part that this rank sums from it. */
static sley_status add_tile(sl_plan *plan, const grid *g, int panel, int tile_buffer, int x, int y,
                            const sl_item *items, int64_t count) {
  tile_layout l = lay_out(g, panel);
  int source = g->i * g->pc + panel % g->pc, me = g->ins->comm->rank, src = tile_buffer, exchange,
      part_index = 0;
  sl_part part = {.name = "tile",
                  .kind = SLEY_PART_STAGE,
                  .nnz = g->entries[panel],
                  .work = (double)g->entries[panel],
                  .k = slice_begin(g, g->j + 1) - slice_begin(g, g->j),
                  .x = x,
                  .y = y,
                  .beta = SL_BETA_ONE,
                  .arrives_in = tile_buffer,
                  .rowid_at = l.rowid,
                  .rowptr_at = l.rowptr,
                  .col_at = l.col,
                  .val_at = l.val,
                  .a = {.rows = g->stored[panel], .index = g->index, .dtype = plan->dtype}};
  if (source == me && !plan->dry) {
    const void *bytes;
    SL_TRY(pack_tile(plan, g, panel, items, count, &bytes));
    SL_TRY(sl_plan_add_buffer(plan, "own tile", 1, l.bytes, &src));
    SL_BUFFER(plan, src)->constant = bytes;
    SL_BUFFER(plan, src)->first_column = SL_NO_COLUMNS;
    plan->memory_bytes -= l.bytes; /* sl_plan_alloc has already counted them */
    part.arrives_in = -1;
    part.a.rowid = (const int64_t *)((const char *)bytes + l.rowid);
    part.a.rowptr = (const int64_t *)((const char *)bytes + l.rowptr);
    part.a.col = (const char *)bytes + l.col;
    part.a.val = (const char *)bytes + l.val;
  }
  SL_TRY(sl_plan_add_exchange(plan, "panel of A", src, tile_buffer, SL_GRAIN_PEER, &exchange));
  for (int p = g->i * g->pc; p < (g->i + 1) * g->pc; p++) {
    sl_row_list one = {.peer = p, .count = 1, .bytes = l.bytes};
    if (source == me && p != me && g->entries[panel] > 0)
      sl_plan_send(plan, exchange, &one);
    if (source == p && p != me && g->entries[panel] > 0)
      sl_plan_recv(plan, exchange, &one);
  }
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, exchange));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_END, exchange));
  if (g->entries[panel] == 0)
    return SLEY_OK;
  SL_TRY(sl_plan_add_part(plan, &part, &part_index));
  return sl_plan_add_step(plan, SL_STEP_SPMM, part_index);
}

/* Adds the exchange of a panel of X: every owner sends slice j to grid column j. */
static sley_status add_panel(sl_plan *plan, const grid *g, int panel, int x) {
  const sl_inspection *ins = g->ins;
  int exchange, me = ins->comm->rank;
  int64_t value = (int64_t)g->value_bytes, my_width = slice_begin(g, g->j + 1) - slice_begin(g, g->j);
  SL_TRY(sl_plan_add_exchange(plan, "panel of X", SL_BUFFER_X, x, SL_GRAIN_PEER, &exchange));
  for (int p = 0; p < ins->comm->size; p++) {
    int j = p % g->pc;
    sl_row_list to = {p,
                      ins->x_rows,
                      NULL,
                      0,
                      slice_begin(g, j) * value,
                      (slice_begin(g, j + 1) - slice_begin(g, j)) * value};
    if (me / g->panel_ranks == panel)
      sl_plan_send(plan, exchange, &to);
    sl_row_list from = {p,    ins->col_begin[p + 1] - ins->col_begin[p],
                        NULL, ins->col_begin[p] - panel_begin(g, panel),
                        0,    my_width * value};
    if (p / g->panel_ranks == panel)
      sl_plan_recv(plan, exchange, &from);
  }
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, exchange));
  return sl_plan_add_step(plan, SL_STEP_END, exchange);
}

/* Adds the exchange that sends slices of Y to the owners of the rows. */
static sley_status add_return(sl_plan *plan, const grid *g, int y) {
  const sl_inspection *ins = g->ins;
  int exchange, first = g->i * g->pc;
  int64_t value = (int64_t)g->sum_bytes, my_width = slice_begin(g, g->j + 1) - slice_begin(g, g->j);
  SL_TRY(sl_plan_add_exchange(plan, "slices of Y", y, SL_BUFFER_Y, SL_GRAIN_PEER, &exchange));
  for (int p = first; p < first + g->pc; p++) {
    int j = p - first;
    sl_row_list to = {p,    ins->row_begin[p + 1] - ins->row_begin[p],
                      NULL, ins->row_begin[p] - ins->row_begin[first],
                      0,    my_width * value};
    sl_row_list from = {p,
                        ins->rows,
                        NULL,
                        0,
                        slice_begin(g, j) * value,
                        (slice_begin(g, j + 1) - slice_begin(g, j)) * value};
    sl_plan_send(plan, exchange, &to);
    sl_plan_recv(plan, exchange, &from);
  }
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, exchange));
  return sl_plan_add_step(plan, SL_STEP_END, exchange);
}

static sley_status assemble(sl_plan *plan, const grid *g, const sl_item *items, int64_t count) {
  const sl_inspection *ins = g->ins;
  int64_t panel_rows = 0, tile_bytes = 0;
  for (int panel = 0; panel < g->panels; panel++) {
    int64_t rows = panel_begin(g, panel + 1) - panel_begin(g, panel), bytes = lay_out(g, panel).bytes;
    panel_rows = rows > panel_rows ? rows : panel_rows;
    tile_bytes = bytes > tile_bytes ? bytes : tile_bytes;
  }
  int64_t width = slice_begin(g, g->j + 1) - slice_begin(g, g->j);
  int64_t team_rows = ins->row_begin[(g->i + 1) * g->pc] - ins->row_begin[g->i * g->pc];
  int x, y, tile;
  SL_TRY(sl_plan_add_buffer(plan, "panel of X", panel_rows, width * (int64_t)g->value_bytes, &x));
  SL_TRY(sl_plan_add_buffer(plan, "slice of Y", team_rows, width * (int64_t)g->sum_bytes, &y));
  SL_TRY(sl_plan_add_buffer(plan, "panel of A", 1, tile_bytes, &tile));
  SL_BUFFER(plan, x)->first_column = SL_BUFFER(plan, y)->first_column = slice_begin(g, g->j);
  SL_BUFFER(plan, y)->dtype = plan->sum_dtype;
  SL_BUFFER(plan, tile)->first_column = SL_NO_COLUMNS;
  SL_TRY(sl_plan_add_step(plan, SL_STEP_ZERO, y));
  for (int panel = 0; panel < g->panels; panel++) {
    SL_TRY(add_panel(plan, g, panel, x));
    SL_TRY(add_tile(plan, g, panel, tile, x, y, items, count));
  }
  return add_return(plan, g, y);
}

/* Chooses a grid with at least as many columns as rows. */
static grid grid_of(const sl_inspection *ins) {
  int ranks = ins->comm->size;
  grid g = {.ins = ins, .pr = 1};
  for (int d = 1; d * d <= ranks; d++)
    if (ranks % d == 0)
      g.pr = d;
  g.pc = ranks / g.pr;
  g.index = sl_index_for(ins->block->cols);
  g.index_bytes = sl_index_bytes(g.index);
  g.value_bytes = sley_dtype_bytes(ins->block->dtype);
  g.sum_bytes = sley_dtype_bytes(sl_sum_dtype(ins->block->dtype));
  return g;
}

/* Not considered if the transfer of its entries and slices alone takes longer than the best algorithm. Each
 * entry goes to all ranks of its grid row except its holder, each row of X to all grid rows, and slices of Y
 * to the owners of their rows. */
static sley_status consider_summa(sl_inspection *ins, const sl_rivals *rivals, bool *considered,
                                  const char **why_not) {
  const grid g = grid_of(ins);
  double k = (double)ins->wishes->k, others = g.pc - 1;
  double entries = (double)ins->nnz_all * others * (double)(g.index_bytes + g.value_bytes);
  double x = (double)ins->block->cols * k * (double)g.value_bytes * (g.pr - 1.0 / g.pc);
  double y = (double)ins->row_begin[ins->comm->size] * k * (double)g.sum_bytes * others / g.pc;
  *why_not = "moving its entries and rows alone takes longer";
  *considered =
      !rivals->best || sl_asks_to_travel(ins) ||
      (entries + x + y) / ins->comm->size <= 1.02 * rivals->best->predicted_seconds * rivals->bandwidth;
  return SLEY_OK;
}

static sley_status build_summa(const sl_inspection *ins, sl_plan *plan) {
  int ranks = ins->comm->size;
  grid g = grid_of(ins);
  g.i = ins->comm->rank / g.pc;
  g.j = ins->comm->rank % g.pc;
  g.panels = g.pc;
  while (g.panels % g.pr != 0)
    g.panels += g.pc;
  g.panel_ranks = ranks / g.panels;
  plan->separate_result = true;
  plan->entries_travel = true;
  plan->slices = g.pc;
  sl_item *items = NULL;
  int64_t count = 0;
  sley_status status = size_tiles(&g);
  plan->memory_bytes += plan->dry ? sl_block_bytes(ins->block) : 0;
  if (status == SLEY_OK && !plan->dry)
    status = sl_redistribute(ins, holder, &g, &items, &count);
  if (status == SLEY_OK)
    status = assemble(plan, &g, items, count);
  sl_free(items);
  sl_free(g.entries);
  sl_free(g.stored);
  return status;
}

const sl_algorithm sl_algo_summa_2d = {
    .name = "summa-2d",
    .summary = "ranks form a grid; panels of A and X are broadcast along its rows and columns",
    .consider = consider_summa,
    .prepare = sl_prepare_no_more,
    .build = build_summa};
