/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of SL_OP_ATTENTION_ROWS and SL_OP_ATTENTION_COLUMNS, for attention_body.h.
 *
 * For GAT, the gradient of the row's score needs no sum over features per entry: the sums that it consists of
 * are in `side`. With sums over a row's entries, sum of dS leaky' = sum_c v[n][f] (sum P leaky' dy[i][f]) -
 * sum P leaky' D. */
#ifndef SLEY_DEVICE_CPU_GRAPH_ATTENTION_GRAD_BODY_H
#define SLEY_DEVICE_CPU_GRAPH_ATTENTION_GRAD_BODY_H

#include "device/cpu/graph/attention_sums.h"
#include "device/cpu/graph/pattern_rows.h"

/* Stores one value per head from a tile, rounded to values. */
static void store_heads(const attention_layout *l, value *to, const sum *tile) {
  for (int64_t h = 0; h < l->heads; h += BLOCK)
    block_store_some(to + h, l->heads - h < BLOCK ? l->heads - h : BLOCK, block_load_sums(tile + h));
}

/* Computes D of row i; writes it to the gradient's delta and to a tile. */
static void find_delta(const attention_job *job, attention_scratch *s, int64_t i, sum *tile) {
  const attention_layout *l = &job->layout;
  const value *const y = (const value *)job->args->y + i * job->args->ldy;
  const head_dots dots = {
      .layout = l, .row = &y, .count = 1, .fixed = split_values(&job->dy, i), .dot = s->delta};
  find_dots(&dots);
  memcpy(tile, s->delta, (size_t)l->heads * sizeof(sum));
  memcpy((sum *)job->grad->delta + i * l->heads, s->delta, (size_t)l->heads * sizeof(sum));
  tile_repeat(l, tile);
}

/* Computes dq of a row for GAT. */
static void gat_row(const attention_job *job, attention_scratch *s, int64_t i) {
  const attention_layout *l = &job->layout;
  const int64_t some = block_features(l);
  const sum *side = job->side + i * (l->features + l->heads);
  const value *dy = split_values(&job->dy, i);
  for (int64_t b = 0; b < l->feature_blocks; b++) {
    const int64_t f = block_feature(l, b);
    block_store_sums(s->product + f,
                     block_mul(block_load_part(dy + f, some), block_load_some_sums(side + f, some)));
  }
  sum_heads(l, s->product, s->q_tile);
  for (int64_t h = 0; h < l->heads; h++)
    s->q_tile[h] -= s->extra_tile[h] * side[l->features + h];
  store_heads(l, (value *)job->grad->dq + i * job->grad->lddq, s->q_tile);
}

/* Turns score (dot products) into P, and weight (sum_c dy v) into dS. one_row: m, s and D are of one row of
 * the matrix and lie in tiles; else each entry has its own. */
BLOCK_INLINE void finish_gradients(const attention_job *job, attention_scratch *s, int64_t count,
                                   const bool one_row) {
  const attention_layout *l = &job->layout;
  const int64_t blocks = chunk_blocks(l, count);
  const block slope = block_all(job->args->kind == SL_ATTENTION_DOT ? job->slope : (sum)1);
  const sum *greatest = one_row ? s->greatest_tile : s->greatest, *total = one_row ? s->total_tile : s->total,
            *delta = one_row ? s->extra_tile : s->delta;
  int64_t t = 0;
  for (int64_t b = 0; b < blocks; b++) {
    const int64_t at = (one_row ? t : b) * BLOCK;
    const block score = block_mul(slope, block_load_sums(s->score + b * BLOCK));
    const block p =
        block_div(exp_block(block_sub(score, block_load_sums(greatest + at))), block_load_sums(total + at));
    const block g = block_sub(block_load_sums(s->weight + b * BLOCK), block_load_sums(delta + at));
    block_store_sums(s->score + b * BLOCK, p);
    block_store_sums(s->weight + b * BLOCK, block_mul(p, g));
    t = t + 1 == l->tile_blocks ? 0 : t + 1;
  }
}

static weighted_sum gradient_sum(const attention_job *job, const attention_scratch *s,
                                 const attention_chunk *c, bool begun) {
  return (weighted_sum){.layout = &job->layout,
                        .head_of = s->head_of,
                        .row = s->first,
                        .weight = s->weight,
                        .slope = job->slope,
                        .acc = s->acc,
                        .begun = begun,
                        .chunk = c};
}

/* Adds a chunk's terms: for GATV2 dS leaky' to acc and dS leaky to da; for DOT dS k to acc. */
static void add_row_chunk(const attention_job *job, attention_scratch *s, int64_t i, const attention_chunk *c,
                          bool begun, bool *da_begun) {
  const sl_attention_args *a = job->args;
  const bool leaky = a->kind == SL_ATTENTION_GATV2;
  find_rows(c, &a->v, s->first);
  if (!leaky)
    find_rows(c, &a->k, s->second);
  head_dots dots = {.layout = &job->layout,
                    .row = leaky ? s->first : s->second,
                    .count = c->count,
                    .fixed = split_values(&job->q, i),
                    .a = leaky ? a->a : NULL,
                    .slope = job->slope,
                    .dot = s->score,
                    .chunk = c};
  find_dots(&dots);
  dots.row = s->first;
  dots.fixed = split_values(&job->dy, i);
  dots.fetched = leaky ? NULL : &a->v;
  dots.a = NULL;
  dots.dot = s->weight;
  find_dots(&dots);
  finish_gradients(job, s, c->count, true);
  weighted_sum w = gradient_sum(job, s, c, begun);
  w.fetched = &a->v;
  if (!leaky) {
    w.row = s->second;
    w.fetched = &a->k;
    sum_values(&w);
    return;
  }
  w.fixed = split_values(&job->q, i);
  sum_slopes(&w);
  w.acc = s->da;
  w.fetched = NULL;
  w.begun = *da_begun;
  sum_leaky(&w);
  *da_begun = true;
}

/* Writes dq[i][f]: the sums times the factor of scores, a[f] or slope. */
static void store_scaled(const attention_job *job, value *to, const sum *acc) {
  const attention_layout *l = &job->layout;
  const int64_t some = block_features(l);
  for (int64_t b = 0; b < l->feature_blocks; b++) {
    const int64_t f = block_feature(l, b);
    const block factor = job->args->kind == SL_ATTENTION_DOT
                             ? block_all(job->slope)
                             : block_load_part((const value *)job->args->a + f, some);
    block_store_some(to + f, some, block_mul(factor, block_load_sums(acc + b * BLOCK)));
  }
}

/* Loads the row's m and s into tiles. */
static void take_row_stats(const attention_job *job, attention_scratch *s, int64_t i) {
  const attention_layout *l = &job->layout;
  const sum *stats = (const sum *)job->args->stats + i * l->heads * 2;
  for (int64_t h = 0; h < l->heads; h++) {
    s->greatest_tile[h] = stats[h * 2];
    s->total_tile[h] = stats[h * 2 + 1];
  }
  tile_repeat(l, s->greatest_tile);
  tile_repeat(l, s->total_tile);
}

/* Computes dq of a row for GATV2 and DOT, and adds to da. */
static void entries_row(const attention_job *job, attention_scratch *s, int64_t i, bool *da_begun) {
  const sl_pattern *p = &job->args->pattern;
  const attention_layout *l = &job->layout;
  const int64_t begin = p->rowptr[i], end = p->rowptr[i + 1];
  value *dq = (value *)job->grad->dq + i * job->grad->lddq;
  if (begin == end) {
    clear_values(dq, l->features);
    return;
  }
  take_row_stats(job, s, i);
  for (int64_t j = begin; j < end; j += ATTENTION_CHUNK) {
    const attention_chunk c = chunk_at(p, j, end);
    add_row_chunk(job, s, i, &c, j > begin, da_begun);
  }
  store_scaled(job, dq, s->acc);
}

/* Gradients of rows [row, row_end). Returns true if anything was added to da. */
static bool gradients_of_rows(const attention_job *job, attention_scratch *s, int64_t row, int64_t row_end) {
  bool da_begun = false;
  for (int64_t i = row; i < row_end; i++) {
    find_delta(job, s, i, s->extra_tile);
    if (job->args->kind == SL_ATTENTION_GAT)
      gat_row(job, s, i);
    else
      entries_row(job, s, i, &da_begun);
  }
  return da_begun;
}

static sley_status gradients_of_pieces(void *context, int64_t begin, int64_t end, int thread) {
  const attention_job *job = context;
  attention_scratch s = scratch_of(job, thread);
  gradients_of_rows(job, &s, piece_row(job, begin), piece_row(job, end));
  return SLEY_OK;
}

/* Works on blocks of SL_ATTENTION_BLOCK rows; each block's da goes to `work`. */
static sley_status gradients_of_blocks(void *context, int64_t begin, int64_t end, int thread) {
  const attention_job *job = context;
  const attention_layout *l = &job->layout;
  const int64_t rows = job->args->pattern.rows, some = block_features(l);
  attention_scratch s = scratch_of(job, thread);
  for (int64_t n = begin; n < end; n++) {
    const int64_t row = n * SL_ATTENTION_BLOCK, left = rows - row;
    sum *da = (sum *)job->grad->work + n * l->features;
    if (!gradients_of_rows(job, &s, row, row + (left < SL_ATTENTION_BLOCK ? left : SL_ATTENTION_BLOCK)))
      clear_sums(s.da, feature_sums(l));
    for (int64_t b = 0; b < l->feature_blocks; b++)
      block_store_some_sums(da + block_feature(l, b), some, block_load_sums(s.da + b * BLOCK));
  }
  return SLEY_OK;
}

/* Sets da to the sum over all blocks. */
static void add_da(const attention_job *job, int64_t blocks) {
  const int64_t features = job->layout.features;
  sum *da = job->grad->da;
  clear_sums(da, features);
  for (int64_t n = 0; n < blocks; n++)
    for (int64_t f = 0; f < features; f++)
      da[f] += ((const sum *)job->grad->work)[n * features + f];
}

static sley_status attention_rows_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_attention_grad_args *g = &args->attention_grad;
  attention_job job = attention_job_of(&g->of, g);
  const bool blocked = g->of.kind == SL_ATTENTION_GATV2;
  const int64_t rows = g->of.pattern.rows > 0 ? g->of.pattern.rows : 0,
                blocks = blocked ? sl_attention_blocks(rows) : 0;
  if (g->of.shape.heads <= 0)
    return SLEY_OK;
  if (rows)
    SL_TRY(attention_job_run(queue, &job, blocks, blocked ? gradients_of_blocks : gradients_of_pieces));
  if (blocked)
    add_da(&job, blocks);
  return SLEY_OK;
}

