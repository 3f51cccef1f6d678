/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that every transport provides one-sided memory as promised, depending on the capabilities of its
 * comm. */
#include "base/memory.h"
#include "base/random.h"
#include "mirror.h"
#include "ranks.h"

enum { RANKS = 8, HANDLES = 64, WORD = sizeof(int64_t) };

static bool has(const sl_comm *comm, unsigned wanted) {
  return (comm->one_sided & wanted) == wanted;
}

/* ---- many handles */

/* Bytes of the segment that rank `from` alone writes in the block of rank `at`. Lengths are not multiples of
 * anything; one is longer than a request may bring from device memory. */
static int64_t segment_bytes(uint64_t seed, int at, int from, int size) {
  uint64_t bits = sl_random(seed, (uint64_t)at, (uint64_t)from);
  if (from == (at + 1) % size)
    return 150001 + (int64_t)(bits % 100000);
  return bits % 5 == 0 ? 0 : (int64_t)(bits % 5000);
}

static int64_t segment_begin(uint64_t seed, int at, int from, int size) {
  int64_t begin = 0;
  for (int p = 0; p < from; p++)
    begin += segment_bytes(seed, at, p, size);
  return begin;
}

static char byte_of(uint64_t seed, int at, int64_t i) {
  return (char)((uint64_t)i * 131 + (uint64_t)(i >> 8) * 7 + (uint64_t)at * 29 + seed);
}

/* Handles in flight, which are completed in any order. */
typedef struct flight {
  sl_rma rma[HANDLES];
  bool used[HANDLES];
  uint64_t draws;
} flight;

/* Returns a free handle, sometimes after completing the operation that used it. */
static sley_status free_handle(flight *f, uint64_t seed, sl_rma **out) {
  uint64_t bits = sl_random(seed, 77, f->draws++);
  int i = (int)(bits % HANDLES);
  if (f->used[i])
    SL_TRY(sl_rma_wait(&f->rma[i]));
  f->used[i] = true;
  *out = &f->rma[i];
  return SLEY_OK;
}

static sley_status land(flight *f) {
  for (int i = HANDLES - 1; i >= 0; i--)
    if (f->used[i]) {
      f->used[i] = false;
      SL_TRY(sl_rma_wait(&f->rma[i]));
    }
  return SLEY_OK;
}

/* Divides bytes 0 .. bytes - 1 into random pieces in ascending order, most of them short. Returns the length
 * of the next one. */
static int64_t piece_of(uint64_t seed, int which, int64_t at, int64_t bytes) {
  uint64_t bits = sl_random(seed, 1000 + (uint64_t)which, (uint64_t)at);
  int64_t most = bits % 7 == 0 ? bytes : bits % 3 == 0 ? 8 : bytes / 5 + 1, left = bytes - at;
  int64_t piece = 1 + (int64_t)(bits / 64 % (uint64_t)(most > 0 ? most : 1));
  return piece < left ? piece : left;
}

static void tally(sl_comm *comm, sl_counters *expected, int rank, int64_t bytes) {
  expected->bytes[sl_link_to(comm, rank)] += bytes;
  expected->messages[sl_link_to(comm, rank)] += bytes > 0;
}

static sley_status put_segments(sl_comm *comm, sl_symm *symm, uint64_t seed, flight *f, const char *here,
                                int64_t row, sl_counters *expected) {
  int size = comm->size;
  for (int n = 0; n < size; n++) {
    int to = (comm->rank + n) % size;
    int64_t begin = segment_begin(seed, to, comm->rank, size);
    int64_t bytes = segment_bytes(seed, to, comm->rank, size);
    for (int64_t at = 0, piece; at < bytes; at += piece) {
      sl_rma *rma;
      piece = piece_of(seed, to, at, bytes);
      SL_TRY(free_handle(f, seed, &rma));
      SL_TRY(sl_put_begin(symm, to, begin + at, here + (int64_t)to * row + at, piece, rma));
      tally(comm, expected, to, piece);
    }
  }
  return SLEY_OK;
}

