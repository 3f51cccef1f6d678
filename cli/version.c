/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the version. Only this file includes the commit, so that a new commit recompiles no other file. */
#include "version.h"

#include SLEY_COMMIT_HEADER /* header with the commit, written by the build */
#include "sley.h"

void cli_version_print(FILE *stream) {
  fprintf(stream, "sley %s\n", sley_version());
  if (*SLEY_COMMIT)
    fprintf(stream, "commit %s\n", SLEY_COMMIT);
}
