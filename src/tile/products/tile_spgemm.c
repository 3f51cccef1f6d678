/* SPDX-License-Identifier: Apache-2.0 */
/* Each rank computes products of tiles and passes them to the owners of tiles of C, who add them as sparse
 * matrices: its own directly, other ranks' as messages. The sizes of C are known when all products are
 * complete; then the directory is shared, and the tiles move to symmetric memory. On a device products are
 * computed, added and moved in its memory; the host has their row pointers, and the messages. */
#include "tile/products/tile_spgemm.h"

#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "tile/products/claims.h"
#include "tile/products/product_stream.h"
#include "tile/products/sparse_sum.h"
#include "tile/products/task_loop.h"
#include "tile/products/tile_product.h"

/* State of a product. Tiles of 16-bit values are multiplied and added in f32. */
typedef struct spgemm {
  sl_tile_operands o;
  sley_semiring semiring;
  sley_dtype dtype; /* type of the sums */
  sl_task_loop loop;
  sl_sparse_adder adder;
  sl_sparse_sum *sums; /* sums of this rank's tiles of C */
  sl_csr_arrays *made; /* complete tiles, as in tile_arrays.h; NULL arrays if there are no entries */
  int64_t missing;     /* number of products for which these tiles wait */
  /* stream for products that go to other ranks; NULL if there are none */
  sl_product_stream *stream;
  sl_claims *claims; /* claims of tasks; NULL: no tasks are stolen */
} spgemm;

/* ---- products for other ranks: the words of a message, then the product as a sparse tile */

enum { WORD = sizeof(int64_t) };
typedef enum message_word { BYTES, TILE_I, TILE_J, TILE_L, STORED, ENTRIES, WORDS } message_word;

static sl_tile_shape shape_of(const spgemm *s, int64_t i, int64_t j, int64_t stored, int64_t entries) {
  const sl_tiling *t = &s->o.y->tiling;
  return (sl_tile_shape){.rows = sl_tile_height(t, i),
                         .cols = sl_tile_width(t, j),
                         .stored = stored,
                         .entries = entries,
                         .index = s->o.y->index,
                         .dtype = s->dtype};
}

static int64_t rows_filled(const sl_csr_arrays *arrays, int64_t rows) {
  int64_t filled = 0;
  for (int64_t i = 0; i < rows; i++)
    filled += arrays->rowptr[i + 1] > arrays->rowptr[i];
  return filled;
}

static sley_status send_product(spgemm *s, const sl_tile_task *task, const sl_csr_arrays *product) {
  const int64_t rows = sl_tile_height(&s->o.y->tiling, task->i);
  const sl_tile_shape shape = shape_of(
      s, task->i, task->j, sl_tile_stored_rows(rows, rows_filled(product, rows)), product->rowptr[rows]);
  int64_t bytes, *message;
  if (!sl_tile_shape_bytes(&shape, &bytes) || bytes > INT64_MAX - WORDS * WORD)
    return sl_fail(SLEY_ERR_OVERFLOW, "a product of two tiles does not fit 64-bit sizes: use more tiles");
  if (!(message = sl_alloc(WORDS * WORD + bytes, 1, "a product of tiles")))
    return SLEY_ERR_MEMORY;
  const int64_t words[WORDS] = {WORDS * WORD + bytes, task->i, task->j, task->l, shape.stored, shape.entries};
  memcpy(message, words, sizeof words);
  sley_status status =
      sl_tile_arrays_download(s->o.y->comm->queue, &shape, product, (char *)(message + WORDS));
  if (status == SLEY_OK)
    status = sl_product_stream_send(s->stream, sl_tile_at(s->o.y, task->i, task->j)->rank, message);
  sl_free(message);
  return status;
}

/* ---- tiles of C */

/* Adds a product to a tile of this rank; takes ownership of its arrays. */
static sley_status add_product(spgemm *s, const sl_tile_task *task, sl_csr_arrays product) {
  const int64_t local = sl_own_local(&s->o.y->tiling, task->i, task->j);
  sl_sparse_sum *sum = &s->sums[local];
  SL_TRY(sl_sparse_sum_put(sum, sl_task_number(&s->o, task), product));
  s->missing--;
  return sum->missing == 0 ? sl_sparse_sum_take(sum, &s->made[local]) : SLEY_OK;
}

