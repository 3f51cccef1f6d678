/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse collectives: the choice between sparse and dense, wrong arguments, and peers that send invalid data.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "collective/links.h"
#include "collective/probe.h"
#include "collective/sparse.h"
#include "collective/transfer.h"
#include "mirror.h"
#include "ranks.h"

/* The values that are not zero, on all ranks. */
typedef enum pattern { NONE, SOME, ALL, BESIDE_SAMPLES } pattern;

/* 8 stretches of 4 blocks. The smallest sample is one block of each stretch; each run samples the next block.
 */
enum { BLOCK = SL_PROBE_LEAST / SL_PROBE_BLOCKS, CHOICE_COUNT = SL_PROBE_BLOCKS * 4 * BLOCK };

typedef struct choice_run {
  pattern pattern;
  sl_sparse_reason reason;
} choice_run;

static void fill_pattern(float *values, pattern p) {
  for (int64_t i = 0; i < CHOICE_COUNT; i++)
    values[i] = p == ALL || (p == SOME && i % 50 == 0) || (p == BESIDE_SAMPLES && i / BLOCK % 4 < 2);
}

/* Runs of one all-reduce whose choices follow from samples. "Held" runs keep the last choice without a
 * sample. */
static const choice_run by_samples[] = {
    {SOME, SL_SPARSE_ENOUGH_ZEROS}, {ALL, SL_SPARSE_FEW_ZEROS}, /* one run is held */
    {NONE, SL_SPARSE_HELD},         {ALL, SL_SPARSE_FEW_ZEROS}, /* two runs are held */
    {SOME, SL_SPARSE_HELD},         {NONE, SL_SPARSE_HELD},
    {SOME, SL_SPARSE_ENOUGH_ZEROS}, {NONE, SL_SPARSE_ENOUGH_ZEROS}, /* confirms the last choice */
    {ALL, SL_SPARSE_FEW_ZEROS},                                     /* so only one run is held again */
    {ALL, SL_SPARSE_HELD},          {SOME, SL_SPARSE_ENOUGH_ZEROS}};

/* The same if a sparse run itself determines the next choice. */
static const choice_run by_last_runs[] = {
    {SOME, SL_SPARSE_ENOUGH_ZEROS}, {ALL, SL_SPARSE_ENOUGH_ZEROS},
    {NONE, SL_SPARSE_MISSED},       {SOME, SL_SPARSE_HELD}, /* one run is held */
    {ALL, SL_SPARSE_FEW_ZEROS},     {SOME, SL_SPARSE_HELD}, /* two are */
    {NONE, SL_SPARSE_HELD},         {SOME, SL_SPARSE_ENOUGH_ZEROS},
    {NONE, SL_SPARSE_ENOUGH_ZEROS}, {ALL, SL_SPARSE_ENOUGH_ZEROS}, /* confirmed */
    {NONE, SL_SPARSE_MISSED},       {ALL, SL_SPARSE_HELD},         /* so only one is again */
    {SOME, SL_SPARSE_ENOUGH_ZEROS}};

static sley_status choice_main(sl_comm *comm, void *arg) {
  (void)arg;
  const bool follows = comm->zero_copy && comm->workgroup == comm->size && !comm->device->ops->host_addresses;
  const choice_run *runs = follows ? by_last_runs : by_samples;
  const size_t count = follows ? sizeof by_last_runs / sizeof *runs : sizeof by_samples / sizeof *runs;
  float *values = sl_alloc(CHOICE_COUNT, sizeof *values, "test");
  EXPECT(values);
  mirror there;
  SL_TRY(mirror_open(comm, values, CHOICE_COUNT * (int64_t)sizeof *values, &there));
  sl_sparse_spec spec = {.dense = {.kind = SLEY_ALLREDUCE, .count = CHOICE_COUNT}, .dense_above = 0.2};
  sl_sparse *sum;
  sl_sparse_report report;
  SL_TRY(sl_sparse_create(comm, &spec, &sum));
  for (size_t run = 0; run < count; run++) {
    fill_pattern(values, runs[run].pattern);
    SL_TRY(mirror_send(&there));
    SL_TRY(sl_sparse_run(sum, there.here, there.here, comm->queue));
    SL_TRY(mirror_fetch(&there));
    SL_TRY(sl_sparse_report_of(sum, &report));
    sl_sparse_reason reason = comm->size > 1 ? runs[run].reason : SL_SPARSE_ALONE;
    if (report.reason != reason)
      return sl_fail(SLEY_ERR_INTERNAL, "run %zu: %s", run, sl_sparse_reason_text(report.reason));
    EXPECT((strcmp(report.path, "dense") != 0) == (reason == SL_SPARSE_ENOUGH_ZEROS));
    for (int64_t i = 0; i < CHOICE_COUNT; i += 10)
      EXPECT(values[i] ==
             (float)comm->size * (runs[run].pattern == ALL || (runs[run].pattern == SOME && i % 50 == 0)));
  }
  sl_sparse_destroy(sum);
  mirror_close(&there);
  sl_free(values);
  return SLEY_OK;
}

