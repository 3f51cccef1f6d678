/* SPDX-License-Identifier: Apache-2.0 */
/* The dense parts of graph networks in the public interface: argument checks, and calls of the device's
 * kernels. */
#include "base/interrupt.h"
#include "base/structs.h"
#include "base/value.h"
#include "ops/adam.h"
#include "transport/transport.h"

/* A matrix as the caller stores and passes it. */
typedef struct matrix {
  const char *name;
  const void *data;
  int64_t rows, cols, ld;
} matrix;

static sley_status check_dtype(const char *call, sley_dtype dtype) {
  return sley_dtype_bytes(dtype) != 0 ? SLEY_OK
                                      : sl_fail(SLEY_ERR_ARG, "%s: there is no dtype %d", call, (int)dtype);
}

/* Checks that count values are present and aligned to `bytes`. */
static sley_status check_array(const char *call, const char *name, const void *data, int64_t count,
                               size_t bytes) {
  if (count > 0 && !data)
    return sl_fail(SLEY_ERR_ARG, "%s: %s is NULL", call, name);
  if (count > 0 && (uintptr_t)data % bytes != 0)
    return sl_fail(SLEY_ERR_ARG, "%s: %s must be aligned to the %zu bytes of a value", call, name, bytes);
  return SLEY_OK;
}

static sley_status check_matrix(const char *call, const matrix *m, sley_dtype dtype) {
  int64_t bytes;
  if (m->rows < 0 || m->cols < 0)
    return sl_fail(SLEY_ERR_ARG, "%s: %s has %lld rows and %lld columns: neither may be negative", call,
                   m->name, (long long)m->rows, (long long)m->cols);
  if (m->ld < m->cols)
    return sl_fail(SLEY_ERR_ARG, "%s: the leading dimension of %s is %lld, less than its %lld columns", call,
                   m->name, (long long)m->ld, (long long)m->cols);
  if (__builtin_mul_overflow(m->ld, (int64_t)sley_dtype_bytes(dtype), &bytes) ||
      __builtin_mul_overflow(bytes, m->rows, &bytes))
    return sl_fail(SLEY_ERR_ARG, "%s: %s has more than 2^63 bytes", call, m->name);
  return check_array(call, m->name, m->data, m->rows > 0 ? m->cols : 0, sley_dtype_bytes(dtype));
}

static sley_status check_matrices(const char *call, const matrix *all, int count, sley_dtype dtype) {
  SL_TRY(check_dtype(call, dtype));
  for (int i = 0; i < count; i++)
    SL_TRY(check_matrix(call, &all[i], dtype));
  return SLEY_OK;
}

static sley_status check_activation(const char *call, sley_activation act) {
  return (unsigned)act <= SLEY_ELU ? SLEY_OK
                                   : sl_fail(SLEY_ERR_ARG, "%s: there is no activation %d", call, (int)act);
}

/* Copies the caller's spec over the defaults in out. */
static sley_status take(const char *call, const char *type, const sley_comm *comm, const void *spec,
                        size_t known, void *out) {
  if (!comm || !spec)
    return sl_fail(SLEY_ERR_ARG, "%s: comm or spec is NULL", call);
  return sl_struct_take(type, spec, known, out);
}

static sley_status run(sley_comm *comm, const sl_kernel_args *args) {
  SL_TRY(sl_interrupted());
  return sl_kernel_run(comm->queue, args);
}

sley_status sley_gemm(sley_comm *comm, const sley_gemm_spec *spec) {
  static const char CALL[] = "sley_gemm";
  sley_gemm_spec s = SLEY_GEMM_SPEC_INIT;
  SL_TRY(take(CALL, "sley_gemm_spec", comm, spec, sizeof s, &s));
  const bool reads = s.alpha != 0;
  const matrix all[] = {
      {"A", s.a, s.transpose_a ? s.k : s.m, s.transpose_a ? s.m : s.k, s.lda},
      {"B", s.b, s.transpose_b ? s.n : s.k, s.transpose_b ? s.k : s.n, s.ldb},
  };
  const matrix c = {"C", s.c, s.m, s.n, s.ldc};
  SL_TRY(check_matrices(CALL, &c, 1, s.dtype));
  if (s.k < 0)
    return sl_fail(SLEY_ERR_ARG, "%s: k is %lld: it must be 0 or more", CALL, (long long)s.k);
  if (reads)
    SL_TRY(check_matrices(CALL, all, 2, s.dtype));
  if (s.bias)
    SL_TRY(check_array(CALL, "bias", s.bias, s.n, sley_dtype_bytes(s.dtype)));
  SL_TRY(check_activation(CALL, s.act));
  return run(comm, &(sl_kernel_args){.op = SL_OP_GEMM,
                                     .gemm = {.dtype = s.dtype,
                                              .transpose_a = s.transpose_a,
                                              .transpose_b = s.transpose_b,
                                              .in_order = s.in_order,
                                              .tf32 = s.tf32,
                                              .m = s.m,
                                              .n = s.n,
                                              .k = s.k,
                                              .alpha = s.alpha,
                                              .beta = s.beta,
                                              .a = s.a,
                                              .b = s.b,
                                              .lda = s.lda,
                                              .ldb = s.ldb,
                                              .c = s.c,
                                              .ldc = s.ldc,
                                              .bias = s.bias,
                                              .act = s.act,
                                              .slope = s.slope}});
}

