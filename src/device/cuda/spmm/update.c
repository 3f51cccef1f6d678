/* SPDX-License-Identifier: Apache-2.0 */
/* The updates of the cuda device: the plain kernel and the kernel on Tensor cores, for rows T that the caller
 * provides; and the kernel that sums the rows itself, with its preparation. */
#include "base/memory.h"
#include "base/value.h"
#include "device/cuda/spmm/column_copy.h"
#include "device/cuda/spmm/update_rows.h"
#include "device/product.h"

/* Returns whether Tensor cores can be used: they do not support in_order and f64. */
static bool on_tensor_cores(const sl_update_args *a) {
  return !a->in_order && (a->dtype == SLEY_F32 || a->dtype == SLEY_F16 || a->dtype == SLEY_BF16);
}

static sl_accuracy tensor_accuracy(const sl_kernel_args *args, const void *prepared) {
  (void)args;
  (void)prepared;
  return (sl_accuracy){SL_UPDATE_ROUNDINGS, SL_UPDATE_MORE_ROUNDINGS, false};
}

/* ------------------------------------------------------------------------------------ rows T from the caller
 */

static bool plain_ok(const sl_kernel_args *args) {
  return !args->update.product.problem && sley_dtype_bytes(args->update.dtype) != 0;
}

/* A cost only for ordering: the kernel on Tensor cores costs less, because it is faster for the rows that it
   serves. */
static double plain_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  (void)figures, (void)args;
  return 1;
}

static sley_status plain_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_update_args *a = &args->update;
  return a->rows > 0 && a->n > 0 ? sl_cuda_launch_update_plain(queue, a) : SLEY_OK;
}

const sl_kernel sl_cuda_update_plain = {.name = "update-plain",
                                        .op = SL_OP_UPDATE,
                                        .ok = plain_ok,
                                        .cost = plain_cost,
                                        SL_KERNEL_KEEPS_NOTHING,
                                        .run = plain_run};

static bool tensor_ok(const sl_kernel_args *args) {
  return !args->update.product.problem && on_tensor_cores(&args->update);
}

static double tensor_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  (void)figures, (void)args;
  return 0.1;
}

/* Wide rows of T are left to the plain kernel. */
static sley_status tensor_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_update_args *a = &args->update;
  if (a->rows <= 0 || a->n <= 0)
    return SLEY_OK;
  return a->k > 0 && a->k <= SL_UPDATE_MOST_GIVEN_K ? sl_cuda_launch_update_tensor(queue, a)
                                                    : sl_cuda_launch_update_plain(queue, a);
}

static const sl_product_traits tensor_product = {SL_PRODUCT_DEFAULTS, .accuracy = tensor_accuracy};

const sl_kernel sl_cuda_update_tensor = {.name = "update-tensor",
                                         .op = SL_OP_UPDATE,
                                         .ok = tensor_ok,
                                         .cost = tensor_cost,
                                         SL_KERNEL_KEEPS_NOTHING,
                                         .product = &tensor_product,
                                         .run = tensor_run};

/* ------------------------------------------------------------------------------------- rows T that are
   summed here */

/* CHUNKS_WANTED: fewest chunks per warp, if there are enough entries, so that warps end at about the same
 * time. ENTRIES_LEAST: fewest entries of a tile before its rows are cut. */
enum { CHUNKS_WANTED = 4, ENTRIES_LEAST = 64 };

/* For at most this many columns of T, shared memory has space for tiles of 16 rows for that many warps beside
 * W. */
enum { TALL_TILES_K = 96 };

typedef struct cut {
  int rows;
  int64_t entries;
} cut;

static cut cut_of(const sl_spmm_problem *p) {
  const sl_spmm_matrix *a = p->a;
  const int64_t entries = sl_spmm_entries(a), warps = p->figures->fill[SL_FILL_UPDATE_WARPS],
                share = entries / (CHUNKS_WANTED * warps);
  const bool many = a->rows >= CHUNKS_WANTED / 2 * warps * SL_UPDATE_TILE;
  cut c = {.rows = p->k <= TALL_TILES_K && many ? SL_UPDATE_TILE : SL_UPDATE_TILE / 2};
  c.entries = a->rows > 0 ? 2 * c.rows * (entries / a->rows + 1) : 0;
  if (c.entries > share)
    c.entries = share;
  if (c.entries > SL_TILE_ENTRIES)
    c.entries = SL_TILE_ENTRIES;
  if (c.entries < ENTRIES_LEAST)
    c.entries = ENTRIES_LEAST;
  return c;
}