static sley_status get_blocks(sl_comm *comm, sl_symm *symm, uint64_t seed, flight *f, char *here, int64_t row,
                              sl_counters *expected) {
  for (int n = 0; n < comm->size; n++) {
    int from = (comm->rank + 1 + n) % comm->size;
    int64_t bytes = segment_begin(seed, from, comm->size, comm->size);
    sl_rma *rma;
    for (int64_t at = 0, piece; at < bytes; at += piece) {
      piece = piece_of(seed + 1, from, at, bytes);
      SL_TRY(free_handle(f, seed, &rma));
      SL_TRY(sl_get_begin(symm, from, at, here + (int64_t)from * row + at, piece, rma));
      tally(comm, expected, from, piece);
    }
    SL_TRY(free_handle(f, seed, &rma));
    SL_TRY(sl_get_begin(symm, from, bytes, here, 0, rma)); /* no bytes, at the end of the block */
  }
  return SLEY_OK;
}

static sley_status check_counters(sl_comm *comm, const sl_counters *expected) {
  sl_counters counted;
  comm->ops->counters(comm, &counted);
  for (int link = 0; link < SL_LINK_COUNT; link++) {
    EXPECT(counted.bytes[link] == expected->bytes[link]);
    EXPECT(counted.messages[link] == expected->messages[link]);
  }
  return SLEY_OK;
}

/* Every rank writes its segment of every block, and reads all blocks, from and to host memory or device
 * memory. */
static sley_status handles_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  uint64_t seed = c->seed;
  int size = comm->size, rank = comm->rank;
  if (!has(comm, SL_ONE_SIDED_GET))
    return SLEY_OK;
  int64_t row = 0;
  for (int p = 0; p < size; p++) {
    int64_t bytes = segment_begin(seed, p, size, size);
    row = bytes > row ? bytes : row;
  }
  sl_symm *symm = NULL;
  flight *f = NULL;
  char *host = NULL;
  mirror there = {0};
  sl_counters expected = {{0}, {0}};
  sley_status status;
  TRY(sl_symm_alloc(comm, segment_begin(seed, rank, size, size), &symm));
  f = sl_alloc_zero(1, sizeof *f, "test");
  host = sl_alloc_zero(size, (size_t)row, "test");
  TRY(sl_agree(comm, f && host ? SLEY_OK : SLEY_ERR_MEMORY));
  for (int p = 0; p < size; p++)
    for (int64_t i = 0; i < segment_bytes(seed, p, rank, size); i++)
      host[p * row + i] = byte_of(seed, p, segment_begin(seed, p, rank, size) + i);
  TRY(mirror_open(comm, host, size * row, &there));
  TRY(sl_rma_after(symm, comm->queue)); /* the queue to which the copy was given */
  bool from_host = seed % 2;
  char *here = from_host ? host : there.here;
  comm->ops->counters_reset(comm);
  TRY(put_segments(comm, symm, seed, f, here, row, &expected));
  if (seed % 3 == 0)
    TRY(sl_flush_all(symm)); /* before waiting for the handles */
  TRY(land(f));
  for (int p = 0; p < size && seed % 3 == 1; p++)
    TRY(sl_flush(symm, p));
  TRY(comm->ops->barrier(comm)); /* also flushes */
  memset(host, 0x55, (size_t)(size * row));
  TRY(mirror_send(&there));
  TRY(sl_rma_after(symm, comm->queue));
  TRY(get_blocks(comm, symm, seed, f, here, row, &expected));
  TRY(land(f));
  TRY(check_counters(comm, &expected));
  if (!from_host)
    TRY(mirror_fetch(&there));
  for (int p = 0; p < size; p++)
    for (int64_t i = 0; i < segment_begin(seed, p, size, size); i++)
      if (host[p * row + i] != byte_of(seed, p, i)) {
        status = sl_fail(SLEY_ERR_INTERNAL, "byte %lld of rank %d's block is wrong", (long long)i, p);
        goto done;
      }
  status = comm->ops->barrier(comm);
