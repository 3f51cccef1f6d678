/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that every transport provides collectives and symmetric memory as promised. */
#include "base/memory.h"
#include "base/random.h"
#include "mirror.h"
#include "ranks.h"

static int64_t size_of(uint64_t seed, int from, int to) {
  uint64_t bits = sl_random(seed, (uint64_t)from, (uint64_t)to);
  return bits % 4 == 0 ? 0 : sl_below(bits, 300);
}

static char byte_of(uint64_t seed, int from, int to, int64_t i) {
  return (char)sl_random(seed + 1, (uint64_t)(from * 64 + to), (uint64_t)i);
}

/* -------------------------------------------------------------------------------------------------
 * collectives */

static sley_status gather_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  static const int64_t sizes[] = {0, 1, 7, 8, 4096};
  char mine[4096], *all = sl_alloc(comm->size, 4096, "test");
  EXPECT(all);
  sley_status status = SLEY_OK;
  for (size_t s = 0; s < 5 && status == SLEY_OK; s++) {
    for (int64_t i = 0; i < sizes[s]; i++)
      mine[i] = byte_of(c->seed, comm->rank, 0, i);
    memset(all, 0x55, (size_t)comm->size * 4096);
    status = comm->ops->allgather(comm, mine, sizes[s], all);
    for (int r = 0; r < comm->size && status == SLEY_OK; r++)
      for (int64_t i = 0; i < sizes[s]; i++)
        if (all[r * sizes[s] + i] != byte_of(c->seed, r, 0, i))
          status = sl_fail(SLEY_ERR_INTERNAL, "allgather: byte %lld of rank %d", (long long)i, r);
    if (status == SLEY_OK && sizes[s] < 4096 && all[comm->size * sizes[s]] != 0x55)
      status = sl_fail(SLEY_ERR_INTERNAL, "allgather wrote beyond its end");
  }
  sl_free(all);
  return status;
}

static void allgather_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, gather_main, (void *)(uintptr_t)c));
}

static void test_allgather(void **state) {
  (void)state;
  each_case(allgather_body);
}

enum { MOST = 300, RANKS = 8 };

static sley_status alltoallv_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  char send[RANKS * MOST], recv[RANKS * MOST];
  int64_t send_at[RANKS], send_bytes[RANKS], recv_at[RANKS], recv_bytes[RANKS];
  for (uint64_t round = 0; round < 5; round++) {
    uint64_t seed = c->seed * 10 + round;
    memset(recv, 0x55, sizeof recv);
    for (int p = 0; p < comm->size; p++) {
      send_at[p] = p * MOST;
      send_bytes[p] = size_of(seed, comm->rank, p);
      recv_at[p] = (comm->size - 1 - p) * MOST;
      recv_bytes[p] = size_of(seed, p, comm->rank);
      for (int64_t i = 0; i < send_bytes[p]; i++)
        send[send_at[p] + i] = byte_of(seed, comm->rank, p, i);
    }
    SL_TRY(comm->ops->alltoallv(comm, send, send_at, send_bytes, recv, recv_at, recv_bytes));
    for (int p = 0; p < comm->size; p++)
      for (int64_t i = 0; i < MOST; i++)
        EXPECT(recv[recv_at[p] + i] == (i < recv_bytes[p] ? byte_of(seed, p, comm->rank, i) : 0x55));
  }
  return SLEY_OK;
}

static void alltoallv_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, alltoallv_main, (void *)(uintptr_t)c));
}

static void test_alltoallv(void **state) {
  (void)state;
  each_case(alltoallv_body);
}

