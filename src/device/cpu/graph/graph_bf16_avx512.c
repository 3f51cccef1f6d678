/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of graph networks in bf16, summed in f32, for AVX-512. */
#include "device/cpu/vectors/arith_f32_avx512.h"
#include "device/cpu/vectors/halves_avx512.h"
#include "device/cpu/vectors/values_bf16.h"

#include "device/cpu/graph/aggregate_body.h"
#include "device/cpu/graph/attention_body.h"
#include "device/cpu/graph/edge_softmax_body.h"
#include "device/cpu/graph/sddmm_body.h"

const sl_kernel sl_cpu_aggregate_bf16_avx512 = AGGREGATE_KERNEL("aggregate-bf16-avx512");
const sl_kernel sl_cpu_sddmm_bf16_avx512 = SDDMM_KERNEL("sddmm-bf16-avx512");
const sl_kernel sl_cpu_edge_softmax_bf16_avx512 = EDGE_SOFTMAX_KERNEL("edge-softmax-bf16-avx512");
const sl_kernel sl_cpu_attention_bf16_avx512 = ATTENTION_KERNEL("attention-bf16-avx512");
const sl_kernel sl_cpu_attention_rows_bf16_avx512 = ATTENTION_ROWS_KERNEL("attention-rows-bf16-avx512");
const sl_kernel sl_cpu_attention_columns_bf16_avx512 =
    ATTENTION_COLUMNS_KERNEL("attention-columns-bf16-avx512");
