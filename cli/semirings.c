/* SPDX-License-Identifier: Apache-2.0 */
#include "semirings.h"

#include <string.h>

enum { SEMIRINGS = 4 };

const char *const *cli_semirings(void) {
  static const char *names[SEMIRINGS + 1];
  for (int s = 0; s < SEMIRINGS; s++)
    names[s] = sley_semiring_name((sley_semiring)s);
  return names;
}

sley_semiring cli_semiring(const char *name) {
  int s = 0;
  while (s < SEMIRINGS - 1 && strcmp(sley_semiring_name((sley_semiring)s), name) != 0)
    s++;
  return (sley_semiring)s;
}