/* An all-gather creates one array for each format that the model chooses for a link class, and no others. */
static sley_status formats_main(sl_comm *comm, void *arg) {
  enum { COUNT = 20000 };
  (void)arg;
  const sl_machine *machine;
  SL_TRY(sl_machine_find(sl_machine_of(comm->device), &machine));
  const sl_sparse_costs costs = sl_sparse_costs_of(machine, sl_team_size(comm->team));
  int64_t all = (int64_t)COUNT * comm->size, expected[SL_COMPRESSED_FORMATS] = {0};
  float *values = sl_alloc_zero(all, sizeof *values, "test");
  EXPECT(values);
  for (int64_t i = 0; i < COUNT; i += 3)
    values[comm->rank * COUNT + i] = 1;
  const double density = (double)((COUNT + 2) / 3) / COUNT;
  for (int p = 0; p < comm->size; p++)
    if (p != comm->rank)
      expected[sl_choose_format(&costs, sl_link_to(comm, p), SLEY_TYPE_F32, COUNT, density, true)] = 1;
  mirror there;
  SL_TRY(mirror_open(comm, values, all * (int64_t)sizeof *values, &there));
  sl_sparse_spec spec = {
      .dense = {.kind = SLEY_ALLGATHER, .count = COUNT}, .way = SLEY_WAY_DIRECT, .dense_above = 1};
  sl_sparse *gather;
  sl_sparse_report report;
  SL_TRY(sl_sparse_create(comm, &spec, &gather));
  SL_TRY(sl_sparse_run(gather, (float *)there.here + (int64_t)comm->rank * COUNT, there.here, comm->queue));
  SL_TRY(sl_sparse_report_of(gather, &report));
  EXPECT(memcmp(report.formats, expected, sizeof expected) == 0);
  EXPECT(comm->size == 1 || report.values == COUNT);
  sl_sparse_destroy(gather);
  mirror_close(&there);
  sl_free(values);
  return SLEY_OK;
}

/* The smallest samples miss half of the nonzeros, but the counts of a sparse run show them. */
static sley_status probe_main(sl_comm *comm, void *arg) {
  static const choice_run runs[] = {{BESIDE_SAMPLES, SL_SPARSE_FEW_ZEROS}, /* samples block 1 */
                                    {BESIDE_SAMPLES, SL_SPARSE_HELD},
                                    {BESIDE_SAMPLES, SL_SPARSE_ENOUGH_ZEROS}, /* samples block 3 */
                                    {NONE, SL_SPARSE_MISSED},
                                    {NONE, SL_SPARSE_HELD},
                                    {NONE, SL_SPARSE_HELD},
                                    {NONE, SL_SPARSE_ENOUGH_ZEROS}};
  (void)arg;
  const sl_sparse_costs costs = sl_sparse_costs_of(&sl_machine_threads, 1);
  float *values = sl_alloc(CHOICE_COUNT, sizeof *values, "test");
  EXPECT(values);
  mirror there;
  SL_TRY(mirror_open(comm, values, CHOICE_COUNT * (int64_t)sizeof *values, &there));
  sl_probe probe;
  SL_TRY(sl_probe_begin(&probe, comm, SLEY_TYPE_F32, &costs, 0));
  probe.limit = SL_DENSITY_UNIT / 5;
  sl_sparse_counts known = {0};
  for (size_t run = 0; run < sizeof runs / sizeof *runs; run++) {
    bool sparse;
    sl_sparse_reason why;
    fill_pattern(values, runs[run].pattern);
    SL_TRY(mirror_send(&there));
    probe.known = known;
    SL_TRY(sl_probe_decide(&probe, there.here, CHOICE_COUNT, comm->queue, &sparse, &why));
    if (why != runs[run].reason)
      return sl_fail(SLEY_ERR_INTERNAL, "probe %zu: %s", run, sl_sparse_reason_text(why));
    EXPECT(sparse == (why == SL_SPARSE_ENOUGH_ZEROS));
    known = (sl_sparse_counts){0};
    if (sparse)
      known = (sl_sparse_counts){CHOICE_COUNT, runs[run].pattern == NONE ? 0 : CHOICE_COUNT / 2};
  }
  sl_probe_end(&probe);
  mirror_close(&there);
  sl_free(values);
  return SLEY_OK;
}

