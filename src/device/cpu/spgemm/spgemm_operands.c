/* SPDX-License-Identifier: Apache-2.0 */
/* Copies operands of a sparse product whose types differ from those that rows are computed in. */
#include "device/cpu/spgemm/spgemm_operands.h"

#include "base/memory.h"
#include "base/value.h"

static const char WHAT[] = "a copy of an operand";

/* Index type of C's columns: 32 bits if the columns of C and of B fit 32 bits. */
static sley_index index_of(const sl_spgemm_args *args) {
  return args->b.index == SLEY_I32 ? SLEY_I32 : sl_index_for(args->b.cols);
}

static int64_t entries_of(const sley_csr *csr) {
  return csr->rowptr[csr->rows] - csr->rowptr[0];
}

/* The arrays of an operand that must be copied. */
typedef struct copies {
  bool pointers, columns, values;
} copies;

static copies copies_of(const sl_spgemm_args *args, const sley_csr *csr, sley_index index) {
  copies c = {.columns = csr != &args->a && csr->index != index,
              .values = csr != args->mask && sl_is_16_bit(csr->dtype) && args->semiring != SLEY_PLUS_PAIR};
  c.pointers = csr->rowptr[0] != 0 && (c.columns || c.values);
  return c;
}

static int64_t bytes_of(const sl_spgemm_args *args, const sley_csr *csr, sley_index index) {
  const copies c = copies_of(args, csr, index);
  const int64_t count = entries_of(csr);
  return (c.pointers ? (csr->rows + 1) * (int64_t)sizeof(int64_t) : 0) +
         (c.columns || c.pointers ? count * (int64_t)sl_index_bytes(index) : 0) +
         (c.values || c.pointers ? count * (int64_t)sizeof(double) : 0);
}

/* Returns the bytes of the copies that are made. */
static int64_t copied_bytes(const sl_spgemm_args *args) {
  const sley_index index = index_of(args);
  return bytes_of(args, &args->a, index) + bytes_of(args, &args->b, index) +
         (args->mask ? bytes_of(args, args->mask, index) : 0);
}

/* Allocates memory that the operands own; returns NULL on an error. */
static void *own(sl_spgemm_operands *self, int64_t count, size_t bytes_each) {
  void *block = sl_alloc(count, bytes_each, WHAT);
  if (block)
    self->copy[self->copies++] = block;
  return block;
}

static sley_status copy_columns(sl_spgemm_operands *self, const sley_csr *from, sley_index index,
                                sley_csr *to) {
  const int64_t first = from->rowptr[0], count = entries_of(from);
  void *col = own(self, count, sl_index_bytes(index));
  if (!col)
    return SLEY_ERR_MEMORY;
  for (int64_t e = 0; e < count; e++)
    sl_index_set(col, index, e, sl_index_at(from->col, from->index, first + e));
  to->col = col;
  to->index = index;
  return SLEY_OK;
}

static sley_status copy_values(sl_spgemm_operands *self, const sley_csr *from, sley_csr *to) {
  const size_t each = sley_dtype_bytes(from->dtype);
  to->dtype = sl_sum_dtype(from->dtype);
  void *val = own(self, entries_of(from), sley_dtype_bytes(to->dtype));
  if (!val)
    return SLEY_ERR_MEMORY;
  sl_values_convert(from->dtype, (const char *)from->val + (size_t)from->rowptr[0] * each, to->dtype, val,
                    entries_of(from));
  to->val = val;
  return SLEY_OK;
}

static sley_status copy_pointers(sl_spgemm_operands *self, const sley_csr *from, sley_csr *to) {
  int64_t *rowptr = own(self, from->rows + 1, sizeof *rowptr);
  if (!rowptr)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i <= from->rows; i++)
    rowptr[i] = from->rowptr[i] - from->rowptr[0];
  to->rowptr = rowptr;
  return SLEY_OK;
}

/* Takes one operand. Copied arrays start at the operand's first entry, so if its row pointers do not start at
 * 0, all its arrays are copied. */
static sley_status take(sl_spgemm_operands *self, const sl_spgemm_args *args, const sley_csr *from,
                        sley_index index, sley_csr *to) {
  const copies c = copies_of(args, from, index);
  *to = *from;
  if (c.columns || c.pointers)
    SL_TRY(copy_columns(self, from, from == &args->a ? from->index : index, to));
  if ((c.values || c.pointers) && from->val && from != args->mask)
    SL_TRY(copy_values(self, from, to));
  if (c.pointers)
    SL_TRY(copy_pointers(self, from, to));
  return SLEY_OK;
}

sley_status sl_spgemm_operands_take(const sl_spgemm_args *args, sl_spgemm_operands *out) {
  *out = (sl_spgemm_operands){
      .problem = {.semiring = args->semiring, .dtype = sl_sum_dtype(args->a.dtype), .index = index_of(args)}};
  SL_TRY(take(out, args, &args->a, out->problem.index, &out->problem.a));
  SL_TRY(take(out, args, &args->b, out->problem.index, &out->problem.b));
  if (args->mask)
    SL_TRY(take(out, args, args->mask, out->problem.index, &out->mask));
  out->problem.mask = args->mask ? &out->mask : NULL;
  out->bytes = copied_bytes(args);
  return SLEY_OK;
}

void sl_spgemm_operands_end(sl_spgemm_operands *operands) {
  for (int i = 0; i < operands->copies; i++)
    sl_free(operands->copy[i]);
}
