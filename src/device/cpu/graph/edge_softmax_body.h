/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of SL_OP_EDGE_SOFTMAX, the same for every type and instruction set. The including file has
 * included the headers that block_math.h names; it gets EDGE_SOFTMAX_KERNEL, the descriptor.
 *
 * The values of a row's entries are contiguous, all heads of an entry together: value t belongs to head t mod
 * heads. They are processed in vectors, a chunk of entries at a time. */
#ifndef SLEY_DEVICE_CPU_GRAPH_EDGE_SOFTMAX_BODY_H
#define SLEY_DEVICE_CPU_GRAPH_EDGE_SOFTMAX_BODY_H

#include "device/cpu/graph/block_math.h"
#include "device/cpu/graph/pattern_rows.h"

enum {
  SOFTMAX_HEADS = 128, /* most heads at a time */
  SOFTMAX_SUMS = 2048, /* most values of a chunk */
};

/* One value per head, repeated, so that a vector can be loaded from any head on. */
typedef sum softmax_heads[SOFTMAX_HEADS + 2 * BLOCK];

/* Heads [head, head + heads) of a row with entries [begin, end). */
typedef struct softmax_row {
  const sl_edge_softmax_args *a;
  int64_t head, heads, begin, end;
  softmax_heads most, total;
  sum chunk[SOFTMAX_SUMS + BLOCK];
} softmax_row;

static void softmax_repeat(const softmax_row *r, sum *by_head) {
  if (r->heads == 1) {
    vec_store(by_head, vec_all(*by_head));
    by_head[LANES] = *by_head;
    return;
  }
  for (int64_t h = r->heads; h < r->heads + LANES; h++)
    by_head[h] = by_head[h - r->heads];
}

/* The head of the value that lies LANES values after one of head h; heads are counted from r->head. */
BLOCK_INLINE int64_t softmax_next(const softmax_row *r, int64_t h) {
  h += LANES;
  return h < r->heads ? h : h % r->heads;
}

/* Number of contiguous pieces in a chunk of `count` entries: one if all heads are processed together, else
 * one per entry. *values: values per piece. */
BLOCK_INLINE int64_t softmax_pieces(const softmax_row *r, int64_t count, int64_t *values) {
  const bool all = r->heads == r->a->heads;
  *values = all ? count * r->heads : r->heads;
  return all ? 1 : count;
}

BLOCK_INLINE int64_t softmax_at(const softmax_row *r, int64_t j) {
  return j * r->a->heads + r->head;
}

/* Reads `count` entries from entry j on into chunk. */
static void softmax_read(softmax_row *r, int64_t j, int64_t count) {
  int64_t values, pieces = softmax_pieces(r, count, &values);
  for (int64_t n = 0; n < pieces; n++)
    graph_widen((const value *)r->a->in + softmax_at(r, j + n), values, r->chunk + n * r->heads);
}

/* Sets most to max(most, chunk), per head. A vector's lanes after the last head contain values of the next
 * entry, or of memory after the chunk; their results are not used. */
static void softmax_find_most(softmax_row *r, int64_t count) {
  const int64_t heads = r->heads;
  if (LANES % heads == 0 && heads < LANES) { /* lane l belongs to head l mod heads */
    vec most = vec_load(r->most);
    sum lane[LANES];
    int64_t t = 0;
    for (; t + LANES <= count * heads; t += LANES) {
      const vec x = vec_load(r->chunk + t);
      most = vec_if_less(most, x, x, most);
    }
    vec_store(lane, most);
    for (int64_t l = 0; l < LANES; l++)
      r->most[l % heads] = r->most[l % heads] < lane[l] ? lane[l] : r->most[l % heads];
    for (; t < count * heads; t++)
      r->most[t % heads] = r->most[t % heads] < r->chunk[t] ? r->chunk[t] : r->most[t % heads];
    softmax_repeat(r, r->most);
    return;
  }
  for (int64_t h = 0; h < heads; h += LANES) {
    vec most = vec_load(r->most + h);
    for (int64_t n = 0; n < count; n++) {
      const vec x = vec_load(r->chunk + n * heads + h);
      most = vec_if_less(most, x, x, most);
    }
    vec_store(r->most + h, most);
  }
}

/* Adds chunk to total, per head, entry by entry. Lanes after the last head: as in softmax_find_most. */
static void softmax_add_up(softmax_row *r, int64_t count) {
  const int64_t heads = r->heads;
  if (heads == 1) {
    sum total = *r->total;
    for (int64_t n = 0; n < count; n++)
      total += r->chunk[n];
    *r->total = total;
    return;
  }
  for (int64_t h = 0; h < heads; h += LANES) {
    vec total = vec_load(r->total + h);
    for (int64_t n = 0; n < count; n++)
      total = vec_add(total, vec_load(r->chunk + n * heads + h));
    vec_store(r->total + h, total);
  }
}

/* Sets chunk to exp(chunk - most). */
static void softmax_exp(softmax_row *r, int64_t count) {
  for (int64_t t = 0, h = 0; t < count * r->heads; t += LANES, h = softmax_next(r, h))
    vec_store(r->chunk + t, vec_exp(vec_sub(vec_load(r->chunk + t), vec_load(r->most + h))));
}

