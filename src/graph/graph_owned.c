/* SPDX-License-Identifier: Apache-2.0 */
/* Sends entries to the owners of their columns, which sort them by column. They arrive in the order of the
 * ranks, and so of the rows, and the sort is stable. */
#include "graph/graph_owned.h"

#include "base/memory.h"
#include "graph/graph_memory.h"
#include "partition/partition.h"
#include "plan/colset.h"

/* An entry to be sent: its row and column in the whole matrix, its number in the row, and the number of the
 * row's entries. */
typedef struct travelling {
  int64_t row, col;
  int32_t place, length;
} travelling;

/* Entries received for one relation. */
typedef struct arrived {
  travelling *item;
  int64_t count;
} arrived;

typedef struct gathering {
  sl_comm *comm;
  const int64_t *row_begin, *col_begin;
  arrived *of; /* one per relation */
  int relations;
  sl_colset remote; /* rows of other ranks, of all relations */
  int64_t *item_begin;
} gathering;

/* Counts the block's entries for each rank, and lists them in send, in the order of the block. */
static sley_status sort_by_owner(const gathering *g, const sley_matrix *block, sl_owned *out,
                                 travelling *items) {
  const int ranks = g->comm->size;
  const int64_t first_row = g->row_begin[g->comm->rank];
  int64_t *next = NULL;
  SL_TRY(SL_NEW_ZERO(next, ranks + 1, "entries by owner"));
  for (int64_t e = block->rowptr[0]; e < block->rowptr[block->rows]; e++)
    next[sl_partition_owner(g->col_begin, ranks, sl_index_at(block->col, block->index, e)) + 1]++;
  for (int p = 0; p < ranks; p++)
    next[p + 1] += next[p];
  for (int p = 0; p <= ranks; p++)
    out->send_begin[p] = next[p];
  for (int64_t i = 0; i < block->rows; i++)
    for (int64_t e = block->rowptr[i]; e < block->rowptr[i + 1]; e++) {
      const int64_t col = sl_index_at(block->col, block->index, e);
      const int64_t at = next[sl_partition_owner(g->col_begin, ranks, col)]++;
      out->send[at] = e - block->rowptr[0];
      items[at] = (travelling){.row = first_row + i,
                               .col = col,
                               .place = (int32_t)(e - block->rowptr[i]),
                               .length = (int32_t)(block->rowptr[i + 1] - block->rowptr[i])};
    }
  sl_free(next);
  return SLEY_OK;
}

static sley_status take_lists(const gathering *g, const sley_matrix *block, sl_owned *out,
                              travelling **items) {
  const int ranks = g->comm->size;
  SL_TRY(SL_NEW(out->send, block->nnz, "entries by owner"));
  SL_TRY(SL_NEW(out->send_begin, ranks + 1, "entries by owner"));
  SL_TRY(SL_NEW(out->recv_begin, ranks + 1, "entries by owner"));
  SL_TRY(SL_NEW(*items, block->nnz, "entries by owner"));
  return sort_by_owner(g, block, out, *items);
}

/* Collective, agreed. */
static sley_status send_entries(gathering *g, const sley_matrix *block, sl_owned *out, arrived *to) {
  sl_comm *comm = g->comm;
  const int ranks = comm->size;
  travelling *items = NULL;
  int64_t *counts = NULL;
  void *received = NULL;
  sley_status status = take_lists(g, block, out, &items);
  if (status == SLEY_OK)
    status = SL_NEW(counts, 2 * (int64_t)ranks, "entries by owner");
  status = sl_agree(comm, status);
  if (status == SLEY_OK) {
    for (int p = 0; p < ranks; p++)
      counts[p] = out->send_begin[p + 1] - out->send_begin[p];
    status = sl_exchange_items(comm, sizeof *items, items, counts, &received, counts + ranks);
  }
  if (status == SLEY_OK) {
    out->recv_begin[0] = 0;
    for (int p = 0; p < ranks; p++)
      out->recv_begin[p + 1] = out->recv_begin[p] + counts[ranks + p];
    *to = (arrived){received, out->recv_begin[ranks]};
  }
  sl_free(counts);
  sl_free(items);
  return status;
}

