/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of the public interface: the patterns of a rank's rows in device memory, by rows and by columns, and
 * the halo. The columns of a pattern by rows are the rank's own rows of X, from 0 on, and then the rows of
 * the halo. */
#ifndef SLEY_GRAPH_GRAPH_H
#define SLEY_GRAPH_GRAPH_H

#include "device/pattern.h"
#include "graph/graph_owned.h"

/* Rows of a relation for one call of a kernel, listed as in a pattern. */
typedef struct sl_row_part {
  int64_t rows;
  const int32_t *listed, *long_row;
  int64_t long_rows;
} sl_row_part;

typedef struct sl_relation {
  int64_t entries;
  sl_pattern by_rows;
  /* With several ranks: own_rows are rows without entries in the halo, other_rows the rest. Listed only on
   * devices other than the CPU, if both kinds exist, and if there are enough own_rows for a separate call. */
  sl_row_part own_rows, other_rows;
  sl_pattern by_columns;      /* for gradients of graphs whose owners of columns do not fetch operands: own
                                 columns, then the halo's rows */
  int64_t own_cols, own_long; /* number of own columns, and number of long ones among them */
  void *per_row[2];           /* 1 / (entries of each row), in f32 and f64; 0 for an empty row */
  sl_owned owned;             /* for gradients of graphs whose owners of columns fetch the operands
                                 (sl_graph_pulls) */
} sl_relation;

struct sley_graph {
  sl_comm *comm;
  sl_halo *halo;
  int64_t rows, cols; /* this rank's rows of results, and of X */
  int relations;
  sl_relation *relation;
  bool forward, reproducible;
  sl_halo *row_halo; /* halo of rows of results, which owners of columns fetch; NULL: they fetch nothing
                      * (sl_graph_pulls) */
};

/* Returns whether owners of columns fetch the operands of their gradients. A single rank has all of them. */
static inline bool sl_graph_pulls(const sley_graph *graph) {
  return graph->reproducible && !graph->forward && graph->comm->size > 1;
}

/* Partitions and blocks are as in sley_graph_create. options: complete, with defaults filled in. Collective,
 * agreed. */
sley_status sl_graph_create(sl_comm *comm, const sley_matrix *const *blocks, const int64_t *row_begin,
                            const int64_t *col_begin, const sley_graph_options *options, sley_graph **out);

/* Accepts NULL. Collective. */
void sl_graph_destroy(sley_graph *graph);

/* In graph_patterns.c: makes the patterns of a block in device memory. number[]: 32-bit number of each
 * entry's column, own columns first. by_columns: also makes the pattern by columns. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_relation_make(sl_comm *comm, const sley_matrix *block, const int32_t *number, int64_t own_cols,
                             int64_t cols, bool by_columns, sl_relation *out);

/* In graph_parts.c: makes the two parts of the rows of a relation whose pattern by rows exists; rowptr and
 * number are its arrays in host memory. Errors: SLEY_ERR_MEMORY; partial results are freed with the
 * relation. */
sley_status sl_relation_part(sl_comm *comm, const int64_t *rowptr, const int32_t *number, sl_relation *out);

/* Returns the pattern by rows for a part of the relation; for all rows if the part lists no rows. */
sl_pattern sl_relation_rows(const sl_relation *relation, const sl_row_part *part);

/* Frees the memory. Accepts a zeroed struct. */
void sl_row_part_free(sl_comm *comm, sl_row_part *part);

/* The rows of the pattern by columns for the halo's rows, or for the own columns. */
sl_pattern sl_relation_columns(const sl_relation *relation, bool halo);

/* Frees the memory. Accepts a zeroed struct. */
void sl_relation_free(sl_comm *comm, sl_relation *relation);

/* Returns 1 / (entries of each row), in the type of sums of a dtype. */
static inline const void *sl_relation_per_row(const sl_relation *relation, sley_dtype dtype) {
  return relation->per_row[dtype == SLEY_F64];
}

#endif