done:
  if (status != SLEY_OK) /* before memory in use is freed */
    comm->ops->abort(comm, status);
  mirror_close(&there);
  sl_symm_free(symm);
  sl_free(host);
  sl_free(f);
  return status;
}

static void handles_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, handles_main, (void *)(uintptr_t)c));
}

static void test_many_handles(void **state) {
  (void)state;
  each_case(handles_body);
}

/* ---- words */

enum { DRAWS = 20, TICKET = 8, LOCK = 16, GUARDED = 24, BLOCK = 1024 };

/* All ranks draw numbers from a counter on each rank, while gets are in flight; each number appears once. */
static sley_status draw_tickets(sl_comm *comm, sl_symm *symm) {
  int64_t drawn[RANKS * RANKS * DRAWS] = {0}, old;
  char bytes[64];
  int all = comm->size * DRAWS;
  for (int i = 0; i < DRAWS; i++)
    for (int n = 0; n < comm->size; n++) {
      int at = (comm->rank + n) % comm->size;
      sl_rma rma;
      SL_TRY(sl_get_begin(symm, at, GUARDED + WORD, bytes, sizeof bytes, &rma));
      sley_status status = sl_fetch_add(symm, at, TICKET, 1, &old);
      SL_TRY(sl_rma_wait(&rma));
      SL_TRY(status);
      EXPECT(old >= 0 && old < all);
      drawn[at * all + old]++;
    }
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, drawn, comm->size * all));
  for (int i = 0; i < comm->size * all; i++)
    EXPECT(drawn[i] == 1);
  SL_TRY(sl_fetch_add(symm, comm->rank, TICKET, -5, NULL)); /* the old value is not requested */
  SL_TRY(sl_fetch_add(symm, comm->rank, TICKET, INT64_MIN, &old));
  EXPECT(old == all - 5);
  SL_TRY(sl_fetch_add(symm, comm->rank, TICKET, 0, &old)); /* wraps around like unsigned numbers */
  EXPECT(old == (int64_t)((uint64_t)(all - 5) + (uint64_t)INT64_MIN));
  return SLEY_OK;
}

/* Two words that are not atomic are protected by a lock. */
static sley_status use_lock(sl_comm *comm, sl_symm *symm, int at, int rounds) {
  int64_t old, mine = comm->rank + 1, pair[2];
  for (int i = 0; i < rounds; i++) {
    do
      SL_TRY(sl_compare_swap(symm, at, LOCK, 0, mine, &old));
    while (old != 0);
    SL_TRY(sl_get(symm, at, GUARDED, pair, sizeof pair));
    EXPECT(pair[1] == 3 * pair[0]);
    pair[0] += mine;
    pair[1] = 3 * pair[0];
    SL_TRY(sl_put(symm, at, GUARDED, pair, sizeof pair));
    SL_TRY(sl_flush(symm, at));
    SL_TRY(sl_compare_swap(symm, at, LOCK, mine + 1, 0, &old)); /* fails: other value */
    EXPECT(old == mine);
    SL_TRY(sl_compare_swap(symm, at, LOCK, mine, 0, &old));
    EXPECT(old == mine);
  }
  return SLEY_OK;
}

static sley_status words_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  enum { ROUNDS = 5 };
  int64_t pair[2], at = (int64_t)(c->seed % (uint64_t)comm->size);
  sl_symm *symm = NULL;
  sley_status status;
  if (!has(comm, SL_ONE_SIDED_GET | SL_ONE_SIDED_ATOMICS))
    return SLEY_OK;
  TRY(sl_symm_alloc(comm, BLOCK, &symm));
  comm->ops->counters_reset(comm);
  TRY(draw_tickets(comm, symm));
  TRY(comm->ops->barrier(comm));
  TRY(use_lock(comm, symm, (int)at, ROUNDS));
  TRY(comm->ops->barrier(comm));
  TRY(sl_get(symm, (int)at, GUARDED, pair, sizeof pair));
  CHECK(pair[0] == ROUNDS * (int64_t)comm->size * (comm->size + 1) / 2);
  status = comm->ops->barrier(comm);
