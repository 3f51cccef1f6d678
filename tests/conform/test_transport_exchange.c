/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that every transport provides exchanges as promised: random lists in several rounds, with several
 * exchanges in flight, compared byte by byte with a model that each rank computes by itself, and counted as
 * the lists determine. */
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "mirror.h"
#include "ranks.h"

enum { RANKS = 8, ROWS = 24, IN_FLIGHT = 3, ROUNDS = 3, DST_ROWS = RANKS * ROWS };

/* An exchange in the form that all ranks know: each can compute every rank's lists from the seed. */
typedef struct shape {
  uint64_t seed;
  bool add;
  sley_dtype dtype;
  sl_grain grain;
  int64_t unit;                   /* all sizes are multiples of this */
  int64_t src_stride, dst_stride; /* bytes */
} shape;

static uint64_t draw(const shape *s, int what, int from, int to) {
  return sl_random(s->seed, (uint64_t)what, (uint64_t)(from * RANKS + to));
}

static shape make_shape(uint64_t seed) {
  shape s = {.seed = seed};
  uint64_t bits = sl_random(seed, 0, 0);
  s.add = bits & 1;
  s.dtype = bits & 2 ? SLEY_F64 : SLEY_F32;
  s.grain = bits & 4 ? SL_GRAIN_ROW : SL_GRAIN_PEER;
  s.unit = s.add ? (int64_t)sley_dtype_bytes(s.dtype) : 1;
  s.src_stride = s.unit * (40 + (int64_t)(bits >> 8) % 5);
  s.dst_stride = s.unit * (40 + (int64_t)(bits >> 16) % 5);
  return s;
}

static bool has_pair(const shape *s, int from, int to) {
  return draw(s, 1, from, to) % 5 != 0;
}

static int64_t count_of(const shape *s, int from, int to) {
  return sl_below(draw(s, 2, from, to), ROWS + 1) * (draw(s, 3, from, to) % 6 != 0);
}

static int64_t bytes_of(const shape *s, int from, int to) {
  return draw(s, 12, from, to) % 8 == 0 ? s->src_stride < s->dst_stride ? s->src_stride : s->dst_stride
                                        : s->unit * sl_below(draw(s, 4, from, to), 30);
}

/* A random offset within the space that the row's bytes leave in the stride. */
static int64_t offset_of(const shape *s, int side, int from, int to, int64_t stride) {
  return s->unit * sl_below(draw(s, 5 + side, from, to), (stride - bytes_of(s, from, to)) / s->unit + 1);
}

static bool is_listed(const shape *s, int side, int from, int to) {
  return draw(s, 7 + side, from, to) & 1;
}

/* Row of the sender for entry i; rows may repeat. */
static int64_t sent_row(const shape *s, int from, int to, int64_t i) {
  if (!is_listed(s, 0, from, to))
    return (int64_t)(draw(s, 9, from, to) % 3) + i;
  return sl_below(sl_random(s->seed + 7, draw(s, 9, from, to), (uint64_t)i), ROWS + 3);
}

/* Row of the receiver for entry i: without add, each peer has rows of its own; with add, the peers' rows
 * overlap. */
static int64_t taken_row(const shape *s, int from, int to, int64_t i) {
  int64_t first = s->add ? 3 * from : ROWS * from;
  if (!is_listed(s, 1, from, to))
    return first + i;
  return first +
         (i * 5 + (int64_t)(draw(s, 10, from, to) % ROWS)) % ROWS; /* 5 and ROWS have no common factor */
}

/* Fills a rank's source for a round; with add, the bytes are values. */
static void fill_source(const shape *s, int rank, int round, char *src) {
  int64_t rows = ROWS + 3;
  for (int64_t i = 0; i < rows * s->src_stride / s->unit; i++) {
    uint64_t bits = sl_random(s->seed + 11, (uint64_t)(rank * 100 + round), (uint64_t)i);
    if (!s->add)
      src[i] = (char)bits;
    else if (s->dtype == SLEY_F32)
      ((float *)(void *)src)[i] = (float)(sl_unit(bits) - 0.5);
    else
      ((double *)(void *)src)[i] = sl_unit(bits) - 0.5;
  }
}

static void model_row(const shape *s, char *dst, const char *src, int64_t bytes) {
  if (!s->add)
    memcpy(dst, src, (size_t)bytes);
  else
    for (int64_t i = 0; i < bytes / s->unit; i++)
      if (s->dtype == SLEY_F32)
        ((float *)(void *)dst)[i] += ((const float *)(const void *)src)[i];
      else
        ((double *)(void *)dst)[i] += ((const double *)(const void *)src)[i];
}