static sley_status allreduce_main(sl_comm *comm, void *arg) {
  (void)arg;
  static const int counts[] = {0, 1, 3, 64, 65, 200};
  int64_t values[200];
  for (int op = SL_SUM; op <= SL_MAX; op++)
    for (size_t n = 0; n < 6; n++) {
      for (int i = 0; i < counts[n]; i++)
        values[i] = (comm->rank - 2) * (i + 1);
      SL_TRY(comm->ops->allreduce(comm, (sl_reduce)op, values, counts[n]));
      for (int i = 0; i < counts[n]; i++) {
        int64_t last = comm->size - 3, sum = 0;
        for (int r = 0; r < comm->size; r++)
          sum += r - 2;
        EXPECT(values[i] == (op == SL_SUM ? sum : op == SL_MIN ? -2 : last) * (i + 1));
      }
    }
  values[0] = INT64_MAX;
  sley_status status = comm->ops->allreduce(comm, SL_SUM, values, 1);
  EXPECT(status == (comm->size > 1 ? SLEY_ERR_OVERFLOW : SLEY_OK));
  return SLEY_OK;
}

static void allreduce_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, allreduce_main, NULL));
}

static void test_allreduce(void **state) {
  (void)state;
  each_case(allreduce_body);
}

/* Wrong arguments are reported to the ranks that they concern; the other ranks learn of the failure, and
 * the comm stays usable. */
static sley_status disagree_main(sl_comm *comm, void *arg) {
  (void)arg;
  int last = comm->size - 1;
  char bytes[RANKS * 8], all[RANKS * 16];
  memset(bytes, 1, sizeof bytes);
  EXPECT(comm->ops->allgather(comm, bytes, comm->rank == last ? 8 : 7, all) == SLEY_ERR_ARG);
  int64_t value = comm->rank;
  EXPECT(comm->ops->allreduce(comm, comm->rank == last ? SL_MIN : SL_MAX, &value, 1) == SLEY_ERR_ARG);
  EXPECT(value == comm->rank);

  int64_t at[RANKS], sent[RANKS], taken[RANKS];
  for (int p = 0; p < comm->size; p++) {
    at[p] = p * 8;
    sent[p] = taken[p] = 4;
  }
  if (comm->rank == 0)
    sent[last] = 5;
  sley_status status = comm->ops->alltoallv(comm, bytes, at, sent, all, at, taken);
  bool concerned = comm->rank == 0 || comm->rank == last;
  EXPECT(status == (concerned ? SLEY_ERR_ARG : SLEY_ERR_PEER));
  EXPECT(strstr(sley_last_error(), "rank 0 sends 5 bytes") != NULL);

  EXPECT((comm->rank == 0 ? comm->ops->barrier(comm) : comm->ops->allgather(comm, bytes, 1, all)) ==
         SLEY_ERR_ARG);
  EXPECT(comm->ops->allgather(comm, bytes, -1, all) == SLEY_ERR_ARG);
  return comm->ops->barrier(comm);
}

static void disagree_body(const rank_case *c) {
  if (c->ranks > 1)
    assert_case_ok(c, run_case(c, disagree_main, NULL));
}

static void test_disagreement(void **state) {
  (void)state;
  each_case(disagree_body);
}

static sley_status agree_main(sl_comm *comm, void *arg) {
  (void)arg;
  for (int mask = 0; mask < 1 << (comm->size < 5 ? comm->size : 5); mask++) {
    bool fails = (mask >> comm->rank) & 1;
    int first = 0;
    while (mask && !((mask >> first) & 1))
      first++;
    sley_status mine = fails ? sl_fail(SLEY_ERR_IO, "disk %d is full", comm->rank) : SLEY_OK;
    sley_status status = sl_agree(comm, mine);
    char expected[64];
    snprintf(expected, sizeof expected, fails ? "disk %d is full" : "rank %d failed: disk %d is full",
             fails ? comm->rank : first, first);
    EXPECT(status == (!mask ? SLEY_OK : fails ? SLEY_ERR_IO : SLEY_ERR_PEER));
    EXPECT(!mask || strcmp(sley_last_error(), expected) == 0);
  }
  return SLEY_OK;
}

static void agree_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, agree_main, NULL));
}

static void test_agree(void **state) {
  (void)state;
  each_case(agree_body);
}

