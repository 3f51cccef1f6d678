/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts an SpMM into parts and runs them. */
#include "device/cpu/spmm/spmm_parts.h"

#include <math.h>

#include "base/memory.h"
#include "base/value.h"
#include "device/product.h"

/* PARTS_PER_THREAD, PARTS_LEAST: most and fewest parts per thread, on average. ROW_WORK: the cost of a row
 * beyond its entries, in entries. FRAGMENT: a row's features are cut at multiples of this; smaller fragments
 * are not faster, because each entry waits for the sum of the one before. */
enum { PARTS_PER_THREAD = 24, PARTS_LEAST = 2, ROW_WORK = 2, FRAGMENT = 64 };

/* Cycles per entry. VECTOR: each vector. LANE: each lane of it, because wider vectors cross cache lines more
 * often. SMALL_PART: a vector less than half full. PART_LANE: each lane of an incomplete vector.
 * PART_BY_VALUE: a vector loaded value by value. FMA_CALL: a fused multiply-add that is a function call. */
static const double VECTOR = 0.5, LANE = 0.02, SMALL_PART = 0.15, PART_LANE = 0.06, PART_BY_VALUE = 8,
                    FMA_CALL = 10;

/* Rows are summed in bundles under these conditions. A row of sums has at most SL_SPMM_BUNDLED_BYTES, and A's
 * rows have at most BUNDLED_ENTRIES entries on average: wider or longer rows spend little of their time at
 * their beginnings and ends. If k is 1, A's rows may have any length, because the bundle fills the vectors.
 * Rows of more than BUNDLED_LARGE bytes: only if A and Y are not too large (sl_core_figures); beyond that
 * memory is the limit, and Y should be written in order. Rows of more than BUNDLED_NEAR bytes: only if X fits
 * in a near cache, whatever the order of its rows. */
enum { BUNDLED_ENTRIES = 512, BUNDLED_LARGE = 64, BUNDLED_NEAR = 128 };

/* If X is large and its rows are used by fewer than REUSED entries each, they do not count as near: many
 * entries are the first to use their row. */
enum { REUSED = 16 };

/* Approximate number of bytes of a row that are summed at once. */
enum { PANEL_BYTES = 512 };

/* Bytes of X or Y that belong to the rows sorted together, and the minimum number of such rows. */
enum { WINDOW_BYTES = 16 << 10, WINDOW_LEAST = 32 };

typedef struct parts {
  int64_t count;
  sl_bundles *bundles; /* NULL if no part has bundles */
  sl_spmm_part part[];
} parts;

/* Estimated seconds of one thread. */
static double serial_seconds(const sl_spmm_problem *p) {
  const sl_core_figures *f = &p->figures->cores;
  double lines = ceil((double)p->k * (double)sley_dtype_bytes(p->a->dtype) / 64);
  return (double)(sl_spmm_entries(p->a) + ROW_WORK * p->a->rows) * (f->entry + f->line * lines);
}

static int64_t parts_per_thread(const sl_spmm_problem *p, int64_t threads) {
  const sl_core_figures *f = &p->figures->cores;
  double want = serial_seconds(p) / (p->k == 1 ? f->part_one : f->part) / (double)threads;
  return want > PARTS_PER_THREAD ? PARTS_PER_THREAD : want < PARTS_LEAST ? PARTS_LEAST : (int64_t)want;
}

/* Number of fragments into which the features of a row with this work are cut. */
static int64_t row_fragments(int64_t work, int64_t fair, int64_t k) {
  int64_t most = (k + FRAGMENT - 1) / FRAGMENT;
  int64_t want = work / fair;
  return want < 2 || most < 2 ? 1 : want < most ? want : most;
}

/* Work of rows [begin, end). */
static int64_t work_of(const sl_spmm_matrix *a, int64_t begin, int64_t end) {
  return a->rowptr[end] - a->rowptr[begin] + ROW_WORK * (end - begin);
}

/* End of the part that begins with row `begin`: that row, and as many more as fit in a fair share. */
static int64_t end_of_part(const sl_spmm_matrix *a, int64_t begin, int64_t fair) {
  int64_t fits = begin + 1, beyond = a->rows + 1;
  while (beyond - fits > 1) {
    int64_t middle = fits + (beyond - fits) / 2;
    if (work_of(a, begin, middle) <= fair)
      fits = middle;
    else
      beyond = middle;
  }
  return fits;
}