/* Bounds that users set: which messages of an all-reduce of 2 % of nonzeros travel dense. The bound of
 * each class is in hundredths; the sums of the 8 ranks or fewer are expected to have 15 % of nonzeros at
 * most. */
typedef struct bounds_case {
  int above[SL_MESSAGE_CLASSES];
  bool dense[SL_MESSAGE_CLASSES];
} bounds_case;

static const bounds_case bounds_cases[] = {
    {{0, 0, 0}, {true, true, true}},     {{1, 1, 90}, {true, true, false}},
    {{1, 90, 90}, {true, false, false}}, {{90, 1, 90}, {false, true, false}},
    {{90, 90, 1}, {false, false, true}}, {{90, 90, 90}, {false, false, false}}};

static sley_status run_bounds(sl_comm *comm, const bounds_case *c, sl_sparse_choice format, mirror *there) {
  sl_sparse_spec spec = {
      .dense = {.kind = SLEY_ALLREDUCE, .count = CHOICE_COUNT}, .format = format, .way = SLEY_WAY_RING};
  sl_sparse *sum;
  sl_sparse_report report;
  float *values = there->host;
  for (int i = 0; i < SL_MESSAGE_CLASSES; i++)
    spec.above[i] = (sl_sparse_bound){.is_set = true, .density = c->above[i] / 100.0};
  fill_pattern(values, SOME);
  SL_TRY(mirror_send(there));
  SL_TRY(sl_sparse_create(comm, &spec, &sum));
  SL_TRY(sl_sparse_run(sum, there->here, there->here, comm->queue));
  SL_TRY(sl_sparse_report_of(sum, &report));
  sl_sparse_destroy(sum);
  SL_TRY(mirror_fetch(there));
  for (int64_t i = 0; i < CHOICE_COUNT; i += 10)
    EXPECT(values[i] == (float)comm->size * (i % 50 == 0));
  for (int i = 0; i < SL_MESSAGE_CLASSES; i++)
    EXPECT(report.made_dense[i] == (c->dense[i] ? report.made[i] : 0));
  EXPECT(comm->size == 1 || report.made[SL_GATHERED] == 1);
  EXPECT(comm->size == 1 || report.made[SL_INTER] + report.made[SL_INTRA] == comm->size - 1);
  return SLEY_OK;
}

static sley_status bounds_main(sl_comm *comm, void *arg) {
  (void)arg;
  float *values = sl_alloc(CHOICE_COUNT, sizeof *values, "test");
  EXPECT(values);
  mirror there;
  SL_TRY(mirror_open(comm, values, CHOICE_COUNT * (int64_t)sizeof *values, &there));
  for (size_t i = 0; i < sizeof bounds_cases / sizeof *bounds_cases; i++)
    for (int format = 0; format < SL_SPARSE_CHOICES; format++)
      if (format != SL_SPARSE_DENSE)
        SL_TRY(run_bounds(comm, &bounds_cases[i], (sl_sparse_choice)format, &there));
  mirror_close(&there);
  sl_free(values);
  return SLEY_OK;
}

/* Wrong arguments, and arguments that differ between ranks although they must not: all ranks get the same
 * error, and the comm stays usable. */
static sley_status wrong_main(sl_comm *comm, void *arg) {
  (void)arg;
  bool last = comm->rank == comm->size - 1;
  for (int wrong = 0; wrong < 9; wrong++) {
    sl_sparse_spec spec = {.dense = {.kind = SLEY_ALLREDUCE, .count = 3}};
    bool differs = wrong >= 4 && wrong != 7;
    if (wrong == 0)
      spec.format = SL_SPARSE_CHOICES;
    if (wrong == 1)
      spec.way = (sley_collective_way)99;
    if (wrong == 2)
      spec.dense_above = NAN;
    if (wrong == 3 && last)
      spec.dense.count = -1;
    if (wrong == 4 && last)
      spec.format = SL_SPARSE_COO;
    if (wrong == 5 && last)
      spec.way = SLEY_WAY_RING;
    if (wrong == 6 && last)
      spec.dense_above = 0.5;
    if (wrong == 7)
      spec.above[SL_INTRA] = (sl_sparse_bound){.is_set = true, .density = 1.5};
    if (wrong == 8)
      spec.above[SL_GATHERED] = (sl_sparse_bound){.is_set = true, .density = last ? 0.5 : 0.25};
    sley_status expected = differs && comm->size == 1 ? SLEY_OK : SLEY_ERR_ARG;
    sl_sparse *made;
    EXPECT(sl_sparse_create(comm, &spec, &made) == expected);
    sl_sparse_destroy(made);
  }
  return sley_comm_barrier(comm);
}

