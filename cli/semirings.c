/* SPDX-License-Identifier: Apache-2.0 */
#include "semirings.h"

#include <string.h>

sley_semiring cli_semiring(const char *name) {
  int s = 0;
  while (strcmp(sley_semirings()[s], name) != 0)
    s++;
  return (sley_semiring)s;
}
