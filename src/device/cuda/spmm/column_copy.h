/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a matrix, and nothing else of it, on the device. */
#ifndef SLEY_DEVICE_CUDA_SPMM_COLUMN_COPY_H
#define SLEY_DEVICE_CUDA_SPMM_COLUMN_COPY_H

#include "device/cuda/cuda.h"

/* Whether all columns fit in 31 bits. Errors: SLEY_ERR_OVERFLOW. */
sley_status sl_cuda_check_columns(const sl_spmm_matrix *a);

/* The columns of a's entries, which fit, in 32 bits; those of a resident matrix are the matrix's own. *out is
 * set where there is an error, too. */
sley_status sl_cuda_upload_columns(sl_queue *queue, const sl_spmm_matrix *a, const int32_t **out);

#endif
