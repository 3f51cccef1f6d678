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

double sl_op_bytes(const sl_kernel_args *args) {
  switch (args->op) {
  case SL_OP_ROWS:
    return (double)args->rows.count * (double)args->rows.bytes;
  case SL_OP_CONVERT: {
    const sl_convert_args *a = &args->convert;
    return (double)a->count * (double)a->k * (double)(sley_dtype_bytes(a->from) + sley_dtype_bytes(a->to));
  }
  case SL_OP_PULL:
    return (double)args->pull.count * (double)sl_pull_row_bytes(&args->pull);
  case SL_OP_SCALE:
    return (double)args->scale.rows * (double)args->scale.k * (double)sley_dtype_bytes(args->scale.dtype);
  case SL_OP_ROUND:
    return (double)args->round.rows * (double)args->round.k * (sizeof(float) + sizeof(uint16_t));
  default:
    return 0;
  }
}
