/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives over arrays of which many values are zero: all-reduce, reduce-scatter, all-gather. The caller
 * hands over dense arrays, as to those of transport/dense_collective.h; what travels is compressed
 * (device/op/op_compress.h), where that is expected to be faster. Ways:
 *
 *   dense       the collective of transport/dense_collective.h
 *   direct      every array is compressed once and goes straight to the rank that needs it, or is read by
 *               that rank where it is; it adds all of them in the order of the ranks: the bits are those of
 *               the dense collective
 *   two-level   reduce-scatter: added inside workgroups first, then between them. All-gather: the reverse
 *   ring        from rank to rank, added and compressed anew at every hop, as in Hough et al.; with coo
 *               arrays it is the ring of SparCML (Renggli et al.). For comparisons
 *
 * All-reduce: the array is cut into a part for each rank; reduce-scatter, then all-gather.
 *
 * Two-level and ring add in orders of their own, and round 16-bit values at each rank that adds. So the bits
 * of floating-point sums differ from those of direct; they depend on the number of ranks and the workgroups
 * alone, and are the same in every run, but for a run that SL_SPARSE_AUTO makes dense. Minimum, maximum, sums
 * of i64 and all-gathers have the same bits in every way. */
#ifndef SLEY_COLLECTIVE_SPARSE_H
#define SLEY_COLLECTIVE_SPARSE_H

#include "collective/sparse_spec.h"

typedef struct sl_sparse sl_sparse;

/* Checks the spec here and against the other ranks', takes all memory: this rank's part and those of its
 * peers, compressed in the worst case, twice, or once where peers read them in place; with SL_SPARSE_AUTO
 * what sl_dense_create takes, too. spec is used during the call only. Ended by sl_sparse_destroy. Errors:
 * SLEY_ERR_ARG (wrong, or the ranks differ), SLEY_ERR_OVERFLOW, SLEY_ERR_UNSUPPORTED (a device without the
 * kernels; not with SL_SPARSE_AUTO), on all ranks alike; SLEY_ERR_MEMORY, those of sized_create and of
 * sl_machine_find. Collective. */
sley_status sl_sparse_create(sl_comm *comm, const sl_sparse_spec *spec, sl_sparse **out);

/* src and dst as of sley_collective_run, in place or not. When it returns, dst is complete and src free for
 * reuse in queue's order. After an error the comm has been aborted; SLEY_ERR_PEER where what a peer has sent
 * is not what it should be. Collective.
 *
 * Where peers' arrays are read in place (sl_mapped_serves, and the way is direct) the host waits for no
 * device: but for a sample that SL_SPARSE_AUTO counts (probe.h), and where SL_HEADERS_RUNS runs are on their
 * way. What is wrong with a peer's array is then the error of a later run, one that begins when the host has
 * learnt of it, or of sl_sparse_report_of. Bytes that peers gave are counted then, too, but for headers.
 *
 * Otherwise, unless the run is dense and not looked at (reasons ASKED, ALONE, NO_KERNELS, SMALL, HELD), the
 * host waits for the queue once for each exchange, since what is sent depends on data. */
sley_status sl_sparse_run(sl_sparse *sparse, const void *src, void *dst, sl_queue *queue);

/* Of the last run; before the first all is 0. After runs in place it waits for the comm's queue, and has the
 * errors of those; then the comm has been aborted. Not collective. */
sley_status sl_sparse_report_of(sl_sparse *sparse, sl_sparse_report *out);

/* Waits for the comm's queue. Aborts the comm where a run in place had an error that nobody has been told.
 * NULL, then on all ranks: nothing. Collective. */
void sl_sparse_destroy(sl_sparse *sparse);

#endif
