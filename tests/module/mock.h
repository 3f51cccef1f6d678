/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the mock device: mock_device.c has its memory, queues and events, mock_kernels.c its kernels.
 */
#ifndef SLEY_TESTS_MOCK_H
#define SLEY_TESTS_MOCK_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/device.h"

/* The device that does the work. */
const sl_device_ops *mock_cpu(void);

typedef struct mock_device {
  sl_device base;
  int ordinal;
  char place[SL_PLACE_BYTES];
  struct mock_queue *queues;
  pthread_mutex_t lock; /* of the list */
  _Atomic int64_t allocations, copies, waits, launches;
} mock_device;

struct sl_event {
  _Atomic int references; /* of its owner and of work that names it */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint64_t issued, reached;
};

typedef struct mock_task {
  struct mock_task *next;
  enum { RUN, COPY, ATOMIC, RECORD, WAIT } kind;
  const sl_kernel *kernel;
  sl_kernel_args args;
  sl_spmm_matrix a;
  sl_spmm_problem problem; /* of a */
  uintptr_t *pages;        /* a copy */
  void *arrays;            /* a copy of a list of arrays */
  sl_pull_source source[SL_PULL_SOURCES];
  int pieces; /* of a pull, or of rows that a product waits for */
  int64_t piece_end[SL_PIECES_MOST];
  sl_signals signals;
  sl_offer lend[SL_PULL_SOURCES];
  void *dst;
  const void *src;
  int64_t bytes;
  sl_atomic atomic;
  sl_event *event;
  uint64_t number;
} mock_task;

typedef struct mock_queue {
  sl_queue base;
  sl_device *cpu; /* that does its work */
  sl_queue *inner;
  struct mock_queue *next; /* of the device */
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  mock_task *first, **last;
  int64_t issued, finished;
  bool closing;
} mock_queue;

/* A product, be it the one that an update begins with: args.spmm is either. */
static inline bool mock_is_product(const sl_kernel_args *args) {
  return args->op == SL_OP_SPMM || (args->op == SL_OP_UPDATE && args->update.product.problem);
}

/* NULL-terminated. */
extern const sl_kernel *const mock_kernels[];

/* That the address is in memory of a device within reach of the queue's; what: for the message. */
sley_status mock_check(const sl_queue *queue, const void *address, const char *what);

/* mock_graph.c: that of every array of an operation of graph networks. */
sley_status mock_check_graph(sl_queue *queue, const sl_kernel_args *args);

/* mock_dense.c: likewise of the dense parts. */
sley_status mock_check_dense(sl_queue *queue, const sl_kernel_args *args);

/* mock_dense.c: likewise of arrays that are compressed. */
sley_status mock_check_compressed(sl_queue *queue, const sl_kernel_args *args);

/* mock_spgemm.c: the sparse product, which allocates and waits. */
extern const sl_kernel mock_spgemm;

/* Makes X in two memories one without gaps, which the caller frees; changes run and problem so that they
 * name it. */
sley_status mock_join_x(sl_spmm_run *run, sl_spmm_problem *problem, void **out);

/* Whether the environment variable has that value. */
bool mock_environment_says(const char *name, const char *value);

/* The device's memory, its queue's copies and waits, as the operations of their names. */
sley_status mock_take(sl_device *device, int64_t bytes, const char *what, void **out);
void mock_give(sl_device *device, void *block);
sley_status mock_copy(sl_queue *queue, sl_copy_kind kind, void *dst, const void *src, int64_t bytes);
sley_status mock_queue_wait(sl_queue *queue);

/* Work for the queue's thread, which frees its pages; so does a failure. */
sley_status mock_add_task(sl_queue *queue, const mock_task *task);

#endif
