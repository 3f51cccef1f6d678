/* SPDX-License-Identifier: Apache-2.0 */
/* Typed collectives made of prepared exchanges. In an exchange an array is one row; offsets distinguish the
 * parts of it that peers send and receive. */
#include "transport/dense_collective.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "transport/stopwatch.h"

/* Alignment of the peers' values in the collective's own memory, in bytes: devices load and store them in
 * wide words. */
enum { SLOT_BYTES = 256 };

/* An all-gather uses a ring if each rank is a workgroup, there are at most RING_RANKS ranks, and their parts
 * have at least RING_BYTES bytes on average. */
enum { RING_RANKS = 16, RING_BYTES = 1 << 20 };

struct sl_dense {
  sl_comm *comm;
  sl_dense_spec spec; /* counts is not kept: see begin */
  int64_t value_bytes;
  int64_t *begin;       /* size + 1 entries: rank r's part is values begin[r] .. begin[r + 1] - 1 of the whole
                           array */
  bool whole;           /* true: an all-reduce in one exchange, which brings whole arrays */
  bool mapped;          /* true: peers' values are reduced in place, and the scatter moves nothing */
  sl_row_list *lists;   /* lists of the exchanges: send and recv of the scatter and of the gather, size
                           entries each */
  sl_exchange *scatter; /* exchange before the reduction; NULL: none */
  sl_exchange **gather; /* exchanges of the all-gather, each may be NULL */
  int steps;            /* number of exchanges in gather; more than one form a ring */
  void *peers;          /* peers' values, in ascending order of ranks, `slot` bytes each */
  int64_t slot;
  sl_mapped_rows *rows; /* with mapped: the peers' arrays, in the order of the lists */
  const void **at;      /* with mapped: the ranks' values for this rank's part, by rank */
  sl_dense_native *native;
  sl_counters traffic; /* traffic of one run */
};

static const sley_collective_kind_info *kind_of(const sl_dense_spec *spec) {
  return &sl_collective_kind_of(spec->kind)->info;
}

static const char *title_of(const sl_dense_spec *spec) {
  return sl_collective_kind_of(spec->kind)->title;
}

static bool reduces(const sl_dense *dense) {
  return kind_of(&dense->spec)->reduces;
}

/* ---- checks */

static sley_status check_spec(const sl_comm *comm, const sl_dense_spec *spec) {
  int64_t total = 0, each = (int64_t)sley_type_bytes(spec->type);
  if (!sl_collective_kind_of(spec->kind) || (unsigned)spec->op > SLEY_MAX || each == 0)
    return sl_fail(SLEY_ERR_ARG, "a collective: kind %d, operator %d or type %d does not exist",
                   (int)spec->kind, (int)spec->op, (int)spec->type);
  if (kind_of(spec)->reduces && (unsigned)spec->type > SLEY_TYPE_I64)
    return sl_fail(SLEY_ERR_ARG, "%s: values of one byte can be gathered but not reduced: give another type",
                   title_of(spec));
  if (kind_of(spec)->whole && spec->counts)
    return sl_fail(SLEY_ERR_ARG,
                   "a collective of kind %s has one count for all ranks: give count instead of counts",
                   title_of(spec));
  for (int r = 0; r < comm->size; r++) {
    int64_t count = spec->counts ? spec->counts[r] : spec->count;
    if (count < 0)
      return sl_fail(SLEY_ERR_ARG, "%s: %lld values of rank %d: the number must not be negative",
                     title_of(spec), (long long)count, r);
    if (__builtin_add_overflow(total, count, &total) || total > INT64_MAX / 4 / each)
      return sl_fail(SLEY_ERR_OVERFLOW, "%s: the bytes of all ranks' values do not fit 64 bits",
                     title_of(spec));
  }
  return SLEY_OK;
}

enum { KIND, OP, TYPE, ANY_ORDER, COUNTS };

/* Checks that all ranks have passed the same spec: the minimum over ranks of every word and of its complement
 * must equal this rank's. The result is the same on all ranks. words: two arrays of COUNTS + size.
 * Collective. */
