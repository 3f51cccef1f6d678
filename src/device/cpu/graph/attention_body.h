/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of SL_OP_ATTENTION and its gradients, the same for every type and instruction set. The
 * including file has included the headers that block_math.h names; it gets the descriptors ATTENTION_KERNEL,
 * ATTENTION_ROWS_KERNEL and ATTENTION_COLUMNS_KERNEL. */
#ifndef SLEY_DEVICE_CPU_GRAPH_ATTENTION_BODY_H
#define SLEY_DEVICE_CPU_GRAPH_ATTENTION_BODY_H

#include "device/cpu/graph/attention_grad_body.h"
#include "device/cpu/graph/attention_sums.h"

/* Computes the scores of a chunk of `count` entries: for GAT from the values of k in raw, else from the dot
 * products in score. grown_tile receives the greatest score of each lane. Scores in unused lanes become
 * -infinity. If `second` (GAT), weight receives leaky'. */
BLOCK_INLINE void finish_scores(const attention_job *job, attention_scratch *s, int64_t count, const bool gat,
                                const bool second) {
  const attention_layout *l = &job->layout;
  const int64_t blocks = chunk_blocks(l, count), lanes = count * l->stride;
  const block slope = block_all(job->slope), zero = block_all(0), one = block_all(1),
              none = block_all((sum)-INFINITY);
  const bool scaled = job->args->kind == SL_ATTENTION_DOT;
  for (int64_t t = 0; t < l->tile_blocks; t++) {
    const block q = block_load_sums(s->q_tile + t * BLOCK);
    block greatest = none;
    for (int64_t b = t; b < blocks; b += l->tile_blocks) {
      block x;
      if (gat) {
        x = block_add(q, block_load(s->raw + b * BLOCK));
        if (second)
          block_store_sums(s->weight + b * BLOCK, block_if_less(x, zero, slope, one));
        x = block_leaky(x, slope);
      } else {
        x = block_load_sums(s->score + b * BLOCK);
        x = scaled ? block_mul(slope, x) : x;
      }
      x = block_first(x, lanes - b * BLOCK, none);
      block_store_sums(s->score + b * BLOCK, x);
      greatest = block_if_less(greatest, x, x, greatest);
    }
    block_store_sums(s->grown_tile + t * BLOCK, greatest);
  }
}

static void find_scores(const attention_job *job, attention_scratch *s, int64_t i, const attention_chunk *c) {
  const sl_attention_args *a = job->args;
  if (a->kind == SL_ATTENTION_GAT) {
    take_values(&job->layout, c, &a->k, s->raw);
    if (job->side)
      finish_scores(job, s, c->count, true, true);
    else
      finish_scores(job, s, c->count, true, false);
    return;
  }
  const bool leaky = a->kind == SL_ATTENTION_GATV2;
  if (!leaky)
    find_rows(c, &a->k, s->second);
  const head_dots dots = {.layout = &job->layout,
                          .row = leaky ? s->first : s->second,
                          .count = c->count,
                          .fixed = split_values(&job->q, i),
                          .a = leaky ? a->a : NULL,
                          .slope = job->slope,
                          .dot = s->score,
                          .chunk = c,
                          .fetched = leaky ? NULL : &a->k};
  find_dots(&dots);
  finish_scores(job, s, c->count, false, false);
}

/* The number subtracted from scores before exp: the greatest score, or 0 if that is -infinity, so that exp
 * returns 0. */
BLOCK_INLINE block subtracted(block greatest) {
  return block_if_less(
      greatest,
      block_all(sizeof(sum) == sizeof(double) ? (sum)-0x1.fffffffffffffp1023 : (sum)-0x1.fffffep127),
      block_all(0), greatest);
}

/* Starts the sums of a row at its first chunk. */
static void begin_sums(const attention_layout *l, attention_scratch *s) {
  tile_fold_greatest(l, s->grown_tile);
  for (int64_t t = 0; t < tile_sums(l); t += BLOCK) {
    block_store_sums(s->greatest_tile + t, block_load_sums(s->grown_tile + t));
    block_store_sums(s->total_tile + t, block_all(0));
    block_store_sums(s->extra_tile + t, block_all(0));
  }
}

