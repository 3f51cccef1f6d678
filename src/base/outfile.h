/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that appear whole or not at all: written under a temporary name, then renamed. A path that is
 * a device or a pipe is written directly. As with cp, a symbolic link stays a link and its target is
 * replaced; a replaced file keeps its mode, and its owner if that may be set; a dangling link is refused.
 *
 * Temporary files are recorded in memory that is shared with processes forked later: so a process that must
 * end at once can remove them (sley_discard_outputs), and another can remove the files of ranks that were
 * killed. */
#ifndef SLEY_BASE_OUTFILE_H
#define SLEY_BASE_OUTFILE_H

#include <stdio.h>

#include "base/status.h"

typedef struct sl_outfile {
  FILE *stream;       /* stream to write to */
  char *path, *aside; /* aside: the temporary file; NULL if path is not a regular file and is written
                         directly */
  int note;           /* number of the record of aside; -1: not recorded */
  int reason;         /* errno of the first failed write, if sl_outfile_sound has detected it; else 0 */
} sl_outfile;

/* Opens a temporary file beside path. Errors: SLEY_ERR_IO with the system's reason. */
sley_status sl_outfile_open(const char *path, sl_outfile *out);

/* Returns whether all writes so far have succeeded. Code that writes through stdio calls it from time to
 * time, because stdio does not keep the reason for a failure. */
bool sl_outfile_sound(sl_outfile *file);

/* Flushes, checks every earlier write, and renames the file to path. On an error no file is left behind. */
sley_status sl_outfile_commit(sl_outfile *file);

/* Removes the temporary file. Does nothing after a commit. */
void sl_outfile_discard(sl_outfile *file);

/* Makes records of files visible to this process from ranks that it forks later. Call it before the fork. */
void sl_outfile_share(void);

/* Removes the temporary files of processes that have ended. */
void sl_outfile_sweep(void);

#endif
