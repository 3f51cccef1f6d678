/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of a dense product: the sum of a block of terms, by a BLAS or a loop, in the calling thread. */
#ifndef SLEY_DEVICE_CPU_DENSE_GEMM_TILE_H
#define SLEY_DEVICE_CPU_DENSE_GEMM_TILE_H

#include "device/op/op_gemm.h"

/* Rows and columns of a tile, and terms that are widened or laid out at a time. */
enum { SL_TILE = 256, SL_TILE_TERMS = 256 };

typedef struct sl_gemm_tile {
  int64_t row, rows, col, cols; /* of C */
} sl_gemm_tile;

/* Memory of a thread: rows x terms of A and terms x columns of B in the type of sums. */
typedef struct sl_gemm_panels {
  void *a, *b;
} sl_gemm_panels;

/* Whether the terms are read where they lie, so that no panels are needed. */
bool sl_gemm_reads_in_place(const sl_gemm_args *g, bool blas);

/* P = the sum over the terms from first to last - 1 of the tile, from 0, in the type of sums; ldp elements
 * between rows of P. */
void sl_gemm_sum_terms(const sl_gemm_args *g, bool blas, const sl_gemm_panels *panels,
                       const sl_gemm_tile *tile, int64_t first, int64_t last, void *p, int64_t ldp);

/* S += P, rows x cols with ld elements between the rows of both. */
void sl_gemm_add(sley_dtype sums, void *s, int64_t lds, const void *p, int64_t ldp, int64_t rows,
                 int64_t cols);

/* The tile of C becomes act(alpha S + beta C + bias), or with a gate what op_gemm.h says; S may be the tile
 * of C itself. s NULL: zeros. */
void sl_gemm_finish(const sl_gemm_args *g, const sl_gemm_tile *tile, const void *s, int64_t lds);

#endif