static bool fused_ok(const sl_kernel_args *args) {
  const sl_update_args *u = &args->update;
  const sl_spmm_problem *p = u->product.problem;
  return p && on_tensor_cores(u) && p->a->dtype == u->dtype &&
         (p->a->index == SLEY_I32 || p->a->index == SLEY_I64) && p->k > 0 && p->k <= SL_UPDATE_MOST_K &&
         !p->in_order && !p->arrives && !p->pages;
}

/* Returns whether the fused kernel is faster. Separate kernels are faster if each warp has few tiles, or if
 * rows are long and wide, because the product alone has more loads in flight. Measured on an H200. */
static bool fused_pays(const sl_device_figures *figures, int64_t rows, int64_t entries, int64_t k) {
  enum { LONG_ROW = 30, WIDE_K = 96 };
  return rows >= figures->fill[SL_FILL_UPDATE_ROWS] && !(entries / LONG_ROW > rows && k > WIDE_K);
}

static void fused_release(sl_device *device, void *prepared) {
  sl_update_matrix *a = prepared;
  if (!a)
    return;
  const void *blocks[] = {a->borrows ? NULL : a->col,
                          a->borrows ? NULL : a->val,
                          a->rowptr,
                          a->rowid,
                          a->chunk,
                          a->long_row,
                          a->partial,
                          a->finished,
                          a->next};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    device->ops->free(device, (void *)blocks[i]);
  sl_free(a);
}

/* The piece after which all rows of X named by the rows before `end` have arrived. */
static int32_t piece_of(const sl_spmm_problem *p, int64_t end) {
  int32_t piece = 0;
  while (piece < p->pieces - 1 && end > p->piece_end[piece])
    piece++;
  return piece;
}

static void set_pieces(const sl_spmm_problem *p, sl_row_tiles *t) {
  for (int64_t i = 0; i < t->chunks; i++)
    t->chunk[i].piece = piece_of(p, t->chunk[i].row + t->chunk[i].rows);
}

/* Uploads the row starts, relative to the first entry. */
static sley_status upload_rowptr(sl_queue *queue, const sl_spmm_matrix *a, const int64_t **out) {
  int64_t *from_zero, bytes = (a->rows + 1) * (int64_t)sizeof *from_zero;
  SL_TRY(SL_NEW(from_zero, a->rows + 1, "a part's rows"));
  for (int64_t i = 0; i <= a->rows; i++)
    from_zero[i] = a->rowptr[i] - a->rowptr[0];
  sley_status status = sl_device_upload_private(queue, from_zero, bytes, "a part's rows", (void **)out);
  sl_free(from_zero);
  return status;
}

static sley_status upload_zeros(sl_queue *queue, int64_t count, unsigned **out) {
  unsigned *zeros;
  SL_TRY(SL_NEW_ZERO(zeros, count, "counters"));
  sley_status status =
      sl_device_upload_private(queue, zeros, count * (int64_t)sizeof *zeros, "counters", (void **)out);
  sl_free(zeros);
  return status;
}

static sley_status upload_tiles(sl_queue *queue, const sl_row_tiles *t, int64_t k, sl_update_matrix *out) {
  out->chunks = t->chunks;
  out->longs = t->longs;
  out->counters = sl_row_tile_counters(t);
  SL_TRY(sl_device_upload_private(queue, t->chunk, t->chunks * (int64_t)sizeof *t->chunk, "tiles",
                                  (void **)&out->chunk));
  SL_TRY(sl_device_upload_private(queue, t->long_row, (t->longs + 1) * (int64_t)sizeof *t->long_row, "tiles",
                                  (void **)&out->long_row));
  SL_TRY(upload_zeros(queue, out->counters, &out->finished));
  SL_TRY(upload_zeros(queue, 2, &out->next));
  return queue->device->ops->alloc_private(queue->device, t->fragments * k * 4, "sums of fragments of rows",
                                           &out->partial);
}

static sley_status inspect(sl_queue *queue, const sl_spmm_problem *p, sl_update_matrix *out) {
  const sl_spmm_matrix *a = p->a;
  const int64_t value_bytes = (int64_t)sley_dtype_bytes(a->dtype);
  const cut how = cut_of(p);
  sl_row_tiles tiles;
  SL_TRY(sl_cuda_check_columns(a));
  sley_status status = sl_row_tiles_make(a->rows, a->rowptr, how.rows, how.entries, &tiles);
  if (status == SLEY_OK && p->pieces > 1)
    set_pieces(p, &tiles);
  if (status == SLEY_OK)
    status = upload_tiles(queue, &tiles, p->k, out);
  sl_row_tiles_free(&tiles);
  SL_TRY(status);
  out->entries = sl_spmm_entries(a);
  out->tile_rows = how.rows;
  SL_TRY(upload_rowptr(queue, a, &out->rowptr));
  if (a->rowid)
    SL_TRY(sl_device_upload_private(queue, a->rowid, a->rows * (int64_t)sizeof *a->rowid, "a part's rows",
                                    (void **)&out->rowid));
  SL_TRY(sl_cuda_upload_columns(queue, a, &out->col));
  if (a->resident)
    out->val = a->val;
  else
    SL_TRY(sl_device_upload_private(queue, (const char *)a->val + a->rowptr[0] * value_bytes,
                                    out->entries * value_bytes, "values", (void **)&out->val));
  return SLEY_OK;
}

