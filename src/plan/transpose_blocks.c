/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes row blocks: entries go to the ranks that own their columns, which sort them by column. */
#include "plan/transpose_blocks.h"

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "matrix/scatter.h"
#include "partition/partition.h"
#include "plan/parts.h"

static int owner_of_column(const void *context, int64_t row, int64_t col) {
  (void)row;
  const sl_inspection *ins = context;
  return sl_partition_owner(ins->col_begin, ins->comm->size, col);
}

/* The sorting of items by column. */
typedef struct sorting {
  const sl_item *items;
  int64_t count, first; /* first: first column of this rank */
  sley_index index;
  sley_dtype dtype;
  sl_scatter scatter;
  sl_csr_arrays arrays;
  int64_t *source; /* NULL, or receives the number of each entry's item */
} sorting;

/* First item of a chunk. */
static int64_t chunk_begin(const sorting *s, int chunk) {
  return s->count / s->scatter.chunks * chunk + s->count % s->scatter.chunks * chunk / s->scatter.chunks;
}

static sley_status count_items(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const sorting *s = context;
  for (int64_t t = begin; t < end; t++) {
    const sl_scatter_task task = sl_scatter_task_of(&s->scatter, t);
    const int64_t last = chunk_begin(s, task.chunk + 1);
    for (int64_t i = chunk_begin(s, task.chunk); i < last; i++) {
      const int64_t row = s->items[i].col - s->first;
      if (sl_scatter_takes(&task, row))
        task.next[row]++;
    }
  }
  return sl_interrupted();
}

static sley_status place_items(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const sorting *s = context;
  for (int64_t t = begin; t < end; t++) {
    const sl_scatter_task task = sl_scatter_task_of(&s->scatter, t);
    const int64_t last = chunk_begin(s, task.chunk + 1);
    for (int64_t i = chunk_begin(s, task.chunk); i < last; i++) {
      const int64_t row = s->items[i].col - s->first;
      if (!sl_scatter_takes(&task, row))
        continue;
      const int64_t place = task.next[row]++;
      if (s->source)
        s->source[place] = i;
      sl_index_set(s->arrays.col, s->index, place, s->items[i].row);
      sl_value_set(s->arrays.val, s->dtype, place, s->items[i].value);
    }
  }
  return sl_interrupted();
}

static int64_t row_of_item(const void *context, int64_t item) {
  const sorting *s = context;
  return s->items[item].col - s->first;
}

/* Builds the CSR arrays of the transpose from items sorted by row. A counting sort by column keeps this order
 * within each column. source: NULL, or receives the number of each entry's item. */
static sley_status build_block(const sl_inspection *ins, const sl_item *items, int64_t count, int64_t *source,
                               sley_matrix **out) {
  const int64_t first = ins->col_begin[ins->comm->rank], rows = ins->col_begin[ins->comm->rank + 1] - first,
                cols = ins->row_begin[ins->comm->size];
  sorting s = {.items = items,
               .count = count,
               .first = first,
               .index = sl_index_for(cols),
               .dtype = ins->block->dtype,
               .source = source};
  sl_team *team = ins->comm->team;
  sley_status status;
  SL_TRY(sl_csr_arrays_alloc(rows, count, s.index, s.dtype, &s.arrays));
  SL_TRY_GOTO(status, sl_scatter_begin(rows, count, row_of_item, &s, team, &s.scatter), fail);
  SL_TRY_GOTO(status, sl_team_for(team, s.scatter.tasks, 1, count_items, &s), fail);
  SL_TRY_GOTO(status, sl_scatter_place(&s.scatter, team, s.arrays.rowptr), fail);
  SL_TRY_GOTO(status, sl_team_for(team, s.scatter.tasks, 1, place_items, &s), fail);
  sl_scatter_end(&s.scatter);
  return sl_matrix_adopt(rows, cols, s.index, s.dtype, s.arrays, -1, out);
fail:
  sl_scatter_end(&s.scatter);
  sl_csr_arrays_free(&s.arrays);
  return status;
}

