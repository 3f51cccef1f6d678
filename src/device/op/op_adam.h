/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_ADAM: a step of Adam or AdamW. */
#ifndef SLEY_DEVICE_OP_OP_ADAM_H
#define SLEY_DEVICE_OP_OP_ADAM_H

#include "base/types.h"

/* The definition, for i < count, computed in double, each operation rounded, in the written order:
 *
 *   x = master[i], or param[i] if master is NULL
 *   g = grad_scale grad[i];  if l2 is not 0: g = g + l2 x
 *   m1 = beta1 m[i] + (1 - beta1) g
 *   v1 = beta2 v[i] + (1 - beta2) (g g)
 *   y = x keep - (rate m1) / (sqrt(v1) root + eps)
 *   m[i] = m1, v[i] = v1, master[i] = y, param[i] = y, each rounded to its type once
 *
 * keep = 1 - (learning rate) decay if decay is decoupled, else 1; rate = (learning rate) / (1 - beta1^step);
 * root = 1 / sqrt(1 - beta2^step): see sley_adam. m, v and master have the dtype's type of sums, param and
 * grad the dtype. No two arrays overlap.
 *
 * Sources: Kingma and Ba, Adam, ICLR 2015; Loshchilov and Hutter, Decoupled weight decay, ICLR 2019. */
typedef struct sl_adam_args {
  sley_dtype dtype;
  int64_t count;
  void *param;
  const void *grad;
  void *m, *v, *master;
  double grad_scale, beta1, beta2, eps, l2;
  double keep, rate, root;
} sl_adam_args;

static inline bool sl_adam_ok(const sl_adam_args *a) {
  return sley_dtype_bytes(a->dtype) != 0;
}

#endif