/* Compares numbers over the ranks, of which at most one differs, on the last rank. */
static sley_status same_main(sl_comm *comm, void *arg) {
  enum { COUNT = 40 };
  static const int counts[] = {1, 16, 17, COUNT};
  const char *names[COUNT];
  char text[COUNT][8], expected[96];
  int64_t numbers[COUNT];
  (void)arg;
  for (int i = 0; i < COUNT; i++) {
    snprintf(text[i], sizeof text[i], "n%d", i);
    names[i] = text[i];
  }
  for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
    for (int odd = -1; odd < counts[n]; odd += counts[n]) { /* none differs; the last one differs */
      for (int i = 0; i < counts[n]; i++)
        numbers[i] = INT64_MIN + i + (i == odd && comm->rank == comm->size - 1);
      const sley_status status = sl_agree_same(comm, "call", names, numbers, counts[n]);
      snprintf(expected, sizeof expected, "call: the ranks were given different values of: n%d", odd);
      EXPECT(status == (odd < 0 || comm->size == 1 ? SLEY_OK : SLEY_ERR_ARG));
      EXPECT(status == SLEY_OK || strcmp(sley_last_error(), expected) == 0);
    }
  return SLEY_OK;
}

static void same_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, same_main, NULL));
}

static void test_same(void **state) {
  (void)state;
  each_case(same_body);
}

static sley_status items_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  enum { ITEM = 12 };
  int64_t send_count[RANKS], recv_count[RANKS], at = 0;
  char send[RANKS * MOST * ITEM];
  for (int p = 0; p < comm->size; p++) {
    send_count[p] = size_of(c->seed, comm->rank, p);
    for (int64_t i = 0; i < send_count[p] * ITEM; i++)
      send[at++] = byte_of(c->seed, comm->rank, p, i);
  }
  char *recv;
  SL_TRY(sl_exchange_items(comm, ITEM, send, send_count, (void **)&recv, recv_count));
  sley_status status = SLEY_OK;
  at = 0;
  for (int p = 0; p < comm->size && status == SLEY_OK; p++) {
    if (recv_count[p] != size_of(c->seed, p, comm->rank))
      status = sl_fail(SLEY_ERR_INTERNAL, "%lld items from rank %d", (long long)recv_count[p], p);
    for (int64_t i = 0; i < recv_count[p] * ITEM && status == SLEY_OK; i++)
      if (recv[at++] != byte_of(c->seed, p, comm->rank, i))
        status = sl_fail(SLEY_ERR_INTERNAL, "wrong byte %lld from rank %d", (long long)i, p);
  }
  sl_free(recv);
  SL_TRY(status);
  /* A size that overflows on one rank is an error on all. */
  send_count[0] = comm->rank == 0 ? INT64_MAX : 0;
  status = sl_exchange_items(comm, ITEM, send, send_count, (void **)&recv, recv_count);
  EXPECT(status == (comm->rank == 0 ? SLEY_ERR_OVERFLOW : SLEY_ERR_PEER) && !recv);
  return SLEY_OK;
}

static void items_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, items_main, (void *)(uintptr_t)c));
}

static void test_exchange_items(void **state) {
  (void)state;
  each_case(items_body);
}

/* -------------------------------------------------------------------------------------------- symmetric
 * memory */

static int64_t bytes_at(int rank) {
  return 64 + 8 * rank;
}

static sley_status check_counters(sl_comm *comm, const sl_counters *expected) {
  sl_counters counted;
  SL_TRY(check_counted(comm, expected));
  comm->ops->counters_reset(comm);
  comm->ops->counters(comm, &counted);
  EXPECT(counted.bytes[SL_LINK_MESSAGE] == 0 && counted.messages[SL_LINK_SELF] == 0);
  return SLEY_OK;
}