/* Adapts the sums per head to a later chunk: greatest_tile becomes the greatest score so far, grown_tile the
 * factor by which earlier sums are multiplied, and total_tile and extra_tile are multiplied by it. */
static void grow_heads(const attention_layout *l, attention_scratch *s) {
  tile_fold_greatest(l, s->grown_tile);
  for (int64_t t = 0; t < tile_sums(l); t += BLOCK) {
    const block before = block_load_sums(s->greatest_tile + t), here = block_load_sums(s->grown_tile + t),
                now = block_if_less(before, here, here, before);
    const block factor = exp_block(block_sub(before, subtracted(now)));
    block_store_sums(s->greatest_tile + t, now);
    block_store_sums(s->grown_tile + t, factor);
    block_store_sums(s->total_tile + t, block_mul(factor, block_load_sums(s->total_tile + t)));
    block_store_sums(s->extra_tile + t, block_mul(factor, block_load_sums(s->extra_tile + t)));
  }
}

static void grow_sums(const attention_layout *l, attention_scratch *s, sum *acc) {
  for (int64_t b = 0; b < l->feature_blocks * BLOCK; b += BLOCK)
    block_store_sums(acc + b,
                     block_mul(spread_block(l, s->grown_tile, s->head_of + b), block_load_sums(acc + b)));
}

/* Replaces scores by exp(score - m) and adds them to total_tile. If `second`, also multiplies weight by them
 * and adds it to extra_tile. */
BLOCK_INLINE void finish_weights(const attention_layout *l, attention_scratch *s, int64_t count,
                                 const bool second) {
  const int64_t blocks = chunk_blocks(l, count);
  for (int64_t t = 0; t < l->tile_blocks; t++) {
    const block greatest = subtracted(block_load_sums(s->greatest_tile + t * BLOCK));
    block total = block_load_sums(s->total_tile + t * BLOCK),
          extra = block_load_sums(s->extra_tile + t * BLOCK);
    for (int64_t b = t; b < blocks; b += l->tile_blocks) {
      const block w = exp_block(block_sub(block_load_sums(s->score + b * BLOCK), greatest));
      block_store_sums(s->score + b * BLOCK, w);
      total = block_add(total, w);
      if (second) {
        const block v = block_mul(w, block_load_sums(s->weight + b * BLOCK));
        block_store_sums(s->weight + b * BLOCK, v);
        extra = block_add(extra, block_first(v, count * l->stride - b * BLOCK, block_all(0)));
      }
    }
    block_store_sums(s->total_tile + t * BLOCK, total);
    if (second)
      block_store_sums(s->extra_tile + t * BLOCK, extra);
  }
}

static void add_chunk(const attention_job *job, attention_scratch *s, int64_t i, const attention_chunk *c,
                      bool begun) {
  const sl_attention_args *a = job->args;
  const attention_layout *l = &job->layout;
  find_rows(c, &a->v, s->first);
  find_scores(job, s, i, c);
  if (begun) {
    grow_heads(l, s);
    grow_sums(l, s, s->acc);
    if (job->side)
      grow_sums(l, s, s->more_acc);
  } else {
    begin_sums(l, s);
  }
  const weighted_sum w = {.layout = l,
                          .head_of = s->head_of,
                          .row = s->first,
                          .weight = s->score,
                          .more_weight = s->weight,
                          .acc = s->acc,
                          .more_acc = s->more_acc,
                          .begun = begun,
                          .chunk = c,
                          .fetched = &a->v};
  if (job->side) {
    finish_weights(l, s, c->count, true);
    sum_twice(&w);
  } else {
    finish_weights(l, s, c->count, false);
    sum_values(&w);
  }
}

/* Writes Y, stats and side of a row that has entries. In a row whose scores are all -infinity, m - m is
 * NaN. */
