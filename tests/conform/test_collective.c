/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse collectives: the bits of the dense ones, for every kind, type, format, length and share of zeros, on
 * every transport; what is wrong; and peers that send what they must not. */
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "collective/leg.h"
#include "collective/sparse.h"
#include "dense_oracle.h"
#include "mirror.h"
#include "ranks.h"

enum { MOST_RANKS = 64, ROUNDS = 2, JOBS = 10, MARGIN = 3 };

/* A collective, the same on all ranks, and this rank's operands: src, and a result of each way, with margins
 * that must not change. */
typedef struct job {
  sl_sparse_spec spec;
  uint64_t seed;
  int64_t counts[MOST_RANKS], begin[MOST_RANKS + 1];
  bool in_place, signs; /* signs: zeros of either sign, and nothing else */
  int64_t each, src_values, dst_values, values;
  char *sparse, *dense; /* src_values + dst_values and three margins */
  int64_t src_at, dst_at;
  mirror there[2];
  sl_sparse *one;
  sl_dense *other;
} job;

static int64_t length(uint64_t bits) {
  static const int64_t lengths[] = {0, 1, 63, 64, 65, 4095, 4097, 9001, 20011};
  return bits % 4 ? lengths[bits / 4 % (sizeof lengths / sizeof *lengths)] : (int64_t)(bits / 4 % 20000);
}

static void draw_job(job *j, int size, uint64_t seed) {
  *j = (job){.seed = seed};
  sl_dense_spec *dense = &j->spec.dense;
  dense->kind = (sley_collective_kind)(sl_random(seed, 1, 0) % 3);
  dense->type = (sley_type)(sl_random(seed, 2, 0) % (dense->kind == SLEY_ALLGATHER ? 5 : 4));
  dense->count = length(sl_random(seed, 3, 0));
  j->spec.format = (sl_compressed_format)(sl_random(seed, 4, 0) % SL_COMPRESSED_FORMATS);
  j->in_place = sl_random(seed, 5, 0) % 2;
  j->signs = sl_random(seed, 6, 0) % 5 == 0;
  j->each = (int64_t)sley_type_bytes(dense->type);
  bool differ = dense->kind != SLEY_ALLREDUCE && sl_random(seed, 7, 0) % 2;
  for (int r = 0; r < size; r++) {
    j->counts[r] = differ ? length(sl_random(seed, 8, (uint64_t)r)) : dense->count;
    j->begin[r + 1] = j->begin[r] + j->counts[r];
  }
  if (differ)
    dense->counts = j->counts;
}

static void lay_out(job *j, int rank, int size) {
  int64_t all = j->begin[size];
  sley_collective_kind kind = j->spec.dense.kind;
  j->src_values = kind == SLEY_ALLREDUCE   ? j->spec.dense.count
                  : kind == SLEY_ALLGATHER ? j->counts[rank]
                                           : all;
  j->dst_values = kind == SLEY_ALLREDUCE   ? j->spec.dense.count
                  : kind == SLEY_ALLGATHER ? all
                                           : j->counts[rank];
  j->src_at = MARGIN;
  j->dst_at = j->src_at + j->src_values + MARGIN;
  j->values = j->dst_at + j->dst_values + MARGIN;
  if (!j->in_place)
    return;
  j->dst_at = MARGIN + (kind == SLEY_REDUCE_SCATTER ? j->begin[rank] : 0);
  j->src_at = MARGIN + (kind == SLEY_ALLGATHER ? j->begin[rank] : 0);
}

