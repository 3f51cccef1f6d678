/* SPDX-License-Identifier: Apache-2.0 */
/* cuSPARSE, opened at run time. Only kernels that a user requests by the name cuSPARSE need it. */
#ifndef SLEY_DEVICE_CUDA_RUNTIME_CUSPARSE_LIBRARY_H
#define SLEY_DEVICE_CUDA_RUNTIME_CUSPARSE_LIBRARY_H

#include <cusparse.h>

#include "base/status.h"

/* The functions used here, each under its name without the prefix. */
typedef struct sl_cusparse {
  __typeof__(cusparseGetErrorString) *GetErrorString;
  __typeof__(cusparseCreate) *Create;
  __typeof__(cusparseDestroy) *Destroy;
  __typeof__(cusparseSetStream) *SetStream;
  __typeof__(cusparseCreateCsr) *CreateCsr;
  __typeof__(cusparseDestroySpMat) *DestroySpMat;
  __typeof__(cusparseCreateDnMat) *CreateDnMat;
  __typeof__(cusparseDnMatSetValues) *DnMatSetValues;
  __typeof__(cusparseDestroyDnMat) *DestroyDnMat;
  __typeof__(cusparseSpMM_bufferSize) *SpMM_bufferSize;
  __typeof__(cusparseSpMM_preprocess) *SpMM_preprocess;
  __typeof__(cusparseSpMM) *SpMM;
  __typeof__(cusparseSpMatGetSize) *SpMatGetSize;
  __typeof__(cusparseCsrSetPointers) *CsrSetPointers;
  __typeof__(cusparseSpGEMM_createDescr) *SpGEMM_createDescr;
  __typeof__(cusparseSpGEMM_destroyDescr) *SpGEMM_destroyDescr;
  __typeof__(cusparseSpGEMM_workEstimation) *SpGEMM_workEstimation;
  __typeof__(cusparseSpGEMM_getNumProducts) *SpGEMM_getNumProducts;
  __typeof__(cusparseSpGEMM_estimateMemory) *SpGEMM_estimateMemory;
  __typeof__(cusparseSpGEMM_compute) *SpGEMM_compute;
  __typeof__(cusparseSpGEMM_copy) *SpGEMM_copy;
} sl_cusparse;

/* Opens libcusparse.so.12; later calls return the same table. Errors: SLEY_ERR_UNSUPPORTED (the library is
 * missing or lacks a function). */
sley_status sl_cusparse_load(const sl_cusparse **out);

#endif
