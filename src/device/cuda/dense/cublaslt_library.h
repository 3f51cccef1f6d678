/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLASLt, opened at run time. If it is missing, Sley's own kernels multiply. */
#ifndef SLEY_DEVICE_CUDA_DENSE_CUBLASLT_LIBRARY_H
#define SLEY_DEVICE_CUDA_DENSE_CUBLASLT_LIBRARY_H

#include <cublasLt.h>

#include "base/status.h"

/* The functions used here, each under its name without the prefix. */
typedef struct sl_cublaslt {
  __typeof__(cublasLtGetStatusString) *GetStatusString;
  __typeof__(cublasLtCreate) *Create;
  __typeof__(cublasLtDestroy) *Destroy;
  __typeof__(cublasLtMatmul) *Matmul;
  __typeof__(cublasLtMatmulDescCreate) *MatmulDescCreate;
  __typeof__(cublasLtMatmulDescDestroy) *MatmulDescDestroy;
  __typeof__(cublasLtMatmulDescSetAttribute) *MatmulDescSetAttribute;
  __typeof__(cublasLtMatrixLayoutCreate) *MatrixLayoutCreate;
  __typeof__(cublasLtMatrixLayoutDestroy) *MatrixLayoutDestroy;
  __typeof__(cublasLtMatmulPreferenceCreate) *MatmulPreferenceCreate;
  __typeof__(cublasLtMatmulPreferenceDestroy) *MatmulPreferenceDestroy;
  __typeof__(cublasLtMatmulPreferenceSetAttribute) *MatmulPreferenceSetAttribute;
  __typeof__(cublasLtMatmulAlgoGetHeuristic) *MatmulAlgoGetHeuristic;
} sl_cublaslt;

/* Opens libcublasLt.so of the toolkit's major version; later calls return the same table. NULL: the library
 * is missing or lacks a function. */
const sl_cublaslt *sl_cublaslt_find(void);

#endif
