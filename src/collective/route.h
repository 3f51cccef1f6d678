/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of the ways of a sparse collective: a route is a way prepared for one collective; its base
 * is the data that all ways use. */
#ifndef SLEY_COLLECTIVE_ROUTE_H
#define SLEY_COLLECTIVE_ROUTE_H

#include "collective/choose.h"
#include "collective/mapped.h"
#include "collective/sparse_spec.h"
#include "collective/transfer.h"

typedef struct sl_sparse_route sl_sparse_route;
typedef struct sl_sparse_route_ops sl_sparse_route_ops;

/* When an all-reduce exchanges whole arrays. */
typedef enum sl_whole {
  SL_WHOLE_OF_TWO, /* if there are two ranks, which do not read each other's memory: sums of parts would be
                      denser than the arrays, and need a second transfer */
  SL_WHOLE_ALWAYS,
  SL_WHOLE_NEVER
} sl_whole;

/* A row of the table of ways, ways.c. */
typedef struct sl_way {
  sley_collective_way_info info;
  const sl_sparse_route_ops *route;  /* NULL: the library chooses among other rows */
  const sl_sparse_route_ops *mapped; /* form of route for ranks that read each other's memory; or NULL */
  bool needs_levels;                 /* the direct way runs instead, unless there are several workgroups of
                                        several ranks */
  bool gathers_ranges;               /* gather transfers the parts of several ranks as one array */
  bool gathers_dense;                /* gather transfers dense arrays, whatever the format */
  sl_whole whole;
} sl_way;

typedef struct sl_sparse_base {
  sl_comm *comm;
  const sl_way *way;   /* way of the spec; once the route is open, the way that runs */
  sl_sparse_spec spec; /* spec; its counts are not kept: see begin */
  int64_t value_bytes;
  int64_t *begin;  /* size + 1 entries: rank r's part is values begin[r] .. begin[r + 1] - 1 of the whole
                      array */
  int64_t longest; /* values of the longest array that a transfer moves */
  sl_sparse_costs costs;
  double density; /* expected density of this rank's src */
  int64_t *work;  /* work memory on the device, for SL_OP_COMPRESS of `longest` values, or of all peers'
                     parts */
  sl_compress_part *to_compress; /* size entries: see sl_route_compress_reduced */
  sl_compressed_part *part;      /* size entries: see sl_route_list */
  int parts;                     /* number of listed parts */
  const void **src;              /* size entries: addresses of the arrays that sl_route_fold adds up */
  char *expanded;                /* in device memory: peers' arrays, dense, or NULL: see sl_route_fold */
  uint32_t *wrong;               /* in device memory: bits of sl_compressed_fault that kernels have set */
  /* Counts of the arrays of src that this rank compressed, in the newest run whose headers the host has read;
   * values is 0 if no headers were read since the counts were last used. */
  sl_sparse_counts known;
  sl_sparse_report report; /* report on the last run, as far as headers have been read */
} sl_sparse_base;

struct sl_sparse_route_ops {
  /* Peers' arrays are read in place, and the host reads no header during a run but in settle. */
  bool in_place;
  bool copies_own; /* gather copies this rank's own part to dst, too */
  /* Allocates memory and makes transfers; the caller sets (*out)->ops. *out is set on an error too, if there
   * is something to close. There are at least two ranks, and values. Collective, agreed. */
  sley_status (*open)(sl_sparse_base *base, sl_sparse_route **out);
  /* scatter: reduces the ranks' arrays src to dst, this rank's part; *density becomes the expected density of
   * dst. An all-reduce of whole arrays (sl_route_is_whole) consists of this alone, and a way that has no
   * other collectives needs no gather. gather: brings the peers' parts to their positions in dst; own, of
   * that density, is this rank's part. Both add to base->report. Collective. */
  sley_status (*scatter)(sl_sparse_route *route, const void *src, void *dst, double *density,
                         sl_queue *queue);
  sley_status (*gather)(sl_sparse_route *route, const void *own, double density, void *dst, sl_queue *queue);
  /* Called last in a run: reads the faults that kernels have found, or sends them to the host. Not
   * collective. */
  sley_status (*finish)(sl_sparse_route *route, sl_queue *queue);
  /* Reads the headers of earlier runs that have arrived, into base->known and, for the last run,
   * base->report. wait: the host first waits for all runs. Errors: SLEY_ERR_PEER. Not collective. */
  sley_status (*settle)(sl_sparse_route *route, bool wait);
  void (*close)(sl_sparse_route *route); /* collective */
};

