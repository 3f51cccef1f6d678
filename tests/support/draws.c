/* SPDX-License-Identifier: Apache-2.0 */
#include "draws.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t own_share = 1, stream, counter;

/* The finaliser of SplitMix64 (copied here because this file is also linked to programs with only the public
 * library). */
static uint64_t mix(uint64_t z) {
  z += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

uint64_t test_seed(void) {
  static uint64_t seed;
  static int known;
  const char *given = getenv("SLEY_TEST_SEED");
  struct timespec now;
  if (!known && given && *given) {
    seed = strtoull(given, NULL, 10);
  } else if (!known) {
    clock_gettime(CLOCK_REALTIME, &now);
    seed = mix(mix((uint64_t)now.tv_sec) + (uint64_t)now.tv_nsec + ((uint64_t)getpid() << 32)) % 1000000000;
  }
  known = 1;
  return seed;
}

uint64_t test_share(void) {
  const char *given = getenv("SLEY_TEST_SHARE");
  long share = given ? strtol(given, NULL, 10) : 1;
  return (share > 1 ? (uint64_t)share : 1) * own_share;
}

uint64_t test_share_of(uint64_t count) {
  return count > 0 && count < test_share() ? count : test_share();
}

uint64_t test_stream(void) {
  return stream;
}

uint64_t test_draw(uint64_t n) {
  return mix(stream ^ mix(counter++)) % n;
}

uint64_t test_first(uint64_t count) {
  return test_draw(test_share_of(count));
}

void test_draw_for(const char *setting, uint64_t share) {
  own_share = share;
  counter = 0;
  stream = mix(test_seed());
  for (const char *c = setting; *c; c++)
    stream = mix(stream + (unsigned char)*c);
}
