/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of graph networks in f32 for NEON. */
#include "device/cpu/vectors/arith_f32_neon.h"
#include "device/cpu/vectors/values_same.h"

#include "device/cpu/graph/aggregate_body.h"
#include "device/cpu/graph/attention_body.h"
#include "device/cpu/graph/edge_softmax_body.h"
#include "device/cpu/graph/sddmm_body.h"

const sl_kernel sl_cpu_aggregate_f32_neon = AGGREGATE_KERNEL("aggregate-f32-neon");
const sl_kernel sl_cpu_sddmm_f32_neon = SDDMM_KERNEL("sddmm-f32-neon");
const sl_kernel sl_cpu_edge_softmax_f32_neon = EDGE_SOFTMAX_KERNEL("edge-softmax-f32-neon");
const sl_kernel sl_cpu_attention_f32_neon = ATTENTION_KERNEL("attention-f32-neon");
const sl_kernel sl_cpu_attention_rows_f32_neon = ATTENTION_ROWS_KERNEL("attention-rows-f32-neon");
const sl_kernel sl_cpu_attention_columns_f32_neon = ATTENTION_COLUMNS_KERNEL("attention-columns-f32-neon");
