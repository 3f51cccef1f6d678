/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and products: argument checks. */
#include <string.h>

#include "api/text_number.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/structs.h"
#include "ops/compare.h"
#include "ops/kernel_report.h"
#include "ops/spmm.h"
#include "transport/trace/trace.h"

/* The span of a timeline that contains all records of planning, so that a viewer can fold them. */
static const char PLANNING[] = "planning";

const char *const *sley_algorithms(void) {
  return sl_algorithm_names();
}

/* Returns the algorithm of a text NAME or NAME:KEY=VALUE,...; NULL if there is none. */
static const sl_algorithm *named(const char *algo) {
  const int place = algo ? sl_algorithm_place(algo) : -1;
  return place >= 0 ? sl_algorithms[place] : NULL;
}

const char *sley_algorithm_summary(const char *algo) {
  const sl_algorithm *found = named(algo);
  return found ? found->summary : NULL;
}

const sley_parameter *sley_algorithm_parameters(const char *algo) {
  const sl_algorithm *found = named(algo);
  return found && found->parameters ? found->parameters->table : NULL;
}

/* Checks that all ranks request the same plan; all get the error. Collective. */
static sley_status check_same(sley_comm *comm, const sley_plan_options *o) {
  enum { FIELDS = 12 };
  static const char *const name[FIELDS] = {"algo",      "reproducible", "transpose", "dry",
                                           "local",     "capture",      "wire",      "keep_input",
                                           "renewable", "kernel",       "update",    "precision"};
  const int64_t given[FIELDS] = {sl_text_number(o->algo, "auto"),
                                 o->reproducible,
                                 o->transpose,
                                 o->dry,
                                 sl_text_number(o->local, "auto"),
                                 o->capture,
                                 sl_text_number(o->wire, "none"),
                                 o->keep_input,
                                 o->renewable,
                                 sl_text_number(o->kernel, "auto"),
                                 o->update,
                                 sl_text_number(o->precision, "full")};
  return sl_agree_same(comm, NULL, name, given, FIELDS);
}

sley_status sley_plan_create(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                             const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                             sley_plan **out) {
  sley_plan_options chosen = SLEY_PLAN_OPTIONS_INIT;
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_plan_create: comm is NULL");
  sley_status status = SLEY_OK;
  if (!block || !row_begin || !col_begin || !out)
    status = sl_fail(SLEY_ERR_ARG, "sley_plan_create: block, row_begin, col_begin or out is NULL");
  else
    status = sl_struct_take("sley_plan_options", options, sizeof chosen, &chosen);
  SL_TRY(sl_agree(comm, status));
  SL_TRY(check_same(comm, &chosen));
  double begin = sl_now();
  status = sl_spmm_plan(comm, block, row_begin, col_begin, k, &chosen, out);
  sl_trace_span(sl_trace_of(comm), PLANNING, begin, sl_now(), -1);
  return status;
}

sley_status sley_plan_create_pair(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                                  const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                                  sley_plan **out, sley_plan **out_transposed) {
  sley_plan_options chosen = SLEY_PLAN_OPTIONS_INIT;
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_plan_create_pair: comm is NULL");
  sley_status status = SLEY_OK;
  if (!block || !row_begin || !col_begin || !out || !out_transposed)
    status = sl_fail(SLEY_ERR_ARG,
                     "sley_plan_create_pair: block, row_begin, col_begin, out or out_transposed is NULL");
  else
    status = sl_struct_take("sley_plan_options", options, sizeof chosen, &chosen);
  if (status == SLEY_OK && chosen.transpose)
    status = sl_fail(SLEY_ERR_ARG, "sley_plan_create_pair makes the plan of A^T anyway: leave the option "
                                   "transpose out");
  SL_TRY(sl_agree(comm, status));
  SL_TRY(check_same(comm, &chosen));
  double begin = sl_now();
  status = sl_spmm_plan_pair(comm, block, row_begin, col_begin, k, &chosen, false, out, out_transposed);
  sl_trace_span(sl_trace_of(comm), PLANNING, begin, sl_now(), -1);
  return status;
}

