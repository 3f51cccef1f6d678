/* SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "output/terminal.h"

/* Reads a number without a sign. *end: the rest of the text. Returns false if there is no number, or it is
 * not from 1 to most. */
static bool read_number(const char *text, int64_t most, int64_t *out, const char **end) {
  char *after;
  if (*text < '0' || *text > '9')
    return false;
  errno = 0;
  *out = strtoll(text, &after, 10);
  *end = after;
  return errno == 0 && *out >= 1 && *out <= most;
}

bool cli_pair_read(const char *command, const char *option, const char *text, bool one, int64_t most,
                   int64_t *rows, int64_t *cols) {
  const char *end = NULL;
  if (!text)
    return true;
  bool good = read_number(text, most, rows, &end);
  if (good && *end == 'x')
    good = read_number(end + 1, most, cols, &end);
  else if (good && one)
    *cols = *rows;
  else
    good = false;
  if (good && *end == '\0')
    return true;
  cli_error("%s: --%s is \"%s\": give %stwo numbers from 1 to %" PRId64
            " with an x between them, such as 2x3",
            command, option, text, one ? "a number or " : "", most);
  return false;
}