/* Loads m, s and D of the rows to which the chunk's entries belong. */
BLOCK_INLINE void take_stats(const attention_job *job, attention_scratch *s, const attention_chunk *c,
                             const int64_t heads) {
  const int64_t stride = job->layout.stride;
  const sum *all = job->args->stats, *deltas = job->grad->delta;
  for (int64_t e = 0; e < c->count; e++) {
    if (e + ATTENTION_AHEAD < c->after) {
      const int64_t later = c->col[e + ATTENTION_AHEAD];
      __builtin_prefetch(all + later * heads * 2);
      __builtin_prefetch(deltas + later * heads);
    }
    const sum *stats = all + c->col[e] * heads * 2, *delta = deltas + c->col[e] * heads;
    sum *greatest = s->greatest + e * stride, *total = s->total + e * stride;
    for (int64_t h = 0; h < heads; h++) {
      greatest[h] = stats[h * 2];
      total[h] = stats[h * 2 + 1];
    }
    memcpy(s->delta + e * stride, delta, (size_t)heads * sizeof(sum));
  }
}
static void take_chunk_stats(const attention_job *job, attention_scratch *s, const attention_chunk *c) {
  if (job->layout.heads == 1)
    take_stats(job, s, c, 1);
  else if (job->layout.heads == 8)
    take_stats(job, s, c, 8);
  else
    take_stats(job, s, c, job->layout.heads);
}

