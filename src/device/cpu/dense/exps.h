/* SPDX-License-Identifier: Apache-2.0 */
/* Exponentials of a run of doubles, with vectors. Returns the same bits as sl_exp (device/exp.h) with every
 * instruction set. */
#ifndef SLEY_DEVICE_CPU_DENSE_EXPS_H
#define SLEY_DEVICE_CPU_DENSE_EXPS_H

#include <stdint.h>

/* v = exp(v). */
void sl_exps(double *v, int64_t count);

/* Exponentials by each instruction set; functions for other architectures are not built. */
void sl_exps_portable(double *v, int64_t count);
void sl_exps_avx2(double *v, int64_t count);
void sl_exps_avx512(double *v, int64_t count);

#endif
