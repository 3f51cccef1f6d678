/* SPDX-License-Identifier: Apache-2.0 */
/* How sums over many rows are divided, by shapes alone: each block of rows is summed from its first row to
 * its last. The sums of each SL_SUM_GROUP consecutive blocks are added in ascending order, starting from 0;
 * then the sums of the groups are added in the same way. */
#ifndef SLEY_DEVICE_SUM_BLOCKS_H
#define SLEY_DEVICE_SUM_BLOCKS_H

#include <stdint.h>

/* SL_SUM_ROWS: the rows of a block are a multiple of this. SL_SUMS_MOST: most sums of blocks that are kept,
 * 32 MiB. */
enum { SL_SUM_ROWS = 256, SL_SUMS_MOST = 1 << 22, SL_SUM_GROUP = 64 };

/* Rows of a block, if each row has cols values to be summed. */
static inline int64_t sl_sum_rows(int64_t rows, int64_t cols) {
  int64_t most = cols < SL_SUMS_MOST ? SL_SUMS_MOST / (cols > 0 ? cols : 1) : 1;
  int64_t least = rows / most + (rows % most > 0);
  return least <= SL_SUM_ROWS ? SL_SUM_ROWS : (least + SL_SUM_ROWS - 1) / SL_SUM_ROWS * SL_SUM_ROWS;
}

static inline int64_t sl_sum_blocks(int64_t rows, int64_t cols) {
  int64_t each = sl_sum_rows(rows, cols);
  return rows / each + (rows % each > 0);
}

#endif
