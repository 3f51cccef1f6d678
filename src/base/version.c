/* SPDX-License-Identifier: Apache-2.0 */
/* The version of the library. */
#include "sley.h"

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

const char *sley_version(void) {
  return TEXT(SLEY_VERSION_MAJOR) "." TEXT(SLEY_VERSION_MINOR) "." TEXT(SLEY_VERSION_PATCH);
}
