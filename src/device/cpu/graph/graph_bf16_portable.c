/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of graph networks in bf16, summed in f32, for any processor. */
#include "device/cpu/vectors/halves_portable.h"
#include "device/cpu/vectors/arith_portable.h"
#include "device/cpu/vectors/values_bf16.h"

#include "device/cpu/graph/aggregate_body.h"
#include "device/cpu/graph/attention_body.h"
#include "device/cpu/graph/edge_softmax_body.h"
#include "device/cpu/graph/sddmm_body.h"

const sl_kernel sl_cpu_aggregate_bf16_portable = AGGREGATE_KERNEL("aggregate-bf16-portable");
const sl_kernel sl_cpu_sddmm_bf16_portable = SDDMM_KERNEL("sddmm-bf16-portable");
const sl_kernel sl_cpu_edge_softmax_bf16_portable = EDGE_SOFTMAX_KERNEL("edge-softmax-bf16-portable");
const sl_kernel sl_cpu_attention_bf16_portable = ATTENTION_KERNEL("attention-bf16-portable");
const sl_kernel sl_cpu_attention_rows_bf16_portable = ATTENTION_ROWS_KERNEL("attention-rows-bf16-portable");
const sl_kernel sl_cpu_attention_columns_bf16_portable =
    ATTENTION_COLUMNS_KERNEL("attention-columns-bf16-portable");