/* Zeros by a share that differs from rank to rank and round to round. */
static void fill(job *j, int rank, int round) {
  static const uint64_t shares[] = {0, 100, 500, 900, 950, 990, 999, 1000};
  uint64_t stream = (uint64_t)(rank * ROUNDS + round) + 100;
  uint64_t zeros = shares[sl_random(j->seed, stream, 1) % (sizeof shares / sizeof *shares)];
  for (int64_t i = 0; i < j->values; i++) {
    uint64_t bits = sl_random(j->seed, stream, (uint64_t)i + 2);
    oracle_draw(j->sparse, j->spec.dense.type, i, bits / 1000);
    if (j->signs || bits % 1000 < zeros)
      memset(j->sparse + i * j->each, 0, (size_t)j->each);
    if (j->signs && bits % 8 != 0)
      j->sparse[(i + 1) * j->each - 1] = (char)0x80; /* the sign */
  }
  memcpy(j->dense, j->sparse, (size_t)(j->values * j->each));
}

static sley_status open_job(sl_comm *comm, job *j, uint64_t seed) {
  draw_job(j, comm->size, seed);
  lay_out(j, comm->rank, comm->size);
  j->sparse = sl_alloc_zero(j->values, (size_t)j->each, "test");
  j->dense = sl_alloc_zero(j->values, (size_t)j->each, "test");
  EXPECT(j->sparse && j->dense);
  SL_TRY(mirror_open(comm, j->sparse, j->values * j->each, &j->there[0]));
  SL_TRY(mirror_open(comm, j->dense, j->values * j->each, &j->there[1]));
  SL_TRY(sl_sparse_create(comm, &j->spec, &j->one));
  return sl_dense_create(comm, &j->spec.dense, &j->other);
}

static void close_job(job *j) {
  sl_dense_destroy(j->other);
  sl_sparse_destroy(j->one);
  for (int i = 0; i < 2; i++)
    mirror_close(&j->there[i]);
  sl_free(j->dense);
  sl_free(j->sparse);
}

/* What has come is what the comm has counted; no array takes more than dense and a header. */
static sley_status check_report(sl_comm *comm, const job *j, const sl_counters *counted) {
  sl_sparse_report report;
  int64_t peers = comm->size - 1, most = (j->src_values + j->dst_values) * j->each * (peers + 1);
  sl_sparse_report_of(j->one, &report);
  EXPECT(report.received == counted->bytes[SL_LINK_DIRECT] + counted->bytes[SL_LINK_MESSAGE]);
  EXPECT(counted->bytes[SL_LINK_SELF] == 0);
  EXPECT(report.nonzeros >= 0 && report.nonzeros <= report.values && report.dense <= report.arrays);
  EXPECT(report.sent >= 0 && report.sent <= most + 2 * peers * (SL_COMPRESSED_HEADER + 8));
  EXPECT(peers > 0 || report.sent == 0);
  return SLEY_OK;
}

static sley_status run_job(sl_comm *comm, job *j, int round) {
  sl_counters counted;
  int64_t src_at = j->src_at * j->each, dst_at = j->dst_at * j->each;
  fill(j, comm->rank, round);
  for (int i = 0; i < 2; i++)
    SL_TRY(mirror_send(&j->there[i]));
  char *sparse = j->there[0].here, *dense = j->there[1].here;
  comm->ops->counters_reset(comm);
  SL_TRY(sl_sparse_run(j->one, sparse + src_at, sparse + dst_at, comm->queue));
  comm->ops->counters(comm, &counted);
  SL_TRY(check_report(comm, j, &counted));
  SL_TRY(sl_dense_run(j->other, dense + src_at, dense + dst_at, comm->queue));
  for (int i = 0; i < 2; i++)
    SL_TRY(mirror_fetch(&j->there[i]));
  for (int64_t i = 0; i < j->values; i++)
    if (memcmp(j->sparse + i * j->each, j->dense + i * j->each, (size_t)j->each) != 0)
      return sl_fail(
          SLEY_ERR_INTERNAL,
          "kind %d, type %d, format %d, count %lld%s: value %lld (result from %lld) differs in round %d",
          (int)j->spec.dense.kind, (int)j->spec.dense.type, (int)j->spec.format,
          (long long)j->spec.dense.count, j->in_place ? ", in place" : "", (long long)i, (long long)j->dst_at,
          round);
  return SLEY_OK;
}

