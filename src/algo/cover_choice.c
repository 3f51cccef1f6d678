/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses, for every remote block, which entries are served by rows of X and which by partial rows of Y. */
#include "algo/cover_choice.h"

#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "partition/partition.h"
#include "algo/cover.h"
#include "algo/fusion.h"

/* An edge of a remote block: a row of Y (global) and a column. */
typedef struct edge {
  int64_t row, col;
} edge;

/* Edges of one block, sorted by row, and its cover of least weight. A partial row of Y weighs as many rows of
 * X as it has times their bytes: it is so many vertices with the same columns. A cover of fewest vertices has
 * all of them or none, since it depends on the graph alone, in which they can change places. */
typedef struct block_cover {
  const edge *edges;
  int64_t count;
  int64_t row_weight;
  int64_t range;     /* columns are below it */
  sl_colset columns; /* those that occur */
  int64_t *column;   /* ascending */
  sl_cover cover;
} block_cover;

static sley_status cover_block(block_cover *b) {
  int64_t *numbers = NULL, *rowptr = NULL;
  int32_t *adjacency = NULL;
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW(numbers, b->count, "a remote block"), done);
  SL_TRY_GOTO(status, SL_NEW(rowptr, b->row_weight * b->count + 1, "a remote block"), done);
  SL_TRY_GOTO(status, SL_NEW(adjacency, b->row_weight * b->count, "a remote block"), done);
  for (int64_t i = 0; i < b->count; i++)
    numbers[i] = b->edges[i].col;
  SL_TRY_GOTO(status, sl_distinct(numbers, b->count, b->range, NULL, &b->columns, &b->column), done);
  int64_t rows = 0, at = 0;
  for (int64_t i = 0, end; i < b->count; i = end) {
    for (end = i + 1; end < b->count && b->edges[end].row == b->edges[i].row;)
      end++;
    for (int64_t w = 0; w < b->row_weight; w++) {
      rowptr[rows++] = at;
      for (int64_t e = i; e < end; e++)
        adjacency[at++] = (int32_t)sl_colset_place(&b->columns, b->edges[e].col);
    }
  }
  rowptr[rows] = at;
  if (rows > INT32_MAX || b->columns.count > INT32_MAX) {
    status = sl_fail(SLEY_ERR_OVERFLOW, "a remote block has more than 2^31 rows or columns: use more ranks");
    goto done;
  }
  sl_bipartite graph = {(int32_t)rows, (int32_t)b->columns.count, rowptr, adjacency};
  status = sl_min_vertex_cover(&graph, &b->cover);
done:
  sl_free(adjacency);
  sl_free(rowptr);
  sl_free(numbers);
  return status;
}

static void block_cover_free(block_cover *b) {
  sl_cover_free(&b->cover);
  sl_colset_free(&b->columns);
  sl_free(b->column);
}

static void covers_free(block_cover *blocks, int count) {
  for (int i = 0; blocks && i < count; i++)
    block_cover_free(&blocks[i]);
  sl_free(blocks);
}

/* Blocks begin .. end-1 of an array. */
static sley_status cover_blocks(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  block_cover *blocks = context;
  for (int64_t i = begin; i < end; i++)
    if (blocks[i].count > 0) /* of many ranks most blocks have none */
      SL_TRY(cover_block(&blocks[i]));
  return SLEY_OK;
}

/* Remote entries of the block grouped by key[owner] (below 0: left out), in row order within each; begin:
 * keys + 1 starts. Both are the caller's, also on error. */
static sley_status group_edges(const sl_inspection *ins, const int *key, int keys, edge **edges,
                               int64_t **begin) {
  const sley_matrix *block = ins->block;
  int32_t *halo_key = NULL;
  int64_t *at = NULL, row_first = ins->row_begin[ins->comm->rank];
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW(halo_key, ins->halo_set.count, "halo owners"), done);
  SL_TRY_GOTO(status, SL_NEW(*edges, ins->remote_nnz, "remote entries"), done);
  SL_TRY_GOTO(status, SL_NEW_ZERO(*begin, keys + 1, "block starts"), done);
  SL_TRY_GOTO(status, SL_NEW(at, keys, "block starts"), done);
  for (int p = 0; p < ins->comm->size; p++)
    for (int64_t h = ins->halo->begin[p]; h < ins->halo->begin[p + 1]; h++)
      halo_key[h] = key[p];
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t row = 0; row < block->rows; row++)
      for (int64_t e = block->rowptr[row]; e < block->rowptr[row + 1]; e++) {
        int64_t col = sl_index_at(block->col, block->index, e);
        if (!sl_is_remote(ins, col))
          continue;
        int k = halo_key[sl_colset_place(&ins->halo_set, col)];
        if (k < 0)
          continue;
        if (pass == 0)
          (*begin)[k + 1]++;
        else
          (*edges)[at[k]++] = (edge){row_first + row, col};
      }
    for (int k = 0; pass == 0 && k < keys; k++) {
      (*begin)[k + 1] += (*begin)[k];
      at[k] = (*begin)[k];
    }
  }
