/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways of a sparse collective share: a route is one of them, made for a collective; its base is what
 * they all work with. */
#ifndef SLEY_COLLECTIVE_ROUTE_H
#define SLEY_COLLECTIVE_ROUTE_H

#include "collective/choose.h"
#include "collective/mapped.h"
#include "collective/sparse_spec.h"
#include "collective/transfer.h"

typedef struct sl_sparse_base {
  sl_comm *comm;
  sl_sparse_spec spec; /* counts: see begin */
  int64_t value_bytes;
  int64_t *begin;  /* size + 1: the values of rank r's part are begin[r] .. begin[r + 1] of all */
  int64_t longest; /* array that a transfer moves, in values */
  sl_sparse_costs costs;
  double density; /* expected of this rank's src */
  int64_t *work;  /* of the device, for SL_OP_COMPRESS of `longest` values, or of all peers' parts */
  sl_compress_part *to_compress; /* size: see sl_route_compress_reduced */
  sl_compressed_part *part;      /* size: see sl_route_list */
  int parts;                     /* of them listed */
  const void **src;              /* size: where the arrays are that sl_route_fold adds up */
  char *expanded;                /* of the device: peers' arrays, dense, or NULL: see sl_route_fold */
  uint32_t *wrong;               /* of the device, bits of sl_compressed_fault: what kernels have found */
  /* Of what this rank compressed of src, in the newest run whose headers the host has read; values 0: in none
   * since this was last taken. */
  sl_sparse_counts known;
  sl_sparse_report report; /* of the last run, as far as headers have been read */
} sl_sparse_base;

typedef struct sl_sparse_route sl_sparse_route;

typedef struct sl_sparse_route_ops {
  sl_sparse_path path;
  /* Peers' arrays are read where they are, and the host reads no header in a run: settle does. */
  bool in_place;
  bool copies_own; /* gather brings this rank's own part to dst, too */
  /* Takes memory and makes transfers. *out is set on an error too, if there is something to close. There are
   * at least two ranks, and values. Collective, agreed. */
  sley_status (*open)(sl_sparse_base *base, sl_sparse_route **out);
  /* dst, this rank's part, becomes the reduction of the ranks' arrays src there; *density becomes that of
   * dst, as expected. An all-reduce of whole arrays (sl_route_is_whole) is that alone. gather: the peers'
   * parts come to where they belong in dst; own, of the density, is this rank's. Both add to base->report.
   * Collective. */
  sley_status (*scatter)(sl_sparse_route *route, const void *src, void *dst, double *density,
                         sl_queue *queue);
  sley_status (*gather)(sl_sparse_route *route, const void *own, double density, void *dst, sl_queue *queue);
  /* After these, the last of a run: what kernels have found wrong is read, or sent to the host. Local. */
  sley_status (*finish)(sl_sparse_route *route, sl_queue *queue);
  /* Reads what has come to the host of the runs since, into base->known and, of the last run, base->report.
   * wait: of all runs, for which the host waits. Errors: SLEY_ERR_PEER. Local. */
  sley_status (*settle)(sl_sparse_route *route, bool wait);
  void (*close)(sl_sparse_route *route); /* collective */
} sl_sparse_route_ops;

/* Ways extend it by making it their first member. */
struct sl_sparse_route {
  const sl_sparse_route_ops *ops;
  sl_sparse_base *base;
};

extern const sl_sparse_route_ops sl_sparse_direct, sl_sparse_in_place, sl_sparse_ring, sl_sparse_two_level;

/* finish and settle of ways that have read all headers in the run: the host waits for the queue, and reads
 * what kernels have found wrong. */
sley_status sl_route_finish(sl_sparse_route *route, sl_queue *queue);
sley_status sl_route_settle_nothing(sl_sparse_route *route, bool wait);

/* The error of such a verdict. */
sley_status sl_route_check(uint32_t wrong);

static inline bool sl_route_reduces(const sl_sparse_base *base) {
  return sl_collective_kind_of(base->spec.dense.kind)->info.reduces;
}

static inline bool sl_route_gathers(const sl_sparse_base *base) {
  return sl_collective_kind_of(base->spec.dense.kind)->info.gathers;
}

/* Whether arrays go whole to the other of two ranks: the sums of parts would be denser than what they are
 * made of, and take a second transfer. Where arrays are read in place, nothing is transferred, and each rank
 * adds only its part. */
static inline bool sl_route_is_whole(const sl_sparse_base *base) {
  return sl_route_reduces(base) && sl_route_gathers(base) && base->comm->size == 2 &&
         base->spec.way != SL_SPARSE_WAY_RING && !sl_mapped_serves(base->comm);
}

