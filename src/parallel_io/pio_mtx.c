/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix Market files: who reads which lines, and what the ranks' counts of lines say together. */
#include "io/mtx.h"

#include "base/memory.h"
#include "partition/partition.h"
#include "parallel_io/pio_entries.h"
#include "parallel_io/pio_readers.h"
#include "parallel_io/pio_alltoall.h"

/* Counts the entries of all parts, and those before this one. */
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
    status = sl_entries_to_rows(comm, &lines.coo, header.symmetry, SL_SUM_REPEATS, r->begin, &r->block);
  }
  sl_mtx_lines_free(&lines);
  return status;
}
