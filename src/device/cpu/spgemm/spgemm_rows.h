/* SPDX-License-Identifier: Apache-2.0 */
/* What computes rows of C = A B: one function for each type and instruction set, of the same bits, and the
 * memory that a thread works in. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_SPGEMM_ROWS_H
#define SLEY_DEVICE_CPU_SPGEMM_SPGEMM_ROWS_H

#include "device/op/op_spgemm.h"

enum {
  SL_SPGEMM_RANKED = 16,                    /* rows of at most as many products are sorted by any processor */
  SL_SPGEMM_SORTED = 63,                    /* the same, by one that sorts in registers */
  SL_SPGEMM_SORTED_COLUMNS = (1 << 26) - 1, /* the most columns that it sorts so */
  SL_SPGEMM_GROUP = 64,                     /* columns whose marks are looked at together */
  SL_SPGEMM_SPILL = 64,  /* entries after a chunk's room for its products that may be written, too */
  SL_SPGEMM_AHEAD = 4096 /* columns that the dense accumulator is padded to a multiple of */
};

/* A product as the rows' functions see it: values of the type of sums, columns of B and of the mask of the
 * result's index type. */
typedef struct sl_spgemm_problem {
  sley_semiring semiring;
  sley_dtype dtype; /* of sums: f32 or f64 */
  sley_index index;
  sley_csr a, b;
  const sley_csr *mask;
  const int64_t *bound; /* products of each row */
  int64_t short_most;   /* rows of at most as many products are sorted; 0: none */
} sl_spgemm_problem;

/* An entry of a hash table, on its way to being sorted. */
typedef struct sl_spgemm_found {
  int64_t col;
  int64_t slot;
} sl_spgemm_found;

/* A thread's memory. Between rows every sum of the dense accumulator is the semiring's first one, and marks
 * and slots are empty. */
typedef struct sl_spgemm_space {
  int64_t columns; /* that the dense accumulator has room for; 0: it has none */
  void *sum;       /* a sum for each column */
  uint8_t *mark;   /* 0, 1: the column has an entry; with a mask 1: it may have one, 3: it has one */
  uint8_t *group;  /* whether one of SL_SPGEMM_GROUP columns is marked */
  int64_t slots;   /* of the hash table, a power of two; 0: there is none */
  int64_t *key;    /* a column; -1: the slot is empty */
  void *slot_sum;
  uint8_t *slot_mark;             /* whether there is a product: slots of a mask's columns begin without */
  sl_spgemm_found *found, *other; /* half as many as slots each: what is in the table; for sorting */
} sl_spgemm_space;

/* Makes room: a dense accumulator, or (dense false) a hash table for rows of at most `entries` entries. The
 * space begins as zeros, and keeps what it has where that is enough. Errors: SLEY_ERR_MEMORY; ended by
 * sl_spgemm_space_end in any case. */
sley_status sl_spgemm_space_fit(sl_spgemm_space *space, const sl_spgemm_problem *problem, bool dense,
                                int64_t entries);
void sl_spgemm_space_end(sl_spgemm_space *space);

/* Bytes that sl_spgemm_space_fit takes. */
int64_t sl_spgemm_space_bytes(const sl_spgemm_problem *problem, bool dense, int64_t entries);

/* Rows [begin, end) of C: columns and values follow one another at col and val, with room for the rows'
 * bounds and SL_SPGEMM_SPILL more; count[i - begin] receives the entries of row i. Returns their sum. */
typedef int64_t sl_spgemm_rows(const sl_spgemm_problem *problem, sl_spgemm_space *space, int64_t begin,
                               int64_t end, void *col, void *val, int64_t *count);

/* The best for the type of sums that this machine, and SLEY_CPU, permit. */
sl_spgemm_rows *sl_spgemm_rows_find(sley_dtype dtype);

/* The most products of rows that it had better sort than sum up by an accumulator. */
int64_t sl_spgemm_short_most(const sl_spgemm_problem *problem);

sl_spgemm_rows sl_spgemm_rows_f32_portable, sl_spgemm_rows_f64_portable;
sl_spgemm_rows sl_spgemm_rows_f32_avx2, sl_spgemm_rows_f64_avx2;
sl_spgemm_rows sl_spgemm_rows_f32_avx512, sl_spgemm_rows_f64_avx512;

/* Columns that a hash table of row i holds at most: with a mask those of its row, all of which go in. */
static inline int64_t sl_spgemm_row_columns(const sl_spgemm_problem *p, int64_t i) {
  if (p->mask)
    return p->mask->rowptr[i + 1] - p->mask->rowptr[i];
  return p->bound[i] < p->b.cols ? p->bound[i] : p->b.cols;
}

/* Entries that row i of C has at most. */
static inline int64_t sl_spgemm_row_room(const sl_spgemm_problem *p, int64_t i) {
  const int64_t columns = sl_spgemm_row_columns(p, i);
  return columns < p->bound[i] ? columns : p->bound[i];
}

#endif
