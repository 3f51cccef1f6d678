/* SPDX-License-Identifier: Apache-2.0 */
/* The conversions of a plan, with lists of rows that the device can read. */
#ifndef SLEY_EXEC_CONVERSIONS_H
#define SLEY_EXEC_CONVERSIONS_H

#include "plan/plan.h"

typedef struct sl_conversions sl_conversions;

/* Copies lists that the device cannot address to its memory. Local. */
sley_status sl_conversions_create(const sl_plan *plan, sl_queue *queue, sl_conversions **out);

/* Bytes of device memory that sl_conversions_create allocates. */
int64_t sl_conversions_memory(const sl_plan *plan);

/* Runs a conversion of the plan, or of a plan narrowed from it, between buffers at src and dst. Strides in
 * bytes. */
sley_status sl_conversions_run(const sl_conversions *conversions, const sl_plan *plan, int index,
                               const void *src, int64_t src_stride, void *dst, int64_t dst_stride,
                               sl_queue *queue);

/* Frees the lists. conversions may be NULL. */
void sl_conversions_destroy(sl_conversions *conversions);

#endif
