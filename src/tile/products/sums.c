/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/products/sums.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/value.h"

enum { WORD = sizeof(int64_t) };

/* ---- the expected products */

typedef struct ranked {
  int64_t place, l;
} ranked;

static int by_place(const void *a_, const void *b_) {
  const ranked *a = a_, *b = b_;
  if (a->place != b->place)
    return a->place < b->place ? -1 : 1;
  return a->l < b->l ? -1 : a->l > b->l;
}

/* Lists the products of tile (i, j) in the order in which they are added. Returns their number. */
static int64_t rank_products(const sl_tile_operands *o, int64_t i, int64_t j, ranked *out) {
  int64_t count = 0;
  for (int64_t l = 0; l < o->a->tiling.across; l++) {
    const sl_tile_task task = {i, j, l};
    if (sl_task_is(o, &task))
      out[count++] = (ranked){sl_task_place(o, &task), l};
  }
  qsort(out, (size_t)count, sizeof *out, by_place);
  return count;
}

static int64_t count_products(const sl_tile_operands *o, int rank) {
  int64_t count = 0;
  for (sl_own_tile at = sl_own_first(&o->y->tiling, rank); sl_own_is(&o->y->tiling, &at);
       sl_own_next(&o->y->tiling, &at))
    count += sl_task_count(o, at.i, at.j);
  return count;
}

static sley_status list_products(sl_tile_sums *s) {
  const sl_tile_operands *o = s->o;
  const sl_tiling *t = &o->y->tiling;
  ranked *products;
  s->expected = count_products(o, s->comm->rank);
  SL_TRY(SL_NEW_ZERO(s->tiles, sl_own_count(t, s->comm->rank), "tiles of Y"));
  SL_TRY(SL_NEW(s->l, s->expected, "products of tiles"));
  SL_TRY(SL_NEW(s->holder, s->expected, "products of tiles"));
  SL_TRY(SL_NEW(products, o->a->tiling.across, "products of a tile"));
  int64_t first = 0;
  for (sl_own_tile at = sl_own_first(t, s->comm->rank); sl_own_is(t, &at); sl_own_next(t, &at)) {
    const int64_t count = rank_products(o, at.i, at.j, products);
    s->tiles[at.local] = (sl_expected){.first = first, .count = count};
    for (int64_t n = 0; n < count; n++)
      s->l[first++] = products[n].l;
  }
  sl_free(products);
  return SLEY_OK;
}

/* ---- memory */

int64_t sl_product_bytes(const sl_tile_sums *s, const sl_tile_task *task) {
  const sl_tile_pointer *a = sl_tile_at(s->o->a, task->i, task->l);
  const int64_t values =
      a->stored * sl_tile_width(&s->o->y->tiling, task->j) * (int64_t)sley_dtype_bytes(s->dtype);
  const int64_t words = (values + WORD - 1) / WORD * WORD;
  return a->stored < sl_tile_height(&s->o->a->tiling, task->i) ? words + a->stored * WORD : words;
}

int64_t *sl_product_rows(const sl_tile_sums *s, const sl_tile_task *task, const void *product) {
  const sl_tile_pointer *a = sl_tile_at(s->o->a, task->i, task->l);
  if (a->stored == sl_tile_height(&s->o->a->tiling, task->i))
    return NULL;
  return (int64_t *)(uintptr_t)((const char *)product + sl_product_bytes(s, task) - a->stored * WORD);
}

/* Bytes of the largest product; the same on every rank, computed from the directory. The first column of
 * tiles of Y is the widest. */
static int64_t largest_product(const sl_tile_sums *s) {
  const sl_tiling *t = &s->o->a->tiling;
  int64_t most = 0;
  for (int64_t i = 0; i < t->down; i++)
    for (int64_t l = 0; l < t->across; l++) {
      const sl_tile_task task = {.i = i, .l = l};
      const int64_t bytes = sl_task_is(s->o, &task) ? sl_product_bytes(s, &task) : 0;
      most = bytes > most ? bytes : most;
    }
  return most;
}

/* Checks that entries of the queue (below) fit in 64 bits. */
static sley_status check_entries(const sl_tile_sums *s, int buffers) {
  const sl_tile_operands *o = s->o;
  int64_t entries = sl_tiles(&o->a->tiling);
  if (__builtin_mul_overflow(entries, o->y->tiling.across, &entries) ||
      __builtin_mul_overflow(entries, (int64_t)s->comm->size * buffers, &entries) || entries == INT64_MAX)
    return sl_fail(SLEY_ERR_OVERFLOW,
                   "the number of products of tiles does not fit 64 bits: use fewer tiles or buffers");
  return SLEY_OK;
}