done:
  sl_symm_free(symm);
  return status;
}

static void words_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, words_main, (void *)(uintptr_t)c));
}

static void test_atomics(void **state) {
  (void)state;
  each_case(words_body);
}

/* ---- visibility */

enum { FLAG = 8, ACK = 16, DATA = 64, LENGTH = 201, STEPS = 6 };

static sley_status await_word(sl_symm *symm, int rank, int64_t offset, int64_t least) {
  int64_t seen = 0;
  while (seen < least)
    SL_TRY(sl_fetch_add(symm, rank, offset, 0, &seen));
  return SLEY_OK;
}

/* Puts to the next rank, a flush, and then a flag: a rank that sees the flag sees the data. */
static sley_status pass_on(sl_comm *comm, sl_symm *symm, uint64_t seed) {
  int next = (comm->rank + 1) % comm->size, before = (comm->rank + comm->size - 1) % comm->size;
  for (int64_t s = 1; s <= STEPS; s++) {
    char out[LENGTH], in[LENGTH];
    sl_rma rma[3];
    for (int64_t i = 0; i < LENGTH; i++)
      out[i] = byte_of(seed + (uint64_t)s, comm->rank, i);
    SL_TRY(await_word(symm, comm->rank, ACK, s - 1)); /* the next rank has read the previous data */
    for (int i = 0; i < 3; i++)
      SL_TRY(sl_put_begin(symm, next, DATA + i * (LENGTH / 3), out + i * (LENGTH / 3), LENGTH / 3, &rma[i]));
    for (int i = 0; i < 3; i++)
      SL_TRY(sl_rma_wait(&rma[i]));
    memset(out, 0, sizeof out); /* the puts are complete here */
    SL_TRY(sl_flush(symm, next));
    SL_TRY(sl_fetch_add(symm, next, FLAG, 1, NULL));
    SL_TRY(await_word(symm, comm->rank, FLAG, s));
    SL_TRY(sley_comm_copy(comm, in, (char *)sl_peer_ptr(symm, comm->rank) + DATA, LENGTH, SLEY_TO_HOST));
    SL_TRY(sley_comm_wait(comm));
    for (int64_t i = 0; i < LENGTH; i++)
      EXPECT(in[i] == byte_of(seed + (uint64_t)s, before, i));
    SL_TRY(sl_fetch_add(symm, before, ACK, 1, NULL));
  }
  return SLEY_OK;
}

/* Work that was given to the queue is done before a put that follows it. */
static sley_status put_after(sl_comm *comm, sl_symm *symm, uint64_t seed) {
  enum { BYTES = 700 };
  char from[BYTES], to[BYTES] = {0}, seen[BYTES];
  mirror pattern = {0}, made = {0};
  int next = (comm->rank + 1) % comm->size, before = (comm->rank + comm->size - 1) % comm->size;
  sl_rma rma;
  sley_status status;
  for (int64_t i = 0; i < BYTES; i++)
    from[i] = byte_of(seed + 99, comm->rank, i);
  TRY(mirror_open(comm, from, BYTES, &pattern));
  TRY(mirror_open(comm, to, BYTES, &made));
  TRY(comm->ops->barrier(comm));
  TRY(comm->queue->ops->copy(comm->queue, SL_COPY_WITHIN, made.here, pattern.here, BYTES));
  TRY(sl_rma_after(symm, comm->queue));
  TRY(sl_put_begin(symm, next, DATA, made.here, BYTES, &rma));
  TRY(sl_rma_wait(&rma));
  TRY(comm->ops->barrier(comm));
  TRY(sl_get(symm, comm->rank, DATA, seen, BYTES));
  for (int64_t i = 0; i < BYTES; i++)
    CHECK(seen[i] == byte_of(seed + 99, before, i));
done:
  if (status != SLEY_OK)
    comm->ops->abort(comm, status);
  mirror_close(&made);
  mirror_close(&pattern);
  return status;
}

