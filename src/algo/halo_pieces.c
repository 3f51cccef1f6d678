/* SPDX-License-Identifier: Apache-2.0 */
/* Divides a halo into pieces that arrive in the order in which the rows of the block need them, or finds that
 * the rank's own columns should be summed first. */
#include "algo/halo_pieces.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/overrides.h"
#include "machine/machine.h"
#include "plan/resident.h"

/* Rate of sums of well-ordered matrices as a share of the machine's SpMM bandwidth, including loads of X and
 * stores of Y. The estimate is high on purpose: waiting for a piece costs more than summing some rows apart
 * from their neighbours. */
static const double fast = 0.82;

/* If bringing the halo takes less than this share of the time to sum the block, a slower pull still ends in
 * time. On four H200 products were 2 to 3 % faster with a slow pull below this share, and slower above it. */
static const double unhurried_part = 0.97;

/* GRAIN: rows. LONG: a row that has this many times as many entries as an average row is long. */
enum { GRAIN = 4096, LONG = 16 };

static double seconds_to_bring(const sl_inspection *ins, int64_t rows) {
  return (double)rows * (double)ins->wishes->row_bytes /
         sl_machine_of(ins->comm->device)->link[SL_LINK_DIRECT].bandwidth;
}

static double seconds_to_sum(const sl_inspection *ins, int64_t entries) {
  return (double)entries * (double)ins->wishes->row_bytes /
         (fast * sl_machine_of(ins->comm->device)->spmm_bandwidth);
}

static bool is_unhurried(const sl_inspection *ins) {
  return seconds_to_bring(ins, ins->halo_set.count) < unhurried_part * seconds_to_sum(ins, ins->block->nnz);
}

static int count_pieces(const sl_inspection *ins) {
  double bytes = (double)ins->halo_set.count * (double)ins->wishes->row_bytes;
  double pieces = sl_overrides.piece_bytes > 0
                      ? bytes / (double)sl_overrides.piece_bytes
                      : seconds_to_bring(ins, ins->halo_set.count) / ins->comm->device->figures.piece;
  return pieces >= SL_PIECES_MOST ? SL_PIECES_MOST : pieces > 0 ? 1 + (int)pieces : 1;
}

/* Marks the rows of one piece that need the halo, and the halo entries that they need. A piece is a range of
 * neighbouring rows, although its halo may then come over some links more than over others. Strips of rows
 * from the whole block would use the links more evenly, but each piece's product would then read all of X,
 * and the whole took a quarter longer. */
typedef struct marking {
  const sl_inspection *ins;
  int64_t first_row;
  int32_t piece;
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
      __atomic_store_n(&m->ins->needs->piece[sl_colset_place(&m->ins->halo_set, col)], m->piece,
                       __ATOMIC_RELAXED);
    }
    m->ins->needs->row[row] = needs;
  }
  return SLEY_OK;
}

/* Marks the last piece first, so that each halo entry ends with the first piece that needs it. */
static sley_status mark_all(const sl_inspection *ins, int pieces) {
  const sley_matrix *block = ins->block;
  if (ins->resident) {
    int64_t first[SL_PIECES_MOST];
    for (int i = 0; i < pieces; i++)
      first[i] = sl_csr_split(block->rows, block->rowptr, i, pieces);
    return sl_resident_needs(ins, pieces, first, ins->needs->row, ins->needs->piece);
  }
  for (int i = pieces - 1; i >= 0; i--) {
    int64_t first = sl_csr_split(block->rows, block->rowptr, i, pieces);
    int64_t end = sl_csr_split(block->rows, block->rowptr, i + 1, pieces);
    marking m = {ins, first, i};
    SL_TRY(sl_team_for(sl_plan_team(ins), end - first, GRAIN, mark, &m));
  }
  return SLEY_OK;
}

/* Sets ins->needs for this number of pieces. */
static sley_status find_needs(const sl_inspection *ins, int pieces) {
  sl_needs *needs = ins->needs;
  if (needs->pieces == pieces)
    return SLEY_OK;
  needs->pieces = 0;
  if (!needs->row)
    SL_TRY(SL_NEW(needs->row, ins->block->rows, "pieces of the halo"));
  if (!needs->piece)
    SL_TRY(SL_NEW(needs->piece, ins->halo_set.count, "pieces of the halo"));
  SL_TRY(mark_all(ins, pieces));
  needs->pieces = pieces;
  return SLEY_OK;
}

