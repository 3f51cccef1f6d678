/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products on the device: launchers in gemm.cu, and what a queue keeps for products by
 * cuBLASLt. */
#ifndef SLEY_DEVICE_CUDA_DENSE_GEMM_H
#define SLEY_DEVICE_CUDA_DENSE_GEMM_H

#include "device/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The whole operation, with terms added in ascending order. */
sley_status sl_cuda_gemm_in_order(sl_queue *queue, const sl_gemm_args *args);

/* Sets C to act(C + bias), after a library's product; m and n at least 1. */
sley_status sl_cuda_gemm_finish(sl_queue *queue, const sl_gemm_args *args);

#ifdef __cplusplus
}
#endif
#endif
