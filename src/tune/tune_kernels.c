/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the time of products. */
#include <math.h>

#include "ops/spmm.h"
#include "tune/tune_inside.h"

/* FEW, MANY: average entries of a row in two kinds of matrices. LONGEST: multiple of the average for the
 * longest row. NEAR: distance from the diagonal of half of a matrix's entries. */
enum { FEW = 4, MANY = 20, LONGEST = 8, NEAR = 512 };

enum { WIDTHS = SL_TUNE_WIDTHS, REACHES = 5 };

/* Sizes of the products that are measured: on cores with all lengths of X, on GPUs only with the longest. */
typedef struct grid {
  int64_t width[WIDTHS];  /* bytes of a row of X, in f32 */
  int64_t reach[REACHES]; /* bytes of X, ascending; 0: end */
  int64_t most_rows;      /* because narrow rows of a long X take long to make */
} grid;

/* Longest X on cores whose rows count as recently used. */
enum { NEAR_REACH = 1 << 23 };

static const grid of_core = {
    .width = {4, 16, 64, 128}, .reach = {1 << 18, 1 << 21, 1 << 22, 1 << 23, 1 << 25}, .most_rows = 1 << 19};
/* From sizes well within a GPU's cache to sizes far beyond it. */
static const grid of_gpu = {
    .width = {16, 64, 128, 256}, .reach = {1 << 22, 1 << 25, 1 << 27, 1 << 28}, .most_rows = 1 << 21};

static const grid *grid_of(const sl_comm *comm) {
  return sl_tune_enqueues(comm) ? &of_gpu : &of_core;
}

/* The product of a rank's rows of a block diagonal matrix. */
typedef struct product {
  int64_t rows; /* rows of a rank */
  int degree;   /* average entries per row */
  bool near;    /* true: entries are near the diagonal; false: anywhere in the block */
  bool halo; /* true: one entry for each other rank names one of its rows; such runs are timed one by one */
  int64_t k;
} product;

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* Column of an entry: near the diagonal, or anywhere in the block. */
static int64_t column_of(uint64_t seed, int64_t row, int64_t n, bool near) {
  uint64_t bits = mix(seed);
  int64_t width = n < 2 * NEAR ? n : 2 * NEAR, first = row - width / 2;
  if (!near)
    return (int64_t)(bits % (uint64_t)n);
  first = first < 0 ? 0 : first > n - width ? n - width : first;
  return first + (int64_t)(bits % (uint64_t)width);
}

/* Number of entries of a row, `mean` on average. As in graphs, most rows have few entries and few have many,
 * so that a core cannot predict the end of a row. */
static int degree_of(int64_t row, int mean) {
  double chance = (double)(mix((uint64_t)row + 1) >> 11) * 0x1p-53, degree = 0.5 * mean / sqrt(1 - chance);
  return degree < LONGEST * mean ? (int)(degree + 0.5) : LONGEST * mean;
}

/* The rank that owns an entry's column: another rank for the first entry of the first rows, one row for
 * each. */
static int owner_of(const sl_comm *comm, const product *p, int64_t row, bool first) {
  return p->halo && first && row < comm->size - 1 ? (comm->rank + 1 + (int)row) % comm->size : comm->rank;
}