static inline int64_t sl_route_values(const sl_sparse_base *base, int rank) {
  return base->begin[rank + 1] - base->begin[rank];
}

/* Where rank's part is in an array of all. */
static inline char *sl_route_part(const sl_sparse_base *base, const void *array, int rank) {
  return (char *)array + base->begin[rank] * base->value_bytes;
}

/* Of the direct way: what all ranks' arrays are reduced to at rank, and where it is in an array of all. */
static inline int64_t sl_route_reduced_values(const sl_sparse_base *base, int rank) {
  return sl_route_is_whole(base) ? base->longest : sl_route_values(base, rank);
}

static inline char *sl_route_reduced_part(const sl_sparse_base *base, const void *array, int rank) {
  return sl_route_is_whole(base) ? (char *)array : sl_route_part(base, array, rank);
}

/* Whether parts are gathered, of those that the direct way has reduced or of src. */
static inline bool sl_route_gathers_parts(const sl_sparse_base *base) {
  return sl_route_gathers(base) && !sl_route_is_whole(base);
}

/* The collective by a route: scatter, gather or both. Adds to base->report. Collective. */
sley_status sl_route_run(sl_sparse_route *route, const void *src, void *dst, sl_queue *queue);

/* Memory of the device; give: NULL is nothing. Local. */
sley_status sl_route_take(const sl_sparse_base *base, int64_t bytes, void **out);
void sl_route_give(const sl_sparse_base *base, void *block);

/* What sl_route_fold needs for so many arrays that come at most. Local. */
sley_status sl_route_take_expanded(sl_sparse_base *base, int arrays);

/* Bytes of the room for the longest array. */
int64_t sl_route_slot(const sl_sparse_base *base);

/* The format for an array of the density that is sent over the link. */
sl_compressed_format sl_route_format(const sl_sparse_base *base, sl_link link, int64_t values,
                                     double density);

/* Compresses src, values of it, at least 1, to dst; copy: NULL, or where all of them go as well. */
sley_status sl_route_compress(const sl_sparse_base *base, sl_compressed_format format, const void *src,
                              int64_t values, void *dst, void *copy, sl_queue *queue);

/* Of the direct way: compresses, in one call, what src has for the reductions at the items' peers, fewer than
 * ranks, to where the items lie in area, each in the format for its link. */
sley_status sl_route_compress_reduced(const sl_sparse_base *base, const sl_transfer_item *items, int count,
                                      const void *src, char *area, sl_queue *queue);

/* Lists an array of values, compressed within `bytes` of src, that is to be taken apart to dst: fewer than
 * ranks. Of no values: nothing. */
void sl_route_list(sl_sparse_base *base, const void *src, int64_t bytes, int64_t values, void *dst);

/* Takes apart all arrays that are listed. Then none is. */
sley_status sl_route_decompress(sl_sparse_base *base, sl_queue *queue);

/* What sl_route_fold adds up: `parts` arrays, as many as ranks at most, of `values` values. Array `own` is
 * dense at own_src; each other array p is compressed at base->src[p], which the caller sets (sl_route_lay
 * where they lie one slot of `stride` bytes after the other). dst may be own_src. */
typedef struct sl_route_fold_args {
  int64_t values;
  int parts, own;
  const void *own_src;
  void *dst;
} sl_route_fold_args;

/* dst becomes the arrays' reduction, with the bits of SL_OP_REDUCE. Sums of floating point are made of the
 * compressed arrays, of as many as the device's kernel serves. All else takes them apart first: there a value
 * that was left out is a zero like another. */
void sl_route_lay(sl_sparse_base *base, int parts, int own, const char *src, int64_t stride);
sley_status sl_route_fold(sl_sparse_base *base, const sl_route_fold_args *args, sl_queue *queue);

/* The report counts the arrays that are sent, by their headers. Items at ascending places
 * are arrays of their own; one at a place that is not behind all before it is the array that is there.
 * is_src: they are parts of src. */
void sl_route_report_made(sl_sparse_report *report, const sl_transfer_item *items, int count,
                          const sl_compressed_header *header, bool is_src);

/* sl_transfer_measure; the report counts the arrays. */
sley_status sl_route_measure(sl_sparse_base *base, sl_transfer *transfer, const void *src, bool is_src,
                             sl_queue *queue);

/* sl_transfer_run; the report counts the bytes. */
sley_status sl_route_move(sl_sparse_base *base, sl_transfer *transfer, const void *src, void *dst,
                          sl_queue *queue);

/* The expected density of the sum of what has come in transfer and an array of the density own. */
double sl_route_density(const sl_transfer *transfer, double own);

/* Adds the nonzeros of what has come to those of the result. */
void sl_route_count_result(sl_sparse_base *base, const sl_transfer *transfer);

#endif
