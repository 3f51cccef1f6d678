/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the mock device, which the host must not address. */
#include "mock_memory.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { HEADER = 64 };

/* A block, at its beginning; of two, one ends before the other begins. */
typedef struct header {
  const char *begin, *end; /* what the caller has of it; an empty one has a byte */
  int64_t bytes;
  int ordinal;
} header;

static void *blocks, *pinned; /* trees of headers, by address */
static int64_t used[MOCK_DEVICES];
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static int compare(const void *a_, const void *b_) {
  const header *a = a_, *b = b_;
  return a->end <= b->begin ? -1 : a->begin >= b->end;
}

int64_t mock_number(const char *name, int64_t otherwise) {
  const char *given = getenv(name);
  return given && *given ? atoll(given) : otherwise;
}

int64_t mock_memory_of_one(void) {
  return mock_number("SLEY_MOCK_MEMORY", (int64_t)1 << 30);
}

int64_t mock_memory_free(int ordinal) {
  pthread_rwlock_rdlock(&lock);
  int64_t bytes = mock_memory_of_one() - used[ordinal];
  pthread_rwlock_unlock(&lock);
  return bytes;
}

/* The block of the tree in which the address lies, or NULL. */
static const header *find(void *const *tree, const void *address) {
  const header point = {.begin = address, .end = (const char *)address + 1};
  pthread_rwlock_rdlock(&lock);
  header *const *found = tfind(&point, tree, compare);
  const header *block = found ? *found : NULL;
  pthread_rwlock_unlock(&lock);
  return block;
}

int mock_memory_device(const void *address) {
  const header *block = find(&blocks, address);
  return block ? block->ordinal : -1;
}

bool mock_memory_is_pinned(const void *address) {
  return find(&pinned, address) != NULL;
}

/* A block with its header, whose address is before the one that the caller gets. */
static header *make_block(int64_t bytes, int ordinal, int fill, const char *what) {
  char *block = sl_alloc(bytes + HEADER + 1, 1, what);
  if (!block)
    return NULL;
  memset(block, fill, (size_t)(bytes + HEADER));
  header *h = (header *)(void *)block;
  const char *begin = block + HEADER;
  *h = (header){.begin = begin, .end = begin + (bytes > 0 ? bytes : 1), .bytes = bytes, .ordinal = ordinal};
  return h;
}

sley_status mock_memory_pin(int64_t bytes, const char *what, void **out) {
  *out = NULL;
  header *h = make_block(bytes, -1, 0, what);
  if (!h)
    return SLEY_ERR_MEMORY;
  pthread_rwlock_wrlock(&lock);
  bool kept = tsearch(h, &pinned, compare) != NULL;
  pthread_rwlock_unlock(&lock);
  if (!kept) {
    sl_free(h);
    return sl_fail(SLEY_ERR_MEMORY, "out of memory for the mock's tree of blocks");
  }
  *out = (char *)h + HEADER;
  return SLEY_OK;
}

void mock_memory_unpin(void *block) {
  if (!block)
    return;
  header *h = (header *)(void *)((char *)block - HEADER);
  pthread_rwlock_wrlock(&lock);
  tdelete(h, &pinned, compare);
  pthread_rwlock_unlock(&lock);
  sl_free(h);
}

sley_status mock_memory_take(int ordinal, int64_t bytes, const char *what, void **out) {
  *out = NULL;
  if (bytes < 0 || sl_device_bytes(bytes) > mock_memory_free(ordinal))
    return sl_fail(SLEY_ERR_MEMORY, "out of memory: %lld bytes for %s", (long long)bytes, what);
  header *h = make_block(bytes, ordinal, 0xA5, what);
  if (!h)
    return SLEY_ERR_MEMORY;
  pthread_rwlock_wrlock(&lock);
  bool kept = tsearch(h, &blocks, compare) != NULL;
  if (kept)
    used[ordinal] += sl_device_bytes(bytes);
  pthread_rwlock_unlock(&lock);
  if (!kept) {
    sl_free(h);
    return sl_fail(SLEY_ERR_MEMORY, "out of memory for the mock's tree of blocks");
  }
  *out = (char *)h + HEADER;
  return SLEY_OK;
}

void mock_memory_give(void *block) {
  header *h = (header *)(void *)((char *)block - HEADER);
  pthread_rwlock_wrlock(&lock);
  tdelete(h, &blocks, compare);
  used[h->ordinal] -= sl_device_bytes(h->bytes);
  pthread_rwlock_unlock(&lock);
  sl_free(h);
}
