/* SPDX-License-Identifier: Apache-2.0 */
#include "mock_memory.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"

enum { HEADER = 64 };

typedef struct header {
  struct header *next;
  int64_t bytes;
  int ordinal;
} header;

static header *blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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
  char *block = sl_alloc(bytes + HEADER + 1, 1, what);
  if (!block)
    return SLEY_ERR_MEMORY;
  memset(block, 0xA5, (size_t)(bytes + HEADER));
  header *h = (header *)(void *)block;
  pthread_mutex_lock(&lock);
  *h = (header){.next = blocks, .bytes = bytes, .ordinal = ordinal};
  blocks = h;
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
  pthread_mutex_unlock(&lock);
  sl_free(h);
}
