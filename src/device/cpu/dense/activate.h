/* SPDX-License-Identifier: Apache-2.0 */
/* Activations of a run of doubles, and their gradients, row by row: op_activate.h has their definition. */
#ifndef SLEY_DEVICE_CPU_DENSE_ACTIVATE_H
#define SLEY_DEVICE_CPU_DENSE_ACTIVATE_H

#include "device/op/op_activate.h"

/* v becomes act(v); count: at most SL_DOUBLES (doubles.h). */
void sl_activate(sley_activation act, double slope, double *v, int64_t count);

/* Row `row` of dx; sums is not read. */
void sl_activate_grad_row(const sl_activate_grad_args *a, int64_t row);

#endif