static sley_status fused_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                 void **prepared) {
  const sl_spmm_problem *p = args->update.product.problem;
  *prepared = NULL;
  if (p->a->rows == 0)
    return SLEY_OK;
  sl_update_matrix *a;
  SL_TRY(SL_NEW_ZERO(a, 1, "a part's tiles"));
  a->borrows = p->a->resident;
  sley_status status = inspect(queue, p, a);
  if (status != SLEY_OK) {
    fused_release(device, a);
    return status;
  }
  *prepared = a;
  return SLEY_OK;
}

static sley_status fused_refill(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                const void *val, sl_values_in where, void *prepared) {
  const sl_update_matrix *a = prepared;
  (void)device;
  return a ? sl_device_copy_values(queue, args->update.product.problem->a, val, where, (void *)a->val)
           : SLEY_OK;
}

static int64_t fused_memory(const sl_kernel_args *args, int64_t *passing) {
  const sl_spmm_problem *p = args->update.product.problem;
  const sl_spmm_matrix *a = p->a;
  const cut how = cut_of(p);
  const int64_t entries = sl_spmm_entries(a);
  sl_row_tiles t;
  sl_row_tiles_count(a->rows, a->rowptr, how.rows, how.entries, &t);
  *passing = a->index == SLEY_I64 ? sl_device_bytes(entries * 8) : 0;
  return sl_device_bytes(t.chunks * (int64_t)sizeof *t.chunk) +
         sl_device_bytes((t.longs + 1) * (int64_t)sizeof *t.long_row) +
         sl_device_bytes(sl_row_tile_counters(&t) * (int64_t)sizeof(unsigned)) +
         sl_device_bytes(2 * (int64_t)sizeof(unsigned)) + sl_device_bytes(t.fragments * p->k * 4) +
         sl_device_bytes((a->rows + 1) * (int64_t)sizeof *a->rowptr) +
         (a->rowid ? sl_device_bytes(a->rows * (int64_t)sizeof *a->rowid) : 0) +
         sl_device_bytes(entries * 4) + sl_device_bytes(entries * (int64_t)sley_dtype_bytes(a->dtype));
}

static bool fused_waits(const sl_kernel_args *args) {
  return sl_far_has_own_sectors(args->update.product.problem);
}

static sley_status fused_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_update_args *u = &args->update;
  const sl_spmm_run *a = &u->product;
  const sl_spmm_problem *p = a->problem;
  if (p->a->rows <= 0 || u->n <= 0)
    return SLEY_OK;
  if (a->ldx > UINT32_MAX || a->ldfar > UINT32_MAX)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "rows %lld values apart are too far for the cuda device",
                   (long long)a->ldx);
  const sl_update_sums run = {
      .a = *(const sl_update_matrix *)a->prepared,
      .dense = {.w = u->w, .z = u->z, .k = p->k, .n = u->n, .ldw = u->ldw, .ldz = u->ldz, .beta = u->beta},
      .x = a->x,
      .far = a->far,
      .x_rows = p->x_rows,
      .far_rows = p->far_rows,
      .ldx = a->ldx,
      .ldfar = a->far ? a->ldfar : 0,
      .alpha = a->alpha,
      .arrivals = a->arrivals};
  switch (u->dtype) {
  case SLEY_F16:
    return sl_cuda_update_sums_f16(queue, &run);
  case SLEY_BF16:
    return sl_cuda_update_sums_bf16(queue, &run);
  default:
    return sl_cuda_update_sums_f32(queue, &run);
  }
}

static const sl_product_traits fused_product = {SL_PRODUCT_DEFAULTS, .pays = fused_pays, .waits = fused_waits,
                                                .accuracy = tensor_accuracy};

const sl_kernel sl_cuda_update_fused = {.name = "update-fused",
                                        .op = SL_OP_UPDATE,
                                        .ok = fused_ok,
                                        .cost = plain_cost,
                                        .prepare = fused_prepare,
                                        .refill = fused_refill,
                                        .release = fused_release,
                                        .memory = fused_memory,
                                        .product = &fused_product,
                                        .run = fused_run};
