/* SPDX-License-Identifier: Apache-2.0 */
/* A step of Adam, as sley_adam defines it. */
#ifndef SLEY_OPS_ADAM_H
#define SLEY_OPS_ADAM_H

#include "transport/transport.h"

/* Makes a step of Adam, enqueued on the rank's queue. spec: checked. Errors: errors of the kernel. */
sley_status sl_adam(sl_comm *comm, const sley_adam_spec *spec);

#endif
