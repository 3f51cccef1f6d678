/* SPDX-License-Identifier: Apache-2.0 */
/* Checked host memory: every allocation of the library goes through here, is counted, and can be made to
 * fail. */
#ifndef SLEY_BASE_MEMORY_H
#define SLEY_BASE_MEMORY_H

#include "base/status.h"

/* Allocates count * bytes_each bytes, 64-byte aligned, contents undefined; `what` names the memory in the
 * error. Returns NULL, with the message written, if count < 0, the product overflows or memory is short. A
 * count of 0 returns a valid pointer. */
void *sl_alloc(int64_t count, size_t bytes_each, const char *what);

/* As sl_alloc, filled with zeros. */
void *sl_alloc_zero(int64_t count, size_t bytes_each, const char *what);

/* Resizes a block; if NULL is returned, the old block stays valid. */
void *sl_realloc(void *block, int64_t count, size_t bytes_each, const char *what);

/* Shrinks *block to count * bytes_each bytes, in place if possible. On an error, reported as by sl_alloc,
 * *block is still a block that must be freed. */
sley_status sl_shrink(void **block, int64_t count, size_t bytes_each, const char *what);

/* Call this before a library function that does not return, or ends the process, when it gets no memory.
 * Returns SLEY_OK if this process could map that many bytes more now, in one piece; nothing stays mapped. It
 * is counted, and can be made to fail, like an allocation. */
sley_status sl_memory_room(int64_t bytes, const char *what);

/* Bytes of memory and swap that the machine has. */
int64_t sl_memory_machine(void);

/* Returns a copy of text; NULL on an error, as sl_alloc. */
char *sl_strdup(const char *text);

void sl_free(void *block);

/* Allocates count elements of p's type and assigns them to p; returns a status. Use with SL_TRY or
 * SL_TRY_GOTO. */
#define SL_NEW(p, count, what)                                                                               \
  (((p) = sl_alloc((count), sizeof *(p), (what))) != NULL ? SLEY_OK : SLEY_ERR_MEMORY)
#define SL_NEW_ZERO(p, count, what)                                                                          \
  (((p) = sl_alloc_zero((count), sizeof *(p), (what))) != NULL ? SLEY_OK : SLEY_ERR_MEMORY)

/* Bytes allocated now, and the maximum since the last reset. */
int64_t sl_memory_now(void);
int64_t sl_memory_peak(void);
void sl_memory_peak_reset(void);

/* Number of allocations made since the last call of sl_memory_fail_at. */
int64_t sl_memory_count(void);

/* For tests: makes the nth allocation from now on fail, once (1: the next); 0: none. */
void sl_memory_fail_at(int64_t nth);

#endif
