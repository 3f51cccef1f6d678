/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of dense products: by OpenBLAS, and by loops of Sley's own. C is cut into tiles and long sums
 * into blocks of terms, by shapes alone. If there are many tiles, one thread computes all blocks of a tile.
 * If there are few, several threads compute the blocks of a tile's sums, which are then added in ascending
 * order. Both return the same bits. */
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "device/cpu/cpu.h"
#include "device/cpu/dense/blas.h"
#include "device/cpu/dense/gemm_tile.h"

/* TILES_EACH: with this many tiles per thread, the blocks of a tile are not shared. SUMS_EACH: sums of blocks
 * kept per thread. FEWEST_ROWS: fewest rows of a tile. */
enum { TILES_EACH = 4, SUMS_EACH = 4, FEWEST_ROWS = 16 };

/* A product in progress. Areas are parts of memory of area_rows x area_cols elements in the type of sums;
 * each holds the sum of a tile. */
typedef struct gemm {
  const sl_gemm_args *a;
  bool blas, in_c; /* in_c: sums are computed in the memory of C */
  int64_t tile_rows, down, across, blocks;
  int64_t area_rows, area_cols;
  char *areas;
  int64_t panel_bytes; /* bytes of one panel */
  char *panels;        /* two per thread */
  int64_t block, wave; /* first block of terms that is being summed, and number of these blocks */
} gemm;

static sl_gemm_tile tile_of(const gemm *g, int64_t number) {
  const int64_t row = number / g->across * g->tile_rows, col = number % g->across * SL_TILE;
  const int64_t rows = g->a->m - row, cols = g->a->n - col;
  return (sl_gemm_tile){row, rows < g->tile_rows ? rows : g->tile_rows, col, cols < SL_TILE ? cols : SL_TILE};
}

static void *area(const gemm *g, int64_t number) {
  const int64_t bytes = (int64_t)sley_dtype_bytes(sl_sum_dtype(g->a->dtype));
  return g->areas + number * g->area_rows * g->area_cols * bytes;
}

static void sum_block(const gemm *g, int thread, const sl_gemm_tile *t, int64_t block, void *to, int64_t ld) {
  char *panels = g->panels ? g->panels + 2 * thread * g->panel_bytes : NULL;
  const sl_gemm_panels p = {panels, panels ? panels + g->panel_bytes : NULL};
  const int64_t first = block * SL_GEMM_TERMS, last = first + SL_GEMM_TERMS;
  sl_gemm_sum_terms(g->a, g->blas, &p, t, first, last < g->a->k ? last : g->a->k, to, ld);
}

static void *tile_in_c(const gemm *g, const sl_gemm_tile *t) {
  return (char *)g->a->c + (t->row * g->a->ldc + t->col) * (int64_t)sley_dtype_bytes(g->a->dtype);
}

/* Computes whole tiles. The thread has two areas: the tile's sum, and the sum of a block. */
static sley_status make_tiles(void *context, int64_t begin, int64_t end, int thread) {
  const gemm *g = context;
  const sley_dtype sums = sl_sum_dtype(g->a->dtype);
  for (int64_t i = begin; i < end; i++) {
    const sl_gemm_tile t = tile_of(g, i);
    const int64_t ld = g->in_c ? g->a->ldc : g->area_cols;
    void *sum = g->blocks == 0 ? NULL : g->in_c ? tile_in_c(g, &t) : area(g, 2 * thread);
    for (int64_t b = 0; b < g->blocks; b++) {
      void *to = b == 0 ? sum : area(g, 2 * thread + 1);
      sum_block(g, thread, &t, b, to, b == 0 ? ld : g->area_cols);
      if (b > 0)
        sl_gemm_add(sums, sum, ld, to, g->area_cols, t.rows, t.cols);
    }
    sl_gemm_finish(g->a, &t, sum, ld);
  }
  return SLEY_OK;
}

/* For few tiles: area i is the sum of tile i. After these areas come the sums of the wave's blocks, tile by
 * tile. */
static void *area_of_block(const gemm *g, int64_t tile, int64_t in_wave) {
  return area(g, g->down * g->across + tile * g->wave + in_wave);
}

static sley_status sum_wave(void *context, int64_t begin, int64_t end, int thread) {
  const gemm *g = context;
  for (int64_t i = begin; i < end; i++) {
    const int64_t tile = i / g->wave, block = g->block + i % g->wave;
    const sl_gemm_tile t = tile_of(g, tile);
    if (block < g->blocks)
      sum_block(g, thread, &t, block, area_of_block(g, tile, i % g->wave), g->area_cols);
  }
  return SLEY_OK;
}

static sley_status add_wave(void *context, int64_t begin, int64_t end, int thread) {
  const gemm *g = context;
  (void)thread;
  for (int64_t i = begin; i < end; i++) {
    const sl_gemm_tile t = tile_of(g, i);
    void *sum = g->block == 0 ? area_of_block(g, i, 0) : area(g, i);
    for (int64_t b = g->block == 0; b < g->wave && g->block + b < g->blocks; b++)
      sl_gemm_add(sl_sum_dtype(g->a->dtype), sum, g->area_cols, area_of_block(g, i, b), g->area_cols, t.rows,
                  t.cols);
    if (g->block + g->wave >= g->blocks)
      sl_gemm_finish(g->a, &t, sum, g->area_cols);
    else if (g->block == 0)
      memcpy(area(g, i), sum, (size_t)((char *)area(g, 1) - (char *)area(g, 0)));
  }
  return SLEY_OK;
}

static sley_status make_waves(gemm *g, sl_team *team) {
  const int64_t tiles = g->down * g->across;
  for (g->block = 0; g->block < g->blocks; g->block += g->wave) {
    SL_TRY(sl_team_for(team, tiles * g->wave, 1, sum_wave, g));
    SL_TRY(sl_team_for(team, tiles, 1, add_wave, g));
  }
  return SLEY_OK;
}