/* Joins the names of a comparison into one text, which all ranks compare. Freed by sl_free. */
static char *join_names(const char *const *algos, int count) {
  size_t bytes = 1;
  for (int i = 0; i < count; i++)
    bytes += strlen(algos[i]) + 1;
  char *text = sl_alloc((int64_t)bytes, 1, "names of algorithms");
  if (text)
    *text = 0;
  for (int i = 0; text && i < count; i++)
    strcat(strcat(text, algos[i]), ",");
  return text;
}

static sley_status new_comparison(const char *const *algos, sley_comparison **out, char **joined) {
  int count = 0;
  while (algos[count])
    count++;
  SL_TRY(SL_NEW_ZERO(*out, 1, "a comparison"));
  (*out)->names = algos;
  (*out)->count = count;
  SL_TRY(SL_NEW_ZERO((*out)->info, count, "a comparison"));
  *joined = join_names(algos, count);
  return *joined ? SLEY_OK : SLEY_ERR_MEMORY;
}

sley_status sley_plan_compare(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                              const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                              const char *const *algos, sley_comparison **out) {
  sley_plan_options chosen = SLEY_PLAN_OPTIONS_INIT;
  sley_comparison *made = NULL;
  char *joined = NULL;
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_plan_compare: comm is NULL");
  sley_status status = SLEY_OK;
  if (!block || !row_begin || !col_begin || !algos || !out)
    status = sl_fail(SLEY_ERR_ARG, "sley_plan_compare: block, row_begin, col_begin, algos or out is NULL");
  else
    status = sl_struct_take("sley_plan_options", options, sizeof chosen, &chosen);
  if (status == SLEY_OK)
    status = new_comparison(algos, &made, &joined);
  chosen.algo = joined;
  chosen.dry = true;
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = check_same(comm, &chosen);
  sl_free(joined);
  chosen.algo = NULL;
  double begin = sl_now();
  if (status == SLEY_OK)
    status = sl_spmm_compare(comm, block, row_begin, col_begin, k, &chosen, made);
  sl_trace_span(sl_trace_of(comm), PLANNING, begin, sl_now(), -1);
  if (status != SLEY_OK) {
    sley_comparison_destroy(made);
    return status;
  }
  made->names = NULL; /* the names belong to the caller */
  *out = made;
  return SLEY_OK;
}

sley_status sley_comparison_get(const sley_comparison *comparison, int i, sley_plan_info *out) {
  if (!comparison || !out || i < 0 || i >= comparison->count)
    return sl_fail(SLEY_ERR_ARG, "sley_comparison_get: comparison or out is NULL, or there is no plan %d", i);
  *out = comparison->info[i];
  return SLEY_OK;
}

void sley_comparison_destroy(sley_comparison *comparison) {
  if (comparison)
    sl_free(comparison->info);
  sl_free(comparison);
}

