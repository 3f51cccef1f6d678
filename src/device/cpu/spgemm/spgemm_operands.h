/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of C = A B in the form that the functions for rows read. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_SPGEMM_OPERANDS_H
#define SLEY_DEVICE_CPU_SPGEMM_SPGEMM_OPERANDS_H

#include "device/cpu/spgemm/spgemm_rows.h"

enum { SL_SPGEMM_COPIES = 9 };

/* The arrays belong to the caller if they have the right types; otherwise they are copies. */
typedef struct sl_spgemm_operands {
  sl_spgemm_problem problem; /* the caller sets its bound and short_most */
  sley_csr mask;
  void *copy[SL_SPGEMM_COPIES];
  int copies;
  int64_t bytes; /* bytes of the copies */
} sl_spgemm_operands;

/* Converts operands: 16-bit values are widened, 64-bit columns are narrowed if C's fit 32 bits, and the
 * mask's columns get the index type of C. The caller must call sl_spgemm_operands_end, also after an error.
 * Errors: SLEY_ERR_MEMORY. */
sley_status sl_spgemm_operands_take(const sl_spgemm_args *args, sl_spgemm_operands *out);
void sl_spgemm_operands_end(sl_spgemm_operands *operands);

#endif