/* Moves the end of a part so that it has a multiple of `step` rows, or stops before a row that is cut into
 * fragments. */
static int64_t end_of_steps(const sl_spmm_matrix *a, int64_t begin, int64_t end, int64_t step, int64_t fair,
                            int64_t k) {
  if (end - begin > step)
    return end - (end - begin) % step;
  while (end - begin < step && end < a->rows && row_fragments(work_of(a, end, end + 1), fair, k) == 1)
    end++;
  return end;
}

static int64_t column_at(const sl_spmm_matrix *a, int64_t entry) {
  return a->index == SLEY_I32 ? ((const int32_t *)a->col)[entry] : ((const int64_t *)a->col)[entry];
}

/* Number of columns between the least and the greatest in the rows, judged by the first and the last entry of
 * each row. */
static int64_t span_of(const sl_spmm_matrix *a, int64_t begin, int64_t end) {
  int64_t least = INT64_MAX, most = 0;
  for (int64_t i = begin; i < end; i++) {
    if (a->rowptr[i] == a->rowptr[i + 1])
      continue;
    int64_t first = column_at(a, a->rowptr[i]), last = column_at(a, a->rowptr[i + 1] - 1);
    least = first < least ? first : least;
    most = last > most ? last : most;
  }
  return least > most ? 0 : most - least + 1;
}

/* Sets near and panels, which describe how the part uses X. */
static void look_at_x(const sl_spmm_problem *p, sl_spmm_part *part) {
  const sl_core_figures *f = &p->figures->cores;
  const sl_spmm_matrix *a = p->a;
  int64_t row_bytes = (part->feature_end - part->feature) * (int64_t)sley_dtype_bytes(a->dtype),
          span = span_of(a, part->row, part->row_end),
          entries = a->rowptr[part->row_end] - a->rowptr[part->row], rows = span < entries ? span : entries;
  const bool often_first = p->x_rows > f->far / row_bytes && entries < REUSED * span;
  part->near = span <= f->near / (row_bytes < PANEL_BYTES ? row_bytes : PANEL_BYTES) && !often_first;
  part->panels = rows > f->near / row_bytes;
}

/* Cuts greedily, into multiples of `step` rows if possible; returns the number of parts. Any two consecutive
 * parts together exceed a fair share. A row is cut into at most as many fragments as it has shares, or not at
 * all if whole_rows. */
static int64_t cut(const sl_spmm_matrix *a, int64_t k, bool whole_rows, int64_t fair, int64_t step,
                   sl_spmm_part *out) {
  int64_t count = 0, lines = (k + FRAGMENT - 1) / FRAGMENT, cuttable = whole_rows ? 1 : k;
  for (int64_t begin = 0, end; begin < a->rows; begin = end) {
    end = end_of_part(a, begin, fair);
    int64_t fragments = row_fragments(work_of(a, begin, begin + 1), fair, cuttable);
    if (fragments == 1)
      end = end_of_steps(a, begin, end, step, fair, cuttable);
    for (int64_t p = 0; p < fragments; p++) {
      int64_t from = lines * p / fragments * FRAGMENT, to = lines * (p + 1) / fragments * FRAGMENT;
      out[count++] =
          (sl_spmm_part){.row = begin, .row_end = end, .feature = from, .feature_end = to < k ? to : k};
    }
  }
  return count;
}

static int height_of(const sl_spmm_problem *p) {
  return p->k == 1 && !sl_is_16_bit(p->a->dtype) ? SL_SPMM_HEIGHT_ONE : SL_SPMM_HEIGHT;
}

/* Number of rows sorted together. More rows make the rows of a bundle more alike; fewer keep the rows of X
 * that they share in the nearest cache. */
static int window_of(const sl_spmm_problem *p) {
  int64_t rows = WINDOW_BYTES / (p->k * (int64_t)sley_dtype_bytes(p->a->dtype)), height = height_of(p);
  rows = rows < WINDOW_LEAST ? WINDOW_LEAST : rows < SL_BUNDLES_WINDOW ? rows : SL_BUNDLES_WINDOW;
  return (int)(rows / height * height);
}

/* Returns whether 32 bits suffice for row numbers and for offsets of values in a contiguous X. */
static bool fits_32_bits(const sl_spmm_problem *p) {
  const sl_spmm_matrix *a = p->a;
  return a->rows < INT32_MAX && (!a->rowid || a->rows == 0 || a->rowid[a->rows - 1] < INT32_MAX) &&
         p->x_rows < INT32_MAX / p->k;
}

