/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse times sparse. */
#ifndef SLEY_SPGEMM_H
#define SLEY_SPGEMM_H

#include "sley_comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The product and the sum of a sparse product C = A B. C[i][j] is the sum of the products of a = A[i][k] and
 * b = B[k][j] over all k where both have entries. p is a product, s the sum so far:
 *
 *                     product                     sum
 *   SLEY_PLUS_TIMES   a b                         s + p
 *   SLEY_PLUS_PAIR    1                           s + p: the number of such k; values are not read
 *   SLEY_MIN_PLUS     a + b                       the smaller; NaN if a product is NaN
 *   SLEY_OR_AND       1 if a, b != 0, else 0      the larger */
typedef enum sley_semiring {
  SLEY_PLUS_TIMES = 0,
  SLEY_PLUS_PAIR = 1,
  SLEY_MIN_PLUS = 2,
  SLEY_OR_AND = 3
} sley_semiring;

typedef struct sley_spgemm_options {
  size_t struct_size;
  sley_semiring semiring;  /* default SLEY_PLUS_TIMES */
  const sley_matrix *mask; /* NULL, or a matrix of C's size: C has entries only where mask has entries,
                              whatever their values and dtype */
  bool transpose_b;        /* C = A B^T */
  int64_t mem_limit; /* most bytes of C and of all memory that the call takes; 0: no limit. On a GPU:
                    bytes of GPU memory, with copies of the operands; with several GPUs the limit of each */
  int threads;   /* 0: all cores */
  const char *device; /* NULL or "cpu"; "cuda", "cuda:1", ...; "auto": a GPU if there is one */
  const char *local;  /* NULL, "auto" or "sley": Sley's own kernels; on GPUs also "cusparse",
                         "cusparse-alg2", "cusparse-alg3": cuSPARSE's algorithms 1 to 3 */
  int ranks;          /* number of GPUs that divide the rows of C; each holds all of B. If there are
                         fewer GPUs than ranks, ranks take turns on them. 0: one */
  sley_comm *comm;    /* the ranks that compute C together, in tiles, on the comm's device; NULL: this process
                         computes C alone */
  const char *algo;   /* NULL or "auto": "rows" without a comm, "tile-c" with a comm, which takes one of
                         sley_tile_algorithms (sley_tile.h) */
  /* Only with a comm: */
  const int64_t *a_begin; /* the rows of each rank: a, and the mask, have this rank's rows, a_begin[rank] to
                             a_begin[rank + 1] - 1 of the whole matrix (size + 1 numbers, the same on all
                             ranks); NULL: a, and the mask, are whole on every rank */
  const int64_t *b_begin; /* the same for the rows of b; NULL: b is whole on every rank */
  const int64_t *c_begin; /* the same for the rows of C; NULL: as a_begin, or, if that is NULL too, equal
                             numbers of rows */
  const struct sley_tiling *tiling; /* division of A into tiles (sley_tile.h), completed by
                                       sley_tile_complete; NULL: chosen by that function */
  int64_t columns;                  /* number of tiles across B and C; 0: the number of columns of the grid of
                                       ranks */
  int buffers;                      /* buffers of each rank for pushed products; 0: 4 */
} sley_spgemm_options;
#define SLEY_SPGEMM_OPTIONS_INIT                                                                             \
  {                                                                                                          \
    sizeof(sley_spgemm_options), SLEY_PLUS_TIMES, NULL, false, 0, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL,  \
        NULL, NULL, 0, 0                                                                                     \
  }

typedef struct sley_spgemm_info {
  int64_t products;   /* pairs of an entry of A and an entry of B, before the mask: 2 operations each */
  int64_t nnz;        /* entries of C */
  double compression; /* products / nnz; 0 if C has no entries */
  int64_t peak_bytes; /* peak number of bytes of C and of all memory that the call allocated, without memory
                         that was reserved for C and never written; on a GPU, only GPU memory */
  int passes; /* 1: each row was computed once; 2: the entries of rows were counted first, as always on
                 GPUs, and elsewhere if that is needed to stay within mem_limit or the machine's memory */
} sley_spgemm_info;

/* Computes C = A B of sparse matrices as a new matrix: in this process alone, by threads or on GPUs, or by
 * the ranks of a comm. A is m x k, B k x n (with transpose_b n x k), both of one dtype, which is also C's;
 * rows of A, B and C may be empty. C has an entry where there is at least one product, whatever the sum:
 * where products cancel, an explicit zero. Its columns ascend in each row, without repeats, in 32 bits if n
 * is below 2^31, else in 64. Repeated entries of A or B count as entries of their own.
 *
 * Bits: the products of an entry are added in the order of A's row, each product and each sum rounded once
 * (f16 and bf16: summed in f32, C rounded at the end), so they depend neither on the number of threads nor on
 * mem_limit, the device or ranks; cuSPARSE has bits of its own. On a GPU the operands are copied there and C
 * back; if mem_limit or the GPU's memory has no room for C, in chunks of rows. Each of several GPUs computes
 * consecutive rows with about the same number of products. info may be NULL. The matrices are read until the
 * call returns; *out is the caller's, NULL on an error.
 *
 * Ranks of a comm: each rank receives its rows of C. A, B and the mask are copied into tiles, and multiplied
 * as by sley_tile_spgemm, which states the bits, the memory that the product takes, and what mem_limit
 * bounds. For repeated products of the same matrices, and for the times and the traffic of a product, use
 * that call. transpose_b requires that b is whole on every rank, which transposes it by `threads` threads.
 * ranks, device and local do not apply: the comm has them. info covers this rank: the products that it
 * computed, and the entries of its rows of C; its other fields are 0. An error ends a comm of several ranks,
 * unless it is SLEY_ERR_ARG.
 *
 * Collective with a comm, otherwise not. Errors: SLEY_ERR_ARG (sizes that do not fit, two dtypes, an invalid
 * semiring, mem_limit, threads, ranks or division, an unknown device, local or algo, several ranks on CPUs
 * without a comm), SLEY_ERR_MEMORY (also: C and the memory needed to compute it do not fit mem_limit; the
 * message states how much would suffice), SLEY_ERR_UNSUPPORTED (no such device, or cuSPARSE cannot; with a
 * comm also the errors of sley_tile_spgemm), SLEY_ERR_INTERRUPTED. Source of the row-wise product: Gustavson,
 * Two fast algorithms for sparse matrices, ACM TOMS 4, 1978. */
sley_status sley_spgemm(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                        sley_matrix **out, sley_spgemm_info *info);

/* The names of the semirings, by sley_semiring; NULL-terminated, static. */
const char *const *sley_semirings(void);

/* The name of a semiring as the command takes it, "plus-times" and so on; NULL if there is no such semiring.
 * Static. */
const char *sley_semiring_name(sley_semiring semiring);

#ifdef __cplusplus
}
#endif
#endif
