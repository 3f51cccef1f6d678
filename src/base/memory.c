/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory: checked allocation that tests can make fail, and large buffers on huge pages. */
#include "base/memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

static _Atomic int64_t bytes_now, bytes_peak, allocations, fail_at;

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20, LARGE = 1 << 30 };

static void count_up(void *block) {
  int64_t now =
      atomic_fetch_add(&bytes_now, (int64_t)malloc_usable_size(block)) + (int64_t)malloc_usable_size(block);
  int64_t peak = atomic_load(&bytes_peak);
  while (now > peak && !atomic_compare_exchange_weak(&bytes_peak, &peak, now)) {
  }
}

/* Memory and swap of the machine. A system may grant more and then kill the process that uses it. */
static size_t machine_bytes(void) {
  struct sysinfo info;
  if (sysinfo(&info) != 0)
    return SIZE_MAX;
  return ((size_t)info.totalram + info.totalswap) * info.mem_unit;
}

/* Decides whether an allocation is allowed; *bytes receives its size. */
static bool admit(int64_t count, size_t bytes_each, const char *what, size_t *bytes) {
  if (count < 0 || __builtin_mul_overflow((size_t)count, bytes_each, bytes) ||
      *bytes > (size_t)INT64_MAX - HUGE_PAGE) {
    sl_fail(SLEY_ERR_MEMORY, "cannot allocate %lld x %zu bytes for %s: the size overflows", (long long)count,
            bytes_each, what);
    return false;
  }
  if (atomic_fetch_add(&allocations, 1) + 1 == atomic_load(&fail_at)) {
    sl_fail(SLEY_ERR_MEMORY, "out of memory: %zu bytes for %s (made to fail)", *bytes, what);
    return false;
  }
  if (*bytes >= LARGE && *bytes > machine_bytes()) {
    sl_fail(SLEY_ERR_MEMORY, "out of memory: %zu bytes for %s are more than this machine has", *bytes, what);
    return false;
  }
  if (*bytes == 0)
    *bytes = 1;
  return true;
}

void *sl_alloc(int64_t count, size_t bytes_each, const char *what) {
  size_t bytes;
  if (!admit(count, bytes_each, what, &bytes))
    return NULL;
  void *block = NULL;
  bool huge = bytes >= 2 * (size_t)HUGE_PAGE;
  if (posix_memalign(&block, huge ? HUGE_PAGE : ALIGNMENT, bytes) != 0) {
    sl_fail(SLEY_ERR_MEMORY, "out of memory: %zu bytes for %s", bytes, what);
    return NULL;
  }
  if (huge)
    madvise(block, bytes, MADV_HUGEPAGE);
  count_up(block);
  return block;
}

void *sl_alloc_zero(int64_t count, size_t bytes_each, const char *what) {
  void *block = sl_alloc(count, bytes_each, what);
  if (block)
    memset(block, 0, (size_t)count * bytes_each);
  return block;
}

void *sl_realloc(void *block, int64_t count, size_t bytes_each, const char *what) {
  void *larger = sl_alloc(count, bytes_each, what);
  if (larger && block) {
    size_t old = malloc_usable_size(block), bytes = (size_t)count * bytes_each;
    memcpy(larger, block, old < bytes ? old : bytes);
    sl_free(block);
  }
  return larger;
}

sley_status sl_shrink(void **block, int64_t count, size_t bytes_each, const char *what) {
  size_t bytes, old = malloc_usable_size(*block);
  if (!admit(count, bytes_each, what, &bytes))
    return SLEY_ERR_MEMORY;
  if (bytes >= old)
    return SLEY_OK;
  void *smaller = realloc(*block, bytes);
  if (!smaller)
    return sl_fail(SLEY_ERR_MEMORY, "out of memory: %zu bytes for %s", bytes, what);
  *block = smaller;
  atomic_fetch_sub(&bytes_now, (int64_t)old - (int64_t)malloc_usable_size(smaller));
  if ((uintptr_t)smaller % ALIGNMENT == 0)
    return SLEY_OK;
  void *aligned = sl_alloc(count, bytes_each, what); /* realloc has moved the block, as it does under a
                                                        sanitizer */
  if (!aligned)
    return SLEY_ERR_MEMORY;
  memcpy(aligned, smaller, bytes);
  sl_free(smaller);
  *block = aligned;
  return SLEY_OK;
}

sley_status sl_memory_room(int64_t count, const char *what) {
  size_t bytes;
  if (!admit(count, 1, what, &bytes))
    return SLEY_ERR_MEMORY;
  void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED)
    return sl_fail(SLEY_ERR_MEMORY, "out of memory: %zu bytes for %s", bytes, what);
  munmap(block, bytes);
  return SLEY_OK;
}

int64_t sl_memory_machine(void) {
  const size_t bytes = machine_bytes();
  return bytes < (size_t)INT64_MAX ? (int64_t)bytes : INT64_MAX;
}

char *sl_strdup(const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = sl_alloc((int64_t)bytes, 1, "text");
  if (copy)
    memcpy(copy, text, bytes);
  return copy;
}

void sl_free(void *block) {
  if (!block)
    return;
  atomic_fetch_sub(&bytes_now, (int64_t)malloc_usable_size(block));
  free(block);
}

int64_t sl_memory_now(void) {
  return atomic_load(&bytes_now);
}

int64_t sl_memory_peak(void) {
  return atomic_load(&bytes_peak);
}

void sl_memory_peak_reset(void) {
  atomic_store(&bytes_peak, atomic_load(&bytes_now));
}

int64_t sl_memory_count(void) {
  return atomic_load(&allocations);
}

void sl_memory_fail_at(int64_t nth) {
  atomic_store(&allocations, 0);
  atomic_store(&fail_at, nth);
}
