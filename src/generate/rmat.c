/* SPDX-License-Identifier: Apache-2.0 */
/* R-MAT graphs: every edge descends scale levels of quadrants. Source: Chakrabarti, Zhan, Faloutsos, SDM
 * 2004; the default probabilities are Graph500's. */
#include <string.h>

#include "generate/edges.h"
#include "generate/generators.h"
#include "generate/shuffle.h"

enum { EDGES_AT_ONCE = 1 << 14, MOST_SCALE = 36 };

typedef struct quadrants {
  uint64_t seed;
  int scale;
  bool shuffled;
  sl_shuffle rows, cols;
  uint64_t a, ab, abc; /* cumulative probabilities times 2^32 */
} quadrants;

/* An edge on its way through the levels. */
typedef struct descent {
  int64_t row, col;
} descent;

/* Returns 1 if u >= bound, else 0; both are below 2^63. Which quadrant an edge enters is random, so a branch
 * would often be mispredicted. */
static inline int64_t reaches(uint64_t u, uint64_t bound) {
  return (int64_t)(1 - ((u - bound) >> 63));
}

/* Descends one level, by 32 random bits. a <= ab <= abc. */
static inline descent descend(const quadrants *self, descent at, uint64_t u) {
  int64_t lower = reaches(u, self->ab);
  return (descent){2 * at.row + lower, 2 * at.col + (reaches(u, self->a) ^ lower ^ reaches(u, self->abc))};
}

static void emit(const void *context, int64_t begin, int64_t end, sl_edge_sink *sink) {
  const quadrants self = *(const quadrants *)context;
  for (int64_t e = begin; e < end; e++) {
    const uint64_t stream = sl_random_stream(self.seed, (uint64_t)e);
    descent at = {0, 0};
    for (int level = 0; level < self.scale; level += 2) {
      const uint64_t bits = sl_random_of(stream, (uint64_t)level);
      at = descend(&self, at, bits & UINT32_MAX);
      if (level + 1 < self.scale)
        at = descend(&self, at, bits >> 32);
    }
    if (self.shuffled) {
      at.row = sl_shuffle_at(&self.rows, at.row);
      at.col = sl_shuffle_at(&self.cols, at.col);
    }
    sl_edge_put(sink, at.row, at.col);
  }
}

sley_status sl_generate_rmat(const sl_request *request, sley_matrix **out) {
  int64_t scale = -1;
  double factor = 8, a = 0.57, b = 0.19, c = 0.19;
  SL_TRY(sl_spec_int(request->spec, "scale", 0, MOST_SCALE, &scale));
  SL_TRY(sl_spec_real(request->spec, "edgefactor", 0, 1 << 20, &factor));
  SL_TRY(sl_spec_real(request->spec, "a", 0, 1, &a));
  SL_TRY(sl_spec_real(request->spec, "b", 0, 1, &b));
  SL_TRY(sl_spec_real(request->spec, "c", 0, 1, &c));
  bool undirected = sl_spec_text(request->spec, "undirected") != NULL;
  const char *shuffle = sl_spec_text(request->spec, "shuffle");
  const bool apart = shuffle && strcmp(shuffle, "apart") == 0;
  SL_TRY(sl_spec_done(request->spec));
  if (shuffle && !apart && strcmp(shuffle, "shuffle") != 0)
    return sl_fail(SLEY_ERR_ARG, "rmat: shuffle=%s is not known: give shuffle or shuffle=apart", shuffle);
  if (scale < 0)
    return sl_fail(SLEY_ERR_ARG, "rmat: give scale, as in rmat:scale=17,edgefactor=8");
  if (a + b + c > 1.0 + 1e-9)
    return sl_fail(SLEY_ERR_ARG, "rmat: a + b + c is %g: it must not exceed 1", a + b + c);
  int64_t n = INT64_C(1) << scale;
  quadrants self = {.seed = request->seed,
                    .scale = (int)scale,
                    .shuffled = shuffle != NULL,
                    .rows = sl_shuffle_of(request->seed, n),
                    .cols = sl_shuffle_of(apart ? sl_random(request->seed, 1, 0) : request->seed, n),
                    .a = (uint64_t)(a * 0x1p32),
                    .ab = (uint64_t)((a + b) * 0x1p32),
                    .abc = (uint64_t)((a + b + c) * 0x1p32)};
  int64_t edges = (int64_t)(factor * (double)n);
  sl_edge_source source = {.rows = n,
                           .cols = n,
                           .items = edges,
                           .grain = EDGES_AT_ONCE,
                           .edges = edges,
                           .mirror = undirected,
                           .drop_loops = true,
                           .seed = request->seed,
                           .emit = emit,
                           .context = &self};
  return request->build(request->context, &source, request->dtype, request->team, out);
}
