/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels of attention: the layout of values per head and per feature in blocks, the memory of
 * a thread, the division of rows among a team, and the lookup of the rows that a chunk of entries names.
 * Included after block_math.h. */
#ifndef SLEY_DEVICE_CPU_GRAPH_ATTENTION_KERNELS_H
#define SLEY_DEVICE_CPU_GRAPH_ATTENTION_KERNELS_H

#include <math.h>

#include "base/memory.h"
#include "device/cpu/graph/block_math.h"
#include "device/cpu/graph/pattern_rows.h"

/* ATTENTION_CHUNK: entries whose weights are computed at once. ATTENTION_AHEAD: how many entries ahead rows
 * are prefetched, at most FETCHED_BYTES of each row. */
enum { ATTENTION_CHUNK = 64, ATTENTION_AHEAD = 32, FETCHED_BYTES = 1024, FETCHED_LINE = 64 };

/* Code with vectors of one lane has only the general loops and one copy of exp; otherwise it would be very
 * large. */
enum { ANY_ALONE = LANES == 1 };

static __attribute__((noinline)) vec exp_alone(vec x) {
  return vec_exp(x);
}
BLOCK_INLINE block exp_block(block b) {
  if (!ANY_ALONE)
    return block_exp(b);
  EACH_VECTOR b.v[v_] = exp_alone(b.v[v_]);
  return b;
}

/* The heads to which the sixteen features of a block belong: one head; two heads of eight features; sixteen
 * heads; any. */
typedef enum head_spread { SPREAD_ONE, SPREAD_EIGHT, SPREAD_EACH, SPREAD_ANY } head_spread;

/* Values per head: the values of entry e of a chunk begin at e * stride, where stride is the number of heads
 * rounded up to a power of two, or above 16 to a multiple of 16. A tile has max(stride, 16) values: the
 * heads' values, repeated until the tile is full. So block b of a chunk corresponds to block b mod
 * tile_blocks of a tile.
 *
 * Values per feature: block b begins with feature 16 b, and the last block with feature features - 16. So
 * only rows of fewer than 16 features have an incomplete block. An array "by blocks", such as head_of, has 16
 * values for each block. */
typedef struct attention_layout {
  int64_t heads, width, features;
  int64_t stride, tile_blocks, feature_blocks;
  head_spread spread;
} attention_layout;

static attention_layout attention_layout_of(const sl_heads *shape) {
  attention_layout l = {.heads = shape->heads, .width = shape->width, .features = sl_features(shape)};
  l.stride = 1;
  while (l.stride < l.heads && l.stride < BLOCK)
    l.stride *= 2;
  if (l.heads > BLOCK)
    l.stride = (l.heads + BLOCK - 1) / BLOCK * BLOCK;
  l.tile_blocks = (l.stride + BLOCK - 1) / BLOCK;
  l.feature_blocks = (l.features + BLOCK - 1) / BLOCK;
  if (l.heads == 1 || l.width % BLOCK == 0)
    l.spread = SPREAD_ONE;
  else if (l.width == 1)
    l.spread = SPREAD_EACH;
  else
    l.spread = l.width == BLOCK / 2 && l.heads % 2 == 0 ? SPREAD_EIGHT : SPREAD_ANY;
  return l;
}

/* First feature of block b; block_features returns how many features each block has. */
BLOCK_INLINE int64_t block_feature(const attention_layout *l, int64_t b) {
  const int64_t last = l->features - BLOCK;
  return last < 0 ? 0 : b * BLOCK < last ? b * BLOCK : last;
}
BLOCK_INLINE int64_t block_features(const attention_layout *l) {
  return l->features < BLOCK ? l->features : BLOCK;
}

/* Number of sums in a tile; in values per head of a chunk; in values per feature by blocks. The last two
 * include a spare block. */
static int64_t tile_sums(const attention_layout *l) {
  return l->tile_blocks * BLOCK;
}
static int64_t chunk_sums(const attention_layout *l) {
  return ATTENTION_CHUNK * l->stride + BLOCK;
}
static int64_t feature_sums(const attention_layout *l) {
  return (l->feature_blocks + 1) * BLOCK;
}

/* Blocks that `count` entries fill; the last one may have unused lanes. */
BLOCK_INLINE int64_t chunk_blocks(const attention_layout *l, int64_t count) {
  return (count * l->stride + BLOCK - 1) / BLOCK;
}

