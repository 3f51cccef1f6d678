/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse products of the public interface: argument checks, and a team of threads for the work below. */
#include <inttypes.h>

#include "base/structs.h"
#include "check/check.h"
#include "ops/spgemm.h"

static const char *const names[] = {[SLEY_PLUS_TIMES] = "plus-times",
                                    [SLEY_PLUS_PAIR] = "plus-pair",
                                    [SLEY_MIN_PLUS] = "min-plus",
                                    [SLEY_OR_AND] = "or-and",
                                    NULL};
enum { SEMIRINGS = sizeof names / sizeof *names - 1 };

const char *const *sley_semirings(void) {
  return names;
}

const char *sley_semiring_name(sley_semiring semiring) {
  return (int)semiring < 0 || (int)semiring >= SEMIRINGS ? NULL : names[semiring];
}

static sley_status take_options(const sley_spgemm_options *given, sley_spgemm_options *out) {
  *out = (sley_spgemm_options)SLEY_SPGEMM_OPTIONS_INIT;
  SL_TRY(sl_struct_take("sley_spgemm_options", given, sizeof *out, out));
  if (!sley_semiring_name(out->semiring))
    return sl_fail(SLEY_ERR_ARG, "unknown semiring %d: give one below %d, the number of semirings",
                   (int)out->semiring, SEMIRINGS);
  if (out->mem_limit < 0)
    return sl_fail(SLEY_ERR_ARG, "a mem_limit of %" PRId64 " bytes: it must not be negative", out->mem_limit);
  if (out->threads < 0)
    return sl_fail(SLEY_ERR_ARG, "%d threads: the number must be 1 or more, or 0 for all cores",
                   out->threads);
  if (out->ranks < 0 || out->ranks > SL_SPGEMM_RANKS_MOST)
    return sl_fail(SLEY_ERR_ARG, "%d ranks: give 0 for one, or up to %d", out->ranks, SL_SPGEMM_RANKS_MOST);
  return SLEY_OK;
}

/* Checks the shapes; *cols: columns of C. */
static sley_status check_shapes(const char *call, const sley_matrix *a, const sley_matrix *b,
                                const sley_spgemm_options *options, int64_t *cols) {
  const int64_t inner = options->transpose_b ? b->cols : b->rows;
  *cols = options->transpose_b ? b->rows : b->cols;
  if (a->cols != inner)
    return sl_fail(SLEY_ERR_ARG, "%s: A has %" PRId64 " columns and %s %" PRId64 " rows: they must be equal",
                   call, a->cols, options->transpose_b ? "B^T" : "B", inner);
  if (a->dtype != b->dtype)
    return sl_fail(SLEY_ERR_ARG, "%s: A and B have different dtypes: read or convert both to one", call);
  const sley_matrix *mask = options->mask;
  if (mask && (mask->rows != a->rows || mask->cols != *cols))
    return sl_fail(SLEY_ERR_ARG,
                   "%s: the mask is %" PRId64 " x %" PRId64 ", but the product is %" PRId64 " x %" PRId64,
                   call, mask->rows, mask->cols, a->rows, *cols);
  return SLEY_OK;
}

/* The number of threads: 1 if starting more costs more than it saves. */
static int threads_for(const sley_spgemm_options *options, const sley_matrix *a, const sley_matrix *b) {
  enum { WORTH_THREADS = 4096 };
  return a->nnz + b->nnz < WORTH_THREADS ? 1 : options->threads;
}

sley_status sley_spgemm(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                        sley_matrix **out, sley_spgemm_info *info) {
  sley_spgemm_options o;
  int64_t cols;
  if (out)
    *out = NULL;
  if (!a || !b || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_spgemm: %s is NULL", !a ? "a" : !b ? "b" : "out");
  SL_TRY(take_options(options, &o));
  SL_TRY(check_shapes("sley_spgemm", a, b, &o, &cols));
  return sl_spgemm_matrix(a, b, &o, threads_for(&o, a, b), out, info);
}

sley_status sley_check_spgemm(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                              const sley_matrix *c, sley_check *out) {
  static const char CALL[] = "sley_check_spgemm";
  sley_spgemm_options o;
  int64_t cols;
  if (!a || !b || !c || !out)
    return sl_fail(SLEY_ERR_ARG, "%s: a, b, c or out is NULL", CALL);
  SL_TRY(take_options(options, &o));
  SL_TRY(check_shapes(CALL, a, b, &o, &cols));
  if (c->rows != a->rows || c->cols != cols || c->dtype != a->dtype)
    return sl_fail(SLEY_ERR_ARG,
                   "%s: C is %" PRId64 " x %" PRId64 " or has another dtype: it must be %" PRId64
                   " x %" PRId64 " and have the dtype of A",
                   CALL, c->rows, c->cols, a->rows, cols);
  if (cols > INT32_MAX)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "%s: C has %" PRId64 " columns: at most 2^31 - 1 can be checked",
                   CALL, cols);
  sl_team *team;
  SL_TRY(sl_team_create(threads_for(&o, a, b), &team));
  const sley_status status = sl_check_spgemm(a, b, &o, c, team, out);
  sl_team_destroy(team);
  return status;
}
