/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that every transport provides sized exchanges as promised: random capacities and, in each round,
 * random lengths, including 0 and the full capacity, with several in flight, in place and not; compared byte
 * by byte with the data that other ranks sent, and counted. Then tests failures. */
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "mirror.h"
#include "ranks.h"

enum { RANKS = 8, MOST = 3000, IN_FLIGHT = 3, ROUNDS = 6, UNTOUCHED = 0xEE };

/* A random number of an exchange that all ranks know: each can compute every rank's lists and lengths from
 * the seed. */
static uint64_t draw(uint64_t seed, int what, int from, int to) {
  return sl_random(seed, (uint64_t)what, (uint64_t)(from * RANKS + to));
}

static bool has_pair(uint64_t seed, int from, int to) {
  return draw(seed, 1, from, to) % 5 != 0;
}

static int64_t capacity_of(uint64_t seed, int from, int to) {
  uint64_t bits = draw(seed, 2, from, to);
  return bits % 7 == 0 ? 0 : sl_below(bits, bits % 3 == 0 ? 16 : MOST) + 1;
}

static int64_t length_of(uint64_t seed, int round, int from, int to) {
  uint64_t bits = draw(seed, 3 + round, from, to);
  int64_t capacity = capacity_of(seed, from, to);
  return bits % 4 == 0 ? 0 : bits % 4 == 1 ? capacity : sl_below(bits, capacity + 1);
}

static unsigned char byte_of(uint64_t seed, int round, int from, int to, int64_t i) {
  return (unsigned char)(draw(seed, 50 + round, from, to) >> (i % 8 * 8)) ^ (unsigned char)(i >> 3);
}

/* One rank's part of an exchange. */
typedef struct party {
  uint64_t seed;
  bool in_place; /* sent and received data share one buffer */
  int sends, recvs;
  sl_sized_list send[RANKS], recv[RANKS];
  int64_t send_at[RANKS], recv_at[RANKS], send_bytes[RANKS], recv_bytes[RANKS];
  int64_t src_bytes, dst_bytes;
  unsigned char *src, *dst;
  mirror src_there, dst_there;
  sl_sized *sized;
} party;

/* Places blocks one after another, at odd addresses. */
static void lay_out(sl_comm *comm, party *p) {
  int64_t at = (int64_t)(p->seed % 3);
  for (int r = 0; r < comm->size; r++)
    if (has_pair(p->seed, comm->rank, r)) {
      int64_t capacity = capacity_of(p->seed, comm->rank, r);
      p->send[p->sends] = (sl_sized_list){r, capacity};
      p->send_at[p->sends++] = at;
      at += capacity + r % 3;
    }
  p->src_bytes = at + 1;
  at = p->in_place ? at : 1;
  for (int r = 0; r < comm->size; r++)
    if (has_pair(p->seed, r, comm->rank)) {
      int64_t capacity = capacity_of(p->seed, r, comm->rank);
      p->recv[p->recvs] = (sl_sized_list){r, capacity};
      p->recv_at[p->recvs++] = at;
      at += capacity + r % 2;
    }
  p->dst_bytes = at + 1;
}

static sley_status open_party(sl_comm *comm, uint64_t seed, party *p) {
  *p = (party){.seed = seed, .in_place = seed & 1};
  lay_out(comm, p);
  sl_sized_spec spec = {
      .name = "sized", .sends = p->sends, .recvs = p->recvs, .send = p->send, .recv = p->recv};
  p->dst = sl_alloc_zero(p->dst_bytes, 1, "test");
  p->src = p->in_place ? p->dst : sl_alloc_zero(p->src_bytes, 1, "test");
  SL_TRY(sl_agree(comm, p->dst && p->src ? SLEY_OK : SLEY_ERR_MEMORY));
  SL_TRY(mirror_open(comm, p->dst, p->dst_bytes, &p->dst_there));
  if (!p->in_place)
    SL_TRY(mirror_open(comm, p->src, p->src_bytes, &p->src_there));
  return comm->ops->sized_create(comm, &spec, &p->sized);
}

/* Frees the buffers first: after an error, a rank may free memory that peers were reading in place. */
static void close_party(sl_comm *comm, party *p) {
  mirror_close(&p->dst_there);
  mirror_close(&p->src_there);
  if (!p->in_place)
    sl_free(p->src);
  sl_free(p->dst);
  comm->ops->sized_destroy(p->sized);
}