static bool is_bundled(const sl_spmm_problem *p) {
  const sl_core_figures *f = &p->figures->cores;
  const sl_spmm_matrix *a = p->a;
  int64_t entries = sl_spmm_entries(a), row_bytes = p->k * (int64_t)sley_dtype_bytes(sl_sum_dtype(a->dtype));
  int64_t entry_bytes = (int64_t)(sl_index_bytes(a->index) + sley_dtype_bytes(a->dtype));
  int64_t total = entries * entry_bytes + a->rows * row_bytes;
  return p->k > 0 && row_bytes <= SL_SPMM_BUNDLED_BYTES &&
         (p->k == 1 || entries <= a->rows * BUNDLED_ENTRIES) &&
         (row_bytes <= BUNDLED_LARGE || total <= f->bundled) &&
         (row_bytes <= BUNDLED_NEAR || p->x_rows * row_bytes <= f->near) && !p->arrives && !p->pages &&
         fits_32_bits(p);
}

/* Returns whether the part has all features of its rows. */
static bool is_whole(const sl_spmm_part *part, int64_t k) {
  return part->feature == 0 && part->feature_end == k;
}

typedef struct bundling {
  parts *made;
  const sl_spmm_matrix *a;
  const void *val; /* new values; NULL: the bundles are filled with a's values and columns */
} bundling;

static sley_status bundle_parts(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const bundling *s = context;
  for (int64_t i = begin; i < end; i++) {
    const sl_spmm_part *part = &s->made->part[i];
    if (part->bundles && s->val)
      sl_bundles_refill(s->made->bundles, s->a, s->val, part->bundle, part->bundle_end);
    else if (part->bundles)
      sl_bundles_fill(s->made->bundles, s->a, part->bundle, part->row, part->row_end);
  }
  return SLEY_OK;
}

static sley_status bundle_rows(const sl_spmm_problem *problem, sl_team *team, parts *made) {
  int height = height_of(problem);
  int64_t bundles = 0;
  for (int64_t p = 0; p < made->count; p++) {
    sl_spmm_part *part = &made->part[p];
    part->bundle = bundles;
    if (is_whole(part, problem->k))
      bundles += sl_bundles_of(part->row_end - part->row, height);
    part->bundle_end = bundles;
  }
  SL_TRY(sl_bundles_alloc(problem->a, problem->k, bundles, height, window_of(problem), &made->bundles));
  for (int64_t p = 0; p < made->count; p++)
    made->part[p].bundles = made->part[p].bundle < made->part[p].bundle_end ? made->bundles : NULL;
  return sl_team_for(team, made->count, 1, bundle_parts, &(bundling){.made = made, .a = problem->a});
}

sley_status sl_cpu_spmm_parts(sl_queue *queue, const sl_spmm_problem *problem, bool whole_rows,
                              void **prepared) {
  *prepared = NULL;
  const sl_spmm_matrix *a = problem->a;
  int64_t k = problem->k, threads = sl_team_size(sl_cpu_queue_team(queue));
  bool bundled = is_bundled(problem);
  if (k == 0 || a->rows == 0)
    return SLEY_OK;
  int64_t share = threads * parts_per_thread(problem, threads);
  int64_t fair = work_of(a, 0, a->rows) / share + 1, most = 3 * share + 2;
  parts *made =
      sl_alloc((int64_t)sizeof *made + most * (int64_t)sizeof made->part[0], 1, "the parts of a product");
  if (!made)
    return SLEY_ERR_MEMORY;
  made->count = cut(a, k, whole_rows, fair, bundled ? height_of(problem) : 1, made->part);
  for (int64_t p = 0; p < made->count; p++)
    look_at_x(problem, &made->part[p]);
  made->bundles = NULL;
  sley_status status = bundled ? bundle_rows(problem, sl_cpu_queue_team(queue), made) : SLEY_OK;
  if (status != SLEY_OK) {
    sl_free(made);
    return status;
  }
  *prepared = made;
  return SLEY_OK;
}

sley_status sl_cpu_spmm_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                void **prepared) {
  (void)device;
  return sl_cpu_spmm_parts(queue, args->spmm.problem, false, prepared);
}

