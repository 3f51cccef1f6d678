/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives over arrays of which many values are zero: all-reduce, reduce-scatter, all-gather. The caller
 * passes dense arrays, as in transport/dense_collective.h; they are compressed for transfer (device/op/op_compress.h) if
 * that is expected to be faster. Ways:
 *
 *   dense       the collective of transport/dense_collective.h
 *   direct      every array is compressed once and sent directly to the rank that needs it, or read by that
 *               rank in place; it adds all of them in the order of the ranks: the bits are those of
 *               the dense collective
 *   two-level   reduce-scatter: added inside workgroups first, then between them. All-gather: the reverse
 *   recursive-doubling, split-allgather, split-dense
 *               all-reduces of SparCML (Renggli et al.): doubling.c, split.c. For comparisons
 *   ring        from rank to rank, added and compressed again at every hop, as in Hough et al.; with coo
 *               arrays it is the ring of SparCML (Renggli et al.). For comparisons
 *
 * All-reduce: the array is divided into a part for each rank; reduce-scatter, then all-gather.
 *
 * Two-level, ring and recursive-doubling add in orders of their own, and round 16-bit values at each rank that adds. So the bits
 * of floating-point sums differ from those of direct; they depend only on the number of ranks and the
 * workgroups, and are the same in every run, except for a run that SL_SPARSE_AUTO makes dense. Minimum,
 * maximum, sums of i64 and all-gathers have the same bits in every way. */
#ifndef SLEY_COLLECTIVE_SPARSE_H
#define SLEY_COLLECTIVE_SPARSE_H

#include "collective/sparse_spec.h"

typedef struct sl_sparse sl_sparse;

/* Checks the spec by itself and against the other ranks' specs, and allocates all memory: for this rank's
 * part and its peers' parts, compressed in the worst case, twice, or once if peers read them in place; with
 * SL_SPARSE_AUTO also the memory of sl_dense_create. spec is used during the call only. Ended by
 * sl_sparse_destroy. Errors: SLEY_ERR_ARG (wrong, or the ranks differ), SLEY_ERR_OVERFLOW,
 * SLEY_ERR_UNSUPPORTED (a device without the kernels; not with SL_SPARSE_AUTO), on all ranks alike;
 * SLEY_ERR_MEMORY, errors of sized_create and of sl_machine_find. Collective. */
sley_status sl_sparse_create(sl_comm *comm, const sl_sparse_spec *spec, sl_sparse **out);

/* Runs the collective; src and dst as in sley_collective_run, in place or not. After the call, in the queue's
 * order, dst is complete and src may be reused. After an error the comm has been aborted; SLEY_ERR_PEER if an
 * array from a peer is not valid. Collective.
 *
 * If peers' arrays are read in place (sl_mapped_serves, and the way is direct) the host waits for no device,
 * except for a sample that SL_SPARSE_AUTO counts (probe.h), and when SL_HEADERS_RUNS runs are in flight. An
 * error in a peer's array is then returned by a later run, which begins when the host has learnt of it, or by
 * sl_sparse_report_of. Bytes that peers have provided are counted then, too, except for headers.
 *
 * Otherwise, unless the run is dense without a sample (reasons ASKED, ALONE, NO_KERNELS, SMALL, HELD), the
 * host waits for the queue once for each exchange, since the sent bytes depend on data. */
sley_status sl_sparse_run(sl_sparse *sparse, const void *src, void *dst, sl_queue *queue);

/* Reports the last run; before the first run all fields are 0. After runs in place it waits for the comm's
 * queue, and returns the errors of these runs; then the comm has been aborted. Not collective. */
sley_status sl_sparse_report_of(sl_sparse *sparse, sl_sparse_report *out);

/* Waits for the comm's queue. Aborts the comm if a run in place had an error that was not returned yet. NULL,
 * if on all ranks: does nothing. Collective. */
void sl_sparse_destroy(sl_sparse *sparse);

#endif
