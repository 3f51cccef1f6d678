/* SPDX-License-Identifier: Apache-2.0 */
#include "device/op/op_common.h"

#include "base/value.h"

bool sl_rows_ok(const sl_kernel_args *args) {
  return !args->rows.add || sley_dtype_bytes(args->rows.dtype) != 0;
}

bool sl_convert_ok(const sl_kernel_args *args) {
  const sl_convert_args *a = &args->convert;
  bool narrow = sl_is_16_bit(a->to);
  return sley_dtype_bytes(a->from) != 0 && sley_dtype_bytes(a->to) != 0 &&
         !(narrow && (a->add || sl_is_16_bit(a->from))) && !(a->from == SLEY_F64 && a->to == SLEY_F32);
}

bool sl_pull_ok(const sl_kernel_args *args) {
  const sl_pull_args *a = &args->pull;
  return a->sources <= SL_PULL_SOURCES && a->pieces <= SL_PIECES_MOST &&
         (!a->add || (sley_dtype_bytes(a->dtype) != 0 && a->pieces == 0));
}

bool sl_scale_ok(const sl_kernel_args *args) {
  return sley_dtype_bytes(args->scale.dtype) != 0;
}

bool sl_round_ok(const sl_kernel_args *args) {
  return sl_is_16_bit(args->round.dtype) && sley_dtype_bytes(args->round.dtype) != 0;
}

bool sl_always_ok(const sl_kernel_args *args) {
  (void)args;
  return true;
}

int64_t sl_pull_row_bytes(const sl_pull_args *args) {
  int64_t most = 0;
  for (int i = 0; i < args->sources; i++)
    most = args->source[i].bytes > most ? args->source[i].bytes : most;
  return most;
}

static double type_bytes(sley_type type, int64_t count) {
  return (double)count * (double)sley_type_bytes(type);
}

static double value_bytes(sley_dtype dtype, int64_t rows, int64_t cols) {
  return (double)rows * (double)cols * (double)sley_dtype_bytes(dtype);
}

/* Bytes that the operation moves; 0: not known. */
static double bytes_of(const sl_kernel_args *args) {
  switch (args->op) {
  case SL_OP_ROWS:
    return (double)args->rows.count * (double)args->rows.bytes;
  case SL_OP_CONVERT:
    return value_bytes(args->convert.from, args->convert.count, args->convert.k) +
           value_bytes(args->convert.to, args->convert.count, args->convert.k);
  case SL_OP_PULL:
    return (double)args->pull.count * (double)sl_pull_row_bytes(&args->pull);
  case SL_OP_SCALE:
    return value_bytes(args->scale.dtype, args->scale.rows, args->scale.k);
  case SL_OP_ROUND:
    return (double)args->round.rows * (double)args->round.k * (sizeof(float) + sizeof(uint16_t));
  case SL_OP_REDUCE:
    return type_bytes(args->reduce.type, args->reduce.count) * (args->reduce.parts + 1);
  case SL_OP_COLUMN_SUMS:
    return value_bytes(args->column_sums.dtype, args->column_sums.rows, args->column_sums.cols);
  case SL_OP_ACTIVATE_GRAD:
    return 3 * value_bytes(args->activate_grad.dtype, args->activate_grad.rows, args->activate_grad.cols);
  case SL_OP_DROPOUT:
    return 2 * value_bytes(args->dropout.dtype, args->dropout.rows, args->dropout.cols);
  case SL_OP_NLL:
    return 4 * value_bytes(args->nll.dtype, args->nll.rows, args->nll.classes);
  case SL_OP_ADAM:
    return 7 * value_bytes(args->adam.dtype, args->adam.count, 1);
  case SL_OP_NONZEROS:
    return type_bytes(args->nonzeros.type, args->nonzeros.count);
  case SL_OP_COMPRESS:
    return (double)sl_compress_bytes(&args->compress);
  case SL_OP_DECOMPRESS:
    return (double)sl_decompressed_bytes(&args->decompress);
  case SL_OP_SPARSE_SUM:
    return type_bytes(args->sparse_sum.type, args->sparse_sum.count) * (args->sparse_sum.parts + 1);
  case SL_OP_SPARSIFY:
    return 4 * value_bytes(args->sparsify.dtype, args->sparsify.count, 1);
  default:
    return 0;
  }
}

double sl_cost_of_bytes(const sl_device_figures *figures, const sl_kernel_args *args) {
  return figures->launch + bytes_of(args) / figures->memory;
}