static sley_status compare(sl_comm *comm, const sl_dense_spec *spec, int64_t *words) {
  int count = COUNTS + comm->size;
  words[KIND] = spec->kind;
  words[OP] = spec->op;
  words[TYPE] = spec->type;
  words[ANY_ORDER] = spec->any_order;
  for (int r = 0; r < comm->size; r++)
    words[COUNTS + r] = spec->counts ? spec->counts[r] : spec->count;
  for (int i = 0; i < count; i++)
    words[count + i] = -words[i];
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, words, 2 * count));
  static const char *const names[] = {"its kind", "its operator", "its type", "any_order"};
  for (int i = 0; i < count; i++)
    if (words[i] != -words[count + i] && i < COUNTS)
      return sl_fail(SLEY_ERR_ARG,
                     "a collective: the ranks have different values of %s: give the same on all ranks",
                     names[i]);
    else if (words[i] != -words[count + i])
      return sl_fail(SLEY_ERR_ARG,
                     "%s: the ranks have different numbers of values of rank %d, from %lld to %lld",
                     title_of(spec), i - COUNTS, (long long)words[i], -(long long)words[count + i]);
  return SLEY_OK;
}

sley_status sl_dense_agree(sl_comm *comm, const sl_dense_spec *spec) {
  int64_t *words = NULL;
  SL_TRY(sl_agree_alike(comm, check_spec(comm, spec)));
  sley_status status = sl_agree(comm, SL_NEW(words, 2 * ((int64_t)COUNTS + comm->size), "a collective"));
  if (status == SLEY_OK)
    status = compare(comm, spec, words);
  sl_free(words);
  return status;
}

/* ---- making */

void sl_dense_lay_out(const sl_dense_spec *spec, int size, int64_t *begin) {
  sl_collective_kind_of(spec->kind)->lay_out(spec, size, begin);
}

/* Returns whether every rank can read all others' arrays in place. */
static bool can_map(const sl_comm *comm) {
  return comm->zero_copy && comm->workgroup == comm->size && comm->size > 1 && comm->size <= SL_REDUCE_PLACES;
}

bool sl_dense_is_whole(const sl_dense_spec *spec, const sl_comm *comm) {
  const int64_t each = (int64_t)sley_type_bytes(spec->type);
  if (!kind_of(spec)->reduces || !kind_of(spec)->gathers)
    return false;
  return spec->count <= SL_DENSE_ONE_EXCHANGE / comm->size / each || (comm->size <= 2 && !can_map(comm));
}

bool sl_dense_is_mapped(const sl_dense_spec *spec, const sl_comm *comm) {
  return kind_of(spec)->reduces && can_map(comm) && !sl_dense_is_whole(spec, comm);
}

static bool is_ring(const sl_dense_spec *spec, const sl_comm *comm, const int64_t *begin) {
  return comm->workgroup == 1 && comm->size > 2 && comm->size <= RING_RANKS &&
         begin[comm->size] / comm->size >= RING_BYTES / (int64_t)sley_type_bytes(spec->type);
}

int64_t sl_dense_sent(const sl_dense_spec *spec, const sl_comm *comm, const int64_t *begin) {
  int rank = comm->rank, size = comm->size, next = (rank + 1) % size;
  int64_t own = begin[rank + 1] - begin[rank], peers = size - 1, values = 0;
  if (sl_dense_is_whole(spec, comm))
    values = spec->count * peers;
  else if (kind_of(spec)->reduces)
    values = begin[size] - own;
  if (kind_of(spec)->gathers && !sl_dense_is_whole(spec, comm))
    values += is_ring(spec, comm, begin) ? begin[size] - (begin[next + 1] - begin[next]) : own * peers;
  return values * (int64_t)sley_type_bytes(spec->type);
}

static int64_t values_of(const sl_dense *dense, int rank) {
  return dense->begin[rank + 1] - dense->begin[rank];
}

/* Adds a list of one row for a peer. If no values move, neither side has a list. */
static void add_list(sl_row_list *lists, int *count, int peer, int64_t offset, int64_t bytes) {
  if (bytes > 0)
    lists[(*count)++] = (sl_row_list){.peer = peer, .count = 1, .offset = offset, .bytes = bytes};
}

static sley_dtype dtype_of_width(int64_t value_bytes) {
  return value_bytes == 2 ? SLEY_F16 : value_bytes == 4 ? SLEY_F32 : SLEY_F64;
}

