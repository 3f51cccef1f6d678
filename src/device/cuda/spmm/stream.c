/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM as streams of entries: inspection on the host, and the choice among its kernels. */
#include "device/cuda/spmm/stream.h"

#include "base/memory.h"
#include "base/value.h"
#include "device/cuda/spmm/column_copy.h"
#include "device/cuda/spmm/spmm_rows.h"
#include "device/product.h"
#include "device/window_model.h"

/* Entries of a chunk. A chunk has at least the entries of some rows (CHUNK_ROWS), because chunks of about
 * equal length keep the groups of a warp together; fewer if rows of X are wide and an entry takes longer; and
 * never so many that multiprocessors are idle: groups have 8 to 32 threads, and a GPU should be filled about
 * twice. */
enum { CHUNK_ROWS = 4, CHUNK_MOST = 256, CHUNK_MOST_WIDE = 128, CHUNK_LEAST = 32, CHUNK_SMALLEST = 16 };
enum { NARROW_CHUNK_MOST = 1024, NARROW_CHUNK_LEAST = 64 };
enum { LONG_ROW = 20, LONG_CUT = 128, LONG_FRAGMENT = 64 };
enum { WIDE_BYTES = 256 };

/* How the rows are cut, which decides which sums of a row are added to each other. */
typedef struct cut {
  int ways; /* lanes that share a feature */
  sl_chunk_sizes sizes;
} cut;

/* Bytes of the sum of one feature of a fragment. */
static int64_t sum_bytes(const sl_spmm_matrix *a) {
  return (int64_t)sley_dtype_bytes(sl_sum_dtype(a->dtype));
}

/* The target, halved while there are fewer chunks than wanted, but not below `least`. */
static int64_t halved(int64_t target, int64_t least, int64_t entries, int64_t wanted) {
  while (target > least && entries / target < wanted)
    target /= 2;
  return target;
}

/* Share of the entries that are in rows cut into fragments at the smallest chunk size. Such rows take
 * longest, because many other chunks finish before them. */
static double share_of_long_rows(const sl_spmm_problem *args) {
  sl_chunks c;
  const int64_t entries = sl_spmm_entries(args->a);
  sl_chunks_count(args->a->rows, args->a->rowptr, sl_chunk_sizes_of(CHUNK_SMALLEST, false), args->team, &c);
  return entries > 0 ? (double)(c.slots * CHUNK_SMALLEST) / (double)entries : 0;
}

/* Number of lanes that share a feature, so that all lanes of a warp process one chunk. Used if rows are long
 * enough to share (longer if there is work for all lanes anyway), and if few rows are much longer than others
 * and the product is too small to hide their time. Determined here from the problem, because bits must not
 * depend on the number of columns of a run. */
static int ways_of(const sl_spmm_problem *args) {
  const int64_t entries = sl_spmm_entries(args->a), *fill = args->figures->fill,
                bytes = args->k * (int64_t)sley_dtype_bytes(args->a->dtype);
  const int ways = bytes <= 64 ? 8 : bytes <= 128 ? 4 : bytes <= 256 ? 2 : 1;
  const int of_long_rows = sl_stream_ways(args->figures, args->a->dtype, args->k, entries, args->a->rows);
  if (args->in_order)
    return 1;
  if (of_long_rows > 1)
    return of_long_rows;
  if (entries >= fill[SL_FILL_ENTRIES] || entries * bytes >= fill[SL_FILL_SUMS])
    return 1;
  const double long_rows = share_of_long_rows(args);
  if (bytes <= 128)
    return long_rows > 0 ? ways : 1;
  if (bytes <= 256 || long_rows < 0.1)
    return 1;
  if (bytes <= 512)
    return entries < fill[SL_FILL_FEW_ENTRIES] ? 4 : entries < fill[SL_FILL_SOME_ENTRIES] ? 2 : 1;
  return bytes <= 1024 || (long_rows >= 0.4 && entries * bytes < fill[SL_FILL_LONG_SUMS]) ? 2 : 1;
}

/* Returns whether a row of X needs all lanes of a warp, but not more: its values are loaded one by one, or it
 * is wide. */
static bool takes_warps(const sl_spmm_problem *args) {
  const int64_t vec = sl_features_of_lane(args->a->dtype, args->k);
  return args->k > 16 * vec && args->k <= 32 * vec;
}

