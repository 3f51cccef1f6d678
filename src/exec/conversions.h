/* SPDX-License-Identifier: Apache-2.0 */
/* The conversions of a plan, whose lists of rows lie where the device can read them. */
#ifndef SLEY_EXEC_CONVERSIONS_H
#define SLEY_EXEC_CONVERSIONS_H

#include "plan/plan.h"

typedef struct sl_conversions sl_conversions;

/* Lists that the device cannot address are copied. Local. */
sley_status sl_conversions_create(const sl_plan *plan, sl_queue *queue, sl_conversions **out);

/* What that takes of the device's memory, in bytes. */
int64_t sl_conversions_memory(const sl_plan *plan);

/* A conversion of the plan, or of one narrowed from it, between buffers at src and dst. */
sley_status sl_conversions_run(const sl_conversions *conversions, const sl_plan *plan, int index,
                               const void *src, int64_t src_stride, void *dst, int64_t dst_stride,
                               sl_queue *queue);

/* Accepts NULL. */
void sl_conversions_destroy(sl_conversions *conversions);

#endif