static sley_status order_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  sl_symm *symm = NULL;
  sley_status status;
  if (!has(comm, SL_ONE_SIDED_GET | SL_ONE_SIDED_ATOMICS))
    return SLEY_OK;
  TRY(sl_symm_alloc(comm, BLOCK, &symm));
  TRY(pass_on(comm, symm, c->seed));
  TRY(comm->ops->barrier(comm));
  TRY(put_after(comm, symm, c->seed));
  status = comm->ops->barrier(comm);
done:
  sl_symm_free(symm);
  return status;
}

static void order_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, order_main, (void *)(uintptr_t)c));
}

static void test_order(void **state) {
  (void)state;
  each_case(order_body);
}

/* ---- an owner that computes */

enum { FINISHED = 48 };

/* Computes, without calling the comm, until a word in its own memory has a value. */
static sley_status compute(sl_comm *comm, int64_t *word, int64_t until) {
  int64_t seen = 0;
  while (seen < until)
    if (has(comm, SL_ONE_SIDED_DEVICE))
      SL_TRY(comm->queue->ops->copy(comm->queue, SL_COPY_TO_HOST, &seen, word, WORD));
    else
      seen = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  return SLEY_OK;
}

static sley_status passive_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  int owner = (int)(c->seed % (uint64_t)comm->size);
  char out[LENGTH], in[LENGTH];
  sl_symm *symm = NULL;
  sley_status status;
  if (!has(comm, SL_ONE_SIDED_GET | SL_ONE_SIDED_ATOMICS | SL_ONE_SIDED_PASSIVE))
    return SLEY_OK;
  TRY(sl_symm_alloc(comm, DATA + RANKS * LENGTH, &symm));
  int64_t at = DATA + (int64_t)comm->rank * LENGTH;
  TRY(comm->ops->barrier(comm));
  if (comm->rank == owner) {
    TRY(compute(comm, (int64_t *)(void *)((char *)sl_peer_ptr(symm, owner) + FINISHED), comm->size - 1));
  } else {
    for (int64_t i = 0; i < LENGTH; i++)
      out[i] = byte_of(c->seed, comm->rank, i);
    TRY(sl_put(symm, owner, at, out, LENGTH));
    TRY(sl_flush(symm, owner));
    TRY(sl_get(symm, owner, at, in, LENGTH));
    CHECK(memcmp(in, out, LENGTH) == 0);
    TRY(use_lock(comm, symm, owner, 2));
    TRY(sl_fetch_add(symm, owner, FINISHED, 1, NULL));
  }
  TRY(comm->ops->barrier(comm));
  int64_t others = comm->size * (int64_t)(comm->size + 1) / 2 - (owner + 1), pair[2];
  TRY(sl_get(symm, owner, GUARDED, pair, sizeof pair));
  CHECK(pair[0] == 2 * others);
  status = comm->ops->barrier(comm);
done:
  sl_symm_free(symm);
  return status;
}

static void passive_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, passive_main, (void *)(uintptr_t)c));
}

static void test_owner_that_computes(void **state) {
  (void)state;
  each_case(passive_body);
}

/* ---- refused arguments, and failure */

