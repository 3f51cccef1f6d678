/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the cuda device's kernels; among those that accept the arguments, the cheapest runs. The
 * kernels are declared here, because no other file uses their names. */
#include "device/cuda/cuda.h"

extern const sl_kernel sl_cuda_rows, sl_cuda_pull, sl_cuda_arrive, sl_cuda_await, sl_cuda_scale,
    sl_cuda_round;
extern const sl_kernel sl_cuda_convert;
extern const sl_kernel sl_cuda_reduce;
extern const sl_kernel sl_cuda_update_fused, sl_cuda_update_tensor, sl_cuda_update_plain;
extern const sl_kernel sl_cuda_gemm_split, sl_cuda_gemm_cublaslt, sl_cuda_gemm, sl_cuda_column_sums,
    sl_cuda_activate_grad, sl_cuda_dropout, sl_cuda_nll, sl_cuda_adam;
extern const sl_kernel sl_cuda_aggregate, sl_cuda_aggregate_chosen, sl_cuda_sddmm, sl_cuda_edge_softmax,
    sl_cuda_attention, sl_cuda_attention_rows, sl_cuda_attention_columns;
extern const sl_kernel sl_cuda_columns, sl_cuda_needs, sl_cuda_tally, sl_cuda_cut;
extern const sl_kernel sl_cuda_nonzeros, sl_cuda_compress, sl_cuda_decompress, sl_cuda_sparse_sum;
extern const sl_kernel sl_cuda_threshold, sl_cuda_sparsify;

/* Sparse times sparse: Sley's kernel; cuSPARSE's three algorithms, if asked for. */
extern const sl_kernel sl_cuda_spgemm_kernel, sl_cuda_spgemm_cusparse, sl_cuda_spgemm_cusparse_2,
    sl_cuda_spgemm_cusparse_3;

/* Sparse times dense. stream, hybrid, tensor: on CUDA cores, on both kinds of cores, and on Tensor cores, for
 * parts that are known when the plan is made. dense: windows that are dense, and hybrid or stream for the
 * other rows. plain: the reference on the device, also for parts that arrive. cusparse: for plans that
 * request it. rowwise: reads X in the memories of several GPUs. */
extern const sl_kernel sl_cuda_spmm_stream, sl_cuda_spmm_hybrid, sl_cuda_spmm_tensor, sl_cuda_spmm_dense,
    sl_cuda_spmm_plain, sl_cuda_spmm_cusparse, sl_cuda_spmm_rowwise;

const sl_kernel *const sl_cuda_kernels[] = {
    &sl_cuda_spmm_stream,
    &sl_cuda_spmm_hybrid,
    &sl_cuda_spmm_tensor,
    &sl_cuda_spmm_dense,
    &sl_cuda_spmm_plain,
    &sl_cuda_spmm_cusparse,
    &sl_cuda_spmm_rowwise,
    &sl_cuda_rows,
    &sl_cuda_pull,
    &sl_cuda_arrive,
    &sl_cuda_await,
    &sl_cuda_scale,
    &sl_cuda_round,
    &sl_cuda_convert,
    &sl_cuda_reduce,
    &sl_cuda_update_fused,
    &sl_cuda_update_tensor,
    &sl_cuda_update_plain,
    &sl_cuda_columns,
    &sl_cuda_needs,
    &sl_cuda_tally,
    &sl_cuda_cut,
    &sl_cuda_gemm_split,
    &sl_cuda_gemm_cublaslt,
    &sl_cuda_gemm,
    &sl_cuda_column_sums,
    &sl_cuda_activate_grad,
    &sl_cuda_dropout,
    &sl_cuda_nll,
    &sl_cuda_adam,
    &sl_cuda_aggregate,
    &sl_cuda_aggregate_chosen,
    &sl_cuda_sddmm,
    &sl_cuda_edge_softmax,
    &sl_cuda_attention,
    &sl_cuda_attention_rows,
    &sl_cuda_attention_columns,
    &sl_cuda_nonzeros,
    &sl_cuda_compress,
    &sl_cuda_decompress,
    &sl_cuda_sparse_sum,
    &sl_cuda_threshold,
    &sl_cuda_sparsify,
    &sl_cuda_spgemm_kernel,
    &sl_cuda_spgemm_cusparse,
    &sl_cuda_spgemm_cusparse_2,
    &sl_cuda_spgemm_cusparse_3,
    NULL,
};
