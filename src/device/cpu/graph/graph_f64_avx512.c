/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of graph networks in f64 for AVX-512. */
#include "device/cpu/vectors/arith_f64_avx512.h"
#include "device/cpu/vectors/values_same.h"

#include "device/cpu/graph/aggregate_body.h"
#include "device/cpu/graph/attention_body.h"
#include "device/cpu/graph/edge_softmax_body.h"
#include "device/cpu/graph/sddmm_body.h"

const sl_kernel sl_cpu_aggregate_f64_avx512 = AGGREGATE_KERNEL("aggregate-f64-avx512");
const sl_kernel sl_cpu_sddmm_f64_avx512 = SDDMM_KERNEL("sddmm-f64-avx512");
const sl_kernel sl_cpu_edge_softmax_f64_avx512 = EDGE_SOFTMAX_KERNEL("edge-softmax-f64-avx512");
const sl_kernel sl_cpu_attention_f64_avx512 = ATTENTION_KERNEL("attention-f64-avx512");
const sl_kernel sl_cpu_attention_rows_f64_avx512 = ATTENTION_ROWS_KERNEL("attention-rows-f64-avx512");
const sl_kernel sl_cpu_attention_columns_f64_avx512 =
    ATTENTION_COLUMNS_KERNEL("attention-columns-f64-avx512");
