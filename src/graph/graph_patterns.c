/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the patterns of a relation: rows as they are, columns by counting and placing, and the lengths of
 * rows. */
#include "base/interrupt.h"
#include "base/memory.h"
#include "graph/graph.h"
#include "graph/graph_memory.h"
#include "matrix/scatter.h"

enum { GRAIN = 1 << 14 };

/* Arrays that are made in host memory before they are copied to the device. */
typedef struct making {
  const sley_matrix *block;
  const int32_t *number; /* number of each entry's column */
  int64_t *rowptr;
  sl_scatter scatter;
  int64_t *colptr;
  int32_t *row, *place;
  float *per_row_f32;
  double *per_row_f64;
} making;

static sley_status measure_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const making *m = context;
  const int64_t *rowptr = m->block->rowptr, first = rowptr[0];
  for (int64_t i = begin; i < end; i++) {
    const int64_t entries = rowptr[i + 1] - rowptr[i];
    m->rowptr[i] = rowptr[i] - first;
    m->per_row_f64[i] = entries > 0 ? 1 / (double)entries : 0;
    m->per_row_f32[i] = entries > 0 ? 1 / (float)entries : 0;
  }
  return sl_interrupted();
}

/* First row of chunk c. */
static int64_t chunk_row(const making *m, int64_t c) {
  return sl_csr_split(m->block->rows, m->block->rowptr, (int)c, m->scatter.chunks);
}

static sley_status count_columns(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const making *m = context;
  for (int64_t t = begin; t < end; t++) {
    const sl_scatter_task task = sl_scatter_task_of(&m->scatter, t);
    const int64_t last = m->rowptr[chunk_row(m, task.chunk + 1)];
    for (int64_t e = m->rowptr[chunk_row(m, task.chunk)]; e < last; e++)
      if (sl_scatter_takes(&task, m->number[e]))
        task.next[m->number[e]]++;
  }
  return sl_interrupted();
}

static sley_status place_entries(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const making *m = context;
  for (int64_t t = begin; t < end; t++) {
    const sl_scatter_task task = sl_scatter_task_of(&m->scatter, t);
    const int64_t last = chunk_row(m, task.chunk + 1);
    for (int64_t i = chunk_row(m, task.chunk); i < last; i++)
      for (int64_t e = m->rowptr[i]; e < m->rowptr[i + 1]; e++) {
        if (!sl_scatter_takes(&task, m->number[e]))
          continue;
        const int64_t at = task.next[m->number[e]]++;
        m->row[at] = (int32_t)i;
        m->place[at] = (int32_t)(e - m->rowptr[i]);
      }
  }
  return sl_interrupted();
}

static int64_t column_of(const void *context, int64_t entry) {
  const making *m = context;
  return m->number[entry];
}

/* Sorts entries by column; entries of a column keep the order of their rows. */
static sley_status sort_by_columns(making *m, int64_t cols, sl_team *team) {
  const int64_t entries = m->block->nnz;
  SL_TRY(SL_NEW(m->colptr, cols + 1, "a graph's columns"));
  SL_TRY(SL_NEW(m->row, entries, "a graph's columns"));
  SL_TRY(SL_NEW(m->place, entries, "a graph's columns"));
  SL_TRY(sl_scatter_begin(cols, entries, column_of, m, team, &m->scatter));
  SL_TRY(sl_team_for(team, m->scatter.tasks, 1, count_columns, m));
  SL_TRY(sl_scatter_place(&m->scatter, team, m->colptr));
  return sl_team_for(team, m->scatter.tasks, 1, place_entries, m);
}

static sley_status upload_rows(sl_comm *comm, const making *m, sl_relation *out) {
  sl_pattern *p = &out->by_rows;
  SL_TRY(sl_graph_list_long(comm, m->rowptr, p));
  SL_TRY(sl_graph_upload(comm, m->rowptr, p->rows + 1, sizeof *m->rowptr, (const void **)&p->rowptr));
  SL_TRY(sl_graph_upload(comm, m->number, out->entries, sizeof *m->number, (const void **)&p->col));
  SL_TRY(sl_graph_upload(comm, m->per_row_f32, p->rows, sizeof *m->per_row_f32,
                         (const void **)&out->per_row[0]));
  return sl_graph_upload(comm, m->per_row_f64, p->rows, sizeof *m->per_row_f64,
                         (const void **)&out->per_row[1]);
}

