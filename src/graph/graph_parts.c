/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a relation in two parts: rows that need nothing from the halo, on which kernels can work while
 * it arrives, and the other rows. */
#include "base/interrupt.h"
#include "base/memory.h"
#include "graph/graph.h"
#include "graph/graph_memory.h"

/* LEAST_SHARE: own rows with less than 1 / LEAST_SHARE of the rank's entries are not worth a call of a
 * kernel. */
enum { LEAST_SHARE = 16, GRAIN = 1 << 14 };

typedef struct parting {
  const int64_t *rowptr;
  const int32_t *number;
  int64_t own_cols;
  bool *other; /* for each row, whether it needs the halo */
} parting;

static sley_status tell_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const parting *t = context;
  for (int64_t i = begin; i < end; i++) {
    int64_t e = t->rowptr[i];
    while (e < t->rowptr[i + 1] && t->number[e] < t->own_cols)
      e++;
    t->other[i] = e < t->rowptr[i + 1];
  }
  return sl_interrupted();
}

/* Lists the rows of one part, and its long rows. */
static sley_status list_rows(sl_comm *comm, const parting *t, int64_t rows, bool other, sl_row_part *part) {
  sl_pattern host = {.rows = rows};
  int32_t *list = NULL;
  SL_TRY(SL_NEW(list, part->rows, "a graph's rows"));
  for (int64_t i = 0; i < rows; i++)
    if (t->other[i] == other)
      list[host.listed_rows++] = (int32_t)i;
  host.listed = list;
  sley_status status = sl_graph_list_long(comm, t->rowptr, &host);
  part->long_row = host.long_row;
  part->long_rows = host.long_rows;
  if (status == SLEY_OK)
    status = sl_graph_upload(comm, list, part->rows, sizeof *list, (const void **)&part->listed);
  if (status == SLEY_OK) /* the host's copy must stay valid until then */
    status = comm->queue->ops->queue_wait(comm->queue);
  sl_free(list);
  return status;
}

/* Nothing is listed on the CPU: both calls would read a rank's rows of X, which takes longer than the halo
 * takes to arrive. On two cores, with two ranks over tcp and k = 64, lists made sums of twin:cyt:scale=0.3,
 * and attention by dot products of twin:clj:scale=0.1, take 1.3 times as long. */
static sley_status part_rows(sl_comm *comm, parting *t, sl_relation *out) {
  const int64_t rows = out->by_rows.rows;
  int64_t own_entries = 0;
  SL_TRY(sl_team_for(comm->team, rows, GRAIN, tell_rows, t));
  for (int64_t i = 0; i < rows; i++) {
    out->other_rows.rows += t->other[i];
    own_entries += t->other[i] ? 0 : t->rowptr[i + 1] - t->rowptr[i];
  }
  out->own_rows.rows = rows - out->other_rows.rows;
  if (out->other_rows.rows == 0 || own_entries == 0 || own_entries < out->entries / LEAST_SHARE ||
      comm->device->ops->host_addresses)
    return SLEY_OK;
  SL_TRY(list_rows(comm, t, rows, false, &out->own_rows));
  return list_rows(comm, t, rows, true, &out->other_rows);
}

sley_status sl_relation_part(sl_comm *comm, const int64_t *rowptr, const int32_t *number, sl_relation *out) {
  parting t = {.rowptr = rowptr, .number = number, .own_cols = out->own_cols};
  if (comm->size == 1)
    return SLEY_OK;
  SL_TRY(SL_NEW(t.other, out->by_rows.rows, "a graph's rows"));
  sley_status status = part_rows(comm, &t, out);
  sl_free(t.other);
  return status;
}

sl_pattern sl_relation_rows(const sl_relation *relation, const sl_row_part *part) {
  sl_pattern p = relation->by_rows;
  if (!part->listed)
    return p;
  p.listed = part->listed;
  p.listed_rows = part->rows;
  p.long_row = part->long_row;
  p.long_rows = part->long_rows;
  return p;
}

void sl_row_part_free(sl_comm *comm, sl_row_part *part) {
  sl_graph_give(comm, part->long_row);
  sl_graph_give(comm, part->listed);
  *part = (sl_row_part){0};
}
