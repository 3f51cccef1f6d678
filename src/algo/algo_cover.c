/* SPDX-License-Identifier: Apache-2.0 */
/* cover: as halo-pipelined (in one workgroup of devices that load rows over direct links: as halo), but each
 * remote block moves the fewest rows of X and partial rows of Y that cover its entries. An entry whose column
 * is outside the cover is sent to the column's owner when the plan is made. The owner multiplies it, partial
 * rows are summed inside the owner's workgroup (collected), and the sums are sent to the owners of the rows,
 * which add them. Fewest means least bytes: partial rows hold sums, which for dtypes of 16 bits are twice as
 * wide as values. Source: SHIRO (arXiv 2512.20178).
 *
 * Column order (reproducible) does not allow partial sums; every column is then taken as a row of X. */
#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "matrix/matrix.h"
#include "partition/partition.h"
#include "algo/algorithm.h"
#include "algo/cover_choice.h"
#include "algo/cover_rest.h"
#include "algo/fusion.h"
#include "algo/passes.h"
#include "plan/parts.h"
#include "algo/stages.h"

/* Lists of rows of Y, by their global numbers. All lists ascend, so they are grouped by the rows' owners. */
typedef struct partials {
  const sl_inspection *ins;
  int group;
  int64_t *lent; /* rows of this rank for which other ranks compute partial sums, grouped by the computing
                    rank */
  int64_t *lent_begin;
  int64_t *computed; /* rows for which this rank computes partial sums for others, by owner */
  int64_t *computed_begin;
  int64_t *sent; /* computed rows that another member of the workgroup collects, by member */
  int64_t *sent_begin;
  int64_t *received; /* rows that this rank collects for members, by member */
  int64_t *received_begin;
  int64_t *collected; /* union of received: rows that this rank sends to other workgroups, by owner */
  int64_t *collected_begin;
  int64_t *gained; /* rows of this rank that come from collectors of other workgroups, by collector */
  int64_t *gained_begin;
  sl_colset collected_set;
} partials;

static void partials_free(partials *s) {
  int64_t *arrays[] = {s->lent,      s->lent_begin,      s->computed, s->computed_begin,
                       s->sent,      s->sent_begin,      s->received, s->received_begin,
                       s->collected, s->collected_begin, s->gained,   s->gained_begin};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    sl_free(arrays[i]);
  sl_colset_free(&s->collected_set);
}

/* Returns the rank that computes an entry that no row of X serves: the owner of its column. Returns -1 for
   other entries. */
static int computes(const void *context, int64_t row, int64_t col) {
  (void)row;
  const sl_inspection *ins = context;
  if (!sl_is_remote(ins, col))
    return -1;
  int64_t h = sl_colset_place(&ins->halo_set, col);
  return ins->cover_use[h] ? -1 : sl_partition_owner(ins->col_begin, ins->comm->size, col);
}

/* State of the threads that list the rows that other ranks compute; each thread has a share of the block's
   rows. */
typedef struct lending {
  partials *s;
  bool stores;   /* true in the second pass */
  int64_t *at;   /* for each thread and rank: number of rows, then position of the next row */
  int64_t *last; /* for each thread and rank: the last row seen */
} lending;

static sley_status lend_rows(void *context, int thread, int threads) {
  const lending *l = context;
  const sl_inspection *ins = l->s->ins;
  const sley_matrix *block = ins->block;
  const int ranks = ins->comm->size;
  int64_t *at = l->at + (int64_t)thread * ranks, *last = l->last + (int64_t)thread * ranks;
  const int64_t row_first = ins->row_begin[ins->comm->rank],
                first = sl_csr_split(block->rows, block->rowptr, thread, threads),
                end = sl_csr_split(block->rows, block->rowptr, thread + 1, threads);
  for (int p = 0; p < ranks; p++)
    last[p] = -1;
  for (int64_t row = first; row < end; row++)
    for (int64_t e = block->rowptr[row]; e < block->rowptr[row + 1]; e++) {
      int p = computes(ins, row, sl_index_at(block->col, block->index, e));
      if (p < 0 || last[p] == row)
        continue;
      last[p] = row;
      if (l->stores)
        l->s->lent[at[p]] = row_first + row;
      at[p]++;
    }
  return SLEY_OK;
}

