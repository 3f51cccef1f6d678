/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that compute rows of C = A B, one for each type and instruction set, all with the same bits; and
 * the working memory of a thread. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_SPGEMM_ROWS_H
#define SLEY_DEVICE_CPU_SPGEMM_SPGEMM_ROWS_H

#include "device/cpu/cpu.h"
#include "device/op/op_spgemm.h"

enum {
  SL_SPGEMM_RANKED = 16,                    /* most products of a row that is sorted, on any processor */
  SL_SPGEMM_SORTED = 63,                    /* maximum number of products of a row that is sorted, on a
                                               processor that sorts in registers */
  SL_SPGEMM_SORTED_COLUMNS = (1 << 26) - 1, /* most columns of a matrix that is sorted in registers */
  SL_SPGEMM_GROUP = 64,                     /* columns whose marks are examined together */
  SL_SPGEMM_SPILL = 64,  /* spare entries after a chunk's products, which may be overwritten */
  SL_SPGEMM_AHEAD = 4096 /* the dense accumulator's columns are padded to a multiple of this */
};

/* A product in the form that the functions for rows read: values in the type of sums, columns of B and of the
 * mask in the result's index type. */
typedef struct sl_spgemm_problem {
  sley_semiring semiring;
  sley_dtype dtype; /* type of sums: f32 or f64 */
  sley_index index;
  sley_csr a, b;
  const sley_csr *mask;
  const int64_t *bound; /* products of each row */
  int64_t short_most;   /* maximum number of products of a row that is sorted; 0: no row is sorted */
} sl_spgemm_problem;

/* An entry of a hash table, copied to be sorted. */
typedef struct sl_spgemm_found {
  int64_t col;
  int64_t slot;
} sl_spgemm_found;

/* Working memory of a thread. Between rows every sum of the dense accumulator is the semiring's first sum,
 * and marks and slots are empty. */
typedef struct sl_spgemm_space {
  int64_t columns; /* capacity of the dense accumulator; 0: not allocated */
  void *sum;       /* one sum per column */
  uint8_t *mark;   /* 0: no entry; 1: the column has an entry. With a mask, 1: the mask has the column; 3: C
                    * has an entry, too */
  uint8_t *group;  /* 1 if any of SL_SPGEMM_GROUP columns is marked */
  int64_t slots;   /* slots of the hash table, a power of two; 0: not allocated */
  int64_t *key;    /* column of each slot; -1: empty */
  void *slot_sum;
  uint8_t *slot_mark;             /* whether the slot has a product; slots for columns of the mask begin
                                   * without a product */
  sl_spgemm_found *found, *other; /* slots / 2 elements each: the entries of the table, and memory to sort
                                     them */
} sl_spgemm_space;

/* Allocates a dense accumulator, or if dense is false a hash table for rows of at most `entries` entries. The
 * space must start zeroed; memory that is already large enough is kept. Errors: SLEY_ERR_MEMORY. The caller
 * must call sl_spgemm_space_end in any case. */
sley_status sl_spgemm_space_fit(sl_spgemm_space *space, const sl_spgemm_problem *problem, bool dense,
                                int64_t entries);
void sl_spgemm_space_end(sl_spgemm_space *space);

/* Bytes that sl_spgemm_space_fit allocates. */
int64_t sl_spgemm_space_bytes(const sl_spgemm_problem *problem, bool dense, int64_t entries);

/* Computes rows [begin, end) of C: writes columns and values contiguously to col and val, which have space
 * for the rows' bounds and SL_SPGEMM_SPILL more, and the number of entries of row i to count[i - begin].
 * Returns the total number of entries. */
typedef int64_t sl_spgemm_rows(const sl_spgemm_problem *problem, sl_spgemm_space *space, int64_t begin,
                               int64_t end, void *col, void *val, int64_t *count);

/* Returns the best function for the type of sums that this machine, and SLEY_CPU, permit. */
sl_spgemm_rows *sl_spgemm_rows_find(sley_dtype dtype);

/* Most products of a row for which sorting is faster than an accumulator. */
int64_t sl_spgemm_short_most(const sl_spgemm_problem *problem);

/* The functions of each instruction set for sums in f32 and in f64; NULL if the build has no such function.
 */
extern sl_spgemm_rows *const sl_spgemm_rows_built[SL_CPU_ISAS][2];

/* Most columns in the hash table of row i; with a mask, the columns of the mask's row, which are all
 * inserted. */
static inline int64_t sl_spgemm_row_columns(const sl_spgemm_problem *p, int64_t i) {
  if (p->mask)
    return p->mask->rowptr[i + 1] - p->mask->rowptr[i];
  return p->bound[i] < p->b.cols ? p->bound[i] : p->b.cols;
}

/* Most entries of row i of C. */
static inline int64_t sl_spgemm_row_room(const sl_spgemm_problem *p, int64_t i) {
  const int64_t columns = sl_spgemm_row_columns(p, i);
  return columns < p->bound[i] ? columns : p->bound[i];
}

#endif
