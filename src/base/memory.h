/* SPDX-License-Identifier: Apache-2.0 */
/* Checked host memory: every allocation of the library goes through here, is counted, and can be made to fail. */
#ifndef SLEY_BASE_MEMORY_H
#define SLEY_BASE_MEMORY_H

#include "base/status.h"

/* count * bytes_each bytes, 64-byte aligned, contents undefined; what names it in the error. NULL, with the message
 * written, if count < 0, the product overflows or memory is short. A count of 0 gives a valid pointer. */
void *sl_alloc(int64_t count, size_t bytes_each, const char *what);

/* The same, filled with zeros. */
void *sl_alloc_zero(int64_t count, size_t bytes_each, const char *what);

/* Resizes; the old block stays valid if NULL comes back. */
void *sl_realloc(void *block, int64_t count, size_t bytes_each, const char *what);

/* Gives back what *block has beyond count * bytes_each bytes, in place where that can be done. On an error, as
 * above, *block is still a block to be freed. */
sley_status sl_shrink(void **block, int64_t count, size_t bytes_each, const char *what);

/* Before a call of a library that never returns, or ends the process, where it gets no memory: SLEY_OK if this
 * process may map so many bytes more now, in one piece; nothing is taken. Counted, and made to fail, as an
 * allocation. */
sley_status sl_memory_room(int64_t bytes, const char *what);

/* Bytes of memory and swap of the machine. */
int64_t sl_memory_machine(void);

/* A copy of text; NULL as above. */
char *sl_strdup(const char *text);

void sl_free(void *block);

/* (p) = count elements of its type; a status. Use with SL_TRY or SL_TRY_GOTO. */
#define SL_NEW(p, count, what)                                                                               \
  (((p) = sl_alloc((count), sizeof *(p), (what))) != NULL ? SLEY_OK : SLEY_ERR_MEMORY)
#define SL_NEW_ZERO(p, count, what)                                                                          \
  (((p) = sl_alloc_zero((count), sizeof *(p), (what))) != NULL ? SLEY_OK : SLEY_ERR_MEMORY)

/* Bytes allocated now, and the most at any time since the last reset. */
int64_t sl_memory_now(void);
int64_t sl_memory_peak(void);
void sl_memory_peak_reset(void);

/* Number of allocations made since the last call of sl_memory_fail_at. */
int64_t sl_memory_count(void);

/* For tests: the nth allocation from now on fails (1: the next), once; 0: none. */
void sl_memory_fail_at(int64_t nth);

#endif
