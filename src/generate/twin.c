/* SPDX-License-Identifier: Apache-2.0 */
/* Generation of a twin. Row i has weight min(u^(-1/1.5), most), u uniform, and draws edges in proportion to
 * it, at least one. Rows chosen by hash are open: some of their edges leave the row's sixteenth of the matrix
 * for the pool of the row's sixty-fourth, whose entries are hashed rows in a few partner sixteenths. Of the
 * edges that stay, most end near the diagonal, the others preferably in the first rows of the sixteenth. */
#include "generate/twin.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "generate/edges.h"
#include "generate/generators.h"

enum { BLOCKS = 16, POOLS_PER_BLOCK = 4, ROWS_AT_ONCE = 4096 };
static const double near_share = 0.6;

/* The purpose of a hash, so that no two uses share numbers. */
enum { FOR_WEIGHT, FOR_ROUNDING, FOR_OPEN, FOR_EDGES, FOR_POOL, FOR_PARTNER };

typedef struct drawing {
  sl_twin twin; /* scaled */
  uint64_t seed;
  double edges_per_weight;
  double *weights; /* sums of the weights, each over ROWS_AT_ONCE rows */
} drawing;

static int64_t block_begin(const drawing *self, int64_t block) {
  int64_t share = self->twin.rows / BLOCKS, extra = self->twin.rows % BLOCKS;
  return block * share + (block < extra ? block : extra);
}

static int64_t block_of(const drawing *self, int64_t row) {
  int64_t share = self->twin.rows / BLOCKS, extra = self->twin.rows % BLOCKS, longer = extra * (share + 1);
  return row < longer ? row / (share + 1) : extra + (row - longer) / share;
}

static double weight(const drawing *self, int64_t row) {
  double u = 1.0 - sl_unit(sl_random(self->seed, (uint64_t)row, FOR_WEIGHT));
  double w = 1.0 / cbrt(u * u);
  return w < self->twin.most ? w : self->twin.most;
}

/* Returns the number of edges that a row draws: its share, randomly rounded up or down. */
static int64_t edges_of(const drawing *self, int64_t row) {
  double share = weight(self, row) * self->edges_per_weight;
  int64_t count = (int64_t)(share + sl_unit(sl_random(self->seed, (uint64_t)row, FOR_ROUNDING)));
  return count > 0 ? count : 1;
}

static sley_status sum_weights(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const drawing *self = context;
  for (int64_t part = begin; part < end; part++) {
    int64_t first = part * ROWS_AT_ONCE;
    int64_t last = first + ROWS_AT_ONCE < self->twin.rows ? first + ROWS_AT_ONCE : self->twin.rows;
    double sum = 0;
    for (int64_t i = first; i < last; i++)
      sum += weight(self, i);
    self->weights[part] = sum;
  }
  return SLEY_OK;
}

/* Returns the row of entry number `entry` of a pool. */
static int64_t pool_row(const drawing *self, int64_t block, int64_t pool, int64_t entry) {
  uint64_t bits = sl_random(self->seed ^ FOR_POOL << 8, (uint64_t)pool, (uint64_t)entry);
  uint64_t choice = sl_random(self->seed ^ FOR_PARTNER << 8, (uint64_t)pool, 0);
  /* Step sizes coprime to 15: repeated steps reach all 15 other sixteenths of the rows before one repeats. */
  static const int64_t steps[] = {1, 2, 4, 7, 8, 11, 13, 14};
  int64_t partner = sl_below(bits << 32, self->twin.partners);
  int64_t ahead = ((int64_t)(choice >> 8) % (BLOCKS - 1) + partner * steps[choice & 7]) % (BLOCKS - 1);
  int64_t other = (block + 1 + ahead) % BLOCKS, begin = block_begin(self, other);
  return begin + sl_below(bits & ~(uint64_t)UINT32_MAX, block_begin(self, other + 1) - begin);
}

static void emit(const void *context, int64_t begin, int64_t end, sl_edge_sink *sink) {
  const drawing *self = context;
  const sl_twin *twin = &self->twin;
  double leaving = twin->leaving / twin->open;
  for (int64_t i = begin; i < end; i++) {
    int64_t block = block_of(self, i), first = block_begin(self, block);
    int64_t length = block_begin(self, block + 1) - first,
            near = length / 2 < twin->near ? length / 2 : twin->near;
    int64_t pool = block * POOLS_PER_BLOCK + (i - first) * POOLS_PER_BLOCK / length;
    bool open = sl_unit(sl_random(self->seed, (uint64_t)i, FOR_OPEN)) < twin->open;
    uint64_t stream = sl_random(self->seed, (uint64_t)i, FOR_EDGES);
    int64_t count = edges_of(self, i);
    for (int64_t e = 0; e < count; e++) {
      uint64_t what = sl_mix(stream + 2 * (uint64_t)e), where = sl_mix(stream + 2 * (uint64_t)e + 1);
      double u = sl_unit(where);
      int64_t j;
      if (open && (double)(what >> 32) * 0x1p-32 < leaving) {
        j = pool_row(self, block, pool, (int64_t)((double)twin->pool * u * u));
      } else if ((double)(what & UINT32_MAX) * 0x1p-32 < near_share) {
        j = i - near + sl_below(where, 2 * near + 1);
        /* positions outside the sixteenth are reflected at its ends */
        j = j < first ? 2 * first - j : j;
        j = j >= first + length ? 2 * (first + length - 1) - j : j;
      } else {
        j = first + (int64_t)((double)length * u * u);
      }
      sl_edge_put(sink, i, j);
    }
  }
}