static cut cut_of(const sl_spmm_problem *args) {
  const int64_t entries = sl_spmm_entries(args->a), *fill = args->figures->fill,
                bytes = args->k * (int64_t)sley_dtype_bytes(args->a->dtype),
                warps = fill[SL_FILL_STREAM_WARPS];
  if (args->k <= SL_NARROW_MOST && !args->in_order)
    return (cut){1,
                 sl_chunk_sizes_of(halved(NARROW_CHUNK_MOST, NARROW_CHUNK_LEAST, entries,
                                          fill[args->k <= 2 ? SL_FILL_VECTOR_WARPS : SL_FILL_NARROW_WARPS]),
                                   false)};
  const int ways = ways_of(args);
  if (ways > 1)
    return (cut){ways, sl_chunk_sizes_of(halved(CHUNK_MOST, CHUNK_LEAST, entries, warps), false)};
  /* Rows are not cut if they are all longer than wide chunks allow, because there are enough panels. */
  const bool most = bytes < WIDE_BYTES || entries > args->a->rows * 4 * CHUNK_MOST_WIDE;
  int64_t target = most ? CHUNK_MOST : CHUNK_MOST_WIDE;
  while (target > CHUNK_LEAST && target * args->a->rows > CHUNK_ROWS * entries)
    target /= 2;
  int64_t lanes = bytes <= 128 ? 8 : bytes <= 256 ? 16 : 32, panels = (bytes + 511) / 512;
  target = halved(target, CHUNK_SMALLEST, entries * panels, fill[SL_FILL_STREAM_THREADS] / lanes);
  /* One warp per chunk, and one to two waves of warps: a single wave of longer chunks finishes sooner. */
  if (takes_warps(args) && entries > target * warps && entries <= 2 * target * warps)
    target *= 2;
  sl_chunk_sizes sizes = sl_chunk_sizes_of(target, args->in_order);
  /* If rows are long and the product is small, the longest would still run when all others have finished. */
  if (!args->in_order && entries < fill[SL_FILL_ENTRIES] && entries >= LONG_ROW * args->a->rows &&
      entries <= 4 * CHUNK_MOST_WIDE * args->a->rows)
    sizes = (sl_chunk_sizes){target, LONG_CUT, LONG_FRAGMENT};
  return (cut){1, sizes};
}

static bool stream_ok(const sl_kernel_args *args) {
  const sl_spmm_problem *a = args->spmm.problem;
  return sley_dtype_bytes(a->a->dtype) != 0 && (a->a->index == SLEY_I32 || a->a->index == SLEY_I64) &&
         !a->arrives && !a->pages;
}

static double stream_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  const sl_spmm_problem *a = args->spmm.problem;
  return figures->launch + (double)sl_spmm_entries(a->a) * (double)a->k *
                               (double)sley_dtype_bytes(a->a->dtype) / figures->stream;
}

static void stream_release(sl_device *device, void *prepared) {
  sl_stream_matrix *a = prepared;
  if (!a)
    return;
  const void *blocks[] = {a->chunk,
                          a->task,
                          a->borrows ? NULL : a->col,
                          a->borrows ? NULL : a->val,
                          a->row,
                          a->empty,
                          a->long_row,
                          a->partial,
                          a->finished};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    device->ops->free(device, (void *)blocks[i]);
  sl_free(a);
}

/* Uploads the rows with entries, unless the device numbers them itself from the list of empty rows. */
static sley_status upload_rows(sl_queue *queue, const sl_chunks *c, const int32_t *empty,
                               const int32_t **out) {
  int64_t bytes = (c->rows + 2) * (int64_t)sizeof *c->row;
  void *row;
  if (c->row)
    return sl_device_upload_private(queue, c->row, bytes, "chunks", (void **)out);
  SL_TRY(queue->device->ops->alloc_private(queue->device, bytes, "chunks", &row));
  *out = row;
  return sl_cuda_stream_number(queue, c->rows + 2, c->empties, empty, row);
}

/* Upper bound of the panels for k columns; no panel has fewer than 16. */
static int64_t panels_of(int64_t k) {
  return (k + 15) / 16;
}

