/* SPDX-License-Identifier: Apache-2.0 */
/* Moves rows from one partition to another. */
#include <string.h>

#include "base/memory.h"
#include "parallel_io/pio_entries.h"
#include "parallel_io/pio_alltoall.h"

/* Properties of the matrix that a rank without rows must learn. */
typedef struct shape {
  int64_t cols, index, dtype;
  bool missing; /* a rank passes no block */
} shape;

typedef struct move {
  sl_comm *comm;
  const sley_matrix *block;
  const int64_t *from, *to;
  shape shape;
  int64_t *lengths; /* lengths of the rows to send */
  sl_csr_arrays taken;
  sl_alltoall_lists rows, trade; /* lists in rows, and in bytes */
} move;

/* Returns the number of rows that belong to rank a in the partition `from` and to rank b in the partition
   `to`; *first: the first such row. */
static int64_t common(const move *m, int a, int b, int64_t *first) {
  int64_t end = m->from[a + 1] < m->to[b + 1] ? m->from[a + 1] : m->to[b + 1];
  *first = m->from[a] > m->to[b] ? m->from[a] : m->to[b];
  return end > *first ? end - *first : 0;
}

static int64_t own_rows(const move *m) {
  return m->from[m->comm->rank + 1] - m->from[m->comm->rank];
}

/* Sends the matrix's columns and types to all ranks, from the ranks that have rows. */
static sley_status learn_shape(move *m) {
  int64_t words[4] = {-1, -1, -1, m->block == NULL};
  if (m->block) {
    words[0] = m->block->cols;
    words[1] = m->block->index;
    words[2] = m->block->dtype;
  }
  SL_TRY(m->comm->ops->allreduce(m->comm, SL_MAX, words, 4));
  m->shape = (shape){words[0], words[1], words[2], words[3] != 0};
  return SLEY_OK;
}

/* Computes row pointers of the rows this rank receives, from exchanged lengths. */
static sley_status trade_lengths(move *m, int64_t rows) {
  sl_comm *comm = m->comm;
  int me = comm->rank;
  int64_t first, sent = own_rows(m);
  sley_status status = SL_NEW(m->lengths, sent, "lengths of rows");
  if (status == SLEY_OK)
    status = SL_NEW(m->taken.rowptr, rows + 1, "row pointers");
  if (status == SLEY_OK)
    status = sl_alltoall_alloc(comm->size, &m->rows);
  if (status == SLEY_OK)
    status = sl_alltoall_alloc(comm->size, &m->trade);
  SL_TRY(sl_agree(comm, status));
  for (int64_t i = 0; i < sent; i++)
    m->lengths[i] = m->block->rowptr[i + 1] - m->block->rowptr[i];
  for (int r = 0; r < comm->size; r++) {
    m->rows.send_bytes[r] = common(m, me, r, &first) * (int64_t)sizeof(int64_t);
    m->rows.recv_bytes[r] = common(m, r, me, &first) * (int64_t)sizeof(int64_t);
  }
  sl_alltoall_pack(&m->rows, comm->size);
  /* A rank's rows ascend, and so do their new owners: the rows for one owner are consecutive. */
  SL_TRY(sl_alltoall_run(comm, &m->rows, m->lengths, m->taken.rowptr + 1));
  m->taken.rowptr[0] = 0;
  for (int64_t i = 0; i < rows; i++)
    m->taken.rowptr[i + 1] += m->taken.rowptr[i];
  return SLEY_OK;
}

/* Exchanges one of the arrays of entries, with bytes_each per entry. */
static sley_status trade_entries(move *m, const void *from, size_t bytes_each, void *to) {
  sl_comm *comm = m->comm;
  int64_t each = (int64_t)bytes_each, first, count;
  for (int r = 0; r < comm->size; r++) {
    count = common(m, comm->rank, r, &first);
    first -= m->from[comm->rank];
    m->trade.send_bytes[r] =
        count > 0 ? (m->block->rowptr[first + count] - m->block->rowptr[first]) * each : 0;
    count = common(m, r, comm->rank, &first);
    first -= m->to[comm->rank];
    m->trade.recv_bytes[r] = count > 0 ? (m->taken.rowptr[first + count] - m->taken.rowptr[first]) * each : 0;
  }
  sl_alltoall_pack(&m->trade, comm->size);
  const char *start = from ? (const char *)from + m->block->rowptr[0] * each : NULL;
  return sl_alltoall_run(comm, &m->trade, start, to);
}

static sley_status move_rows(move *m, sley_matrix **out) {
  sl_comm *comm = m->comm;
  int64_t rows = m->to[comm->rank + 1] - m->to[comm->rank];
  SL_TRY(trade_lengths(m, rows));
  sley_index index = (sley_index)m->shape.index;
  sley_dtype dtype = (sley_dtype)m->shape.dtype;
  int64_t nnz = m->taken.rowptr[rows];
  m->taken.col = sl_alloc(nnz, sl_index_bytes(index), "columns");
  m->taken.val = m->taken.col ? sl_alloc(nnz, sley_dtype_bytes(dtype), "values") : NULL;
  SL_TRY(sl_agree(comm, m->taken.val ? SLEY_OK : SLEY_ERR_MEMORY));
  SL_TRY(trade_entries(m, m->block ? m->block->col : NULL, sl_index_bytes(index), m->taken.col));
  SL_TRY(trade_entries(m, m->block ? m->block->val : NULL, sley_dtype_bytes(dtype), m->taken.val));
  sl_csr_arrays arrays = m->taken;
  m->taken = (sl_csr_arrays){0};
  return sl_agree(comm, sl_matrix_adopt(rows, m->shape.cols, index, dtype, arrays, -1, out));
}

sley_status sl_rows_to_rows(sl_comm *comm, sley_matrix *block, const int64_t *from, const int64_t *to,
                            sley_matrix **out) {
  move m = {.comm = comm, .block = block, .from = from, .to = to};
  *out = NULL;
  sley_status status = learn_shape(&m);
  if (status == SLEY_OK && !m.shape.missing &&
      memcmp(from, to, ((size_t)comm->size + 1) * sizeof *from) == 0) {
    *out = block;
    return SLEY_OK;
  }
  if (status == SLEY_OK)
    status = move_rows(&m, out);
  if (status != SLEY_OK) {
    sl_matrix_destroy(*out);
    *out = NULL;
  }
  sl_csr_arrays_free(&m.taken);
  sl_alltoall_free(&m.trade);
  sl_alltoall_free(&m.rows);
  sl_free(m.lengths);
  sl_matrix_destroy(block);
  return status;
}