/* Lists the rows of other ranks among items begin .. end - 1 of all relations. */
static int64_t remote_rows(const void *context, int64_t begin, int64_t end, int64_t *out) {
  const gathering *g = context;
  const int64_t first = g->row_begin[g->comm->rank], last = g->row_begin[g->comm->rank + 1];
  int64_t count = 0;
  int relation = 0;
  for (int64_t t = begin; t < end; t++) {
    while (t >= g->item_begin[relation + 1])
      relation++;
    const int64_t row = g->of[relation].item[t - g->item_begin[relation]].row;
    out[count] = row;
    count += row < first || row >= last;
  }
  return count;
}

static sley_status find_rows(gathering *g, int64_t **rows) {
  const int64_t own = g->row_begin[g->comm->rank + 1] - g->row_begin[g->comm->rank];
  SL_TRY(SL_NEW(g->item_begin, g->relations + 1, "entries by owner"));
  g->item_begin[0] = 0;
  for (int r = 0; r < g->relations; r++)
    g->item_begin[r + 1] = g->item_begin[r] + g->of[r].count;
  const sl_colset_source source = {g->item_begin[g->relations], remote_rows, g};
  SL_TRY(sl_colset_build(g->row_begin[g->comm->size], &source, g->comm->team, &g->remote));
  if (own + g->remote.count > INT32_MAX)
    return sl_fail(SLEY_ERR_OVERFLOW, "rank %d has and needs more than 2^31 - 1 rows: use more ranks",
                   g->comm->rank);
  SL_TRY(SL_NEW(*rows, g->remote.count, "the halo of rows"));
  return sl_colset_list(&g->remote, g->comm->team, *rows);
}

/* The pattern in host memory. */
typedef struct sorted {
  int64_t *rowptr;
  int32_t *col, *place;
  float *per_row_f32;
  double *per_row_f64;
} sorted;

static void sort_items(const gathering *g, const arrived *of, sl_owned *out, sorted *s) {
  const int64_t first_col = g->col_begin[g->comm->rank], first_row = g->row_begin[g->comm->rank],
                rows = g->row_begin[g->comm->rank + 1] - first_row, cols = out->pattern.rows;
  for (int64_t t = 0; t < of->count; t++)
    s->rowptr[of->item[t].col - first_col + 1]++;
  for (int64_t c = 0; c < cols; c++)
    s->rowptr[c + 1] += s->rowptr[c];
  for (int64_t t = 0; t < of->count; t++) {
    const travelling *item = &of->item[t];
    const int64_t at = s->rowptr[item->col - first_col]++;
    const bool own = item->row >= first_row && item->row < first_row + rows;
    const int64_t number = own ? item->row - first_row : rows + sl_colset_place(&g->remote, item->row);
    out->recv[t] = at;
    s->col[at] = (int32_t)number;
    s->place[at] = item->place;
    s->per_row_f32[number] = 1 / (float)item->length;
    s->per_row_f64[number] = 1 / (double)item->length;
  }
  for (int64_t c = cols; c > 0; c--) /* each position has advanced to the start of the next column */
    s->rowptr[c] = s->rowptr[c - 1];
  s->rowptr[0] = 0;
}

static sley_status upload_sorted(sl_comm *comm, const sorted *s, sl_owned *out) {
  sl_pattern *p = &out->pattern;
  const int64_t cols = p->cols;
  SL_TRY(sl_graph_list_long(comm, s->rowptr, p));
  SL_TRY(sl_graph_upload(comm, s->rowptr, p->rows + 1, sizeof *s->rowptr, (const void **)&p->rowptr));
  SL_TRY(sl_graph_upload(comm, s->col, out->entries, sizeof *s->col, (const void **)&p->col));
  SL_TRY(sl_graph_upload(comm, s->place, out->entries, sizeof *s->place, (const void **)&p->place));
  SL_TRY(
      sl_graph_upload(comm, s->per_row_f32, cols, sizeof *s->per_row_f32, (const void **)&out->per_row[0]));
  SL_TRY(
      sl_graph_upload(comm, s->per_row_f64, cols, sizeof *s->per_row_f64, (const void **)&out->per_row[1]));
  return comm->queue->ops->queue_wait(comm->queue); /* the host's copies must stay valid until then */
}

