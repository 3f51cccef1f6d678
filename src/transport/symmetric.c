/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of symmetric memory, forwarded to the comm's transport, and the checks and copies that all
 * transports share. */
#include "transport/symmetric.h"

#include <stdatomic.h>
#include <string.h>

#include "transport/transport.h"

static const sl_symm_ops *ops_of(const sl_comm *comm) {
  return comm->ops->symm;
}

sley_status sl_symm_alloc(sl_comm *comm, int64_t bytes, sl_symm **out) {
  return ops_of(comm)->alloc(comm, bytes, out);
}

void sl_symm_free(sl_symm *symm) {
  if (symm)
    ops_of(symm->comm)->free(symm);
}

void *sl_peer_ptr(sl_symm *symm, int rank) {
  return ops_of(symm->comm)->peer_ptr(symm, rank);
}

sley_status sl_get_begin(sl_symm *symm, int rank, int64_t offset, void *dst, int64_t bytes, sl_rma *rma) {
  return ops_of(symm->comm)->get_begin(symm, rank, offset, dst, bytes, rma);
}

sley_status sl_put_begin(sl_symm *symm, int rank, int64_t offset, const void *src, int64_t bytes,
                         sl_rma *rma) {
  return ops_of(symm->comm)->put_begin(symm, rank, offset, src, bytes, rma);
}

sley_status sl_rma_wait(sl_rma *rma) {
  return ops_of(rma->comm)->wait(rma);
}

sley_status sl_rma_after(sl_symm *symm, sl_queue *queue) {
  return ops_of(symm->comm)->after(symm, queue);
}

sley_status sl_get_rows(sl_symm *symm, int lists, const sl_row_list *list, void *dst) {
  return ops_of(symm->comm)->get_rows(symm, lists, list, dst);
}

sley_status sl_fetch_add(sl_symm *symm, int rank, int64_t offset, int64_t delta, int64_t *old) {
  return ops_of(symm->comm)->atomic(symm, "fetch_add", rank, offset, SL_ATOMIC_ADD, delta, 0, old);
}

sley_status sl_compare_swap(sl_symm *symm, int rank, int64_t offset, int64_t expected, int64_t desired,
                            int64_t *old) {
  return ops_of(symm->comm)
      ->atomic(symm, "compare_swap", rank, offset, SL_ATOMIC_COMPARE_SWAP, desired, expected, old);
}

sley_status sl_flush(sl_symm *symm, int rank) {
  return ops_of(symm->comm)->flush(symm, rank);
}

sley_status sl_flush_all(sl_symm *symm) {
  return sl_flush(symm, SL_ALL_RANKS);
}

sley_status sl_get(sl_symm *symm, int rank, int64_t offset, void *dst, int64_t bytes) {
  sl_rma rma;
  SL_TRY(sl_get_begin(symm, rank, offset, dst, bytes, &rma));
  return sl_rma_wait(&rma);
}

sley_status sl_put(sl_symm *symm, int rank, int64_t offset, const void *src, int64_t bytes) {
  sl_rma rma;
  SL_TRY(sl_put_begin(symm, rank, offset, src, bytes, &rma));
  return sl_rma_wait(&rma);
}

sley_status sl_get_rows_singly(sl_symm *symm, int lists, const sl_row_list *list, void *dst) {
  enum { IN_FLIGHT = 32 };
  sl_rma rma[IN_FLIGHT];
  int64_t begun = 0, ended = 0;
  sley_status status = SLEY_OK;
  for (const sl_row_list *l = list; l < list + lists; l++)
    for (int64_t i = 0; i < l->count && status == SLEY_OK; i++) {
      if (begun - ended == IN_FLIGHT)
        status = sl_rma_wait(&rma[ended++ % IN_FLIGHT]);
      if (status == SLEY_OK)
        status = sl_get_begin(symm, l->peer, l->rows[i] * l->bytes, (char *)dst + (l->first + i) * l->bytes,
                              l->bytes, &rma[begun % IN_FLIGHT]);
      begun += status == SLEY_OK;
    }
  for (; ended < begun; ended++) {
    sley_status one = sl_rma_wait(&rma[ended % IN_FLIGHT]);
    status = status == SLEY_OK ? one : status;
  }
  return status;
}

sley_status sl_symm_check(const char *call, int rank, int size, int64_t offset, int64_t bytes,
                          int64_t block_bytes) {
  if (rank < 0 || rank >= size)
    return sl_fail(SLEY_ERR_ARG, "%s: rank is %d, but there are %d ranks", call, rank, size);
  if (bytes < 0 || offset < 0 || bytes > block_bytes || offset > block_bytes - bytes)
    return sl_fail(SLEY_ERR_ARG, "%s: %lld bytes from byte %lld on are outside the %lld bytes at rank %d",
                   call, (long long)bytes, (long long)offset, (long long)block_bytes, rank);
  return SLEY_OK;
}

sley_status sl_symm_check_word(const char *call, int64_t offset) {
  return offset % (int64_t)sizeof(int64_t) == 0
             ? SLEY_OK
             : sl_fail(SLEY_ERR_ARG, "%s: offset %lld is not a multiple of 8", call, (long long)offset);
}

/* Returns the address of a word; blocks begin at a multiple of 8. */
static _Atomic int64_t *word_at(const char *block, int64_t offset) {
  return (_Atomic int64_t *)(uintptr_t)(block + offset);
}

void sl_symm_load(void *dst, const char *block, int64_t offset, int64_t bytes) {
  if (sl_is_word(offset, bytes)) {
    int64_t word = atomic_load(word_at(block, offset));
    memcpy(dst, &word, sizeof word);
  } else if (bytes > 0)
    memcpy(dst, block + offset, (size_t)bytes);
}

void sl_symm_store(char *block, int64_t offset, const void *src, int64_t bytes) {
  if (sl_is_word(offset, bytes)) {
    int64_t word;
    memcpy(&word, src, sizeof word);
    atomic_store(word_at(block, offset), word);
  } else if (bytes > 0)
    memcpy(block + offset, src, (size_t)bytes);
}
