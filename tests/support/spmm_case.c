/* SPDX-License-Identifier: Apache-2.0 */
/* A random product over ranks, compared with a float64 oracle. */
#include "base/overrides.h"
#include "spmm_case.h"

#include "mirror.h"
#include "plan/plan.h"
#include "transport/transport.h"

/* Shared by the ranks of one case. */
typedef struct run {
  const sley_matrix *matrix;
  const spmm_case *c;
  sley_dtype dtype;
  int64_t *row_begin, *col_begin; /* partitions of A's rows and columns */
  char *x, *y, *y_start;          /* whole operands; Y before the product */
  int64_t ld;
  spmm_outcome *out;
} run;

static uint64_t hash_rows(const char *data, int64_t rows, int64_t row_bytes, int64_t stride) {
  uint64_t hash = UINT64_C(1469598103934665603);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t b = 0; b < row_bytes; b++)
      hash = (hash ^ (unsigned char)data[r * stride + b]) * UINT64_C(1099511628211);
  return hash;
}

/* Runs Y = alpha A X + beta Y on the rank's rows, which may be mirrored. An execute must not allocate memory,
 * copy between host and device, or wait for the device. */
static sley_status multiply(sley_comm *comm, sley_plan *plan, const spmm_case *c, const mirror *x,
                            const mirror *y, int64_t ld) {
  sl_device_counters before, after;
  comm->device->ops->counters(comm->device, &before);
  sley_status status = sley_spmm(plan, c->alpha, x->here, ld, c->beta, y->here, ld);
  comm->device->ops->counters(comm->device, &after);
  if (status == SLEY_OK && (after.allocations != before.allocations || after.copies != before.copies ||
                            after.waits != before.waits))
    status = sl_fail(SLEY_ERR_INTERNAL, "%lld allocations, %lld copies and %lld waits in an execute",
                     (long long)(after.allocations - before.allocations),
                     (long long)(after.copies - before.copies), (long long)(after.waits - before.waits));
  return status == SLEY_OK ? mirror_fetch(y) : status;
}

/* The memory that a plan for k columns needs. */
static sley_status needed(sley_comm *comm, const run *r, const sley_matrix *block, sley_plan_options options,
                          int64_t k, int64_t *bytes) {
  sley_plan *plan;
  sley_plan_info info;
  sley_status status = sley_plan_create(comm, block, r->row_begin, r->col_begin, k, &options, &plan);
  if (status == SLEY_OK) {
    status = sley_plan_info_get(plan, &info);
    *bytes = info.needed_bytes;
  }
  sley_plan_destroy(plan);
  return status;
}

/* Sets the same memory limit on every rank. */
static sley_status set_limit(sley_comm *comm, const run *r, const sley_matrix *block,
                             sley_plan_options *options) {
  int64_t one = 0, all = 0;
  sley_status status = needed(comm, r, block, *options, 1, &one);
  if (status == SLEY_OK)
    status = needed(comm, r, block, *options, r->c->k, &all);
  options->mem_limit = one + (int64_t)(r->c->room * (double)(all - one));
  return status;
}

/* Whether shapes with different partitions were timed. */
static sley_status settled_by_timing(const sley_plan *plan, bool *out) {
  enum { ROOM = 64 };
  sley_trial trials[ROOM];
  int count;
  sley_status status = sley_plan_trials(plan, trials, ROOM, &count);
  *out = false;
  for (int i = 1; status == SLEY_OK && i < count && i < ROOM; i++)
    *out |= trials[i].ps != trials[0].ps;
  return status;
}

