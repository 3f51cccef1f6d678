/* SPDX-License-Identifier: Apache-2.0 */
/* rowwise: one fetch for every remote nonzero, as in a row-wise kernel that loads rows on demand (MGG).
 * Volume 4 E_R k: CoLa, equation 6. If devices can load from each other's memory, a kernel reads the rows in
 * place, once for every nonzero. Otherwise the nonzeros are processed in batches: the rows of a batch, one
 * for each nonzero, are fetched owner by owner, then summed. */

#include "base/memory.h"
#include "base/overrides.h"
#include "partition/partition.h"
#include "algo/algorithm.h"
#include "plan/in_place.h"
#include "plan/parts.h"

/* Remote nonzeros per batch. Batches are larger on devices, where a batch may be an exchange of messages,
 * which takes about 100 microseconds before its first row. */
enum { BATCH_OF_HOST = 8192, BATCH_OF_DEVICE = 65536 };

static int32_t batch_of(const sl_comm *comm) {
  if (sl_overrides.fetch_rows > 0)
    return sl_overrides.fetch_rows;
  return comm->device->ops->host_addresses ? BATCH_OF_HOST : BATCH_OF_DEVICE;
}

/* Sorts the entries of each batch of `size` by owner; entries of one owner keep their order. place[e]: new
 * position of entry e in its batch. at has ranks + 1 elements. */
static void sort_by_owner(const int32_t *owner, const int64_t *row, int64_t count, int64_t size, int ranks,
                          int64_t *at, int32_t *place, int32_t *sorted_owner, int64_t *sorted_row) {
  for (int64_t begin = 0; begin < count; begin += size) {
    int64_t end = begin + size < count ? begin + size : count;
    for (int p = 0; p <= ranks; p++)
      at[p] = 0;
    for (int64_t e = begin; e < end; e++)
      at[owner[e] + 1]++;
    for (int p = 0; p < ranks; p++)
      at[p + 1] += at[p];
    for (int64_t e = begin; e < end; e++) {
      int64_t to = at[owner[e]]++;
      place[e] = (int32_t)to;
      sorted_owner[begin + to] = owner[e];
      sorted_row[begin + to] = row[e];
    }
  }
}

/* Splits a remote part into batches: entry e reads row places[e] of the buffer. */
static sley_status add_batches(sl_plan *plan, const sl_part *remote, const int32_t *owner, const int64_t *row,
                               int buffer, const int32_t *places, int *first, int *count) {
  const int64_t size = SL_BUFFER(plan, buffer)->rows;
  *count = 0;
  *first = plan->parts.count;
  int64_t stored = 0;
  size_t value_bytes = sley_dtype_bytes(remote->a.dtype);
  for (int64_t begin = 0; begin < remote->nnz; begin += size) {
    int64_t end = begin + size < remote->nnz ? begin + size : remote->nnz;
    while (remote->a.rowptr[stored + 1] <= begin)
      stored++;
    int64_t last = stored;
    while (remote->a.rowptr[last + 1] < end)
      last++;
    sl_part batch = *remote;
    batch.name = "batch";
    batch.nnz = end - begin;
    batch.a.rows = last - stored + 1;
    batch.a.rowid = remote->a.rowid + stored;
    batch.a.col = places + begin;
    batch.a.index = SLEY_I32;
    batch.entry = remote->entry ? remote->entry + begin : NULL;
    batch.a.val = (const char *)remote->a.val + (size_t)begin * value_bytes;
    int64_t *rowptr = sl_plan_alloc(plan, batch.a.rows + 1, sizeof *rowptr);
    if (!rowptr)
      return SLEY_ERR_MEMORY;
    for (int64_t i = 0; i <= batch.a.rows; i++) {
      int64_t at = remote->a.rowptr[stored + i];
      rowptr[i] = (at < begin ? begin : at > end ? end : at) - begin;
    }
    batch.a.rowptr = rowptr;
    batch.x = buffer;
    SL_TRY(sl_plan_add_part(plan, &batch, NULL));
    sl_fetch fetch = {end - begin, owner + begin, row + begin, buffer};
    SL_TRY(sl_plan_add_fetch(plan, &fetch, NULL));
    ++*count;
  }
  return SLEY_OK;
}

