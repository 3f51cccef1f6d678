/* SPDX-License-Identifier: Apache-2.0 */
/* Separate use of the halo: rows of X that are gathered to a halo buffer must equal the owners' rows, and the
 * scatter-add of all ranks' buffers to X must equal a float64 model. Rows, owners and needed rows are random,
 * and some ranks own nothing. Every second halo is found by inspection of a rectangular block, and is used
 * after the block has been freed. */
#include "base/memory.h"
#include "base/random.h"
#include "mirror.h"
#include "plan/inspect.h"
#include "ranks.h"

enum { MOST_ROWS = 40, BLOCK_ROWS = 7, ROUNDS = 2 };

static const int64_t widths[] = {0, 1, 5, 8};

typedef struct sample {
  uint64_t seed;
  int ranks;
  int64_t rows, k; /* of X */
  sley_dtype dtype;
  int64_t begin[9];
} sample;

/* Whether a rank needs a row. */
static bool needs(const sample *s, int rank, int64_t row) {
  bool own = row >= s->begin[rank] && row < s->begin[rank + 1];
  return sl_random(s->seed, (uint64_t)(10 + rank), (uint64_t)row) % 3 == 0 && !(own && s->seed % 2);
}

/* Eighths of small numbers, whose sums have no rounding. */
static double value_at(const sample *s, int what, int64_t row, int64_t j) {
  return (double)sl_below(sl_random(s->seed + 100, (uint64_t)what, (uint64_t)(row * 64 + j)), 64) / 8 - 4;
}

static sample make_sample(uint64_t seed, int ranks) {
  sample s = {.seed = seed, .ranks = ranks, .rows = sl_below(sl_random(seed, 0, 0), MOST_ROWS)};
  s.k = widths[seed / 2 % 4];
  s.dtype = seed % 3 ? SLEY_F32 : SLEY_F64;
  for (int p = 1; p < ranks; p++) {
    int64_t rest = s.rows - s.begin[p - 1];
    s.begin[p] = s.begin[p - 1] + (seed % 4 ? sl_below(sl_random(seed, 1, (uint64_t)p), rest + 1) / 2 : 0);
  }
  s.begin[ranks] = s.rows;
  return s;
}