static sley_status refuse_main(sl_comm *comm, void *arg) {
  (void)arg;
  int last = comm->size - 1;
  int64_t end = 64 + 8 * last, old, told[2] = {(int64_t)comm->one_sided, -(int64_t)comm->one_sided};
  char bytes[16] = {0};
  sl_symm *symm = NULL;
  sl_rma rma;
  sley_status status;
  TRY(comm->ops->allreduce(comm, SL_MAX, told, 2));
  CHECK(told[0] == -told[1]); /* equal on all ranks */
  CHECK(has(comm, SL_ONE_SIDED_DEVICE) == !comm->device->ops->host_addresses);
  if (!has(comm, SL_ONE_SIDED_GET | SL_ONE_SIDED_ATOMICS))
    return SLEY_OK;
  TRY(sl_symm_alloc(comm, 64 + 8 * comm->rank, &symm));
  CHECK(sl_get_begin(symm, last, end - 4, bytes, 5, &rma) == SLEY_ERR_ARG);
  CHECK(sl_get_begin(symm, last, -1, bytes, 1, &rma) == SLEY_ERR_ARG);
  CHECK(sl_get_begin(symm, last, INT64_MAX, bytes, 2, &rma) == SLEY_ERR_ARG);
  CHECK(sl_get_begin(symm, last, 0, bytes, INT64_MAX, &rma) == SLEY_ERR_ARG);
  CHECK(sl_get_begin(symm, last, 0, bytes, -1, &rma) == SLEY_ERR_ARG);
  CHECK(sl_get_begin(symm, comm->size, 0, bytes, 1, &rma) == SLEY_ERR_ARG);
  CHECK(sl_put_begin(symm, -1, 0, bytes, 1, &rma) == SLEY_ERR_ARG);
  CHECK(sl_put_begin(symm, last, end, bytes, 1, &rma) == SLEY_ERR_ARG);
  CHECK(sl_put_begin(symm, last, end + 1, bytes, 0, &rma) == SLEY_ERR_ARG);
  CHECK(sl_fetch_add(symm, last, 4, 1, &old) == SLEY_ERR_ARG);
  CHECK(sl_fetch_add(symm, last, end, 1, &old) == SLEY_ERR_ARG);
  CHECK(sl_compare_swap(symm, last, 12, 0, 1, &old) == SLEY_ERR_ARG);
  CHECK(sl_compare_swap(symm, last, end, 0, 1, &old) == SLEY_ERR_ARG);
  CHECK(sl_compare_swap(symm, last, -8, 0, 1, &old) == SLEY_ERR_ARG);
  CHECK(sl_compare_swap(symm, comm->size, 0, 0, 1, &old) == SLEY_ERR_ARG);
  CHECK(sl_flush(symm, comm->size) == SLEY_ERR_ARG && sl_flush(symm, -2) == SLEY_ERR_ARG);
  /* Afterwards nothing has changed: nothing was written. */
  TRY(comm->ops->barrier(comm));
  TRY(sl_get(symm, last, end - 9, bytes, 9));
  for (int i = 0; i < 9; i++)
    CHECK(bytes[i] == 0);
  status = comm->ops->barrier(comm);
done:
  sl_symm_free(symm);
  return status;
}

static void refuse_body(const rank_case *c) {
  assert_case_ok(c, run_case(c, refuse_main, NULL));
}

static void test_bounds(void **state) {
  (void)state;
  each_case(refuse_body);
}

typedef struct failure {
  const rank_case *c;
  int rank;
  struct {
    sley_status status[RANKS];
    char message[RANKS][256];
  } seen;
} failure;

enum { FAR_BYTES = 200000 };

