/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives over arrays of which many values are zero: all-reduce, reduce-scatter, all-gather. The caller
 * hands over dense arrays, as to those of transport/dense.h; what travels is compressed
 * (device/op_compress.h), where that is expected to be faster. Ways:
 *
 *   dense       the collective of transport/dense.h
 *   direct      every array is compressed once and goes straight to the rank that needs it, which adds all
 *               of them in the order of the ranks: the bits are those of the dense collective
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
 * peers, compressed in the worst case, twice; with SL_SPARSE_AUTO what sl_dense_create takes, too. spec is
 * used during the call only. Ended by sl_sparse_destroy. Errors: SLEY_ERR_ARG (wrong, or the ranks differ),
 * SLEY_ERR_OVERFLOW, SLEY_ERR_UNSUPPORTED (a device without the kernels; not with SL_SPARSE_AUTO), on all
 * ranks alike; SLEY_ERR_MEMORY, those of sized_create and of sl_machine_find. Collective. */
sley_status sl_sparse_create(sl_comm *comm, const sl_sparse_spec *spec, sl_sparse **out);

/* src and dst as of sley_collective_run, in place or not. Unless it is dense and not looked at (reasons
 * ASKED, ALONE, NO_KERNELS, SMALL, HELD), the host waits for the queue, since what is sent depends on data.
 * When it returns, dst is complete and src free for reuse in queue's order. After an error the comm has been
 * aborted; SLEY_ERR_PEER where what a peer has sent is not what it should be. Collective. */
sley_status sl_sparse_run(sl_sparse *sparse, const void *src, void *dst, sl_queue *queue);

/* Of the last run; before the first all is 0. Not collective. */
void sl_sparse_report_of(const sl_sparse *sparse, sl_sparse_report *out);

/* Waits for the comm's queue. NULL, then on all ranks: nothing. Collective. */
void sl_sparse_destroy(sl_sparse *sparse);

#endif
