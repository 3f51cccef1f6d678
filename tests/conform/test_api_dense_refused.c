/* SPDX-License-Identifier: Apache-2.0 */
/* Dense parts of graph networks: wrong arguments are refused with messages that name them. */
#include "mirror.h"
#include "ranks.h"

/* Checks that a call was refused with a message that contains the words. The comm stays usable. */
static sley_status refused(sley_status status, const char *words) {
  if (status != SLEY_ERR_ARG || !strstr(sley_last_error(), words))
    return sl_fail(SLEY_ERR_INTERNAL, "\"%s\": status %d, %s", words, (int)status, sley_last_error());
  return SLEY_OK;
}

static sley_status refused_gemm(sley_comm *comm, double *a) {
  sley_gemm_spec g = SLEY_GEMM_SPEC_INIT;
  SL_TRY(refused(sley_gemm(NULL, &g), "comm"));
  SL_TRY(refused(sley_gemm(comm, NULL), "spec"));
  SL_TRY(sley_gemm(comm, &g));
  g.m = g.n = g.k = g.lda = g.ldb = g.ldc = 1;
  g.a = g.c = a;
  SL_TRY(refused(sley_gemm(comm, &g), "B is NULL"));
  g.b = (char *)a + 1;
  SL_TRY(refused(sley_gemm(comm, &g), "not aligned"));
  g.b = a + 1;
  g.lda = 0;
  SL_TRY(refused(sley_gemm(comm, &g), "leading dimension of A"));
  g.lda = 1;
  g.m = -1;
  SL_TRY(refused(sley_gemm(comm, &g), "-1 rows"));
  g.m = 1;
  g.dtype = (sley_dtype)7;
  SL_TRY(refused(sley_gemm(comm, &g), "dtype 7"));
  g.dtype = SLEY_F32;
  g.act = (sley_activation)9;
  SL_TRY(refused(sley_gemm(comm, &g), "activation 9"));
  g.struct_size = 4;
  SL_TRY(refused(sley_gemm(comm, &g), "struct_size"));
  g.struct_size = sizeof g + 1;
  return refused(sley_gemm(comm, &g), "struct_size");
}

static sley_status refused_others(sley_comm *comm, double *a) {
  SL_TRY(refused(sley_column_sums(NULL, SLEY_F32, 0, 0, NULL, 0, NULL), "comm"));
  SL_TRY(refused(sley_column_sums(comm, SLEY_F32, 1, 2, a, 1, a), "leading dimension"));
  SL_TRY(refused(sley_column_sums(comm, SLEY_F32, 1, 2, a, 2, NULL), "out is NULL"));
  sley_activate_grad_spec g = SLEY_ACTIVATE_GRAD_SPEC_INIT;
  SL_TRY(sley_activate_grad(comm, &g));
  g.act = SLEY_LEAKY_RELU;
  g.slope = -1;
  SL_TRY(refused(sley_activate_grad(comm, &g), "slope"));
  g.slope = 0;
  g.sums = (char *)a + 1;
  g.cols = g.ldy = g.ld_dy = g.ld_dx = 1;
  SL_TRY(refused(sley_activate_grad(comm, &g), "sums must be aligned"));
  sley_dropout_spec d = SLEY_DROPOUT_SPEC_INIT;
  d.p = 1;
  SL_TRY(refused(sley_dropout(comm, &d), "p is 1"));
  d.p = 0;
  d.act = (sley_activation)9;
  SL_TRY(refused(sley_dropout(comm, &d), "activation 9"));
  d.act = SLEY_NO_ACTIVATION;
  d.device_seed = (const uint64_t *)((uintptr_t)a + 4);
  SL_TRY(refused(sley_dropout(comm, &d), "device_seed must be aligned"));
  d.device_seed = NULL;
  d.cols = d.ld_in = d.ld_out = 1;
  d.bias = (char *)a + 1;
  SL_TRY(refused(sley_dropout(comm, &d), "bias must be aligned"));
  sley_nll_spec l = SLEY_NLL_SPEC_INIT;
  l.rows = 1;
  SL_TRY(refused(sley_nll(comm, &l), "0 classes"));
  l.classes = l.ld = 1;
  l.logits = a;
  SL_TRY(refused(sley_nll(comm, &l), "label is NULL"));
  l.rows = 0;
  l.device_scale = (const double *)((uintptr_t)a + 4);
  SL_TRY(refused(sley_nll(comm, &l), "device_scale must be aligned"));
  sley_adam_spec s = SLEY_ADAM_SPEC_INIT;
  SL_TRY(sley_adam(comm, &s));
  s.step = 0;
  SL_TRY(refused(sley_adam(comm, &s), "step is 0"));
  s.step = 1;
  s.beta2 = 1;
  SL_TRY(refused(sley_adam(comm, &s), "beta2"));
  s.beta2 = 0.5;
  s.count = 1;
  return refused(sley_adam(comm, &s), "param is NULL");
}

static sley_status refusals_main(sl_comm *comm, void *arg) {
  (void)arg;
  void *memory;
  SL_TRY(sley_comm_alloc(comm, 64, &memory));
  sley_status status = refused_gemm(comm, memory);
  if (status == SLEY_OK)
    status = refused_others(comm, memory);
  sley_comm_free(comm, memory);
  return status;
}

static void wrong_arguments_are_refused(void **state) {
  (void)state;
  rank_case c = {.transport = "threads", .ranks = 1, .workgroup = 1, .threads = 1};
  assert_case_ok(&c, run_case(&c, refusals_main, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_arguments_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