/* Starts operations of all kinds to all ranks, and waits for them. */
static sley_status work_on(sl_comm *comm, sl_symm *symm, char *host, int64_t step) {
  sl_rma rma[RANKS];
  bool begun[RANKS] = {false};
  sley_status status = SLEY_OK;
  int64_t old;
  for (int p = 0; p < comm->size && status == SLEY_OK; p++) {
    char *here = host + (int64_t)p * FAR_BYTES;
    int64_t at = 64 + (int64_t)comm->rank * FAR_BYTES;
    status = (step + p) % 2 ? sl_get_begin(symm, p, at, here, FAR_BYTES, &rma[p])
                            : sl_put_begin(symm, p, at, here, FAR_BYTES, &rma[p]);
    begun[p] = status == SLEY_OK;
  }
  if (status == SLEY_OK)
    status = sl_fetch_add(symm, (int)(step % comm->size), 0, 1, &old);
  if (status == SLEY_OK && step % 3 == 0)
    status = sl_flush_all(symm);
  for (int p = 0; p < comm->size; p++) {
    sley_status ended = SLEY_OK;
    if (begun[p])
      ended = sl_rma_wait(&rma[p]);
    status = status == SLEY_OK ? ended : status;
  }
  return status;
}

static sley_status failing_main(sl_comm *comm, void *arg) {
  failure *f = arg;
  sl_symm *symm = NULL;
  char *host = NULL;
  sley_status status = SLEY_OK;
  int64_t old = 1;
  if (!has(comm, SL_ONE_SIDED_GET | SL_ONE_SIDED_ATOMICS))
    return SLEY_OK;
  TRY(sl_symm_alloc(comm, 64 + comm->size * (int64_t)FAR_BYTES, &symm));
  host = sl_alloc_zero(comm->size, FAR_BYTES, "test");
  TRY(sl_agree(comm, host ? SLEY_OK : SLEY_ERR_MEMORY));
  if (comm->rank == f->rank) {
    for (int64_t step = 0; step < 3; step++)
      TRY(work_on(comm, symm, host, step));
    status = sl_fail(SLEY_ERR_IO, "disk on fire");
    comm->ops->abort(comm, status); /* before it frees memory that others read */
  }
  /* Another rank waits for a lock that is never released. */
  bool waits = comm->size > 1 && comm->rank == (f->rank + 1) % comm->size;
  if (waits)
    TRY(sl_fetch_add(symm, comm->rank, 8, 1, NULL));
  while (status == SLEY_OK && waits && old != 0)
    status = sl_compare_swap(symm, comm->rank, 8, 0, 1, &old);
  for (int64_t step = 0; status == SLEY_OK; step++)
    status = work_on(comm, symm, host, step);
done:
  f->seen.status[comm->rank] = status;
  snprintf(f->seen.message[comm->rank], sizeof f->seen.message[0], "%s", sley_last_error());
  sl_symm_free(symm);
  sl_free(host);
  return status;
}

static void failing_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  failure f = {.c = c, .rank = (int)sl_below(sl_random(c->seed, 5, 5), c->ranks)};
  sley_status status = run_case(c, failing_main, &f);
  char told[256];
  snprintf(told, sizeof told, "%s", sley_last_error());
  share_seen(f.seen.status, sizeof f.seen.status[0]);
  share_seen(f.seen.message, sizeof f.seen.message[0]);
  if (status == SLEY_OK) /* the comm has no one-sided access */
    return;
  assert_int_equal(status, SLEY_ERR_IO);
  assert_non_null(strstr(told, "disk on fire"));
  char message[128];
  snprintf(message, sizeof message, "rank %d failed: disk on fire", f.rank);
  for (int r = 0; r < c->ranks; r++)
    if (r != f.rank) {
      assert_int_equal(f.seen.status[r], SLEY_ERR_PEER);
      assert_string_equal(f.seen.message[r], message);
    }
  /* A call of MPI that waits for the failed rank may never return. It keeps its window and its thread. */
  const int64_t left = sl_memory_now() - before, window = 512;
  assert_true(left == 0 || (strcmp(c->transport, "mpi") == 0 && left > 0 && left <= window));
}

static void test_rank_that_fails(void **state) {
  (void)state;
  each_case(failing_body);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_many_handles), cmocka_unit_test(test_atomics),
      cmocka_unit_test(test_order),        cmocka_unit_test(test_owner_that_computes),
      cmocka_unit_test(test_bounds),       cmocka_unit_test(test_rank_that_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