static sley_status open_exchange(sl_dense *dense, const char *name, int sends, const sl_row_list *send,
                                 int recvs, const sl_row_list *recv, sl_exchange **out) {
  sl_comm *comm = dense->comm;
  sl_exchange_spec spec = {.name = name,
                           .sends = sends,
                           .recvs = recvs,
                           .send = send,
                           .recv = recv,
                           .dtype = dtype_of_width(dense->value_bytes)};
  for (int i = 0; i < recvs; i++) {
    sl_link link = sl_link_to(comm, recv[i].peer);
    dense->traffic.bytes[link] += recv[i].bytes;
    dense->traffic.messages[link] += comm->ops->list_messages(comm, &recv[i], SL_GRAIN_PEER);
  }
  return dense->native ? SLEY_OK : comm->ops->exchange_create(comm, &spec, out);
}

/* Prepares the exchange that brings every rank the peers' values that it reduces: whole arrays, or its own
 * part. */
static sley_status open_scatter(sl_dense *dense) {
  int rank = dense->comm->rank, size = dense->comm->size, sends = 0, recvs = 0, slot = 0;
  int64_t each = dense->value_bytes, whole = dense->spec.count * each;
  sl_row_list *send = dense->lists, *recv = dense->lists + size;
  for (int p = 0; p < size; p++) {
    if (p == rank)
      continue;
    int64_t theirs = dense->whole ? 0 : dense->begin[p] * each;
    add_list(send, &sends, p, theirs, dense->whole ? whole : values_of(dense, p) * each);
    add_list(recv, &recvs, p, slot++ * dense->slot, dense->whole ? whole : values_of(dense, rank) * each);
  }
  return open_exchange(dense, dense->whole ? "all-reduce" : "reduce-scatter", sends, send, recvs, recv,
                       &dense->scatter);
}

/* Prepares the exchange that brings every rank its peers' parts. A part is sent from src of an all-gather,
 * else from the reduced array. */
static sley_status open_gather(sl_dense *dense) {
  int rank = dense->comm->rank, size = dense->comm->size, sends = 0, recvs = 0;
  int64_t each = dense->value_bytes, own = reduces(dense) ? dense->begin[rank] * each : 0;
  sl_row_list *send = dense->lists + 2 * size, *recv = dense->lists + 3 * size;
  for (int p = 0; p < size; p++) {
    if (p == rank)
      continue;
    add_list(send, &sends, p, own, values_of(dense, rank) * each);
    add_list(recv, &recvs, p, dense->begin[p] * each, values_of(dense, p) * each);
  }
  return open_exchange(dense, "all-gather", sends, send, recvs, recv, &dense->gather[0]);
}

/* Prepares the ring: in each step a rank sends the part that it received in the previous step, at first its
 * own, to the next rank. Only one message at a time travels over every link in each direction, and over the
 * same connection. Over TCP that takes two thirds of the time that messages from all ranks to all ranks take.
 */
static sley_status open_ring(sl_dense *dense) {
  int rank = dense->comm->rank, size = dense->comm->size;
  int64_t each = dense->value_bytes;
  for (int s = 0; s < dense->steps; s++) {
    sl_row_list *send = dense->lists + 2 * (size + s), *recv = send + 1;
    int gives = (rank + size - s) % size, takes = (gives + size - 1) % size, sends = 0, recvs = 0;
    add_list(send, &sends, (rank + 1) % size, dense->begin[gives] * each, values_of(dense, gives) * each);
    add_list(recv, &recvs, (rank + size - 1) % size, dense->begin[takes] * each,
             values_of(dense, takes) * each);
    SL_TRY(open_exchange(dense, "all-gather", sends, send, recvs, recv, &dense->gather[s]));
  }
  return SLEY_OK;
}

/* Returns whether the library may choose the order: because the result does not depend on the order, or
 * because of any_order. */
static bool is_free(const sl_dense_spec *spec) {
  return !kind_of(spec)->reduces || spec->type == SLEY_TYPE_I64 || spec->any_order;
}

static sley_status ask_native(sl_dense *dense, const sl_dense_spec *spec) {
  if (!sl_collective_kind_of(spec->kind)->native || !is_free(spec) || dense->comm->size == 1 ||
      dense->begin[dense->comm->size] == 0)
    return SLEY_OK;
  sley_status status = dense->comm->ops->dense_native(dense->comm, spec, &dense->native);
  return status == SLEY_ERR_UNSUPPORTED ? SLEY_OK : status;
}

