/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives, dense and sparse, and gradients cut to their largest values. */
#ifndef SLEY_COLLECTIVE_H
#define SLEY_COLLECTIVE_H

#include "sley_comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------- collectives */

/* Bytes of one value; 0 if the type is unknown. */
size_t sley_type_bytes(sley_type type);

typedef enum sley_collective_kind {
  SLEY_ALLREDUCE = 0,      /* every rank gets the reduced array */
  SLEY_REDUCE_SCATTER = 1, /* every rank gets its part of the reduced array */
  SLEY_ALLGATHER = 2       /* every rank gets the ranks' arrays one after the other */
} sley_collective_kind;

/* The names of the kinds, by sley_collective_kind; NULL-terminated, static. */
const char *const *sley_collective_kinds(void);

/* What a kind of collective does. */
typedef struct sley_collective_kind_info {
  const char *name;    /* as in sley_collective_kinds(); static */
  const char *summary; /* one line that states what every rank gets; static */
  bool reduces; /* true: src has all parts, and values are reduced; false: src has this rank's part, and bits
                   are copied */
  bool gathers; /* true: dst gets all parts; false: this rank's part */
  bool whole;   /* true: count is the length of all parts together, which the library divides, and counts is
                   NULL */
} sley_collective_kind_info;

/* Describes a kind of collective in *out. Not collective. Errors: SLEY_ERR_ARG (no such kind, or out is
 * NULL). */
sley_status sley_collective_kind_get(sley_collective_kind kind, sley_collective_kind_info *out);

/* How data is compressed for transfer, for arrays of which many values are zero. A value is zero if all its
 * bits are zero: -0 and NaN travel. Source: Hough et al., SpCCL (the format and the direct exchange). */
typedef enum sley_compress {
  SLEY_COMPRESS_NONE = 0, /* no compression */
  SLEY_COMPRESS_AUTO = 1, /* the format that is predicted to be fastest, chosen again in each run */
  SLEY_COMPRESS_PICI = 2, /* one bit for each value, and the nonzero values */
  SLEY_COMPRESS_COO = 3   /* 32-bit positions, and the nonzero values */
} sley_compress;

/* The route of compressed arrays. */
typedef enum sley_collective_way {
  SLEY_WAY_AUTO = 0,      /* chosen by the library; without any_order only among routes that keep the bits */
  SLEY_WAY_DIRECT = 1,    /* directly to each rank that needs the values */
  SLEY_WAY_RING = 2,      /* from neighbour to neighbour; values are added on the way */
  SLEY_WAY_TWO_LEVEL = 3, /* within workgroups, then between them */
  /* The following are for SLEY_ALLREDUCE only. Source: Renggli et al., SparCML, with SLEY_COMPRESS_COO. */
  SLEY_WAY_RECURSIVE_DOUBLING = 4, /* whole arrays, with a partner at twice the distance in each stage */
  SLEY_WAY_SPLIT_ALLGATHER = 5, /* parts directly to the ranks that reduce them, which gather the results by
                                 * recursive doubling */
  SLEY_WAY_SPLIT_DENSE = 6      /* the same, but the results are gathered dense */
} sley_collective_way;

/* What a route does. */
typedef struct sley_collective_way_info {
  const char *name;    /* as in sley_collective_ways(); static */
  const char *summary; /* one line that states where arrays are sent; static */
  bool in_order;       /* true: floating-point sums have the bits that the dense collective computes */
  bool only_allreduce; /* true: other kinds are refused */
} sley_collective_way_info;

/* Describes a route in *out. Not collective. Errors: SLEY_ERR_ARG (no such route, or out is NULL). */
sley_status sley_collective_way_get(sley_collective_way way, sley_collective_way_info *out);