sley_status sley_column_sums(sley_comm *comm, sley_dtype dtype, int64_t rows, int64_t cols, const void *x,
                             int64_t ldx, void *out) {
  static const char CALL[] = "sley_column_sums";
  const matrix all = {"x", x, rows, cols, ldx};
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "%s: comm is NULL", CALL);
  SL_TRY(check_matrices(CALL, &all, 1, dtype));
  SL_TRY(check_array(CALL, "out", out, cols, sley_dtype_bytes(dtype)));
  return run(
      comm, &(sl_kernel_args){
                .op = SL_OP_COLUMN_SUMS,
                .column_sums = {.dtype = dtype, .rows = rows, .cols = cols, .x = x, .ldx = ldx, .out = out}});
}

sley_status sley_activate_grad(sley_comm *comm, const sley_activate_grad_spec *spec) {
  static const char CALL[] = "sley_activate_grad";
  sley_activate_grad_spec s = SLEY_ACTIVATE_GRAD_SPEC_INIT;
  SL_TRY(take(CALL, "sley_activate_grad_spec", comm, spec, sizeof s, &s));
  const matrix all[] = {{"y", s.y, s.rows, s.cols, s.ldy},
                        {"dy", s.dy, s.rows, s.cols, s.ld_dy},
                        {"dx", s.dx, s.rows, s.cols, s.ld_dx}};
  SL_TRY(check_matrices(CALL, all, 3, s.dtype));
  SL_TRY(check_activation(CALL, s.act));
  if (s.sums)
    SL_TRY(check_array(CALL, "sums", s.sums, s.cols, sley_dtype_bytes(s.dtype)));
  if ((s.act == SLEY_LEAKY_RELU || s.act == SLEY_ELU) && !(s.slope >= 0))
    return sl_fail(SLEY_ERR_ARG,
                   "%s: slope is %g: it must be 0 or more, so that the output has the sign of the input",
                   CALL, s.slope);
  return run(comm, &(sl_kernel_args){.op = SL_OP_ACTIVATE_GRAD,
                                     .activate_grad = {.dtype = s.dtype,
                                                       .act = s.act,
                                                       .slope = s.slope,
                                                       .rows = s.rows,
                                                       .cols = s.cols,
                                                       .y = s.y,
                                                       .dy = s.dy,
                                                       .ldy = s.ldy,
                                                       .lddy = s.ld_dy,
                                                       .dx = s.dx,
                                                       .lddx = s.ld_dx,
                                                       .scale = s.scale,
                                                       .sums = s.sums}});
}

sley_status sley_dropout(sley_comm *comm, const sley_dropout_spec *spec) {
  static const char CALL[] = "sley_dropout";
  sley_dropout_spec s = SLEY_DROPOUT_SPEC_INIT;
  SL_TRY(take(CALL, "sley_dropout_spec", comm, spec, sizeof s, &s));
  const matrix all[] = {{"in", s.in, s.rows, s.cols, s.ld_in}, {"out", s.out, s.rows, s.cols, s.ld_out}};
  SL_TRY(check_matrices(CALL, all, 2, s.dtype));
  if (!(s.p >= 0 && s.p < 1))
    return sl_fail(SLEY_ERR_ARG, "%s: p is %g: it must be 0 or more and less than 1", CALL, s.p);
  if (s.cols > INT64_C(1) << 34)
    return sl_fail(SLEY_ERR_ARG, "%s: %lld columns are too many: at most 2^34 are possible", CALL,
                   (long long)s.cols);
  if (s.row)
    SL_TRY(check_array(CALL, "row", s.row, s.rows, sizeof *s.row));
  SL_TRY(check_array(CALL, "device_seed", s.device_seed, s.device_seed != NULL, sizeof *s.device_seed));
  if (s.bias)
    SL_TRY(check_array(CALL, "bias", s.bias, s.cols, sley_dtype_bytes(s.dtype)));
  SL_TRY(check_activation(CALL, s.act));
  return run(comm, &(sl_kernel_args){.op = SL_OP_DROPOUT,
                                     .dropout = {.dtype = s.dtype,
                                                 .p = s.p,
                                                 .seed = s.seed,
                                                 .stream = s.stream,
                                                 .rows = s.rows,
                                                 .cols = s.cols,
                                                 .first_row = s.first_row,
                                                 .row = s.row,
                                                 .in = s.in,
                                                 .ld_in = s.ld_in,
                                                 .out = s.out,
                                                 .ld_out = s.ld_out,
                                                 .device_seed = s.device_seed,
                                                 .bias = s.bias,
                                                 .act = s.act,
                                                 .slope = s.slope}});
}

