/* SPDX-License-Identifier: Apache-2.0 */
/* Typed collectives over dense arrays in the memory of the ranks' devices: all-reduce, reduce-scatter,
 * all-gather. Prepared once, run any number of times, in the queue's order. They consist of prepared
 * exchanges and SL_OP_REDUCE, so they run on every transport and device, and every value is reduced in the
 * order of the ranks:
 *
 *   reduce-scatter   every rank receives its peers' values for its own part, and reduces them; if all ranks
 *                    can read each other's memory, they reduce the values in place
 *
 *   all-gather       every rank receives its peers' parts; if every rank is a workgroup of its own and parts
 *                    are long, from its neighbour in a ring
 *
 *   all-reduce       the array is divided into a part for each rank: reduce-scatter, then all-gather; if that
 *                    is faster, one exchange brings every rank all arrays, and it reduces them whole. The
 *                    bits are the same.
 *
 * Operations that do not depend on the order (moves, and values of i64), or need not be in order (any_order),
 * are left to the transport's own library if it supports them (sl_transport_ops.dense_native). */
#ifndef SLEY_TRANSPORT_DENSE_COLLECTIVE_H
#define SLEY_TRANSPORT_DENSE_COLLECTIVE_H

#include "transport/transport.h"

/* An all-reduce is done in one exchange if all ranks' arrays together have at most that many bytes, or if
 * there are two ranks that cannot read each other's memory. */
#define SL_DENSE_ONE_EXCHANGE (INT64_C(128) << 10)

/* A row of the table of kinds, collective_kinds.c. */
typedef struct sl_collective_kind {
  sley_collective_kind_info info;
  const char *title; /* name in messages */
  bool native;       /* libraries of transports support this kind */
  /* Fills begin, as sl_dense_lay_out does. */
  void (*lay_out)(const sl_dense_spec *spec, int size, int64_t *begin);
} sl_collective_kind;

/* Returns the row of a kind; NULL if there is none. */
const sl_collective_kind *sl_collective_kind_of(sley_collective_kind kind);

/* The same as sley_collective_kinds. */
const char *const *sl_collective_kind_names(void);

/* Fields as in sley_collective_options. */
struct sl_dense_spec {
  sley_collective_kind kind;
  sley_reduce op; /* reduction; SLEY_SUM for an all-gather */
  sley_type type;
  int64_t count;         /* number of values of each rank; for an all-reduce, of the array */
  const int64_t *counts; /* NULL: count values for each rank; else size entries. Not with all-reduce */
  bool any_order;
};

/* A collective that the transport's library runs; a transport extends the struct by making it its first
 * member. */
struct sl_dense_native {
  /* Runs the collective; src and dst as in sley_collective_run. If it fails, the comm is aborted. The caller
   * counts the traffic. Collective. */
  sley_status (*run)(sl_dense_native *native, const void *src, void *dst, sl_queue *queue);
  /* Frees the collective; the queue's work is done. Collective. */
  void (*destroy)(sl_dense_native *native);
};

/* The slot dense_native of transports without such a library. */
sley_status sl_dense_no_native(sl_comm *comm, const sl_dense_spec *spec, sl_dense_native **out);

/* Checks the spec by itself and against the other ranks' specs. Errors: SLEY_ERR_ARG (wrong, or the ranks
 * differ), SLEY_ERR_OVERFLOW, on all ranks alike; SLEY_ERR_MEMORY. Collective. */
sley_status sl_dense_agree(sl_comm *comm, const sl_dense_spec *spec);

/* Computes the ranks' parts of a valid spec: as specified, or the array of an all-reduce divided about
 * equally. begin (size + 1 entries): rank r's part is values begin[r] .. begin[r + 1] - 1 of the whole array.
 */
void sl_dense_lay_out(const sl_dense_spec *spec, int size, int64_t *begin);

/* Return whether an all-reduce of a valid spec is done in one exchange, and whether a reduction reads the
 * peers' arrays in place. Not collective. */
bool sl_dense_is_whole(const sl_dense_spec *spec, const sl_comm *comm);
bool sl_dense_is_mapped(const sl_dense_spec *spec, const sl_comm *comm);

/* Bytes that a rank of comm sends in one run of a valid spec, if exchanges move them; begin as filled by
 * sl_dense_lay_out. Not collective. */
int64_t sl_dense_sent(const sl_dense_spec *spec, const sl_comm *comm, const int64_t *begin);

typedef struct sl_dense sl_dense;

/* Checks the spec by itself and against the other ranks' specs, and allocates all memory. spec is used during
 * the call only. Ended by sl_dense_destroy. Errors: SLEY_ERR_ARG (wrong, or the ranks differ),
 * SLEY_ERR_OVERFLOW, on all ranks alike; errors of exchange_create. Collective. */
sley_status sl_dense_create(sl_comm *comm, const sl_dense_spec *spec, sl_dense **out);

/* Enqueues a run on queue, see sley_collective_run. After the call, in the queue's order, dst is complete and
 * src may be reused. After an error the comm has been aborted. Collective. */
sley_status sl_dense_run(sl_dense *dense, const void *src, void *dst, sl_queue *queue);

/* The traffic that one run adds to this rank's counters: the bytes and messages of the exchanges, whichever
 * library moves them. */
void sl_dense_traffic(const sl_dense *dense, sl_counters *out);

/* Waits for the comm's queue and frees the collective. Does nothing if dense is NULL on all ranks.
 * Collective. */
void sl_dense_destroy(sl_dense *dense);

#endif