static sley_status begin_party(sl_comm *comm, party *p, int round) {
  memset(p->dst, UNTOUCHED, (size_t)p->dst_bytes);
  for (int i = 0; i < p->sends; i++) {
    int to = p->send[i].peer;
    p->send_bytes[i] = length_of(p->seed, round, comm->rank, to);
    for (int64_t b = 0; b < p->send_bytes[i]; b++)
      p->src[p->send_at[i] + b] = byte_of(p->seed, round, comm->rank, to, b);
  }
  SL_TRY(mirror_send(&p->dst_there));
  if (!p->in_place)
    SL_TRY(mirror_send(&p->src_there));
  const char *src = p->in_place ? p->dst_there.here : p->src_there.here;
  sl_sized_round r = {src, p->send_at, p->send_bytes, p->dst_there.here, p->recv_at};
  return comm->ops->sized_begin(p->sized, &r, comm->queue);
}

static sley_status check_party(sl_comm *comm, party *p, int round, sl_counters *expected) {
  SL_TRY(mirror_fetch(&p->dst_there));
  for (int i = 0; i < p->recvs; i++) {
    int from = p->recv[i].peer;
    int64_t length = length_of(p->seed, round, from, comm->rank);
    EXPECT(p->recv_bytes[i] == length);
    for (int64_t b = 0; b < p->recv[i].capacity; b++)
      EXPECT(p->dst[p->recv_at[i] + b] ==
             (b < length ? byte_of(p->seed, round, from, comm->rank, b) : UNTOUCHED));
    expected->bytes[sl_link_to(comm, from)] += length;
    expected->messages[sl_link_to(comm, from)] += length > 0;
  }
  return SLEY_OK;
}

static sley_status run_rounds(sl_comm *comm, party *parties, uint64_t seed) {
  sl_counters expected = {{0}, {0}};
  comm->ops->counters_reset(comm);
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t bits = sl_random(seed, 99, (uint64_t)round);
    if (sl_random(seed, (uint64_t)comm->rank, (uint64_t)round) % 3 == 0)
      usleep((unsigned)(sl_random(seed, 5, (uint64_t)comm->rank) % 300)); /* lets ranks drift apart */
    for (int i = 0; i < IN_FLIGHT; i++)
      SL_TRY(begin_party(comm, &parties[(i + bits) % IN_FLIGHT], round));
    for (int i = 0; i < IN_FLIGHT; i++) {
      party *p = &parties[(i + (bits >> 8)) % IN_FLIGHT];
      SL_TRY(comm->ops->sized_end(p->sized, p->recv_bytes, comm->queue));
      if (!p->in_place && bits & (uint64_t)1 << (16 + i)) { /* only this rank uses src now */
        memset(p->src, 1, (size_t)p->src_bytes);
        SL_TRY(mirror_send(&p->src_there));
      }
      SL_TRY(check_party(comm, p, round, &expected));
    }
  }
  return check_counted(comm, &expected);
}

static sley_status rounds_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  party parties[IN_FLIGHT] = {{0}};
  sley_status status = SLEY_OK;
  for (int i = 0; i < IN_FLIGHT && status == SLEY_OK; i++)
    status = open_party(comm, c->seed * 10 + (uint64_t)i, &parties[i]);
  if (status == SLEY_OK)
    status = run_rounds(comm, parties, c->seed);
  if (status != SLEY_OK)
    comm->ops->abort(comm, status);
  for (int i = IN_FLIGHT - 1; i >= 0; i--)
    close_party(comm, &parties[i]);
  return status;
}

static void rounds_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, rounds_main, (void *)(uintptr_t)c));
  assert_int_equal(sl_memory_now(), before);
}

static void test_random_lengths(void **state) {
  (void)state;
  each_case(rounds_body);
}

/* ------------------------------------------------------------------------------------------------ failures
 */

/* The errors that the ranks got. */
typedef struct outcome {
  sley_status status[RANKS];
  char message[RANKS][1024];
} outcome;

typedef enum way { TOO_LONG, NEGATIVE, BEFORE_BEGIN, BEFORE_END, AFTER_END, WAYS, NEVER } way;

typedef struct failure {
  const rank_case *c;
  int rank, round;
  way where;
  outcome seen;
} failure;

static sley_status fail_here(sl_comm *comm) {
  sley_status status = sl_fail(SLEY_ERR_IO, "disk on fire");
  comm->ops->abort(comm, status);
  return status;
}

