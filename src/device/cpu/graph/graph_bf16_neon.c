/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of graph networks in bf16, summed in f32, for NEON. */
#include "device/cpu/vectors/arith_f32_neon.h"
#include "device/cpu/vectors/halves_neon.h"
#include "device/cpu/vectors/values_bf16.h"

#include "device/cpu/graph/aggregate_body.h"
#include "device/cpu/graph/attention_body.h"
#include "device/cpu/graph/edge_softmax_body.h"
#include "device/cpu/graph/sddmm_body.h"

const sl_kernel sl_cpu_aggregate_bf16_neon = AGGREGATE_KERNEL("aggregate-bf16-neon");
const sl_kernel sl_cpu_sddmm_bf16_neon = SDDMM_KERNEL("sddmm-bf16-neon");
const sl_kernel sl_cpu_edge_softmax_bf16_neon = EDGE_SOFTMAX_KERNEL("edge-softmax-bf16-neon");
const sl_kernel sl_cpu_attention_bf16_neon = ATTENTION_KERNEL("attention-bf16-neon");
const sl_kernel sl_cpu_attention_rows_bf16_neon = ATTENTION_ROWS_KERNEL("attention-rows-bf16-neon");
const sl_kernel sl_cpu_attention_columns_bf16_neon = ATTENTION_COLUMNS_KERNEL("attention-columns-bf16-neon");