/* The rows that the batches of a remote part fetch, batch by batch, and the place of each entry's row in its
 * batch. */
typedef struct sources {
  int32_t *owner, *place;
  int64_t *row;
} sources;

/* Finds the sources of a remote part whose columns are places in the halo, in batches of `size` entries. */
static sley_status name_sources(sl_plan *plan, const sl_inspection *ins, const sl_part *remote, int64_t size,
                                sources *out) {
  int ranks = ins->comm->size;
  int32_t *owner = NULL;
  int64_t *row = NULL, *at = NULL;
  sley_status status;
  out->owner = sl_plan_alloc(plan, remote->nnz, sizeof *out->owner);
  out->place = sl_plan_alloc(plan, remote->nnz, sizeof *out->place);
  out->row = sl_plan_alloc(plan, remote->nnz, sizeof *out->row);
  if (!out->owner || !out->place || !out->row)
    return SLEY_ERR_MEMORY;
  SL_TRY_GOTO(status, SL_NEW(owner, remote->nnz, "owners of rows"), done);
  SL_TRY_GOTO(status, SL_NEW(row, remote->nnz, "rows of X"), done);
  SL_TRY_GOTO(status, SL_NEW(at, ranks + (int64_t)1, "rank counts"), done);
  for (int64_t e = 0; e < remote->nnz; e++) {
    int64_t col = ins->halo->row[sl_index_at(remote->a.col, remote->a.index, e)];
    owner[e] = sl_partition_owner(ins->col_begin, ranks, col);
    row[e] = col - ins->col_begin[owner[e]];
  }
  if (remote->nnz > 0)
    sort_by_owner(owner, row, remote->nnz, size, ranks, at, out->place, out->owner, out->row);
done:
  sl_free(at);
  sl_free(row);
  sl_free(owner);
  return status;
}

/* Adds the steps of a remote part: fetch and sum, batch by batch. */
static sley_status add_remote(sl_plan *plan, const sl_inspection *ins, int part, int buffer) {
  sl_part remote = *SL_PART(plan, part);
  sources from;
  int first, count, fetch = plan->fetches.count;
  SL_TRY(name_sources(plan, ins, &remote, SL_BUFFER(plan, buffer)->rows, &from));
  SL_TRY(add_batches(plan, &remote, from.owner, from.row, buffer, from.place, &first, &count));
  for (int i = 0; i < count; i++) {
    SL_TRY(sl_plan_add_step(plan, SL_STEP_FETCH, fetch + i));
    SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, first + i));
  }
  return SLEY_OK;
}

/* Lists the owners of remote entries in the order of the entries: owners below this rank, above it, or both.
 * Returns their number. */
static int64_t list_owners(const sl_inspection *ins, bool below, bool above, int32_t *owner) {
  const sley_matrix *block = ins->block;
  int64_t count = 0;
  for (int64_t e = block->rowptr[0]; e < block->rowptr[0] + block->nnz; e++) {
    int64_t col = sl_index_at(block->col, block->index, e);
    if (!sl_is_remote(ins, col))
      continue;
    int32_t one = sl_partition_owner(ins->col_begin, ins->comm->size, col);
    if (one < ins->comm->rank ? below : above)
      owner[count++] = one;
  }
  return count;
}

/* Adds the fetches of as many batches as the built plan has. counts has an element per rank. */
static sley_status add_dry_fetches(sl_plan *plan, int ranks, int32_t *owner, int64_t count, int64_t size,
                                   int64_t *counts) {
  for (int64_t begin = 0; begin < count; begin += size) {
    int64_t end = begin + size < count ? begin + size : count, at = begin;
    for (int p = 0; p < ranks; p++)
      counts[p] = 0;
    for (int64_t e = begin; e < end; e++)
      counts[owner[e]]++;
    for (int p = 0; p < ranks; p++)
      for (int64_t i = 0; i < counts[p]; i++)
        owner[at++] = p;
    sl_fetch batch = {end - begin, owner + begin, NULL, SL_BUFFER_X};
    SL_TRY(sl_plan_add_fetch(plan, &batch, NULL));
  }
  return SLEY_OK;
}