static sley_status upload_columns(sl_comm *comm, const making *m, sl_relation *out) {
  sl_pattern *p = &out->by_columns;
  p->of_row = out->by_rows.rowptr;
  SL_TRY(sl_graph_list_long(comm, m->colptr, p));
  out->own_long = sl_graph_count_long(m->colptr, out->own_cols);
  SL_TRY(sl_graph_upload(comm, m->colptr, p->rows + 1, sizeof *m->colptr, (const void **)&p->rowptr));
  SL_TRY(sl_graph_upload(comm, m->row, out->entries, sizeof *m->row, (const void **)&p->col));
  return sl_graph_upload(comm, m->place, out->entries, sizeof *m->place, (const void **)&p->place);
}

static sley_status make(sl_comm *comm, making *m, int64_t cols, bool by_columns, sl_relation *out) {
  const sley_matrix *block = m->block;
  SL_TRY(SL_NEW(m->rowptr, block->rows + 1, "a graph's rows"));
  SL_TRY(SL_NEW(m->per_row_f32, block->rows, "a graph's rows"));
  SL_TRY(SL_NEW(m->per_row_f64, block->rows, "a graph's rows"));
  SL_TRY(sl_team_for(comm->team, block->rows, GRAIN, measure_rows, m));
  m->rowptr[block->rows] = block->nnz;
  SL_TRY(upload_rows(comm, m, out));
  SL_TRY(sl_relation_part(comm, m->rowptr, m->number, out));
  if (!by_columns)
    return SLEY_OK;
  SL_TRY(sort_by_columns(m, cols, comm->team));
  return upload_columns(comm, m, out);
}

sley_status sl_relation_make(sl_comm *comm, const sley_matrix *block, const int32_t *number, int64_t own_cols,
                             int64_t cols, bool by_columns, sl_relation *out) {
  *out = (sl_relation){.entries = block->nnz,
                       .own_cols = own_cols,
                       .by_rows = {.rows = block->rows, .cols = cols},
                       .by_columns = {.rows = cols, .cols = block->rows}};
  making m = {.block = block, .number = number};
  sley_status status = make(comm, &m, cols, by_columns, out);
  if (status == SLEY_OK) /* the host's copies must stay valid until then */
    status = comm->queue->ops->queue_wait(comm->queue);
  sl_scatter_end(&m.scatter);
  sl_free(m.place);
  sl_free(m.row);
  sl_free(m.colptr);
  sl_free(m.per_row_f64);
  sl_free(m.per_row_f32);
  sl_free(m.rowptr);
  if (status != SLEY_OK)
    sl_relation_free(comm, out);
  return status;
}

sl_pattern sl_relation_columns(const sl_relation *relation, bool halo) {
  sl_pattern p = relation->by_columns;
  const int64_t own = relation->own_cols, own_long = relation->own_long;
  p.rows = halo ? p.rows - own : own;
  p.long_rows = halo ? p.long_rows - own_long : own_long;
  if (!halo)
    return p;
  p.rowptr += own;
  p.long_row = p.long_rows > 0 ? p.long_row + own_long : NULL;
  p.long_base = own;
  return p;
}

void sl_relation_free(sl_comm *comm, sl_relation *relation) {
  sl_graph_give(comm, relation->by_columns.long_row);
  sl_graph_give(comm, relation->by_columns.place);
  sl_graph_give(comm, relation->by_columns.col);
  sl_graph_give(comm, relation->by_columns.rowptr);
  sl_graph_give(comm, relation->per_row[1]);
  sl_graph_give(comm, relation->per_row[0]);
  sl_row_part_free(comm, &relation->other_rows);
  sl_row_part_free(comm, &relation->own_rows);
  sl_graph_give(comm, relation->by_rows.long_row);
  sl_graph_give(comm, relation->by_rows.col);
  sl_graph_give(comm, relation->by_rows.rowptr);
  *relation = (sl_relation){0};
}