/* The rows that need the halo, the entries of those that do not, and the entries of the longest row. */
typedef struct rows_counted {
  const sl_inspection *ins;
  _Atomic int64_t far_rows, early_entries, longest;
} rows_counted;

static sley_status count_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  rows_counted *c = context;
  const int64_t *rowptr = c->ins->block->rowptr;
  int64_t rows = 0, entries = 0, longest = 0;
  for (int64_t row = begin; row < end; row++) {
    rows += c->ins->needs->row[row];
    entries += c->ins->needs->row[row] ? 0 : rowptr[row + 1] - rowptr[row];
    longest = rowptr[row + 1] - rowptr[row] > longest ? rowptr[row + 1] - rowptr[row] : longest;
  }
  c->far_rows += rows;
  c->early_entries += entries;
  for (int64_t most = c->longest; longest > most;)
    if (atomic_compare_exchange_weak(&c->longest, &most, longest))
      break;
  return SLEY_OK;
}

/* Entries to sum first, so that no later sum is expected to wait for a piece. If a test sets the size of a
 * piece, the number is that size. */
static double head_start(const sl_inspection *ins, const sl_halo_pieces *p) {
  double most = 0, share = seconds_to_sum(ins, ins->block->nnz) / p->count;
  if (sl_overrides.piece_bytes > 0)
    return (double)ins->block->nnz / p->count;
  for (int i = 0; i < p->count; i++) {
    int64_t rows = 0; /* rows of pieces 0 to i */
    for (int r = 0; r < ins->comm->size; r++)
      rows += p->end[(int64_t)r * p->count + i];
    double late = seconds_to_bring(ins, rows) - i * share;
    most = late > most ? late : most;
  }
  return (most + ins->comm->device->figures.pull_start) / seconds_to_sum(ins, 1);
}

/* Returns whether the product is expected to end sooner if the own columns are summed first: the halo then
 * has the time of all their entries to arrive, but rows that need it pass through Y once more. In pieces,
 * wanted entries would have to be summed first, and only rows that need no halo can be. Never where some rows
 * are much longer than others: on two H200, uniform graphs took 0.62 to 0.82 of the time in pieces (k of 20
 * to 117), R-MAT graphs 1.0 to 1.2 times that time, because both parts then have rows that many groups share.
 */
static bool own_first(const sl_inspection *ins, const rows_counted *counted, double wanted) {
  const sl_device_figures *figures = &ins->comm->device->figures;
  const int64_t nnz = ins->block->nnz, remote = ins->remote_nnz;
  if (sl_overrides.own_first || sl_overrides.piece_bytes > 0 || ins->wishes->reproducible)
    return sl_overrides.own_first && !ins->wishes->reproducible;
  if (counted->longest > LONG * (nnz / (ins->block->rows > 0 ? ins->block->rows : 1) + 1))
    return false;
  const double late = wanted - (double)counted->early_entries, waits = late > 0 ? late : 0;
  const double in_pieces = seconds_to_sum(ins, nnz) + waits * seconds_to_sum(ins, 1);
  const double again = 2 * (double)ins->wishes->row_bytes / figures->memory + figures->split_row;
  return fmax(seconds_to_sum(ins, nnz - remote), seconds_to_bring(ins, ins->halo_set.count)) +
             seconds_to_sum(ins, remote) + (double)counted->far_rows * again + figures->launch <
         in_pieces;
}

/* Marks the rows before `from` as rows that are not summed first, and counts all such rows. */
typedef struct keeping {
  int32_t *row_part;
  int64_t first, from;
  _Atomic int64_t kept;
} keeping;

static sley_status keep(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  keeping *k = context;
  int64_t kept = 0;
  for (int64_t row = k->first + begin; row < k->first + end; row++) {
    if (row < k->from)
      k->row_part[row] = 1;
    kept += k->row_part[row];
  }
  k->kept += kept;
  return SLEY_OK;
}

