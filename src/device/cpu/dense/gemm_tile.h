/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of a dense product: sums of a block of terms, by a BLAS or a loop, in the calling thread. */
#ifndef SLEY_DEVICE_CPU_DENSE_GEMM_TILE_H
#define SLEY_DEVICE_CPU_DENSE_GEMM_TILE_H

#include "device/op/op_gemm.h"

/* SL_TILE: most rows and columns of a tile. SL_TILE_TERMS: terms that are converted or copied to panels at a
 * time. */
enum { SL_TILE = 256, SL_TILE_TERMS = 256 };

typedef struct sl_gemm_tile {
  int64_t row, rows, col, cols; /* the rows and columns of C that the tile covers */
} sl_gemm_tile;

/* Memory of one thread: rows x terms of A, and terms x columns of B, in the type of sums. */
typedef struct sl_gemm_panels {
  void *a, *b;
} sl_gemm_panels;

/* Returns whether the operands are read in their own memory, so that no panels are needed. */
bool sl_gemm_reads_in_place(const sl_gemm_args *g, bool blas);

/* P = the sum over terms [first, last) for the tile, starting from 0, in the type of sums; ldp: elements
 * between rows of P. */
void sl_gemm_sum_terms(const sl_gemm_args *g, bool blas, const sl_gemm_panels *panels,
                       const sl_gemm_tile *tile, int64_t first, int64_t last, void *p, int64_t ldp);

/* S += P, rows x cols; lds and ldp: elements between rows. */
void sl_gemm_add(sley_dtype sums, void *s, int64_t lds, const void *p, int64_t ldp, int64_t rows,
                 int64_t cols);

/* Sets the tile of C to act(alpha S + beta C + bias), or with a gate to what op_gemm.h defines. S may be the
 * tile of C itself; s = NULL means zeros. */
void sl_gemm_finish(const sl_gemm_args *g, const sl_gemm_tile *tile, const void *s, int64_t lds);

#endif