static sley_status upload_chunks(sl_queue *queue, const sl_chunks *c, int64_t k, sl_stream_matrix *a) {
  a->chunks = c->chunks;
  a->empties = c->empties;
  a->longs = c->longs;
  a->every_row = !c->row && c->empties == 0;
  SL_TRY(sl_device_upload_private(queue, c->chunk, c->chunks * (int64_t)sizeof *c->chunk, "chunks",
                                  (void **)&a->chunk));
  SL_TRY(sl_device_upload_private(queue, c->empty, c->empties * (int64_t)sizeof *c->empty, "chunks",
                                  (void **)&a->empty));
  SL_TRY(upload_rows(queue, c, a->empty, &a->row));
  SL_TRY(sl_device_upload_private(queue, c->long_row, (c->longs + 1) * (int64_t)sizeof *c->long_row, "chunks",
                                  (void **)&a->long_row));
  unsigned *zeros;
  int64_t counters = sl_fragment_counters(c) * panels_of(k);
  a->counters = sl_fragment_counters(c);
  SL_TRY(SL_NEW_ZERO(zeros, counters, "chunks"));
  sley_status status = sl_device_upload_private(queue, zeros, counters * (int64_t)sizeof *zeros, "chunks",
                                                (void **)&a->finished);
  sl_free(zeros);
  return status;
}

/* Sets, for each chunk, the piece with which its rows of far arrive. */
static void set_pieces(const sl_spmm_problem *args, sl_chunks *chunks) {
  const int64_t *rowptr = args->a->rowptr;
  for (int64_t i = 0; i < chunks->chunks; i++) {
    sl_chunk *chunk = &chunks->chunk[i];
    while (chunk->piece < args->pieces - 1 &&
           chunk->begin + chunk->count > rowptr[args->piece_end[chunk->piece]] - rowptr[0])
      chunk->piece++;
  }
}

/* Uploads columns as 32-bit numbers, with the ends of rows marked. */
static sley_status upload_columns(sl_queue *queue, const sl_spmm_matrix *a, int64_t longest,
                                  const int32_t **out) {
  sl_device *device = queue->device;
  void *rowptr = NULL;
  SL_TRY(sl_cuda_upload_columns(queue, a, out));
  sley_status status =
      sl_device_upload_private(queue, a->rowptr, (a->rows + 1) * (int64_t)sizeof *a->rowptr, "rows", &rowptr);
  if (status == SLEY_OK)
    status = sl_cuda_stream_mark(queue, a->rows, rowptr, longest, (int32_t *)*out);
  sley_status waited = device->ops->queue_wait(queue); /* the kernel's input is freed after this */
  device->ops->free(device, rowptr);
  return status != SLEY_OK ? status : waited;
}

/* Uploads rows in chunks, or for a small product one by one. *longest: most entries of a row whose last
 * column is marked. *slots: number of sums of fragments. */
static sley_status upload_cut(sl_queue *queue, const sl_spmm_problem *args, sl_stream_matrix *out,
                              int64_t *longest, int64_t *slots) {
  const sl_spmm_matrix *a = args->a;
  *longest = *slots = 0;
  out->ways = sl_row_ways(args);
  if (out->ways > 0)
    return sl_row_tasks_upload(queue, args, out);
  sl_chunks chunks;
  const cut how = cut_of(args);
  sley_status status = sl_chunks_make(a->rows, a->rowid, a->rowptr, how.sizes, args->team, &chunks);
  if (status == SLEY_OK && args->pieces > 1)
    set_pieces(args, &chunks);
  if (status == SLEY_OK)
    status = upload_chunks(queue, &chunks, args->k, out);
  *slots = chunks.slots;
  *longest = chunks.longest;
  out->ways = how.ways;
  out->row_entries = chunks.rows > 0 ? sl_spmm_entries(a) / chunks.rows : 0;
  sl_chunks_free(&chunks);
  return status;
}

static sley_status inspect(sl_queue *queue, const sl_spmm_problem *args, sl_stream_matrix *out) {
  const sl_spmm_matrix *a = args->a;
  int64_t value_bytes = (int64_t)sley_dtype_bytes(a->dtype), longest, slots;
  SL_TRY(sl_cuda_check_columns(a));
  out->entries = sl_spmm_entries(a);
  out->in_order = args->in_order;
  SL_TRY(upload_cut(queue, args, out, &longest, &slots));
  SL_TRY(upload_columns(queue, a, longest, &out->col));
  if (a->resident)
    out->val = a->val;
  else
    SL_TRY(sl_device_upload_private(queue, (const char *)a->val + a->rowptr[0] * value_bytes,
                                    sl_spmm_entries(a) * value_bytes, "values", (void **)&out->val));
  return queue->device->ops->alloc_private(queue->device, slots * args->k * sum_bytes(a),
                                           "sums of fragments of rows", &out->partial);
}