/* Converts each thread's counts to first positions. count[p]: rows of all threads for rank p. */
static void place_lent(const lending *l, int ranks, int threads, int64_t *count) {
  int64_t sum = 0;
  for (int p = 0; p < ranks; p++) {
    int64_t first = sum;
    for (int t = 0; t < threads; t++) {
      int64_t *at = &l->at[(int64_t)t * ranks + p], rows = *at;
      *at = sum;
      sum += rows;
    }
    count[p] = sum - first;
  }
}

/* Lists, for each rank, the distinct rows with entries that it computes. */
static sley_status list_lent(partials *s, int64_t *count) {
  sl_team *team = sl_plan_team(s->ins);
  const int ranks = s->ins->comm->size, threads = sl_team_size(team);
  lending l = {.s = s};
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW_ZERO(l.at, (int64_t)threads * ranks, "rank counts"), done);
  SL_TRY_GOTO(status, SL_NEW(l.last, (int64_t)threads * ranks, "rank counts"), done);
  SL_TRY_GOTO(status, sl_team_run(team, lend_rows, &l), done);
  place_lent(&l, ranks, threads, count);
  SL_TRY_GOTO(status, sl_starts(count, ranks, &s->lent_begin), done);
  SL_TRY_GOTO(status, SL_NEW(s->lent, s->lent_begin[ranks], "partial rows"), done);
  l.stores = true;
  status = sl_team_run(team, lend_rows, &l);
done:
  sl_free(l.last);
  sl_free(l.at);
  return status;
}

/* Groups the computed rows of other workgroups by the member that collects them, which may be this rank. */
static sley_status list_sent(partials *s, const int64_t *computed_count, int64_t *count) {
  const sl_comm *comm = s->ins->comm;
  SL_TRY(sl_starts(computed_count, comm->size, &s->computed_begin));
  SL_TRY(SL_NEW(s->sent, s->computed_begin[comm->size], "partial rows"));
  memset(count, 0, (size_t)comm->size * sizeof *count);
  int64_t at = 0;
  int first = sl_workgroup_first(comm, s->group), end = first + sl_workgroup_size(comm, s->group);
  for (int q = first; q < end && sl_workgroups(comm) > 1; q++)
    for (int p = 0; p < comm->size; p++) {
      if (sl_workgroup_of(comm, p) == s->group || sl_relay_of(comm, s->group, p) != q)
        continue;
      for (int64_t i = s->computed_begin[p]; i < s->computed_begin[p + 1]; i++)
        s->sent[at++] = s->computed[i];
      count[q] += s->computed_begin[p + 1] - s->computed_begin[p];
    }
  return sl_starts(count, comm->size, &s->sent_begin);
}

/* Unites the rows that members have sent. count[p]: rows of the union that p owns. */
static sley_status list_collected(partials *s, const int64_t *received_count, int64_t *count) {
  const sl_inspection *ins = s->ins;
  int ranks = ins->comm->size;
  SL_TRY(sl_starts(received_count, ranks, &s->received_begin));
  SL_TRY(sl_distinct(s->received, s->received_begin[ranks], ins->row_begin[ranks], sl_plan_team(ins),
                     &s->collected_set, &s->collected));
  memset(count, 0, (size_t)ranks * sizeof *count);
  for (int64_t i = 0; i < s->collected_set.count; i++)
    count[sl_partition_owner(ins->row_begin, ranks, s->collected[i])]++;
  return sl_starts(count, ranks, &s->collected_begin);
}

/* Finds who computes, collects and receives which partial rows. Collective, agreed. */
static sley_status list_partials(partials *s, int64_t *count) {
  sl_comm *comm = s->ins->comm;
  int64_t *received = count + comm->size;
  size_t item = sizeof(int64_t);
  SL_TRY(sl_agree(comm, list_lent(s, count)));
  SL_TRY(sl_exchange_items(comm, item, s->lent, count, (void **)&s->computed, received));
  SL_TRY(sl_agree(comm, list_sent(s, received, count)));
  SL_TRY(sl_exchange_items(comm, item, s->sent, count, (void **)&s->received, received));
  SL_TRY(sl_agree(comm, list_collected(s, received, count)));
  SL_TRY(sl_exchange_items(comm, item, s->collected, count, (void **)&s->gained, received));
  return sl_agree(comm, sl_starts(received, comm->size, &s->gained_begin));
}

