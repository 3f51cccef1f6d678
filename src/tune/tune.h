/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring a machine for the cost model. */
#ifndef SLEY_TUNE_TUNE_H
#define SLEY_TUNE_TUNE_H

#include "machine/machine.h"

/* Measures a kind of device with ranks on a transport: the host's cores, with a rank of one thread on each
 * (at most 8, at least 2), or its GPUs, with a rank on each (at most SL_TUNE_RANKS; with a single one the
 * links' figures are the built-in ones). All ranks measure at the same time, so that the figures include what
 * they share. If a launcher has started ranks as processes, measures with these, on their hosts; *first:
 * whether this process is rank 0, which alone has the figures. Errors: SLEY_ERR_ARG (no such transport),
 * SLEY_ERR_UNSUPPORTED (no such device; GPUs on another transport than threads without a launcher), and those
 * of starting ranks. */
sley_status sl_tune(const char *device, const char *transport, double seconds, sl_machine *out, bool *first);

#endif
