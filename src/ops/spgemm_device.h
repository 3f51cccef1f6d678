/* SPDX-License-Identifier: Apache-2.0 */
/* A sparse product of host matrices on devices that the host cannot address. */
#ifndef SLEY_OPS_SPGEMM_DEVICE_H
#define SLEY_OPS_SPGEMM_DEVICE_H

#include "device/device.h"

/* Runs the operation with all arrays in host memory (out's from sl_alloc), by one rank or several, each with
 * a queue of its own device. Copies the operands to each device, computes a run of C's rows there, with about
 * as many products as the other ranks', and copies it back. args->limit bounds the memory of each device,
 * including the operands. If C does not fit, its rows are computed in as many chunks as necessary. team: for
 * work on the host. Errors: the operation's. */
sley_status sl_spgemm_on_devices(sl_queue *const *queues, int ranks, sl_team *team,
                                 const sl_spgemm_args *args);

#endif
