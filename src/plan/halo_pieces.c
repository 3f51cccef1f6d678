/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/halo_pieces.h"

#include <stdlib.h>

#include "base/memory.h"
#include "plan/machine.h"

/* A piece takes at least so many seconds: long beside what waiting for it costs. */
static const double piece_seconds = 25e-6;

/* Entries of rows without remote ones; whole rows of the block by one thread. */
typedef struct inner_entries {
  const sl_inspection *ins;
  int64_t count;
} inner_entries;

static sley_status add_inner(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  inner_entries *inner = context;
  const sley_matrix *block = inner->ins->block;
  int64_t count = 0;
  for (int64_t row = begin; row < end; row++) {
    int64_t e = block->rowptr[row];
    while (e < block->rowptr[row + 1] && !sl_is_remote(inner->ins, sl_index_at(block->col, block->index, e)))
      e++;
    if (e == block->rowptr[row + 1])
      count += e - block->rowptr[row];
  }
  __atomic_fetch_add(&inner->count, count, __ATOMIC_RELAXED);
  return SLEY_OK;
}

enum { GRAIN = 4096 };

/* Inner rows are the ones with the best locality: how much faster they are summed than others. */
static const double inner_speed = 1.5;

/* As many as fit into the time for which rows are still on their way after the inner rows have been summed,
 * and one more; SLEY_HALO_PIECE: bytes of each, from the environment. */
static sley_status count_pieces(const sl_inspection *ins, int *count) {
  const sl_machine *machine = sl_machine_of(ins->comm->device);
  const char *given = getenv("SLEY_HALO_PIECE");
  double bytes = (double)ins->halo_set.count * (double)ins->row_bytes, pieces;
  if (given && strtod(given, NULL) > 0) {
    pieces = bytes / strtod(given, NULL);
  } else {
    inner_entries inner = {ins, 0};
    SL_TRY(sl_team_for(sl_plan_team(ins), ins->block->rows, GRAIN, add_inner, &inner));
    pieces = (bytes / machine->link[SL_LINK_DIRECT].bandwidth -
              (double)inner.count * (double)ins->row_bytes / (inner_speed * machine->spmm_bandwidth)) /
             piece_seconds;
  }
  *count = pieces >= SL_HALO_PIECES_MOST ? SL_HALO_PIECES_MOST : pieces > 0 ? 1 + (int)pieces : 1;
  return SLEY_OK;
}

/* Of the rows of one piece: which need the halo, and what of it. Pieces are of neighbouring rows, though
 * their halo then comes over some links more than others: strips of rows from all over the block fill the
 * links better, but each piece's product then goes through all of X, and the whole took a quarter longer. */
typedef struct marking {
  const sl_inspection *ins;
  int64_t first_row;
  int32_t piece;
  int32_t *row_part;
  int32_t *pieces; /* of each halo entry */
} marking;

static sley_status mark(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const marking *m = context;
  const sley_matrix *block = m->ins->block;
  for (int64_t row = m->first_row + begin; row < m->first_row + end; row++) {
    bool needs = false;
    for (int64_t e = block->rowptr[row]; e < block->rowptr[row + 1]; e++) {
      int64_t col = sl_index_at(block->col, block->index, e);
      if (!sl_is_remote(m->ins, col))
        continue;
      needs = true;
      __atomic_store_n(&m->pieces[sl_colset_place(&m->ins->halo_set, col)], m->piece, __ATOMIC_RELAXED);
    }
    m->row_part[row] = needs ? 1 + m->piece : 0;
  }
  return SLEY_OK;
}

/* The last pieces first, so that each entry is left with the first that needs it. */
static sley_status mark_all(const sl_inspection *ins, const sl_halo_pieces *p, int32_t *pieces) {
  const sley_matrix *block = ins->block;
  for (int i = p->count - 1; i >= 0; i--) {
    int64_t first = sl_csr_split(block->rows, block->rowptr, i, p->count);
    int64_t end = sl_csr_split(block->rows, block->rowptr, i + 1, p->count);
    marking m = {ins, first, i, p->row_part, pieces};
    SL_TRY(sl_team_for(sl_plan_team(ins), end - first, GRAIN, mark, &m));
  }
  return SLEY_OK;
}