/* All ranks send to all ranks. Memory that peers read in place is freed as soon as the rank gets an error. */
static sley_status failing_round(sl_comm *comm, failure *f, int round, sl_sized *sized, char *src, char *dst,
                                 int64_t capacity) {
  bool fails = comm->rank == f->rank && round == f->round;
  int64_t send_at[RANKS], recv_at[RANKS], bytes[RANKS], received[RANKS];
  for (int p = 0; p < comm->size; p++) {
    send_at[p] = recv_at[p] = p * capacity;
    bytes[p] = (p + round) % 3 * capacity / 2;
  }
  if (fails && f->where == BEFORE_BEGIN)
    return fail_here(comm);
  if (fails && f->where == TOO_LONG)
    bytes[comm->size - 1] = capacity + 1;
  if (fails && f->where == NEGATIVE)
    bytes[0] = -1;
  sl_sized_round r = {src, send_at, bytes, dst, recv_at};
  SL_TRY(comm->ops->sized_begin(sized, &r, comm->queue));
  if (fails && f->where == BEFORE_END)
    return fail_here(comm);
  SL_TRY(comm->ops->sized_end(sized, received, comm->queue));
  if (fails && f->where == AFTER_END)
    return fail_here(comm);
  for (int p = 0; p < comm->size; p++)
    EXPECT(received[p] == (comm->rank + round) % 3 * capacity / 2);
  return round % 2 ? comm->ops->barrier(comm) : SLEY_OK;
}

static sley_status failing_work(sl_comm *comm, failure *f) {
  const int64_t capacity = 5000;
  sl_sized_list lists[RANKS];
  for (int p = 0; p < comm->size; p++)
    lists[p] = (sl_sized_list){p, capacity};
  sl_sized_spec spec = {"all to all", comm->size, comm->size, lists, lists};
  sl_sized *sized = NULL;
  mirror from = {0}, to = {0};
  char *src = NULL, *dst = NULL;
  sley_status status;
  SL_TRY_GOTO(status, comm->ops->sized_create(comm, &spec, &sized), done);
  src = sl_alloc_zero(comm->size, (size_t)capacity, "test");
  dst = sl_alloc_zero(comm->size, (size_t)capacity, "test");
  SL_TRY_GOTO(status, sl_agree(comm, src && dst ? SLEY_OK : SLEY_ERR_MEMORY), done);
  SL_TRY_GOTO(status, mirror_open(comm, src, comm->size * capacity, &from), done);
  SL_TRY_GOTO(status, mirror_open(comm, dst, comm->size * capacity, &to), done);
  for (int round = 0; round < ROUNDS && status == SLEY_OK; round++)
    status = failing_round(comm, f, round, sized, from.here, to.here, capacity);
  if (status == SLEY_OK) /* otherwise nobody waits for a rank that fails after the last end */
    status = comm->ops->barrier(comm);
done:
  mirror_close(&from);
  mirror_close(&to);
  sl_free(dst);
  sl_free(src);
  comm->ops->sized_destroy(sized);
  return status;
}

static sley_status failing_main(sl_comm *comm, void *arg) {
  failure *f = arg;
  sley_status status = failing_work(comm, f);
  f->seen.status[comm->rank] = status;
  snprintf(f->seen.message[comm->rank], sizeof f->seen.message[0], "%s", status ? sley_last_error() : "");
  return status;
}

static void failure_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  for (int where = 0; where < WAYS; where++) {
    uint64_t bits = sl_random(c->seed, 3, (uint64_t)where);
    failure f = {
        .c = c, .rank = (int)sl_below(bits, c->ranks), .round = (int)(bits % ROUNDS), .where = (way)where};
    bool length = where == TOO_LONG || where == NEGATIVE;
    sley_status own = length ? SLEY_ERR_ARG : SLEY_ERR_IO;
    assert_int_equal(run_case(c, failing_main, &f), own);
    share_seen(f.seen.status, sizeof f.seen.status[0]);
    share_seen(f.seen.message, sizeof f.seen.message[0]);
    char prefix[64];
    snprintf(prefix, sizeof prefix, "rank %d failed: ", f.rank);
    for (int r = 0; r < c->ranks; r++) {
      assert_int_equal(f.seen.status[r], r == f.rank ? own : SLEY_ERR_PEER);
      assert_non_null(strstr(f.seen.message[r], length ? "the capacity is 5000" : "disk on fire"));
      assert_true(r == f.rank || strncmp(f.seen.message[r], prefix, strlen(prefix)) == 0);
    }
    assert_int_equal(sl_memory_now(), before);
  }
}

static void test_failure_reaches_all(void **state) {
  (void)state;
  each_case(failure_body);
}

/* Rank 0 passes a wrong size for the next rank; lists that are wrong by themselves; calls in the wrong order.
 */