sley_status sl_cpu_spmm_refill(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                               const void *val, sl_values_in where, void *prepared) {
  (void)device, (void)where; /* the device's memory is the host's */
  parts *made = prepared;
  if (!made || !made->bundles)
    return SLEY_OK;
  return sl_team_for(sl_cpu_queue_team(queue), made->count, 1, bundle_parts,
                     &(bundling){.made = made, .a = args->spmm.problem->a, .val = val});
}

int64_t sl_cpu_spmm_memory(const sl_kernel_args *args, int64_t *passing) {
  const sl_spmm_problem *p = args->spmm.problem;
  *passing = 0;
  if (p->k == 0 || p->a->rows == 0 || !is_bundled(p))
    return 0;
  int height = height_of(p);
  return sl_bundles_bytes(p->a, sl_bundles_of(p->a->rows, height), height);
}

/* Number of entries in bundles: of prepared, or, if that is NULL, of the whole problem if its rows are
 * bundled. */
static int64_t copied(const sl_kernel_args *args, const void *prepared) {
  const sl_spmm_problem *p = args->spmm.problem;
  const parts *made = prepared;
  int64_t entries = 0;
  if (!made)
    return p->a->rows > 0 && is_bundled(p) ? sl_spmm_entries(p->a) : 0;
  for (int64_t i = 0; i < made->count; i++)
    if (made->part[i].bundles)
      entries += p->a->rowptr[made->part[i].row_end] - p->a->rowptr[made->part[i].row];
  return entries;
}

const sl_product_traits sl_cpu_spmm_product = {SL_PRODUCT_DEFAULTS, .layout = "bundles", .copied = copied};

void sl_cpu_spmm_release(sl_device *device, void *prepared) {
  (void)device;
  if (prepared)
    sl_bundles_free(((parts *)prepared)->bundles);
  sl_free(prepared);
}

typedef struct product {
  const sl_spmm_run *args;
  sl_spmm_part_body body;
} product;

static sley_status run_parts(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const product *p = context;
  const parts *made = p->args->prepared;
  for (int64_t i = begin; i < end; i++)
    p->body(p->args, &made->part[i]);
  return SLEY_OK;
}

static sley_status run_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const product *p = context;
  p->body(p->args,
          &(sl_spmm_part){.row = begin, .row_end = end, .feature_end = p->args->problem->k, .panels = true});
  return SLEY_OK;
}

sley_status sl_cpu_spmm_run(sl_queue *queue, const sl_spmm_run *args, double more, sl_spmm_part_body body) {
  const sl_spmm_matrix *a = args->problem->a;
  int64_t k = args->problem->k;
  if (k <= 0 || a->rows <= 0)
    return SLEY_OK;
  product p = {.args = args, .body = body};
  sl_team *team = sl_cpu_queue_team(queue);
  const sl_core_figures *f = &args->problem->figures->cores;
  const double seconds = serial_seconds(args->problem) + more;
  if (sl_team_size(team) == 1 || seconds < f->serial)
    return args->prepared ? run_parts(&p, 0, ((const parts *)args->prepared)->count, 0)
                          : run_rows(&p, 0, a->rows, 0);
  if (args->prepared) {
    const int64_t count = ((const parts *)args->prepared)->count;
    return seconds < f->brief ? sl_team_for_brief(team, count, run_parts, &p)
                              : sl_team_for(team, count, 1, run_parts, &p);
  }
  int64_t threads = sl_team_size(team),
          grain = a->rows / (threads * parts_per_thread(args->problem, threads)) + 1;
  return sl_team_for(team, a->rows, grain, run_rows, &p);
}

double sl_cpu_spmm_cost(const sl_device_figures *figures, const sl_spmm_problem *problem, int lanes,
                        bool by_value) {
  const sl_spmm_matrix *a = problem->a;
  double entries = (double)sl_spmm_entries(a), k = (double)problem->k;
  double bytes = entries * k * (double)sley_dtype_bytes(a->dtype) +
                 entries * (double)(sl_index_bytes(a->index) + sley_dtype_bytes(a->dtype));
  int rest = (int)(problem->k % lanes);
  double part = rest == 0 ? 0 : by_value ? PART_BY_VALUE : 2 * rest <= lanes ? SMALL_PART : PART_LANE * lanes;
  double cycles = lanes > 1 ? VECTOR * ceil(k / lanes) + LANE * lanes + part : FMA_CALL * k;
  return entries * cycles / figures->cores.cycles + bytes / figures->plain;
}
