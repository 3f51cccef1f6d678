/* SPDX-License-Identifier: Apache-2.0 */
/* Inspection: finds the halo of a row block, and which rows of X the other ranks need from this rank. */
#include "plan/inspect.h"

#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "partition/partition.h"
#include "plan/resident.h"

/* Remote columns of entries begin .. end-1 of the block. */
static int64_t remote_columns(const void *context, int64_t begin, int64_t end, int64_t *out) {
  const sl_inspection *ins = context;
  const sley_matrix *block = ins->block;
  int64_t count = 0, at = block->rowptr[0], first = ins->first_col;
  uint64_t own = (uint64_t)ins->x_rows;
  if (block->index == SLEY_I32) {
    const int32_t *col = (const int32_t *)block->col + at;
    for (int64_t i = begin; i < end; i++) {
      out[count] = col[i];
      count += (uint64_t)(col[i] - first) >= own;
    }
  } else {
    const int64_t *col = (const int64_t *)block->col + at;
    for (int64_t i = begin; i < end; i++) {
      out[count] = col[i];
      count += (uint64_t)(col[i] - first) >= own;
    }
  }
  return count;
}

static sley_status check_partition(const char *what, const int64_t *begin, int ranks) {
  if (!begin)
    return sl_fail(SLEY_ERR_ARG, "the partition of the %s is NULL", what);
  if (begin[0] != 0)
    return sl_fail(SLEY_ERR_ARG, "the partition of the %s must begin with 0, but begins with %lld", what,
                   (long long)begin[0]);
  for (int r = 0; r < ranks; r++)
    if (begin[r] > begin[r + 1])
      return sl_fail(SLEY_ERR_ARG, "the partition of the %s must ascend, but descends at rank %d", what, r);
  return SLEY_OK;
}

static sley_status check_local(const sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                               const int64_t *col_begin, int64_t k) {
  SL_TRY(check_partition("rows", row_begin, comm->size));
  SL_TRY(check_partition("columns", col_begin, comm->size));
  int64_t mine = row_begin[comm->rank + 1] - row_begin[comm->rank];
  if (block->rows != mine)
    return sl_fail(SLEY_ERR_ARG, "rank %d has a block of %lld rows, but the partition assigns it %lld",
                   comm->rank, (long long)block->rows, (long long)mine);
  if (block->cols != col_begin[comm->size])
    return sl_fail(SLEY_ERR_ARG, "the matrix has %lld columns, but the partition of X has %lld rows",
                   (long long)block->cols, (long long)col_begin[comm->size]);
  if (k < 0 || k > INT64_MAX / 64)
    return sl_fail(SLEY_ERR_ARG,
                   "k is %lld: it must be 0 or more, and small enough that rows of X fit in memory",
                   (long long)k);
  int64_t bytes;
  if (__builtin_mul_overflow(k * (int64_t)sley_dtype_bytes(sl_sum_dtype(block->dtype)),
                             block->rows + block->cols, &bytes))
    return sl_fail(SLEY_ERR_OVERFLOW, "X or Y has more than 2^63 bytes");
  return SLEY_OK;
}

/* Checks that all ranks have the same k, dtype, partitions and `reproducible`. All ranks get the error. */
static sley_status check_agreement(sl_comm *comm, sley_dtype dtype, const int64_t *row_begin,
                                   const int64_t *col_begin, const sl_plan_wishes *wishes) {
  static const char *const name[] = {"k", "dtype", "partition of the rows", "partition of X", "reproducible"};
  const int64_t given[] = {wishes->k, dtype, sl_partition_hash(row_begin, comm->size),
                           sl_partition_hash(col_begin, comm->size), wishes->reproducible};
  return sl_agree_same(comm, NULL, name, given, 5);
}

/* Finds the remote columns, ascending. The caller owns *rows. */
static sley_status find_remote(sl_inspection *ins, int64_t **rows) {
  /* A rank that owns all columns need not read its entries. */
  int64_t entries = ins->x_rows == ins->block->cols ? 0 : ins->block->nnz;
  sl_colset_source source = {entries, remote_columns, ins};
  if (ins->resident)
    SL_TRY(sl_resident_columns(ins));
  else
    SL_TRY(sl_colset_build(ins->block->cols, &source, sl_plan_team(ins), &ins->halo_set));
  SL_TRY(SL_NEW(*rows, ins->halo_set.count, "the halo"));
  return sl_colset_list(&ins->halo_set, sl_plan_team(ins), *rows);
}

/* Finds the remote columns and creates the halo. Collective, agreed. */
static sley_status find_halo(sl_inspection *ins) {
  int64_t *rows = NULL;
  sley_status status = sl_agree(ins->comm, find_remote(ins, &rows));
  if (status != SLEY_OK) {
    sl_free(rows);
    return status;
  }
  return sl_halo_create(ins->comm, ins->col_begin, rows, ins->halo_set.count, &ins->halo);
}

/* counts: for each thread, entries by the owner of their row of X. */
typedef struct owners {
  const sl_inspection *ins;
  int64_t *counts;
} owners;

/* Columns mostly ascend within a row, so the owner is looked up only if it changes. */
static sley_status count_owners(void *context, int thread, int threads) {
  const owners *o = context;
  const sl_inspection *ins = o->ins;
  const sley_matrix *block = ins->block;
  int ranks = ins->comm->size, owner = ins->comm->rank;
  int64_t *counts = o->counts + (int64_t)thread * ranks, begin = ins->first_col, end = begin + ins->x_rows;
  int64_t last = block->rowptr[0] + block->nnz * (thread + 1) / threads;
  for (int64_t e = block->rowptr[0] + block->nnz * thread / threads; e < last; e++) {
    int64_t col = sl_index_at(block->col, block->index, e);
    if (col < begin || col >= end) {
      owner = sl_partition_owner(ins->col_begin, ranks, col);
      begin = ins->col_begin[owner];
      end = ins->col_begin[owner + 1];
    }
    counts[owner]++;
  }
  return SLEY_OK;
}