/* The regions of the buffer of partial rows: the collected rows; from `sent` on, the rows sent to other
 * members, by member; from `near` on, the rows sent to owners in the workgroup, by owner. */
typedef struct regions {
  int64_t sent, near, rows;
} regions;

static regions lay_out(const partials *s) {
  const sl_comm *comm = s->ins->comm;
  int first = sl_workgroup_first(comm, s->group), end = first + sl_workgroup_size(comm, s->group);
  regions r = {.sent = s->collected_set.count};
  int64_t own = s->sent_begin[comm->rank + 1] - s->sent_begin[comm->rank];
  r.near = r.sent + s->sent_begin[comm->size] - own;
  r.rows = r.near + s->computed_begin[end] - s->computed_begin[first];
  return r;
}

/* Place in the buffer of row i of the list `sent`. Rows that this rank collects itself are in the first
 * region. */
static int64_t place_sent(const partials *s, const regions *r, int64_t i) {
  const sl_comm *comm = s->ins->comm;
  int64_t own_begin = s->sent_begin[comm->rank], own_end = s->sent_begin[comm->rank + 1];
  if (i >= own_begin && i < own_end)
    return sl_colset_place(&s->collected_set, s->sent[i]);
  return r->sent + (i < own_begin ? i : i - (own_end - own_begin));
}

/* Adds the exchange in which members send their partial sums to the collectors, which add them. */
static sley_status add_collect(sl_plan *plan, const partials *s, const regions *r, int buffer,
                               int *exchange) {
  const sl_comm *comm = s->ins->comm;
  int64_t row_bytes = s->ins->wishes->sum_bytes;
  SL_TRY(sl_plan_add_exchange(plan, "collect", buffer, buffer, SL_GRAIN_PEER, exchange));
  SL_EXCHANGE(plan, *exchange)->spec.add = true;
  SL_EXCHANGE(plan, *exchange)->spec.dtype = plan->sum_dtype;
  int64_t *rows = sl_plan_alloc(plan, s->received_begin[comm->size], sizeof *rows);
  if (!rows)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i < s->received_begin[comm->size]; i++)
    rows[i] = sl_colset_place(&s->collected_set, s->received[i]);
  for (int q = 0; q < comm->size; q++) {
    if (q == comm->rank)
      continue;
    int64_t sends = s->sent_begin[q + 1] - s->sent_begin[q];
    sl_row_list to = {q, sends, NULL, sends ? place_sent(s, r, s->sent_begin[q]) : 0, 0, row_bytes};
    int64_t receives = s->received_begin[q + 1] - s->received_begin[q];
    sl_row_list from = {q, receives, rows + s->received_begin[q], 0, 0, row_bytes};
    sl_plan_send(plan, *exchange, &to);
    sl_plan_recv(plan, *exchange, &from);
  }
  return SLEY_OK;
}

/* Lists rows of Y by their numbers within this rank's rows. */
static sley_status list_own_rows(sl_plan *plan, const partials *s, const int64_t *numbers, int64_t count,
                                 int64_t **rows) {
  const sl_inspection *ins = s->ins;
  *rows = sl_plan_alloc(plan, count, sizeof **rows);
  if (!*rows)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i < count; i++)
    (*rows)[i] = numbers[i] - ins->row_begin[ins->comm->rank];
  return SLEY_OK;
}

/* Adds the exchange that sends partial rows to their owners, which add them to Y: from collectors of other
 * workgroups, and within the workgroup from the computing ranks. dst: Y, or a buffer in which the rows of one
 * workgroup arrive in the order of `lent`. */
