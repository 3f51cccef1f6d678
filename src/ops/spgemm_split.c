/* SPDX-License-Identifier: Apache-2.0 */
/* All threads add up the work of pieces of rows; within the piece in which a part ends, single rows are
 * added. */
#include "ops/spgemm_split.h"

#include "base/memory.h"

enum { PIECES = 2048, PIECE_LEAST = 32 };

typedef struct split {
  const sley_csr *a, *b;
  int64_t first, end, piece; /* rows to split; rows per piece */
  double *work;              /* work of each piece */
} split;

static double work_of_row(const split *s, int64_t row) {
  double work = 1;
  for (int64_t e = s->a->rowptr[row]; e < s->a->rowptr[row + 1]; e++) {
    const int64_t k = sl_index_at(s->a->col, s->a->index, e);
    work += (double)(s->b->rowptr[k + 1] - s->b->rowptr[k]);
  }
  return work;
}

static sley_status add_up(void *context, int64_t begin, int64_t end, int thread) {
  split *s = context;
  (void)thread;
  for (int64_t n = begin; n < end; n++) {
    const int64_t from = s->first + n * s->piece, until = from + s->piece < s->end ? from + s->piece : s->end;
    s->work[n] = 0;
    for (int64_t row = from; row < until; row++)
      s->work[n] += work_of_row(s, row);
  }
  return SLEY_OK;
}

/* Finds the starts of parts: the rows before which the work is nearest to the earlier parts' share. */
static void place(const split *s, int64_t pieces, int parts, int64_t *begin) {
  double total = 0, passed = 0;
  for (int64_t n = 0; n < pieces; n++)
    total += s->work[n];
  int64_t n = 0;
  for (int part = 1; part < parts; part++) {
    const double wanted = total * part / parts;
    for (; n < pieces && passed + s->work[n] <= wanted; n++)
      passed += s->work[n];
    double until = passed;
    int64_t row = s->first + n * s->piece;
    for (; row < s->end; row++) {
      const double work = work_of_row(s, row);
      if (until + work / 2 > wanted)
        break;
      until += work;
    }
    begin[part] = row < s->end ? row : s->end;
  }
}

sley_status sl_spgemm_split(const sley_csr *a, const sley_csr *b, int64_t first, int64_t end, int parts,
                            sl_team *team, int64_t *begin) {
  begin[0] = first;
  begin[parts] = end;
  if (parts == 1)
    return SLEY_OK;
  split s = {.a = a, .b = b, .first = first, .end = end, .piece = (end - first + PIECES - 1) / PIECES};
  if (s.piece < PIECE_LEAST)
    s.piece = PIECE_LEAST;
  const int64_t pieces = (end - first + s.piece - 1) / s.piece;
  SL_TRY(SL_NEW(s.work, pieces > 0 ? pieces : 1, "the work of rows"));
  const sley_status status = sl_team_for(team, pieces, 1, add_up, &s);
  if (status == SLEY_OK)
    place(&s, pieces, parts, begin);
  sl_free(s.work);
  return status;
}