/* Number of stages in which a rank receives, and their ends in its list from a peer. */
static int stages_of(const shape *s, int rank) {
  return s->add ? 0 : (int)sl_below(draw(s, 13, rank, 0), 5);
}

static const int64_t *stage_ends(const shape *s, int from, int to, int64_t *end) {
  int stages = stages_of(s, to);
  for (int i = 0; i < stages - 1; i++) {
    int64_t first = i > 0 ? end[i - 1] : 0;
    end[i] = first + sl_below(draw(s, 14 + i, from, to), count_of(s, from, to) - first + 1);
  }
  return draw(s, 20, from, to) % 4 ? end : NULL;
}

/* One rank's part of an exchange, with its lists and buffers. */
typedef struct party {
  shape s;
  sl_exchange *exchange;
  sl_row_list send[RANKS], recv[RANKS];
  int sends, recvs;
  int64_t rows[2][RANKS][ROWS], ends[RANKS][SL_PIECES_MOST];
  char *src, *dst, *model, *scratch;
  mirror src_there, dst_there;
} party;

static int64_t src_bytes(const shape *s) {
  return (ROWS + 3) * s->src_stride;
}

static int64_t dst_bytes(const shape *s) {
  return DST_ROWS * s->dst_stride;
}

static sl_row_list make_list(party *p, int side, int peer, int from, int to) {
  const shape *s = &p->s;
  sl_row_list list = {.peer = peer, .count = count_of(s, from, to), .bytes = bytes_of(s, from, to)};
  list.offset = offset_of(s, side, from, to, side ? s->dst_stride : s->src_stride);
  for (int64_t i = 0; i < list.count; i++)
    p->rows[side][peer][i] = side ? taken_row(s, from, to, i) : sent_row(s, from, to, i);
  if (is_listed(s, side, from, to))
    list.rows = p->rows[side][peer];
  else if (list.count > 0)
    list.first = p->rows[side][peer][0];
  if (side)
    list.piece_end = stage_ends(s, from, to, p->ends[peer]);
  return list;
}

static sley_status open_party(sl_comm *comm, party *p, uint64_t seed) {
  p->s = make_shape(seed);
  p->src = sl_alloc(src_bytes(&p->s), 1, "test");
  p->scratch = sl_alloc(src_bytes(&p->s), 1, "test");
  p->dst = sl_alloc_zero(dst_bytes(&p->s), 1, "test");
  p->model = sl_alloc_zero(dst_bytes(&p->s), 1, "test");
  if (!p->src || !p->scratch || !p->dst || !p->model)
    return SLEY_ERR_MEMORY;
  memset(p->src, 0, (size_t)src_bytes(&p->s));
  SL_TRY(mirror_open(comm, p->src, src_bytes(&p->s), &p->src_there));
  SL_TRY(mirror_open(comm, p->dst, dst_bytes(&p->s), &p->dst_there));
  for (int peer = 0; peer < comm->size; peer++) {
    if (has_pair(&p->s, comm->rank, peer))
      p->send[p->sends++] = make_list(p, 0, peer, comm->rank, peer);
    if (has_pair(&p->s, peer, comm->rank))
      p->recv[p->recvs++] = make_list(p, 1, peer, peer, comm->rank);
  }
  sl_exchange_spec spec = {"random",   p->sends,   p->recvs,
                           p->send,    p->recv,    p->s.add,
                           p->s.dtype, p->s.grain, stages_of(&p->s, comm->rank)};
  return comm->ops->exchange_create(comm, &spec, &p->exchange);
}

static void close_party(sl_comm *comm, party *p) {
  comm->ops->exchange_destroy(p->exchange);
  mirror_close(&p->src_there);
  mirror_close(&p->dst_there);
  sl_free(p->src);
  sl_free(p->scratch);
  sl_free(p->dst);
  sl_free(p->model);
}

static void run_model(sl_comm *comm, party *p, int round, sl_counters *expected) {
  const shape *s = &p->s;
  for (int l = 0; l < p->recvs; l++) {
    const sl_row_list *list = &p->recv[l];
    int from = list->peer;
    fill_source(s, from, round, p->scratch);
    int64_t offset = offset_of(s, 0, from, comm->rank, s->src_stride);
    for (int64_t i = 0; i < list->count; i++)
      model_row(s, p->model + taken_row(s, from, comm->rank, i) * s->dst_stride + list->offset,
                p->scratch + sent_row(s, from, comm->rank, i) * s->src_stride + offset, list->bytes);
    sl_link link = sl_link_to(comm, from);
    expected->bytes[link] += list->count * list->bytes;
    expected->messages[link] += comm->ops->list_messages(comm, list, s->grain);
  }
}

