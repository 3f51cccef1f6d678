/* SPDX-License-Identifier: Apache-2.0 */
/* OpenBLAS by its CBLAS interface, opened when the first dense product asks for it: a build with threads
 * starts them as soon as it is loaded. Only such a build serves: its calls are thread-safe, while those of
 * one without threads (Debian's libopenblas0-serial 0.3.21) give wrong results where two threads make them at
 * once. It is told to use one thread, which it counts for the whole process. One built for OpenMP does not
 * keep to that number. */
#include "device/cpu/blas.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include <cblas.h>

enum { WITH_THREADS = 1 }; /* what openblas_get_parallel says of a build with threads of its own */

static struct {
  __typeof__(cblas_sgemm) *sgemm;
  __typeof__(cblas_dgemm) *dgemm;
  __typeof__(openblas_get_parallel) *get_parallel;
  __typeof__(openblas_set_num_threads) *set_num_threads;
} openblas;
static bool opened;

static bool find(void *library, const char *name, void *to) {
  void *function = dlsym(library, name);
  if (function)
    memcpy(to, &function, sizeof function);
  return function != NULL;
}

/* The library stays open. */
static void load(void) {
  void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return;
  opened = find(library, "cblas_sgemm", &openblas.sgemm) && find(library, "cblas_dgemm", &openblas.dgemm) &&
           find(library, "openblas_get_parallel", &openblas.get_parallel) &&
           find(library, "openblas_set_num_threads", &openblas.set_num_threads) &&
           openblas.get_parallel() == WITH_THREADS;
  if (opened)
    openblas.set_num_threads(1);
}

bool sl_blas_serves(int64_t ld) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return opened && ld <= INT_MAX;
}

static CBLAS_TRANSPOSE op(bool transpose) {
  return transpose ? CblasTrans : CblasNoTrans;
}

void sl_blas_f32(const sl_blas_product *p) {
  openblas.sgemm(CblasRowMajor, op(p->transpose_a), op(p->transpose_b), (blasint)p->m, (blasint)p->n,
                 (blasint)p->k, 1, p->a, (blasint)p->lda, p->b, (blasint)p->ldb, p->add ? 1 : 0, p->p,
                 (blasint)p->ldp);
}

void sl_blas_f64(const sl_blas_product *p) {
  openblas.dgemm(CblasRowMajor, op(p->transpose_a), op(p->transpose_b), (blasint)p->m, (blasint)p->n,
                 (blasint)p->k, 1, p->a, (blasint)p->lda, p->b, (blasint)p->ldb, p->add ? 1 : 0, p->p,
                 (blasint)p->ldp);
}