/* Returns whether a message is a product for which this rank waits. */
static bool is_awaited(const spgemm *s, const int64_t *message, int64_t bytes, sl_tile_task *task,
                       sl_tile_shape *shape) {
  const sl_tiling *t = &s->o.y->tiling;
  const int64_t i = message[TILE_I], j = message[TILE_J], l = message[TILE_L];
  int64_t expected;
  if (bytes < WORDS * WORD || i < 0 || i >= t->down || j < 0 || j >= t->across || l < 0 ||
      l >= s->o.a->tiling.across || sl_tile_owner(t, i, j) != s->o.y->comm->rank)
    return false;
  *task = (sl_tile_task){.i = i, .j = j, .l = l};
  *shape = shape_of(s, i, j, message[STORED], message[ENTRIES]);
  return sl_task_is(&s->o, task) && !s->sums[sl_own_local(t, i, j)].came[sl_task_number(&s->o, task)] &&
         shape->stored >= 0 && shape->stored <= shape->rows && shape->entries >= 0 &&
         sl_tile_shape_bytes(shape, &expected) && bytes - WORDS * WORD == expected;
}

/* Receives a product from rank `from`. */
static sley_status receive_product(void *context, int from, const int64_t *message, int64_t bytes) {
  spgemm *s = context;
  sl_tile_task task;
  sl_tile_shape shape;
  sl_csr_arrays product;
  if (!is_awaited(s, message, bytes, &task, &shape))
    return sl_fail_peer(from, "it has sent a product of tiles that this rank does not wait for");
  const sl_tile tile = sl_sparse_tile_view(&shape, (const char *)(message + WORDS));
  if (tile.entries > 0 && s->o.y->comm->processes && !sl_sparse_tile_is_csr(&tile, shape.index))
    return sl_fail_peer(from, "its product for tile (%lld, %lld) is not a CSR matrix", (long long)task.i,
                        (long long)task.j);
  SL_TRY(sl_tile_arrays_upload(s->o.y->comm->queue, &tile, shape.index, shape.dtype, &product));
  return add_product(s, &task, product);
}

/* ---- a task */

static sl_tile_factor factor_of(const sl_tiled *of, const sl_tile *tile) {
  return (sl_tile_factor){.tile = tile, .index = of->index, .dtype = of->dtype};
}

static sley_status multiply(const spgemm *s, const sl_tile_task *task, const sl_tile *a, const sl_tile *b,
                            sl_csr_arrays *made, int64_t *products) {
  sl_tile_product product = {.semiring = s->semiring,
                             .dtype = s->dtype,
                             .limit = s->o.limit == 0 ? 0 : s->o.limit - s->loop.reserved,
                             .a = factor_of(s->o.a, a),
                             .b = factor_of(s->o.x, b)};
  if (s->o.mask)
    product.mask = factor_of(s->o.mask, &s->loop.mask);
  const sley_status status = sl_tile_product_make(s->o.y->comm->queue, &product, made, products);
  if (status == SLEY_ERR_MEMORY)
    sl_fail_prefix(status,
                   "the product of tile (%lld, %lld) of A and (%lld, %lld) of B: ", (long long)task->i,
                   (long long)task->l, (long long)task->l, (long long)task->j);
  return status;
}

static sley_status run_task(void *context, sl_task_loop *loop, const sl_tile_task *task, const sl_tile *a,
                            const sl_tile *b) {
  spgemm *s = context;
  sl_csr_arrays product;
  int64_t products;
  SL_TRY(multiply(s, task, a, b, &product, &products));
  loop->report->flops += 2 * products;
  sl_task_count_stage(loop, task, 2 * products);
  loop->report->tasks += s->claims != NULL;
  sl_task_spend(loop, &loop->report->compute_ms);
  if (sl_tile_at(s->o.y, task->i, task->j)->rank == s->o.y->comm->rank) {
    SL_TRY(add_product(s, task, product));
  } else {
    const sley_status status = send_product(s, task, &product);
    sl_tile_arrays_free(s->o.y->comm->device, &product);
    SL_TRY(status);
  }
  if (s->stream)
    SL_TRY(sl_product_stream_receive(s->stream, NULL));
  sl_task_spend(loop, &loop->report->accumulate_ms);
  return SLEY_OK;
}

