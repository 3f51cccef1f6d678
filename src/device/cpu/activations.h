/* SPDX-License-Identifier: Apache-2.0 */
/* Activations of a run of doubles: op_activate.h has their definition. */
#ifndef SLEY_DEVICE_CPU_ACTIVATIONS_H
#define SLEY_DEVICE_CPU_ACTIVATIONS_H

#include "base/types.h"

/* v becomes act(v); count: at most SL_DOUBLES (doubles.h). */
void sl_activate(sley_activation act, double slope, double *v, int64_t count);

#endif
