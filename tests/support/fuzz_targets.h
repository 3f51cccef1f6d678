/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzzers run and the replay of their corpora too: one function for each reader, and for each
 * message that comes over a socket. */
#ifndef SLEY_TESTS_FUZZ_TARGETS_H
#define SLEY_TESTS_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_target {
  const char *name; /* of the fuzzer fuzz_NAME and of the folder fuzz/corpus/NAME */
  void (*run)(const uint8_t *bytes, size_t size);
} fuzz_target;

extern const fuzz_target fuzz_targets[];
extern const int fuzz_target_count;

#endif
