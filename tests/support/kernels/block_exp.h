/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on blocks (device/cpu/graph/block_math.h) as functions of arrays, for any processor; one file per
 * type. */
#ifndef SLEY_TESTS_BLOCK_EXP_H
#define SLEY_TESTS_BLOCK_EXP_H

#include <stdint.h>

/* out[i] = exp(in[i]) */
void block_exp_f32(const float *in, int64_t count, float *out);
void block_exp_f64(const double *in, int64_t count, double *out);

/* The sum of sixteen values in the order of op_sddmm.h. */
float block_sum_f32(const float *in);
double block_sum_f64(const double *in);

#endif