static sley_status stream_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                  void **prepared) {
  *prepared = NULL;
  const sl_spmm_problem *problem = args->spmm.problem;
  if (problem->a->rows == 0 || problem->k == 0)
    return SLEY_OK;
  sl_stream_matrix *a;
  SL_TRY(SL_NEW_ZERO(a, 1, "a part's streams"));
  a->borrows = problem->a->resident;
  sley_status status = inspect(queue, problem, a);
  if (status != SLEY_OK) {
    stream_release(device, a);
    return status;
  }
  *prepared = a;
  return SLEY_OK;
}

/* Marks are in the columns, so values stay in stored order and are copied. */
static sley_status stream_refill(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                 const void *val, sl_values_in where, void *prepared) {
  const sl_stream_matrix *a = prepared;
  (void)device;
  return a ? sl_device_copy_values(queue, args->spmm.problem->a, val, where, (void *)a->val) : SLEY_OK;
}

/* The temporary memory is for marking the ends of rows and for narrowing wide columns. */
static int64_t stream_memory(const sl_kernel_args *args, int64_t *passing) {
  const sl_spmm_problem *s = args->spmm.problem;
  const sl_spmm_matrix *a = s->a;
  int64_t value_bytes = (int64_t)sley_dtype_bytes(a->dtype), entries = sl_spmm_entries(a);
  sl_chunks c = {0};
  const bool by_rows = sl_row_ways(s) > 0;
  if (!by_rows)
    sl_chunks_count(a->rows, a->rowptr, cut_of(s).sizes, s->team, &c);
  *passing = sl_device_bytes((a->rows + 1) * (int64_t)sizeof *a->rowptr) +
             (a->index == SLEY_I64 ? sl_device_bytes(entries * 8) : 0);
  return sl_device_bytes(by_rows ? a->rows * (int64_t)sizeof(sl_row_task) : 0) +
         sl_device_bytes(c.chunks * (int64_t)sizeof *c.chunk) +
         sl_device_bytes((c.rows + 2) * (int64_t)sizeof *c.row) +
         sl_device_bytes(c.empties * (int64_t)sizeof *c.empty) +
         sl_device_bytes((c.longs + 1) * (int64_t)sizeof *c.long_row) +
         sl_device_bytes(sl_fragment_counters(&c) * panels_of(s->k) * (int64_t)sizeof(unsigned)) +
         sl_device_bytes(entries * 4) + sl_device_bytes(entries * value_bytes) +
         sl_device_bytes(c.slots * s->k * sum_bytes(a));
}

static bool stream_waits(const sl_kernel_args *args) {
  return sl_far_has_own_sectors(args->spmm.problem);
}

static sley_status stream_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_spmm_run *a = &args->spmm;
  const sl_spmm_problem *p = a->problem;
  if (p->a->rows <= 0 || p->k <= 0)
    return SLEY_OK;
  if (a->ldx > UINT32_MAX || a->ldfar > UINT32_MAX || a->ldy > UINT32_MAX / 8)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "rows %lld and %lld values apart are too far for the cuda device",
                   (long long)a->ldx, (long long)a->ldy);
  sl_stream_run run = {.a = *(const sl_stream_matrix *)a->prepared,
                       .x = a->x,
                       .far = a->far,
                       .x_rows = p->x_rows,
                       .far_rows = p->far_rows,
                       .ldfar = a->far ? a->ldfar : 0,
                       .y = a->y,
                       .ldx = a->ldx,
                       .ldy = a->ldy,
                       .k = p->k,
                       .alpha = a->alpha,
                       .beta = a->beta,
                       .arrivals = a->arrivals,
                       .padded = a->padded,
                       .during_pull = a->during_pull,
                       .by_chunk = a->arrivals != NULL,
                       .wide_y = p->wide_y};
  switch (p->a->dtype) {
  case SLEY_F64:
    return sl_cuda_stream_f64(queue, &run);
  case SLEY_F16:
    return sl_cuda_stream_f16(queue, &run);
  case SLEY_BF16:
    return sl_cuda_stream_bf16(queue, &run);
  default:
    return sl_cuda_stream_f32(queue, &run);
  }
}

static const sl_product_traits stream_product = {SL_PRODUCT_DEFAULTS, .waits = stream_waits,
                                                 .serves_fewer_columns = true};

const sl_kernel sl_cuda_spmm_stream = {.name = "spmm-stream",
                                       .op = SL_OP_SPMM,
                                       .ok = stream_ok,
                                       .cost = stream_cost,
                                       .prepare = stream_prepare,
                                       .refill = stream_refill,
                                       .release = stream_release,
                                       .memory = stream_memory,
                                       .product = &stream_product,
                                       .run = stream_run};