typedef struct sley_collective_options {
  size_t struct_size;
  sley_collective_kind kind; /* default SLEY_ALLREDUCE */
  sley_reduce op;            /* default SLEY_SUM; ignored by SLEY_ALLGATHER */
  sley_type type;            /* default SLEY_TYPE_F32 */
  /* SLEY_ALLREDUCE: values of the array. SLEY_REDUCE_SCATTER, SLEY_ALLGATHER: values of every rank's part if
   * counts is NULL; else ignored. */
  int64_t count;
  const int64_t *counts; /* NULL, or size entries: the values of each rank's part; read by create only */
  /* Floating-point sums, minima and maxima may use the transport's own reduction (NCCL's, MPI's), which may
   * be faster: its order of summation, so the bits, may depend on the ranks' places and vary between runs,
   * and its minimum and maximum may ignore NaN. */
  bool any_order;
  int reserved; /* ignored */
  /* Default SLEY_COMPRESS_NONE. Shapes, aliases, order and bits of sley_collective_run stay the same, with
   * one exception: floating-point sums by SLEY_WAY_RING, SLEY_WAY_TWO_LEVEL and SLEY_WAY_RECURSIVE_DOUBLING
   * are added in another order, which depends only on the number of ranks and the workgroups, and are rounded
   * to the type after each addition. An array that compression would not shorten travels dense. */
  sley_compress compress;
  sley_collective_way way; /* default SLEY_WAY_AUTO; ignored with SLEY_COMPRESS_NONE */
  /* Densities, shares of values that are not zero, above which an array travels dense: an array to be
   * reduced, for a rank of another workgroup (inter) or of the same one (intra), and a gathered array
   * (allgather); from 0 to 1, or -1, the default: chosen by predicted time. If one is given,
   * SLEY_COMPRESS_AUTO never replaces a whole run by the dense collective. The density of src is estimated
   * from a sample, the density of sums from those of the arrays that were received. The bits of the result do
   * not depend on these fields. Ignored with SLEY_COMPRESS_NONE. Source: Hough et al., SpCCL, section IV-C,
   * where the thresholds are shares of zeros. */
  double dense_above_inter, dense_above_intra, dense_above_allgather;
} sley_collective_options;
#define SLEY_COLLECTIVE_OPTIONS_INIT                                                                         \
  {                                                                                                          \
    sizeof(sley_collective_options), SLEY_ALLREDUCE, SLEY_SUM, SLEY_TYPE_F32, 0, NULL, false, 0,             \
        SLEY_COMPRESS_NONE, SLEY_WAY_AUTO, -1, -1, -1                                                        \
  }

/* A prepared collective. It owns all memory that a run needs, so a run allocates nothing. */
typedef struct sley_collective sley_collective;

/* Prepares a collective of fixed sizes, to be run any number of times. Ended by sley_collective_destroy,
 * before the comm ends. options is read during the call only. With compress it takes device memory for this
 * rank's and the peers' parts at their largest size. SLEY_COMPRESS_AUTO needs the speed of messages: on a
 * comm of several workgroups whose machine description does not state it, the first such collective of 64 KiB
 * or more measures it, by all-gathers in which a rank receives 7 MiB at most, and the comm keeps the result
 * for later collectives. Collective. Errors, the same on all ranks: SLEY_ERR_ARG (an option is wrong, or the
 * ranks' options differ), SLEY_ERR_OVERFLOW, SLEY_ERR_UNSUPPORTED (with compress: an operator, type, way or
 * device that is not supported), SLEY_ERR_MEMORY, SLEY_ERR_PEER. */
sley_status sley_collective_create(sley_comm *comm, const sley_collective_options *options,
                                   sley_collective **out);