static sley_status run_rounds(sl_comm *comm, party *parties, uint64_t seed) {
  sl_counters expected = {{0}, {0}};
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t bits = sl_random(seed, 99, (uint64_t)round);
    if (sl_random(seed, (uint64_t)comm->rank, (uint64_t)round) % 3 == 0)
      usleep((unsigned)(sl_random(seed, 5, (uint64_t)comm->rank) % 300)); /* lets ranks drift apart */
    for (int i = 0; i < IN_FLIGHT; i++) {
      party *p = &parties[(i + bits) % IN_FLIGHT];
      fill_source(&p->s, comm->rank, round, p->src);
      SL_TRY(mirror_send(&p->src_there));
      SL_TRY(comm->ops->exchange_begin(p->exchange, p->src_there.here, p->s.src_stride, p->dst_there.here,
                                       p->s.dst_stride, comm->queue));
    }
    for (int i = 0; i < IN_FLIGHT; i++) {
      party *p = &parties[(i + (bits >> 8)) % IN_FLIGHT];
      const sl_piece_words *words;
      if (bits & (uint64_t)1 << (24 + i)) /* without stages all rows arrive together */
        SL_TRY(sl_exchange_arrive(p->exchange, comm->queue, &words));
      SL_TRY(comm->ops->exchange_end(p->exchange, comm->queue));
      SL_TRY(mirror_fetch(&p->dst_there));
      if (bits & (uint64_t)1 << (16 + i))
        SL_TRY(mirror_fetch(&p->src_there)); /* other ranks may still read it, and so may this one */
      SL_TRY(sl_exchange_reclaim(p->exchange, comm->queue));
      memset(p->src, 0, (size_t)src_bytes(&p->s)); /* only this rank uses it now */
      SL_TRY(mirror_send(&p->src_there));
      run_model(comm, p, round, &expected);
      EXPECT(memcmp(p->dst, p->model, (size_t)dst_bytes(&p->s)) == 0);
    }
  }
  return check_counted(comm, &expected);
}

static sley_status random_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  sley_status status = SLEY_OK;
  for (uint64_t repeat = 0; repeat < 2 && status == SLEY_OK; repeat++) {
    party *parties = sl_alloc_zero(IN_FLIGHT, sizeof *parties, "test");
    EXPECT(parties);
    comm->ops->counters_reset(comm);
    for (int i = 0; i < IN_FLIGHT && status == SLEY_OK; i++)
      status = open_party(comm, &parties[i], c->seed * 100 + repeat * 10 + (uint64_t)i);
    if (status == SLEY_OK)
      status = run_rounds(comm, parties, c->seed + repeat);
    if (status != SLEY_OK) /* peers may be reading memory that is freed below */
      comm->ops->abort(comm, status);
    for (int i = 0; i < IN_FLIGHT; i++)
      close_party(comm, &parties[i]);
    sl_free(parties);
  }
  return status;
}

static void random_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, random_main, (void *)(uintptr_t)c));
  assert_int_equal(sl_memory_now(), before);
}

static void test_random_exchanges(void **state) {
  (void)state;
  each_case(random_body);
}

/* A ring within one buffer: each rank sends its first row to the second row of the next rank. */
static sley_status ring_main(sl_comm *comm, void *arg) {
  (void)arg;
  int size = comm->size, next = (comm->rank + 1) % size, last = (comm->rank + size - 1) % size;
  int64_t buffer[2] = {comm->rank, -1};
  sl_row_list send = {.peer = next, .count = 1, .first = 0, .bytes = 8};
  sl_row_list recv = {.peer = last, .count = 1, .first = 1, .bytes = 8};
  sl_exchange_spec spec = {
      .name = "ring", .sends = 1, .recvs = 1, .send = &send, .recv = &recv, .dtype = SLEY_F64};
  sl_exchange *exchange;
  SL_TRY(comm->ops->exchange_create(comm, &spec, &exchange));
  mirror there;
  sley_status status = mirror_open(comm, buffer, sizeof buffer, &there);
  int64_t *rows = there.here;
  for (int i = 0; i < 500 && status == SLEY_OK; i++) {
    status = comm->ops->exchange_begin(exchange, rows, 8, rows, 8, comm->queue);
    if (status == SLEY_OK)
      status = comm->ops->exchange_end(exchange, comm->queue);
    if (status == SLEY_OK)
      status = sl_exchange_reclaim(exchange, comm->queue);
    if (status == SLEY_OK)
      status = sley_comm_copy(comm, rows, rows + 1, 8, SLEY_WITHIN);
  }
  if (status == SLEY_OK)
    status = mirror_fetch(&there);
  comm->ops->exchange_destroy(exchange);
  mirror_close(&there);
  SL_TRY(status);
  EXPECT(buffer[0] == ((comm->rank - 500) % size + size) % size);
  return SLEY_OK;
}