static sley_status add_give(sl_plan *plan, const partials *s, const regions *r, int buffer, int dst,
                            int *exchange) {
  const sl_inspection *ins = s->ins;
  const sl_comm *comm = ins->comm;
  int first = sl_workgroup_first(comm, s->group);
  SL_TRY(sl_plan_add_exchange(plan, "give", buffer, dst, SL_GRAIN_PEER, exchange));
  SL_EXCHANGE(plan, *exchange)->gives = true;
  SL_EXCHANGE(plan, *exchange)->spec.add = dst == SL_BUFFER_Y;
  SL_EXCHANGE(plan, *exchange)->spec.dtype = plan->sum_dtype;
  for (int p = 0; p < comm->size; p++) {
    bool near = sl_workgroup_of(comm, p) == s->group;
    const int64_t *numbers = near ? s->lent : s->gained, *begin = near ? s->lent_begin : s->gained_begin;
    const int64_t *from_begin = near ? s->computed_begin : s->collected_begin;
    int64_t count = begin[p + 1] - begin[p], sends = from_begin[p + 1] - from_begin[p];
    if (count == 0 && sends == 0) /* true for most peers if there are many ranks */
      continue;
    int64_t *rows = NULL;
    if (dst == SL_BUFFER_Y)
      SL_TRY(list_own_rows(plan, s, numbers + begin[p], count, &rows));
    sl_row_list from = {p, count, rows, rows ? 0 : begin[p], 0, ins->wishes->sum_bytes};
    sl_plan_recv(plan, *exchange, &from);
    int64_t place = near ? r->near + from_begin[p] - from_begin[first] : from_begin[p];
    sl_row_list to = {p, sends, NULL, place, 0, ins->wishes->sum_bytes};
    sl_plan_send(plan, *exchange, &to);
  }
  return SLEY_OK;
}

/* Place in the buffer of a partial row that this rank computes. */
static int64_t place_row(const partials *s, const regions *r, int64_t row) {
  const sl_inspection *ins = s->ins;
  const sl_comm *comm = ins->comm;
  int owner = sl_partition_owner(ins->row_begin, comm->size, row);
  if (sl_workgroup_of(comm, owner) == s->group) {
    int first = sl_workgroup_first(comm, s->group);
    return r->near +
           sl_lower_bound(s->computed, s->computed_begin[owner], s->computed_begin[owner + 1], row) -
           s->computed_begin[first];
  }
  int q = sl_relay_of(comm, s->group, owner);
  return place_sent(s, r, sl_lower_bound(s->sent, s->sent_begin[q], s->sent_begin[q + 1], row));
}

/* Adds the part that computes all partial rows from this rank's X. Items are sorted by row, then column. */
static sley_status add_partial_part(sl_plan *plan, const partials *s, const regions *r, int buffer,
                                    sl_item *items, int64_t count, bool during_pull, int *index) {
  const sl_inspection *ins = s->ins;
  int64_t place = -1;
  if (plan->dry)
    return sl_plan_add_part(plan, &(sl_part){.name = "dry", .x = SL_BUFFER_X, .y = buffer, .arrives_in = -1},
                            index);
  for (int64_t i = 0, last = -1; i < count; i++) {
    if (items[i].row != last)
      place = place_row(s, r, items[i].row);
    last = items[i].row;
    items[i].row = place;
  }
  sl_part frame = {.name = "partial rows",
                   .k = ins->wishes->k,
                   .x = SL_BUFFER_X,
                   .y = buffer,
                   .beta = SL_BETA_ZERO,
                   .during_pull = during_pull,
                   .arrives_in = -1,
                   .a = {.index = sl_index_for(ins->x_rows), .dtype = plan->dtype}};
  return sl_part_from_items(plan, &frame, items, count, true, r->rows, 0, ins->first_col, index);
}

/* Adds a buffer of partial rows. */
static sley_status add_sums_buffer(sl_plan *plan, const partials *s, const char *name, int64_t rows,
                                   int *buffer) {
  SL_TRY(sl_plan_add_buffer(plan, name, rows, s->ins->wishes->sum_bytes, buffer));
  SL_BUFFER(plan, *buffer)->dtype = plan->sum_dtype;
  return SLEY_OK;
}

/* Adds buffers, exchanges, part and steps of the partial rows. *give: the exchange that ends after all other
 * steps. */
