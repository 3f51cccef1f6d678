/* SPDX-License-Identifier: Apache-2.0 */
/* Typed collectives over dense arrays in the memory of the ranks' devices: all-reduce, reduce-scatter,
 * all-gather. Prepared once, run any number of times, in queue's order. They are made of prepared exchanges
 * and SL_OP_REDUCE, so that they run on every transport and device and every value is reduced in the order of
 * the ranks:
 *
 *   reduce-scatter   every rank receives its peers' values for its own part, and reduces them; where all
 *                    ranks can read each other's memory, they reduce them where they lie
 *
 *   all-gather       every rank receives its peers' parts; where every rank is a workgroup of its own and
 *                    parts are long, by way of its neighbours in a ring
 *
 *   all-reduce       the array is cut into a part for each rank: reduce-scatter, then all-gather; where that
 *                    is faster, one exchange brings every rank all arrays, and it reduces them whole. The
 *                    bits are the same.
 *
 * What does not depend on the order (moves, and values of i64), or need not be in order (any_order), is left
 * to the transport's own library where it says so (sl_transport_ops.dense_native). */
#ifndef SLEY_TRANSPORT_DENSE_H
#define SLEY_TRANSPORT_DENSE_H

#include "transport/transport.h"

/* An all-reduce of at most so many bytes over all ranks' arrays together is done in one exchange, and any of
 * two ranks that cannot read each other's memory. */
#define SL_DENSE_ONE_EXCHANGE (INT64_C(128) << 10)

/* A row of the table of kinds, collective_kinds.c. */
typedef struct sl_collective_kind {
  sley_collective_kind_info info;
  const char *title; /* in messages */
  bool native;       /* libraries of transports have it */
  /* Fills begin, see sl_dense_lay_out. */
  void (*lay_out)(const sl_dense_spec *spec, int size, int64_t *begin);
} sl_collective_kind;

/* The row of a kind; NULL: there is none. */
const sl_collective_kind *sl_collective_kind_of(sley_collective_kind kind);

/* See sley_collective_kinds. */
const char *const *sl_collective_kind_names(void);

/* As sley_collective_options. */
struct sl_dense_spec {
  sley_collective_kind kind;
  sley_reduce op; /* SLEY_SUM for an all-gather */
  sley_type type;
  int64_t count;         /* of each rank; all-reduce: of the array */
  const int64_t *counts; /* NULL: count each; else size entries. Not with all-reduce */
  bool any_order;
};

/* A collective that the transport's library runs; a transport extends it by making it its first member. */
struct sl_dense_native {
  /* src and dst as of sley_collective_run. Where it fails the comm is aborted. Traffic is counted by the
   * caller. Collective. */
  sley_status (*run)(sl_dense_native *native, const void *src, void *dst, sl_queue *queue);
  /* The queue's work is done. Collective. */
  void (*destroy)(sl_dense_native *native);
};

/* The slot of transports without such a library. */
sley_status sl_dense_no_native(sl_comm *comm, const sl_dense_spec *spec, sl_dense_native **out);

/* Checks the spec here and against the other ranks'. Errors: SLEY_ERR_ARG (wrong, or the ranks differ),
 * SLEY_ERR_OVERFLOW, on all ranks alike; SLEY_ERR_MEMORY. Collective. */
sley_status sl_dense_agree(sl_comm *comm, const sl_dense_spec *spec);

/* The ranks' parts of a valid spec: as given, or the array of an all-reduce cut into about equal ones. begin
 * (size + 1): the values of rank r's part are begin[r] .. begin[r + 1] of all. */
void sl_dense_lay_out(const sl_dense_spec *spec, int size, int64_t *begin);

/* Whether an all-reduce of a valid spec is done in one exchange; and whether a reduction reads the peers'
 * arrays where they lie. Local. */
bool sl_dense_is_whole(const sl_dense_spec *spec, const sl_comm *comm);
bool sl_dense_is_mapped(const sl_dense_spec *spec, const sl_comm *comm);

/* Bytes that a rank of comm sends in one run of a valid spec, if exchanges move them; begin as
 * sl_dense_lay_out fills it. Local. */
int64_t sl_dense_sent(const sl_dense_spec *spec, const sl_comm *comm, const int64_t *begin);

typedef struct sl_dense sl_dense;

/* Checks the spec here and against the other ranks', takes all memory. spec is used during the call only.
 * Ended by sl_dense_destroy. Errors: SLEY_ERR_ARG (wrong, or the ranks differ), SLEY_ERR_OVERFLOW, on all
 * ranks alike; those of exchange_create. Collective. */
sley_status sl_dense_create(sl_comm *comm, const sl_dense_spec *spec, sl_dense **out);

/* See sley_collective_run: enqueues the work on queue. When it returns, dst is complete and src free for
 * reuse in queue's order. After an error the comm has been aborted. Collective. */
sley_status sl_dense_run(sl_dense *dense, const void *src, void *dst, sl_queue *queue);

/* What one run adds to this rank's counters: the bytes and messages of the exchanges, whoever moves them. */
void sl_dense_traffic(const sl_dense *dense, sl_counters *out);

/* Waits for the comm's queue. NULL, then on all ranks: nothing. Collective. */
void sl_dense_destroy(sl_dense *dense);

#endif