/* A route. Ways extend the struct by making it their first member. */
struct sl_sparse_route {
  const sl_sparse_route_ops *ops;
  sl_sparse_base *base;
};

/* The slots finish and settle of ways that read all headers in the run: finish makes the host wait for the
 * queue, and reads the faults that kernels have found. */
sley_status sl_route_finish(sl_sparse_route *route, sl_queue *queue);
sley_status sl_route_settle_nothing(sl_sparse_route *route, bool wait);

/* Returns the error for faults that kernels have found. */
sley_status sl_route_check(uint32_t wrong);

static inline bool sl_route_reduces(const sl_sparse_base *base) {
  return sl_collective_kind_of(base->spec.dense.kind)->info.reduces;
}

static inline bool sl_route_gathers(const sl_sparse_base *base) {
  return sl_collective_kind_of(base->spec.dense.kind)->info.gathers;
}

/* Returns whether the ranks exchange whole arrays. Arrays that are read in place are not transferred, and
 * each rank adds only its part. */
static inline bool sl_route_is_whole(const sl_sparse_base *base) {
  if (!sl_route_reduces(base) || !sl_route_gathers(base))
    return false;
  return base->way->whole == SL_WHOLE_ALWAYS ||
         (base->way->whole == SL_WHOLE_OF_TWO && base->comm->size == 2 && !sl_mapped_serves(base->comm));
}

static inline int64_t sl_route_values(const sl_sparse_base *base, int rank) {
  return base->begin[rank + 1] - base->begin[rank];
}

/* Returns the address of the part of `rank` in an array of all parts. */
static inline char *sl_route_part(const sl_sparse_base *base, const void *array, int rank) {
  return (char *)array + base->begin[rank] * base->value_bytes;
}

/* For the direct way: return the number of values that are reduced at `rank`, and their address in an array
   of all parts. */
static inline int64_t sl_route_reduced_values(const sl_sparse_base *base, int rank) {
  return sl_route_is_whole(base) ? base->longest : sl_route_values(base, rank);
}

static inline char *sl_route_reduced_part(const sl_sparse_base *base, const void *array, int rank) {
  return sl_route_is_whole(base) ? (char *)array : sl_route_part(base, array, rank);
}

/* Returns whether parts are gathered, from the results of the direct way or from src. */
static inline bool sl_route_gathers_parts(const sl_sparse_base *base) {
  return sl_route_gathers(base) && !sl_route_is_whole(base);
}

/* Runs the collective by a route: scatter, gather or both. Adds to base->report. Collective. */
sley_status sl_route_run(sl_sparse_route *route, const void *src, void *dst, sl_queue *queue);

/* Allocate and free device memory; block may be NULL. Not collective. */
sley_status sl_route_take(const sl_sparse_base *base, int64_t bytes, void **out);
void sl_route_give(const sl_sparse_base *base, void *block);

/* Allocates the memory of sl_route_fold for at most `arrays` received arrays of at most that many values. Not
 * collective. */
sley_status sl_route_take_expanded(sl_sparse_base *base, int arrays, int64_t values);

/* Returns the bytes of a slot for the longest array. */
int64_t sl_route_slot(const sl_sparse_base *base);

/* The class of arrays for a peer that is reached over the link. */
static inline sl_message_class sl_route_class(sl_link link, bool gathered) {
  return gathered ? SL_GATHERED : link == SL_LINK_MESSAGE ? SL_INTER : SL_INTRA;
}