static const sum lane_numbers[BLOCK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* The first `count` lanes of x, and the remaining lanes of others. */
BLOCK_INLINE block block_first(block x, int64_t count, block others) {
  if (count >= BLOCK)
    return x;
  return block_if_less(block_load_sums(lane_numbers), block_all((sum)count), x, others);
}

/* Loads `count` values, at most 16; the other lanes are 0. Incomplete vectors are loaded with a mask. */
BLOCK_INLINE block block_load_part(const value *p, int64_t count) {
  block b;
  EACH_VECTOR {
    const int64_t left = count - v_ * LANES;
    if (left >= LANES)
      b.v[v_] = load_values(p + v_ * LANES);
    else
      b.v[v_] = left <= 0 ? vec_zero() : load_values_part(p + v_ * LANES, mask_of(left, true), 1);
  }
  return b;
}

/* Returns t, or slope t in lanes where t < 0. */
BLOCK_INLINE block block_leaky(block t, block slope) {
  return block_if_less(t, block_all(0), block_mul(slope, t), t);
}

/* Fills a tile by repeating its first `stride` values. */
static void tile_repeat(const attention_layout *l, sum *tile) {
  for (int64_t p = l->stride; p < BLOCK; p++)
    tile[p] = tile[p - l->stride];
}

/* Replaces lanes that belong to the same head by their sum, or by their maximum: p and p + 8 are combined
 * first, then p and p + 4, and so on. */
static void tile_fold_sums(const attention_layout *l, sum *tile) {
  for (int64_t half = BLOCK / 2; half >= l->stride; half /= 2)
    for (int64_t p = 0; p < half; p++)
      tile[p] += tile[p + half];
  tile_repeat(l, tile);
}
static void tile_fold_greatest(const attention_layout *l, sum *tile) {
  for (int64_t half = BLOCK / 2; half >= l->stride; half /= 2)
    for (int64_t p = 0; p < half; p++)
      tile[p] = tile[p] < tile[p + half] ? tile[p + half] : tile[p];
  tile_repeat(l, tile);
}

static void tile_set(const attention_layout *l, sum *tile, sum s) {
  for (int64_t p = 0; p < tile_sums(l); p++)
    tile[p] = s;
}

/* Converts one value per head of a row to a tile. */
static void tile_of_values(const attention_layout *l, sum *tile, const value *row) {
  for (int64_t h = 0; h < l->heads; h++)
    tile[h] = widen(row[h]);
  tile_repeat(l, tile);
}

static void clear_values(value *to, int64_t count) {
  if (count > 0)
    memset(to, 0, (size_t)count * sizeof *to);
}
static void clear_sums(sum *to, int64_t count) {
  if (count > 0)
    memset(to, 0, (size_t)count * sizeof *to);
}

/* Working memory of a thread. It starts as zeros; unused lanes keep their earlier contents. */
typedef struct attention_scratch {
  const value *first[ATTENTION_CHUNK], *second[ATTENTION_CHUNK];      /* pointers to the rows of the chunk's
                                                                       * entries */
  value *raw;                                                         /* values per head of a chunk */
  sum *score, *weight, *greatest, *total, *delta;                     /* values per head of a chunk */
  sum *q_tile, *greatest_tile, *grown_tile, *total_tile, *extra_tile; /* tiles (attention_layout) */
  sum *acc, *more_acc, *da;                                           /* values per feature by blocks */
  sum *product;                                                       /* values per feature */
  int32_t *head_of;                                                   /* head of each feature, by blocks */
} attention_scratch;

/* Data shared by all threads of a run. grad is NULL in a forward pass. */
typedef struct attention_job {
  const sl_attention_args *args;
  const sl_attention_grad_args *grad;
  attention_layout layout;
  sum slope;
  sum *side;           /* side outputs of GAT, else NULL */
  sl_split_rows q, dy; /* rows that all lie in near memory */
  int64_t pieces;
  sum *memory;
  int64_t sums_each; /* number of sums of `memory` that each thread uses */
} attention_job;

enum { CHUNK_ARRAYS = 6, TILE_ARRAYS = 5, FEATURE_ARRAYS = 5 };

static sum *scratch_cut(sum **at, int64_t count) {
  sum *cut = *at;
  *at += count;
  return cut;
}

static attention_scratch scratch_of(const attention_job *job, int thread) {
  const attention_layout *l = &job->layout;
  const int64_t chunk = chunk_sums(l), tile = tile_sums(l), features = feature_sums(l);
  attention_scratch s;
  sum *at = job->memory + thread * job->sums_each;
  sum **const chunks[] = {&s.score, &s.weight, &s.greatest, &s.total, &s.delta},
              **const tiles[] = {&s.q_tile, &s.greatest_tile, &s.grown_tile, &s.total_tile, &s.extra_tile},
              **const rows[] = {&s.acc, &s.more_acc, &s.da, &s.product};
  for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++)
    *chunks[i] = scratch_cut(&at, chunk);
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
    *tiles[i] = scratch_cut(&at, tile);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    *rows[i] = scratch_cut(&at, features);
  s.raw = (value *)scratch_cut(&at, chunk);
  s.head_of = (int32_t *)at;
  for (int64_t b = 0; b < l->feature_blocks; b++)
    for (int64_t p = 0; p < BLOCK; p++) {
      const int64_t f = block_feature(l, b) + p;
      s.head_of[b * BLOCK + p] = f < l->features ? (int32_t)(f / l->width) : 0;
    }
  return s;
}

