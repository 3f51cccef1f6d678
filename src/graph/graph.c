/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: the common halo of all relations, and each relation's patterns with columns numbered by it. */
#include "graph/graph.h"

#include "base/memory.h"
#include "partition/partition.h"
#include "plan/colset.h"

/* The arguments of sl_graph_create, which every rank checks by itself, and working data. */
typedef struct request {
  sl_comm *comm;
  const sley_matrix *const *blocks;
  const int64_t *row_begin, *col_begin;
  int relations;
  int64_t first, cols;  /* this rank's rows of X: first .. first + cols - 1 */
  sl_colset remote;     /* columns of other ranks, of all relations */
  int64_t *entry_begin; /* start of the entries of each relation among all entries; relations + 1 elements */
} request;

static sley_status check_partition(const char *what, const int64_t *begin, int ranks) {
  if (begin[0] != 0)
    return sl_fail(SLEY_ERR_ARG, "sley_graph_create: the partition of the %s begins with %lld instead of 0",
                   what, (long long)begin[0]);
  for (int r = 0; r < ranks; r++)
    if (begin[r] > begin[r + 1])
      return sl_fail(SLEY_ERR_ARG, "sley_graph_create: the partition of the %s descends at rank %d", what, r);
  return SLEY_OK;
}

static sley_status check_block(const request *q, int relation) {
  const sley_matrix *block = q->blocks[relation];
  const sl_comm *comm = q->comm;
  const int64_t rows = q->row_begin[comm->rank + 1] - q->row_begin[comm->rank];
  if (!block)
    return sl_fail(SLEY_ERR_ARG, "sley_graph_create: the block of relation %d is NULL", relation);
  if (block->rows != rows || block->cols != q->col_begin[comm->size])
    return sl_fail(
        SLEY_ERR_ARG,
        "sley_graph_create: the block of relation %d is %lld x %lld, the partitions say %lld x %lld",
        relation, (long long)block->rows, (long long)block->cols, (long long)rows,
        (long long)q->col_begin[comm->size]);
  if (rows > INT32_MAX || sl_matrix_max_row(block) > INT32_MAX)
    return sl_fail(
        SLEY_ERR_OVERFLOW,
        "sley_graph_create: relation %d has more than 2^31 - 1 rows on rank %d, or a row with more "
        "entries: use more ranks",
        relation, comm->rank);
  return SLEY_OK;
}

static sley_status check(const request *q) {
  SL_TRY(check_partition("rows", q->row_begin, q->comm->size));
  SL_TRY(check_partition("columns", q->col_begin, q->comm->size));
  for (int r = 0; r < q->relations; r++)
    SL_TRY(check_block(q, r));
  return SLEY_OK;
}

/* Checks that all ranks have passed the same arguments. Collective. */
static sley_status check_same(const request *q, const sley_graph_options *o) {
  static const char *const name[] = {"relations", "forward", "reproducible", "row_begin", "col_begin"};
  const int64_t given[] = {o->relations, o->forward, o->reproducible,
                           sl_partition_hash(q->row_begin, q->comm->size),
                           sl_partition_hash(q->col_begin, q->comm->size)};
  return sl_agree_same(q->comm, "sley_graph_create", name, given, 5);
}

/* Lists the columns of other ranks among entries begin .. end - 1 of all relations. */
static int64_t remote_columns(const void *context, int64_t begin, int64_t end, int64_t *out) {
  const request *q = context;
  int64_t count = 0;
  int relation = 0;
  for (int64_t e = begin; e < end; e++) {
    while (e >= q->entry_begin[relation + 1])
      relation++;
    const sley_matrix *block = q->blocks[relation];
    const int64_t col =
        sl_index_at(block->col, block->index, block->rowptr[0] + e - q->entry_begin[relation]);
    out[count] = col;
    count += col < q->first || col >= q->first + q->cols;
  }
  return count;
}

static sley_status find_remote(request *q, int64_t **rows) {
  SL_TRY(SL_NEW(q->entry_begin, q->relations + 1, "a graph"));
  q->entry_begin[0] = 0;
  for (int r = 0; r < q->relations; r++)
    q->entry_begin[r + 1] = q->entry_begin[r] + q->blocks[r]->nnz;
  const sl_colset_source source = {q->comm->size == 1 ? 0 : q->entry_begin[q->relations], remote_columns, q};
  SL_TRY(sl_colset_build(q->col_begin[q->comm->size], &source, q->comm->team, &q->remote));
  if (q->cols + q->remote.count > INT32_MAX)
    return sl_fail(SLEY_ERR_OVERFLOW,
                   "sley_graph_create: rank %d has and needs more than 2^31 - 1 rows of X: use more ranks",
                   q->comm->rank);
  SL_TRY(SL_NEW(*rows, q->remote.count, "the halo"));
  return sl_colset_list(&q->remote, q->comm->team, *rows);
}

/* Collective, agreed. */
static sley_status find_halo(request *q, sl_halo **out) {
  int64_t *rows = NULL;
  sley_status status = sl_agree(q->comm, find_remote(q, &rows));
  if (status != SLEY_OK) {
    sl_free(rows);
    return status;
  }
  return sl_halo_create(q->comm, q->col_begin, rows, q->remote.count, out);
}

typedef struct numbering {
  const request *q;
  const sley_matrix *block;
  int32_t *number;
} numbering;

