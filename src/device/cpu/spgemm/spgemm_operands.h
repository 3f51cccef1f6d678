/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of C = A B as the rows' functions read them. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_SPGEMM_OPERANDS_H
#define SLEY_DEVICE_CPU_SPGEMM_SPGEMM_OPERANDS_H

#include "device/cpu/spgemm/spgemm_rows.h"

enum { SL_SPGEMM_COPIES = 9 };

/* The arrays are the caller's where they have the right types, else copies. */
typedef struct sl_spgemm_operands {
  sl_spgemm_problem problem; /* bound, short_most: the caller's to set */
  sley_csr mask;
  void *copy[SL_SPGEMM_COPIES];
  int copies;
  int64_t bytes; /* of the copies */
} sl_spgemm_operands;

/* Values of 16 bits are widened, 64-bit columns narrowed where C's fit 32 bits, and the mask's columns get
 * the type of C's. Ended by sl_spgemm_operands_end, also on error. Errors: SLEY_ERR_MEMORY. */
sley_status sl_spgemm_operands_take(const sl_spgemm_args *args, sl_spgemm_operands *out);
void sl_spgemm_operands_end(sl_spgemm_operands *operands);

#endif