static sley_status take_memory(sl_dense *dense) {
  sl_comm *comm = dense->comm;
  int64_t values = dense->whole ? dense->spec.count : values_of(dense, comm->rank);
  dense->slot = (values * dense->value_bytes + SLOT_BYTES - 1) / SLOT_BYTES * SLOT_BYTES;
  if (!reduces(dense) || dense->native || comm->size == 1)
    return SLEY_OK;
  dense->mapped = sl_dense_is_mapped(&dense->spec, comm);
  if (dense->mapped) {
    SL_TRY(SL_NEW_ZERO(dense->rows, comm->size, "a collective"));
    return SL_NEW_ZERO(dense->at, comm->size, "a collective");
  }
  int64_t bytes;
  if (__builtin_mul_overflow(dense->slot, comm->size - 1, &bytes))
    return sl_fail(SLEY_ERR_OVERFLOW, "%s: the bytes of the peers' values do not fit 64 bits",
                   title_of(&dense->spec));
  return comm->device->ops->alloc(comm->device, bytes, "a collective", &dense->peers);
}

/* The part of sl_dense_create that needs no other rank. */
static sley_status start(sl_comm *comm, const sl_dense_spec *spec, sl_dense **out) {
  sl_dense *dense;
  SL_TRY(SL_NEW_ZERO(dense, 1, "a collective"));
  *out = dense;
  dense->comm = comm;
  dense->spec = *spec;
  dense->spec.counts = NULL;
  dense->value_bytes = (int64_t)sley_type_bytes(spec->type);
  SL_TRY(SL_NEW(dense->begin, (int64_t)comm->size + 1, "a collective"));
  SL_TRY(SL_NEW_ZERO(dense->lists, 4 * (int64_t)comm->size, "a collective"));
  sl_dense_lay_out(spec, comm->size, dense->begin);
  dense->whole = sl_dense_is_whole(spec, comm);
  dense->steps = is_ring(spec, comm, dense->begin) ? comm->size - 1 : 1;
  SL_TRY(SL_NEW_ZERO(dense->gather, dense->steps, "a collective"));
  return SLEY_OK;
}

static sley_status finish(sl_dense *dense, const sl_dense_spec *spec) {
  sl_comm *comm = dense->comm;
  SL_TRY(ask_native(dense, spec));
  SL_TRY(sl_agree(comm, take_memory(dense)));
  if (comm->size == 1 || dense->begin[comm->size] == 0)
    return SLEY_OK;
  if (reduces(dense))
    SL_TRY(open_scatter(dense));
  if (dense->whole || !kind_of(spec)->gathers)
    return SLEY_OK;
  return dense->steps > 1 ? open_ring(dense) : open_gather(dense);
}

sley_status sl_dense_create(sl_comm *comm, const sl_dense_spec *spec, sl_dense **out) {
  sl_dense *dense = NULL;
  *out = NULL;
  SL_TRY(sl_dense_agree(comm, spec));
  sley_status status = sl_agree(comm, start(comm, spec, &dense));
  if (status == SLEY_OK)
    status = finish(dense, spec);
  if (status != SLEY_OK) {
    sl_error error;
    sl_error_take(status, &error);
    sl_dense_destroy(dense);
    return sl_error_restore(&error);
  }
  *out = dense;
  return SLEY_OK;
}

void sl_dense_traffic(const sl_dense *dense, sl_counters *out) {
  *out = dense->traffic;
}

void sl_dense_destroy(sl_dense *dense) {
  if (!dense)
    return;
  sl_comm *comm = dense->comm;
  (void)comm->ops->wait(comm); /* enqueued work may still use the memory that is freed here */
  for (int s = 0; s < dense->steps && dense->gather; s++)
    if (dense->gather[s])
      comm->ops->exchange_destroy(dense->gather[s]);
  if (dense->scatter)
    comm->ops->exchange_destroy(dense->scatter);
  if (dense->native)
    dense->native->destroy(dense->native);
  if (dense->peers)
    comm->device->ops->free(comm->device, dense->peers);
  sl_free(dense->at);
  sl_free(dense->rows);
  sl_free(dense->gather);
  sl_free(dense->lists);
  sl_free(dense->begin);
  sl_free(dense);
}

