/* SPDX-License-Identifier: Apache-2.0 */
/* A sparse product of host matrices on devices that the host cannot address. */
#ifndef SLEY_OPS_SPGEMM_DEVICE_H
#define SLEY_OPS_SPGEMM_DEVICE_H

#include "device/device.h"

/* As the operation, with all arrays in the host's memory (out's from sl_alloc), by one rank or several, each
 * with a queue of its own device: copies the operands to each device, makes a run of C's rows there, of about
 * as many products as the other ranks', and copies it back. args->limit bounds the memory of each device, the
 * operands included. Where C does not fit, its rows are made in as many chunks as it takes. team: for work on
 * the host. Errors: those of the operation. */
sley_status sl_spgemm_on_devices(sl_queue *const *queues, int ranks, sl_team *team,
                                 const sl_spgemm_args *args);

#endif
