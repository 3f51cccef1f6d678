/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that appear whole or not at all: written aside, then renamed. A path that is a device or a
 * pipe is written straight, and one that is a link stays one. */
#ifndef SLEY_BASE_OUTFILE_H
#define SLEY_BASE_OUTFILE_H

#include <stdio.h>

#include "base/status.h"

typedef struct sl_outfile {
  FILE *stream;       /* write here */
  char *path, *aside; /* aside: NULL for what is no regular file and is written straight */
} sl_outfile;

/* Opens a file beside path. Errors: SLEY_ERR_IO with the system's reason. */
sley_status sl_outfile_open(const char *path, sl_outfile *out);

/* Flushes, checks every earlier write, and renames to path. On an error nothing is left behind. */
sley_status sl_outfile_commit(sl_outfile *file);

/* Removes what was written. Does nothing after a commit. */
void sl_outfile_discard(sl_outfile *file);

#endif
