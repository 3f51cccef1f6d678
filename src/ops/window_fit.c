/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/window_fit.h"

enum { N = SL_WINDOW_FIGURES, ROUNDS = 20000 };

/* Normal equations of sums of features that are to be 1 each. */
typedef struct equations {
  double left[N][N], right[N];
} equations;

static void add(equations *e, const double feature[N], double seconds) {
  for (int i = 0; i < N; i++) {
    e->right[i] += 1e-9 * feature[i] / seconds;
    for (int j = 0; j < N; j++)
      e->left[i][j] += 1e-9 * feature[i] / seconds * (1e-9 * feature[j] / seconds);
  }
}

/* Each figure in turn becomes the best one beside the others, which leads to the best of all: the function is
 * convex. */
static void solve(const equations *e, double figure[N]) {
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < N; i++) {
      double rest = e->right[i];
      if (e->left[i][i] <= 0)
        continue;
      for (int j = 0; j < N; j++)
        rest -= j != i && e->left[j][j] > 0 ? e->left[i][j] * figure[j] : 0;
      figure[i] = rest > 0 ? rest / e->left[i][i] : 0;
    }
}

void sl_window_fit(const sl_window_sample *samples, int count, sl_window_figures *figures) {
  equations tensor = {0}, stream = {0};
  for (int i = 0; i < count; i++) {
    const sl_window_sample *s = &samples[i];
    double feature[N];
    sl_window_tensor_features(s->dtype, s->k, &s->window, feature);
    add(&tensor, feature, s->tensor);
    sl_window_stream_features(s->dtype, s->k, &s->window, feature);
    add(&stream, feature, s->stream);
  }
  solve(&tensor, figures->tensor);
  solve(&stream, figures->stream);
}