static void ring_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, ring_main, NULL));
}

static void test_ring_in_one_buffer(void **state) {
  (void)state;
  each_case(ring_body);
}

enum { LENDERS = 8, LENDINGS = 100 };

/* The rows that a rank lets peers read in place, and the values it has read from its peers, two per rank. */
typedef struct lending {
  int64_t rows[2], got[2 * LENDERS];
  mirror rows_there, got_there;
  sl_exchange *exchange;
  int peers;
  sl_row_list lists[LENDERS];
} lending;

/* Reads the peers' rows in place, as a kernel does. */
static sley_status read_lent(sl_comm *comm, lending *l, const sl_mapped_rows *mapped) {
  for (int i = 0; i < l->peers; i++) {
    EXPECT(mapped[i].stride == 8);
    SL_TRY(sl_kernel_run(comm->queue, &(sl_kernel_args){.op = SL_OP_ROWS,
                                                        .rows = {.count = 2,
                                                                 .bytes = 8,
                                                                 .src = mapped[i].src,
                                                                 .src_stride = mapped[i].stride,
                                                                 .dst = (int64_t *)l->got_there.here + 2 * i,
                                                                 .dst_stride = 8,
                                                                 .dtype = SLEY_F64}}));
  }
  return SLEY_OK;
}

static sley_status lend_round(sl_comm *comm, lending *l, int round) {
  sl_mapped_rows mapped[LENDERS];
  l->rows[0] = 1000 * comm->rank + round;
  l->rows[1] = -l->rows[0];
  SL_TRY(mirror_send(&l->rows_there));
  SL_TRY(comm->ops->exchange_begin(l->exchange, l->rows_there.here, 8, NULL, 8, comm->queue));
  SL_TRY(comm->ops->exchange_map(l->exchange, mapped, comm->queue));
  SL_TRY(read_lent(comm, l, mapped));
  SL_TRY(comm->ops->exchange_end(l->exchange, comm->queue));
  SL_TRY(mirror_fetch(&l->got_there));
  if (round % 2)
    SL_TRY(sl_exchange_reclaim(l->exchange, comm->queue)); /* otherwise the next begin does it */
  for (int i = 0; i < l->peers; i++) {
    EXPECT(l->got[2 * i] == 1000 * l->lists[i].peer + round);
    EXPECT(l->got[2 * i + 1] == -l->got[2 * i]);
  }
  return round % 2 ? SLEY_OK : comm->ops->barrier(comm);
}

static sley_status lend_rounds(sl_comm *comm, lending *l) {
  SL_TRY(mirror_open(comm, l->rows, sizeof l->rows, &l->rows_there));
  SL_TRY(mirror_open(comm, l->got, sizeof l->got, &l->got_there));
  comm->ops->counters_reset(comm);
  for (int round = 0; round < LENDINGS; round++)
    SL_TRY(lend_round(comm, l, round));
  return SLEY_OK;
}

/* Every rank lets all others read its two rows in place, and reads theirs, in several rounds. */
static sley_status lend_main(sl_comm *comm, void *arg) {
  (void)arg;
  lending l = {.peers = 0};
  for (int p = 0; p < comm->size; p++)
    if (p != comm->rank)
      l.lists[l.peers++] = (sl_row_list){.peer = p, .count = 2, .bytes = 8};
  sl_exchange_spec spec = {.name = "lend",
                           .sends = l.peers,
                           .recvs = l.peers,
                           .send = l.lists,
                           .recv = l.lists,
                           .dtype = SLEY_F64};
  SL_TRY(comm->ops->exchange_create(comm, &spec, &l.exchange));
  sley_status status = lend_rounds(comm, &l);
  if (status != SLEY_OK)
    comm->ops->abort(comm, status);
  sl_counters counted;
  comm->ops->counters(comm, &counted);
  comm->ops->exchange_destroy(l.exchange);
  mirror_close(&l.rows_there);
  mirror_close(&l.got_there);
  SL_TRY(status);
  EXPECT(counted.bytes[SL_LINK_DIRECT] == (int64_t)LENDINGS * 16 * l.peers);
  EXPECT(counted.messages[SL_LINK_DIRECT] == (int64_t)LENDINGS * l.peers);
  return SLEY_OK;
}