/* ---- running */

/* Reduces this rank's values at own and the peers' values to dst. */
static sley_status reduce(const sl_dense *dense, const void *own, int64_t count, void *dst, sl_queue *queue) {
  const sl_comm *comm = dense->comm;
  sl_kernel_args args = {.op = SL_OP_REDUCE,
                         .reduce = {.count = count,
                                    .parts = comm->size,
                                    .src = dense->peers,
                                    .stride = dense->slot,
                                    .at = dense->at,
                                    .own = comm->rank,
                                    .own_src = own,
                                    .dst = dst,
                                    .op = dense->spec.op,
                                    .type = dense->spec.type}};
  return count > 0 ? sl_kernel_run(queue, &args) : SLEY_OK;
}

/* Runs an exchange; NULL: does nothing. src may be reused only after reclaim. */
static sley_status exchange(sl_exchange *moved, const void *src, void *dst, sl_queue *queue) {
  if (!moved)
    return SLEY_OK;
  const sl_transport_ops *ops = moved->comm->ops;
  SL_TRY(ops->exchange_begin(moved, src, 0, dst, 0, queue));
  return ops->exchange_end(moved, queue);
}

static sley_status reclaim(sl_exchange *moved, sl_queue *queue) {
  return moved ? sl_exchange_reclaim(moved, queue) : SLEY_OK;
}

/* Gathers the peers' parts in dst, which already holds this rank's part. */
static sley_status gather(const sl_dense *dense, void *dst, sl_queue *queue) {
  for (int s = 0; s < dense->steps; s++)
    SL_TRY(exchange(dense->gather[s], dst, dst, queue));
  return SLEY_OK;
}

static sley_status reclaim_gather(const sl_dense *dense, sl_queue *queue) {
  for (int s = 0; s < dense->steps; s++)
    SL_TRY(reclaim(dense->gather[s], queue));
  return SLEY_OK;
}

static char *value_at(const sl_dense *dense, const void *array, int64_t i) {
  return (char *)array + i * dense->value_bytes;
}

/* The address of this rank's part in the whole array. */
static char *own_part(const sl_dense *dense, const void *array) {
  return value_at(dense, array, dense->begin[dense->comm->rank]);
}

/* Runs an all-reduce in one exchange. In place, the result replaces values that peers may still be reading,
 * so the exchange is reclaimed first. */
static sley_status run_whole(sl_dense *dense, const void *src, void *dst, sl_queue *queue) {
  SL_TRY(exchange(dense->scatter, src, dense->peers, queue));
  if (src == dst)
    SL_TRY(reclaim(dense->scatter, queue));
  SL_TRY(reduce(dense, src, dense->spec.count, dst, queue));
  return src == dst ? SLEY_OK : reclaim(dense->scatter, queue);
}

/* Reduces this rank's part to dst, reading the peers' arrays in place. */
static sley_status reduce_mapped(sl_dense *dense, const void *src, void *dst, sl_queue *queue) {
  const sl_transport_ops *ops = dense->comm->ops;
  const int rank = dense->comm->rank;
  const int64_t values = values_of(dense, rank);
  SL_TRY(ops->exchange_begin(dense->scatter, src, 0, NULL, 0, queue));
  SL_TRY(ops->exchange_map(dense->scatter, dense->rows, queue));
  for (int p = 0, i = 0; p < dense->comm->size && values > 0; p++)
    if (p != rank)
      dense->at[p] = own_part(dense, dense->rows[i++].src);
  SL_TRY(reduce(dense, own_part(dense, src), values, dst, queue));
  return ops->exchange_end(dense->scatter, queue);
}

/* Reduces this rank's part to dst. */
static sley_status reduce_part(sl_dense *dense, const void *src, void *dst, sl_queue *queue) {
  if (dense->mapped)
    return reduce_mapped(dense, src, dst, queue);
  SL_TRY(exchange(dense->scatter, src, dense->peers, queue));
  return reduce(dense, own_part(dense, src), values_of(dense, dense->comm->rank), dst, queue);
}

/* Runs an all-reduce in parts. In place, the own part of the result replaces values that no peer reads; the
 * other parts replace values that peers have read, which reclaim ensures. */