done:
  sl_free(at);
  sl_free(halo_key);
  return status;
}

/* Least covers of count blocks of edges. The result, freed by covers_free, is NULL on an error. */
static sley_status cover_all(const sl_inspection *ins, const edge *edges, const int64_t *begin, int count,
                             block_cover **out) {
  block_cover *blocks;
  SL_TRY(SL_NEW_ZERO(blocks, count, "remote blocks"));
  sley_dtype dtype = ins->block->dtype;
  for (int i = 0; i < count; i++)
    blocks[i] = (block_cover){.edges = edges + begin[i],
                              .count = begin[i + 1] - begin[i],
                              .row_weight =
                                  (int64_t)(sley_dtype_bytes(sl_sum_dtype(dtype)) / sley_dtype_bytes(dtype)),
                              .range = ins->block->cols};
  sley_status status = sl_team_for(sl_plan_team(ins), count, 1, cover_blocks, blocks);
  *out = blocks;
  if (status != SLEY_OK) {
    covers_free(blocks, count);
    *out = NULL;
  }
  return status;
}

/* Least covers of the blocks between this rank and every other; marks the columns of those that are decided
 * between ranks: within the workgroup, and everywhere if workgroups are single ranks. */
static sley_status cover_rank_blocks(sl_inspection *ins, int64_t *rows) {
  const sl_comm *comm = ins->comm;
  int *key = NULL;
  edge *edges = NULL;
  int64_t *begin = NULL;
  block_cover *blocks = NULL;
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW(key, comm->size, "block keys"), done);
  for (int p = 0; p < comm->size; p++)
    key[p] = p;
  SL_TRY_GOTO(status, group_edges(ins, key, comm->size, &edges, &begin), done);
  SL_TRY_GOTO(status, cover_all(ins, edges, begin, comm->size, &blocks), done);
  int group = sl_workgroup_of(comm, comm->rank);
  for (int p = 0; p < comm->size; p++) {
    *rows += blocks[p].cover.size;
    if (sl_workgroup_of(comm, p) != group && comm->workgroup > 1)
      continue;
    for (int64_t i = 0; i < blocks[p].columns.count; i++)
      ins->cover_use[sl_colset_place(&ins->halo_set, blocks[p].column[i])] = blocks[p].cover.col_in[i];
  }
done:
  covers_free(blocks, comm->size);
  sl_free(begin);
  sl_free(edges);
  sl_free(key);
  return status;
}

/* Member of this rank's workgroup that covers the block from another workgroup. */
static int handler_of(const sl_comm *comm, int source_group) {
  int group = sl_workgroup_of(comm, comm->rank);
  return sl_workgroup_first(comm, group) + source_group % sl_workgroup_size(comm, group);
}

/* Workgroup that owns a column. */
static int group_of_column(const sl_inspection *ins, int64_t col) {
  return sl_workgroup_of(ins->comm, sl_partition_owner(ins->col_begin, ins->comm->size, col));
}

/* Sorts edges by source workgroup, keeping their order: they come from the members in rank order, each in row
 * order, so rows ascend within a block. begin: workgroups + 1 starts. Both are the caller's, also on error.
 */
static sley_status split_by_source(const sl_inspection *ins, const edge *edges, int64_t count, edge **sorted,
                                   int64_t **begin) {
  int groups = sl_workgroups(ins->comm);
  int64_t *at;
  SL_TRY(SL_NEW(*sorted, count, "remote entries"));
  SL_TRY(SL_NEW_ZERO(*begin, groups + 1, "workgroup starts"));
  SL_TRY(SL_NEW(at, groups, "workgroup starts"));
  for (int64_t i = 0; i < count; i++)
    (*begin)[group_of_column(ins, edges[i].col) + 1]++;
  for (int g = 0; g < groups; g++) {
    (*begin)[g + 1] += (*begin)[g];
    at[g] = (*begin)[g];
  }
  for (int64_t i = 0; i < count; i++)
    (*sorted)[at[group_of_column(ins, edges[i].col)]++] = edges[i];
  sl_free(at);
  return SLEY_OK;
}

/* Least covers of the blocks this rank handles; answers each member with those of the columns it asked about
 * that are not in the cover. asked: edges by member, asked_count of each; answers are grouped alike. */
