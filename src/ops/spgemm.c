/* SPDX-License-Identifier: Apache-2.0 */
/* C = A B, or A B^T, for matrices: B is transposed if requested, the product is computed on the requested
 * device, and its arrays become a matrix. */
#include "ops/spgemm.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "ops/spgemm_device.h"

/* Sets *left to the rest of the limit, which remains for the product itself. */
static sley_status leave(int64_t limit, int64_t taken, int64_t *left) {
  *left = limit;
  if (limit == 0 || taken == 0)
    return SLEY_OK;
  if (taken >= limit)
    return sl_fail(SLEY_ERR_MEMORY,
                   "sley_spgemm: the transpose of B takes %" PRId64 " bytes: a mem_limit of %" PRId64
                   " is too low",
                   taken, limit);
  *left = limit - taken;
  return SLEY_OK;
}

static void report(const sl_spgemm_result *made, int64_t taken, sley_spgemm_info *info) {
  *info = (sley_spgemm_info){.products = made->products,
                             .nnz = made->nnz,
                             .compression = made->nnz > 0 ? (double)made->products / (double)made->nnz : 0,
                             .peak_bytes = taken + made->peak,
                             .passes = made->passes};
}

/* The device, or devices, on which a product is computed. */
typedef struct place {
  sl_queue **queue; /* queue of each rank's device */
  int ranks;
  sl_team *team; /* threads for work on the host */
  sl_team *own;  /* the same team if this struct owns it, because the devices have no teams */
} place;

static void close_place(place *p) {
  for (int rank = 0; p->queue && rank < p->ranks; rank++)
    if (p->queue[rank]) {
      sl_device *device = p->queue[rank]->device;
      device->ops->queue_destroy(p->queue[rank]);
      device->ops->close(device);
    }
  sl_free(p->queue);
  sl_team_destroy(p->own);
}

static sley_status open_rank(const sl_device_ops *ops, int ordinal, int threads, sl_queue **out) {
  sl_device *device;
  SL_TRY(ops->open(ordinal, threads, &device));
  const sley_status status = ops->queue_create(device, NULL, out);
  if (status != SLEY_OK)
    ops->close(device);
  return status;
}

static sley_status open_place(const sley_spgemm_options *options, int threads, place *p) {
  const sl_device_ops *ops;
  char note[256];
  int ordinal = 0;
  SL_TRY(sl_device_choose_one(options->device, &ops, &ordinal, note, sizeof note));
  p->ranks = options->ranks > 1 ? options->ranks : 1;
  if (p->ranks > 1 && ops->host_addresses)
    return sl_fail(SLEY_ERR_ARG,
                   "sley_spgemm: %d ranks on %s: ranks are GPUs, a process's cores are its threads", p->ranks,
                   ops->name);
  SL_TRY(SL_NEW_ZERO(p->queue, p->ranks, "the ranks of a sparse product"));
  for (int rank = 0; rank < p->ranks; rank++)
    SL_TRY(open_rank(ops, (ordinal + rank) % ops->count(), threads, &p->queue[rank]));
  if (ops->host_addresses) {
    p->team = sl_cpu_queue_team(p->queue[0]);
    return SLEY_OK;
  }
  SL_TRY(sl_team_create(threads, &p->own));
  p->team = p->own;
  for (int rank = 0; rank < p->ranks; rank++)
    p->queue[rank]->team = p->ranks > 1 ? NULL : p->own; /* only one thread at a time may use a team */
  return SLEY_OK;
}

/* Finds the library that the option names; its text is static. */
static sley_status choose_library(const char *local, const char **out) {
  static const char *const libraries[] = {"cusparse", "cusparse-alg2", "cusparse-alg3", NULL};
  *out = NULL;
  if (!local || strcmp(local, "auto") == 0 || strcmp(local, "sley") == 0)
    return SLEY_OK;
  for (const char *const *each = libraries; *each && !*out; each++)
    if (strcmp(local, *each) == 0)
      *out = *each;
  return *out ? SLEY_OK
              : sl_fail(SLEY_ERR_ARG,
                        "there are no sparse products called \"%s\": auto, sley, cusparse, cusparse-alg2 and "
                        "cusparse-alg3 are known",
                        local);
}

static sley_status multiply(const place *p, sl_spgemm_args *args) {
  if (!p->queue[0]->ops->host_addresses)
    return sl_spgemm_on_devices(p->queue, p->ranks, p->team, args);
  return sl_kernel_run(p->queue[0], &(sl_kernel_args){.op = SL_OP_SPGEMM, .spgemm = *args});
}

static sley_status multiply_there(const place *p, const sley_matrix *a, const sley_matrix *b,
                                  const sley_spgemm_options *options, sley_matrix **out,
                                  sley_spgemm_info *info) {
  sley_matrix *transposed = NULL;
  sl_spgemm_result made;
  /* The memory of the transpose counts against the limit; on GPUs the limit covers only their memory. */
  const int64_t taken = options->transpose_b && p->queue[0]->ops->host_addresses
                            ? sl_csr_bytes(b->cols, b->nnz, b->index, b->dtype)
                            : 0;
  sl_spgemm_args args = {.semiring = options->semiring, .out = &made};
  SL_TRY(choose_library(options->local, &args.library));
  SL_TRY(leave(options->mem_limit, taken, &args.limit));
  if (options->transpose_b)
    SL_TRY(sl_matrix_transpose(b, p->team, &transposed));
  sley_csr mask;
  if (options->mask) {
    mask = sl_matrix_csr(options->mask);
    args.mask = &mask;
  }
  args.a = sl_matrix_csr(a);
  args.b = sl_matrix_csr(transposed ? transposed : b);
  sley_status status = multiply(p, &args);
  if (status == SLEY_ERR_MEMORY && taken > 0 && options->mem_limit > 0)
    sl_fail_prefix(status, "besides %" PRId64 " bytes of the limit, which the transpose of B takes: ", taken);
  if (status == SLEY_OK)
    status = sl_matrix_adopt(a->rows, args.b.cols, made.index, a->dtype,
                             (sl_csr_arrays){made.rowptr, made.col, made.val}, -1, out);
  if (status == SLEY_OK && info)
    report(&made, taken, info);
  sl_matrix_destroy(transposed);
  return status;
}

sley_status sl_spgemm_matrix(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                             int threads, sley_matrix **out, sley_spgemm_info *info) {
  place p = {0};
  *out = NULL;
  sley_status status = open_place(options, threads, &p);
  if (status == SLEY_OK)
    status = multiply_there(&p, a, b, options, out, info);
  close_place(&p);
  return status;
}
