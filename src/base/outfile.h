/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that appear whole or not at all: written aside, then renamed. A path that is a device or a
 * pipe is written straight. As with cp, one that is a link stays one, and what it names is replaced; a file
 * that is replaced keeps its mode, and its owner where that may be set; a link to nothing is refused.
 *
 * The files aside are noted, in memory that processes forked later share: so a process that must end at once
 * can remove them (sley_discard_outputs), and one can remove those of ranks that were killed. */
#ifndef SLEY_BASE_OUTFILE_H
#define SLEY_BASE_OUTFILE_H

#include <stdio.h>

#include "base/status.h"

typedef struct sl_outfile {
  FILE *stream;       /* write here */
  char *path, *aside; /* aside: NULL for what is no regular file and is written straight */
  int note;           /* where aside is noted; -1: nowhere */
  int reason;         /* errno of the first write that failed, where sl_outfile_sound has seen it; else 0 */
} sl_outfile;

/* Opens a file beside path. Errors: SLEY_ERR_IO with the system's reason. */
sley_status sl_outfile_open(const char *path, sl_outfile *out);

/* Whether all writes have succeeded until now. To be asked now and then by who writes through stdio, which
 * forgets why one has failed.
 */
bool sl_outfile_sound(sl_outfile *file);

/* Flushes, checks every earlier write, and renames to path. On an error nothing is left behind. */
sley_status sl_outfile_commit(sl_outfile *file);

/* Removes what was written. Does nothing after a commit. */
void sl_outfile_discard(sl_outfile *file);

/* To be called before ranks are forked: their files are then noted where this process sees them. */
void sl_outfile_share(void);

/* Removes what processes that are no more have left. */
void sl_outfile_sweep(void);

#endif