static sley_status add_partials(sl_plan *plan, const partials *s, sl_item *items, int64_t count, int *give) {
  regions r = lay_out(s);
  int buffer, part = 0, collect;
  SL_TRY(add_sums_buffer(plan, s, "partial rows", r.rows, &buffer));
  SL_TRY(add_collect(plan, s, &r, buffer, &collect));
  SL_TRY(add_give(plan, s, &r, buffer, SL_BUFFER_Y, give));
  SL_TRY(add_partial_part(plan, s, &r, buffer, items, count, false, &part));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, part));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, collect));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_END, collect));
  return sl_plan_add_step(plan, SL_STEP_BEGIN, *give);
}

/* Adds the steps that add the received partial rows to Y, peer by peer. */
static sley_status add_received(sl_plan *plan, const partials *s, int received) {
  const int ranks = s->ins->comm->size;
  int64_t *rows;
  SL_TRY(list_own_rows(plan, s, s->lent, s->lent_begin[ranks], &rows));
  for (int p = 0; p < ranks; p++) {
    const int64_t first = s->lent_begin[p];
    SL_TRY(sl_plan_add_conversion(plan, &(sl_conversion){.src = received,
                                                         .dst = SL_BUFFER_Y,
                                                         .count = s->lent_begin[p + 1] - first,
                                                         .k = s->ins->wishes->k,
                                                         .src_first = first,
                                                         .dst_rows = rows + first,
                                                         .from = plan->sum_dtype,
                                                         .to = plan->sum_dtype,
                                                         .add = true}));
  }
  return SLEY_OK;
}

/* Adds buffers, exchanges and steps of a plan for one workgroup, with a plain division of the block without
 * the entries that other ranks compute. *part: the number that the part of the partial rows must get. */
static sley_status lay_plain(sl_plan *plan, const partials *s, const regions *r, const sl_inspection *rest,
                             int *buffer, int *part) {
  const int64_t row_bytes = rest->wishes->row_bytes;
  int received, halo, give, exchange, local, remote;
  SL_TRY(add_sums_buffer(plan, s, "partial rows", r->rows, buffer));
  SL_TRY(add_sums_buffer(plan, s, "received", s->lent_begin[rest->comm->size], &received));
  SL_TRY(add_give(plan, s, r, *buffer, received, &give));
  SL_TRY(sl_plan_add_buffer(plan, "halo", rest->halo_set.count, row_bytes, &halo));
  SL_TRY(sl_plan_add_halo(plan, "halo", rest->halo, SL_HALO_GATHER, SL_BUFFER_X, halo, row_bytes,
                          SL_GRAIN_ROW, &exchange));
  SL_TRY(sl_plan_divide(plan, exchange, &local, &remote));
  *part = plan->division.count;
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, exchange));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, *part));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, give));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, local));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_END, exchange));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, remote));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_END, give));
  return add_received(plan, s, received);
}

/* The plan on devices that load their halo over direct links in pieces. Both pulls run beside the rank's
 * sums: the rows of X from the beginning on, the partial rows of a peer once it has summed them. Only their
 * addition to Y comes after all other sums. Collective. */
static sley_status add_in_pieces(sl_plan *plan, const partials *s, sl_item *items, int64_t count) {
  sl_comm *comm = s->ins->comm;
  const regions r = lay_out(s);
  sl_inspection rest;
  sley_matrix *block;
  int buffer = 0, part = 0, added = 0;
  SL_TRY(sl_cover_rest(s->ins, plan->dry, &block, &rest));
  sley_status status = sl_agree(comm, lay_plain(plan, s, &r, &rest, &buffer, &part));
  if (status == SLEY_OK)
    status = sl_pass_pieces(&rest, plan);
  if (status == SLEY_OK)
    status = sl_plan_cut(plan, &rest);
  if (status == SLEY_OK)
    status = add_partial_part(plan, s, &r, buffer, items, count, true, &added);
  if (status == SLEY_OK && added != part)
    status = sl_fail(SLEY_ERR_INTERNAL, "the partial rows are part %d instead of part %d", added, part);
  sl_inspection_free(&rest);
  sl_matrix_destroy(block);
  return status;
}