struct sl_transposition {
  sl_comm *comm;
  sley_dtype dtype;
  int64_t sends, receives; /* entries sent, entries received */
  int64_t *entry;          /* the block's entries, in the order in which they are sent */
  int64_t *source;         /* for each entry of the block of A^T: its number among the received entries */
  int64_t *send_at, *send_bytes, *recv_at, *recv_bytes; /* arrays by rank, which share one allocation */
  void *send, *recv;
};

void sl_transposition_destroy(sl_transposition *t) {
  if (!t)
    return;
  sl_free(t->recv);
  sl_free(t->send);
  sl_free(t->send_at);
  sl_free(t->source);
  sl_free(t->entry);
  sl_free(t);
}

/* Sets where each rank's bytes begin; returns the total. */
static int64_t lay_out(int ranks, const int64_t *bytes, int64_t *at) {
  int64_t total = 0;
  for (int p = 0; p < ranks; p++) {
    at[p] = total;
    total += bytes[p];
  }
  return total;
}

/* Lists the entries that this rank sends: the entries of its block, grouped by the owner of their column. */
static sley_status list_sent(const sl_inspection *ins, sl_transposition *t) {
  const sley_matrix *block = ins->block;
  int ranks = t->comm->size;
  int64_t value = (int64_t)sley_dtype_bytes(t->dtype), first = block->rowptr[0], *at;
  SL_TRY(SL_NEW(t->entry, block->nnz, "the transpose"));
  SL_TRY(SL_NEW(at, ranks, "the transpose"));
  for (int64_t e = 0; e < block->nnz; e++)
    t->send_bytes[owner_of_column(ins, 0, sl_index_at(block->col, block->index, first + e))] += value;
  t->sends = lay_out(ranks, t->send_bytes, t->send_at) / value;
  for (int p = 0; p < ranks; p++)
    at[p] = t->send_at[p] / value;
  for (int64_t e = 0; e < block->nnz; e++)
    t->entry[at[owner_of_column(ins, 0, sl_index_at(block->col, block->index, first + e))]++] = e;
  sl_free(at);
  return SLEY_OK;
}

/* Counts the bytes from each sender, and allocates the buffers. */
static sley_status list_received(const sl_inspection *ins, const sl_item *items, sl_transposition *t) {
  int64_t value = (int64_t)sley_dtype_bytes(t->dtype);
  for (int64_t i = 0; i < t->receives; i++)
    t->recv_bytes[sl_partition_owner(ins->row_begin, t->comm->size, items[i].row)] += value;
  lay_out(t->comm->size, t->recv_bytes, t->recv_at);
  t->send = sl_alloc(t->sends, (size_t)value, "values to send");
  t->recv = sl_alloc(t->receives, (size_t)value, "values received");
  return t->send && t->recv ? SLEY_OK : SLEY_ERR_MEMORY;
}

/* Creates an exchange that receives that many entries, without lists. */
static sley_status begin(const sl_inspection *ins, int64_t receives, sl_transposition **out) {
  int ranks = ins->comm->size;
  SL_TRY(SL_NEW_ZERO(*out, 1, "the transpose"));
  sl_transposition *t = *out;
  t->comm = ins->comm;
  t->dtype = ins->block->dtype;
  t->receives = receives;
  SL_TRY(SL_NEW(t->source, receives, "the transpose"));
  SL_TRY(SL_NEW_ZERO(t->send_at, 4 * (int64_t)ranks, "the transpose"));
  t->send_bytes = t->send_at + ranks;
  t->recv_at = t->send_bytes + ranks;
  t->recv_bytes = t->recv_at + ranks;
  return SLEY_OK;
}

