/* SPDX-License-Identifier: Apache-2.0 */
/* OpenBLAS by its CBLAS interface. Its build without threads (Debian's libopenblas-serial-dev) is thread-safe
 * and fits; one with threads is told to use one, for the whole process, since it counts them for the process.
 */
#include "device/cpu/blas.h"

#include <limits.h>
#include <pthread.h>

#include <cblas.h>

bool sl_blas_serves(int64_t ld) {
  return ld <= INT_MAX;
}

static void use_one_thread(void) {
  if (openblas_get_parallel() != 0)
    openblas_set_num_threads(1);
}

void sl_blas_keep_to_caller(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, use_one_thread);
}

static CBLAS_TRANSPOSE op(bool transpose) {
  return transpose ? CblasTrans : CblasNoTrans;
}

void sl_blas_f32(const sl_blas_product *p) {
  cblas_sgemm(CblasRowMajor, op(p->transpose_a), op(p->transpose_b), (blasint)p->m, (blasint)p->n,
              (blasint)p->k, 1, p->a, (blasint)p->lda, p->b, (blasint)p->ldb, p->add ? 1 : 0, p->p,
              (blasint)p->ldp);
}

void sl_blas_f64(const sl_blas_product *p) {
  cblas_dgemm(CblasRowMajor, op(p->transpose_a), op(p->transpose_b), (blasint)p->m, (blasint)p->n,
              (blasint)p->k, 1, p->a, (blasint)p->lda, p->b, (blasint)p->ldb, p->add ? 1 : 0, p->p,
              (blasint)p->ldp);
}