/* out = chunk / total */
static void softmax_write(softmax_row *r, int64_t j, int64_t count) {
  int64_t values, pieces = softmax_pieces(r, count, &values);
  for (int64_t n = 0; n < pieces; n++) {
    value *out = (value *)r->a->out + softmax_at(r, j + n);
    const sum *chunk = r->chunk + n * r->heads;
    for (int64_t t = 0, h = 0; t < values; t += LANES, h = softmax_next(r, h))
      store_values_first(out + t, values - t, vec_div(vec_load(chunk + t), vec_load(r->total + h)));
  }
}

/* chunk = P grad */
static void softmax_weigh(softmax_row *r, int64_t j, int64_t count) {
  int64_t values, pieces = softmax_pieces(r, count, &values);
  for (int64_t n = 0; n < pieces; n++) {
    const value *in = (const value *)r->a->in + softmax_at(r, j + n);
    const value *grad = (const value *)r->a->grad + softmax_at(r, j + n);
    for (int64_t t = 0; t < values; t += LANES)
      vec_store(r->chunk + n * r->heads + t,
                vec_mul(load_values_first(in + t, values - t), load_values_first(grad + t, values - t)));
  }
}

/* Sets out to P (grad - total). */
static void softmax_write_grad(softmax_row *r, int64_t j, int64_t count) {
  int64_t values, pieces = softmax_pieces(r, count, &values);
  for (int64_t n = 0; n < pieces; n++) {
    const value *in = (const value *)r->a->in + softmax_at(r, j + n);
    const value *grad = (const value *)r->a->grad + softmax_at(r, j + n);
    value *out = (value *)r->a->out + softmax_at(r, j + n);
    for (int64_t t = 0, h = 0; t < values; t += LANES, h = softmax_next(r, h)) {
      const vec less = vec_sub(load_values_first(grad + t, values - t), vec_load(r->total + h));
      store_values_first(out + t, values - t, vec_mul(load_values_first(in + t, values - t), less));
    }
  }
}

/* One operation on each chunk of a row, in turn. */
typedef void softmax_step(softmax_row *r, int64_t j, int64_t count);

static void softmax_chunks(softmax_row *r, softmax_step *step) {
  const int64_t most = SOFTMAX_SUMS / r->heads;
  for (int64_t j = r->begin; j < r->end; j += most)
    step(r, j, r->end - j < most ? r->end - j : most);
}

static void softmax_to_most(softmax_row *r, int64_t j, int64_t count) {
  softmax_read(r, j, count);
  softmax_find_most(r, count);
}

/* Returns whether the row is a single chunk, which is then read only once. */
static bool softmax_is_short(const softmax_row *r) {
  return (r->end - r->begin) <= SOFTMAX_SUMS / r->heads;
}

static void softmax_to_total(softmax_row *r, int64_t j, int64_t count) {
  if (!softmax_is_short(r))
    softmax_read(r, j, count);
  softmax_exp(r, count);
  softmax_add_up(r, count);
}

static void softmax_to_out(softmax_row *r, int64_t j, int64_t count) {
  if (!softmax_is_short(r)) {
    softmax_read(r, j, count);
    softmax_exp(r, count);
  }
  softmax_write(r, j, count);
}

static void softmax_to_grad_total(softmax_row *r, int64_t j, int64_t count) {
  softmax_weigh(r, j, count);
  softmax_add_up(r, count);
}

static void softmax_one(softmax_row *r) {
  for (int64_t h = 0; h < r->heads + LANES; h += LANES) {
    vec_store(r->most + h, vec_all(-(sum)INFINITY));
    vec_store(r->total + h, vec_zero());
  }
  if (r->a->grad) {
    softmax_chunks(r, softmax_to_grad_total);
    softmax_repeat(r, r->total);
    softmax_chunks(r, softmax_write_grad);
    return;
  }
  softmax_chunks(r, softmax_to_most);
  softmax_repeat(r, r->most);
  softmax_chunks(r, softmax_to_total);
  softmax_repeat(r, r->total);
  softmax_chunks(r, softmax_to_out);
}

static void edge_softmax_body(const sl_kernel_args *args, int64_t row, int64_t row_end) {
  const sl_edge_softmax_args *a = &args->edge_softmax;
  softmax_row r; /* too large to be cleared each time */
  r.a = a;
  for (int64_t i = row; i < row_end; i++)
    for (r.head = 0; r.head < a->heads; r.head += r.heads) {
      r.heads = a->heads - r.head < SOFTMAX_HEADS ? a->heads - r.head : SOFTMAX_HEADS;
      r.begin = a->pattern.rowptr[i];
      r.end = a->pattern.rowptr[i + 1];
      softmax_one(&r);
    }
}

static sley_status edge_softmax_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_edge_softmax_args *a = &args->edge_softmax;
  return graph_for_rows(queue, args, &a->pattern, a->heads, edge_softmax_body);
}

static bool edge_softmax_ok(const sl_kernel_args *args) {
  return args->edge_softmax.dtype == (sley_dtype)DTYPE && sl_cpu_has((sl_cpu_isa)ISA);
}

#define EDGE_SOFTMAX_KERNEL(kernel_name)                                                                     \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_EDGE_SOFTMAX, .ok = edge_softmax_ok, .cost = graph_cost,                \
    SL_KERNEL_KEEPS_NOTHING, .run = edge_softmax_run                                                         \
  }

#endif