/* The last rank sends data that is not a compressed array of the expected length. Its peers detect this, and
 * name the rank. */
enum { SENT = 5000, FAULTS = 6 };

static void spoil(sl_transfer *transfer, char *area, int fault) {
  sl_compressed_header *header = (sl_compressed_header *)area;
  header->magic ^= fault == 0;
  header->nonzeros += fault == 1 ? INT64_C(1) << 62 : 0;
  header->count -= fault == 2;
  if (fault == 5) /* says that no value is present, although the message continues */
    *header = (sl_compressed_header){.magic = SL_COMPRESSED_MAGIC,
                                     .version = SL_COMPRESSED_VERSION,
                                     .format = SL_COMPRESSED_COO,
                                     .count = SENT};
  for (int i = 0; i < transfer->sends && (fault == 3 || fault == 4); i++)
    transfer->send[i].bytes = fault == 3 ? 7 : transfer->send[i].bytes - 8;
}

static sley_status run_spoilt(sl_comm *comm, sl_transfer *transfer, char *host, char *send, char *recv,
                              int fault) {
  int64_t room = sl_transfer_slot(SLEY_TYPE_F32, SENT);
  sl_compressed_header *header = (sl_compressed_header *)host;
  *header = (sl_compressed_header){.magic = SL_COMPRESSED_MAGIC,
                                   .version = SL_COMPRESSED_VERSION,
                                   .count = SENT,
                                   .nonzeros = 0,
                                   .payload_bytes = SENT * 4};
  SL_TRY(comm->queue->ops->copy(comm->queue, SL_COPY_TO_DEVICE, send, host, room));
  SL_TRY(sl_transfer_measure(transfer, send, comm->queue));
  if (comm->rank == comm->size - 1)
    spoil(transfer, host, fault);
  SL_TRY(comm->queue->ops->copy(comm->queue, SL_COPY_TO_DEVICE, send, host, room));
  sley_status status = sl_transfer_run(transfer, send, recv, comm->queue);
  if (comm->rank == comm->size - 1)
    return status;
  EXPECT(status == SLEY_ERR_PEER && strstr(sley_last_error(), "compressed array"));
  return SLEY_OK;
}

static sley_status spoilt_main(sl_comm *comm, void *arg) {
  int64_t room = sl_transfer_slot(SLEY_TYPE_F32, SENT), peers = comm->size - 1;
  sl_transfer transfer = {.name = "a test", .comm = comm, .type = SLEY_TYPE_F32};
  char *host = sl_alloc_zero(1, (size_t)room, "test");
  void *send, *recv;
  EXPECT(host);
  SL_TRY(comm->device->ops->alloc(comm->device, room, "test", &send));
  SL_TRY(comm->device->ops->alloc(comm->device, room * (peers + 1), "test", &recv));
  SL_TRY(sl_transfer_begin(&transfer, comm->size));
  for (int p = 0, at = 0; p < comm->size; p++) {
    if (p == comm->rank)
      continue;
    sl_transfer_send(&transfer, p, SENT, 0);
    sl_transfer_recv(&transfer, p, SENT, at++ * room);
  }
  SL_TRY(sl_transfer_make(&transfer));
  sley_status status =
      peers > 0 ? run_spoilt(comm, &transfer, host, send, recv, (int)(intptr_t)arg) : SLEY_OK;
  status = sl_agree(comm, status);
  sl_transfer_destroy(&transfer);
  comm->device->ops->free(comm->device, recv);
  comm->device->ops->free(comm->device, send);
  sl_free(host);
  return status;
}

/* Links are measured if all ranks use the built-in machine and enough messages travel. Then all ranks have
 * the same figures. */