static sley_status find_owners(sl_inspection *ins) {
  sl_team *team = sl_plan_team(ins);
  int ranks = ins->comm->size, threads = sl_team_size(team);
  if (ins->resident) /* counted by sl_resident_columns */
    return SLEY_OK;
  SL_TRY(SL_NEW_ZERO(ins->owner_nnz, (int64_t)threads * ranks, "entry counts"));
  if (ranks == 1) {
    ins->owner_nnz[0] = ins->block->nnz;
    return SLEY_OK;
  }
  SL_TRY(sl_team_run(team, count_owners, &(owners){ins, ins->owner_nnz}));
  for (int64_t i = ranks; i < (int64_t)threads * ranks; i++)
    ins->owner_nnz[i % ranks] += ins->owner_nnz[i];
  return SLEY_OK;
}

static sley_status open_all(sl_inspection *ins) {
  SL_TRY(SL_NEW_ZERO(ins->needs, 1, "an inspection"));
  return sl_resident_open(ins);
}

static sley_status inspect(sl_inspection *ins) {
  sl_comm *comm = ins->comm;
  sl_comm_begin_work(comm, "finding the halo", 3);
  ins->rows = ins->block->rows;
  ins->first_col = ins->col_begin[comm->rank];
  ins->x_rows = ins->col_begin[comm->rank + 1] - ins->first_col;
  SL_TRY(sl_agree(comm, open_all(ins)));
  SL_TRY(find_halo(ins));
  SL_TRY(sl_agree(comm, find_owners(ins)));
  ins->remote_nnz = ins->halo_set.occurrences;
  int64_t sums[3] = {ins->block->nnz, ins->remote_nnz, ins->halo_set.count};
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, sums, 3));
  ins->nnz_all = sums[0];
  ins->remote_nnz_all = sums[1];
  ins->halo_all = sums[2];
  return SLEY_OK;
}

sley_status sl_inspect_check(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                             const int64_t *col_begin, const sl_plan_wishes *wishes) {
  SL_TRY(sl_agree(comm, check_local(comm, block, row_begin, col_begin, wishes->k)));
  return check_agreement(comm, block->dtype, row_begin, col_begin, wishes);
}

sley_status sl_inspect_checked(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                               const int64_t *col_begin, const sl_plan_wishes *wishes, sl_inspection *out) {
  *out = (sl_inspection){.comm = comm,
                         .wishes = wishes,
                         .block = block,
                         .row_begin = row_begin,
                         .col_begin = col_begin,
                         .cover_rows = SL_COVER_ROWS_UNKNOWN};
  sley_status status = inspect(out);
  if (status != SLEY_OK)
    sl_inspection_free(out);
  return status;
}

sley_status sl_inspect(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                       const int64_t *col_begin, const sl_plan_wishes *wishes, sl_inspection *out) {
  *out = (sl_inspection){0};
  SL_TRY(sl_inspect_check(comm, block, row_begin, col_begin, wishes));
  return sl_inspect_checked(comm, block, row_begin, col_begin, wishes, out);
}

typedef struct comparing {
  const sley_matrix *a, *b;
  atomic_bool other; /* a row differs */
} comparing;

static sley_status compare_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  comparing *c = context;
  const sley_matrix *a = c->a, *b = c->b;
  const int64_t ahead = b->rowptr[0] - a->rowptr[0];
  bool other = atomic_load_explicit(&c->other, memory_order_relaxed);
  for (int64_t row = begin; row < end && !other; row++) {
    other = a->rowptr[row + 1] + ahead != b->rowptr[row + 1];
    for (int64_t e = a->rowptr[row]; e < a->rowptr[row + 1] && !other; e++)
      other = sl_index_at(a->col, a->index, e) != sl_index_at(b->col, b->index, e + ahead);
  }
  if (other)
    atomic_store(&c->other, true);
  return SLEY_OK;
}

/* Returns whether two blocks have entries at the same positions. */
static bool same_pattern(const sley_matrix *a, const sley_matrix *b, sl_team *team) {
  enum { ROWS = 4096 };
  comparing c = {.a = a, .b = b};
  if (a->rows != b->rows || a->cols != b->cols || a->nnz != b->nnz)
    return false;
  (void)sl_team_for(team, a->rows, ROWS, compare_rows, &c); /* the body cannot fail */
  return !atomic_load(&c.other);
}

sley_status sl_has_pattern_of(const sl_inspection *ins, const sley_matrix *transposed, bool *out) {
  sl_comm *comm = ins->comm;
  size_t bytes = ((size_t)comm->size + 1) * sizeof *ins->row_begin;
  int64_t same = memcmp(ins->row_begin, ins->col_begin, bytes) == 0 &&
                 ins->block->index == transposed->index &&
                 same_pattern(ins->block, transposed, sl_plan_team(ins));
  *out = false;
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, &same, 1));
  *out = same;
  return SLEY_OK;
}

void sl_inspection_free(sl_inspection *ins) {
  sl_resident_close(ins->resident);
  if (ins->needs) {
    sl_free(ins->needs->row);
    sl_free(ins->needs->piece);
  }
  sl_free(ins->needs);
  sl_free(ins->owner_nnz);
  sl_free(ins->cover_use);
  sl_halo_release(ins->halo);
  sl_colset_free(&ins->halo_set);
  *ins = (sl_inspection){0};
}
