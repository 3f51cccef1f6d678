/* SPDX-License-Identifier: Apache-2.0 */
/* Machines that a test describes. */
#include "machines.h"

#include <unistd.h>

#include "support.h"

sley_machine *described_machine(const char *format, ...) {
  char path[] = "/tmp/sley-machine-XXXXXX";
  sley_machine *machine;
  close(mkstemp(path));
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(file, format, arguments);
  va_end(arguments);
  fclose(file);
  assert_sley_ok(sley_machine_read(path, &machine));
  unlink(path);
  return machine;
}
