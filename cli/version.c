/* SPDX-License-Identifier: Apache-2.0 */
/* Which Sley this is. The only file that knows of the commit, so that a new one compiles no other. */
#include "version.h"

#include SLEY_COMMIT_HEADER /* which the build writes */
#include "sley.h"

void cli_version_print(FILE *stream) {
  fprintf(stream, "sley %s\n", sley_version());
  if (*SLEY_COMMIT)
    fprintf(stream, "commit %s\n", SLEY_COMMIT);
}
