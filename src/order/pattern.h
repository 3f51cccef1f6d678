/* SPDX-License-Identifier: Apache-2.0 */
/* A square matrix's pattern by rows and by columns, without the diagonal and without repeats. */
#ifndef SLEY_ORDER_PATTERN_H
#define SLEY_ORDER_PATTERN_H

#include "matrix/matrix.h"

enum { SL_OF_ROWS, SL_OF_COLUMNS };

/* The list of vertex v on a side is neighbour[side][begin[side][v] .. begin[side][v + 1]), ascending: the
 * columns of row v on the side SL_OF_ROWS, the rows of column v on the side SL_OF_COLUMNS. */
typedef struct sl_pattern {
  int32_t count;
  int sides; /* 1: the pattern is symmetric and both sides are the same arrays; else 2 */
  int64_t *begin[2];
  int32_t *neighbour[2];
} sl_pattern;

/* Copies the pattern of a matrix of at most 2^31 - 1 rows. Freed by sl_pattern_free, also on error. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_pattern_create(const sley_matrix *matrix, sl_pattern *out);
void sl_pattern_free(sl_pattern *pattern);

#endif