/* Makes a dry plan, which fetches as many rows from each owner as the built plan, batch by batch, but in one
 * step. */
static sley_status add_dry(sl_plan *plan, const sl_inspection *ins) {
  const int ranks = ins->comm->size;
  const bool twice = ins->wishes->reproducible; /* the entries below the rank's own columns then form a
                                                   separate part */
  int32_t *owner = sl_plan_alloc(plan, ins->remote_nnz, sizeof *owner);
  int64_t *counts = NULL, size = batch_of(ins->comm), below = 0;
  if (!owner)
    return SLEY_ERR_MEMORY;
  SL_TRY(SL_NEW(counts, ranks, "rank counts"));
  sley_status status = SLEY_OK;
  if (twice) {
    below = list_owners(ins, true, false, owner);
    status = add_dry_fetches(plan, ranks, owner, below, size, counts);
  }
  int64_t count = list_owners(ins, !twice, true, owner + below);
  if (status == SLEY_OK)
    status = add_dry_fetches(plan, ranks, owner + below, count, size, counts);
  sl_free(counts);
  SL_TRY(status);
  if (plan->fetches.count == 0)
    SL_TRY(sl_plan_add_fetch(plan, &(sl_fetch){0, owner, NULL, SL_BUFFER_X}, NULL));
  /* Memory that the built plan uses in addition: the block, and for each fetch a row number and a place. */
  plan->memory_bytes += sl_block_bytes(ins->block) + 12 * ins->remote_nnz;
  sl_part dry = {.name = "dry", .y = SL_BUFFER_Y, .arrives_in = -1};
  SL_TRY(sl_plan_add_part(plan, &dry, NULL));
  SL_TRY(sl_plan_add_part(plan, &dry, NULL));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_PUBLISH, 0));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SCALE, 0));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, 0));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_FETCH, 0));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, 1));
  return sl_plan_add_step(plan, SL_STEP_RETIRE, 0);
}

/* Cuts the block into parts whose columns are places in the halo. The remote entries are divided into below
 * and above only if sums are in column order. */
static sley_status cut(sl_plan *plan, const sl_inspection *ins, int buffer, int *first) {
  int32_t *part = NULL;
  if (ins->wishes->reproducible)
    SL_TRY(sl_parts_around_own(ins, 0, 2, &part));
  sl_part_frame frames[] = {{.name = "remote below", .kind = SLEY_PART_HALO, .x = buffer, .on_host = true},
                            {.name = "local", .x = SL_BUFFER_X},
                            {.name = "remote", .kind = SLEY_PART_HALO, .x = buffer}};
  sley_status status =
      sl_parts_cut(plan, ins, &(sl_column_map){.local = 1, .remote = 2, .part = part}, 3, frames, first);
  sl_free(part);
  return status;
}

/* Returns whether one kernel can read all rows in place. Its sums are not in column order. */
static bool reads_in_place(const sl_inspection *ins) {
  const sl_comm *comm = ins->comm;
  enum { RANKS = 64 }; /* most ranks whose memory a kernel can read */
  return comm->size > 1 && comm->size <= RANKS && comm->workgroup == comm->size && comm->zero_copy &&
         !comm->device->ops->host_addresses && !ins->wishes->reproducible;
}

/* Adds an exchange that is only mapped. Its lists describe the rows that the kernel reads: all reads from a
 * peer are one list with a single long row, so that the predicted bytes equal the moved bytes. Collective. */
