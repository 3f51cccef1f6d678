/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided memory of a traced comm. A handle belongs to the inner comm, but its calls go to the wrapper
 * first. */
#include "base/memory.h"
#include "transport/trace/wrap.h"

typedef struct traced_symm {
  sl_symm base;
  sl_symm *inner;
} traced_symm;

static sl_symm *inner_of(sl_symm *symm) {
  return ((traced_symm *)symm)->inner;
}

static sley_status symm_alloc(sl_comm *comm, int64_t bytes, sl_symm **out) {
  *out = NULL;
  double begin = sl_now();
  traced_symm *symm;
  sley_status status = SL_NEW_ZERO(symm, 1, "traced symmetric memory");
  SL_TRY_GOTO(status, sl_agree(sl_traced_inner(comm), status), fail);
  symm->base.comm = comm;
  SL_TRY_GOTO(status, sl_symm_alloc(sl_traced_inner(comm), bytes, &symm->inner), fail);
  *out = &symm->base;
  return sl_traced_record(comm, "symm_alloc", begin, bytes, SLEY_OK);
fail:
  sl_free(symm);
  return sl_traced_record(comm, "symm_alloc", begin, bytes, status);
}

static void symm_free(sl_symm *symm) {
  sl_symm_free(inner_of(symm));
  sl_free(symm);
}

static void *peer_ptr(sl_symm *symm, int rank) {
  return sl_peer_ptr(inner_of(symm), rank);
}

static sley_status get_begin(sl_symm *symm, int rank, int64_t offset, void *dst, int64_t bytes, sl_rma *rma) {
  double begin = sl_now();
  sley_status status = sl_get_begin(inner_of(symm), rank, offset, dst, bytes, rma);
  rma->comm = symm->comm;
  return sl_traced_record(symm->comm, "get", begin, bytes, status);
}

static sley_status put_begin(sl_symm *symm, int rank, int64_t offset, const void *src, int64_t bytes,
                             sl_rma *rma) {
  double begin = sl_now();
  sley_status status = sl_put_begin(inner_of(symm), rank, offset, src, bytes, rma);
  rma->comm = symm->comm;
  return sl_traced_record(symm->comm, "put", begin, bytes, status);
}

static sley_status wait(sl_rma *rma) {
  double begin = sl_now();
  sley_status status = sl_traced_inner(rma->comm)->ops->symm->wait(rma);
  return sl_traced_record(rma->comm, "wait for access", begin, -1, status);
}

static sley_status after(sl_symm *symm, sl_queue *queue) {
  return sl_rma_after(inner_of(symm), queue);
}

static sley_status get_rows(sl_symm *symm, int lists, const sl_row_list *list, void *dst) {
  double begin = sl_now();
  int64_t bytes = 0;
  for (int i = 0; i < lists; i++)
    bytes += list[i].count * list[i].bytes;
  sley_status status = sl_get_rows(inner_of(symm), lists, list, dst);
  return sl_traced_record(symm->comm, "get rows", begin, bytes, status);
}

static sley_status fetch_add(sl_symm *symm, int rank, int64_t offset, int64_t delta, int64_t *old) {
  double begin = sl_now();
  sley_status status = sl_fetch_add(inner_of(symm), rank, offset, delta, old);
  return sl_traced_record(symm->comm, "fetch_add", begin, -1, status);
}

static sley_status compare_swap(sl_symm *symm, int rank, int64_t offset, int64_t expected, int64_t desired,
                                int64_t *old) {
  double begin = sl_now();
  sley_status status = sl_compare_swap(inner_of(symm), rank, offset, expected, desired, old);
  return sl_traced_record(symm->comm, "compare_swap", begin, -1, status);
}

static sley_status flush(sl_symm *symm, int rank) {
  double begin = sl_now();
  return sl_traced_record(symm->comm, "flush", begin, -1, sl_flush(inner_of(symm), rank));
}

const sl_symm_ops sl_traced_symm_ops = {.alloc = symm_alloc,
                                        .free = symm_free,
                                        .peer_ptr = peer_ptr,
                                        .get_begin = get_begin,
                                        .put_begin = put_begin,
                                        .wait = wait,
                                        .after = after,
                                        .get_rows = get_rows,
                                        .fetch_add = fetch_add,
                                        .compare_swap = compare_swap,
                                        .flush = flush};
