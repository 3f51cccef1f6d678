/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the CPU's kernels; among those that accept the arguments, the cheapest runs. The table has at
 * least one kernel for every operation, and messages call an operation by that kernel's name. */
#include "device/cpu/cpu.h"

/* The SpMM body, compiled for each type and instruction set. Kernels for other architectures are not
 * built. */
extern const sl_kernel sl_cpu_spmm_f32_portable, sl_cpu_spmm_f64_portable;
extern const sl_kernel sl_cpu_spmm_f32_avx2, sl_cpu_spmm_f64_avx2;
extern const sl_kernel sl_cpu_spmm_f32_avx512, sl_cpu_spmm_f64_avx512;
extern const sl_kernel sl_cpu_spmm_f16_portable, sl_cpu_spmm_bf16_portable;
extern const sl_kernel sl_cpu_spmm_f16_avx2, sl_cpu_spmm_bf16_avx2;
extern const sl_kernel sl_cpu_spmm_f16_avx512, sl_cpu_spmm_bf16_avx512;
extern const sl_kernel sl_cpu_spmm_f32_neon, sl_cpu_spmm_f64_neon;
extern const sl_kernel sl_cpu_spmm_f16_neon, sl_cpu_spmm_bf16_neon;

/* The update kernels (a product times a dense matrix), compiled with the SpMM body. */
extern const sl_kernel sl_cpu_update_f32_portable, sl_cpu_update_f64_portable;
extern const sl_kernel sl_cpu_update_f32_avx2, sl_cpu_update_f64_avx2;
extern const sl_kernel sl_cpu_update_f32_avx512, sl_cpu_update_f64_avx512;
extern const sl_kernel sl_cpu_update_f16_portable, sl_cpu_update_bf16_portable;
extern const sl_kernel sl_cpu_update_f16_avx2, sl_cpu_update_bf16_avx2;
extern const sl_kernel sl_cpu_update_f16_avx512, sl_cpu_update_bf16_avx512;
extern const sl_kernel sl_cpu_update_f32_neon, sl_cpu_update_f64_neon;
extern const sl_kernel sl_cpu_update_f16_neon, sl_cpu_update_bf16_neon;

/* The operations of graph networks, likewise. */
extern const sl_kernel sl_cpu_aggregate_f32_portable, sl_cpu_aggregate_f64_portable,
    sl_cpu_aggregate_f16_portable, sl_cpu_aggregate_bf16_portable;
extern const sl_kernel sl_cpu_sddmm_f32_portable, sl_cpu_sddmm_f64_portable, sl_cpu_sddmm_f16_portable,
    sl_cpu_sddmm_bf16_portable;
extern const sl_kernel sl_cpu_edge_softmax_f32_portable, sl_cpu_edge_softmax_f64_portable,
    sl_cpu_edge_softmax_f16_portable, sl_cpu_edge_softmax_bf16_portable;
extern const sl_kernel sl_cpu_attention_f32_portable, sl_cpu_attention_f64_portable,
    sl_cpu_attention_f16_portable, sl_cpu_attention_bf16_portable;
extern const sl_kernel sl_cpu_attention_rows_f32_portable, sl_cpu_attention_rows_f64_portable,
    sl_cpu_attention_rows_f16_portable, sl_cpu_attention_rows_bf16_portable;
extern const sl_kernel sl_cpu_attention_columns_f32_portable, sl_cpu_attention_columns_f64_portable,
    sl_cpu_attention_columns_f16_portable, sl_cpu_attention_columns_bf16_portable;
extern const sl_kernel sl_cpu_aggregate_f32_avx2, sl_cpu_aggregate_f64_avx2, sl_cpu_aggregate_f16_avx2,
    sl_cpu_aggregate_bf16_avx2;
extern const sl_kernel sl_cpu_sddmm_f32_avx2, sl_cpu_sddmm_f64_avx2, sl_cpu_sddmm_f16_avx2,
    sl_cpu_sddmm_bf16_avx2;
extern const sl_kernel sl_cpu_edge_softmax_f32_avx2, sl_cpu_edge_softmax_f64_avx2,
    sl_cpu_edge_softmax_f16_avx2, sl_cpu_edge_softmax_bf16_avx2;
