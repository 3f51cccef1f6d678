/* SPDX-License-Identifier: Apache-2.0 */
/* What the user asks of a plan, apart from what inspection finds: fixed before inspection and only read
 * afterwards. */
#ifndef SLEY_PLAN_WISHES_H
#define SLEY_PLAN_WISHES_H

#include "base/types.h"
#include "device/figures.h"
#include "device/rowwise_choice.h"

/* Whether Y is made to be multiplied by W: each block of rows as soon as it is summed, where that can be, or
 * all of it afterwards. */
typedef enum sl_updates { SL_UPDATES_NONE, SL_UPDATES_FUSED, SL_UPDATES_APART } sl_updates;

typedef struct sl_plan_wishes {
  int64_t k;                          /* columns of X and Y */
  int64_t row_bytes;                  /* of a row of X or Y: k values */
  int64_t sum_bytes;                  /* of a row of partial sums: k values of the type of sums */
  bool reproducible;                  /* every row is summed in column order */
  bool tf32;                          /* values of f32 may be rounded to tf32 before they are multiplied */
  const char *library;                /* whose kernels shall sum the parts; NULL: Sley's own */
  const struct sl_kernel *kernel;     /* the one that shall sum the parts; NULL: the cheapest */
  sl_rowwise_choice rowwise;          /* of the kernel that reads X in place */
  bool capture;                       /* exchanges leave everything to the devices, see sl_exchange_spec */
  bool has_figures;                   /* figures replace the device's own */
  sl_device_figures figures;          /* by which kernels are chosen and shaped */
  const struct sley_machine *machine; /* that times are predicted for; NULL: the one found for the device */
  bool has_wire;                      /* values travel in the type wire */
  sley_dtype wire;                    /* the dtype of the matrix where values travel as they are */
  bool keeps_input;                   /* see sl_plan */
  bool renewable;                     /* parts remember which entries their values come from */
  sl_updates updates;                 /* see sl_plan */
  bool owned;                         /* the block was made for the plan: its memory is the plan's */
} sl_plan_wishes;

/* Wishes for k columns of a matrix of dtype, with nothing else asked for. k too large for the widths:
 * sl_inspect refuses it. */
sl_plan_wishes sl_plan_wishes_for(int64_t k, sley_dtype dtype);

/* Whether values of f32 may be rounded to tf32 before they are multiplied: what a precision says, NULL for
 * "full". Bits that are the same everywhere cannot depend on which kernel multiplies. Errors: SLEY_ERR_ARG.
 */
sley_status sl_precision_read(const char *name, sley_dtype dtype, bool reproducible, bool *tf32);

#endif
