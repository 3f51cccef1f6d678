/* SPDX-License-Identifier: Apache-2.0 */
/* A step of Adam, as sley_adam defines it. */
#ifndef SLEY_OPS_ADAM_H
#define SLEY_OPS_ADAM_H

#include "transport/transport.h"

/* spec: checked. Enqueued on the rank's queue. Errors: the kernel's. */
sley_status sl_adam(sl_comm *comm, const sley_adam_spec *spec);

#endif