extern const sl_kernel sl_cpu_attention_f32_avx2, sl_cpu_attention_f64_avx2, sl_cpu_attention_f16_avx2,
    sl_cpu_attention_bf16_avx2;
extern const sl_kernel sl_cpu_attention_rows_f32_avx2, sl_cpu_attention_rows_f64_avx2,
    sl_cpu_attention_rows_f16_avx2, sl_cpu_attention_rows_bf16_avx2;
extern const sl_kernel sl_cpu_attention_columns_f32_avx2, sl_cpu_attention_columns_f64_avx2,
    sl_cpu_attention_columns_f16_avx2, sl_cpu_attention_columns_bf16_avx2;
extern const sl_kernel sl_cpu_aggregate_f32_avx512, sl_cpu_aggregate_f64_avx512, sl_cpu_aggregate_f16_avx512,
    sl_cpu_aggregate_bf16_avx512;
extern const sl_kernel sl_cpu_sddmm_f32_avx512, sl_cpu_sddmm_f64_avx512, sl_cpu_sddmm_f16_avx512,
    sl_cpu_sddmm_bf16_avx512;
extern const sl_kernel sl_cpu_edge_softmax_f32_avx512, sl_cpu_edge_softmax_f64_avx512,
    sl_cpu_edge_softmax_f16_avx512, sl_cpu_edge_softmax_bf16_avx512;
extern const sl_kernel sl_cpu_attention_f32_avx512, sl_cpu_attention_f64_avx512, sl_cpu_attention_f16_avx512,
    sl_cpu_attention_bf16_avx512;
extern const sl_kernel sl_cpu_attention_rows_f32_avx512, sl_cpu_attention_rows_f64_avx512,
    sl_cpu_attention_rows_f16_avx512, sl_cpu_attention_rows_bf16_avx512;
extern const sl_kernel sl_cpu_attention_columns_f32_avx512, sl_cpu_attention_columns_f64_avx512,
    sl_cpu_attention_columns_f16_avx512, sl_cpu_attention_columns_bf16_avx512;
extern const sl_kernel sl_cpu_aggregate_f32_neon, sl_cpu_aggregate_f64_neon, sl_cpu_aggregate_f16_neon,
    sl_cpu_aggregate_bf16_neon;
extern const sl_kernel sl_cpu_sddmm_f32_neon, sl_cpu_sddmm_f64_neon, sl_cpu_sddmm_f16_neon,
    sl_cpu_sddmm_bf16_neon;
extern const sl_kernel sl_cpu_edge_softmax_f32_neon, sl_cpu_edge_softmax_f64_neon,
    sl_cpu_edge_softmax_f16_neon, sl_cpu_edge_softmax_bf16_neon;
extern const sl_kernel sl_cpu_attention_f32_neon, sl_cpu_attention_f64_neon, sl_cpu_attention_f16_neon,
    sl_cpu_attention_bf16_neon;
extern const sl_kernel sl_cpu_attention_rows_f32_neon, sl_cpu_attention_rows_f64_neon,
    sl_cpu_attention_rows_f16_neon, sl_cpu_attention_rows_bf16_neon;
extern const sl_kernel sl_cpu_attention_columns_f32_neon, sl_cpu_attention_columns_f64_neon,
    sl_cpu_attention_columns_f16_neon, sl_cpu_attention_columns_bf16_neon;

extern const sl_kernel sl_cpu_arrive, sl_cpu_await, sl_cpu_scale, sl_cpu_round;
extern const sl_kernel sl_cpu_convert;
extern const sl_kernel sl_cpu_reduce;
extern const sl_kernel sl_cpu_columns, sl_cpu_needs, sl_cpu_tally, sl_cpu_cut;
extern const sl_kernel sl_cpu_gemm_blas, sl_cpu_gemm, sl_cpu_column_sums, sl_cpu_activate_grad;
extern const sl_kernel sl_cpu_dropout, sl_cpu_nll, sl_cpu_adam;
extern const sl_kernel sl_cpu_nonzeros, sl_cpu_compress, sl_cpu_decompress, sl_cpu_sparse_sum;
extern const sl_kernel sl_cpu_threshold, sl_cpu_sparsify;
extern const sl_kernel sl_cpu_spgemm;

