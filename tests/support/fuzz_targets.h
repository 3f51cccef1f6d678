/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that fuzzers and the replay of their corpora run: one per reader, and one per message over a
 * socket. */
#ifndef SLEY_TESTS_FUZZ_TARGETS_H
#define SLEY_TESTS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_target {
  const char *name; /* NAME in the fuzzer fuzz_NAME and the folder fuzz/corpus/NAME */
  void (*run)(const uint8_t *bytes, size_t size);
} fuzz_target;

extern const fuzz_target fuzz_targets[];
extern const int fuzz_target_count;

#endif
