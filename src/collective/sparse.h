/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives over arrays of which many values are zero: all-reduce, reduce-scatter, all-gather. The caller
 * hands over dense arrays, as to those of transport/dense.h, and gets the same bits; what travels is
 * compressed (device/op_compress.h). Every array is compressed once and goes straight to the rank that needs
 * it, which adds all of them in the order of the ranks:
 *
 *   reduce-scatter   every rank sends each peer that one's part, and sums its own part of all
 *   all-gather       every rank sends its part to each peer
 *   all-reduce       the array is cut into a part for each rank: reduce-scatter, then all-gather
 *
 * Sums: SLEY_SUM alone, types of floating point; an all-gather takes every type. */
#ifndef SLEY_COLLECTIVE_SPARSE_H
#define SLEY_COLLECTIVE_SPARSE_H

#include "transport/dense.h"

/* The dense collective that it does, and the format that parts travel in; one that would be longer than dense
 * travels dense. */
typedef struct sl_sparse_spec {
  sl_dense_spec dense;
  sl_compressed_format format;
} sl_sparse_spec;

/* What the last run of this rank has done. */
typedef struct sl_sparse_report {
  int64_t values, nonzeros; /* of all that it has compressed */
  int64_t arrays, dense;    /* compressed arrays that it has made, and those of them that are dense */
  int64_t sent, received;   /* bytes, headers too; what goes to several peers counts as often */
} sl_sparse_report;

typedef struct sl_sparse sl_sparse;

/* Checks the spec here and against the other ranks', takes all memory: this rank's part and those of its
 * peers, compressed in the worst case, twice. spec is used during the call only. Ended by sl_sparse_destroy.
 * Errors: SLEY_ERR_ARG (wrong, or the ranks differ), SLEY_ERR_OVERFLOW, SLEY_ERR_UNSUPPORTED (an operator or
 * a type of sums), on all ranks alike; SLEY_ERR_MEMORY, and those of sized_create. Collective. */
sley_status sl_sparse_create(sl_comm *comm, const sl_sparse_spec *spec, sl_sparse **out);

/* src and dst as of sley_collective_run, in place or not. The host waits for the queue, since the lengths of
 * what it sends depend on data. When it returns, dst is complete and src free for reuse in queue's order.
 * After an error the comm has been aborted; SLEY_ERR_PEER where what a peer has sent is not what it should
 * be. Collective. */
sley_status sl_sparse_run(sl_sparse *sparse, const void *src, void *dst, sl_queue *queue);

/* Of the last run. Not collective. */
void sl_sparse_report_of(const sl_sparse *sparse, sl_sparse_report *out);

/* Waits for the comm's queue. NULL, then on all ranks: nothing. Collective. */
void sl_sparse_destroy(sl_sparse *sparse);

#endif