/* All kernels of this architecture. For SpMM and updates, better instruction sets come first. */
const sl_kernel *const sl_cpu_kernels[] = {
#if defined(__x86_64__)
    &sl_cpu_spmm_f32_avx512,
    &sl_cpu_spmm_f64_avx512,
    &sl_cpu_spmm_f16_avx512,
    &sl_cpu_spmm_bf16_avx512,
    &sl_cpu_update_f32_avx512,
    &sl_cpu_update_f64_avx512,
    &sl_cpu_update_f16_avx512,
    &sl_cpu_update_bf16_avx512,
    &sl_cpu_spmm_f32_avx2,
    &sl_cpu_spmm_f64_avx2,
    &sl_cpu_spmm_f16_avx2,
    &sl_cpu_spmm_bf16_avx2,
    &sl_cpu_update_f32_avx2,
    &sl_cpu_update_f64_avx2,
    &sl_cpu_update_f16_avx2,
    &sl_cpu_update_bf16_avx2,
    &sl_cpu_aggregate_f32_avx512,
    &sl_cpu_aggregate_f64_avx512,
    &sl_cpu_aggregate_f16_avx512,
    &sl_cpu_aggregate_bf16_avx512,
    &sl_cpu_sddmm_f32_avx512,
    &sl_cpu_sddmm_f64_avx512,
    &sl_cpu_sddmm_f16_avx512,
    &sl_cpu_sddmm_bf16_avx512,
    &sl_cpu_edge_softmax_f32_avx512,
    &sl_cpu_edge_softmax_f64_avx512,
    &sl_cpu_edge_softmax_f16_avx512,
    &sl_cpu_edge_softmax_bf16_avx512,
    &sl_cpu_attention_f32_avx512,
    &sl_cpu_attention_f64_avx512,
    &sl_cpu_attention_f16_avx512,
    &sl_cpu_attention_bf16_avx512,
    &sl_cpu_attention_rows_f32_avx512,
    &sl_cpu_attention_rows_f64_avx512,
    &sl_cpu_attention_rows_f16_avx512,
    &sl_cpu_attention_rows_bf16_avx512,
    &sl_cpu_attention_columns_f32_avx512,
    &sl_cpu_attention_columns_f64_avx512,
    &sl_cpu_attention_columns_f16_avx512,
    &sl_cpu_attention_columns_bf16_avx512,
    &sl_cpu_aggregate_f32_avx2,
    &sl_cpu_aggregate_f64_avx2,
    &sl_cpu_aggregate_f16_avx2,
    &sl_cpu_aggregate_bf16_avx2,
    &sl_cpu_sddmm_f32_avx2,
    &sl_cpu_sddmm_f64_avx2,
    &sl_cpu_sddmm_f16_avx2,
    &sl_cpu_sddmm_bf16_avx2,
    &sl_cpu_edge_softmax_f32_avx2,
    &sl_cpu_edge_softmax_f64_avx2,
    &sl_cpu_edge_softmax_f16_avx2,
    &sl_cpu_edge_softmax_bf16_avx2,
    &sl_cpu_attention_f32_avx2,
    &sl_cpu_attention_f64_avx2,
    &sl_cpu_attention_f16_avx2,
    &sl_cpu_attention_bf16_avx2,
    &sl_cpu_attention_rows_f32_avx2,
    &sl_cpu_attention_rows_f64_avx2,
    &sl_cpu_attention_rows_f16_avx2,
    &sl_cpu_attention_rows_bf16_avx2,
    &sl_cpu_attention_columns_f32_avx2,
    &sl_cpu_attention_columns_f64_avx2,
    &sl_cpu_attention_columns_f16_avx2,
    &sl_cpu_attention_columns_bf16_avx2,
#elif defined(__aarch64__)
    &sl_cpu_spmm_f32_neon,
    &sl_cpu_spmm_f64_neon,
    &sl_cpu_spmm_f16_neon,
    &sl_cpu_spmm_bf16_neon,
    &sl_cpu_update_f32_neon,
    &sl_cpu_update_f64_neon,
    &sl_cpu_update_f16_neon,
    &sl_cpu_update_bf16_neon,
    &sl_cpu_aggregate_f32_neon,
    &sl_cpu_aggregate_f64_neon,
    &sl_cpu_aggregate_f16_neon,
    &sl_cpu_aggregate_bf16_neon,
    &sl_cpu_sddmm_f32_neon,
    &sl_cpu_sddmm_f64_neon,
    &sl_cpu_sddmm_f16_neon,
    &sl_cpu_sddmm_bf16_neon,
    &sl_cpu_edge_softmax_f32_neon,
    &sl_cpu_edge_softmax_f64_neon,
    &sl_cpu_edge_softmax_f16_neon,
    &sl_cpu_edge_softmax_bf16_neon,
    &sl_cpu_attention_f32_neon,
    &sl_cpu_attention_f64_neon,
    &sl_cpu_attention_f16_neon,
    &sl_cpu_attention_bf16_neon,
    &sl_cpu_attention_rows_f32_neon,
    &sl_cpu_attention_rows_f64_neon,
    &sl_cpu_attention_rows_f16_neon,
    &sl_cpu_attention_rows_bf16_neon,
    &sl_cpu_attention_columns_f32_neon,
    &sl_cpu_attention_columns_f64_neon,
    &sl_cpu_attention_columns_f16_neon,
    &sl_cpu_attention_columns_bf16_neon,
#endif
    &sl_cpu_spmm_f32_portable,
    &sl_cpu_spmm_f64_portable,
    &sl_cpu_spmm_f16_portable,
    &sl_cpu_spmm_bf16_portable,
    &sl_cpu_update_f32_portable,
    &sl_cpu_update_f64_portable,
    &sl_cpu_update_f16_portable,
    &sl_cpu_update_bf16_portable,
    &sl_cpu_aggregate_f32_portable,
    &sl_cpu_aggregate_f64_portable,
    &sl_cpu_aggregate_f16_portable,
    &sl_cpu_aggregate_bf16_portable,
    &sl_cpu_sddmm_f32_portable,
    &sl_cpu_sddmm_f64_portable,
    &sl_cpu_sddmm_f16_portable,
    &sl_cpu_sddmm_bf16_portable,
    &sl_cpu_edge_softmax_f32_portable,
    &sl_cpu_edge_softmax_f64_portable,
    &sl_cpu_edge_softmax_f16_portable,
    &sl_cpu_edge_softmax_bf16_portable,
    &sl_cpu_attention_f32_portable,
    &sl_cpu_attention_f64_portable,
    &sl_cpu_attention_f16_portable,
    &sl_cpu_attention_bf16_portable,
    &sl_cpu_attention_rows_f32_portable,
    &sl_cpu_attention_rows_f64_portable,
    &sl_cpu_attention_rows_f16_portable,
    &sl_cpu_attention_rows_bf16_portable,
    &sl_cpu_attention_columns_f32_portable,
    &sl_cpu_attention_columns_f64_portable,
    &sl_cpu_attention_columns_f16_portable,
    &sl_cpu_attention_columns_bf16_portable,
    &sl_cpu_rows,
    &sl_cpu_convert,
    &sl_cpu_pull,
    &sl_cpu_arrive,
    &sl_cpu_await,
    &sl_cpu_scale,
    &sl_cpu_round,
    &sl_cpu_reduce,
    &sl_cpu_columns,
    &sl_cpu_needs,
    &sl_cpu_tally,
    &sl_cpu_cut,
    &sl_cpu_gemm_blas,
    &sl_cpu_gemm,
    &sl_cpu_column_sums,
    &sl_cpu_activate_grad,
    &sl_cpu_dropout,
    &sl_cpu_nll,
    &sl_cpu_adam,
    &sl_cpu_nonzeros,
    &sl_cpu_compress,
    &sl_cpu_decompress,
    &sl_cpu_sparse_sum,
    &sl_cpu_threshold,
    &sl_cpu_sparsify,
    &sl_cpu_spgemm,
    NULL,
};
