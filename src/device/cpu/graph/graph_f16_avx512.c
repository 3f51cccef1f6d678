/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of graph networks in f16, summed in f32, for AVX-512. */
#include "device/cpu/vectors/arith_f32_avx512.h"
#include "device/cpu/vectors/halves_avx512.h"
#include "device/cpu/vectors/values_f16.h"

#include "device/cpu/graph/aggregate_body.h"
#include "device/cpu/graph/attention_body.h"
#include "device/cpu/graph/edge_softmax_body.h"
#include "device/cpu/graph/sddmm_body.h"

const sl_kernel sl_cpu_aggregate_f16_avx512 = AGGREGATE_KERNEL("aggregate-f16-avx512");
const sl_kernel sl_cpu_sddmm_f16_avx512 = SDDMM_KERNEL("sddmm-f16-avx512");
const sl_kernel sl_cpu_edge_softmax_f16_avx512 = EDGE_SOFTMAX_KERNEL("edge-softmax-f16-avx512");
const sl_kernel sl_cpu_attention_f16_avx512 = ATTENTION_KERNEL("attention-f16-avx512");
const sl_kernel sl_cpu_attention_rows_f16_avx512 = ATTENTION_ROWS_KERNEL("attention-rows-f16-avx512");
const sl_kernel sl_cpu_attention_columns_f16_avx512 =
    ATTENTION_COLUMNS_KERNEL("attention-columns-f16-avx512");
