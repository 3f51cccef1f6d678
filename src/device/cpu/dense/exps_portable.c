/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/dense/exps.h"

#include "device/exp.h"

void sl_exps_portable(double *v, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    v[i] = sl_exp(v[i]);
}
