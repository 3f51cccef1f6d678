/* SPDX-License-Identifier: Apache-2.0 */
/* Halos through the public interface: gathered rows equal the owners' rows, and scatter-added buffers have
 * the sums of a float64 model, with strides wider than k, for several halos in turn. A plan's halo outlives
 * its plan. */
#include "base/random.h"
#include "base/value.h"
#include "matrix/matrix.h"
#include "mirror.h"
#include "ranks.h"

enum { MOST_ROWS = 40, MOST_RANKS = 8, ROUNDS = 2, PAD = 2 };

static const int64_t widths[] = {0, 1, 5, 8};

typedef struct sample {
  uint64_t seed;
  int ranks;
  int64_t rows, k, ld, ld_buffer; /* rows, columns and leading dimension of X; that of buffers */
  sley_dtype dtype;
  int64_t begin[MOST_RANKS + 1];
  bool of_plan;
} sample;

static bool is_own(const sample *s, int rank, int64_t row) {
  return row >= s->begin[rank] && row < s->begin[rank + 1];
}

static bool needs(const sample *s, int rank, int64_t row) {
  return sl_random(s->seed, (uint64_t)(10 + rank), (uint64_t)row) % 3 == 0 &&
         !(is_own(s, rank, row) && s->of_plan);
}

/* A multiple of 1/4, so small that sums are exact in every dtype. */
static double value_at(const sample *s, int64_t row, int64_t j) {
  return (double)sl_below(sl_random(s->seed + 100, 0, (uint64_t)(row * 64 + j)), 4) / 4;
}

static sample make_sample(uint64_t seed, int ranks) {
  sample s = {.seed = seed, .ranks = ranks, .rows = sl_below(sl_random(seed, 0, 0), MOST_ROWS)};
  uint64_t draw = sl_random(seed, 2, 0) >> 8;
  s.k = widths[draw % 4];
  s.ld = s.k + (draw / 4 % 2) * PAD;
  s.ld_buffer = s.k + (draw / 64 % 3) * PAD;
  s.dtype = (sley_dtype)(draw / 8 % 4);
  s.of_plan = draw / 32 % 2;
  for (int p = 1; p < ranks; p++) {
    int64_t rest = s.rows - s.begin[p - 1];
    s.begin[p] = s.begin[p - 1] + (seed % 4 ? sl_below(sl_random(seed, 1, (uint64_t)p), rest + 1) / 2 : 0);
  }
  s.begin[ranks] = s.rows;
  return s;
}

static int64_t list_needs(const sample *s, int rank, int64_t *row) {
  int64_t count = 0;
  for (int64_t r = 0; r < s->rows; r++)
    if (needs(s, rank, r))
      row[count++] = r;
  return count;
}

/* Creates a halo from the plan of a block with one row per rank, which has the needed entries and all columns
 * of the rank itself. */
static sley_status halo_of_plan(sl_comm *comm, const sample *s, sley_halo **out) {
  int64_t rowptr[2] = {0, 0}, rows[MOST_RANKS + 1], col[MOST_ROWS];
  double val[MOST_ROWS] = {0};
  float narrow[MOST_ROWS] = {0};
  for (int64_t r = 0; r < s->rows; r++)
    if (needs(s, comm->rank, r) || is_own(s, comm->rank, r))
      col[rowptr[1]++] = r;
  for (int p = 0; p <= s->ranks; p++)
    rows[p] = p;
  sley_csr csr = {.rows = 1,
                  .cols = s->rows,
                  .rowptr = rowptr,
                  .col = col,
                  .val = s->dtype == SLEY_F64 ? (void *)val : (void *)narrow,
                  .index = SLEY_I64,
                  .dtype = s->dtype};
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = s->seed % 2 ? "halo" : "bcast-1d";
  options.dry = s->seed % 3 == 0;
  sley_status status = sl_agree(comm, sley_matrix_from_csr(&csr, SLEY_COPY, &block));
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, rows, s->begin, s->k, &options, &plan);
  if (status == SLEY_OK)
    status = sley_plan_halo(plan, out);
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

static sley_status make_halo(sl_comm *comm, const sample *s, sley_halo **out) {
  int64_t row[MOST_ROWS];
  if (s->of_plan)
    return halo_of_plan(comm, s, out);
  int64_t count = list_needs(s, comm->rank, row);
  return sley_halo_create(comm, row, count, s->begin, s->k, s->dtype, out);
}