/* For GAT: score becomes P, weight becomes P leaky', and extra_tile grows by the products of weight and D. */
static void gat_weights(const attention_job *job, attention_scratch *s, int64_t count) {
  const attention_layout *l = &job->layout;
  const int64_t blocks = chunk_blocks(l, count), lanes = count * l->stride;
  const block slope = block_all(job->slope), zero = block_all(0);
  for (int64_t t = 0; t < l->tile_blocks; t++) {
    const block k = block_load_sums(s->q_tile + t * BLOCK);
    block extra = block_load_sums(s->extra_tile + t * BLOCK);
    for (int64_t b = t; b < blocks; b += l->tile_blocks) {
      const block x = block_add(block_load(s->raw + b * BLOCK), k);
      const block p =
          block_div(exp_block(block_sub(block_leaky(x, slope), block_load_sums(s->greatest + b * BLOCK))),
                    block_load_sums(s->total + b * BLOCK));
      const block w = block_if_less(x, zero, block_mul(slope, p), p);
      block_store_sums(s->score + b * BLOCK, p);
      block_store_sums(s->weight + b * BLOCK, w);
      const block d = block_mul(w, block_load_sums(s->delta + b * BLOCK));
      extra = block_add(extra, block_first(d, lanes - b * BLOCK, zero));
    }
    block_store_sums(s->extra_tile + t * BLOCK, extra);
  }
}