/* One rank fails while all ranks may read each other's memory: all get an error, and none waits for ever. */
static sley_status fail_while_lent_main(sl_comm *comm, void *arg) {
  (void)arg;
  int64_t row = comm->rank;
  int next = (comm->rank + 1) % comm->size, last = (comm->rank + comm->size - 1) % comm->size;
  sl_row_list send = {.peer = next, .count = 1, .bytes = 8}, recv = {.peer = last, .count = 1, .bytes = 8};
  sl_exchange_spec spec = {
      .name = "lend", .sends = 1, .recvs = 1, .send = &send, .recv = &recv, .dtype = SLEY_F64};
  sl_mapped_rows mapped;
  sl_exchange *exchange;
  mirror there, got;
  int64_t taken = -1;
  SL_TRY(comm->ops->exchange_create(comm, &spec, &exchange));
  sley_status status = mirror_open(comm, &row, sizeof row, &there),
              opened = mirror_open(comm, &taken, 8, &got);
  status = status == SLEY_OK ? opened : status;
  if (status == SLEY_OK)
    status = comm->ops->exchange_begin(exchange, there.here, 8, NULL, 8, comm->queue);
  if (status == SLEY_OK)
    status = comm->ops->exchange_map(exchange, &mapped, comm->queue);
  if (status == SLEY_OK) /* the owner may have failed, but its memory must still exist */
    status = sley_comm_copy(comm, got.here, mapped.src, 8, SLEY_WITHIN);
  if (status == SLEY_OK && comm->rank == comm->size - 1) {
    status = sl_fail(SLEY_ERR_INTERNAL, "on purpose");
    comm->ops->abort(comm, status);
  }
  if (status == SLEY_OK)
    status = comm->ops->exchange_end(exchange, comm->queue);
  if (status == SLEY_OK)
    status = comm->ops->barrier(comm);
  comm->ops->exchange_destroy(exchange);
  mirror_close(&there);
  mirror_close(&got);
  return status;
}

static sley_status refuse_main(sl_comm *comm, void *arg) {
  sl_row_list list = {.peer = 1 - comm->rank, .count = 1, .bytes = 8};
  sl_exchange_spec spec = {
      .name = "lend", .sends = 1, .recvs = 1, .send = &list, .recv = &list, .dtype = SLEY_F64};
  (void)arg;
  int64_t row = 0;
  sl_mapped_rows mapped;
  sl_exchange *exchange;
  mirror there;
  SL_TRY(comm->ops->exchange_create(comm, &spec, &exchange));
  sley_status status = mirror_open(comm, &row, sizeof row, &there);
  if (status == SLEY_OK)
    status = comm->ops->exchange_begin(exchange, there.here, 8, there.here, 8, comm->queue);
  if (status == SLEY_OK)
    status = comm->ops->exchange_map(exchange, &mapped, comm->queue);
  comm->ops->exchange_destroy(exchange);
  mirror_close(&there);
  return status;
}

static sley_status ask_main(sl_comm *comm, void *arg) {
  if (comm->rank == 0)
    *(bool *)arg = comm->zero_copy;
  return SLEY_OK;
}

static void lend_body(const rank_case *c) {
  bool lends = false;
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, ask_main, &lends));
  const char *reach = getenv("SLEY_MOCK_REACH");
  if (reach) /* the mock device says whether peers are reachable; ranks that share a device always are */
    assert_int_equal(lends, strcmp(reach, "yes") == 0 || c->ranks == 1);
  if (lends && c->workgroup == c->ranks) {
    assert_case_ok(c, run_case(c, lend_main, NULL));
    if (c->ranks > 1)
      assert_int_equal(run_case(c, fail_while_lent_main, NULL), SLEY_ERR_INTERNAL);
  } else if (c->ranks == 2) {
    assert_int_equal(run_case(c, refuse_main, NULL), SLEY_ERR_UNSUPPORTED);
  }
  assert_int_equal(sl_memory_now(), before);
}

static void test_lending(void **state) {
  (void)state;
  each_case(lend_body);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_exchanges),
      cmocka_unit_test(test_lending),
      cmocka_unit_test(test_ring_in_one_buffer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