static sley_status check_nll(const char *call, const sley_nll_spec *s) {
  const matrix all[] = {
      {"logits", s->logits, s->rows, s->classes, s->ld},
      {"grad", s->grad, s->rows, s->classes, s->ld_grad},
      {"log_probs", s->log_probs, s->rows, s->classes, s->ld_log_probs},
  };
  SL_TRY(check_matrices(call, all, 1, s->dtype));
  if (s->classes > INT32_MAX || (s->classes == 0 && s->rows > 0))
    return sl_fail(SLEY_ERR_ARG,
                   "%s: the number of classes is %lld: it must be at least 1 and less than 2^31", call,
                   (long long)s->classes);
  if (s->grad)
    SL_TRY(check_matrix(call, &all[1], s->dtype));
  if (s->log_probs)
    SL_TRY(check_matrix(call, &all[2], s->dtype));
  SL_TRY(check_array(call, "label", s->label, s->rows, sizeof *s->label));
  SL_TRY(check_array(call, "row_loss", s->row_loss, s->row_loss != NULL, sizeof *s->row_loss));
  SL_TRY(check_array(call, "sums", s->sums, s->sums != NULL, sizeof *s->sums));
  return check_array(call, "device_scale", s->device_scale, s->device_scale != NULL, sizeof *s->device_scale);
}

sley_status sley_nll(sley_comm *comm, const sley_nll_spec *spec) {
  static const char CALL[] = "sley_nll";
  sley_nll_spec s = SLEY_NLL_SPEC_INIT;
  SL_TRY(take(CALL, "sley_nll_spec", comm, spec, sizeof s, &s));
  SL_TRY(check_nll(CALL, &s));
  return run(comm, &(sl_kernel_args){.op = SL_OP_NLL,
                                     .nll = {.dtype = s.dtype,
                                             .rows = s.rows,
                                             .classes = s.classes,
                                             .logits = s.logits,
                                             .ld = s.ld,
                                             .label = s.label,
                                             .grad_scale = s.grad_scale,
                                             .row_loss = s.row_loss,
                                             .sums = s.sums,
                                             .grad = s.grad,
                                             .ld_grad = s.ld_grad,
                                             .log_probs = s.log_probs,
                                             .ld_log_probs = s.ld_log_probs,
                                             .device_scale = s.device_scale}});
}

static sley_status check_adam(const char *call, const sley_adam_spec *s) {
  const size_t value = sley_dtype_bytes(s->dtype), sum = sley_dtype_bytes(sl_sum_dtype(s->dtype));
  SL_TRY(check_dtype(call, s->dtype));
  if (s->count < 0 || s->count > INT64_MAX / (int64_t)sum)
    return sl_fail(SLEY_ERR_ARG,
                   "%s: count is %lld: it must be 0 or more, and small enough that the values fit in memory",
                   call, (long long)s->count);
  if (s->step < 1)
    return sl_fail(SLEY_ERR_ARG, "%s: step is %lld: it must be 1 or more", call, (long long)s->step);
  if (!(s->beta1 >= 0 && s->beta1 < 1 && s->beta2 >= 0 && s->beta2 < 1 && s->eps >= 0))
    return sl_fail(
        SLEY_ERR_ARG,
        "%s: beta1 is %g, beta2 %g, eps %g: betas must be at least 0 and less than 1, and eps at least 0",
        call, s->beta1, s->beta2, s->eps);
  SL_TRY(check_array(call, "param", s->param, s->count, value));
  SL_TRY(check_array(call, "grad", s->grad, s->count, value));
  SL_TRY(check_array(call, "m", s->m, s->count, sum));
  SL_TRY(check_array(call, "v", s->v, s->count, sum));
  return check_array(call, "master", s->master, s->master ? s->count : 0, sum);
}

sley_status sley_adam(sley_comm *comm, const sley_adam_spec *spec) {
  static const char CALL[] = "sley_adam";
  sley_adam_spec s = SLEY_ADAM_SPEC_INIT;
  SL_TRY(take(CALL, "sley_adam_spec", comm, spec, sizeof s, &s));
  SL_TRY(check_adam(CALL, &s));
  SL_TRY(sl_interrupted());
  return sl_adam(comm, &s);
}