static void gat_column_chunk(const attention_job *job, attention_scratch *s, const attention_chunk *c,
                             bool begun) {
  take_values(&job->layout, c, &job->q, s->raw);
  gat_weights(job, s, c->count);
  weighted_sum w = gradient_sum(job, s, c, begun);
  w.weight = s->score;
  w.more_weight = s->weight;
  w.more_acc = s->more_acc;
  w.fetched = &job->dy;
  sum_twice(&w);
}

/* Adds P dy to acc, and to more_acc dS leaky' (GATV2) or dS q (DOT). */
static void dot_column_chunk(const attention_job *job, attention_scratch *s, int64_t n,
                             const attention_chunk *c, bool begun) {
  const sl_attention_args *a = job->args;
  const bool leaky = a->kind == SL_ATTENTION_GATV2;
  find_rows(c, &job->q, s->second);
  head_dots dots = {.layout = &job->layout,
                    .row = s->second,
                    .count = c->count,
                    .fixed = split_values(leaky ? &a->v : &a->k, n),
                    .a = leaky ? a->a : NULL,
                    .slope = job->slope,
                    .dot = s->score};
  find_dots(&dots);
  dots.row = s->first;
  dots.fixed = split_values(&a->v, n);
  dots.a = NULL;
  dots.dot = s->weight;
  find_dots(&dots);
  finish_gradients(job, s, c->count, false);
  weighted_sum w = gradient_sum(job, s, c, begun);
  w.weight = s->score;
  w.fetched = &job->dy;
  sum_values(&w);
  w.weight = s->weight;
  w.row = s->second;
  w.fetched = &job->q;
  w.acc = s->more_acc;
  w.fixed = split_values(&a->v, n);
  if (leaky)
    sum_slopes(&w);
  else
    sum_values(&w);
}

/* Writes dk of a row for GAT. */
static void store_gat_dk(const attention_job *job, attention_scratch *s, int64_t n) {
  const attention_layout *l = &job->layout;
  const value *v = split_values(&job->args->v, n);
  for (int64_t b = 0; b < l->feature_blocks; b++) {
    const int64_t f = block_feature(l, b);
    block_store_sums(s->product + f, block_mul(block_load_part(v + f, block_features(l)),
                                               block_load_sums(s->more_acc + b * BLOCK)));
  }
  sum_heads(l, s->product, s->q_tile);
  tile_fold_sums(l, s->extra_tile);
  for (int64_t h = 0; h < l->heads; h++)
    s->q_tile[h] -= s->extra_tile[h];
  store_heads(l, (value *)split_values(&job->grad->dk, n), s->q_tile);
}