static sley_status next_claim(void *context, bool waits, sl_tile_task *task, bool *any) {
  (void)waits;
  return sl_claims_next(context, task, any);
}

/* ---- the matrix C */

static void count_rows(const spgemm *s, int64_t *tally) {
  const sl_tiling *t = &s->o.y->tiling;
  for (sl_own_tile at = sl_own_first(t, s->o.y->comm->rank); sl_own_is(t, &at); sl_own_next(t, &at)) {
    const sl_csr_arrays *made = &s->made[at.local];
    const int64_t rows = sl_tile_height(t, at.i);
    if (!made->rowptr)
      continue;
    tally[2 * at.local] = rows_filled(made, rows);
    tally[2 * at.local + 1] = made->rowptr[rows];
  }
}

/* Moves this rank's tiles to the symmetric memory. */
static sley_status store_tiles(spgemm *s) {
  sl_tiled *c = s->o.y;
  for (sl_own_tile at = sl_own_first(&c->tiling, c->comm->rank); sl_own_is(&c->tiling, &at);
       sl_own_next(&c->tiling, &at)) {
    const sl_tile_shape shape = sl_tile_shape_of(c, at.i, at.j);
    SL_TRY(sl_tile_arrays_store(c->comm->queue, &shape, &s->made[at.local], s->dtype,
                                sl_tile_own(c, at.i, at.j)));
    SL_TRY(c->comm->ops->wait(c->comm));
    sl_tile_arrays_free(c->comm->device, &s->made[at.local]);
  }
  return SLEY_OK;
}

/* Shares the sizes, then moves the tiles. Collective, agreed. */
static sley_status settle(spgemm *s) {
  sl_tiled *c = s->o.y;
  int64_t *tally;
  sley_status status = SL_NEW_ZERO(tally, 2 * sl_own_count(&c->tiling, c->comm->rank), "sizes of tiles");
  if (status == SLEY_OK)
    count_rows(s, tally);
  status = sl_tiled_share_sizes(c, status, tally);
  sl_free(tally);
  if (status == SLEY_OK)
    status = sl_tiled_lay_out(c);
  return status == SLEY_OK ? sl_agree(c->comm, store_tiles(s)) : status; /* sl_agree is also the barrier
                                                                          * before tiles are read */
}

/* Allocates memory for the sums of this rank's tiles. */
static sley_status open_sums(spgemm *s) {
  const sl_tiling *t = &s->o.y->tiling;
  const int rank = s->o.y->comm->rank;
  s->adder = (sl_sparse_adder){.queue = s->o.y->comm->queue,
                               .team = s->o.y->comm->team,
                               .index = s->o.y->index,
                               .dtype = s->dtype,
                               .semiring = s->semiring,
                               .most_rows = sl_tile_height(t, 0)}; /* no tile is higher */
  SL_TRY(SL_NEW_ZERO(s->made, sl_own_count(t, rank), "tiles of C"));
  SL_TRY(SL_NEW_ZERO(s->sums, sl_own_count(t, rank), "tiles of C"));
  for (sl_own_tile at = sl_own_first(t, rank); sl_own_is(t, &at); sl_own_next(t, &at)) {
    sl_sparse_sum *sum = &s->sums[at.local];
    *sum =
        (sl_sparse_sum){.adder = &s->adder, .rows = sl_tile_height(t, at.i), .cols = sl_tile_width(t, at.j)};
    SL_TRY(sl_sparse_sum_open(sum, sl_task_count(&s->o, at.i, at.j)));
    s->missing += sum->count;
  }
  return SLEY_OK;
}

static int64_t largest_tile(const sl_tiled *of) {
  int64_t most = 0;
  for (int64_t n = 0; n < sl_tiles(&of->tiling); n++)
    most = of->pointers[n].bytes > most ? of->pointers[n].bytes : most;
  return most;
}

/* Creates the stream. A buffer has the size of the largest tile of A or B, which is the same on every
 * rank. */
