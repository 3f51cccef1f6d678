/* SPDX-License-Identifier: Apache-2.0 */
/* Activations and their gradients on a run of doubles, row by row. op_activate.h defines them. */
#ifndef SLEY_DEVICE_CPU_DENSE_ACTIVATE_H
#define SLEY_DEVICE_CPU_DENSE_ACTIVATE_H

#include "device/op/op_activate.h"

/* Replaces v[0 .. count - 1] by act(v); count is at most SL_DOUBLES (doubles.h). */
void sl_activate(sley_activation act, double slope, double *v, int64_t count);

/* Writes row `row` of dx. Does not read sums. */
void sl_activate_grad_row(const sl_activate_grad_args *a, int64_t row);

#endif