static sley_status take_memory(sl_tile_sums *s, int buffers) {
  sl_device *device = s->comm->device;
  if (sl_is_16_bit(s->o->y->dtype))
    SL_TRY(device->ops->alloc(device, 2 * s->o->y->own_bytes, "sums of tiles", (void **)&s->wide));
  if (!sl_tile_pushes(s->o))
    return SLEY_OK;
  if (s->comm->processes && !device->ops->host_addresses)
    SL_TRY(SL_NEW(s->rows, sl_tile_height(&s->o->y->tiling, 0), "rows of a product")); /* no tile is higher */
  SL_TRY(check_entries(s, buffers));
  return list_products(s);
}

sley_status sl_tile_sums_create(const sl_tile_operands *o, int buffers, sl_tile_sums **out) {
  sl_comm *comm = o->y->comm;
  sl_tile_sums *s;
  *out = NULL;
  sley_status status = SL_NEW_ZERO(s, 1, "sums of tiles");
  if (status == SLEY_OK) {
    *s = (sl_tile_sums){.o = o, .comm = comm, .dtype = sl_sum_dtype(o->y->dtype)};
    status = take_memory(s, buffers);
  }
  status = sl_agree(comm, status);
  if (status == SLEY_OK && sl_tile_pushes(o))
    status = sl_tile_queue_create(comm, buffers, largest_product(s), &s->queue);
  if (status != SLEY_OK) {
    sl_tile_sums_destroy(s);
    return status;
  }
  *out = s;
  return SLEY_OK;
}

void sl_tile_sums_destroy(sl_tile_sums *s) {
  if (!s)
    return;
  sl_tile_queue_destroy(s->queue);
  if (s->wide)
    s->comm->device->ops->free(s->comm->device, s->wide);
  sl_free(s->rows);
  sl_free(s->tiles);
  sl_free(s->l);
  sl_free(s->holder);
  sl_free(s);
}

/* ---- before and after */

void *sl_tile_sums_at(const sl_tile_sums *s, int64_t i, int64_t j) {
  return s->wide ? s->wide + 2 * sl_tile_at(s->o->y, i, j)->offset : sl_tile_own(s->o->y, i, j);
}

static sl_scale_args scale_of(const sl_tile_sums *s, const sl_own_tile *at, double beta) {
  const sl_tiling *t = &s->o->y->tiling;
  const int64_t width = sl_tile_width(t, at->j);
  return (sl_scale_args){.rows = sl_tile_height(t, at->i),
                         .k = width,
                         .beta = beta,
                         .y = sl_tile_sums_at(s, at->i, at->j),
                         .ldy = width,
                         .dtype = s->dtype};
}

sley_status sl_tile_sums_begin(sl_tile_sums *s, double beta) {
  const sl_tiling *t = &s->o->y->tiling;
  for (sl_own_tile at = sl_own_first(t, s->comm->rank); sl_own_is(t, &at); sl_own_next(t, &at))
    SL_TRY(sl_kernel_run(
        s->comm->queue, &(sl_kernel_args){.op = SL_OP_SCALE, .scale = scale_of(s, &at, s->wide ? 0 : beta)}));
  if (!s->queue)
    return SLEY_OK;
  s->added = 0;
  for (int64_t n = 0; n < sl_own_count(t, s->comm->rank); n++)
    s->tiles[n].added = 0;
  for (int64_t n = 0; n < s->expected; n++)
    s->holder[n] = -1;
  return SLEY_OK;
}

sley_status sl_tile_sums_end(sl_tile_sums *s, double beta) {
  const sl_tiling *t = &s->o->y->tiling;
  if (!s->wide)
    return SLEY_OK;
  for (sl_own_tile at = sl_own_first(t, s->comm->rank); sl_own_is(t, &at); sl_own_next(t, &at)) {
    const int64_t width = sl_tile_width(t, at.j);
    const sl_round_args round = {.rows = sl_tile_height(t, at.i),
                                 .k = width,
                                 .sums = sl_tile_sums_at(s, at.i, at.j),
                                 .ld_sums = width,
                                 .beta = beta,
                                 .y = sl_tile_own(s->o->y, at.i, at.j),
                                 .ldy = width,
                                 .dtype = s->o->y->dtype};
    SL_TRY(sl_kernel_run(s->comm->queue, &(sl_kernel_args){.op = SL_OP_ROUND, .round = round}));
  }
  return SLEY_OK;
}

/* ---- pushed products: an entry is 1 + (number of the task * ranks + maker) * buffers + buffer */

sley_status sl_tile_sums_push(sl_tile_sums *s, const sl_tile_task *task, int buffer) {
  const sl_tile_operands *o = s->o;
  const int64_t number = sl_tile_number(&o->a->tiling, task->i, task->l) * o->y->tiling.across + task->j;
  return sl_tile_queue_push(s->queue, sl_tile_at(o->y, task->i, task->j)->rank,
                            1 + (number * s->comm->size + s->comm->rank) * s->queue->buffers + buffer);
}

/* Returns whether the stored rows of a product are rows of its tile, each at most once. */
static bool are_rows(const int64_t *rows, int64_t stored, int64_t height) {
  int64_t before = -1;
  for (int64_t n = 0; n < stored; n++) {
    if (rows[n] <= before || rows[n] >= height)
      return false;
    before = rows[n];
  }
  return true;
}