typedef struct edge_count {
  const drawing *self;
  int64_t *counts;
} edge_count;

static sley_status count_draws(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const edge_count *job = context;
  for (int64_t part = begin; part < end; part++) {
    int64_t first = part * ROWS_AT_ONCE;
    int64_t last = first + ROWS_AT_ONCE < job->self->twin.rows ? first + ROWS_AT_ONCE : job->self->twin.rows;
    int64_t sum = 0;
    for (int64_t i = first; i < last; i++)
      sum += edges_of(job->self, i);
    job->counts[part] = sum;
  }
  return SLEY_OK;
}

/* Sets edges_per_weight, and *edges, the number of edges that will be drawn. Sums are in row order for any
 * team. */
static sley_status weigh(drawing *self, sl_team *team, int64_t *edges) {
  int64_t parts = (self->twin.rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
  edge_count job = {.self = self};
  sley_status status;
  SL_TRY(SL_NEW(self->weights, parts, "weights of rows"));
  SL_TRY_GOTO(status, SL_NEW(job.counts, parts, "weights of rows"), done);
  SL_TRY_GOTO(status, sl_team_for(team, parts, 1, sum_weights, self), done);
  double sum = 0;
  for (int64_t part = 0; part < parts; part++)
    sum += self->weights[part];
  self->edges_per_weight = self->twin.draws * (double)self->twin.nnz / (self->twin.mirrored ? 2 : 1) / sum;
  SL_TRY_GOTO(status, sl_team_for(team, parts, 1, count_draws, &job), done);
  *edges = 0;
  for (int64_t part = 0; part < parts; part++)
    *edges += job.counts[part];
done:
  sl_free(job.counts);
  sl_free(self->weights);
  self->weights = NULL;
  return status;
}

/* Finds the twin that the specification names in the table, scaled, with the values that keys replace. */
static sley_status choose(sl_spec *spec, sl_twin *out) {
  const sl_twin *found = NULL;
  for (int i = 0; i < sl_twin_count && !found; i++)
    if (sl_spec_text(spec, sl_twins[i].name))
      found = &sl_twins[i];
  if (!found)
    return sl_fail(SLEY_ERR_ARG,
                   "twin: name one of cyt clj prd cok cit slj spk sso red, as in twin:clj:scale=0.1");
  sl_twin twin = *found;
  double scale = 1;
  SL_TRY(sl_spec_real(spec, "scale", 1e-4, 64, &scale));
  twin.rows = (int64_t)llround((double)twin.rows * scale);
  twin.nnz = (int64_t)llround((double)twin.nnz * scale);
  twin.pool = (int64_t)llround((double)twin.pool * scale);
  SL_TRY(sl_spec_real(spec, "draws", 0, 10, &twin.draws));
  SL_TRY(sl_spec_real(spec, "f", 0, 1, &twin.leaving));
  SL_TRY(sl_spec_int(spec, "pool", 1, INT64_C(1) << 40, &twin.pool));
  SL_TRY(sl_spec_real(spec, "open", 0.01, 1, &twin.open));
  SL_TRY(sl_spec_int(spec, "partners", 1, BLOCKS - 1, &twin.partners));
  SL_TRY(sl_spec_real(spec, "most", 1, 1e9, &twin.most));
  SL_TRY(sl_spec_int(spec, "near", 1, INT64_C(1) << 40, &twin.near));
  SL_TRY(sl_spec_done(spec));
  twin.pool = twin.pool < 1 ? 1 : twin.pool;
  *out = twin;
  return SLEY_OK;
}

sley_status sl_generate_twin(const sl_request *request, sley_matrix **out) {
  drawing self = {0};
  int64_t edges;
  SL_TRY(choose(request->spec, &self.twin));
  self.seed = sl_mix(request->seed);
  SL_TRY(weigh(&self, request->team, &edges));
  sl_edge_source source = {.rows = self.twin.rows,
                           .cols = self.twin.rows,
                           .items = self.twin.rows,
                           .grain = ROWS_AT_ONCE,
                           .edges = edges,
                           .mirror = self.twin.mirrored,
                           .drop_loops = true,
                           .seed = request->seed,
                           .emit = emit,
                           .context = &self};
  return request->build(request->context, &source, request->dtype, request->team, out);
}