/* Returns the format for an array of that density that is sent over the link, to be reduced or gathered. */
sl_compressed_format sl_route_format(const sl_sparse_base *base, sl_link link, bool gathered, int64_t values,
                                     double density);

/* Compresses values of src, at least 1, to dst; copy: NULL, or an address to which all values are copied as
 * well. */
sley_status sl_route_compress(const sl_sparse_base *base, sl_compressed_format format, const void *src,
                              int64_t values, void *dst, void *copy, sl_queue *queue);

/* For the direct way: compresses, in one call, the values of src that are reduced at the items' peers, to the
 * items' positions in area, each in the format for its link. There are fewer items than ranks. */
sley_status sl_route_compress_reduced(const sl_sparse_base *base, const sl_transfer_item *items, int count,
                                      const void *src, char *area, sl_queue *queue);

/* Adds an array of values, compressed within `bytes` bytes at src, to the list of arrays that are
 * decompressed, with the destination dst. The list has fewer entries than there are ranks. Does nothing if
 * there are 0 values. */
void sl_route_list(sl_sparse_base *base, const void *src, int64_t bytes, int64_t values, void *dst);

/* Decompresses all listed arrays, and empties the list. */
sley_status sl_route_decompress(sl_sparse_base *base, sl_queue *queue);

/* Arguments of sl_route_fold: `parts` arrays, at most as many as ranks, of `values` values. Array `own` is
 * dense at own_src; each other array p is compressed at base->src[p], which the caller sets (by sl_route_lay
 * if the arrays are in consecutive slots of `stride` bytes). dst may be own_src. */
typedef struct sl_route_fold_args {
  int64_t values;
  int parts, own;
  const void *own_src;
  void *dst;
} sl_route_fold_args;

/* fold reduces the arrays to dst, with the bits of SL_OP_REDUCE. Sums of floating-point numbers are computed
 * from the compressed arrays, if there are at most as many as the device's kernel supports. All others are
 * decompressed first: a value that was left out is then a zero like any other. */
void sl_route_lay(sl_sparse_base *base, int parts, int own, const char *src, int64_t stride);
sley_status sl_route_fold(sl_sparse_base *base, const sl_route_fold_args *args, sl_queue *queue);

/* What arrays are: flags. */
typedef enum sl_route_arrays {
  SL_ARRAYS_OF_SUMS = 0, /* neither of the following */
  SL_ARRAYS_OF_SRC = 1,  /* parts of src */
  SL_ARRAYS_GATHERED = 2 /* sent to be gathered, not to be reduced */
} sl_route_arrays;

/* The flags of arrays that gather sends. */
static inline unsigned sl_route_gathered(const sl_sparse_base *base) {
  return SL_ARRAYS_GATHERED | (sl_route_reduces(base) ? SL_ARRAYS_OF_SUMS : SL_ARRAYS_OF_SRC);
}

/* Counts sent arrays in the report, by their headers. An item at a higher position than all items before it
 * is a new array; any other item is an array that is already counted. what: flags of sl_route_arrays. */
void sl_route_report_made(const sl_comm *comm, sl_sparse_report *report, const sl_transfer_item *items,
                          int count, const sl_compressed_header *header, unsigned what);

/* Calls sl_transfer_measure, and counts the arrays in the report. */
sley_status sl_route_measure(sl_sparse_base *base, sl_transfer *transfer, const void *src, unsigned what,
                             sl_queue *queue);

/* Calls sl_transfer_run, and counts the bytes in the report. */
sley_status sl_route_move(sl_sparse_base *base, sl_transfer *transfer, const void *src, void *dst,
                          sl_queue *queue);

/* The expected density of the sum of the arrays received in transfer and an array of density own. */
double sl_route_density(const sl_transfer *transfer, double own);

/* Adds the nonzeros of received arrays to the result's nonzeros. */
void sl_route_count_result(sl_sparse_base *base, const sl_transfer *transfer);

#endif
