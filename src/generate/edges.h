/* SPDX-License-Identifier: Apache-2.0 */
/* Builds CSR from edges that can be generated twice, without a list of triplets: one pass counts, one fills
 * the columns. */
#ifndef SLEY_GENERATE_EDGES_H
#define SLEY_GENERATE_EDGES_H

#include "matrix/matrix.h"

typedef struct sl_edge_sink sl_edge_sink;

enum { SL_SINK_EDGES = 256 };

struct sl_edge_sink {
  int64_t count;
  int64_t row[SL_SINK_EDGES], col[SL_SINK_EDGES];
  struct sl_edge_building *building;
};

/* Counts or stores the edges in the sink. */
void sl_edge_sink_flush(sl_edge_sink *sink);

static inline void sl_edge_put(sl_edge_sink *sink, int64_t row, int64_t col) {
  if (sink->count == SL_SINK_EDGES)
    sl_edge_sink_flush(sink);
  sink->row[sink->count] = row;
  sink->col[sink->count++] = col;
}

/* A source of edges. They are generated twice, items in any order and on any thread: emit must be a pure
 * function of its range. */
typedef struct sl_edge_source {
  int64_t rows, cols;
  int64_t items, grain;
  int64_t edges;   /* upper bound of the number of edges */
  bool mirror;     /* each edge is an entry in both directions (square matrices) */
  bool drop_loops; /* no entries on the diagonal */
  uint64_t seed;   /* seed of the values */
  void (*emit)(const void *context, int64_t begin, int64_t end, sl_edge_sink *sink);
  const void *context;
} sl_edge_source;

/* Makes the matrix of a source's edges, without repeats. Values are uniform in (0, 1] and depend only on the
 * seed and the unordered pair of row and column, so mirrored entries agree. Takes little more memory than the
 * result. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. */
sley_status sl_csr_of_edges(const sl_edge_source *source, sley_dtype dtype, sl_team *team, sley_matrix **out);

/* Lists the edges of items [first, first + count) as triplets without values, in any order, not mirrored.
 * *out is freed by sl_coo_free. Errors: SLEY_ERR_MEMORY. */
sley_status sl_edge_list(const sl_edge_source *source, int64_t first, int64_t count, sley_dtype dtype,
                         sl_team *team, sl_coo *out);

/* Sets the values of a matrix that owns its arrays and holds the rows of a source's matrix from first_row
 * on. */
sley_status sl_edge_values(const sl_edge_source *source, int64_t first_row, sl_team *team,
                           sley_matrix *matrix);

#endif