static double get(const sample *s, const void *values, int64_t i) {
  return s->dtype == SLEY_F32 ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

static void set(const sample *s, void *values, int64_t i, double value) {
  if (s->dtype == SLEY_F32)
    ((float *)values)[i] = (float)value;
  else
    ((double *)values)[i] = value;
}

/* Lists the rows that a rank needs. */
static sley_status list_needs(const sample *s, int rank, int64_t **row, int64_t *count) {
  SL_TRY(SL_NEW(*row, s->rows, "rows needed"));
  *count = 0;
  for (int64_t r = 0; r < s->rows; r++)
    if (needs(s, rank, r))
      (*row)[(*count)++] = r;
  return SLEY_OK;
}

/* Creates the halo of a block that has an entry for every needed row of X; the rank's own rows are in the
 * first row of the block. */
static sley_status inspect(sl_comm *comm, const sample *s, int64_t *row, int64_t count, sl_halo **out) {
  int64_t rowptr[BLOCK_ROWS + 1], rows[10];
  sley_matrix *block = NULL;
  sl_inspection ins;
  for (int i = 0; i <= BLOCK_ROWS; i++)
    rowptr[i] = count * i / BLOCK_ROWS;
  for (int p = 0; p <= s->ranks; p++)
    rows[p] = (int64_t)p * BLOCK_ROWS;
  double *val;
  SL_TRY(SL_NEW_ZERO(val, count, "values"));
  sley_csr csr = {.rows = BLOCK_ROWS,
                  .cols = s->rows,
                  .index = SLEY_I64,
                  .dtype = SLEY_F64,
                  .rowptr = rowptr,
                  .col = row,
                  .val = val};
  sl_plan_wishes wishes = sl_plan_wishes_for(s->k, SLEY_F64);
  sley_status status = sley_matrix_from_csr(&csr, SLEY_COPY, &block);
  if (status == SLEY_OK)
    status = sl_inspect(comm, block, rows, s->begin, &wishes, &ins);
  if (status == SLEY_OK) {
    *out = sl_halo_hold(ins.halo);
    sl_inspection_free(&ins);
  }
  sley_matrix_destroy(block);
  sl_free(val);
  return status;
}

static sley_status make_halo(sl_comm *comm, const sample *s, sl_halo **out) {
  int64_t *row, count;
  SL_TRY(list_needs(s, comm->rank, &row, &count));
  if (s->seed % 2 == 0)
    return sl_halo_create(comm, s->begin, row, count, out);
  sley_status status = inspect(comm, s, row, count, out);
  sl_free(row);
  return status;
}

static sley_status check_gathered(const sample *s, const sl_halo *halo, const void *buffer) {
  int64_t h = 0;
  for (int64_t r = 0; r < s->rows; r++)
    if (needs(s, halo->comm->rank, r)) {
      EXPECT(h < halo->count && halo->row[h] == r);
      for (int64_t j = 0; j < s->k; j++)
        EXPECT(get(s, buffer, h * s->k + j) == value_at(s, 0, r, j));
      h++;
    }
  EXPECT(h == halo->count);
  return SLEY_OK;
}

/* Checks X after all ranks' buffers, each times its rank plus one, were added `rounds` times. */
static sley_status check_added(const sample *s, const sl_halo *halo, const void *x, int rounds) {
  for (int64_t i = 0; i < halo->rows; i++)
    for (int64_t j = 0; j < s->k; j++) {
      int64_t row = halo->first + i;
      double sum = value_at(s, 0, row, j);
      for (int p = 0; p < s->ranks; p++)
        sum += needs(s, p, row) ? rounds * (p + 1) * value_at(s, 0, row, j) : 0;
      EXPECT(get(s, x, i * s->k + j) == sum);
    }
  return SLEY_OK;
}

static sley_status move(sl_comm *comm, sl_exchange *exchange, const mirror *src, const mirror *dst,
                        int64_t row_bytes) {
  SL_TRY(comm->ops->exchange_begin(exchange, src->here, row_bytes, dst->here, row_bytes, comm->queue));
  SL_TRY(comm->ops->exchange_end(exchange, comm->queue));
  SL_TRY(sl_exchange_reclaim(exchange, comm->queue));
  return mirror_fetch(dst);
}

/* Gathers once, then scatter-adds for some rounds. */
static sley_status gather_and_scatter(sl_comm *comm, const sample *s, const sl_halo *halo, mirror *x,
                                      mirror *buffer, sl_exchange *const exchange[2]) {
  int64_t row_bytes = s->k * (int64_t)sley_dtype_bytes(s->dtype);
  SL_TRY(move(comm, exchange[0], x, buffer, row_bytes));
  SL_TRY(check_gathered(s, halo, buffer->host));
  for (int64_t i = 0; i < halo->count * s->k; i++)
    set(s, buffer->host, i, get(s, buffer->host, i) * (comm->rank + 1));
  SL_TRY(mirror_send(buffer));
  for (int round = 1; round <= ROUNDS; round++) {
    SL_TRY(move(comm, exchange[1], buffer, x, row_bytes));
    SL_TRY(check_added(s, halo, x->host, round));
  }
  return SLEY_OK;
}

static sley_status use_halo(sl_comm *comm, const sample *s, const sl_halo *halo, sl_row_list *lists) {
  int64_t value = (int64_t)sley_dtype_bytes(s->dtype), row_bytes = s->k * value;
  void *values[2] = {calloc((size_t)(halo->rows * s->k) + 1, sizeof(double)),
                     calloc((size_t)(halo->count * s->k) + 1, sizeof(double))};
  sl_exchange *exchange[2] = {NULL, NULL};
  mirror x = {0}, buffer = {0};
  sl_exchange_spec spec[2];
  for (int64_t i = 0; i < halo->rows * s->k; i++)
    set(s, values[0], i, value_at(s, 0, halo->first + i / s->k, i % s->k));
  sl_halo_spec(halo, SL_HALO_GATHER, "gather", s->dtype, row_bytes, lists, &spec[0]);
  sl_halo_spec(halo, SL_HALO_SCATTER_ADD, "scatter-add", s->dtype, row_bytes, lists + 2 * (int64_t)comm->size,
               &spec[1]);
  sley_status status = mirror_open(comm, values[0], halo->rows * row_bytes, &x);
  if (status == SLEY_OK)
    status = mirror_open(comm, values[1], halo->count * row_bytes, &buffer);
  status = sl_agree(comm, status);
  for (int i = 0; i < 2 && status == SLEY_OK; i++)
    status = comm->ops->exchange_create(comm, &spec[i], &exchange[i]);
  if (status == SLEY_OK)
    status = gather_and_scatter(comm, s, halo, &x, &buffer, exchange);
  status = sl_agree(comm, status);
  for (int i = 1; i >= 0; i--)
    if (exchange[i])
      comm->ops->exchange_destroy(exchange[i]);
  mirror_close(&buffer);
  mirror_close(&x);
  free(values[1]);
  free(values[0]);
  return status;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  sl_halo *halo = NULL;
  sl_row_list *lists;
  SL_TRY(make_halo(comm, s, &halo));
  sley_status status = sl_agree(comm, SL_NEW(lists, 4 * (int64_t)comm->size, "lists"));
  if (status == SLEY_OK)
    status = use_halo(comm, s, halo, lists);
  sl_free(lists);
  sl_halo_release(halo);
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

/* Rows that do not ascend, or that no rank owns, on one rank must be an error on all ranks. */
static sley_status refuse_main(sl_comm *comm, void *arg) {
  static const int64_t begin[] = {0, 2, 4}, bad[2][2] = {{3, 3}, {1, 4}};
  const int *which = arg;
  int64_t *row;
  sl_halo *halo;
  SL_TRY(SL_NEW(row, 2, "rows needed"));
  row[0] = comm->rank == 0 ? bad[*which][0] : 0;
  row[1] = comm->rank == 0 ? bad[*which][1] : 1;
  sley_status status = sl_halo_create(comm, begin, row, 2, &halo);
  EXPECT(status == (comm->rank == 0 ? SLEY_ERR_ARG : SLEY_ERR_PEER) && !halo);
  return SLEY_OK;
}

static void wrong_rows_are_refused(void **state) {
  (void)state;
  for (int which = 0; which < 2; which++) {
    rank_case c = {.transport = "threads", .ranks = 2, .workgroup = 2, .threads = 1};
    assert_case_ok(&c, run_case(&c, refuse_main, &which));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_come_and_are_added),
                                     cmocka_unit_test(wrong_rows_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