static void store_dv(const attention_job *job, const attention_scratch *s, int64_t n) {
  const attention_layout *l = &job->layout;
  const int64_t some = block_features(l);
  value *dv = (value *)split_values(&job->grad->dv, n);
  for (int64_t b = 0; b < l->feature_blocks; b++) {
    const int64_t f = block_feature(l, b);
    block sums = block_load_sums(s->acc + b * BLOCK);
    if (job->args->kind == SL_ATTENTION_GATV2)
      sums = block_fma(block_load_part((const value *)job->args->a + f, some),
                       block_load_sums(s->more_acc + b * BLOCK), sums);
    block_store_some(dv + f, some, sums);
  }
}

static void empty_column(const attention_job *job, int64_t n) {
  const attention_layout *l = &job->layout;
  const sl_attention kind = job->args->kind;
  clear_values((value *)split_values(&job->grad->dv, n), l->features);
  if (kind != SL_ATTENTION_GATV2)
    clear_values((value *)split_values(&job->grad->dk, n), kind == SL_ATTENTION_GAT ? l->heads : l->features);
}

static void gradients_of_column(const attention_job *job, attention_scratch *s, int64_t n) {
  const sl_pattern *p = &job->args->pattern;
  const bool gat = job->args->kind == SL_ATTENTION_GAT;
  const int64_t begin = p->rowptr[n], end = p->rowptr[n + 1];
  if (begin == end) {
    empty_column(job, n);
    return;
  }
  tile_set(&job->layout, s->extra_tile, 0);
  if (gat)
    tile_of_values(&job->layout, s->q_tile, split_values(&job->args->k, n));
  for (int64_t j = begin; j < end; j += ATTENTION_CHUNK) {
    const attention_chunk c = chunk_at(p, j, end);
    take_chunk_stats(job, s, &c);
    find_rows(&c, &job->dy, s->first);
    if (gat)
      gat_column_chunk(job, s, &c, j > begin);
    else
      dot_column_chunk(job, s, n, &c, j > begin);
  }
  store_dv(job, s, n);
  if (gat)
    store_gat_dk(job, s, n);
  else if (job->args->kind == SL_ATTENTION_DOT)
    store_scaled(job, (value *)split_values(&job->grad->dk, n), s->more_acc);
}

static sley_status gradients_of_columns(void *context, int64_t begin, int64_t end, int thread) {
  const attention_job *job = context;
  attention_scratch s = scratch_of(job, thread);
  const int64_t column_end = piece_row(job, end);
  for (int64_t n = piece_row(job, begin); n < column_end; n++)
    gradients_of_column(job, &s, n);
  return SLEY_OK;
}

static sley_status attention_columns_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_attention_grad_args *g = &args->attention_grad;
  attention_job job = attention_job_of(&g->of, g);
  if (g->of.pattern.rows <= 0 || g->of.shape.heads <= 0)
    return SLEY_OK;
  return attention_job_run(queue, &job, 0, gradients_of_columns);
}

static bool attention_grad_ok(const sl_kernel_args *args) {
  return args->attention_grad.of.dtype == (sley_dtype)DTYPE && sl_cpu_has((sl_cpu_isa)ISA);
}

#define ATTENTION_ROWS_KERNEL(kernel_name)                                                                   \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_ATTENTION_ROWS, .ok = attention_grad_ok, .cost = graph_cost,            \
    SL_KERNEL_KEEPS_NOTHING, .run = attention_rows_run                                                       \
  }
#define ATTENTION_COLUMNS_KERNEL(kernel_name)                                                                \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_ATTENTION_COLUMNS, .ok = attention_grad_ok, .cost = graph_cost,         \
    SL_KERNEL_KEEPS_NOTHING, .run = attention_columns_run                                                    \
  }

#endif