static sley_status random_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  job *jobs = sl_alloc_zero(JOBS, sizeof *jobs, "test");
  EXPECT(jobs);
  sley_status status = SLEY_OK;
  for (int i = 0; i < JOBS && status == SLEY_OK; i++)
    status = open_job(comm, &jobs[i], c->seed * 100 + (uint64_t)i);
  for (int i = 0; i < JOBS * ROUNDS && status == SLEY_OK; i++)
    status = run_job(comm, &jobs[i % JOBS], i / JOBS);
  if (status != SLEY_OK)
    comm->ops->abort(comm, status);
  for (int i = 0; i < JOBS; i++)
    close_job(&jobs[i]);
  sl_free(jobs);
  return status;
}

static void random_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, random_main, (void *)(uintptr_t)c));
  assert_int_equal(sl_memory_now(), before);
}

static void test_bits_of_the_dense_ones(void **state) {
  (void)state;
  each_case(random_body);
}

/* Whole numbers, 99 % zeros: the sums by hand, and fewer bytes than dense by far. */
enum { WHOLE = 300000 };

static float whole(int rank, int64_t i) {
  uint64_t bits = sl_random(17, (uint64_t)rank, (uint64_t)i);
  return bits % 100 ? 0.0F : (float)(int)(bits / 100 % 2001) - 1000;
}

static sley_status whole_main(sl_comm *comm, void *arg) {
  (void)arg;
  float *values = sl_alloc(WHOLE, sizeof *values, "test");
  EXPECT(values);
  for (int64_t i = 0; i < WHOLE; i++)
    values[i] = whole(comm->rank, i);
  mirror there;
  SL_TRY(mirror_open(comm, values, WHOLE * (int64_t)sizeof *values, &there));
  sl_sparse_spec spec = {.dense = {.kind = SLEY_ALLREDUCE, .count = WHOLE}, .format = SL_COMPRESSED_PICI32};
  sl_sparse *sum;
  sl_sparse_report report;
  SL_TRY(sl_sparse_create(comm, &spec, &sum));
  SL_TRY(sl_sparse_run(sum, there.here, there.here, comm->queue));
  sl_sparse_report_of(sum, &report);
  sl_sparse_destroy(sum);
  SL_TRY(mirror_fetch(&there));
  for (int64_t i = 0; i < WHOLE; i++) {
    float expected = 0;
    for (int r = 0; r < comm->size; r++)
      expected += whole(r, i);
    EXPECT(values[i] == expected);
  }
  EXPECT(report.dense == 0);
  EXPECT(report.received <= 2 * WHOLE * (int64_t)sizeof *values / 5);
  mirror_close(&there);
  sl_free(values);
  return SLEY_OK;
}

/* What none may be given, and what all must be given alike: all get the same error, and the comm goes on. */
static sley_status wrong_main(sl_comm *comm, void *arg) {
  (void)arg;
  bool last = comm->rank == comm->size - 1;
  for (int wrong = 0; wrong < 5; wrong++) {
    sl_sparse_spec spec = {.dense = {.kind = SLEY_ALLREDUCE, .count = 3}};
    sley_status expected = SLEY_ERR_UNSUPPORTED;
    if (wrong == 0)
      spec.dense.op = SLEY_MAX;
    if (wrong == 1)
      spec.dense.type = SLEY_TYPE_I64;
    if (wrong >= 2)
      expected = SLEY_ERR_ARG;
    if (wrong == 2)
      spec.format = SL_COMPRESSED_FORMATS;
    if (wrong == 3 && last)
      spec.dense.count = -1;
    if (wrong == 4 && last)
      spec.format = SL_COMPRESSED_COO;
    if (wrong == 4 && comm->size == 1)
      expected = SLEY_OK;
    sl_sparse *made;
    EXPECT(sl_sparse_create(comm, &spec, &made) == expected);
    sl_sparse_destroy(made);
  }
  return sley_comm_barrier(comm);
}