static sley_status make_sorted(const gathering *g, const arrived *of, sl_owned *out, sorted *s) {
  SL_TRY(SL_NEW(out->recv, of->count, "a graph's columns"));
  SL_TRY(SL_NEW_ZERO(s->rowptr, out->pattern.rows + 1, "a graph's columns"));
  SL_TRY(SL_NEW(s->col, of->count, "a graph's columns"));
  SL_TRY(SL_NEW(s->place, of->count, "a graph's columns"));
  SL_TRY(SL_NEW_ZERO(s->per_row_f32, out->pattern.cols, "a graph's rows"));
  SL_TRY(SL_NEW_ZERO(s->per_row_f64, out->pattern.cols, "a graph's rows"));
  sort_items(g, of, out, s);
  return upload_sorted(g->comm, s, out);
}

static sley_status make_pattern(const gathering *g, const arrived *of, sl_owned *out) {
  const int rank = g->comm->rank;
  sorted s = {0};
  out->entries = of->count;
  out->pattern.rows = g->col_begin[rank + 1] - g->col_begin[rank];
  out->pattern.cols = g->row_begin[rank + 1] - g->row_begin[rank] + g->remote.count;
  sley_status status = make_sorted(g, of, out, &s);
  sl_free(s.per_row_f64);
  sl_free(s.per_row_f32);
  sl_free(s.place);
  sl_free(s.col);
  sl_free(s.rowptr);
  return status;
}

static sley_status make_patterns(const gathering *g, sl_owned *out) {
  for (int r = 0; r < g->relations; r++)
    SL_TRY(make_pattern(g, &g->of[r], &out[r]));
  return SLEY_OK;
}

/* Collective, agreed. */
static sley_status find_halo(gathering *g, sl_halo **halo) {
  int64_t *rows = NULL;
  sley_status status = sl_agree(g->comm, find_rows(g, &rows));
  if (status != SLEY_OK) {
    sl_free(rows);
    return status;
  }
  return sl_halo_create(g->comm, g->row_begin, rows, g->remote.count, halo);
}

static sley_status make(gathering *g, const sley_matrix *const *blocks, sl_owned *out, sl_halo **halo) {
  SL_TRY(sl_agree(g->comm, SL_NEW_ZERO(g->of, g->relations, "entries by owner")));
  for (int r = 0; r < g->relations; r++)
    SL_TRY(send_entries(g, blocks[r], &out[r], &g->of[r]));
  SL_TRY(find_halo(g, halo));
  return sl_agree(g->comm, make_patterns(g, out));
}

sley_status sl_owned_make(sl_comm *comm, const sley_matrix *const *blocks, const int64_t *row_begin,
                          const int64_t *col_begin, int relations, sl_owned *out, sl_halo **halo) {
  gathering g = {.comm = comm, .row_begin = row_begin, .col_begin = col_begin, .relations = relations};
  sley_status status = make(&g, blocks, out, halo);
  for (int r = 0; g.of && r < relations; r++)
    sl_free(g.of[r].item);
  sl_free(g.of);
  sl_free(g.item_begin);
  sl_colset_free(&g.remote);
  return status;
}

void sl_owned_free(sl_comm *comm, sl_owned *owned) {
  sl_graph_give(comm, owned->per_row[1]);
  sl_graph_give(comm, owned->per_row[0]);
  sl_graph_give(comm, owned->pattern.long_row);
  sl_graph_give(comm, owned->pattern.place);
  sl_graph_give(comm, owned->pattern.col);
  sl_graph_give(comm, owned->pattern.rowptr);
  sl_free(owned->recv_begin);
  sl_free(owned->send_begin);
  sl_free(owned->recv);
  sl_free(owned->send);
  *owned = (sl_owned){0};
}
