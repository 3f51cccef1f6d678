/* SPDX-License-Identifier: Apache-2.0 */
#include "chosen_device.h"

#include <stdlib.h>
#include <string.h>

const char *test_device(void) {
  const char *name = getenv("SLEY_TEST_DEVICE");
  return name && *name ? name : "cpu";
}

bool test_on_cpu(void) {
  return strcmp(test_device(), "cpu") == 0;
}