static sley_status wrong_main(sl_comm *comm, void *arg) {
  (void)arg;
  sl_sized *sized;
  sl_sized_list send = {(comm->rank + 1) % comm->size, comm->rank == 0 ? 8 : 16};
  sl_sized_list recv = {(comm->rank + comm->size - 1) % comm->size, 16};
  sl_sized_spec ring = {"ring", 1, 1, &send, &recv};
  sley_status status = comm->ops->sized_create(comm, &ring, &sized);
  EXPECT(status == (comm->rank < 2 ? SLEY_ERR_ARG : SLEY_ERR_PEER) && !sized);
  const sl_sized_list wrong[] = {{-1, 4}, {comm->size, 4}, {0, -1}};
  for (int i = 0; i < 3; i++) {
    sl_sized_spec spec = {.name = "wrong", .sends = 1, .send = &wrong[i]};
    EXPECT(comm->ops->sized_create(comm, &spec, &sized) == SLEY_ERR_ARG && !sized);
  }
  sl_sized_list twice[] = {{0, 1}, {0, 1}};
  const sl_sized_spec bad[] = {{"twice", 2, 0, twice, NULL},
                               {NULL, 0, 0, NULL, NULL},
                               {"none", 1, 0, NULL, NULL},
                               {"less", -1, 0, twice, NULL}};
  for (int i = 0; i < 4; i++)
    EXPECT(comm->ops->sized_create(comm, &bad[i], &sized) == SLEY_ERR_ARG && !sized);
  /* The comm stays usable. An exchange without lists is allowed. */
  sl_sized_spec none = {.name = "none"};
  sl_sized_round nothing = {0};
  SL_TRY(comm->ops->sized_create(comm, &none, &sized));
  SL_TRY(comm->ops->sized_begin(sized, &nothing, comm->queue));
  SL_TRY(comm->ops->sized_end(sized, NULL, comm->queue));
  comm->ops->sized_destroy(sized);
  comm->ops->sized_destroy(NULL);
  return SLEY_OK;
}

static void wrong_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  if (c->ranks > 1)
    assert_case_ok(c, run_case(c, wrong_main, NULL));
  assert_int_equal(sl_memory_now(), before);
}

static void test_wrong_lists(void **state) {
  (void)state;
  each_case(wrong_body);
}

static sley_status order_main(sl_comm *comm, void *arg) {
  const bool *begin_twice = arg;
  sl_sized_spec none = {.name = "none"};
  sl_sized_round nothing = {0};
  sl_sized *sized;
  SL_TRY(comm->ops->sized_create(comm, &none, &sized));
  sley_status status = SLEY_OK;
  for (int i = 0; i <= *begin_twice && status == SLEY_OK; i++)
    status = comm->ops->sized_begin(sized, &nothing, comm->queue);
  for (int i = *begin_twice; i < 2 && status == SLEY_OK; i++)
    status = comm->ops->sized_end(sized, NULL, comm->queue);
  comm->ops->sized_destroy(sized);
  return status;
}

static void order_body(const rank_case *c) {
  for (int begin_twice = 0; begin_twice < 2; begin_twice++) {
    bool flag = begin_twice;
    assert_int_equal(run_case(c, order_main, &flag), SLEY_ERR_ARG);
    assert_non_null(strstr(sley_last_error(), begin_twice ? "begun again" : "was not begun"));
  }
}

static void test_rounds_out_of_order(void **state) {
  (void)state;
  each_case(order_body);
}

static void allocation_body(const rank_case *c) {
  if (c->ranks > (strcmp(c->transport, "threads") == 0 ? 4 : 2)) /* processes take longer to start */
    return;
  int64_t before = sl_memory_now();
  failure f = {.c = c, .rank = -1, .where = NEVER};
  sl_memory_fail_at(0);
  assert_case_ok(c, run_case(c, failing_main, &f));
  int64_t allocations = most_seen(sl_memory_count());
  for (int64_t n = 1 + (int64_t)test_first((uint64_t)allocations); n <= allocations;
       n += (int64_t)test_share()) {
    sl_memory_fail_at(n);
    sley_status status = run_case(c, failing_main, &f);
    if (status != SLEY_ERR_MEMORY && status != SLEY_OK)
      fail_msg("allocation %lld: %s: %s", (long long)n, sley_status_name(status), sley_last_error());
    assert_int_equal(sl_memory_now(), before);
  }
  sl_memory_fail_at(0);
}

static void test_every_allocation_fails_once(void **state) {
  (void)state;
  each_case(allocation_body);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_lengths),
      cmocka_unit_test(test_failure_reaches_all),
      cmocka_unit_test(test_wrong_lists),
      cmocka_unit_test(test_rounds_out_of_order),
      cmocka_unit_test(test_every_allocation_fails_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