static sley_status check_info(const sl_comm *comm, const sample *s, const sley_halo *halo) {
  sley_halo_info info;
  int64_t row[MOST_ROWS], count = list_needs(s, comm->rank, row), wanted = 0;
  SL_TRY(sley_halo_info_get(halo, &info));
  EXPECT(info.rows == count && info.k == s->k && info.dtype == s->dtype);
  EXPECT(info.own_rows == s->begin[comm->rank + 1] - s->begin[comm->rank]);
  EXPECT(info.begin[0] == 0 && info.begin[s->ranks] == count);
  for (int p = 0; p < s->ranks; p++)
    for (int64_t h = info.begin[p]; h < info.begin[p + 1]; h++)
      EXPECT(info.row[h] == row[h] && is_own(s, p, row[h]));
  for (int p = 0; p < s->ranks; p++)
    for (int64_t r = s->begin[comm->rank]; r < s->begin[comm->rank + 1]; r++)
      wanted += needs(s, p, r);
  EXPECT(info.wanted_rows == wanted);
  return SLEY_OK;
}

/* Checks that the columns beyond k of a buffer filled with zeros are still zero. */
static sley_status check_pads(const sample *s, const void *values, int64_t rows, int64_t ld) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = s->k; j < ld; j++)
      EXPECT(sl_value_at(values, s->dtype, i * ld + j) == 0);
  return SLEY_OK;
}

static sley_status check_gathered(const sl_comm *comm, const sample *s, const void *buffer) {
  int64_t row[MOST_ROWS], count = list_needs(s, comm->rank, row);
  for (int64_t h = 0; h < count; h++)
    for (int64_t j = 0; j < s->k; j++)
      EXPECT(sl_value_at(buffer, s->dtype, h * s->ld_buffer + j) == value_at(s, row[h], j));
  return check_pads(s, buffer, count, s->ld_buffer);
}

/* Checks X after the buffers of all ranks, which contain each row once or twice, were added `rounds` times.
 */
static sley_status check_added(const sl_comm *comm, const sample *s, const void *x, int rounds) {
  int64_t first = s->begin[comm->rank], rows = s->begin[comm->rank + 1] - first;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < s->k; j++) {
      double sum = value_at(s, first + i, j);
      for (int p = 0; p < s->ranks; p++)
        sum += needs(s, p, first + i) ? rounds * (p % 2 + 1) * value_at(s, first + i, j) : 0;
      EXPECT(sl_value_at(x, s->dtype, i * s->ld + j) == sum);
    }
  return check_pads(s, x, rows, s->ld);
}

static sley_status forward_and_back(sl_comm *comm, const sample *s, sley_halo *const halo[2], mirror *x,
                                    mirror *buffer, int64_t count) {
  SL_TRY(sley_halo_gather(halo[0], x->here, s->ld, buffer->here, s->ld_buffer));
  SL_TRY(mirror_fetch(buffer));
  SL_TRY(sl_agree(comm, check_gathered(comm, s, buffer->host)));
  for (int64_t i = 0; i < count * s->ld_buffer && comm->rank % 2; i++)
    sl_value_set(buffer->host, s->dtype, i, 2 * sl_value_at(buffer->host, s->dtype, i));
  SL_TRY(mirror_send(buffer));
  for (int round = 1; round <= ROUNDS; round++) {
    SL_TRY(sley_halo_scatter_add(halo[round % 2], buffer->here, s->ld_buffer, x->here, s->ld));
    SL_TRY(mirror_fetch(x));
    SL_TRY(sl_agree(comm, check_added(comm, s, x->host, round)));
  }
  return SLEY_OK;
}

static sley_status use_halos(sl_comm *comm, const sample *s, sley_halo *const halo[2]) {
  int64_t row[MOST_ROWS], count = list_needs(s, comm->rank, row), value = (int64_t)sley_dtype_bytes(s->dtype);
  int64_t first = s->begin[comm->rank], rows = s->begin[comm->rank + 1] - first;
  void *x_values = calloc((size_t)(rows * s->ld) + 1, sizeof(double));
  void *buffer_values = calloc((size_t)(count * s->ld_buffer) + 1, sizeof(double));
  mirror x = {0}, buffer = {0};
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < s->k; j++)
      sl_value_set(x_values, s->dtype, i * s->ld + j, value_at(s, first + i, j));
  sley_status status = mirror_open(comm, x_values, rows * s->ld * value, &x);
  if (status == SLEY_OK)
    status = mirror_open(comm, buffer_values, count * s->ld_buffer * value, &buffer);
  if (status == SLEY_OK)
    status = check_info(comm, s, halo[0]);
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = forward_and_back(comm, s, halo, &x, &buffer, count);
  mirror_close(&buffer);
  mirror_close(&x);
  free(buffer_values);
  free(x_values);
  return status;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  sley_halo *halo[2] = {NULL, NULL};
  sley_status status = make_halo(comm, s, &halo[0]);
  if (status == SLEY_OK)
    status = make_halo(comm, s, &halo[1]);
  if (status == SLEY_OK)
    status = use_halos(comm, s, halo);
  sley_halo_destroy(halo[0]);
  sley_halo_destroy(halo[1]);
  return status;
}