/* Used with one rank: finds for each entry of the transpose the matching entry of the block. */
static sley_status list_own(const sl_inspection *ins, const sley_matrix *transposed, sl_transposition *t) {
  const sley_matrix *block = ins->block;
  int64_t *at;
  SL_TRY(SL_NEW(at, transposed->rows, "the transpose"));
  for (int64_t r = 0; r < transposed->rows; r++)
    at[r] = transposed->rowptr[r] - transposed->rowptr[0];
  for (int64_t e = 0; e < block->nnz; e++)
    t->source[at[sl_index_at(block->col, block->index, block->rowptr[0] + e)]++] = e;
  sl_free(at);
  return SLEY_OK;
}

static sley_status transpose_here(const sl_inspection *ins, sl_transposition **values, sley_matrix **out) {
  SL_TRY(sl_matrix_transpose(ins->block, ins->comm->team, out));
  if (!values)
    return SLEY_OK;
  SL_TRY(begin(ins, ins->block->nnz, values));
  return list_own(ins, *out, *values);
}

static sley_status transpose_items(const sl_inspection *ins, const sl_item *items, int64_t count,
                                   sl_transposition **values, sley_matrix **out) {
  if (!values)
    return build_block(ins, items, count, NULL, out);
  SL_TRY(begin(ins, count, values));
  SL_TRY(build_block(ins, items, count, (*values)->source, out));
  SL_TRY(list_sent(ins, *values));
  return list_received(ins, items, *values);
}

sley_status sl_transpose_blocks(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                                const int64_t *col_begin, sl_transposition **values, sley_matrix **out) {
  sl_inspection ins = {
      .comm = comm, .block = block, .row_begin = (int64_t *)row_begin, .col_begin = (int64_t *)col_begin};
  sl_item *items = NULL;
  int64_t count;
  *out = NULL;
  if (values)
    *values = NULL;
  if (comm->size > 1)
    SL_TRY(sl_redistribute(&ins, owner_of_column, &ins, &items, &count));
  sley_status status = sl_agree(comm, comm->size == 1 ? transpose_here(&ins, values, out)
                                                      : transpose_items(&ins, items, count, values, out));
  sl_free(items);
  if (status == SLEY_OK)
    return SLEY_OK;
  if (values) {
    sl_transposition_destroy(*values);
    *values = NULL;
  }
  sl_matrix_destroy(*out);
  *out = NULL;
  return status;
}

/* ---- values */

enum { AT_ONCE = 1 << 15 };

typedef struct moving {
  size_t value_bytes;
  const int64_t *which; /* indices for to[i] = from[which[i]] */
  const void *from;
  void *to;
} moving;

static sley_status move_values(void *context, int64_t first, int64_t end, int thread) {
  (void)thread;
  const moving *m = context;
  const int64_t *which = m->which;
  if (m->value_bytes == sizeof(uint64_t))
    for (int64_t i = first; i < end; i++)
      ((uint64_t *)m->to)[i] = ((const uint64_t *)m->from)[which[i]];
  else if (m->value_bytes == sizeof(uint32_t))
    for (int64_t i = first; i < end; i++)
      ((uint32_t *)m->to)[i] = ((const uint32_t *)m->from)[which[i]];
  else
    for (int64_t i = first; i < end; i++)
      ((uint16_t *)m->to)[i] = ((const uint16_t *)m->from)[which[i]];
  return SLEY_OK;
}

sley_status sl_transposition_run(const sl_transposition *t, const void *val, void *out) {
  sl_comm *comm = t->comm;
  size_t value = sley_dtype_bytes(t->dtype);
  const void *received = val;
  if (comm->size > 1) {
    SL_TRY(sl_team_for(comm->team, t->sends, AT_ONCE, move_values, &(moving){value, t->entry, val, t->send}));
    SL_TRY(
        comm->ops->alltoallv(comm, t->send, t->send_at, t->send_bytes, t->recv, t->recv_at, t->recv_bytes));
    received = t->recv;
  }
  return sl_team_for(comm->team, t->receives, AT_ONCE, move_values,
                     &(moving){value, t->source, received, out});
}
