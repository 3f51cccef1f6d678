/* SPDX-License-Identifier: Apache-2.0 */
/* Sends entries and rows to the ranks that own them. */
#include "parallel_io/pio_entries.h"

#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "partition/partition.h"
#include "parallel_io/pio_alltoall.h"

/* Groups triplets by owner. The entries are divided into chunks in their order, each chunk counts its entries
 * by owner, and the counts become its positions: so a group is in the order of the entries, for any number of
 * threads. */
typedef struct grouping {
  const sl_coo *coo;
  const int64_t *begin;
  int ranks, chunks;
  bool mirror;
  double sign;
  int64_t *next; /* chunks x ranks positions */
  sl_coo grouped;
} grouping;

static int64_t chunk_begin(const grouping *g, int64_t chunk) {
  return g->coo->count / g->chunks * chunk + g->coo->count % g->chunks * chunk / g->chunks;
}

/* Returns the owner of a row; *last is tried first, and receives the result. */
static inline int owner_of(const grouping *g, int64_t row, int *last) {
  if (row < g->begin[*last] || row >= g->begin[*last + 1])
    *last = sl_partition_owner(g->begin, g->ranks, row);
  return *last;
}

static sley_status count_owners(void *context, int64_t first, int64_t end, int thread) {
  (void)thread;
  grouping *g = context;
  const sl_coo *coo = g->coo;
  for (int64_t c = first; c < end; c++) {
    int64_t *count = g->next + c * g->ranks, last = chunk_begin(g, c + 1);
    int owner = 0, mirrored = 0;
    for (int64_t e = chunk_begin(g, c); e < last; e++) {
      int64_t row = sl_index_at(coo->row, coo->index, e), col = sl_index_at(coo->col, coo->index, e);
      count[owner_of(g, row, &owner)]++;
      if (g->mirror && row != col)
        count[owner_of(g, col, &mirrored)]++;
    }
  }
  return sl_interrupted();
}

static inline void put(const grouping *g, int64_t place, int64_t row, int64_t col, int64_t e, bool mirrored) {
  const sl_coo *coo = g->coo, *to = &g->grouped;
  sl_index_set(to->row, coo->index, place, row);
  sl_index_set(to->col, coo->index, place, col);
  if (coo->val && mirrored)
    sl_value_set(to->val, coo->dtype, place, g->sign * sl_value_at(coo->val, coo->dtype, e));
  else if (coo->val)
    sl_value_copy(to->val, place, coo->val, e, coo->dtype);
}

static sley_status place_entries(void *context, int64_t first, int64_t end, int thread) {
  (void)thread;
  grouping *g = context;
  const sl_coo *coo = g->coo;
  for (int64_t c = first; c < end; c++) {
    int64_t *next = g->next + c * g->ranks, last = chunk_begin(g, c + 1);
    int owner = 0, mirrored = 0;
    for (int64_t e = chunk_begin(g, c); e < last; e++) {
      int64_t row = sl_index_at(coo->row, coo->index, e), col = sl_index_at(coo->col, coo->index, e);
      put(g, next[owner_of(g, row, &owner)]++, row, col, e, false);
      if (g->mirror && row != col)
        put(g, next[owner_of(g, col, &mirrored)]++, col, row, e, true);
    }
  }
  return sl_interrupted();
}

static sley_status alloc_triplets(const sl_coo *like, int64_t count, sl_coo *out) {
  *out = *like;
  out->count = count;
  out->row = out->col = out->val = NULL;
  out->row = sl_alloc(count, sl_index_bytes(like->index), "rows of entries");
  out->col = out->row ? sl_alloc(count, sl_index_bytes(like->index), "columns of entries") : NULL;
  if (out->col && like->val)
    out->val = sl_alloc(count, sley_dtype_bytes(like->dtype), "values of entries");
  return out->col && (out->val || !like->val) ? SLEY_OK : SLEY_ERR_MEMORY;
}

/* Groups coo, which is freed, by owner; counts: number of entries of each owner. */
static sley_status group(grouping *g, sl_coo *coo, sl_team *team, int64_t *counts) {
  int64_t total = 0;
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW_ZERO(g->next, (int64_t)g->chunks * g->ranks, "entries by owner"), done);
  SL_TRY_GOTO(status, sl_team_for(team, g->chunks, 1, count_owners, g), done);
  for (int r = 0; r < g->ranks; r++) {
    counts[r] = -total;
    for (int c = 0; c < g->chunks; c++) {
      int64_t *next = &g->next[(size_t)c * (size_t)g->ranks + (size_t)r], count = *next;
      *next = total;
      total += count;
    }
    counts[r] += total;
  }
  SL_TRY_GOTO(status, alloc_triplets(coo, total, &g->grouped), done);
  status = sl_team_for(team, g->chunks, 1, place_entries, g);