static void run_samples(const rank_case *c) {
  for (uint64_t i = test_first(12); i < 12; i += test_share()) {
    sample s = make_sample(c->seed * 12 + i, c->ranks);
    assert_case_ok(c, run_case(c, rank_main, &s));
  }
}

static void rows_come_and_are_added(void **state) {
  (void)state;
  each_case(run_samples);
}

/* A wrong argument on one rank is an error on all ranks; the comm stays usable. */
static sley_status refuse_main(sl_comm *comm, void *arg) {
  (void)arg;
  static const int64_t begin[] = {0, 2, 4}, other[] = {0, 1, 4}, descends[] = {3, 1}, beyond[] = {1, 4};
  sley_status mine = comm->rank == 0 ? SLEY_ERR_ARG : SLEY_ERR_PEER;
  bool first = comm->rank == 0;
  sley_halo *halo = NULL;
  sley_halo_info info;
  EXPECT(sley_halo_create(NULL, begin, 2, begin, 3, SLEY_F32, &halo) == SLEY_ERR_ARG);
  EXPECT(sley_halo_create(comm, first ? descends : begin, 2, begin, 3, SLEY_F32, &halo) == mine && !halo);
  EXPECT(sley_halo_create(comm, first ? beyond : begin, 2, begin, 3, SLEY_F32, &halo) == mine && !halo);
  EXPECT(sley_halo_create(comm, first ? NULL : begin, 2, begin, 3, SLEY_F32, &halo) == mine && !halo);
  EXPECT(sley_halo_create(comm, begin, 2, begin, first ? -1 : 3, SLEY_F32, &halo) == mine && !halo);
  EXPECT(sley_halo_create(comm, begin, 2, begin, 3, first ? (sley_dtype)9 : SLEY_F32, &halo) == mine &&
         !halo);
  EXPECT(sley_halo_create(comm, begin, 2, begin, 3, SLEY_F32, first ? NULL : &halo) == mine && !halo);
  EXPECT(sley_halo_create(comm, begin, 2, first ? begin : other, 3, SLEY_F32, &halo) == SLEY_ERR_ARG);
  EXPECT(strstr(sley_last_error(), "col_begin"));
  EXPECT(sley_halo_create(comm, begin, 2, begin, first ? 2 : 3, SLEY_F32, &halo) == SLEY_ERR_ARG);
  EXPECT(sley_plan_halo(NULL, &halo) == SLEY_ERR_ARG);
  EXPECT(sley_halo_info_get(NULL, &info) == SLEY_ERR_ARG);
  EXPECT(sley_halo_gather(NULL, NULL, 0, NULL, 0) == SLEY_ERR_ARG);
  EXPECT(sley_halo_scatter_add(NULL, NULL, 0, NULL, 0) == SLEY_ERR_ARG);
  sley_halo_destroy(NULL);
  return sley_comm_barrier(comm);
}

/* A wrong operand on one rank ends the other ranks too. */
static sley_status abort_main(sl_comm *comm, void *arg) {
  (void)arg;
  static const int64_t begin[] = {0, 2, 4}, all[] = {0, 1, 2, 3};
  float x[2 * 3] = {0}, buffer[4 * 3] = {0};
  sley_halo *halo;
  SL_TRY(sley_halo_create(comm, all, 4, begin, 3, SLEY_F32, &halo));
  sley_status status = sley_halo_gather(halo, x, comm->rank == 0 ? 2 : 3, buffer, 3);
  EXPECT(status == (comm->rank == 0 ? SLEY_ERR_ARG : SLEY_ERR_PEER));
  sley_halo_destroy(halo);
  return SLEY_OK;
}

static void wrong_calls_are_refused(void **state) {
  (void)state;
  rank_case c = {.transport = "threads", .ranks = 2, .workgroup = 2, .threads = 1};
  assert_case_ok(&c, run_case(&c, refuse_main, NULL));
  if (test_on_cpu())
    assert_case_ok(&c, run_case(&c, abort_main, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_come_and_are_added),
                                     cmocka_unit_test(wrong_calls_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
