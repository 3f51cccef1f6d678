/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of graph networks in f32 for any processor. */
typedef float sum;
#include "device/cpu/vectors/arith_portable.h"
#include "device/cpu/vectors/values_same.h"

#include "device/cpu/graph/aggregate_body.h"
#include "device/cpu/graph/attention_body.h"
#include "device/cpu/graph/edge_softmax_body.h"
#include "device/cpu/graph/sddmm_body.h"

const sl_kernel sl_cpu_aggregate_f32_portable = AGGREGATE_KERNEL("aggregate-f32-portable");
const sl_kernel sl_cpu_sddmm_f32_portable = SDDMM_KERNEL("sddmm-f32-portable");
const sl_kernel sl_cpu_edge_softmax_f32_portable = EDGE_SOFTMAX_KERNEL("edge-softmax-f32-portable");
const sl_kernel sl_cpu_attention_f32_portable = ATTENTION_KERNEL("attention-f32-portable");
const sl_kernel sl_cpu_attention_rows_f32_portable = ATTENTION_ROWS_KERNEL("attention-rows-f32-portable");
const sl_kernel sl_cpu_attention_columns_f32_portable =
    ATTENTION_COLUMNS_KERNEL("attention-columns-f32-portable");