static sley_status run_in_parts(sl_dense *dense, const void *src, void *dst, sl_queue *queue) {
  SL_TRY(reduce_part(dense, src, own_part(dense, dst), queue));
  if (src == dst)
    SL_TRY(reclaim(dense->scatter, queue));
  SL_TRY(gather(dense, dst, queue));
  if (src != dst)
    SL_TRY(reclaim(dense->scatter, queue));
  return reclaim_gather(dense, queue);
}

static sley_status run_reduce_scatter(sl_dense *dense, const void *src, void *dst, sl_queue *queue) {
  SL_TRY(reduce_part(dense, src, dst, queue));
  return reclaim(dense->scatter, queue);
}

/* Copies the own part to its place in dst. */
static sley_status copy_own(const sl_dense *dense, const void *src, void *dst, sl_queue *queue) {
  char *own = own_part(dense, dst);
  int64_t bytes = values_of(dense, dense->comm->rank) * dense->value_bytes;
  return own != src && bytes > 0 ? queue->ops->copy(queue, SL_COPY_WITHIN, own, src, bytes) : SLEY_OK;
}

/* Runs an all-gather. In a ring the own part is sent from dst; else it is copied while the peers' parts
 * arrive. */
static sley_status run_all_gather(sl_dense *dense, const void *src, void *dst, sl_queue *queue) {
  const sl_transport_ops *ops = dense->comm->ops;
  if (dense->steps > 1 || !dense->gather[0]) {
    SL_TRY(copy_own(dense, src, dst, queue));
    SL_TRY(gather(dense, dst, queue));
  } else {
    SL_TRY(ops->exchange_begin(dense->gather[0], src, 0, dst, 0, queue));
    SL_TRY(copy_own(dense, src, dst, queue));
    SL_TRY(ops->exchange_end(dense->gather[0], queue));
  }
  return reclaim_gather(dense, queue);
}

static sley_status run_native(sl_dense *dense, const void *src, void *dst, sl_queue *queue) {
  const sl_comm *comm = dense->comm;
  SL_TRY(dense->native->run(dense->native, src, dst, queue));
  for (int link = 0; link < SL_LINK_COUNT; link++)
    comm->ops->counters_add((sl_comm *)comm, (sl_link)link, dense->traffic.bytes[link],
                            dense->traffic.messages[link]);
  return SLEY_OK;
}

static sley_status check_array(const sl_dense *dense, const void *array, int64_t values, const char *what) {
  if (values > 0 && (!array || (uintptr_t)array % (uintptr_t)dense->value_bytes != 0))
    return sl_fail(SLEY_ERR_ARG, "%s: %s is %p: it must be an array aligned to %lld bytes",
                   title_of(&dense->spec), what, array, (long long)dense->value_bytes);
  return SLEY_OK;
}

static sley_status run(sl_dense *dense, const void *src, void *dst, sl_queue *queue) {
  int64_t all = dense->begin[dense->comm->size];
  int64_t part = values_of(dense, dense->comm->rank);
  SL_TRY(check_array(dense, src, reduces(dense) ? all : part, "src"));
  SL_TRY(check_array(dense, dst, kind_of(&dense->spec)->gathers ? all : part, "dst"));
  if (all == 0)
    return SLEY_OK;
  if (dense->native)
    return run_native(dense, src, dst, queue);
  if (!reduces(dense))
    return run_all_gather(dense, src, dst, queue);
  if (!kind_of(&dense->spec)->gathers)
    return run_reduce_scatter(dense, src, dst, queue);
  return dense->whole ? run_whole(dense, src, dst, queue) : run_in_parts(dense, src, dst, queue);
}

sley_status sl_dense_run(sl_dense *dense, const void *src, void *dst, sl_queue *queue) {
  const sl_work before = sl_work_begin(dense->comm, SL_WORK_EXCHANGE);
  sley_status status = sl_work_end(dense->comm, before, run(dense, src, dst, queue));
  if (status != SLEY_OK)
    dense->comm->ops->abort(dense->comm, status); /* no peer may wait for this rank, or read its memory */
  return status;
}

/* ---- transports without a library */

sley_status sl_dense_no_native(sl_comm *comm, const sl_dense_spec *spec, sl_dense_native **out) {
  (void)comm, (void)spec;
  *out = NULL;
  return SLEY_ERR_UNSUPPORTED;
}