static void finish_row(const attention_job *job, attention_scratch *s, int64_t i) {
  const sl_attention_args *a = job->args;
  const attention_layout *l = &job->layout;
  const int64_t some = block_features(l), side_ld = l->features + l->heads;
  value *y = (value *)a->y + i * a->ldy;
  sum *stats = a->stats ? (sum *)a->stats + i * l->heads * 2 : NULL;
  sum *side = job->side ? job->side + i * side_ld : NULL;
  tile_fold_sums(l, s->total_tile);
  for (int64_t t = 0; t < tile_sums(l); t += BLOCK) {
    const block m = block_load_sums(s->greatest_tile + t);
    block_store_sums(s->total_tile + t, block_add(block_load_sums(s->total_tile + t), block_sub(m, m)));
  }
  for (int64_t b = 0; b < l->feature_blocks; b++) {
    const block total = spread_block(l, s->total_tile, s->head_of + b * BLOCK);
    const int64_t f = block_feature(l, b);
    block_store_some(y + f, some, block_div(block_load_sums(s->acc + b * BLOCK), total));
    if (side)
      block_store_some_sums(side + f, some, block_div(block_load_sums(s->more_acc + b * BLOCK), total));
  }
  if (side) {
    tile_fold_sums(l, s->extra_tile);
    for (int64_t h = 0; h < l->heads; h++)
      side[l->features + h] = s->extra_tile[h] / s->total_tile[h];
  }
  for (int64_t h = 0; stats && h < l->heads; h++) {
    stats[h * 2] = s->greatest_tile[h];
    stats[h * 2 + 1] = s->total_tile[h];
  }
}

static void empty_row(const attention_job *job, int64_t i) {
  const sl_attention_args *a = job->args;
  const attention_layout *l = &job->layout;
  const int64_t side_ld = l->features + l->heads;
  clear_values((value *)a->y + i * a->ldy, l->features);
  if (a->stats)
    clear_sums((sum *)a->stats + i * l->heads * 2, l->heads * 2);
  if (job->side)
    clear_sums(job->side + i * side_ld, side_ld);
}

static void attend_row(const attention_job *job, attention_scratch *s, int64_t i) {
  const sl_pattern *p = &job->args->pattern;
  const attention_layout *l = &job->layout;
  const int64_t begin = p->rowptr[i], end = p->rowptr[i + 1];
  if (begin == end) {
    empty_row(job, i);
    return;
  }
  if (job->args->kind == SL_ATTENTION_GAT)
    tile_of_values(l, s->q_tile, split_values(&job->q, i));
  for (int64_t j = begin; j < end; j += ATTENTION_CHUNK) {
    const attention_chunk c = chunk_at(p, j, end);
    add_chunk(job, s, i, &c, j > begin);
  }
  finish_row(job, s, i);
}

static sley_status attend_pieces(void *context, int64_t begin, int64_t end, int thread) {
  const attention_job *job = context;
  attention_scratch s = scratch_of(job, thread);
  const int64_t n_end = piece_row(job, end);
  for (int64_t n = piece_row(job, begin); n < n_end; n++)
    attend_row(job, &s, sl_pattern_work_row(&job->args->pattern, n));
  return SLEY_OK;
}

static sley_status attention_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_attention_args *a = &args->attention;
  attention_job job = attention_job_of(a, NULL);
  if (sl_pattern_work_rows(&a->pattern) <= 0 || a->shape.heads <= 0)
    return SLEY_OK;
  return attention_job_run(queue, &job, 0, attend_pieces);
}

static bool attention_ok(const sl_kernel_args *args) {
  return args->attention.dtype == (sley_dtype)DTYPE && sl_cpu_has((sl_cpu_isa)ISA);
}

#define ATTENTION_KERNEL(kernel_name)                                                                        \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_ATTENTION, .ok = attention_ok, .cost = graph_cost,                      \
    SL_KERNEL_KEEPS_NOTHING, .run = attention_run                                                            \
  }

#endif