/* Runs the collective. The table states the number of values of src and dst. part(r) is counts[r], or count
 * if counts is NULL; begin(r) is part(0) + ... + part(r - 1).
 *
 *   kind                  src                       dst                       in place, if
 *   SLEY_ALLREDUCE        count                     count                     dst = src
 *   SLEY_REDUCE_SCATTER   all ranks' parts          part(rank)                dst = src + begin(rank)
 *   SLEY_ALLGATHER        part(rank)                all ranks' parts          src = dst + begin(rank)
 *
 * src and dst are memory of the rank's device, aligned to the type. They do not overlap, except in place.
 * Either may be NULL where it has no values. They stay the caller's; only dst is written.
 *
 * Bits. Value i of the result is ((v0 + v1) + v2) + ..., or the minimum or maximum, over the ranks' values i
 * in ascending order of ranks. SLEY_TYPE_F16 and _BF16 are computed in f32 and rounded once at the end, other
 * types in their own type. A result that is NaN is the type's positive quiet NaN without payload. Minimum and
 * maximum follow IEEE 754-2019: the result is NaN if a value is NaN, and -0 is less than +0. Sums of
 * SLEY_TYPE_I64 wrap around modulo 2^64. So the bits depend on the values and the number of ranks alone, not
 * on the transport, the device, the workgroups or the threads, and are the same on all ranks. SLEY_ALLGATHER
 * copies bits.
 *
 * The work is enqueued on the stream that sley_spmm uses, after all work that the rank's calls have enqueued
 * so far; the call may return before the work is done. Work enqueued later on the same stream may read dst
 * and write src. On the cpu the work is done on return.
 *
 * With compress the call may wait for the GPU, since the number of bytes that travel depends on the values.
 * If ranks are threads whose GPUs can read each other's memory, it waits only in the first run of
 * SLEY_COMPRESS_AUTO, in some runs after dense runs, and if 16 runs are enqueued but not done; then a peer's
 * wrong array is reported by a later run or by sley_collective_info_get.
 *
 * A rank that fails ends the others with SLEY_ERR_PEER. All ranks run the collectives of a comm in the same
 * order. Collective. Errors: SLEY_ERR_ARG (a NULL handle or array, or an array that is not aligned),
 * SLEY_ERR_PEER.
 */
sley_status sley_collective_run(sley_collective *collective, const void *src, void *dst);

/* Report on the last run on this rank. Before the first run all numbers are 0 and the texts are empty. */
typedef struct sley_collective_info {
  int64_t values, nonzeros; /* numbers of values and of nonzeros of src that were compressed; after a dense
                             * run, of the counted sample */
  int64_t result_nonzeros;  /* nonzero values of dst; -1: not counted */
  int64_t sent, received;   /* bytes to and from other ranks, with the headers of compressed arrays */
  int64_t dense_sent;       /* bytes that would have been sent with SLEY_COMPRESS_NONE */
  int64_t arrays;           /* compressed arrays that this rank made */
  int64_t dense, pici, coo; /* numbers of these arrays by the format in which they travelled */
  /* Numbers of these arrays, and of those that travelled dense: to be reduced in another workgroup (inter) or
   * in this rank's (intra), and gathered (allgather). */
  int64_t inter, inter_dense, intra, intra_dense, allgather, allgather_dense;
  const char *path;   /* algorithm that ran: "dense" or a name of sley_collective_ways(); static */
  const char *reason; /* why, in a few words; static */
} sley_collective_info;

/* Describes the last run on this rank in *out. With compress it may wait for enqueued work. Not collective.
 * Errors: SLEY_ERR_ARG; SLEY_ERR_PEER (an array from a peer was wrong, or waiting failed): the comm has then
 * ended. */
sley_status sley_collective_info_get(const sley_collective *collective, sley_collective_info *out);

/* Waits for enqueued work and frees the collective. NULL is accepted if all ranks pass NULL. Collective. */
void sley_collective_destroy(sley_collective *collective);

/* ----------------------------------------------------------------------------------- sparse gradients */

/* The values of a gradient that are largest in magnitude, for a compressed all-reduce. The values left out
 * are not lost: they stay in a residual, which is added to the next gradient (error feedback). Sources: Aji
 * and Heafield, EMNLP 2017 (a threshold from a sample); Stich, Cordonnier and Jaggi, NeurIPS 2018 (the
 * residual). */
typedef struct sley_topk_options {
  size_t struct_size;
  sley_dtype dtype; /* type of the gradient; default SLEY_F32 */
  int64_t count;    /* number of values of the gradient, 0 or more */
  double density;   /* share of values to keep, 0 < density <= 1; default 0.01 */
  /* Share of values in the sample from which the threshold is computed, 0 < sample <= 1; default 0.001. The
   * sample has at least 64 / density values, or all values if there are fewer. Then 64 values of the sample
   * reach the threshold, and the share of all values that is kept differs from density by about an eighth. */
  double sample;
  uint64_t seed; /* seed of the sample's positions, which are the same in every run; default 1 */
  /* NULL: the library allocates the residual and sets it to zero. Else count values of device memory, aligned
   * to their type (f64 for SLEY_F64, f32 for other dtypes), which hold the residual. The caller sets its
   * initial value and still owns the memory. */
  void *residual;
  /* Factor by which each run multiplies the residual before it adds it (leaky error feedback), from 0 to 1;
   * default 1: nothing is lost. 0: no error feedback. Other values than 1 need another pass over the
   * residual. */
  double residual_factor;
} sley_topk_options;
#define SLEY_TOPK_OPTIONS_INIT                                                                               \
  { sizeof(sley_topk_options), SLEY_F32, 0, 0.01, 0.001, 1, NULL, 1 }