static sley_status cover_group_blocks(const sl_inspection *ins, const edge *asked, const int64_t *asked_count,
                                      int64_t **answers, int64_t *answer_count) {
  const sl_comm *comm = ins->comm;
  int groups = sl_workgroups(comm);
  int64_t total = 0, *begin = NULL, at = 0;
  edge *sorted = NULL;
  block_cover *blocks = NULL;
  for (int p = 0; p < comm->size; p++)
    total += asked_count[p];
  sley_status status;
  SL_TRY_GOTO(status, split_by_source(ins, asked, total, &sorted, &begin), done);
  SL_TRY_GOTO(status, cover_all(ins, sorted, begin, groups, &blocks), done);
  SL_TRY_GOTO(status, SL_NEW(*answers, total, "cover answers"), done);
  for (int p = 0; p < comm->size; p++) {
    answer_count[p] = 0;
    for (int64_t i = 0; i < asked_count[p]; i++, asked++) {
      const block_cover *b = &blocks[group_of_column(ins, asked->col)];
      if (!b->cover.col_in[sl_colset_place(&b->columns, asked->col)]) {
        (*answers)[at++] = asked->col;
        answer_count[p]++;
      }
    }
  }
done:
  covers_free(blocks, groups);
  sl_free(begin);
  sl_free(sorted);
  return status;
}

/* Edges to other workgroups, grouped by the member that handles their block. */
static sley_status group_by_handler(const sl_inspection *ins, edge **edges, int64_t *count) {
  const sl_comm *comm = ins->comm;
  int group = sl_workgroup_of(comm, comm->rank), groups = sl_workgroups(comm), *key, handled = 0;
  int64_t *begin = NULL;
  SL_TRY(SL_NEW(key, comm->size, "block keys"));
  for (int p = 0; p < comm->size; p++)
    key[p] = -1;
  /* Blocks are numbered so that those of one handler follow each other. */
  int *numbered;
  sley_status status = SL_NEW(numbered, groups, "block keys");
  for (int q = 0; status == SLEY_OK && q < comm->size; q++)
    for (int g = 0; g < groups; g++)
      if (g != group && handler_of(comm, g) == q) {
        for (int p = 0; p < sl_workgroup_size(comm, g); p++)
          key[sl_workgroup_first(comm, g) + p] = handled;
        numbered[handled++] = q;
      }
  if (status == SLEY_OK)
    status = group_edges(ins, key, handled, edges, &begin);
  for (int i = 0; status == SLEY_OK && i < handled; i++)
    count[numbered[i]] += begin[i + 1] - begin[i];
  sl_free(begin);
  sl_free(numbered);
  sl_free(key);
  return status;
}

/* Decides the blocks between workgroups of several ranks. Collective. */
static sley_status choose_between_groups(sl_inspection *ins) {
  sl_comm *comm = ins->comm;
  edge *request = NULL, *asked = NULL;
  int64_t *counts = NULL, *answers = NULL, *answered = NULL;
  sley_status status = SL_NEW_ZERO(counts, 4 * (int64_t)comm->size, "rank counts");
  int64_t *asked_count = counts + comm->size, *answer_count = asked_count + comm->size;
  if (status == SLEY_OK)
    status = group_by_handler(ins, &request, counts);
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  SL_TRY_GOTO(status, sl_exchange_items(comm, sizeof(edge), request, counts, (void **)&asked, asked_count),
              done);
  sl_free(request);
  request = NULL;
  SL_TRY_GOTO(status, sl_agree(comm, cover_group_blocks(ins, asked, asked_count, &answers, answer_count)),
              done);
  int64_t *answered_count = answer_count + comm->size;
  SL_TRY_GOTO(
      status,
      sl_exchange_items(comm, sizeof(int64_t), answers, answer_count, (void **)&answered, answered_count),
      done);
  int64_t total = 0;
  for (int p = 0; p < comm->size; p++)
    total += answered_count[p];
  for (int64_t i = 0; i < total; i++)
    ins->cover_use[sl_colset_place(&ins->halo_set, answered[i])] = 0;
done:
  sl_free(answered);
  sl_free(answers);
  sl_free(asked);
  sl_free(request);
  sl_free(counts);
  return status;
}

sley_status sl_cover_choose(sl_inspection *ins) {
  if (ins->cover_use)
    return SLEY_OK;
  sl_comm *comm = ins->comm;
  int64_t rows = 0;
  sley_status status = SL_NEW(ins->cover_use, ins->halo_set.count, "the cover");
  if (status == SLEY_OK) {
    memset(ins->cover_use, 1, (size_t)ins->halo_set.count);
    status = cover_rank_blocks(ins, &rows);
  }
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = comm->ops->allreduce(comm, SL_SUM, &rows, 1);
  if (status == SLEY_OK && comm->workgroup > 1 && comm->workgroup < comm->size)
    status = choose_between_groups(ins);
  if (status == SLEY_OK) {
    ins->cover_rows = rows;
  } else {
    sl_free(ins->cover_use);
    ins->cover_use = NULL;
  }
  return status;
}