/* Chooses the rows that are summed first: the last rows of the block that need no halo, of which there are
 * early entries. All other rows follow in order, so that neighbouring rows are summed together and share rows
 * of X in the caches. */
static sley_status choose_early(const sl_inspection *ins, sl_halo_pieces *p, double wanted, int64_t early) {
  const sley_matrix *block = ins->block;
  keeping k = {.row_part = p->row_part, .from = wanted < (double)early ? block->rows : 0};
  for (; k.from > 0 && wanted > 0; k.from--)
    if (p->row_part[k.from - 1] == 0)
      wanted -= (double)(block->rowptr[k.from] - block->rowptr[k.from - 1]);
  for (int i = 0; i < p->count; i++) {
    int64_t end = sl_csr_split(block->rows, block->rowptr, i + 1, p->count);
    SL_TRY(sl_team_for(sl_plan_team(ins), end - k.first, GRAIN, keep, &k));
    p->rows[i] = k.kept;
    k.first = end;
  }
  return SLEY_OK;
}

/* Sorts the entries of each peer by piece; entries of a piece keep their order. Each thread takes a range of
 * the entries of all peers. */
typedef struct sorting {
  int peers;
  const int64_t *begin; /* first entry of each peer, and the end */
  const int32_t *piece;
  int64_t *at; /* for each thread, peer and piece: number of entries, then position of the next entry */
  /* If place is set, place[e] receives the position of entry e; otherwise moved receives from[e] at that
   * position. */
  int64_t *place, *moved;
  const int64_t *from;
} sorting;

static int64_t *counts_of(const sorting *s, int thread, int peer) {
  return s->at + ((int64_t)thread * s->peers + peer) * SL_PIECES_MOST;
}

/* Finds the range of a peer's entries that a thread takes. */
static void take_run(const sorting *s, int peer, int thread, int threads, int64_t *first, int64_t *end) {
  int64_t all = s->begin[s->peers], from = all * thread / threads, to = all * (thread + 1) / threads;
  *first = from > s->begin[peer] ? from : s->begin[peer];
  *end = to < s->begin[peer + 1] ? to : s->begin[peer + 1];
}

static sley_status count_entries(void *context, int thread, int threads) {
  const sorting *s = context;
  for (int p = 0; p < s->peers; p++) {
    int64_t counts[SL_PIECES_MOST] = {0}, e, end;
    for (take_run(s, p, thread, threads, &e, &end); e < end; e++) {
      if ((uint32_t)s->piece[e] >= SL_PIECES_MOST) /* a peer may have sent any number */
        return sl_fail(SLEY_ERR_INTERNAL,
                       "rank %d has requested a row for piece %d, but there are at most %d pieces", p,
                       s->piece[e], SL_PIECES_MOST);
      counts[s->piece[e]]++;
    }
    memcpy(counts_of(s, thread, p), counts, sizeof counts);
  }
  return SLEY_OK;
}

static sley_status place_entries(void *context, int thread, int threads) {
  const sorting *s = context;
  for (int p = 0; p < s->peers; p++) {
    int64_t at[SL_PIECES_MOST], e, end;
    memcpy(at, counts_of(s, thread, p), sizeof at);
    for (take_run(s, p, thread, threads, &e, &end); e < end; e++) {
      int64_t to = at[s->piece[e]]++;
      if (s->place)
        s->place[e] = to;
      else
        s->moved[to] = s->from[e];
    }
  }
  return SLEY_OK;
}

/* Sorts the entries. ends: NULL, or receives the end of each of `pieces` pieces of each peer, counted from
 * the peer's first entry. */
static sley_status sort_by_piece(sl_team *team, sorting *s, int pieces, int64_t *ends) {
  enum { FEW = 1 << 14 };
  int64_t all = s->begin[s->peers], sum = 0;
  sl_team *some = all < FEW ? NULL : team;
  int threads = sl_team_size(some);
  SL_TRY(SL_NEW(s->at, (int64_t)threads * s->peers * SL_PIECES_MOST, "pieces of the halo"));
  sley_status status = sl_team_run(some, count_entries, s);
  for (int64_t i = 0; i < (int64_t)s->peers * pieces; i++) {
    int peer = (int)(i / pieces);
    for (int t = 0; t < threads; t++) {
      int64_t *at = counts_of(s, t, peer) + i % pieces, entries = *at;
      *at = sum;
      sum += entries;
    }
    if (ends)
      ends[i] = sum - s->begin[peer];
  }
  if (status == SLEY_OK)
    status = sl_team_run(some, place_entries, s);
  sl_free(s->at);
  return status;
}

