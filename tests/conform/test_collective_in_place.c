/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse collectives whose arrays peers read in place: the bits of the dense ones for every kind, operator,
 * type and format, also with parts without values; no host waits for a device; reports that are available
 * later; invalid arrays. On comms whose kernels cannot read the memory of all peers, the same runs take the
 * direct way with copies. */
#include "base/memory.h"
#include "collective/headers.h"
#include "collective/mapped.h"
#include "ranks.h"
#include "sparse_job.h"

enum { SERVED = 10 };
enum { KINDS = 3, OPS = 2, TYPES = 5, SHAPES = 2, PLACES = 2, RUNS = 3 };
enum { JOBS = KINDS * OPS * TYPES * SL_SPARSE_CHOICES * SHAPES * PLACES };

static bool serves(const sl_comm *comm) {
  return comm->size > 1 && sl_mapped_serves(comm);
}

/* Sets job i. In every second shape some ranks have no values. */
static void set_job(sparse_job *j, int i, int size, uint64_t seed) {
  static const int64_t lengths[] = {1, 65, 4097, 9001};
  *j = (sparse_job){.seed = seed * JOBS + (uint64_t)i, .blocks = i % 7 == 0};
  sl_dense_spec *dense = &j->spec.dense;
  j->spec.way = SLEY_WAY_DIRECT;
  j->spec.dense_above = 1;
  j->in_place = i % PLACES;
  i /= PLACES;
  bool gaps = i % SHAPES;
  i /= SHAPES;
  j->spec.format = (sl_sparse_choice)(i % SL_SPARSE_CHOICES);
  i /= SL_SPARSE_CHOICES;
  dense->type = (sley_type)(i % TYPES);
  i /= TYPES;
  dense->kind = (sley_collective_kind)(i % KINDS);
  dense->op = i / KINDS == 0 || dense->kind == SLEY_ALLGATHER ? SLEY_SUM : SLEY_MAX;
  dense->count = lengths[(seed + j->seed) % (sizeof lengths / sizeof *lengths)];
  if (gaps && dense->kind == SLEY_ALLREDUCE)
    dense->count = 40; /* fewer values than ranks */
  for (int r = 0; r < size; r++)
    j->counts[r] = gaps && dense->kind != SLEY_ALLREDUCE && r % 2 ? 0 : dense->count + r;
  if (dense->kind != SLEY_ALLREDUCE)
    dense->counts = j->counts;
}

static int64_t waits(const sl_comm *comm) {
  sl_device_counters counted;
  comm->device->ops->counters(comm->device, &counted);
  return counted.waits;
}

/* Starts runs without looking at results in between, and then the dense ones. The first run of SL_SPARSE_AUTO
 * counts a sample. */
static sley_status run_job(sl_comm *comm, sparse_job *j) {
  sl_sparse_report report;
  SL_TRY(sparse_job_fill(j, comm->rank, 0));
  SL_TRY(sparse_job_run_sparse(comm, j));
  const int64_t before = waits(comm);
  for (int run = 1; run < RUNS; run++)
    SL_TRY(sparse_job_run_sparse(comm, j));
  const bool waited = waits(comm) > before;
  for (int run = 0; run < RUNS; run++)
    SL_TRY(sparse_job_run_dense(comm, j));
  SL_TRY(sparse_job_compare(j, 0));
  SL_TRY(sl_sparse_report_of(j->one, &report));
  EXPECT(report.in_place == (serves(comm) && strcmp(report.path, "direct") == 0));
  EXPECT(comm->size == 1 || strcmp(report.path, "direct") == 0);
  EXPECT(!report.in_place || comm->device->ops->host_addresses || !waited);
  return SLEY_OK;
}

/* Runs each job in one of the cases with several ranks in one workgroup, of which there are SERVED. */
static sley_status jobs_main(sl_comm *comm, void *arg) {
  const int *turn = arg;
  const int share = serves(comm) ? SERVED : 4 * SERVED;
  sley_status status = SLEY_OK;
  for (int i = *turn % share; i < JOBS && status == SLEY_OK; i += share) {
    sparse_job j;
    set_job(&j, i, comm->size, (uint64_t)*turn);
    status = sparse_job_open(comm, &j);
    if (status == SLEY_OK)
      status = run_job(comm, &j);
    if (status != SLEY_OK)
      comm->ops->abort(comm, status);
    sparse_job_close(&j);
  }
  return status;
}

/* ---- reports that are available later */

enum { COUNT = 6000, MANY = 3 * SL_HEADERS_RUNS };

