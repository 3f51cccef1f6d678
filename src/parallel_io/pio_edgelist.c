/* SPDX-License-Identifier: Apache-2.0 */
/* Edge lists: determines the numbering and the sizes from the lines of all ranks. */
#include "io/edgelist.h"

#include "io/text.h"
#include "partition/partition.h"
#include "parallel_io/pio_entries.h"
#include "parallel_io/pio_readers.h"

/* Counts, from a position in the head to the end of the text, all lines, and the lines that are neither blank
 * nor a comment. */
static sley_status count_lines(sl_comm *comm, const sl_pio_text *text, const char *in_head,
                               const char *comments, int64_t out[2]) {
  const char *begin = sl_pio_text_at(text, in_head);
  out[0] = sl_count_lines(begin, text->part.end);
  out[1] = sl_count_data_lines(begin, text->part.end, comments);
  return comm->ops->allreduce(comm, SL_SUM, out, 2);
}

sley_status sl_pio_is_edgelist(sl_comm *comm, const sl_pio_text *text, bool *out) {
  int64_t promised, lines[2];
  const char *body;
  bool other = false;
  if (sl_metis_head(&text->head, &promised, &body)) {
    SL_TRY(count_lines(comm, text, body, "%", lines));
    other = promised < 0 || (lines[1] <= promised && promised <= lines[0]);
  }
  if (!other && sl_mtx_bare_head(&text->head, &promised, &body)) {
    SL_TRY(count_lines(comm, text, body, "%#", lines));
    other = promised < 0 || lines[0] == promised || lines[1] == promised;
  }
  *out = !other;
  return SLEY_OK;
}

/* Combines the totals of all ranks' lines; pointers to lines stay with the ranks that have the lines. */
static sley_status combine(sl_comm *comm, sl_edge_totals *totals) {
  int64_t sum = totals->entries, least = totals->least;
  int64_t fewest = totals->fewest, cut = totals->cut;
  int64_t most[5] = {totals->most_row, totals->most_col, totals->wide, totals->valued, totals->most};
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, &sum, 1));
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, &cut, 1));
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, &least, 1));
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, &fewest, 1));
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, most, 5));
  bool has_least = totals->least == least, has_row = totals->most_row == most[0],
       has_col = totals->most_col == most[1], has_fields = totals->most == most[4];
  *totals = (sl_edge_totals){.entries = sum,
                             .least = least,
                             .most_row = most[0],
                             .most_col = most[1],
                             .least_at = has_least ? totals->least_at : NULL,
                             .row_at = has_row ? totals->row_at : NULL,
                             .col_at = has_col ? totals->col_at : NULL,
                             .fewest = fewest,
                             .most = most[4],
                             .cut = cut,
                             .most_at = has_fields ? totals->most_at : NULL,
                             .wide = most[2] != 0,
                             .valued = most[3] != 0};
  return SLEY_OK;
}

static sley_status parse(sl_comm *comm, sl_edge_lines *lines, sley_index index, bool valued,
                         sl_edge_totals *totals) {
  SL_TRY(sl_agree_alike(comm, sl_edge_parse(lines, index, valued, comm->team, totals)));
  return combine(comm, totals);
}

static sley_status read_lines(sl_pio_reading *r, sl_edge_lines *lines) {
  sl_comm *comm = r->comm;
  sl_edge_totals totals;
  bool wrong, valued = lines->valued;
  SL_TRY(sl_agree_alike(comm, sl_edge_count(lines, comm->team)));
  SL_TRY(parse(comm, lines, SLEY_I32, valued, &totals));
  if (totals.wide || totals.valued != valued)
    SL_TRY(parse(comm, lines, totals.wide ? SLEY_I64 : SLEY_I32, totals.valued, &totals));
  SL_TRY(sl_agree_alike(comm, sl_edge_shape(lines, &totals, &wrong)));
  sl_edge_tell(lines, &totals, &r->source);
  SL_TRY(sl_agree(comm, sl_edge_rebase(lines, comm->team)));
  r->entries_stored = totals.entries;
  sl_partition_equal(lines->coo.rows, comm->size, r->begin);
  return sl_entries_to_rows(comm, &lines->coo, SL_GENERAL, SL_SUM_REPEATS, r->begin, &r->block);
}

sley_status sl_pio_edgelist(sl_pio_reading *r, const sl_pio_text *text) {
  sl_edge_lines lines;
  sl_edge_head(&text->head, r->dtype, &lines);
  lines.part = &text->part;
  lines.begin = sl_pio_text_at(text, lines.body);
  sley_status status = read_lines(r, &lines);
  sl_edge_lines_free(&lines);
  return status;
}
