/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse products of the public interface: argument checks, a team of threads for the work below, and the
 * matrices in tiles by which the ranks of a comm multiply. */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/structs.h"
#include "check/check.h"
#include "ops/spgemm.h"
#include "sley_tile.h"
#include "transport/transport.h"

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
  const int64_t rows = options->comm && options->b_begin ? options->b_begin[options->comm->size] : b->rows;
  const int64_t inner = options->transpose_b ? b->cols : rows;
  *cols = options->transpose_b ? rows : b->cols;
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

/* Returns the number of threads: 1 if starting more threads costs more time than it saves. */
static int threads_for(const sley_spgemm_options *options, const sley_matrix *a, const sley_matrix *b) {
  enum { WORTH_THREADS = 4096 };
  return a->nnz + b->nnz < WORTH_THREADS ? 1 : options->threads;
}

static bool is_auto(const char *word) {
  return !word || strcmp(word, "auto") == 0;
}

/* ---- by the ranks of a comm */

/* The matrices of one rank. transposed: B^T, if the product uses it. */
typedef struct tiled_product {
  const sley_spgemm_options *options;
  sley_matrix *transposed;
  sley_tiled *a, *b, *mask, *c;
} tiled_product;

static sley_status check_ranks(const sley_spgemm_options *o) {
  if (o->ranks > 1 || o->device || !(is_auto(o->local) || strcmp(o->local, "sley") == 0))
    return sl_fail(
        SLEY_ERR_ARG,
        "sley_spgemm: the ranks of a comm multiply on its device: leave out ranks, device and local");
  if (!is_auto(o->algo) && !sley_tile_algorithm_summary(o->algo))
    return sl_fail(SLEY_ERR_ARG,
                   "sley_spgemm: \"%s\" is not an algorithm in tiles, by which the ranks of a comm multiply",
                   o->algo);
  return o->transpose_b && o->b_begin
             ? sl_fail(SLEY_ERR_ARG, "sley_spgemm: transpose_b requires that b is whole on every rank")
             : SLEY_OK;
}

/* Divides A, B and the mask into tiles. Collective. */
static sley_status divide(tiled_product *p, const sley_matrix *a, const sley_matrix *b) {
  const sley_spgemm_options *o = p->options;
  sley_tiling of_a = o->tiling ? *o->tiling : (sley_tiling){0}, of_b, of_c;
  sley_status status = sley_tile_complete(o->comm->size, o->columns, &of_a, &of_b, &of_c);
  if (status == SLEY_OK && o->transpose_b)
    status = sley_matrix_transpose(b, o->threads, &p->transposed);
  SL_TRY(sl_agree(o->comm, status));
  SL_TRY(sley_tiled_create_sparse(o->comm, a, o->a_begin, &of_a, &p->a));
  SL_TRY(sley_tiled_create_sparse(o->comm, o->transpose_b ? p->transposed : b, o->b_begin, &of_b, &p->b));
  return o->mask ? sley_tiled_create_sparse(o->comm, o->mask, o->a_begin, &of_c, &p->mask) : SLEY_OK;
}

/* Returns this rank's rows of C, which has `rows` rows. Collective. */
static sley_status gather(const tiled_product *p, int64_t rows, sley_matrix **out) {
  const sley_spgemm_options *o = p->options;
  const int64_t *begin = o->c_begin ? o->c_begin : o->a_begin;
  int64_t *equal = NULL;
  sley_status status = SLEY_OK;
  if (!begin)
    status = SL_NEW(equal, (int64_t)o->comm->size + 1, "the first rows of the ranks");
  SL_TRY(sl_agree(o->comm, status));
  if (!begin)
    status = sley_partition_equal(rows, o->comm->size, equal);
  if (status == SLEY_OK)
    status = sley_tiled_get_matrix(p->c, begin ? begin : equal, out);
  sl_free(equal);
  return status;
}

static sley_status multiply(tiled_product *p, const sley_matrix *a, const sley_matrix *b, sley_matrix **out,
                            sley_spgemm_info *info) {
  const sley_spgemm_options *o = p->options;
  sley_tile_spgemm_options options = SLEY_TILE_SPGEMM_OPTIONS_INIT;
  sley_tile_report report;
  SL_TRY(divide(p, a, b));
  options.semiring = o->semiring;
  options.algo = is_auto(o->algo) ? NULL : o->algo;
  options.buffers = o->buffers;
  options.mask = p->mask;
  options.mem_limit = o->mem_limit;
  SL_TRY(sley_tile_spgemm(p->a, p->b, &options, &p->c, &report));
  SL_TRY(gather(p, a->rows, out));
  if (info)
    *info = (sley_spgemm_info){.products = report.flops / 2, .nnz = (*out)->nnz};
  return SLEY_OK;
}

/* status: result of the checks of this rank's arguments. Collective. */
static sley_status spgemm_by_ranks(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *o,
                                   sley_status status, sley_matrix **out, sley_spgemm_info *info) {
  static const char *const compared[] = {"transpose_b", "the presence of a mask, a_begin, b_begin or c_begin"};
  tiled_product p = {.options = o};
  sl_error kept;
  SL_TRY(sl_agree(o->comm, status == SLEY_OK ? check_ranks(o) : status));
  const int64_t present =
      (o->mask != NULL) + 2 * (o->a_begin != NULL) + 4 * (o->b_begin != NULL) + 8 * (o->c_begin != NULL);
  SL_TRY(sl_agree_same(o->comm, "sley_spgemm", compared, (const int64_t[]){o->transpose_b, present}, 2));
  status = multiply(&p, a, b, out, info);
  sl_error_take(status, &kept); /* clean-up of several ranks may set another error */
  sley_tiled_destroy(p.c);
  sley_tiled_destroy(p.mask);
  sley_tiled_destroy(p.b);
  sley_tiled_destroy(p.a);
  sley_matrix_destroy(p.transposed);
  return status == SLEY_OK ? SLEY_OK : sl_error_restore(&kept);
}

/* ---- the calls */

static sley_status check_operands(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *o,
                                  sley_matrix **out) {
  int64_t cols;
  if (!a || !b || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_spgemm: %s is NULL", !a ? "a" : !b ? "b" : "out");
  return check_shapes("sley_spgemm", a, b, o, &cols);
}

sley_status sley_spgemm(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                        sley_matrix **out, sley_spgemm_info *info) {
  sley_spgemm_options o;
  if (out)
    *out = NULL;
  sley_status status = take_options(options, &o);
  if (status == SLEY_OK)
    status = check_operands(a, b, &o, out);
  if (o.comm)
    return spgemm_by_ranks(a, b, &o, status, out, info);
  SL_TRY(status);
  if (!is_auto(o.algo) && strcmp(o.algo, "rows") != 0)
    return sl_fail(
        SLEY_ERR_ARG,
        "sley_spgemm: no algorithm \"%s\" in one process, which has auto and rows; the others need a comm",
        o.algo);
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
  o.comm = NULL; /* the check compares whole matrices, without a comm */
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