/* Starts more runs than may be in flight: each is counted once, and the report describes the last one. */
static sley_status many_main(sl_comm *comm, void *arg) {
  (void)arg;
  sparse_job j = {.seed = 5,
                  .spec = {.dense = {.kind = SLEY_ALLREDUCE, .count = COUNT},
                           .format = SL_SPARSE_PICI,
                           .way = SLEY_WAY_DIRECT}};
  sl_sparse_report first, last;
  sl_counters counted;
  for (int r = 0; r < comm->size; r++)
    j.counts[r] = COUNT;
  SL_TRY(sparse_job_open(comm, &j));
  SL_TRY(sparse_job_fill(&j, comm->rank, 0));
  SL_TRY(sparse_job_run_sparse(comm, &j));
  SL_TRY(sl_sparse_report_of(j.one, &first));
  comm->ops->counters_reset(comm);
  for (int run = 0; run < MANY; run++)
    SL_TRY(sparse_job_run_sparse(comm, &j));
  SL_TRY(sl_sparse_report_of(j.one, &last));
  comm->ops->counters(comm, &counted);
  EXPECT(first.values == last.values && first.nonzeros == last.nonzeros && first.arrays == last.arrays);
  EXPECT(first.sent == last.sent && first.received == last.received);
  EXPECT(first.result_nonzeros == last.result_nonzeros);
  int64_t sums[2] = {counted.bytes[SL_LINK_DIRECT] + counted.bytes[SL_LINK_MESSAGE], MANY * last.received};
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, sums, 2));
  EXPECT(sums[0] == sums[1]);
  EXPECT(comm->size == 1 || (last.received > 0 && last.values > 0 && last.arrays > 0));
  sparse_job_close(&j);
  return sley_comm_barrier(comm);
}

/* ---- invalid arrays */

/* Operations that return a wrong address for the rows of the first peer. */
static sl_transport_ops spoiling;
static const sl_transport_ops *sound;
static _Atomic(void *) false_rows;

static sley_status map_falsely(sl_exchange *exchange, sl_mapped_rows *mapped, sl_queue *queue) {
  SL_TRY(sound->exchange_map(exchange, mapped, queue));
  if (exchange->comm->rank == 0)
    mapped[0].src = false_rows;
  return SLEY_OK;
}

/* Rank 0 reads garbage instead of its first peer's array. The run itself cannot detect this; the host learns
 * of it at the next run or report, which then ends the comm. */
static sley_status garbage_main(sl_comm *comm, void *arg) {
  const bool asks = arg;
  if (!serves(comm))
    return SLEY_OK;
  sparse_job j = {.seed = 5,
                  .spec = {.dense = {.kind = SLEY_REDUCE_SCATTER, .count = COUNT},
                           .format = SL_SPARSE_COO,
                           .way = SLEY_WAY_DIRECT}};
  void *garbage;
  for (int r = 0; r < comm->size; r++)
    j.counts[r] = COUNT;
  SL_TRY(sparse_job_open(comm, &j));
  SL_TRY(sparse_job_fill(&j, comm->rank, 0));
  SL_TRY(mirror_fetch(&j.there[0]));
  SL_TRY(comm->device->ops->alloc(comm->device, (comm->size + 1) * sl_transfer_slot(SLEY_TYPE_F32, COUNT),
                                  "test", &garbage));
  for (int64_t at = 0; at < comm->size * sl_transfer_slot(SLEY_TYPE_F32, COUNT); at += 64)
    SL_TRY(comm->queue->ops->copy(comm->queue, SL_COPY_TO_DEVICE, (char *)garbage + at, j.sparse + at % 512,
                                  64));
  if (comm->rank == 0)
    false_rows = garbage;
  SL_TRY(sley_comm_barrier(comm));
  const sl_transport_ops *given = comm->ops;
  comm->ops = &spoiling;
  sley_status status = sparse_job_run_sparse(comm, &j);
  comm->ops = given;
  if (status == SLEY_OK && comm->rank == 0) {
    sl_sparse_report report;
    SL_TRY(comm->queue->ops->queue_wait(comm->queue));
    status = asks ? sl_sparse_report_of(j.one, &report) : sparse_job_run_sparse(comm, &j);
    status = status == SLEY_ERR_PEER && strstr(sley_last_error(), "compressed array")
                 ? SLEY_OK
                 : sl_fail(SLEY_ERR_INTERNAL, "the garbage was not found");
  }
  const sley_status ended = sley_comm_barrier(comm);
  sparse_job_close(&j);
  comm->device->ops->free(comm->device, garbage);
  SL_TRY(comm->rank == 0 ? status : SLEY_OK);
  EXPECT(ended == SLEY_ERR_PEER && strstr(sley_last_error(), "compressed array"));
  return SLEY_OK;
}

static void body(const rank_case *c) {
  static int turn, other;
  int64_t before = sl_memory_now();
  bool served = c->ranks > 1 && c->workgroup == c->ranks;
  assert_case_ok(c, run_case(c, jobs_main, served ? &turn : &other));
  *(served ? &turn : &other) += 1;
  assert_case_ok(c, run_case(c, many_main, NULL));
  assert_int_equal(sl_memory_now(), before);
}

static void test_in_place(void **state) {
  (void)state;
  each_case(body);
}

/* Stores the table of operations of the transport. */
static sley_status note_ops(sl_comm *comm, void *arg) {
  (void)arg;
  if (comm->rank == 0) {
    sound = comm->ops;
    spoiling = *comm->ops;
    spoiling.exchange_map = map_falsely;
  }
  return sley_comm_barrier(comm);
}

static void garbage_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, note_ops, NULL));
  for (int asks = 0; asks < 2; asks++)
    assert_case_ok(c, run_case(c, garbage_main, asks ? (void *)c : NULL));
  assert_int_equal(sl_memory_now(), before);
}

static void test_garbage(void **state) {
  (void)state;
  each_case(garbage_body);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_place), cmocka_unit_test(test_garbage)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
