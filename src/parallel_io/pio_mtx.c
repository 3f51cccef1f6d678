/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix Market files: the division of the lines among ranks, and the checks of their total number. */
#include "io/mtx.h"

#include "partition/partition.h"
#include "parallel_io/pio_entries.h"
#include "parallel_io/pio_readers.h"
#include "parallel_io/pio_alltoall.h"

/* Counts the entries of all parts, and of the parts before this one. */
static sley_status count_all(sl_comm *comm, sl_mtx_lines *lines, bool blank_lines, int64_t *found) {
  SL_TRY(sl_agree_alike(comm, sl_mtx_count(lines, blank_lines, comm->team)));
  return sl_prefix_sum(comm, lines->count, &lines->before, found);
}

static sley_status parse(sl_pio_reading *r, sl_mtx_lines *lines) {
  sl_comm *comm = r->comm;
  int64_t found;
  SL_TRY(count_all(comm, lines, false, &found));
  if (found > lines->header->count)
    SL_TRY(count_all(comm, lines, true, &found));
  SL_TRY(sl_agree_alike(comm, sl_mtx_check_count(lines, found)));
  SL_TRY(sl_agree_alike(comm, sl_mtx_parse_lines(lines, r->dtype, comm->team)));
  return sl_agree_alike(comm, lines->missing ? sl_mtx_tell_missing(lines) : SLEY_OK);
}

/* Checks that no entry is stored together with its own mirror image, which another rank may have read. */
static sley_status check_triangles(sl_pio_reading *r, const sl_mtx_lines *lines) {
  sl_comm *comm = r->comm;
  int64_t sides[2] = {lines->below, lines->above}, first[2] = {INT64_MAX, INT64_MAX};
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, sides, 2));
  if (!sides[0] || !sides[1])
    return SLEY_OK;
  sley_matrix *triangle[2] = {NULL, NULL};
  sl_coo places = {0};
  sley_status status = SLEY_OK;
  for (int above = 0; above < 2 && status == SLEY_OK; above++) {
    status = sl_agree(comm, sl_mtx_triangle(lines, above, &places));
    if (status == SLEY_OK)
      status = sl_entries_to_rows(comm, &places, SL_GENERAL, SL_SUM_REPEATS, r->begin, &triangle[above]);
    sl_coo_free(&places);
  }
  if (status == SLEY_OK && sl_mtx_in_both(triangle[0], triangle[1], &first[0], &first[1]))
    first[0] += r->begin[comm->rank];
  sl_matrix_destroy(triangle[0]);
  sl_matrix_destroy(triangle[1]);
  SL_TRY(status);
  int64_t row = first[0];
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, &row, 1));
  int64_t col = first[0] == row ? first[1] : INT64_MAX; /* only one rank has the row */
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, &col, 1));
  return sl_agree_alike(comm, row == INT64_MAX ? SLEY_OK : sl_mtx_tell_both(lines, row, col));
}

sley_status sl_pio_mtx(sl_pio_reading *r, const sl_pio_text *text) {
  sl_comm *comm = r->comm;
  sl_mtx_header header;
  sl_mtx_lines lines = {0};
  SL_TRY(sl_agree_alike(comm, sl_mtx_read_header(&text->head, &header)));
  sley_status status =
      sl_mtx_cut(&text->head, &header, &text->part, sl_pio_text_at(text, header.body), &lines);
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = parse(r, &lines);
  if (status == SLEY_OK) {
    r->entries_stored = header.count;
    sl_partition_equal(header.rows, comm->size, r->begin);
    if (header.symmetry != SL_GENERAL)
      status = check_triangles(r, &lines);
  }
  if (status == SLEY_OK)
    status = sl_entries_to_rows(comm, &lines.coo, header.symmetry, SL_SUM_REPEATS, r->begin, &r->block);
  sl_mtx_lines_free(&lines);
  return status;
}
