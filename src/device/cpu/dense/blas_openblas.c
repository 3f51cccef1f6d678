/* SPDX-License-Identifier: Apache-2.0 */
/* OpenBLAS through its CBLAS interface, loaded by the first dense product that asks for it. Only a build of
 * OpenBLAS with its own threads is used: its calls are thread-safe. A build without threads (Debian's
 * libopenblas0-serial 0.3.21) returns wrong results if two threads call it at once, and a build for OpenMP
 * does not keep to the number of threads that is set here. That number, one, applies to the whole process.
 *
 * Each thread that multiplies needs a buffer, which OpenBLAS allocates in the thread's first call and keeps.
 * If the allocation fails, OpenBLAS retries forever. So this file first checks that there is enough memory,
 * and allocates the buffers itself. */
#define _GNU_SOURCE
#include "device/cpu/dense/blas.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <cblas.h>

#include "base/memory.h"

enum { WITH_THREADS = 1 }; /* return value of openblas_get_parallel for a build with its own threads */

/* Bytes. BUFFER: a buffer of OpenBLAS on x86-64 and aarch64. LIBRARY: the loaded library. MARGIN: memory to
 * leave free for allocations of other threads. */
static const int64_t BUFFER = 128 << 20, LIBRARY = 64 << 20, MARGIN = 16 << 20;

static struct {
  __typeof__(cblas_sgemm) *sgemm;
  __typeof__(cblas_dgemm) *dgemm;
  __typeof__(openblas_get_parallel) *get_parallel;
  __typeof__(openblas_set_num_threads) *set_num_threads;
  void *(*take)(int); /* allocates a buffer; NULL if the library does not export the function */
  void (*give)(void *);
} openblas;
static bool opened;
static sl_error
    no_room; /* the error, if the library was not loaded because memory was missing; else SLEY_OK */

/* inside: threads in products. wanted: threads waiting to enter. buffers: buffers allocated so far. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t left;
  int inside, wanted, buffers;
} use = {.lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static bool find(void *library, const char *name, void *to) {
  void *function = dlsym(library, name);
  if (function)
    memcpy(to, &function, sizeof function);
  return function != NULL;
}

/* When OpenBLAS is loaded, it starts a thread for each processor that the loading thread may use, and each
 * such thread allocates a buffer sooner or later. So the calling thread is bound to its first processor while
 * it loads the library. */
static void *open_without_threads(void) {
  cpu_set_t before, one;
  bool known = pthread_getaffinity_np(pthread_self(), sizeof before, &before) == 0;
  CPU_ZERO(&one);
  for (size_t i = 0; i < CPU_SETSIZE && known && CPU_COUNT(&one) == 0; i++)
    if (CPU_ISSET(i, &before))
      CPU_SET(i, &one);
  bool bound = known && pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
  void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (bound)
    (void)pthread_setaffinity_np(pthread_self(), sizeof before, &before);
  return library;
}

/* Loads the library, which is never unloaded. */
static void load(void) {
  sl_error_take(sl_memory_room(LIBRARY, "OpenBLAS"), &no_room);
  if (no_room.status != SLEY_OK)
    return;
  void *library = open_without_threads();
  if (!library)
    return;
  opened = find(library, "cblas_sgemm", &openblas.sgemm) && find(library, "cblas_dgemm", &openblas.dgemm) &&
           find(library, "openblas_get_parallel", &openblas.get_parallel) &&
           find(library, "openblas_set_num_threads", &openblas.set_num_threads) &&
           openblas.get_parallel() == WITH_THREADS;
  if (!find(library, "blas_memory_alloc", &openblas.take) ||
      !find(library, "blas_memory_free", &openblas.give))
    openblas.take = NULL;
  if (opened)
    openblas.set_num_threads(1);
}

bool sl_blas_serves(int64_t ld) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return (opened || no_room.status != SLEY_OK) && ld <= INT_MAX;
}

/* Allocates buffers until there are `count`. No thread may use a buffer meanwhile. */
static sley_status take_buffers(int count) {
  void **taken;
  sley_status status = SL_NEW(taken, count, "the buffers of OpenBLAS");
  int i = 0;
  for (; i < count && status == SLEY_OK; i++) {
    if (i >= use.buffers)
      status = sl_memory_room(openblas.take ? BUFFER + MARGIN : (count - i) * BUFFER + MARGIN,
                              "a buffer of OpenBLAS, which each thread that multiplies needs");
    if (status == SLEY_OK && openblas.take)
      taken[i] = openblas.take(0);
    if (status != SLEY_OK)
      break;
  }
  if (i > use.buffers)
    use.buffers = i;
  while (openblas.take && --i >= 0)
    openblas.give(taken[i]);
  sl_free(taken);
  return status;
}

sley_status sl_blas_enter(int threads) {
  sley_status status = SLEY_OK;
  if (no_room.status != SLEY_OK)
    return sl_error_restore(&no_room);
  pthread_mutex_lock(&use.lock);
  use.wanted += threads;
  while (use.wanted > use.buffers && use.inside > 0)
    pthread_cond_wait(&use.left, &use.lock);
  if (use.wanted > use.buffers)
    status = take_buffers(use.wanted);
  if (status == SLEY_OK)
    use.inside += threads;
  else
    use.wanted -= threads;
  pthread_mutex_unlock(&use.lock);
  return status;
}

void sl_blas_leave(int threads) {
  pthread_mutex_lock(&use.lock);
  use.inside -= threads;
  use.wanted -= threads;
  pthread_cond_broadcast(&use.left);
  pthread_mutex_unlock(&use.lock);
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
