/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of the model of row windows, from measured times. */
#ifndef SLEY_TUNE_WINDOW_FIT_H
#define SLEY_TUNE_WINDOW_FIT_H

#include "device/window_model.h"

/* Windows of one shape, all in one product. */
typedef struct sl_window_sample {
  sley_dtype dtype;
  int64_t k;
  sl_window_shape window;
  double tensor, stream; /* seconds per window */
} sl_window_sample;

/* Fits figures to samples of values of their kind, by the least sum of squares of relative errors. Outliers,
 * and samples for which one kernel is much faster, count less. Figures stay near the previous ones unless
 * samples determine them, and within a factor of 4. */
void sl_window_fit(const sl_window_sample *samples, int count, sl_window_figures *figures);

#endif