sley_status sley_plan_info_get(const sley_plan *plan, sley_plan_info *out) {
  if (!plan || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_plan_info_get: plan or out is NULL");
  sl_spmm_info(plan, out);
  return SLEY_OK;
}

sley_status sley_plan_describe(const sley_plan *plan, char **out) {
  if (!plan || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_plan_describe: plan or out is NULL");
  return sl_spmm_describe(plan, out);
}

sley_status sley_plan_trials(const sley_plan *plan, sley_trial *out, int room, int *count) {
  if (!plan || !count || room < 0 || (room > 0 && !out))
    return sl_fail(SLEY_ERR_ARG, "sley_plan_trials: plan, out or count is NULL, or room is negative");
  sl_spmm_trials(plan, out, room, count);
  return SLEY_OK;
}

sley_status sley_plan_kernels(const sley_plan *plan, sley_kernel_use *out, int room, int *count) {
  if (!plan || !count || room < 0 || (room > 0 && !out))
    return sl_fail(SLEY_ERR_ARG, "sley_plan_kernels: plan, out or count is NULL, or room is negative");
  return sl_kernel_use_of_all(plan->comm, &plan->used, out, room, count);
}

/* Checks an operand of rows x `width` values; columns: name of its width. */
static sley_status check_operand(const char *call, const char *name, const char *columns, const void *data,
                                 int64_t rows, int64_t width, int64_t ld) {
  if (ld < width)
    return sl_fail(SLEY_ERR_ARG, "%s: the leading dimension of %s is %lld, less than %s = %lld", call, name,
                   (long long)ld, columns, (long long)width);
  if (!data && rows > 0 && width > 0)
    return sl_fail(SLEY_ERR_ARG, "%s: %s is NULL", call, name);
  return SLEY_OK;
}

/* Checks the plan and the X of a call that runs k columns. */
static sley_status check_begin(const char *call, const sley_plan *plan, int64_t k, const void *x,
                               int64_t ldx) {
  if (!plan->exec)
    return sl_fail(SLEY_ERR_ARG, "%s: the plan is dry: it counts and predicts, but cannot be executed", call);
  return check_operand(call, "X", "k", x, plan->plan.x_rows, k, ldx);
}

static sley_status check_run(const char *call, const sley_plan *plan, int64_t k, const void *x, int64_t ldx,
                             const void *y, int64_t ldy) {
  SL_TRY(check_begin(call, plan, k, x, ldx));
  return check_operand(call, "Y", "k", y, plan->plan.rows, k, ldy);
}

sley_status sley_spmm(sley_plan *plan, double alpha, const void *x, int64_t ldx, double beta, void *y,
                      int64_t ldy) {
  if (!plan)
    return sl_fail(SLEY_ERR_ARG, "sley_spmm: plan is NULL");
  sley_status status = check_run("sley_spmm", plan, plan->plan.k, x, ldx, y, ldy);
  if (status != SLEY_OK)
    return sl_abort_on_error(plan->comm, status);
  return sl_spmm_execute(plan, alpha, x, ldx, beta, y, ldy);
}

sley_status sley_spmv(sley_plan *plan, double alpha, const void *x, double beta, void *y) {
  if (!plan || plan->plan.k == 1)
    return sley_spmm(plan, alpha, x, 1, beta, y, 1);
  sley_status status = sl_fail(SLEY_ERR_ARG, "sley_spmv: the plan is for %lld columns: make one for k = 1",
                               (long long)plan->plan.k);
  return sl_abort_on_error(plan->comm, status);
}

sley_status sley_spmm_input(sley_plan *plan, sley_input input, int64_t generation, double alpha,
                            const void *x, int64_t ldx, double beta, void *y, int64_t ldy) {
  if (!plan)
    return sl_fail(SLEY_ERR_ARG, "sley_spmm_input: plan is NULL");
  sley_status status = check_run("sley_spmm_input", plan, plan->plan.k, x, ldx, y, ldy);
  if (status == SLEY_OK && ((input != SLEY_CHANGED && input != SLEY_UNCHANGED) || generation < 0))
    status = sl_fail(SLEY_ERR_ARG, "sley_spmm_input: input is neither SLEY_CHANGED nor SLEY_UNCHANGED, or "
                                   "generation is negative");
  if (status != SLEY_OK)
    return sl_abort_on_error(plan->comm, status);
  return sl_spmm_execute_input(
      plan, &(sl_input){.state = input, .generation = generation, .x = x, .ldx = ldx, .alpha = alpha}, beta,
      y, ldy);
}

sley_status sley_spmm_block(sley_plan *plan, int64_t block, double alpha, const void *x, int64_t ldx,
                            double beta, void *y, int64_t ldy) {
  if (!plan)
    return sl_fail(SLEY_ERR_ARG, "sley_spmm_block: plan is NULL");
  int64_t k = plan->rest > 0 && block == plan->blocks - 1 ? plan->rest : plan->width;
  sley_status status = check_run("sley_spmm_block", plan, k, x, ldx, y, ldy);
  if (status == SLEY_OK && (block < 0 || block >= plan->blocks))
    status = sl_fail(SLEY_ERR_ARG, "sley_spmm_block: the plan has no block %lld: there are %lld",
                     (long long)block, (long long)plan->blocks);
  if (status != SLEY_OK)
    return sl_abort_on_error(plan->comm, status);
  return sl_spmm_execute_block(plan, block, alpha, x, ldx, beta, y, ldy);
}

static sley_status check_update(const sley_plan *plan, const void *x, int64_t ldx, const sley_update *update,
                                const void *z, int64_t ldz) {
  static const char CALL[] = "sley_spmm_update";
  if (!plan->plan.updates)
    return sl_fail(SLEY_ERR_ARG, "%s: the plan was not made with the option update, or is not fused", CALL);
  if (plan->plan.updates == SL_UPDATES_FUSED_ONLY && !plan->plan.figures.fuses)
    return sl_fail(SLEY_ERR_ARG, "%s: the plan is not fused on all ranks", CALL);
  if (update->n < 0)
    return sl_fail(SLEY_ERR_ARG, "%s: n is %lld: it must be 0 or more", CALL, (long long)update->n);
  SL_TRY(check_begin(CALL, plan, plan->plan.k, x, ldx));
  SL_TRY(check_operand(CALL, "W", "n", update->w, plan->plan.k, update->n, update->ldw));
  return check_operand(CALL, "Z", "n", z, plan->plan.rows, update->n, ldz);
}

sley_status sley_spmm_update(sley_plan *plan, const void *x, int64_t ldx, const sley_update *update, void *z,
                             int64_t ldz) {
  sley_update taken = SLEY_UPDATE_INIT;
  if (!plan)
    return sl_fail(SLEY_ERR_ARG, "sley_spmm_update: plan is NULL");
  sley_status status = update ? sl_struct_take("sley_update", update, sizeof taken, &taken)
                              : sl_fail(SLEY_ERR_ARG, "sley_spmm_update: update is NULL");
  if (status == SLEY_OK)
    status = check_update(plan, x, ldx, &taken, z, ldz);
  if (status != SLEY_OK)
    return sl_abort_on_error(plan->comm, status);
  sl_update of = {.w = taken.w, .n = taken.n, .ldw = taken.ldw, .beta = taken.beta, .z = z, .ldz = ldz};
  return sl_spmm_update(plan, taken.alpha, x, ldx, &of);
}

static sley_status check_values(const sley_plan *plan, const void *val) {
  if (!plan->exec || !plan->plan.renewable)
    return sl_fail(SLEY_ERR_ARG, "sley_plan_set_values: the plan %s",
                   plan->exec ? "was not made with renewable" : "is dry and holds no values");
  if (!val && plan->nnz > 0)
    return sl_fail(SLEY_ERR_ARG, "sley_plan_set_values: val is NULL");
  return SLEY_OK;
}

sley_status sley_plan_set_values(sley_plan *plan, const void *val) {
  if (!plan)
    return sl_fail(SLEY_ERR_ARG, "sley_plan_set_values: plan is NULL");
  sley_status status = check_values(plan, val);
  if (plan->values) /* collective, because the ranks exchange the values */
    status = sl_agree(plan->comm, status);
  return status == SLEY_OK ? sl_spmm_set_values(plan, val) : status;
}

sley_status sley_plan_counted(sley_plan *plan, sley_traffic *out) {
  if (!plan || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_plan_counted: plan or out is NULL");
  return sl_spmm_counted(plan, out);
}

void sley_plan_destroy(sley_plan *plan) {
  sl_spmm_plan_destroy(plan);
}