/* Places of count entries in the order of their pieces, and where each piece ends. */
static void sort_by_piece(int64_t count, const int32_t *piece, int pieces, int64_t *place, int64_t *end) {
  int64_t at[SL_HALO_PIECES_MOST + 1] = {0};
  for (int64_t e = 0; e < count; e++)
    at[piece[e] + 1]++;
  for (int i = 0; i < pieces; i++) {
    at[i + 1] += at[i];
    end[i] = at[i + 1];
  }
  for (int64_t e = 0; e < count; e++)
    place[e] = at[piece[e]]++;
}

static sley_status sort_halo(const sl_inspection *ins, sl_plan *plan, int32_t *pieces, sl_halo_pieces *out) {
  int size = ins->comm->size;
  SL_TRY(SL_NEW(out->row_part, ins->block->rows, "pieces of the halo"));
  SL_TRY(SL_NEW(out->place, ins->halo_set.count, "pieces of the halo"));
  out->end = sl_plan_alloc(plan, (int64_t)size * out->count, sizeof *out->end);
  out->wanted = sl_plan_alloc(plan, ins->wanted_begin[size], sizeof *out->wanted);
  if (!out->end || !out->wanted)
    return SLEY_ERR_MEMORY;
  SL_TRY(mark_all(ins, out, pieces));
  for (int p = 0; p < size; p++) {
    int64_t first = ins->halo_begin[p], count = ins->halo_begin[p + 1] - first;
    sort_by_piece(count, pieces + first, out->count, out->place + first, out->end + (int64_t)p * out->count);
    for (int64_t h = first; h < first + count; h++)
      out->place[h] += first;
  }
  return SLEY_OK;
}

/* The owners' side, given the pieces of what is wanted. */
static sley_status sort_wanted(const sl_inspection *ins, const int32_t *pieces, sl_halo_pieces *out) {
  int64_t *place, end[SL_HALO_PIECES_MOST];
  SL_TRY(SL_NEW(place, ins->wanted_begin[ins->comm->size], "pieces of the halo"));
  for (int p = 0; p < ins->comm->size; p++) {
    int64_t first = ins->wanted_begin[p], count = ins->wanted_begin[p + 1] - first;
    sort_by_piece(count, pieces + first, SL_HALO_PIECES_MOST, place + first, end);
    for (int64_t e = first; e < first + count; e++)
      out->wanted[first + place[e]] = ins->wanted[e];
  }
  sl_free(place);
  return SLEY_OK;
}

sley_status sl_halo_pieces_make(const sl_inspection *ins, sl_plan *plan, sl_halo_pieces *out) {
  sl_comm *comm = ins->comm;
  int32_t *pieces = NULL;
  int64_t *counts = NULL;
  void *wanted = NULL;
  *out = (sl_halo_pieces){0};
  sley_status status = count_pieces(ins, &out->count);
  if (status == SLEY_OK)
    status = SL_NEW(counts, 2 * (int64_t)comm->size, "pieces of the halo");
  if (status == SLEY_OK)
    status = SL_NEW(pieces, ins->halo_set.count, "pieces of the halo");
  if (status == SLEY_OK)
    status = sort_halo(ins, plan, pieces, out);
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  for (int p = 0; p < comm->size; p++)
    counts[p] = ins->halo_begin[p + 1] - ins->halo_begin[p];
  SL_TRY_GOTO(status, sl_exchange_items(comm, sizeof *pieces, pieces, counts, &wanted, counts + comm->size),
              done);
  status = sl_agree(comm, sort_wanted(ins, wanted, out));
done:
  sl_free(wanted);
  sl_free(counts);
  sl_free(pieces);
  return status;
}

void sl_halo_pieces_free(sl_halo_pieces *pieces) {
  sl_free(pieces->row_part);
  sl_free(pieces->place);
  *pieces = (sl_halo_pieces){0};
}
