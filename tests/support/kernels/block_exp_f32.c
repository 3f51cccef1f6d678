/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on blocks in f32. */
typedef float sum;
#include "block_exp.h"
#include "device/cpu/vectors/arith_portable.h"
#include "device/cpu/vectors/values_same.h"

#include "device/cpu/graph/block_math.h"

void block_exp_f32(const float *in, int64_t count, float *out) {
  for (int64_t i = 0; i < count; i += BLOCK) {
    const int64_t some = count - i < BLOCK ? count - i : BLOCK;
    block_store_some(out + i, some, block_exp(block_load_some(in + i, some)));
  }
}

float block_sum_f32(const float *in) {
  return block_sum(block_load(in));
}
