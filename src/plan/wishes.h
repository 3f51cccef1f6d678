/* SPDX-License-Identifier: Apache-2.0 */
/* The user's wishes for a plan. They are fixed before inspection and only read afterwards. */
#ifndef SLEY_PLAN_WISHES_H
#define SLEY_PLAN_WISHES_H

#include "base/types.h"
#include "device/figures.h"
#include "device/rowwise_choice.h"

/* Whether Y is computed for a multiplication by W: fused, where each block of rows is multiplied as soon as
 * it is summed, if possible; or apart, where all of Y is multiplied afterwards. FUSED_ONLY: fused, or on ranks
 * where that is not possible, not at all. */
typedef enum sl_updates {
  SL_UPDATES_NONE,
  SL_UPDATES_FUSED,
  SL_UPDATES_APART,
  SL_UPDATES_FUSED_ONLY
} sl_updates;

typedef struct sl_plan_wishes {
  int64_t k;                          /* columns of X and Y */
  int64_t row_bytes;                  /* bytes of a row of X or Y: k values */
  int64_t sum_bytes;                  /* bytes of a row of partial sums: k values of the type of sums */
  bool reproducible;                  /* every row is summed in column order */
  bool tf32;                          /* f32 values may be rounded to tf32 before they are multiplied */
  const char *library;                /* library whose kernels sum the parts; NULL: Sley's own */
  const struct sl_kernel *kernel;     /* kernel that sums the parts; NULL: the cheapest */
  sl_rowwise_choice rowwise;          /* shape of the kernel that reads X in place */
  bool capture;                       /* exchanges use the devices alone, see sl_exchange_spec */
  bool has_figures;                   /* figures replace the device's own */
  sl_device_figures figures;          /* figures by which kernels are chosen and shaped */
  const struct sley_machine *machine;    /* machine used for predictions; NULL: the device's own */
  bool has_wire;                         /* values travel in the type wire */
  sley_dtype wire;                       /* type in which values travel; the dtype of the matrix unless
                                            has_wire */
  bool keeps_input;                      /* see sl_plan */
  bool renewable;                        /* parts record from which entries their values come */
  sl_updates updates;                    /* see sl_plan */
  bool owned;                            /* the block was made for the plan, which owns its memory */
} sl_plan_wishes;

/* Returns wishes for k columns of a matrix of dtype; all other wishes have their defaults. If k is too large,
 * the widths are 0 and sl_inspect refuses it. */
sl_plan_wishes sl_plan_wishes_for(int64_t k, sley_dtype dtype);

/* Reads a precision, NULL for "full": *tf32 is set if f32 values may be rounded to tf32 before they are
 * multiplied. With `reproducible` tf32 is refused, since the bits would depend on which kernel multiplies.
 * Errors: SLEY_ERR_ARG. */
sley_status sl_precision_read(const char *name, sley_dtype dtype, bool reproducible, bool *tf32);

#endif