static sley_status one_rank(sley_comm *comm, void *argument) {
  run *r = argument;
  const spmm_case *c = r->c;
  int rank = sley_comm_rank(comm);
  const int64_t *y_begin = c->transpose ? r->col_begin : r->row_begin,
                *x_begin = c->transpose ? r->row_begin : r->col_begin;
  int64_t stride = r->ld * (int64_t)sley_dtype_bytes(r->dtype);
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = c->algo;
  options.reproducible = c->reproducible;
  options.transpose = c->transpose;
  options.mem_operands = c->room > 0;
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  mirror x = {0}, y = {0};
  sley_status status = sley_matrix_row_block(r->matrix, r->row_begin[rank],
                                             r->row_begin[rank + 1] - r->row_begin[rank], &block);
  if (status == SLEY_OK && c->room > 0)
    status = set_limit(comm, r, block, &options);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, r->row_begin, r->col_begin, c->k, &options, &plan);
  if (status == SLEY_OK)
    status =
        mirror_open(comm, r->x + x_begin[rank] * stride, (x_begin[rank + 1] - x_begin[rank]) * stride, &x);
  if (status == SLEY_OK)
    status =
        mirror_open(comm, r->y + y_begin[rank] * stride, (y_begin[rank + 1] - y_begin[rank]) * stride, &y);
  if (status == SLEY_OK)
    status = multiply(comm, plan, c, &x, &y, r->ld);
  sley_traffic counted;
  if (status == SLEY_OK)
    status = sley_plan_counted(plan, &counted);
  if (status == SLEY_OK && rank == 0) {
    r->out->counted = counted;
    status = sley_plan_info_get(plan, &r->out->info);
    r->out->info.reason = "";
    if (status == SLEY_OK)
      status = settled_by_timing(plan, &r->out->tuned);
  }
  sley_plan_destroy(plan);
  mirror_close(&x);
  mirror_close(&y);
  sley_matrix_destroy(block);
  return status;
}

/* Fills Y with values, or with NaN if beta is 0, since Y must then not be read. Pads get a pattern. */
static void fill_y(run *r, int64_t rows) {
  int64_t k = r->c->k;
  memset(r->y, 0xA5, (size_t)(rows * r->ld) * sley_dtype_bytes(r->dtype));
  if (r->c->beta != 0)
    assert_sley_ok(sley_dense_random(77, 0, rows, k, NULL, r->dtype, r->y, r->ld));
  for (int64_t i = 0; r->c->beta == 0 && i < rows; i++)
    memset(r->y + i * r->ld * (int64_t)sley_dtype_bytes(r->dtype), 0xFF,
           (size_t)k * sley_dtype_bytes(r->dtype));
  memcpy(r->y_start, r->y, (size_t)(rows * r->ld) * sley_dtype_bytes(r->dtype));
}

static bool pads_intact(const run *r, int64_t rows) {
  size_t value = sley_dtype_bytes(r->dtype);
  for (int64_t i = 0; i < rows; i++)
    for (size_t b = (size_t)r->c->k * value; b < (size_t)r->ld * value; b++)
      if ((unsigned char)r->y[(size_t)i * (size_t)r->ld * value + b] != 0xA5)
        return false;
  return true;
}

void spmm_case_run(const sley_matrix *matrix, const spmm_case *c, spmm_outcome *out) {
  sley_matrix_info info;
  assert_sley_ok(sley_matrix_info_get(matrix, &info));
  run r = {.matrix = matrix, .c = c, .dtype = info.dtype, .ld = c->k + c->pad, .out = out};
  memset(out, 0, sizeof *out);
  int64_t x_rows = c->transpose ? info.rows : info.cols, y_rows = c->transpose ? info.cols : info.rows;
  size_t value = sley_dtype_bytes(r.dtype), row_bytes = (size_t)r.ld * value;
  r.row_begin = malloc((size_t)(c->ranks + 1) * sizeof(int64_t));
  r.col_begin = malloc((size_t)(c->ranks + 1) * sizeof(int64_t));
  r.x = malloc((size_t)x_rows * row_bytes + 1);
  r.y = malloc((size_t)y_rows * row_bytes + 1);
  r.y_start = malloc((size_t)y_rows * row_bytes + 1);
  assert_non_null(r.y_start);
  assert_sley_ok(sley_partition_rows(matrix, c->partition, c->ranks, r.row_begin));
  if (info.rows == info.cols)
    memcpy(r.col_begin, r.row_begin, (size_t)(c->ranks + 1) * sizeof(int64_t));
  else
    assert_sley_ok(sley_partition_equal(info.cols, c->ranks, r.col_begin));
  assert_sley_ok(sley_dense_random(5, 0, x_rows, c->k, NULL, r.dtype, r.x, r.ld));
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = c->ranks;
  options.workgroup = c->workgroup;
  options.threads = c->threads;
  options.device = test_device();
  for (int pass = 0; pass < 2; pass++) {
    fill_y(&r, y_rows);
    sley_status status = sley_run_ranks(&options, one_rank, &r);
    if (status != SLEY_OK)
      fail_msg("%s on %d ranks, workgroup %d, k %lld: %s", c->algo, c->ranks, c->workgroup, (long long)c->k,
               sley_last_error());
    uint64_t bits = hash_rows(r.y, y_rows, c->k * (int64_t)value, (int64_t)row_bytes);
    out->bits_repeat = pass == 1 && bits == out->bits;
    out->bits = bits;
  }
  out->pads_intact = pads_intact(&r, y_rows);
  assert_sley_ok(sley_check_scaled(matrix, c->transpose, c->k, c->alpha, r.x, r.ld, c->beta, r.y_start, r.ld,
                                   r.y, r.ld, 1, &out->check));
  free(r.y_start);
  free(r.y);
  free(r.x);
  free(r.col_begin);
  free(r.row_begin);
}

