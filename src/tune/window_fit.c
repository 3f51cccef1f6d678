/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/window_fit.h"

#include <math.h>

enum { N = SL_WINDOW_FIGURES, PASSES = 8, ROUNDS = 1000 };
/* OUTLIER: relative error from which on a sample counts less. NEAR: ratio of both kernels' times, as a
 * logarithm, from which on a sample counts less, because no choice depends on it. PRIOR: weight of the
 * previous figures, in samples. MOST: factor by which figures may differ from these. */
static const double OUTLIER = 0.2, NEAR = 0.7, PRIOR = 0.01, MOST = 4;

/* Normal equations for the fit of sums that should each be 1, in units of the previous figures. */
typedef struct equations {
  double left[N][N], right[N];
} equations;

/* Optimizes each factor in turn while the others stay fixed. This converges to the common optimum, because
 * the function is convex. */
static void solve(const equations *e, double factor[N]) {
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < N; i++) {
      double rest = e->right[i];
      for (int j = 0; j < N; j++)
        rest -= j != i ? e->left[i][j] * factor[j] : 0;
      factor[i] = fmin(fmax(rest / e->left[i][i], 1 / MOST), MOST);
    }
}

typedef void (*features_of)(sley_dtype dtype, int64_t k, const sl_window_shape *window, double out[N]);

static void features_in_units(const sl_window_sample *s, features_of features, const double was[N],
                              double seconds, double out[N]) {
  features(s->dtype, s->k, &s->window, out);
  for (int i = 0; i < N; i++)
    out[i] *= 1e-9 * was[i] / seconds;
}

/* Fits repeatedly, so that outliers among the samples become known. */
static void fit(const sl_window_sample *samples, int count, features_of features, bool tensor,
                double figure[N]) {
  double factor[N], feature[N];
  for (int i = 0; i < N; i++)
    factor[i] = 1;
  for (int pass = 0; pass < PASSES; pass++) {
    equations e = {0};
    for (int i = 0; i < N; i++)
      e.left[i][i] = e.right[i] = PRIOR * count;
    for (int s = 0; s < count; s++) {
      const double ratio = log(samples[s].tensor / samples[s].stream) / NEAR;
      double off = -1, weight = 1 / (1 + ratio * ratio);
      features_in_units(&samples[s], features, figure, tensor ? samples[s].tensor : samples[s].stream,
                        feature);
      for (int i = 0; i < N; i++)
        off += feature[i] * factor[i];
      weight /= fmax(1, fabs(off) / OUTLIER);
      for (int i = 0; i < N; i++) {
        e.right[i] += weight * feature[i];
        for (int j = 0; j < N; j++)
          e.left[i][j] += weight * feature[i] * feature[j];
      }
    }
    solve(&e, factor);
  }
  for (int i = 0; i < N; i++)
    figure[i] *= factor[i];
}

void sl_window_fit(const sl_window_sample *samples, int count, sl_window_figures *figures) {
  if (count <= 0)
    return;
  fit(samples, count, sl_window_tensor_features, true, figures->tensor);
  fit(samples, count, sl_window_stream_features, false, figures->stream);
}
