/* SPDX-License-Identifier: Apache-2.0 */
/* A step of Adam as sley_adam takes it. */
#ifndef SLEY_OPS_ADAM_H
#define SLEY_OPS_ADAM_H

#include "transport/transport.h"

/* spec: checked. Enqueued on the rank's queue. Errors: those of the kernel. */
sley_status sl_adam(sl_comm *comm, const sley_adam_spec *spec);

#endif