void spmm_case_check(const sley_matrix *matrix, const spmm_case *c, spmm_outcome *out) {
  spmm_case_run(matrix, c, out);
  sley_matrix_info info;
  assert_sley_ok(sley_matrix_info_get(matrix, &info));
  char where[240];
  snprintf(where, sizeof where, "%s%s%s, %d ranks, workgroup %d, k %lld", c->algo,
           c->reproducible ? " reproducible" : "", c->transpose ? " transposed" : "", c->ranks, c->workgroup,
           (long long)c->k);
  if (!out->check.ok)
    fail_msg("%s: wrong at row %lld, column %lld: max error %g, bound %g", where, (long long)out->check.row,
             (long long)out->check.col, out->check.max_error, out->check.bound);
  if (!out->bits_repeat && !out->tuned)
    fail_msg("%s: the second run gave other bits", where);
  if (!out->pads_intact)
    fail_msg("%s: wrote beyond column k", where);
  const sley_traffic *p = &out->info.predicted, *n = &out->counted;
  if (p->direct_bytes != n->direct_bytes || p->message_bytes != n->message_bytes)
    fail_msg("%s: predicted %lld + %lld bytes, counted %lld + %lld", where, (long long)p->direct_bytes,
             (long long)p->message_bytes, (long long)n->direct_bytes, (long long)n->message_bytes);
  if (p->direct_messages != n->direct_messages || p->message_messages != n->message_messages)
    fail_msg("%s: predicted %lld + %lld messages, counted %lld + %lld", where, (long long)p->direct_messages,
             (long long)p->message_messages, (long long)n->direct_messages, (long long)n->message_messages);
  if (p->self_bytes != n->self_bytes || p->self_messages != n->self_messages)
    fail_msg("%s: predicted %lld bytes in %lld messages to the ranks themselves, counted %lld in %lld", where,
             (long long)p->self_bytes, (long long)p->self_messages, (long long)n->self_bytes,
             (long long)n->self_messages);
  int64_t row_bytes = c->k * (int64_t)sley_dtype_bytes(info.dtype),
          bytes = n->direct_bytes + n->message_bytes;
  /* devices may align rows of X, and then move them with what follows them */
  const int64_t moved_bytes = sl_up_to(row_bytes, SL_ROW_UNIT);
  int64_t x_rows = c->transpose ? info.rows : info.cols;
  if (strcmp(c->algo, "halo") == 0 && !(sl_overrides.aligns && bytes == out->info.halo_rows * moved_bytes))
    assert_int_equal(bytes, out->info.halo_rows * row_bytes); /* 4 N_R k */
  if (strncmp(c->algo, "rowwise", 7) == 0)
    assert_int_equal(bytes, out->info.remote_nnz * row_bytes); /* 4 E_R k */
  if (strncmp(c->algo, "bcast-1d", 8) == 0)
    assert_int_equal(bytes, x_rows * (c->ranks - 1) * row_bytes); /* 4 n k (P - 1) */
  if (strcmp(c->algo, "cover") == 0 && !c->reproducible) {
    assert_true(out->info.cover_rows <= out->info.halo_rows);
    if (sl_overrides.aligns && c->workgroup >= c->ranks) /* partial rows move as they are */
      assert_in_range(bytes, out->info.cover_rows * row_bytes, out->info.cover_rows * moved_bytes);
    else if (c->workgroup == 1 || c->workgroup >= c->ranks)
      assert_int_equal(bytes, out->info.cover_rows * row_bytes);
  }
}

sley_matrix *spmm_case_matrix(const char *generator, sley_dtype dtype) {
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = dtype;
  options.threads = 1;
  sley_matrix *matrix;
  assert_sley_ok(sley_matrix_read(generator, &options, &matrix));
  return matrix;
}
