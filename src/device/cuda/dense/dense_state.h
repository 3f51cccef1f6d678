/* SPDX-License-Identifier: Apache-2.0 */
/* State that a queue keeps for dense operations, created by the first of them. */
#ifndef SLEY_DEVICE_CUDA_DENSE_DENSE_STATE_H
#define SLEY_DEVICE_CUDA_DENSE_DENSE_STATE_H

#include "device/cuda/cuda.h"

enum { SL_CUDA_WORKSPACE_BYTES = 32 << 20 }; /* recommended size for cuBLASLt on Hopper */

typedef struct sl_cublaslt_products sl_cublaslt_products;

struct sl_cuda_dense_state {
  void *workspace;
  sl_cublaslt_products *products; /* NULL until first used; defined in gemm_cublaslt.c */
  void (*products_release)(sl_cublaslt_products *products);
};

/* Returns the queue's state. Errors: SLEY_ERR_MEMORY. */
sley_status sl_cuda_dense_state_of(sl_queue *queue, sl_cuda_dense_state **out);

#endif
