/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the mock device, which the host must not address. */
#include "mock_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { HEADER = 64 };

typedef struct header {
  struct header *next;
  int64_t bytes;
  int ordinal;
} header;

static header *blocks;
static int64_t used[MOCK_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int64_t mock_number(const char *name, int64_t otherwise) {
  const char *given = getenv(name);
  return given && *given ? atoll(given) : otherwise;
}

int64_t mock_memory_of_one(void) {
  return mock_number("SLEY_MOCK_MEMORY", (int64_t)1 << 30);
}

int64_t mock_memory_free(int ordinal) {
  pthread_mutex_lock(&lock);
  int64_t bytes = mock_memory_of_one() - used[ordinal];
  pthread_mutex_unlock(&lock);
  return bytes;
}

int mock_memory_device(const void *address) {
  int found = -1;
  pthread_mutex_lock(&lock);
  for (const header *h = blocks; h && found < 0; h = h->next) {
    const char *begin = (const char *)h + HEADER;
    int64_t bytes = h->bytes > 0 ? h->bytes : 1;
    if ((const char *)address >= begin && (const char *)address < begin + bytes)
      found = h->ordinal;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

sley_status mock_memory_take(int ordinal, int64_t bytes, const char *what, void **out) {
  *out = NULL;
  if (sl_device_bytes(bytes) > mock_memory_free(ordinal))
    return sl_fail(SLEY_ERR_MEMORY, "out of memory: %lld bytes for %s", (long long)bytes, what);
  char *block = sl_alloc(bytes + HEADER + 1, 1, what);
  if (!block)
    return SLEY_ERR_MEMORY;
  memset(block, 0xA5, (size_t)(bytes + HEADER));
  header *h = (header *)(void *)block;
  pthread_mutex_lock(&lock);
  *h = (header){.next = blocks, .bytes = bytes, .ordinal = ordinal};
  blocks = h;
  used[ordinal] += sl_device_bytes(bytes);
  pthread_mutex_unlock(&lock);
  *out = block + HEADER;
  return SLEY_OK;
}

void mock_memory_give(void *block) {
  header *h = (header *)(void *)((char *)block - HEADER);
  pthread_mutex_lock(&lock);
  header **at = &blocks;
  while (*at != h)
    at = &(*at)->next;
  *at = h->next;
  used[h->ordinal] -= sl_device_bytes(h->bytes);
  pthread_mutex_unlock(&lock);
  sl_free(h);
}
