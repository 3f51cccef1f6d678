/* SPDX-License-Identifier: Apache-2.0 */
/* The flag that sley_interrupt sets, and its status. */
#ifndef SLEY_BASE_INTERRUPT_H
#define SLEY_BASE_INTERRUPT_H

#include "base/status.h"

/* Returns SLEY_ERR_INTERRUPTED, with its message, once sley_interrupt was called. Long loops and every wait
 * call it. */
sley_status sl_interrupted(void);

#endif