static sley_status links_main(sl_comm *comm, void *arg) {
  enum { ENOUGH = 4 << 20 };
  (void)arg;
  const bool travels = sl_workgroups(comm) > 1;
  const sl_machine *built_in = sl_machine_of(comm->device);
  sl_machine read = *built_in, found;
  bool measured;
  snprintf(read.source, sizeof read.source, "a file");
  SL_TRY(sl_links_measure(comm, built_in, 1000, &found, &measured));
  EXPECT(!measured);
  SL_TRY(sl_links_measure(comm, comm->rank == comm->size - 1 ? &read : built_in, ENOUGH, &found, &measured));
  EXPECT(!measured);
  SL_TRY(sl_links_measure(comm, built_in, ENOUGH, &found, &measured));
  EXPECT(measured == travels);
  if (!measured)
    return SLEY_OK;
  const sl_link_speed *link = &found.link[SL_LINK_MESSAGE];
  EXPECT(link->bandwidth > 0 && isfinite(link->bandwidth) && link->points == 0);
  EXPECT(found.meeting >= built_in->meeting && isfinite(found.meeting));
  EXPECT(found.link[SL_LINK_DIRECT].bandwidth == built_in->link[SL_LINK_DIRECT].bandwidth);
  int64_t bits[2], most[2];
  memcpy(&bits[0], &link->bandwidth, sizeof *bits);
  memcpy(&bits[1], &found.meeting, sizeof *bits);
  memcpy(most, bits, sizeof most);
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, most, 2));
  EXPECT(memcmp(most, bits, sizeof most) == 0);
  return SLEY_OK;
}

static bool same_traffic(const sl_counters *a, const sl_counters *b) {
  return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0 &&
         memcmp(a->messages, b->messages, sizeof a->messages) == 0;
}

/* If links are measured, the first collective of a comm that chooses by predicted times measures them, and
 * later ones send nothing when they are created. */
static sley_status kept_main(sl_comm *comm, void *arg) {
  enum { COUNT = 1 << 16, COLLECTIVES = 4 };
  (void)arg;
  const sl_machine *machine; /* machine of SLEY_MACHINE, if it was read before */
  SL_TRY(sl_machine_find(sl_machine_of(comm->device), &machine));
  const bool measures = sl_workgroups(comm) > 1 && sl_machine_is_built_in(machine);
  const sl_counters nothing = {{0}, {0}};
  sl_counters first = nothing, later;
  sl_sparse *made[COLLECTIVES];
  comm->ops->counters_reset(comm);
  for (int i = 0; i < COLLECTIVES; i++) {
    sl_sparse_spec spec = {.dense = {.kind = (sley_collective_kind)(i % 3), .count = COUNT << i}};
    SL_TRY(sl_sparse_create(comm, &spec, &made[i]));
    comm->ops->counters(comm, i == 0 ? &first : &later);
    if (i == 0)
      EXPECT(same_traffic(&first, &nothing) != measures);
    else
      EXPECT(same_traffic(&first, &later));
  }
  for (int i = 0; i < COLLECTIVES; i++)
    sl_sparse_destroy(made[i]);
  return SLEY_OK;
}

static void links_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, links_main, NULL));
  assert_case_ok(c, run_case(c, kept_main, NULL));
  assert_int_equal(sl_memory_now(), before);
}

/* Unsets SLEY_MACHINE, which the tests set to a description with fixed figures. */
static void test_links(void **state) {
  (void)state;
  const char *set = getenv("SLEY_MACHINE");
  char *kept = set ? sl_strdup(set) : NULL;
  unsetenv("SLEY_MACHINE");
  each_case(links_body);
  if (kept)
    setenv("SLEY_MACHINE", kept, 1);
  sl_free(kept);
}

static void choice_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, choice_main, NULL));
  assert_case_ok(c, run_case(c, probe_main, NULL));
  assert_case_ok(c, run_case(c, formats_main, NULL));
  assert_int_equal(sl_memory_now(), before);
}

static void test_choice(void **state) {
  (void)state;
  each_case(choice_body);
}

static void errors_body(const rank_case *c) {
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, bounds_main, NULL));
  assert_case_ok(c, run_case(c, wrong_main, NULL));
  for (int fault = 0; fault < FAULTS; fault++)
    assert_case_ok(c, run_case(c, spoilt_main, (void *)(intptr_t)fault));
  assert_int_equal(sl_memory_now(), before);
}

static void test_errors(void **state) {
  (void)state;
  each_case(errors_body);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_choice), cmocka_unit_test(test_errors),
                                     cmocka_unit_test(test_links)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
