/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a matrix on the device, without its other arrays. */
#ifndef SLEY_DEVICE_CUDA_SPMM_COLUMN_COPY_H
#define SLEY_DEVICE_CUDA_SPMM_COLUMN_COPY_H

#include "device/cuda/cuda.h"

/* Checks that all columns fit in 31 bits. Errors: SLEY_ERR_OVERFLOW. */
sley_status sl_cuda_check_columns(const sl_spmm_matrix *a);

/* Uploads the columns of a's entries as 32-bit numbers; all columns must fit. If the matrix is resident, *out
 * is the matrix's own array. *out is set even after an error. */
sley_status sl_cuda_upload_columns(sl_queue *queue, const sl_spmm_matrix *a, const int32_t **out);

#endif