static sley_status put_and_get(sl_comm *comm, sl_symm *symm, uint64_t seed) {
  int size = comm->size, rank = comm->rank, next = (rank + 1) % size;
  sl_counters expected = {{0}, {0}};
  char text[128];
  /* Every rank writes the odd bytes of its next rank's memory, one by one. */
  for (int64_t i = 1; i < bytes_at(next); i += 2) {
    char byte = byte_of(seed, rank, next, i);
    SL_TRY(sl_put(symm, next, i, &byte, 1));
    expected.bytes[sl_link_to(comm, next)]++;
    expected.messages[sl_link_to(comm, next)]++;
  }
  SL_TRY(sl_flush_all(symm));
  SL_TRY(comm->ops->barrier(comm));
  for (int p = 0; p < size; p++) {
    int64_t first = p % 4, bytes = bytes_at(p) - first;
    int writer = (p + size - 1) % size;
    SL_TRY(sl_get(symm, p, first, text, bytes));
    expected.bytes[sl_link_to(comm, p)] += bytes;
    expected.messages[sl_link_to(comm, p)]++;
    char *peer = sl_peer_ptr(symm, p);
    EXPECT(!peer || sl_link_to(comm, p) != SL_LINK_MESSAGE);
    EXPECT(peer || sl_link_to(comm, p) == SL_LINK_MESSAGE || !test_on_cpu());
    char seen[128];
    if (peer)
      SL_TRY(sley_comm_copy(comm, seen, peer + first, bytes, SLEY_TO_HOST));
    for (int64_t i = 0; i < bytes; i++) {
      EXPECT(text[i] == ((first + i) % 2 ? byte_of(seed, writer, p, first + i) : 0));
      EXPECT(!peer || seen[i] == text[i]);
    }
    SL_TRY(sl_get(symm, p, bytes_at(p), text, 0));
  }
  return check_counters(comm, &expected);
}

/* All ranks draw numbers from a counter; each number appears once. */
static sley_status draw_numbers(sl_comm *comm, sl_symm *symm) {
  enum { DRAWS = 200 };
  int64_t zero = 0, sum = 0, old, end;
  int target = comm->size - 1;
  SL_TRY(comm->ops->barrier(comm));
  if (comm->rank == target)
    SL_TRY(sl_put(symm, target, 8, &zero, 8));
  SL_TRY(comm->ops->barrier(comm));
  for (int i = 0; i < DRAWS; i++) {
    SL_TRY(sl_fetch_add(symm, target, 8, 3, &old));
    EXPECT(old % 3 == 0);
    sum += old / 3;
  }
  SL_TRY(sl_flush_all(symm));
  SL_TRY(comm->ops->barrier(comm));
  SL_TRY(sl_get(symm, target, 8, &end, 8));
  int64_t drawn = (int64_t)comm->size * DRAWS;
  EXPECT(end == 3 * drawn);
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, &sum, 1));
  EXPECT(sum == drawn * (drawn - 1) / 2);
  return SLEY_OK;
}

static sley_status refuse_bounds(sl_comm *comm, sl_symm *symm) {
  int last = comm->size - 1;
  int64_t end = bytes_at(last), old;
  char bytes[16] = {0};
  EXPECT(sl_get(symm, last, end - 4, bytes, 5) == SLEY_ERR_ARG);
  EXPECT(sl_get(symm, last, -1, bytes, 1) == SLEY_ERR_ARG);
  EXPECT(sl_get(symm, last, INT64_MAX, bytes, 2) == SLEY_ERR_ARG);
  EXPECT(sl_get(symm, last, 0, bytes, -1) == SLEY_ERR_ARG);
  EXPECT(sl_get(symm, comm->size, 0, bytes, 1) == SLEY_ERR_ARG);
  EXPECT(sl_put(symm, -1, 0, bytes, 1) == SLEY_ERR_ARG);
  EXPECT(sl_put(symm, last, end, bytes, 1) == SLEY_ERR_ARG);
  EXPECT(sl_fetch_add(symm, last, 4, 1, &old) == SLEY_ERR_ARG);
  EXPECT(sl_fetch_add(symm, last, end, 1, &old) == SLEY_ERR_ARG);
  EXPECT(sl_peer_ptr(symm, -1) == NULL && sl_peer_ptr(symm, comm->size) == NULL);
  return SLEY_OK;
}