done:
  sl_free(g->next);
  sl_coo_free(coo);
  return status;
}

/* Sends the groups, each array by itself; send and recv: numbers of entries per rank. grouped is freed. */
static sley_status send_groups(sl_comm *comm, sl_coo *grouped, const int64_t *send, const int64_t *recv,
                               sl_coo *out) {
  int64_t total = 0;
  sl_alltoall_lists trade = {0};
  for (int r = 0; r < comm->size; r++)
    total += recv[r];
  sley_status status = sl_alltoall_alloc(comm->size, &trade);
  if (status == SLEY_OK)
    status = alloc_triplets(grouped, total, out);
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  void *const from[] = {grouped->row, grouped->col, grouped->val}, *const to[] = {out->row, out->col,
                                                                                  out->val};
  const size_t bytes[] = {sl_index_bytes(out->index), sl_index_bytes(out->index),
                          sley_dtype_bytes(out->dtype)};
  for (int a = 0; a < (grouped->val ? 3 : 2); a++) {
    for (int r = 0; r < comm->size; r++) {
      trade.send_bytes[r] = send[r] * (int64_t)bytes[a];
      trade.recv_bytes[r] = recv[r] * (int64_t)bytes[a];
    }
    sl_alltoall_pack(&trade, comm->size);
    SL_TRY_GOTO(status, sl_alltoall_run(comm, &trade, from[a], to[a]), done);
  }
done:
  sl_alltoall_free(&trade);
  sl_coo_free(grouped);
  return status;
}

/* Exchanges the numbers of items between each pair of ranks. */
static sley_status trade_counts(sl_comm *comm, const int64_t *send, int64_t *recv) {
  sl_alltoall_lists trade = {0};
  sley_status status = sl_agree(comm, sl_alltoall_alloc(comm->size, &trade));
  for (int r = 0; r < comm->size && status == SLEY_OK; r++)
    trade.send_bytes[r] = trade.recv_bytes[r] = sizeof(int64_t);
  if (status == SLEY_OK) {
    sl_alltoall_pack(&trade, comm->size);
    status = sl_alltoall_run(comm, &trade, send, recv);
  }
  sl_alltoall_free(&trade);
  return status;
}

sley_status sl_entries_to_rows(sl_comm *comm, sl_coo *coo, sl_symmetry symmetry, sl_repeats repeats,
                               const int64_t *begin, sley_matrix **out) {
  enum { WORTH_A_CHUNK = 1 << 16 };
  int size = comm->size;
  int64_t chunks = coo->count / WORTH_A_CHUNK + 1, *counts = NULL;
  grouping g = {.coo = coo, .begin = begin, .ranks = size, .mirror = symmetry != SL_GENERAL};
  g.sign = symmetry == SL_SKEW ? -1.0 : 1.0;
  g.chunks = (int)(chunks < sl_team_size(comm->team) ? chunks : sl_team_size(comm->team));
  sl_coo taken = {0};
  *out = NULL;
  sley_status status = SL_NEW(counts, 2 * (int64_t)size, "entries by owner");
  if (status == SLEY_OK)
    status = group(&g, coo, comm->team, counts);
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  SL_TRY_GOTO(status, trade_counts(comm, counts, counts + size), done);
  SL_TRY_GOTO(status, send_groups(comm, &g.grouped, counts, counts + size, &taken), done);
  taken.rows = begin[comm->rank + 1] - begin[comm->rank];
  for (int64_t e = 0; e < taken.count; e++)
    sl_index_set(taken.row, taken.index, e, sl_index_at(taken.row, taken.index, e) - begin[comm->rank]);
  status = sl_agree(comm, sl_coo_to_csr(&taken, SL_GENERAL, repeats, comm->team, out));
  if (status != SLEY_OK) {
    sl_matrix_destroy(*out);
    *out = NULL;
  }
done:
  sl_coo_free(&taken);
  sl_coo_free(&g.grouped);
  sl_coo_free(coo);
  sl_free(counts);
  return status;
}