/* Lists the partial rows, and adds all that they and the rows of X need. Collective. */
static sley_status add_all(const sl_inspection *ins, const sl_stage_options *options, partials *s,
                           sl_plan *plan) {
  sl_comm *comm = ins->comm;
  int64_t *lists = NULL, count = 0;
  sl_item *items = NULL;
  int give = 0;
  bool in_pieces = false;
  sley_status status = sl_agree(comm, SL_NEW(lists, 2 * (int64_t)comm->size, "rank counts"));
  if (status == SLEY_OK)
    status = list_partials(s, lists);
  sl_free(lists);
  SL_TRY(status);
  SL_TRY(sl_pieces_suit(ins, &in_pieces));
  if (!plan->dry)
    SL_TRY(sl_redistribute(ins, computes, ins, &items, &count));
  if (in_pieces)
    status = add_in_pieces(plan, s, items, count);
  else
    status = sl_agree(comm, add_partials(plan, s, items, count, &give));
  sl_free(items);
  if (in_pieces || status != SLEY_OK)
    return status;
  SL_TRY(sl_add_stages(ins, options, plan));
  return sl_plan_add_step(plan, SL_STEP_END, give);
}

static sley_status build_cover(const sl_inspection *ins, sl_plan *plan) {
  sl_stage_options options = {.grain = SL_GRAIN_PEER, .pipelined = true};
  if (ins->wishes->reproducible)
    return sl_add_stages(ins, &options, plan);
  options.use = ins->cover_use;
  plan->entries_travel = true;
  partials s = {.ins = ins, .group = sl_workgroup_of(ins->comm, ins->comm->rank)};
  sley_status status = add_all(ins, &options, &s, plan);
  partials_free(&s);
  return status;
}

/* Finds the largest share of the halo's rows with which a cover is not slower than the best algorithm. The
 * plan of a cover is the plan of halo-pipelined, or of halo, with fewer rows. Partial rows of Y are not
 * packed, and it might save all waiting, but every entry is still summed by some rank. Collective, agreed. */
static sley_status most_rows(sl_inspection *ins, const sl_rivals *rivals, double *share) {
  const sl_figures *all;
  *share = 1;
  bool in_pieces;
  SL_TRY(sl_pieces_suit(ins, &in_pieces));
  if (!rivals->best || sl_has_levels(ins->comm)) /* because there rows move once per workgroup */
    return SLEY_OK;
  sley_status status =
      rivals->predict(rivals->context, in_pieces ? &sl_algo_halo : &sl_algo_halo_pipelined, &all);
  if (status == SLEY_ERR_UNSUPPORTED)
    return SLEY_OK;
  if (status == SLEY_OK && all->least_seconds > 1.02 * rivals->best->predicted_seconds)
    *share = 1 - (all->least_seconds - 1.02 * rivals->best->predicted_seconds) / all->row_seconds;
  return status;
}

/* A cover needs a matching for every remote block. So it is considered only if it could save at least a
 * quarter of the best time so far, and if its least number of rows may be small enough. In column order it
 * equals halo-pipelined. */
static sley_status consider_cover(sl_inspection *ins, const sl_rivals *rivals, bool *considered,
                                  const char **why_not) {
  double share;
  *why_not = "in column order it moves what halo-pipelined moves";
  if (ins->wishes->reproducible)
    return SLEY_OK;
  *why_not = "it could save less than a quarter of the time";
  if (rivals->best && rivals->best->spare_seconds < 0.25 * rivals->best->predicted_seconds)
    return SLEY_OK;
  *why_not = "it needs too many rows";
  SL_TRY(most_rows(ins, rivals, &share));
  return share > 0 ? sl_cover_choose(ins, share, considered) : SLEY_OK;
}

static sley_status prepare_cover(sl_inspection *ins) {
  bool chosen;
  return sl_cover_choose(ins, 1, &chosen);
}

const sl_algorithm sl_algo_cover = {
    .name = "cover",
    .summary = "as halo-pipelined, but partial rows of Y travel where they replace more rows of X",
    .consider = consider_cover,
    .prepare = prepare_cover,
    .build = build_cover};