/* Gets several rows of every rank's memory in one call: a random list, more rows than one request holds, and
 * none. */
static sley_status get_rows(sl_comm *comm, sl_symm *symm, uint64_t seed) {
  enum { ROWS = 40, LONG = 5000 };
  int64_t row_bytes = 1 + (int64_t)(sl_random(seed, 11, 0) % 24);
  char own[ROWS * 24], *dst = NULL;
  int64_t *rows = NULL, most = (int64_t)comm->size * LONG, at = 0;
  int64_t many = comm->device->ops->host_addresses ? LONG : 300; /* devices: one row per request */
  sl_row_list list[64];
  sl_counters expected = {{0}, {0}};
  for (int64_t i = 0; i < ROWS * row_bytes; i++)
    own[i] = byte_of(seed, comm->rank, 7, i);
  SL_TRY(sl_put(symm, comm->rank, 0, own, ROWS * row_bytes));
  SL_TRY(comm->ops->barrier(comm));
  comm->ops->counters_reset(comm);
  dst = sl_alloc(most, (size_t)row_bytes, "test");
  rows = sl_alloc(most, sizeof *rows, "test");
  sley_status status = sl_agree(comm, dst && rows ? SLEY_OK : SLEY_ERR_MEMORY);
  int lists = 0;
  for (int p = 0; p < comm->size && status == SLEY_OK; p++) {
    uint64_t bits = sl_random(seed, 12, (uint64_t)(comm->rank * comm->size + p));
    int64_t count = bits % 3 == 0   ? 0
                    : bits % 3 == 1 ? many - (int64_t)(bits / 3 % 100)
                                    : (int64_t)(bits / 3 % 50);
    for (int64_t i = 0; i < count; i++)
      rows[at + i] = sl_below(sl_random(seed, 13 + bits, (uint64_t)i), ROWS);
    list[lists++] =
        (sl_row_list){.peer = p, .count = count, .rows = rows + at, .first = at, .bytes = row_bytes};
    expected.bytes[sl_link_to(comm, p)] += count * row_bytes;
    /* Rows in host memory of other processes are requested 2048 at a time. */
    bool asked = comm->processes && comm->device->ops->host_addresses && sl_link_to(comm, p) == SL_LINK_MESSAGE;
    expected.messages[sl_link_to(comm, p)] += asked ? (count + 2047) / 2048 : count;
    at += count;
  }
  if (status == SLEY_OK)
    status = sl_get_rows(symm, lists, list, dst);
  for (int i = 0; i < lists && status == SLEY_OK; i++)
    for (int64_t b = 0; b < list[i].count * row_bytes && status == SLEY_OK; b++)
      if (dst[list[i].first * row_bytes + b] !=
          byte_of(seed, list[i].peer, 7, list[i].rows[b / row_bytes] * row_bytes + b % row_bytes))
        status = sl_fail(SLEY_ERR_INTERNAL, "byte %lld of the rows of rank %d is wrong", (long long)b,
                         list[i].peer);
  if (status == SLEY_OK)
    status = check_counters(comm, &expected);
  if (status == SLEY_OK) {
    const int64_t outside[] = {-1, INT64_MAX / 32};
    for (int i = 0; i < 2 && status == SLEY_OK; i++) {
      sl_row_list wrong = {.peer = comm->size - 1, .count = 1, .rows = &outside[i], .bytes = row_bytes};
      if (sl_get_rows(symm, 1, &wrong, dst) != SLEY_ERR_ARG)
        status = sl_fail(SLEY_ERR_INTERNAL, "row %lld was not refused", (long long)outside[i]);
    }
  }
  sl_free(rows);
  sl_free(dst);
  return status;
}