/* Allocates the lists that stay with the plan. */
static sley_status take_lists(const sl_inspection *ins, sl_plan *plan, sl_halo_pieces *out) {
  int size = ins->comm->size;
  out->rows = sl_plan_alloc(plan, out->count, sizeof *out->rows);
  out->end = sl_plan_alloc(plan, (int64_t)size * out->count, sizeof *out->end);
  out->wanted = sl_plan_alloc(plan, ins->halo->wanted_begin[size], sizeof *out->wanted);
  return out->rows && out->end && out->wanted ? SLEY_OK : SLEY_ERR_MEMORY;
}

static sley_status sort_halo(const sl_inspection *ins, sl_plan *plan, sl_halo_pieces *out) {
  const int64_t rows = ins->block->rows;
  rows_counted counted = {.ins = ins};
  SL_TRY(SL_NEW(out->row_part, rows, "pieces of the halo"));
  SL_TRY(SL_NEW(out->place, ins->halo_set.count, "pieces of the halo"));
  SL_TRY(take_lists(ins, plan, out));
  SL_TRY(find_needs(ins, out->count));
  sorting s = {
      .peers = ins->comm->size, .begin = ins->halo->begin, .piece = ins->needs->piece, .place = out->place};
  SL_TRY(sort_by_piece(sl_plan_team(ins), &s, out->count, out->end));
  SL_TRY(sl_team_for(sl_plan_team(ins), rows, GRAIN, count_rows, &counted));
  const double wanted = head_start(ins, out);
  out->own_first = own_first(ins, &counted, wanted);
  if (out->own_first)
    return SLEY_OK;
  memcpy(out->row_part, ins->needs->row, (size_t)rows * sizeof *out->row_part);
  return choose_early(ins, out, wanted, counted.early_entries);
}

/* Sorts the rows that peers want, on the owner's side, by the pieces that the peers have sent. */
static sley_status sort_wanted(const sl_inspection *ins, const int32_t *pieces, sl_halo_pieces *out) {
  sorting s = {.peers = ins->comm->size,
               .begin = ins->halo->wanted_begin,
               .piece = pieces,
               .moved = out->wanted,
               .from = ins->halo->wanted};
  return sort_by_piece(sl_plan_team(ins), &s, SL_PIECES_MOST, NULL);
}

sley_status sl_halo_pieces_make(const sl_inspection *ins, sl_plan *plan, sl_halo_pieces *out) {
  sl_comm *comm = ins->comm;
  int64_t *counts = NULL;
  void *wanted = NULL;
  *out = (sl_halo_pieces){.count = count_pieces(ins), .unhurried = is_unhurried(ins)};
  sley_status status = sort_halo(ins, plan, out);
  if (plan->dry) {
    sl_free(out->row_part);
    sl_free(out->place);
    out->row_part = NULL;
    out->place = NULL;
    return sl_agree(comm, status);
  }
  if (status == SLEY_OK)
    status = SL_NEW(counts, 2 * (int64_t)comm->size, "pieces of the halo");
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  for (int p = 0; p < comm->size; p++)
    counts[p] = ins->halo->begin[p + 1] - ins->halo->begin[p];
  SL_TRY_GOTO(
      status,
      sl_exchange_items(comm, sizeof(int32_t), ins->needs->piece, counts, &wanted, counts + comm->size),
      done);
  status = sl_agree(comm, sort_wanted(ins, wanted, out));
done:
  sl_free(wanted);
  sl_free(counts);
  return status;
}

void sl_halo_pieces_free(sl_halo_pieces *pieces) {
  sl_free(pieces->row_part);
  sl_free(pieces->place);
  *pieces = (sl_halo_pieces){0};
}
