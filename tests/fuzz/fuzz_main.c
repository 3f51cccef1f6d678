/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer's entry, compiled once for each target of support/fuzz_targets.c with its name in FUZZ_TARGET. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_targets.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  for (int t = 0; t < fuzz_target_count; t++)
    if (strcmp(fuzz_targets[t].name, FUZZ_TARGET) == 0) {
      fuzz_targets[t].run(bytes, size);
      return 0;
    }
  abort(); /* the build names a target that does not exist */
}