/* Checks that the rows named by a product from another process are rows of its tile. Rows in the memory of a
 * device that this device can load are not checked (fetch.h). */
static sley_status check_rows(sl_tile_sums *s, const sl_tile_task *task, int from, const int64_t *rows,
                              int64_t stored) {
  const sl_device_ops *device = s->comm->device->ops;
  if (!rows || from == s->comm->rank || !s->comm->processes ||
      (!device->host_addresses && s->queue->blocks[from]))
    return SLEY_OK;
  if (!device->host_addresses) {
    SL_TRY(device->copy(s->comm->queue, SL_COPY_TO_HOST, s->rows, rows, stored * WORD));
    SL_TRY(s->comm->ops->wait(s->comm));
    rows = s->rows;
  }
  return are_rows(rows, stored, sl_tile_height(&s->o->y->tiling, task->i))
             ? SLEY_OK
             : sl_fail_peer(from, "its product for tile (%lld, %lld) names rows that are not in the tile",
                            (long long)task->i, (long long)task->j);
}

static sley_status add_product(sl_tile_sums *s, const sl_tile_task *task, int64_t holder) {
  const sl_tile_operands *o = s->o;
  const int from = (int)(holder / s->queue->buffers), buffer = (int)(holder % s->queue->buffers);
  const int64_t stored = sl_tile_at(o->a, task->i, task->l)->stored;
  const int64_t row_bytes = sl_tile_width(&o->y->tiling, task->j) * (int64_t)sley_dtype_bytes(s->dtype);
  const void *product;
  SL_TRY(sl_tile_queue_read(s->queue, from, buffer, sl_product_bytes(s, task), &product));
  const int64_t *rows = sl_product_rows(s, task, product);
  SL_TRY(check_rows(s, task, from, rows, stored));
  const sl_rows_args add = {.count = stored,
                            .bytes = row_bytes,
                            .src = product,
                            .src_stride = row_bytes,
                            .dst = sl_tile_sums_at(s, task->i, task->j),
                            .dst_stride = row_bytes,
                            .dst_rows = rows,
                            .add = true,
                            .dtype = s->dtype};
  SL_TRY(sl_kernel_run(s->comm->queue, &(sl_kernel_args){.op = SL_OP_ROWS, .rows = add}));
  return sl_tile_queue_return(s->queue, from, buffer);
}

/* Returns the place where the holder of an entry's product is recorded, and the task of the product. Returns
   NULL if the entry is invalid. */
static int64_t *note_of(const sl_tile_sums *s, int64_t entry, sl_tile_task *task) {
  const sl_tile_operands *o = s->o;
  if (entry < 1)
    return NULL;
  const int64_t made = (entry - 1) / s->queue->buffers, number = made / s->comm->size,
                tile = number / o->y->tiling.across;
  if (tile >= sl_tiles(&o->a->tiling))
    return NULL;
  *task = (sl_tile_task){
      .i = tile / o->a->tiling.across, .l = tile % o->a->tiling.across, .j = number % o->y->tiling.across};
  if (sl_tile_at(o->y, task->i, task->j)->rank != s->comm->rank)
    return NULL;
  if (o->stealing == SL_STEAL_NOTHING && made % s->comm->size != sl_task_rank(o, task))
    return NULL;
  const sl_expected *e = &s->tiles[sl_own_local(&o->y->tiling, task->i, task->j)];
  for (int64_t n = e->first + e->added; n < e->first + e->count; n++)
    if (s->l[n] == task->l)
      return s->holder[n] < 0 ? &s->holder[n] : NULL;
  return NULL;
}

static sley_status accept(void *context, int64_t entry) {
  sl_tile_sums *s = context;
  sl_tile_task task;
  int64_t *note = note_of(s, entry, &task);
  if (!note)
    return sl_fail(SLEY_ERR_INTERNAL,
                   "the queue of rank %d contains %lld, which is not a product that it waits for",
                   s->comm->rank, (long long)entry);
  *note = (entry - 1) % ((int64_t)s->comm->size * s->queue->buffers);
  sl_expected *e = &s->tiles[sl_own_local(&s->o->y->tiling, task.i, task.j)];
  for (; e->added < e->count && s->holder[e->first + e->added] >= 0; e->added++, s->added++) {
    task.l = s->l[e->first + e->added];
    SL_TRY(add_product(s, &task, s->holder[e->first + e->added]));
  }
  return SLEY_OK;
}

sley_status sl_tile_sums_drain(sl_tile_sums *s, bool *any) {
  return sl_tile_queue_drain(s->queue, accept, s, any);
}

sley_status sl_tile_sums_buffer(sl_tile_sums *s, bool waits, int *buffer) {
  return waits ? sl_tile_queue_await(s->queue, accept, s, buffer) : sl_tile_queue_buffer(s->queue, buffer);
}
