/* SPDX-License-Identifier: Apache-2.0 */
/* OpenBLAS by its CBLAS interface, opened when the first dense product asks for it. Only a build with threads
 * of its own serves: its calls are thread-safe, while those of one without threads (Debian's
 * libopenblas0-serial 0.3.21) give wrong results where two threads make them at once. It is told to use one
 * thread, which it counts for the whole process. One built for OpenMP does not keep to that number.
 *
 * Each thread that multiplies needs a buffer, which OpenBLAS takes in its first call and keeps for later
 * ones. Where it gets no memory for one it tries again without end: so there must be room before, and the
 * buffers are taken here. */
#define _GNU_SOURCE
#include "device/cpu/dense/blas.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <cblas.h>

#include "base/memory.h"

enum { WITH_THREADS = 1 }; /* what openblas_get_parallel says of a build with threads of its own */

/* Bytes: of a buffer, as OpenBLAS is built for x86-64 and aarch64; of the library as it is loaded; what must
 * be left beside them, for what other threads allocate meanwhile. */
static const int64_t BUFFER = 128 << 20, LIBRARY = 64 << 20, MARGIN = 16 << 20;

static struct {
  __typeof__(cblas_sgemm) *sgemm;
  __typeof__(cblas_dgemm) *dgemm;
  __typeof__(openblas_get_parallel) *get_parallel;
  __typeof__(openblas_set_num_threads) *set_num_threads;
  void *(*take)(int); /* a buffer; NULL: that cannot be asked for */
  void (*give)(void *);
} openblas;
static bool opened;
static sl_error no_room; /* why it has not been opened, if that was for memory; else SLEY_OK */

/* Threads in products, and of those that wait to begin; how many buffers there are. */
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

/* OpenBLAS starts a thread for each processor that the thread may use which loads it, and each takes a buffer
 * at some time: this one may use the first of its processors until it has. */
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

/* The library stays open. */
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

/* So many buffers. No thread has one meanwhile. */
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