/* A top-k with its residual and all memory that a run needs. */
typedef struct sley_topk sley_topk;

/* Prepares a top-k on the comm's device, to be run any number of times. Ended by sley_topk_destroy, before
 * the comm ends. options is read during the call only. Takes device memory for the residual, unless the
 * caller provides it, and 8 bytes for each value of the sample. Not collective. Errors: SLEY_ERR_ARG (an
 * option is wrong: the message names it), SLEY_ERR_OVERFLOW, SLEY_ERR_MEMORY, SLEY_ERR_UNSUPPORTED (a device
 * without such kernels). */
sley_status sley_topk_create(sley_comm *comm, const sley_topk_options *options, sley_topk **out);

/* Multiplies the residual by residual_factor, adds it to src, writes the sums whose magnitude reaches a
 * threshold to dst, with 0 elsewhere, and keeps the rest in the residual. The threshold is chosen so that the
 * share density of the sample, and at least one value, reaches it; it is 0 if density is 1. For each value,
 * where r is residual_factor times the residual, rounded to the residual's type, and s is src + r (computed
 * in f64 for SLEY_F64, else in f32):
 *
 *   src infinite or NaN   dst = src, residual = r
 *   s infinite or NaN     dst = s, residual = 0: the sum overflowed
 *   |s| >= threshold      dst = s, residual = s - dst. For 16-bit types dst is s rounded, or the largest
 *                         finite number if |s| exceeds it; for other types the residual is 0
 *   else                  dst = 0, residual = s
 *
 * So if all values are finite, dst + residual equals src + r, up to the rounding of s. All
 * values that equal the threshold are kept, so all values of a constant array. Zeros of dst are +0; NaN is
 * the type's positive quiet NaN without payload. The bits are the same on all devices, with any number of
 * threads.
 *
 * src and dst: count values of the dtype in memory of the comm's device, aligned to it, or NULL where count
 * is 0. dst may be src; nothing else overlaps. They stay the caller's; only dst is written. The work is
 * enqueued on the stream that sley_spmm uses. On the cpu it is done on return. On cuda it follows the rank's
 * earlier work; the call does not wait, copy to the host or allocate, so it can be captured into a graph. Not
 * collective. Errors: SLEY_ERR_ARG (a NULL handle or array, or one that is not aligned),
 * SLEY_ERR_INTERRUPTED. */
sley_status sley_topk_run(sley_topk *topk, const void *src, void *dst);

/* Copy the residual to, or from, count values of the caller's host memory (f64 for SLEY_F64, else f32), for
 * checkpoints; ordered with the runs. Return when the copy is done. Not collective. Errors: SLEY_ERR_ARG (a
 * NULL handle, or a NULL array where count is not 0); also errors of work enqueued earlier. */
sley_status sley_topk_residual_get(const sley_topk *topk, void *host);
sley_status sley_topk_residual_set(sley_topk *topk, const void *host);

/* Figures of the last run; before the first run threshold and kept are 0. */
typedef struct sley_topk_info {
  int64_t count, sample; /* number of values of the gradient, and of the sample */
  int64_t kept;          /* number of nonzero values of dst, with NaN */
  double threshold;
} sley_topk_info;

/* Waits for the runs so far and fills *out. Not collective. Errors: SLEY_ERR_ARG; also errors of work
 * enqueued earlier. */
sley_status sley_topk_info_get(const sley_topk *topk, sley_topk_info *out);

/* Waits for enqueued work and frees the top-k. Does not free a residual that the caller provided. Accepts
 * NULL. Not collective. */
void sley_topk_destroy(sley_topk *topk);

#ifdef __cplusplus
}
#endif
#endif