/* First row of piece `piece`, as an index into the rows to be worked on. */
static int64_t piece_row(const attention_job *job, int64_t piece) {
  const sl_pattern *p = &job->args->pattern;
  const int64_t work = graph_work(p), each = work / job->pieces, rest = work % job->pieces;
  return piece == job->pieces ? sl_pattern_work_rows(p)
                              : graph_row_at(p, piece * each + (piece < rest ? piece : rest));
}

/* PIECE_WORK: fewest entries and rows of a piece. PIECES_EACH: most pieces per thread. */
enum { PIECE_WORK = 4096, PIECES_EACH = 32 };

static attention_job attention_job_of(const sl_attention_args *args, const sl_attention_grad_args *grad) {
  const sl_split_rows none = {0};
  attention_job job = {.args = args, .grad = grad, .slope = (sum)args->slope, .q = none, .dy = none};
  job.side = args->kind == SL_ATTENTION_GAT ? args->side : NULL;
  job.layout = attention_layout_of(&args->shape);
  job.q = (sl_split_rows){.near = (void *)args->q, .near_rows = INT64_MAX, .near_ld = args->ldq};
  if (grad)
    job.dy = (sl_split_rows){.near = (void *)grad->dy, .near_rows = INT64_MAX, .near_ld = grad->lddy};
  return job;
}

/* Runs body over pieces of about equal work, or over `units` units if that is not 0. Errors:
 * SLEY_ERR_MEMORY. */
static sley_status attention_job_run(sl_queue *queue, attention_job *job, int64_t units, sl_range_body body) {
  const attention_layout *l = &job->layout;
  const sl_pattern *p = &job->args->pattern;
  sl_team *team = sl_cpu_queue_team(queue);
  const int threads = sl_team_size(team);
  const int64_t wanted = graph_work(p) / graph_spread(p, PIECE_WORK) + 1,
                most = (int64_t)threads * PIECES_EACH;
  job->pieces = threads == 1 ? 1 : wanted < most ? wanted : most;
  job->sums_each =
      CHUNK_ARRAYS * chunk_sums(l) + TILE_ARRAYS * tile_sums(l) + FEATURE_ARRAYS * feature_sums(l) + BLOCK;
  job->memory = sl_alloc_zero(job->sums_each * threads, sizeof(sum), "memory of attention");
  if (!job->memory)
    return SLEY_ERR_MEMORY;
  sley_status status = sl_team_for(team, units ? units : job->pieces, 1, body, job);
  sl_free(job->memory);
  return status;
}

BLOCK_INLINE int64_t fetched_bytes(const attention_layout *l) {
  const int64_t bytes = l->features * (int64_t)sizeof(value);
  return bytes < FETCHED_BYTES ? bytes : FETCHED_BYTES;
}
BLOCK_INLINE void fetch_values(const value *row, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += FETCHED_LINE)
    __builtin_prefetch((const char *)row + at);
}

BLOCK_INLINE const value *split_values(const sl_split_rows *rows, int64_t i) {
  return (const value *)sl_split_row(rows, i, sizeof(value));
}

/* Entries of one row of the pattern that are worked on together. */
typedef struct attention_chunk {
  int64_t entry, count;
  const int32_t *col;
  int64_t after; /* number of entries from this chunk's first entry to the end of the pattern */
} attention_chunk;

BLOCK_INLINE attention_chunk chunk_at(const sl_pattern *p, int64_t entry, int64_t end) {
  const int64_t left = end - entry;
  return (attention_chunk){.entry = entry,
                           .count = left < ATTENTION_CHUNK ? left : ATTENTION_CHUNK,
                           .col = p->col + entry,
                           .after = p->rowptr[p->rows] - entry};
}

/* Finds the addresses of the rows of the chunk's entries. */
static void find_rows(const attention_chunk *c, const sl_split_rows *rows, const value **found) {
  for (int64_t e = 0; e < c->count; e++)
    found[e] = split_values(rows, c->col[e]);
}

/* Copies the first `heads` values of each entry's row to raw, and prefetches the rows of later entries. */
BLOCK_INLINE void take_heads(const attention_layout *l, const attention_chunk *c, const sl_split_rows *rows,
                             value *raw, const int64_t heads) {
  for (int64_t e = 0; e < c->count; e++) {
    if (e + ATTENTION_AHEAD < c->after)
      __builtin_prefetch(split_values(rows, c->col[e + ATTENTION_AHEAD]));
    memcpy(raw + e * l->stride, split_values(rows, c->col[e]), (size_t)heads * sizeof(value));
  }
}
static void take_values(const attention_layout *l, const attention_chunk *c, const sl_split_rows *rows,
                        value *raw) {
  if (l->heads == 1)
    take_heads(l, c, rows, raw, 1);
  else if (l->heads == 8)
    take_heads(l, c, rows, raw, 8);
  else
    take_heads(l, c, rows, raw, l->heads);
}

#endif
