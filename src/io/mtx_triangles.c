/* SPDX-License-Identifier: Apache-2.0 */
/* Checks symmetric Matrix Market files for an entry that is stored together with its mirror image, and would
 * count twice. */
#include "base/memory.h"
#include "io/mtx.h"

sley_status sl_mtx_triangle(const sl_mtx_lines *lines, bool above, sl_coo *out) {
  const sl_coo *coo = &lines->coo;
  int64_t count = 0, taken = 0;
  for (int64_t e = 0; e < coo->count; e++) {
    int64_t row = sl_index_at(coo->row, coo->index, e), col = sl_index_at(coo->col, coo->index, e);
    count += above ? row < col : row > col;
  }
  *out =
      (sl_coo){.rows = coo->rows, .cols = coo->cols, .count = count, .index = coo->index, .dtype = SLEY_F16};
  out->row = sl_alloc(count, sl_index_bytes(coo->index), "rows of a triangle");
  out->col = out->row ? sl_alloc(count, sl_index_bytes(coo->index), "columns of a triangle") : NULL;
  if (!out->col) {
    sl_coo_free(out);
    return SLEY_ERR_MEMORY;
  }
  for (int64_t e = 0; e < coo->count; e++) {
    int64_t row = sl_index_at(coo->row, coo->index, e), col = sl_index_at(coo->col, coo->index, e);
    if (above ? row >= col : row <= col)
      continue;
    sl_index_set(out->row, out->index, taken, above ? col : row);
    sl_index_set(out->col, out->index, taken, above ? row : col);
    taken++;
  }
  return SLEY_OK;
}

bool sl_mtx_in_both(const sley_matrix *below, const sley_matrix *above, int64_t *row, int64_t *col) {
  for (int64_t i = 0; i < below->rows; i++) {
    int64_t a = below->rowptr[i], b = above->rowptr[i];
    while (a < below->rowptr[i + 1] && b < above->rowptr[i + 1]) {
      int64_t left = sl_index_at(below->col, below->index, a),
              right = sl_index_at(above->col, above->index, b);
      if (left == right) {
        *row = i;
        *col = left;
        return true;
      }
      a += left < right;
      b += right < left;
    }
  }
  return false;
}

sley_status sl_mtx_tell_both(const sl_mtx_lines *lines, int64_t row, int64_t col) {
  const sl_coo *coo = &lines->coo;
  for (int64_t e = 0; e < coo->count; e++)
    if (sl_index_at(coo->row, coo->index, e) == col && sl_index_at(coo->col, coo->index, e) == row)
      return sl_text_fail(
          lines->part, sl_mtx_line_of(lines, e),
          "entry (%lld, %lld) stands beside (%lld, %lld): a file of a %ssymmetric matrix stores one of "
          "them; remove a triangle, or write general",
          (long long)col + 1, (long long)row + 1, (long long)row + 1, (long long)col + 1,
          lines->header->symmetry == SL_SKEW ? "skew-" : "");
  return SLEY_OK;
}
