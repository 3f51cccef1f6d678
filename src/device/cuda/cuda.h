/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the cuda device, shared by its C and CUDA files. */
#ifndef SLEY_DEVICE_CUDA_CUDA_H
#define SLEY_DEVICE_CUDA_CUDA_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "device/device.h"
#include "device/op/op_common.h"

typedef struct sl_cuda_staging sl_cuda_staging;
typedef struct sl_cuda_pool sl_cuda_pool;               /* pool.h */
typedef struct sl_cuda_dense_state sl_cuda_dense_state; /* dense_state.h */
typedef struct sl_cuda_spgemm_kept sl_cuda_spgemm_kept; /* spgemm/kept.h */

typedef struct sl_cuda_device {
  sl_device base;
  int ordinal;
  int least, greatest; /* priorities of streams */
  sl_cuda_staging *staging;
  sl_cuda_pool *pool;                    /* NULL: the GPU has no memory pools */
  sl_device_counters counted;            /* changed by atomic operations only */
  char text[512], place[SL_PLACE_BYTES]; /* place: its PCI address */
} sl_cuda_device;

typedef struct sl_cuda_queue {
  sl_queue base;
  cudaStream_t stream;                    /* stream of the queue's work: its own stream, or the caller's */
  cudaStream_t own;                       /* the queue's own stream; NULL until first used */
  cudaEvent_t moved;                      /* orders the streams when the queue moves to another */
  sl_cuda_dense_state *dense;             /* state of dense operations; NULL until first used */
  void (*dense_release)(sl_queue *queue); /* function that frees dense; NULL if there is no such state */
  sl_cuda_spgemm_kept *spgemm;            /* state of sparse products; NULL until first used */
  void (*spgemm_release)(sl_queue *queue);
} sl_cuda_queue;

extern const sl_device_ops sl_cuda_ops;

/* The device's kernels, NULL-terminated. */
extern const sl_kernel *const sl_cuda_kernels[];

/* Returns SLEY_OK, or the status for an error of the runtime with a message that includes `what`. Clears the
 * runtime's error. */
sley_status sl_cuda_check(cudaError_t error, const char *what);

/* Pinned buffers of the current GPU, for copies of at least 1 MiB by a queue with threads that fill the
 * buffers. sl_cuda_staging_suits returns whether a copy qualifies. The copy runs in the queue's order; src
 * may be reused when it returns. */
sley_status sl_cuda_staging_create(sl_cuda_staging **out);
void sl_cuda_staging_destroy(sl_cuda_staging *staging);
bool sl_cuda_staging_suits(const sl_queue *queue, int64_t bytes);
sley_status sl_cuda_staging_copy(sl_cuda_staging *staging, sl_queue *queue, void *dst, const void *src,
                                 int64_t bytes);

/* 32 MiB of device memory in which dense operations on the queue accumulate sums, one operation after the
 * other. Allocated by the first call, freed with the queue. Errors: SLEY_ERR_MEMORY. */
sley_status sl_cuda_workspace(sl_queue *queue, void **out);

/* Makes the device current for the calling thread. */
sley_status sl_cuda_use(const sl_device *device);

/* Called after a kernel was launched on the queue: counts it, and returns an error if the launch failed. */
sley_status sl_cuda_launched(sl_queue *queue, const char *kernel);

static inline cudaStream_t sl_cuda_stream(const sl_queue *queue) {
  return ((const sl_cuda_queue *)queue)->stream;
}

static inline int sl_cuda_processors(const sl_queue *queue) {
  return (int)queue->device->figures.processors;
}

/* Launchers in cuda_rows.cu, for the kernels of cuda_rows.c. They are not called without rows or bytes,
 * except for a pull that has pieces to report. */
/* align.cu. Whether the rows are neighbours that are copied to multiples of 16 bytes, in words of `width`
 * bytes; and their copy. */
bool sl_cuda_rows_align(const sl_rows_args *args, int width);
sley_status sl_cuda_launch_align(sl_queue *queue, const sl_rows_args *args, int width);

sley_status sl_cuda_launch_rows(sl_queue *queue, const sl_rows_args *args);
sley_status sl_cuda_launch_pull(sl_queue *queue, const sl_pull_args *args);
sley_status sl_cuda_launch_arrive(sl_queue *queue, const sl_arrive_args *args);
sley_status sl_cuda_launch_scale(sl_queue *queue, const sl_scale_args *args);
sley_status sl_cuda_launch_round(sl_queue *queue, const sl_round_args *args);

/* Launcher in cuda_convert.cu, for two different types and at least one value. */
sley_status sl_cuda_launch_convert(sl_queue *queue, const sl_convert_args *args);

/* Launchers in cuda_inspect.cu, for blocks that are not empty. */
sley_status sl_cuda_launch_columns(sl_queue *queue, const sl_columns_args *args);
sley_status sl_cuda_launch_needs(sl_queue *queue, const sl_needs_args *args);
sley_status sl_cuda_launch_tally(sl_queue *queue, const sl_tally_args *args);
sley_status sl_cuda_launch_cut(sl_queue *queue, const sl_cut_args *args);

/* In pull.cu: the fastest kernel for pulls, and whether it accepts the arguments. */
bool sl_cuda_is_plain_pull(const sl_pull_args *args);
sley_status sl_cuda_launch_plain_pull(sl_queue *queue, const sl_pull_args *args);

/* In atomic.cu: an atomic operation on one word. */
sley_status sl_cuda_launch_atomic(sl_queue *queue, const sl_atomic *args);

/* Launchers in signals.cu. */
sley_status sl_cuda_launch_pull_signalled(sl_queue *queue, const sl_pull_args *args);
sley_status sl_cuda_launch_await(sl_queue *queue, const sl_await_args *args);

/* A sparse matrix in device memory. */
typedef struct sl_cuda_csr {
  int64_t rows;
  int64_t first; /* rowptr[0]: number of the first entry in col and val */
  const int64_t *rowid, *rowptr;
  const void *col, *val;
} sl_cuda_csr;

/* Launcher in spmm/plain.cu: any width, type and stride, in stored order, one warp per row. */
sley_status sl_cuda_launch_spmm_plain(sl_queue *queue, const sl_spmm_run *args, const sl_cuda_csr *a);

#ifdef __cplusplus
}
#endif
#endif