static sley_status add_lending(sl_plan *plan, const sl_inspection *ins, int buffer, int *exchange) {
  const sl_comm *comm = ins->comm;
  int64_t *read = NULL, *lent = NULL;
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW(read, comm->size, "nonzeros by owner"), agree);
  SL_TRY_GOTO(status, SL_NEW(lent, (int64_t)comm->size * comm->size, "nonzeros by owner"), agree);
  for (int p = 0; p < comm->size; p++)
    read[p] = p == comm->rank ? 0 : ins->owner_nnz[p];
agree:
  status = sl_agree((sl_comm *)comm, status);
  if (status == SLEY_OK)
    status = comm->ops->allgather((sl_comm *)comm, read, comm->size * (int64_t)sizeof *read, lent);
  if (status == SLEY_OK)
    status = sl_plan_add_exchange(plan, "rows in place", SL_BUFFER_X, buffer, SL_GRAIN_PEER, exchange);
  for (int p = 0; p < comm->size && status == SLEY_OK; p++) {
    int64_t sent = lent[(int64_t)p * comm->size + comm->rank];
    sl_plan_send(plan, *exchange,
                 &(sl_row_list){.peer = p, .count = sent > 0, .bytes = sent * ins->wishes->row_bytes});
    sl_plan_recv(plan, *exchange,
                 &(sl_row_list){.peer = p, .count = read[p] > 0, .bytes = read[p] * ins->wishes->row_bytes});
  }
  sl_free(lent);
  sl_free(read);
  return status;
}

static sley_status build_in_place(const sl_inspection *ins, sl_plan *plan) {
  int buffer, exchange;
  SL_TRY(sl_plan_add_buffer(plan, "rows read in place", 0, ins->wishes->row_bytes, &buffer));
  /* the next call is collective, so the ranks agree first */
  sley_status status = sl_divide_in_place(plan, ins, false);
  SL_TRY(sl_agree((sl_comm *)ins->comm, status));
  SL_TRY(add_lending(plan, ins, buffer, &exchange));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, exchange));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_MAP, exchange));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, 0));
  return sl_plan_add_step(plan, SL_STEP_END, exchange);
}

static sley_status build_rowwise(const sl_inspection *ins, sl_plan *plan) {
  int buffer, first;
  int32_t batch = batch_of(ins->comm);
  if (reads_in_place(ins))
    return build_in_place(ins, plan);
  SL_TRY(sl_plan_add_buffer(plan, "published X", ins->x_rows, ins->wishes->row_bytes, NULL));
  if (plan->dry)
    return add_dry(plan, ins);
  batch = ins->remote_nnz < batch ? (int32_t)ins->remote_nnz : batch;
  SL_TRY(sl_plan_add_buffer(plan, "fetched", batch, ins->wishes->row_bytes, &buffer));
  /* The columns of remote parts are places in the halo until add_batches replaces them. */
  SL_TRY(cut(plan, ins, buffer, &first));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_PUBLISH, 0));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SCALE, 0));
  if (ins->wishes->reproducible)
    SL_TRY(add_remote(plan, ins, first, buffer));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, first + 1));
  SL_TRY(add_remote(plan, ins, first + 2, buffer));
  return sl_plan_add_step(plan, SL_STEP_RETIRE, 0);
}

/* Never considered, because it moves at least as much as halo. */
static sley_status consider_never(sl_inspection *ins, const sl_rivals *rivals, bool *considered,
                                  const char **why_not) {
  (void)ins, (void)rivals, (void)considered, (void)why_not;
  return SLEY_OK;
}

static sley_status read_parameters(const char *text, sl_plan_wishes *wishes) {
  return sl_rowwise_choice_read(text, &wishes->rowwise);
}

static const sl_algorithm_parameters parameters = {sl_rowwise_parameters, read_parameters};

const sl_algorithm sl_algo_rowwise = {.name = "rowwise",
                                      .summary = "every remote nonzero fetches its row of X",
                                      .consider = consider_never,
                                      .prepare = sl_prepare_no_more,
                                      .build = build_rowwise,
                                      .parameters = &parameters};
