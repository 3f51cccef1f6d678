/* SPDX-License-Identifier: Apache-2.0 */
/* What sums take. */
#include <math.h>

#include "base/memory.h"
#include "ops/spmm.h"
#include "ops/tune_inside.h"

/* Entries of a row on average, in matrices with few and with many; the longest row, in those; rows to either
 * side that half of a matrix's entries name. */
enum { FEW = 4, MANY = 20, LONGEST = 8, NEAR = 512 };

static const int64_t widths[] = {4, 16, 64, 128}; /* of X, in f32 */
static const int64_t reaches[] = {1 << 18, 1 << 21, 1 << 22, 1 << 23, 1 << 25};
enum { WIDTHS = sizeof widths / sizeof *widths, REACHES = sizeof reaches / sizeof *reaches };

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* A column of an entry: near the diagonal, or anywhere in the block. */
static int64_t column_of(uint64_t seed, int64_t row, int64_t n, bool near) {
  uint64_t bits = mix(seed);
  int64_t width = n < 2 * NEAR ? n : 2 * NEAR, first = row - width / 2;
  if (!near)
    return (int64_t)(bits % (uint64_t)n);
  first = first < 0 ? 0 : first > n - width ? n - width : first;
  return first + (int64_t)(bits % (uint64_t)width);
}

/* Entries of a row, `mean` on average: most rows have few and few have many, as in graphs, so that the end of
 * a row comes as a surprise to the core as it does there. */
static int degree_of(int64_t row, int mean) {
  double chance = (double)(mix((uint64_t)row + 1) >> 11) * 0x1p-53, degree = 0.5 * mean / sqrt(1 - chance);
  return degree < LONGEST * mean ? (int)(degree + 0.5) : LONGEST * mean;
}

/* Rank's rows of a block diagonal matrix. */
static sley_status make_block(const sl_comm *comm, int64_t n, int mean, bool near, sley_matrix **out) {
  sl_csr_arrays csr;
  int64_t entries = 0;
  for (int64_t i = 0; i < n; i++)
    entries += degree_of(i, mean);
  SL_TRY(sl_csr_arrays_alloc(n, entries, SLEY_I32, SLEY_F32, &csr));
  int32_t *col = csr.col;
  float *val = csr.val;
  csr.rowptr[0] = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t begin = csr.rowptr[i], end = begin + degree_of(i, mean);
    for (int64_t e = begin; e < end; e++) {
      int32_t c = (int32_t)(column_of((uint64_t)e + 1, i, n, near) + comm->rank * n);
      int64_t at = e;
      for (; at > begin && col[at - 1] > c; at--)
        col[at] = col[at - 1];
      col[at] = c;
      val[e] = 1;
    }
    csr.rowptr[i + 1] = end;
  }
  return sl_matrix_adopt(n, n * comm->size, SLEY_I32, SLEY_F32, csr, -1, out);
}

typedef struct product {
  sley_plan *plan;
  const float *x;
  float *y;
  int64_t k;
} product;

static sley_status run_product(void *context) {
  product *p = context;
  return sl_spmm_execute(p->plan, 1, p->x, p->k, 0, p->y, p->k);
}

/* What one product has shown. */
typedef struct shown {
  double seconds, entries; /* of a rank */
  double at_hand;          /* the share of entries whose row of X is */
} shown;

/* A product with n rows a rank. */
static sley_status time_product(sl_comm *comm, sl_tuning *tune, int64_t n, int degree, bool near, int64_t k,
                                shown *out) {
  int64_t begin[SL_TUNE_RANKS + 1];
  float *x = NULL, *y = NULL;
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = "halo-coalesced";
  for (int r = 0; r <= comm->size; r++)
    begin[r] = r * n;
  sley_status status = make_block(comm, n, degree, near, &block);
  if (status == SLEY_OK)
    status = SL_NEW(x, n * k, "X");
  for (int64_t i = 0; i < n * k && status == SLEY_OK; i++)
    x[i] = (float)(i % 17);
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(y, n * k, "Y");
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  SL_TRY_GOTO(status, sl_spmm_plan(comm, block, begin, begin, k, &options, &plan), done);
  status = sl_tune_measure(comm, tune, &(sl_timed){run_product, &(product){plan, x, y, k}}, &out->seconds);
  out->at_hand = plan->plan.near_local;
  out->entries = (double)block->nnz;
  sl_spmm_plan_destroy(plan);
done:
  sl_free(y);
  sl_free(x);
  sley_matrix_destroy(block);
  return status;
}

/* Of rows of so many bytes that take so many together. Products near the diagonal, whose rows of X are at
 * hand, with few and with many entries a row tell these from storing Y; entries anywhere tell what those cost
 * whose row is not. */
static sley_status tune_products(sl_comm *comm, sl_tuning *tune, int64_t width, int64_t reach, bool first) {
  sl_machine *m = &tune->machine;
  int64_t row = 4 * width, n = reach / row;
  shown little, close, many;
  SL_TRY(time_product(comm, tune, n, FEW, true, width, &little));
  SL_TRY(time_product(comm, tune, n, MANY, true, width, &close));
  SL_TRY(time_product(comm, tune, n, MANY, false, width, &many));
  if (comm->rank > 0)
    return SLEY_OK;
  double few = fmax(little.seconds - m->meeting, 0.5 * little.seconds);
  double most = fmax(close.seconds - m->meeting, 0.5 * close.seconds);
  double near = fmax(most - few, 0.5 * most) / (close.entries - little.entries);
  double stored = fmax(few - little.entries * near, 0.1 * few);
  double entry = (fmax(many.seconds - m->meeting, most) - stored) / many.entries, far = entry;
  if (many.at_hand < 0.9)
    far = fmax(entry - many.at_hand * near, 0) / (1 - many.at_hand);
  double store_rate = (double)reach / stored, near_rate = (double)(8 + row) / near;
  if (!first) { /* more is no faster: a measurement that says so has met with other work */
    store_rate = fmin(store_rate, m->store[m->stores - 1].bandwidth);
    m->nears--; /* of sizes that are no longer all in a core's own cache, the first */
    near_rate = reach > reaches[3] ? m->near[m->nears].bandwidth : near_rate;
  }
  m->rate[m->rates++] = (sl_rate){(double)row, (double)reach, (double)(8 + row) / fmax(far, near)};
  m->store[m->stores++] = (sl_rate){(double)row, (double)reach, store_rate};
  m->near[m->nears++] = (sl_rate){(double)row, 0, near_rate};
  m->spmm_bandwidth = m->rate[m->rates - 1].bandwidth;
  m->stream_bandwidth = store_rate;
  return SLEY_OK;
}

sley_status sl_tune_kernels(sl_comm *comm, sl_tuning *tune) {
  for (int w = 0; w < WIDTHS; w++)
    for (int r = 0; r < REACHES; r++)
      if (reaches[r] / (4 * widths[w]) <= 1 << 19) /* narrow rows of a long X take long to make */
        SL_TRY(tune_products(comm, tune, widths[w], reaches[r], r == 0));
  return SLEY_OK;
}
