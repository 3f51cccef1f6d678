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
  const char *name;    /* as in sley_collective_kinds(). Static, as: */
  const char *summary; /* one line: what every rank gets */
  bool reduces; /* src has all parts, and values are reduced; else src has the own part, and bits are copied */
  bool gathers; /* dst gets all parts; else the own part */
  bool whole;   /* count is the length of all parts together, which the library cuts; counts is NULL */
} sley_collective_kind_info;

/* What a kind does, to *out. Not collective. Errors: SLEY_ERR_ARG (no such kind, or out is NULL). */
sley_status sley_collective_kind_get(sley_collective_kind kind, sley_collective_kind_info *out);

/* How what travels is compressed, for arrays of which many values are zero. A value is zero if all its bits
 * are: -0 and NaN travel. Source: Hough et al., SpCCL (the format and the direct exchange). */
typedef enum sley_compress {
  SLEY_COMPRESS_NONE = 0, /* not at all */
  SLEY_COMPRESS_AUTO = 1, /* the format that is predicted to be the fastest, in each run anew */
  SLEY_COMPRESS_PICI = 2, /* a bit for each value, and the values that are not zero */
  SLEY_COMPRESS_COO = 3   /* positions of 32 bits, and the values that are not zero */
} sley_compress;

/* Whom compressed arrays go to. */
typedef enum sley_collective_way {
  SLEY_WAY_AUTO = 0,     /* chosen by the library, among those that keep the bits unless any_order */
  SLEY_WAY_DIRECT = 1,   /* straight to each rank that needs them */
  SLEY_WAY_RING = 2,     /* from neighbour to neighbour, added on the way */
  SLEY_WAY_TWO_LEVEL = 3 /* within workgroups, then between them */
} sley_collective_way;

typedef struct sley_collective_options {
  size_t struct_size;
  sley_collective_kind kind; /* default SLEY_ALLREDUCE */
  sley_reduce op;            /* default SLEY_SUM; SLEY_ALLGATHER does not look at it */
  sley_type type;            /* default SLEY_TYPE_F32 */
  /* SLEY_ALLREDUCE: values of the array. SLEY_REDUCE_SCATTER, SLEY_ALLGATHER: values of every rank's part,
   * where counts is NULL; else not looked at. */
  int64_t count;
  const int64_t *counts; /* NULL, or the values of each rank's part, size entries; read by create only */
  /* Floating-point sums, minima and maxima may use the transport's own reduction (NCCL's, MPI's), which may
   * be faster: its order of summation, so the bits, may depend on the ranks' places and vary between runs,
   * and its minimum and maximum may ignore NaN. */
  bool any_order;
  int reserved; /* not looked at */
  /* default SLEY_COMPRESS_NONE. Shapes, aliases, order and bits of sley_collective_run stay the same, but for
   * the bits of floating-point sums by SLEY_WAY_RING and _TWO_LEVEL: these are added in an order of their
   * own, which depends on the number of ranks and the workgroups alone, and are rounded to the type each
   * time. An array that would not be shorter travels dense. */
  sley_compress compress;
  sley_collective_way way; /* default SLEY_WAY_AUTO; not looked at with SLEY_COMPRESS_NONE */
} sley_collective_options;
#define SLEY_COLLECTIVE_OPTIONS_INIT                                                                         \
  {                                                                                                          \
    sizeof(sley_collective_options), SLEY_ALLREDUCE, SLEY_SUM, SLEY_TYPE_F32, 0, NULL, false, 0,             \
        SLEY_COMPRESS_NONE, SLEY_WAY_AUTO                                                                    \
  }

/* A prepared collective: it has all memory it needs, so that a run allocates nothing. */
typedef struct sley_collective sley_collective;

/* Prepares a collective of fixed sizes, to be run any number of times. Ended by sley_collective_destroy,
 * before the comm ends. options are read during the call only. With compress it takes memory of the device
 * for this rank's and the peers' parts at their longest. SLEY_COMPRESS_AUTO wants to know the speed of
 * messages: on a comm of several workgroups, where no description of the machine tells it, the first such
 * collective of 64 KiB or more measures it, by all-gathers that bring a rank 7 MiB at most, and the comm
 * keeps it for all that are made later. Collective. Errors, the same on all ranks: SLEY_ERR_ARG (an option is
 * wrong, or the ranks' options differ), SLEY_ERR_OVERFLOW, SLEY_ERR_UNSUPPORTED (with compress: an operator,
 * a type, a way or a device for which there is none); SLEY_ERR_MEMORY, SLEY_ERR_PEER. */