static sley_status rows_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  sl_symm *symm;
  if (!test_one_sided(comm))
    return SLEY_OK;
  SL_TRY(sl_symm_alloc(comm, 40 * 24, &symm));
  sley_status status = get_rows(comm, symm, c->seed);
  if (status == SLEY_OK)
    status = comm->ops->barrier(comm);
  sl_symm_free(symm);
  return status;
}

static void rows_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, rows_main, (void *)(uintptr_t)c));
}

static void test_rows(void **state) {
  (void)state;
  each_case(rows_body);
}

static sley_status symm_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  sl_symm *symm, *empty, *refused;
  if (!test_one_sided(comm))
    return SLEY_OK;
  SL_TRY(sl_symm_alloc(comm, 0, &empty));
  sley_status status = sl_symm_alloc(comm, bytes_at(comm->rank), &symm);
  if (status == SLEY_OK) {
    char own[128];
    status = sley_comm_copy(comm, own, sl_peer_ptr(symm, comm->rank), bytes_at(comm->rank), SLEY_TO_HOST);
    for (int64_t i = 0; i < bytes_at(comm->rank) && status == SLEY_OK; i++)
      if (own[i] != 0)
        status = sl_fail(SLEY_ERR_INTERNAL, "symmetric memory is not zeroed");
  }
  if (status == SLEY_OK)
    status = comm->ops->barrier(comm);
  if (status == SLEY_OK)
    status = put_and_get(comm, symm, c->seed);
  if (status == SLEY_OK)
    status = draw_numbers(comm, symm);
  if (status == SLEY_OK)
    status = refuse_bounds(comm, symm);
  sl_symm_free(symm);
  sl_symm_free(empty);
  SL_TRY(status);
  status = sl_symm_alloc(comm, comm->rank == comm->size / 2 ? -1 : 8, &refused);
  EXPECT(status == (comm->rank == comm->size / 2 ? SLEY_ERR_ARG : SLEY_ERR_PEER));
  return SLEY_OK;
}

static void symm_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, symm_main, (void *)(uintptr_t)c));
}

static void test_symmetric_memory(void **state) {
  (void)state;
  each_case(symm_body);
}

/* After a barrier, every rank sees the data that others stored before it. */
static sley_status barrier_main(sl_comm *comm, void *arg) {
  (void)arg;
  sl_symm *symm;
  if (!test_one_sided(comm))
    return comm->ops->barrier(comm);
  SL_TRY(sl_symm_alloc(comm, 8, &symm));
  sley_status status = SLEY_OK;
  for (int64_t round = 1; round <= 50 && status == SLEY_OK; round++) {
    int64_t seen;
    status = sl_put(symm, comm->rank, 0, &round, 8);
    if (status == SLEY_OK)
      status = comm->ops->barrier(comm);
    for (int p = 0; p < comm->size && status == SLEY_OK; p++) {
      status = sl_get(symm, p, 0, &seen, 8);
      if (status == SLEY_OK && seen != round)
        status = sl_fail(SLEY_ERR_INTERNAL, "round %lld: rank %d is at %lld", (long long)round, p,
                         (long long)seen);
    }
    if (status == SLEY_OK)
      status = comm->ops->barrier(comm);
  }
  sl_symm_free(symm);
  return status;
}

static void barrier_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, barrier_main, NULL));
}

static void test_barrier(void **state) {
  (void)state;
  each_case(barrier_body);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_allgather),
      cmocka_unit_test(test_alltoallv),
      cmocka_unit_test(test_allreduce),
      cmocka_unit_test(test_disagreement),
      cmocka_unit_test(test_agree),
      cmocka_unit_test(test_same),
      cmocka_unit_test(test_exchange_items),
      cmocka_unit_test(test_barrier),
      cmocka_unit_test(test_symmetric_memory),
      cmocka_unit_test(test_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
