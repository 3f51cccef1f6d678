/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring a machine for the cost model. */
#ifndef SLEY_TUNE_TUNE_H
#define SLEY_TUNE_TUNE_H

#include "machine/machine.h"

/* Measures a kind of device with ranks on a transport: the host's cores with a rank of one thread on each (8
 * at most, 2 at least), or its GPUs with a rank on each (SL_TUNE_RANKS at most; of one the links are those
 * built in). All do the same at once, so that what they share is shared in the figures too. Where a launcher
 * has started ranks as processes, it measures with these, on their hosts; *first: whether this process is
 * rank 0, which alone knows the figures. Errors: SLEY_ERR_ARG (no such transport), SLEY_ERR_UNSUPPORTED (no
 * such device; GPUs on another transport than threads without a launcher), those of starting ranks. */
sley_status sl_tune(const char *device, const char *transport, double seconds, sl_machine *out, bool *first);

#endif