sley_status sley_collective_create(sley_comm *comm, const sley_collective_options *options,
                                   sley_collective **out);

/* Runs it. Shapes, in values of the type; part(r) is counts[r] or count, begin(r) the sum of the parts
 * before:
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
 * in ascending order of ranks: SLEY_TYPE_F16 and _BF16 in f32, rounded once at the end, the other types in
 * their own. A result that is NaN is the type's positive quiet NaN without payload. Minimum and maximum are
 * those of IEEE 754-2019: NaN where a value is NaN, and -0 is less than +0. Sums of SLEY_TYPE_I64 wrap around
 * modulo 2^64. So the bits depend on the values and the number of ranks alone, not on the transport, the
 * device, the workgroups or the threads, and all ranks have the same. SLEY_ALLGATHER copies bits.
 *
 * The work is enqueued like that of sley_spmm, after all that the rank's calls have enqueued so far; the call
 * may return before it is done. What is enqueued later, on the same stream, may read dst and write src. On
 * the cpu all is done when it returns. With compress it may wait for work before, since the bytes that
 * travel depend on the values. Where ranks are threads whose GPUs can read each other's memory it does so
 * only for the first run of SLEY_COMPRESS_AUTO, for some after dense runs, and where it is 16 runs ahead of
 * the GPU; there an array of a peer that is wrong is the error of a later run, or of info_get. A rank that
 * fails ends the others with SLEY_ERR_PEER. All ranks run the collectives of a comm in the same order.
 * Collective. Errors: SLEY_ERR_ARG (a NULL handle or array, or an array that is not aligned), SLEY_ERR_PEER.
 */
sley_status sley_collective_run(sley_collective *collective, const void *src, void *dst);

/* What the last run did on this rank. Before the first one all is 0, and the texts are empty. */
typedef struct sley_collective_info {
  int64_t values, nonzeros; /* of what it compressed of src; of a dense run: of the sample that it counted */
  int64_t result_nonzeros;  /* values of dst that are not zero; -1: not known */
  int64_t sent, received;   /* bytes to and from other ranks, headers of compressed arrays too */
  int64_t dense_sent;       /* bytes that SLEY_COMPRESS_NONE would have sent */
  int64_t arrays;           /* compressed arrays that this rank has made */
  int64_t dense, pici, coo; /* of them, by the format that they travelled in */
  const char *path;         /* what ran: "dense", or the way: "direct", "ring", "two-level"; static */
  const char *reason;       /* why, in a few words; static */
} sley_collective_info;

/* What the last run did on this rank, to *out. With compress it may wait for what is enqueued. Not
 * collective. Errors: SLEY_ERR_ARG; SLEY_ERR_PEER (a peer's array of a run was wrong, or waiting failed):
 * then the comm has ended. */
sley_status sley_collective_info_get(const sley_collective *collective, sley_collective_info *out);

/* Waits for what is enqueued. Accepts NULL, then on all ranks. Collective. */
void sley_collective_destroy(sley_collective *collective);

/* ----------------------------------------------------------------------------------- sparse gradients */

/* The values of a gradient that are largest in magnitude, for a compressed all-reduce. What is left out is
 * not lost: it stays in a residual, which is added to the next gradient (error feedback). Sources: Aji and
 * Heafield, EMNLP 2017 (a threshold from a sample); Stich, Cordonnier and Jaggi, NeurIPS 2018 (the
 * residual). */
