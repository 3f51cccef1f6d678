/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/halo_pieces.h"

#include <stdlib.h>

#include "base/memory.h"

/* A piece of this size takes an H200 about 0.15 ms: long beside what starting a transfer costs. */
static const int64_t piece_bytes = 48 << 20;

sley_status sl_halo_pieces_count(const sl_inspection *ins, int *count) {
  const char *given = getenv("SLEY_HALO_PIECE");
  int64_t each = given ? strtoll(given, NULL, 10) : 0, most = 0;
  if (__builtin_mul_overflow(ins->halo_set.count, ins->row_bytes, &most))
    most = INT64_MAX;
  most /= each > 0 ? each : piece_bytes;
  SL_TRY(ins->comm->ops->allreduce(ins->comm, SL_MAX, &most, 1));
  *count = most >= SL_HALO_PIECES_MOST ? SL_HALO_PIECES_MOST : 1 + (int)most;
  return SLEY_OK;
}

/* Marks the halo entries that rows of one piece need. */
typedef struct marking {
  const sl_inspection *ins;
  int64_t first_row;
  int32_t piece;
  int32_t *pieces; /* of each halo entry */
} marking;

static sley_status mark(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const marking *m = context;
  const sley_matrix *block = m->ins->block;
  for (int64_t e = block->rowptr[m->first_row + begin]; e < block->rowptr[m->first_row + end]; e++) {
    int64_t col = sl_index_at(block->col, block->index, e);
    if (sl_is_remote(m->ins, col))
      __atomic_store_n(&m->pieces[sl_colset_place(&m->ins->halo_set, col)], m->piece, __ATOMIC_RELAXED);
  }
  return SLEY_OK;
}

enum { GRAIN = 4096 };

/* The last pieces first, so that each entry is left with the first that needs it. */
static sley_status mark_all(const sl_inspection *ins, const sl_halo_pieces *p, int32_t *pieces) {
  for (int i = p->count - 1; i >= 0; i--) {
    marking m = {.ins = ins, .first_row = p->row[i], .piece = i, .pieces = pieces};
    SL_TRY(sl_team_for(sl_plan_team(ins), p->row[i + 1] - p->row[i], GRAIN, mark, &m));
  }
  return SLEY_OK;
}

/* Counts how many entries of each rank's list are of each piece, and turns that into where they begin. */
static void lay_out(int size, int pieces, const int64_t *begin, const int32_t *piece, int64_t *at) {
  for (int i = 0; i <= pieces * size; i++)
    at[i] = 0;
  for (int p = 0; p < size; p++)
    for (int64_t e = begin[p]; e < begin[p + 1]; e++)
      at[piece[e] * size + p + 1]++;
  for (int i = 0; i < pieces * size; i++)
    at[i + 1] += at[i];
}

/* As lay_out laid them: a place for each entry. at is left as it was. */
static void give_places(int size, int pieces, const int64_t *begin, const int32_t *piece, int64_t *at,
                        int64_t *place) {
  for (int p = 0; p < size; p++)
    for (int64_t e = begin[p]; e < begin[p + 1]; e++)
      place[e] = at[piece[e] * size + p]++;
  for (int i = pieces * size; i > 0; i--)
    at[i] = at[i - 1];
  at[0] = 0;
}

static sley_status take_memory(const sl_inspection *ins, sl_plan *plan, sl_halo_pieces *out,
                               int32_t **pieces) {
  int size = ins->comm->size;
  SL_TRY(SL_NEW(*pieces, ins->halo_set.count, "pieces of the halo"));
  SL_TRY(SL_NEW(out->row, out->count + 1, "pieces of the halo"));
  SL_TRY(SL_NEW(out->place, ins->halo_set.count, "pieces of the halo"));
  SL_TRY(SL_NEW(out->recv_at, (int64_t)out->count * size + 1, "pieces of the halo"));
  SL_TRY(SL_NEW(out->wanted_at, (int64_t)out->count * size + 1, "pieces of the halo"));
  out->wanted = sl_plan_alloc(plan, ins->wanted_begin[size], sizeof *out->wanted);
  return out->wanted ? SLEY_OK : SLEY_ERR_MEMORY;
}

static sley_status sort_halo(const sl_inspection *ins, sl_plan *plan, sl_halo_pieces *out, int32_t **pieces) {
  const sley_matrix *block = ins->block;
  SL_TRY(take_memory(ins, plan, out, pieces));
  for (int i = 0; i <= out->count; i++)
    out->row[i] = sl_csr_split(block->rows, block->rowptr, i, out->count);
  SL_TRY(mark_all(ins, out, *pieces));
  lay_out(ins->comm->size, out->count, ins->halo_begin, *pieces, out->recv_at);
  give_places(ins->comm->size, out->count, ins->halo_begin, *pieces, out->recv_at, out->place);
  return SLEY_OK;
}

/* The owners' side: theirs is asked for in the same order as it was when the halo was told. */
static sley_status sort_wanted(const sl_inspection *ins, const int32_t *wanted_pieces, sl_halo_pieces *out) {
  int size = ins->comm->size;
  int64_t *place;
  SL_TRY(SL_NEW(place, ins->wanted_begin[size], "pieces of the halo"));
  lay_out(size, out->count, ins->wanted_begin, wanted_pieces, out->wanted_at);
  give_places(size, out->count, ins->wanted_begin, wanted_pieces, out->wanted_at, place);
  for (int64_t e = 0; e < ins->wanted_begin[size]; e++)
    out->wanted[place[e]] = ins->wanted[e];
  sl_free(place);
  return SLEY_OK;
}

sley_status sl_halo_pieces_make(const sl_inspection *ins, sl_plan *plan, int count, sl_halo_pieces *out) {
  sl_comm *comm = ins->comm;
  int32_t *pieces = NULL;
  int64_t *counts = NULL;
  void *wanted_pieces = NULL;
  *out = (sl_halo_pieces){.count = count};
  sley_status status = SL_NEW(counts, 2 * (int64_t)comm->size, "pieces of the halo");
  if (status == SLEY_OK)
    status = sort_halo(ins, plan, out, &pieces);
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  for (int p = 0; p < comm->size; p++)
    counts[p] = ins->halo_begin[p + 1] - ins->halo_begin[p];
  SL_TRY_GOTO(status,
              sl_exchange_items(comm, sizeof *pieces, pieces, counts, &wanted_pieces, counts + comm->size),
              done);
  status = sl_agree(comm, sort_wanted(ins, wanted_pieces, out));
done:
  sl_free(wanted_pieces);
  sl_free(counts);
  sl_free(pieces);
  return status;
}

void sl_halo_pieces_free(sl_halo_pieces *pieces) {
  sl_free(pieces->row);
  sl_free(pieces->place);
  sl_free(pieces->recv_at);
  sl_free(pieces->wanted_at);
  *pieces = (sl_halo_pieces){0};
}