/* Makes this rank's rows. */
static sley_status make_block(const sl_comm *comm, const product *p, sley_matrix **out) {
  sl_csr_arrays csr;
  int64_t n = p->rows, entries = 0;
  for (int64_t i = 0; i < n; i++)
    entries += degree_of(i, p->degree);
  SL_TRY(sl_csr_arrays_alloc(n, entries, SLEY_I32, SLEY_F32, &csr));
  int32_t *col = csr.col;
  float *val = csr.val;
  csr.rowptr[0] = 0;
  for (int64_t i = 0; i < n; i++) {
    int64_t begin = csr.rowptr[i], end = begin + degree_of(i, p->degree);
    for (int64_t e = begin; e < end; e++) {
      int64_t owner = owner_of(comm, p, i, e == begin);
      int32_t c = (int32_t)(column_of((uint64_t)e + 1, i, n, p->near) + owner * n);
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

typedef struct execution {
  sley_plan *plan;
  void *x, *y;
  int64_t k;
} execution;

static sley_status run_product(void *context) {
  execution *e = context;
  return sl_spmm_execute(e->plan, 1, e->x, e->k, 0, e->y, e->k);
}

/* Results of one product. */
typedef struct shown {
  double seconds, entries; /* seconds and entries of a rank */
  double at_hand;          /* share of entries whose row of X was used recently */
} shown;

static sley_status time_product(sl_comm *comm, sl_tuning *tune, const product *p, shown *out) {
  int64_t begin[SL_TUNE_RANKS + 1], bytes = p->rows * p->k * (int64_t)sizeof(float);
  execution e = {.k = p->k};
  sley_matrix *block = NULL;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = p->halo ? "halo" : "halo-coalesced";
  for (int r = 0; r <= comm->size; r++)
    begin[r] = r * p->rows;
  sley_status status = make_block(comm, p, &block);
  if (status == SLEY_OK)
    status = sl_tune_alloc(comm, bytes, "X", &e.x);
  if (status == SLEY_OK)
    status = sl_tune_alloc(comm, bytes, "Y", &e.y);
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  SL_TRY_GOTO(status, sl_spmm_plan(comm, block, begin, begin, p->k, &options, &e.plan), done);
  sl_timed what = {.run = run_product, .context = &e, .alone = p->halo};
  status = sl_tune_measure(comm, tune, &what, &out->seconds);
  out->at_hand = e.plan->plan.near_local;
  out->entries = (double)block->nnz;
  sl_spmm_plan_destroy(e.plan);
done:
  comm->device->ops->free(comm->device, e.y);
  comm->device->ops->free(comm->device, e.x);
  sl_matrix_destroy(block);
  return status;
}

/* Figures from products near the diagonal, whose rows of X were used recently, with few and with many entries
 * per row. */
typedef struct told {
  double near;   /* seconds per entry */
  double stored; /* seconds to load X and store Y once */
} told;

static told compare(const shown *little, const shown *close, double meeting) {
  double few = fmax(little->seconds - meeting, 0.5 * little->seconds);
  double most = fmax(close->seconds - meeting, 0.5 * close->seconds);
  double near = fmax(most - few, 0.5 * most) / (close->entries - little->entries);
  return (told){near, fmax(few - little->entries * near, 0.1 * few)};
}

/* Stores the figures of cores. Entries anywhere in the block determine the cost of entries whose row was not
 * used recently. */
static void note_core(sl_machine *m, int64_t row, int64_t reach, const told *t, const shown *many,
                      double meeting, bool first) {
  double most = t->near * many->entries + t->stored;
  double entry = (fmax(many->seconds - meeting, most) - t->stored) / many->entries, far = entry;
  if (many->at_hand < 0.9)
    far = fmax(entry - many->at_hand * t->near, 0) / (1 - many->at_hand);
  double store_rate = (double)reach / t->stored, near_rate = (double)(8 + row) / t->near;
  if (!first) { /* if a larger number seems faster, the measurement was disturbed */
    store_rate = fmin(store_rate, m->store[m->stores - 1].bandwidth);
    m->nears--; /* only the figure of the longest X up to NEAR_REACH is kept */
    near_rate = reach > NEAR_REACH ? m->near[m->nears].bandwidth : near_rate;
  }
  m->rate[m->rates++] = (sl_rate){(double)row, (double)reach, (double)(8 + row) / fmax(far, t->near)};
  m->store[m->stores++] = (sl_rate){(double)row, (double)reach, store_rate};
  m->near[m->nears++] = (sl_rate){(double)row, 0, near_rate};
  m->spmm_bandwidth = m->rate[m->rates - 1].bandwidth;
  m->stream_bandwidth = store_rate;
}

/* Stores the figures of a GPU, from the longest X: entries whose row was used recently, and memory that loads
 * X and stores Y. To separate these entries from others, the block would have to be sampled, which takes
 * longer than many products. */
static void note_gpu(sl_machine *m, int64_t row, int64_t reach, const told *t) {
  m->spmm_bandwidth = (double)(8 + row) / t->near;
  m->rate[m->rates++] = (sl_rate){(double)row, (double)reach, m->spmm_bandwidth};
  m->stream_bandwidth = 2 * (double)reach / t->stored;
}

/* Measures products with rows of `width` bytes and an X of `reach` bytes. */
static sley_status tune_products(sl_comm *comm, sl_tuning *tune, int64_t width, int64_t reach, bool first) {
  sl_machine *m = &tune->machine;
  int64_t row = 4 * width, n = reach / row;
  bool enqueues = sl_tune_enqueues(comm);
  double meeting = enqueues ? 0 : m->meeting; /* consecutive products have no meetings */
  shown little, close, many;
  SL_TRY(time_product(comm, tune, &(product){.rows = n, .degree = FEW, .near = true, .k = width}, &little));
  SL_TRY(time_product(comm, tune, &(product){.rows = n, .degree = MANY, .near = true, .k = width}, &close));
  if (!enqueues)
    SL_TRY(time_product(comm, tune, &(product){.rows = n, .degree = MANY, .k = width}, &many));
  if (comm->rank > 0)
    return SLEY_OK;
  told t = compare(&little, &close, meeting);
  if (enqueues)
    note_gpu(m, row, reach, &t);
  else
    note_core(m, row, reach, &t, &many, meeting, first);
  return SLEY_OK;
}

/* If ranks enqueue: the time of a product beyond its sums, including its launch. Compares a single product,
 * with a halo of almost no bytes, with the same sums one after another. */
static sley_status tune_meeting(sl_comm *comm, sl_tuning *tune) {
  product p = {.rows = 1 << 14, .degree = MANY, .near = true, .k = 64};
  shown sums, whole;
  SL_TRY(time_product(comm, tune, &p, &sums));
  p.halo = true;
  SL_TRY(time_product(comm, tune, &p, &whole));
  if (comm->rank == 0)
    tune->machine.meeting =
        fmax(tune->machine.meeting, fmax(whole.seconds - sums.seconds, 0.2 * whole.seconds));
  return SLEY_OK;
}

/* Returns whether there is time for a product of this size. */
static bool is_measured(const grid *g, const sl_tuning *tune, int w, int r) {
  return r < REACHES && g->reach[r] > 0 && (double)g->reach[r] <= tune->most_bytes &&
         (double)(g->reach[r] / (4 * g->width[w])) <= tune->size * (double)g->most_rows;
}

/* Measures products of one width: the smallest, and larger ones as long as there is time. */
static sley_status tune_width(sl_comm *comm, sl_tuning *tune, const grid *g, int w) {
  int sizes = 1;
  bool late = false;
  while (is_measured(g, tune, w, sizes))
    sizes++;
  if (sl_tune_enqueues(comm))
    return tune_products(comm, tune, g->width[w], g->reach[sizes - 1], sizes == 1);
  if (tune->repeats) { /* as many as rank 0 has recorded */
    int64_t before = comm->rank == 0 ? tune->sizes[w] : 0;
    SL_TRY(comm->ops->allreduce(comm, SL_MAX, &before, 1));
    sizes = (int)before;
  }
  for (int r = 0; r < sizes && !(late && r > 0); r++) {
    SL_TRY(tune_products(comm, tune, g->width[w], g->reach[r], r == 0));
    if (!tune->repeats) {
      SL_TRY(sl_tune_is_late(comm, tune, &late));
      if (comm->rank == 0)
        tune->sizes[w] = r + 1;
    }
  }
  return SLEY_OK;
}

sley_status sl_tune_kernels(sl_comm *comm, sl_tuning *tune) {
  const grid *g = grid_of(comm);
  for (int w = 0; w < WIDTHS; w++)
    SL_TRY(tune_width(comm, tune, g, w));
  return sl_tune_enqueues(comm) && comm->size > 1 ? tune_meeting(comm, tune) : SLEY_OK;
}