/* The last rank sends what is no compressed array of so many values: its peers find out, and say whose it
 * was.
 */
enum { SENT = 5000, FAULTS = 6 };

static void spoil(sl_leg *leg, char *area, int fault) {
  sl_compressed_header *header = (sl_compressed_header *)area;
  header->magic ^= fault == 0;
  header->nonzeros += fault == 1 ? INT64_C(1) << 62 : 0;
  header->count -= fault == 2;
  if (fault == 5) /* no value is kept, and the message goes on */
    *header = (sl_compressed_header){.magic = SL_COMPRESSED_MAGIC,
                                     .version = SL_COMPRESSED_VERSION,
                                     .format = SL_COMPRESSED_COO,
                                     .count = SENT};
  for (int i = 0; i < leg->sends && (fault == 3 || fault == 4); i++)
    leg->send[i].bytes = fault == 3 ? 7 : leg->send[i].bytes - 8;
}

static sley_status run_spoilt(sl_comm *comm, sl_leg *leg, char *host, char *send, char *recv, int fault) {
  int64_t room = sl_leg_slot(SLEY_TYPE_F32, SENT);
  sl_compressed_header *header = (sl_compressed_header *)host;
  *header = (sl_compressed_header){.magic = SL_COMPRESSED_MAGIC,
                                   .version = SL_COMPRESSED_VERSION,
                                   .count = SENT,
                                   .nonzeros = 0,
                                   .payload_bytes = SENT * 4};
  SL_TRY(comm->queue->ops->copy(comm->queue, SL_COPY_TO_DEVICE, send, host, room));
  SL_TRY(sl_leg_measure(leg, send, comm->queue));
  if (comm->rank == comm->size - 1)
    spoil(leg, host, fault);
  SL_TRY(comm->queue->ops->copy(comm->queue, SL_COPY_TO_DEVICE, send, host, room));
  sley_status status = sl_leg_run(leg, send, recv, comm->queue);
  if (comm->rank == comm->size - 1)
    return status;
  EXPECT(status == SLEY_ERR_PEER && strstr(sley_last_error(), "compressed array"));
  return SLEY_OK;
}

static sley_status spoilt_main(sl_comm *comm, void *arg) {
  int64_t room = sl_leg_slot(SLEY_TYPE_F32, SENT), peers = comm->size - 1;
  sl_leg leg = {.name = "a test", .comm = comm, .type = SLEY_TYPE_F32};
  char *host = sl_alloc_zero(1, (size_t)room, "test");
  void *send, *recv;
  EXPECT(host);
  SL_TRY(comm->device->ops->alloc(comm->device, room, "test", &send));
  SL_TRY(comm->device->ops->alloc(comm->device, room * (peers + 1), "test", &recv));
  SL_TRY(sl_leg_begin(&leg, comm->size));
  for (int p = 0, at = 0; p < comm->size; p++) {
    if (p == comm->rank)
      continue;
    sl_leg_send(&leg, p, SENT, 0);
    sl_leg_recv(&leg, p, SENT, at++ * room);
  }
  SL_TRY(sl_leg_make(&leg));
  sley_status status = peers > 0 ? run_spoilt(comm, &leg, host, send, recv, (int)(intptr_t)arg) : SLEY_OK;
  status = sl_agree(comm, status);
  sl_leg_destroy(&leg);
  comm->device->ops->free(comm->device, recv);
  comm->device->ops->free(comm->device, send);
  sl_free(host);
  return status;
}

static void words_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, whole_main, NULL));
  assert_case_ok(c, run_case(c, wrong_main, NULL));
  for (int fault = 0; fault < FAULTS; fault++)
    assert_case_ok(c, run_case(c, spoilt_main, (void *)(intptr_t)fault));
  assert_int_equal(sl_memory_now(), before);
}

static void test_sums_and_errors(void **state) {
  (void)state;
  each_case(words_body);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits_of_the_dense_ones),
                                     cmocka_unit_test(test_sums_and_errors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