static sley_status open_stream(spgemm *s, int buffers) {
  const int64_t of_a = largest_tile(s->o.a), of_b = largest_tile(s->o.x);
  SL_TRY(sl_product_stream_create(s->o.y->comm, buffers, of_a > of_b ? of_a : of_b, receive_product, s,
                                  &s->stream));
  return s->o.stealing == SL_STEAL_NOTHING ? SLEY_OK : sl_claims_create(&s->o, &s->claims);
}

/* Allocates everything before the first task. Collective, agreed. */
static sley_status open_all(spgemm *s, int buffers, sley_tile_report *report) {
  sl_comm *comm = s->o.a->comm;
  const sl_tiling *a = &s->o.a->tiling, *b = &s->o.x->tiling;
  const sl_tiling tiling = {a->rows, b->cols, a->down, b->across, a->grid_rows, a->grid_cols};
  SL_TRY(sl_tiled_begin(comm, &tiling, s->o.a->dtype, true, &s->o.y));
  sley_status status = open_sums(s);
  if (status == SLEY_OK)
    status = sl_task_loop_open(&s->loop, &s->o, report);
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sl_task_loop_schedule(&s->loop);
  return status == SLEY_OK && sl_tile_pushes(&s->o) ? open_stream(s, buffers) : status;
}

static void close_all(spgemm *s) {
  const int64_t count = s->o.y ? sl_own_count(&s->o.y->tiling, s->o.y->comm->rank) : 0;
  for (int64_t n = 0; n < count; n++) {
    if (s->made)
      sl_tile_arrays_free(s->o.y->comm->device, &s->made[n]);
    if (s->sums)
      sl_sparse_sum_close(&s->sums[n]);
  }
  sl_free(s->made);
  sl_free(s->sums);
  sl_sparse_adder_close(&s->adder);
  sl_claims_destroy(s->claims);
  sl_product_stream_destroy(s->stream);
  sl_task_loop_close(&s->loop);
}

/* Adds products of other ranks until all have arrived, and sends what this rank still has to send. */
static sley_status add_the_rest(spgemm *s) {
  sley_tile_report *report = s->loop.report;
  while (s->missing > 0) {
    bool any;
    SL_TRY(sl_product_stream_receive(s->stream, &any));
    if (!any)
      sl_tile_queue_nap();
    sl_task_spend(&s->loop, any ? &report->accumulate_ms : &report->imbalance_ms);
  }
  return s->stream ? sl_product_stream_settle(s->stream) : SLEY_OK;
}

static sley_status make_tiles(spgemm *s) {
  if (s->claims) {
    s->loop.report->tasks = 0; /* tasks are counted as they are claimed */
    SL_TRY(sl_claims_begin(s->claims));
    SL_TRY(sl_task_loop_run(&s->loop, next_claim, s->claims, run_task, s));
    s->loop.report->stolen = s->claims->stolen;
  } else {
    SL_TRY(sl_task_loop_run(&s->loop, NULL, NULL, run_task, s));
  }
  return add_the_rest(s);
}

sley_status sl_tile_spgemm(const sl_tile_operands *factors, sley_semiring semiring, int buffers,
                           sl_tiled **out, sley_tile_report *report) {
  spgemm s = {.o = *factors, .semiring = semiring, .dtype = sl_sum_dtype(factors->a->dtype)};
  sl_comm *comm = factors->a->comm;
  *out = NULL;
  *report = (sley_tile_report){0};
  sley_status status = open_all(&s, buffers, report);
  if (status == SLEY_OK) {
    sl_task_loop_start(&s.loop);
    status = sl_abort_on_error(comm, make_tiles(&s));
    if (status == SLEY_OK)
      status = comm->ops->barrier(comm);
    sl_task_spend(&s.loop, &report->imbalance_ms);
    if (status == SLEY_OK)
      status = settle(&s);
    sl_task_spend(&s.loop, &report->accumulate_ms);
    sl_task_loop_stop(&s.loop);
  }
  close_all(&s);
  if (status != SLEY_OK) {
    sl_tiled_destroy(s.o.y);
    return status;
  }
  *out = s.o.y;
  return SLEY_OK;
}
