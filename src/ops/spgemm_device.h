/* SPDX-License-Identifier: Apache-2.0 */
/* A sparse product of host matrices on a device that the host cannot address. */
#ifndef SLEY_OPS_SPGEMM_DEVICE_H
#define SLEY_OPS_SPGEMM_DEVICE_H

#include "device/device.h"

/* As the operation, with all arrays in the host's memory (out's from sl_alloc): copies the operands to the
 * device, and C back. args->limit bounds the device's memory, the operands included. Where C does not fit,
 * its rows are made in as many chunks as it takes. Errors: those of the operation. */
sley_status sl_spgemm_on_device(sl_queue *queue, const sl_spgemm_args *args);

#endif