typedef struct sley_topk_options {
  size_t struct_size;
  sley_dtype dtype; /* of the gradient; default SLEY_F32 */
  int64_t count;    /* values of the gradient, 0 or more */
  double density;   /* the share of values to keep, 0 < density <= 1; default 0.01 */
  /* The share of values that the threshold is found from, 0 < sample <= 1; default 0.001. At least 64 /
   * density values are looked at, or all: then 64 of them are kept, and the share that is kept of all values
   * errs by about an eighth. */
  double sample;
  uint64_t seed; /* of the places of the sample, which are the same in every run; default 1 */
  /* NULL: the library takes memory, and zeroes it. Else count values of the device's memory, aligned to their
   * type (SLEY_F64: f64, other dtypes: f32), which hold the residual, at first too, and stay the caller's. */
  void *residual;
} sley_topk_options;
#define SLEY_TOPK_OPTIONS_INIT                                                                               \
  { sizeof(sley_topk_options), SLEY_F32, 0, 0.01, 0.001, 1, NULL }

/* A top-k with its residual and all memory that a run needs. */
typedef struct sley_topk sley_topk;

/* Prepares a top-k on the comm's device, to be run any number of times. Ended by sley_topk_destroy, before
 * the comm ends. options are read during the call only. Takes memory of the device for the residual, unless
 * it is given, and 8 bytes for each value of the sample. Not collective. Errors: SLEY_ERR_ARG (an option is
 * wrong: the message names it), SLEY_ERR_OVERFLOW, SLEY_ERR_MEMORY, SLEY_ERR_UNSUPPORTED (a device without
 * such kernels). */
sley_status sley_topk_create(sley_comm *comm, const sley_topk_options *options, sley_topk **out);

/* dst = the sums of src and residual whose magnitude reaches a threshold, and 0 elsewhere; the residual
 * becomes what is left. The threshold is the magnitude that the share density of the sample reaches, at least
 * one value; 0 with density 1. Value by value, s being the sum, made in f32, of SLEY_F64 in f64:
 *
 *   src infinite or NaN   dst = src: it is sent as it is, and the residual stays
 *   s infinite or NaN     dst = s, residual = 0: a sum beyond the type of sums
 *   |s| >= threshold      dst = s, residual = s - dst, which is 0 but for the rounding of 16-bit types; of
 *                         these a sum beyond the largest number becomes that number, and the rest stays
 *   else                  dst = 0, residual = s
 *
 * So dst + residual is src + the residual before, to the rounding of that sum, wherever these are finite.
 * Values that equal the threshold are all kept: of an array of equal values, all. Zeros of dst are +0, NaN is
 * the type's positive quiet NaN without payload. The bits are the same on all devices, with any number of
 * threads.
 *
 * src and dst: count values of the dtype in memory of the comm's device, aligned to it, or NULL where count
 * is 0. dst may be src; nothing else overlaps. They stay the caller's; only dst is written. The work is
 * enqueued like that of sley_spmm: on the cpu it is done on return; on cuda it is in the order of the rank's
 * other work, and nothing is waited for, copied to the host or allocated, so that a run can be captured into
 * a graph. Not collective. Errors: SLEY_ERR_ARG (a NULL handle or array, or one that is not aligned),
 * SLEY_ERR_INTERRUPTED. */
sley_status sley_topk_run(sley_topk *topk, const void *src, void *dst);

/* Copies the residual to, or from, count values of the caller's host memory, f64 for SLEY_F64 and f32 else,
 * for checkpoints; in the order of the runs. Returns when the copy is done. Not collective. Errors:
 * SLEY_ERR_ARG (a NULL handle, or array where count is not 0); also those of work enqueued earlier. */
sley_status sley_topk_residual_get(const sley_topk *topk, void *host);
sley_status sley_topk_residual_set(sley_topk *topk, const void *host);

/* Of the last run; before the first one threshold and kept are 0. */
typedef struct sley_topk_info {
  int64_t count, sample; /* values of the gradient, and of the sample */
  int64_t kept;          /* values of dst that are not zero, NaN too */
  double threshold;
} sley_topk_info;

/* Waits for the runs so far. Not collective. Errors: SLEY_ERR_ARG; also those of work enqueued earlier. */
sley_status sley_topk_info_get(const sley_topk *topk, sley_topk_info *out);

/* Waits for what is enqueued; a residual of the caller's stays. Accepts NULL. Not collective. */
void sley_topk_destroy(sley_topk *topk);

#ifdef __cplusplus
}
#endif
#endif