/* Allocates `areas` areas, and panels if the product needs them. Errors: SLEY_ERR_MEMORY. */
static sley_status take_memory(gemm *g, int64_t areas, int threads) {
  const int64_t value = (int64_t)sley_dtype_bytes(sl_sum_dtype(g->a->dtype));
  g->panel_bytes = SL_TILE * SL_TILE_TERMS * value;
  if (areas > 0)
    SL_TRY(SL_NEW(g->areas, areas * g->area_rows * g->area_cols * value, "sums of a dense product"));
  if (!sl_gemm_reads_in_place(g->a, g->blas) && g->blocks > 0)
    SL_TRY(SL_NEW(g->panels, 2 * threads * g->panel_bytes, "panels of a dense product"));
  return SLEY_OK;
}

static sley_status make_product(gemm *g, sl_team *team) {
  const int threads = sl_team_size(team);
  const int64_t tiles = g->down * g->across;
  if (g->blocks <= 1 || tiles >= TILES_EACH * (int64_t)threads || threads == 1) {
    const int64_t each = g->blocks > 1 || (g->blocks == 1 && !g->in_c) ? 2 : 0;
    SL_TRY(take_memory(g, each * threads, threads));
    return sl_team_for(team, tiles, 1, make_tiles, g);
  }
  const int64_t wave = (SUMS_EACH * (int64_t)threads + tiles - 1) / tiles;
  g->wave = wave < g->blocks ? wave : g->blocks;
  SL_TRY(take_memory(g, tiles * (g->wave + 1), threads));
  return make_waves(g, team);
}

/* Rows of a tile. Sums in ascending order (in_order) have the same bits for tiles of any shape, so their
 * tiles get fewer rows if threads would otherwise have no work. */
static int64_t tile_rows_of(const sl_gemm_args *a, int threads) {
  const int64_t across = (a->n + SL_TILE - 1) / SL_TILE, each = (a->m * across + threads - 1) / threads;
  if (!a->in_order || each >= SL_TILE)
    return SL_TILE;
  return each > FEWEST_ROWS ? each : FEWEST_ROWS;
}

/* Sums the columns of B, which is read a second time. */
static sley_status sum_columns(sl_queue *queue, const sl_gemm_args *a) {
  const sl_kernel_args args = {
      .op = SL_OP_COLUMN_SUMS,
      .column_sums = {
          .dtype = a->dtype, .rows = a->k, .cols = a->n, .x = a->b, .ldx = a->ldb, .out = a->column_sums}};
  return sl_kernel_run(queue, &args);
}

static sley_status gemm_run(sl_queue *queue, const sl_gemm_args *a, bool blas) {
  const bool summed = a->k > 0 && a->alpha != 0;
  if (a->column_sums)
    SL_TRY(sum_columns(queue, a));
  if (a->m <= 0 || a->n <= 0)
    return SLEY_OK;
  const int64_t tile_rows = tile_rows_of(a, sl_team_size(sl_cpu_queue_team(queue)));
  gemm g = {.a = a,
            .blas = blas,
            .in_c = a->beta == 0 && !sl_is_16_bit(a->dtype),
            .tile_rows = tile_rows,
            .down = (a->m + tile_rows - 1) / tile_rows,
            .across = (a->n + SL_TILE - 1) / SL_TILE,
            .blocks = summed ? (a->k - 1) / SL_GEMM_TERMS + 1 : 0,
            .area_rows = a->m < tile_rows ? a->m : tile_rows,
            .area_cols = a->n < SL_TILE ? a->n : SL_TILE};
  const int threads = sl_team_size(sl_cpu_queue_team(queue));
  if (blas)
    SL_TRY(sl_blas_enter(threads));
  const sley_status status = make_product(&g, sl_cpu_queue_team(queue));
  if (blas)
    sl_blas_leave(threads);
  sl_free(g.areas);
  sl_free(g.panels);
  return status;
}

static sley_status blas_run(sl_queue *queue, const sl_kernel_args *args) {
  return gemm_run(queue, &args->gemm, true);
}

static sley_status plain_run(sl_queue *queue, const sl_kernel_args *args) {
  return gemm_run(queue, &args->gemm, false);
}

static bool blas_ok(const sl_kernel_args *args) {
  const sl_gemm_args *a = &args->gemm;
  return !a->in_order && sl_gemm_all_ok(a) && sl_blas_serves(a->lda) && sl_blas_serves(a->ldb) &&
         sl_blas_serves(a->ldc);
}

static bool plain_ok(const sl_kernel_args *args) {
  return sl_gemm_all_ok(&args->gemm);
}

static double cost_of(const sl_gemm_figures *figures, const sl_gemm_args *a) {
  return figures->start + (double)a->m * (double)a->n * (double)a->k / figures->products;
}

static double blas_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  return cost_of(&figures->gemm[SL_GEMM_LIBRARY], &args->gemm);
}

static double plain_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  return cost_of(&figures->gemm[SL_GEMM_PLAIN], &args->gemm);
}

const sl_kernel sl_cpu_gemm_blas = {.name = "gemm-openblas",
                                    .op = SL_OP_GEMM,
                                    .ok = blas_ok,
                                    .cost = blas_cost,
                                    SL_KERNEL_KEEPS_NOTHING,
                                    .run = blas_run};
const sl_kernel sl_cpu_gemm = {.name = "gemm",
                               .op = SL_OP_GEMM,
                               .ok = plain_ok,
                               .cost = plain_cost,
                               SL_KERNEL_KEEPS_NOTHING,
                               .run = plain_run};
