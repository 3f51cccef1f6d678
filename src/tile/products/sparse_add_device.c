/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of two sparse matrices on a device, as the sparse product [I I] [a; b], where I contains the
 * semiring's one. The product adds in the order of A's entries, here a's entry and then b's, and
 * multiplication by one changes neither. So addition needs no kernel of its own. Its additional cost is a
 * copy of a and b within device memory, so that one follows the other. */
#include "base/memory.h"
#include "base/value.h"
#include "tile/products/sparse_add.h"

enum { WORD = sizeof(int64_t) };

/* ---- [I I] */

/* Returns the value that leaves others unchanged when multiplied. For min-plus, whose product is an addition,
 * this is -0, because +0 would turn -0 into +0. */
static double one_of(sley_semiring semiring) {
  return semiring == SLEY_MIN_PLUS ? -0.0 : 1;
}

static sley_index left_index(const sl_sparse_adder *s) {
  return sl_index_for(2 * s->most_rows);
}

/* Makes [I I] in host memory. */
static sley_status make_pairs(const sl_sparse_adder *s, sl_csr_arrays *out) {
  const double one = one_of(s->semiring);
  const sley_index index = left_index(s);
  SL_TRY(sl_csr_arrays_alloc(s->most_rows, 2 * s->most_rows, index, s->dtype, out));
  out->rowptr[0] = 0;
  for (int64_t i = 0; i < s->most_rows; i++) {
    out->rowptr[i + 1] = 2 * i + 2;
    sl_index_set(out->col, index, 2 * i, i);
    sl_index_set(out->col, index, 2 * i + 1, s->most_rows + i);
    sl_value_set(out->val, s->dtype, 2 * i, one);
    sl_value_set(out->val, s->dtype, 2 * i + 1, one);
  }
  return SLEY_OK;
}

/* Creates [I I] once; its arrays also serve matrices of fewer rows. */
static sley_status open_pairs(sl_sparse_adder *s) {
  static const char what[] = "what adds sparse matrices";
  const int64_t entries = 2 * s->most_rows;
  sl_csr_arrays host;
  if (s->val)
    return SLEY_OK;
  SL_TRY(make_pairs(s, &host));
  sley_status status = sl_device_upload(s->queue, host.rowptr, (s->most_rows + 1) * WORD, what, &s->rowptr);
  if (status == SLEY_OK)
    status =
        sl_device_upload(s->queue, host.col, entries * (int64_t)sl_index_bytes(left_index(s)), what, &s->col);
  if (status == SLEY_OK)
    status =
        sl_device_upload(s->queue, host.val, entries * (int64_t)sley_dtype_bytes(s->dtype), what, &s->val);
  sl_csr_arrays_free(&host);
  if (status != SLEY_OK)
    sl_sparse_adder_close(s);
  return status;
}

/* ---- [a; b]: rows of b begin at row most_rows; the rows between are empty */

typedef struct stack {
  void *rowptr, *col, *val;
} stack;

static void free_stack(sl_device *device, stack *t) {
  device->ops->free(device, t->rowptr);
  device->ops->free(device, t->col);
  device->ops->free(device, t->val);
}

static sley_status stack_rows(const sl_sparse_adder *s, int64_t rows, const sl_csr_arrays *a,
                              const sl_csr_arrays *b, stack *out) {
  static const char what[] = "row pointers of matrices to add";
  const int64_t count = s->most_rows + rows + 1, of_a = a->rowptr[rows];
  int64_t *rowptr;
  SL_TRY(SL_NEW(rowptr, count, what));
  for (int64_t i = 0; i < s->most_rows; i++)
    rowptr[i] = a->rowptr[i < rows ? i : rows];
  for (int64_t i = 0; i <= rows; i++)
    rowptr[s->most_rows + i] = of_a + b->rowptr[i];
  const sley_status status = sl_device_upload(s->queue, rowptr, count * WORD, what, &out->rowptr);
  sl_free(rowptr);
  return status;
}

/* Stacks an array of a and of b, and frees both. */
static sley_status stack_array(const sl_sparse_adder *s, void **a, int64_t a_bytes, void **b, int64_t b_bytes,
                               const char *what, void **out) {
  const sl_device_ops *ops = s->queue->ops;
  SL_TRY(ops->alloc(s->queue->device, a_bytes + b_bytes, what, out));
  SL_TRY(ops->copy(s->queue, SL_COPY_WITHIN, *out, *a, a_bytes));
  SL_TRY(ops->copy(s->queue, SL_COPY_WITHIN, (char *)*out + a_bytes, *b, b_bytes));
  SL_TRY(ops->queue_wait(s->queue)); /* so that a and b are freed before the sum is allocated */
  ops->free(s->queue->device, *a);
  ops->free(s->queue->device, *b);
  *a = *b = NULL;
  return SLEY_OK;
}

static sley_status make_stack(const sl_sparse_adder *s, int64_t rows, sl_csr_arrays *a, sl_csr_arrays *b,
                              stack *out) {
  const int64_t index = (int64_t)sl_index_bytes(s->index), value = (int64_t)sley_dtype_bytes(s->dtype);
  const int64_t of_a = a->rowptr[rows], of_b = b->rowptr[rows];
  SL_TRY(stack_rows(s, rows, a, b, out));
  SL_TRY(stack_array(s, &a->col, of_a * index, &b->col, of_b * index, "columns to add", &out->col));
  return stack_array(s, &a->val, of_a * value, &b->val, of_b * value, "values to add", &out->val);
}

/* ---- the sum */

static sley_status multiply(const sl_sparse_adder *s, int64_t rows, int64_t cols, const stack *t,
                            sl_spgemm_result *out) {
  /* for plus-pair, products are counts */
  sl_spgemm_args args = {.semiring = s->semiring == SLEY_PLUS_PAIR ? SLEY_PLUS_TIMES : s->semiring,
                         .a = {.rows = rows,
                               .cols = s->most_rows + rows,
                               .rowptr = s->rowptr,
                               .col = s->col,
                               .val = s->val,
                               .index = left_index(s),
                               .dtype = s->dtype},
                         .b = {.rows = s->most_rows + rows,
                               .cols = cols,
                               .rowptr = t->rowptr,
                               .col = t->col,
                               .val = t->val,
                               .index = s->index,
                               .dtype = s->dtype},
                         .out = out};
  return sl_kernel_run(s->queue, &(sl_kernel_args){.op = SL_OP_SPGEMM, .spgemm = args});
}

sley_status sl_sparse_add_on_device(sl_sparse_adder *s, int64_t rows, int64_t cols, sl_csr_arrays *a,
                                    sl_csr_arrays *b, sl_csr_arrays *out) {
  stack both = {0};
  sl_spgemm_result made = {0};
  sley_status status = open_pairs(s);
  if (status == SLEY_OK)
    status = make_stack(s, rows, a, b, &both);
  if (status == SLEY_OK)
    status = multiply(s, rows, cols, &both, &made);
  free_stack(s->queue->device, &both);
  return status == SLEY_OK ? sl_tile_arrays_adopt(s->queue, rows, &made, out) : status;
}