static sley_status number_range(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const numbering *n = context;
  const request *q = n->q;
  const sley_matrix *block = n->block;
  for (int64_t e = begin; e < end; e++) {
    const int64_t col = sl_index_at(block->col, block->index, block->rowptr[0] + e);
    const bool own = col >= q->first && col < q->first + q->cols;
    n->number[e] = (int32_t)(own ? col - q->first : q->cols + sl_colset_place(&q->remote, col));
  }
  return SLEY_OK;
}

static sley_status make_relation(const request *q, const sley_matrix *block, bool by_columns,
                                 sl_relation *out) {
  enum { GRAIN = 1 << 16 };
  numbering n = {.q = q, .block = block};
  sley_status status = SL_NEW(n.number, block->nnz, "a graph's entries");
  if (status == SLEY_OK)
    status = sl_team_for(q->comm->team, block->nnz, GRAIN, number_range, &n);
  if (status == SLEY_OK)
    status = sl_relation_make(q->comm, block, n.number, q->cols, q->cols + q->remote.count, by_columns, out);
  sl_free(n.number);
  return status;
}

static sley_status make_relations(const request *q, sley_graph *graph) {
  SL_TRY(SL_NEW_ZERO(graph->relation, q->relations, "a graph"));
  graph->relations = q->relations;
  for (int r = 0; r < q->relations; r++)
    SL_TRY(make_relation(q, q->blocks[r], !graph->forward && !sl_graph_pulls(graph), &graph->relation[r]));
  return SLEY_OK;
}

/* Creates the data that owners of columns need. Collective, agreed. */
static sley_status make_owned(const request *q, sley_graph *graph) {
  sl_owned *owned = NULL;
  if (!sl_graph_pulls(graph))
    return SLEY_OK;
  sley_status status = sl_agree(q->comm, SL_NEW_ZERO(owned, q->relations, "a graph"));
  if (status == SLEY_OK)
    status =
        sl_owned_make(q->comm, q->blocks, q->row_begin, q->col_begin, q->relations, owned, &graph->row_halo);
  for (int r = 0; owned && r < q->relations; r++)
    graph->relation[r].owned = owned[r];
  sl_free(owned);
  return status;
}

static int64_t mean_of(int64_t entries, int64_t rows) {
  return rows > 0 ? (entries + rows - 1) / rows : 0;
}

/* Computes the average entries of rows and columns, over all ranks. Collective, agreed. */
static sley_status set_means(const request *q, sley_graph *graph) {
  int64_t *entries = NULL;
  sl_comm *comm = q->comm;
  sley_status status = sl_agree(comm, SL_NEW(entries, q->relations, "a graph"));
  for (int r = 0; r < q->relations && status == SLEY_OK; r++)
    entries[r] = graph->relation[r].entries;
  if (status == SLEY_OK)
    status = comm->ops->allreduce(comm, SL_SUM, entries, q->relations);
  for (int r = 0; r < q->relations && status == SLEY_OK; r++) {
    sl_relation *relation = &graph->relation[r];
    relation->by_rows.mean_entries = mean_of(entries[r], q->row_begin[comm->size]);
    relation->by_columns.mean_entries = mean_of(entries[r], q->col_begin[comm->size]);
    relation->owned.pattern.mean_entries = relation->by_columns.mean_entries;
  }
  sl_free(entries);
  return status;
}

static sley_status make_graph(request *q, const sley_graph_options *o, sley_graph **out) {
  sl_comm *comm = q->comm;
  sley_status status = sl_agree(comm, SL_NEW_ZERO(*out, 1, "a graph"));
  if (status != SLEY_OK)
    return status;
  sley_graph *graph = *out;
  *graph = (sley_graph){.comm = comm,
                        .rows = q->row_begin[comm->rank + 1] - q->row_begin[comm->rank],
                        .cols = q->cols,
                        .forward = o->forward,
                        .reproducible = o->reproducible};
  SL_TRY(find_halo(q, &graph->halo));
  SL_TRY(sl_agree(comm, make_relations(q, graph)));
  SL_TRY(make_owned(q, graph));
  return set_means(q, graph);
}

sley_status sl_graph_create(sl_comm *comm, const sley_matrix *const *blocks, const int64_t *row_begin,
                            const int64_t *col_begin, const sley_graph_options *options, sley_graph **out) {
  request q = {.comm = comm,
               .blocks = blocks,
               .row_begin = row_begin,
               .col_begin = col_begin,
               .relations = options->relations,
               .first = col_begin[comm->rank],
               .cols = col_begin[comm->rank + 1] - col_begin[comm->rank]};
  sley_graph *graph = NULL;
  *out = NULL;
  SL_TRY(sl_agree(comm, check(&q)));
  SL_TRY(check_same(&q, options));
  sley_status status = make_graph(&q, options, &graph);
  sl_colset_free(&q.remote);
  sl_free(q.entry_begin);
  if (status != SLEY_OK) {
    sl_graph_destroy(graph);
    return status;
  }
  *out = graph;
  return SLEY_OK;
}

void sl_graph_destroy(sley_graph *graph) {
  if (!graph)
    return;
  for (int r = 0; graph->relation && r < graph->relations; r++) {
    sl_owned_free(graph->comm, &graph->relation[r].owned);
    sl_relation_free(graph->comm, &graph->relation[r]);
  }
  sl_free(graph->relation);
  sl_halo_release(graph->row_halo);
  sl_halo_release(graph->halo);
  sl_free(graph);
}
