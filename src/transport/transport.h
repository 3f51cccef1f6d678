/* SPDX-License-Identifier: Apache-2.0 */
/* How ranks move rows. The unit is a prepared exchange: lists of rows per peer, fixed once, started and
 * finished any number of times. Beside it: symmetric memory for one-sided algorithms, the few collectives
 * planning needs, abort, and counters per link class.
 *
 * Rows and symmetric memory lie in the memory of the ranks' devices, row lists in the host's. On devices
 * without host addresses no call waits for the device, except those that say so; begin, end and reclaim
 * are in the order of the queue.
 *
 * Workgroups are consecutive blocks of comm->workgroup ranks (the last may be smaller). Within one, links are
 * direct: a peer's memory can be loaded and stored. Between two, they are messages. */
#ifndef SLEY_TRANSPORT_TRANSPORT_H
#define SLEY_TRANSPORT_TRANSPORT_H

#include "base/types.h"
#include "transport/symmetric.h"

typedef enum sl_link { SL_LINK_SELF, SL_LINK_DIRECT, SL_LINK_MESSAGE, SL_LINK_COUNT } sl_link;

typedef struct sl_counters {
  /* Payload over each link class, counted by the rank that hands it over: by the sender of a message, by the
   * receiver that copies or loads rows of a peer, by the rank that calls get or put. */
  int64_t bytes[SL_LINK_COUNT];
  /* What carried it, counted there: what a message is, each transport defines (docs/TRANSPORTS.md). Where no
   * byte moves, none. fetch_add is not counted. */
  int64_t messages[SL_LINK_COUNT];
} sl_counters;

static inline void sl_counters_count(sl_counters *counters, sl_link link, int64_t bytes, int64_t messages) {
  counters->bytes[link] += bytes;
  counters->messages[link] += messages;
}

/* Adds what one launch of a kernel was given. */
static inline void sl_counters_sum(sl_counters *counters, const sl_counters *more) {
  for (int link = 0; link < SL_LINK_COUNT; link++)
    sl_counters_count(counters, (sl_link)link, more->bytes[link], more->messages[link]);
}

/* Rows that move between this rank and one peer. The sender's and the receiver's list for a pair have the
 * same count and bytes; entry i of one goes to entry i of the other. */
typedef struct sl_row_list {
  int peer;
  int64_t count;
  const int64_t *rows; /* NULL: first, first + 1, ...; else belongs to the caller and outlives the exchange */
  int64_t first;
  int64_t offset; /* bytes from the start of a row to what moves */
  int64_t bytes;  /* of each row that move */
  /* Of a list to receive, where the exchange has pieces: piece s ends before entry piece_end[s]; the last one
   * ends with the list. Belongs to the caller like rows. */
  const int64_t *piece_end;
} sl_row_list;

/* Whether anything moves. */
static inline bool sl_list_moves(const sl_row_list *list) {
  return list->count > 0 && list->bytes > 0;
}

typedef enum sl_grain {
  SL_GRAIN_PEER, /* one message a peer */
  SL_GRAIN_ROW   /* between workgroups one message a row, where the transport can */
} sl_grain;

typedef struct sl_exchange_spec {
  const char *name; /* for traces and errors */
  int sends, recvs;
  const sl_row_list *send; /* ascending peers, each at most once; may name the rank itself */
  const sl_row_list *recv;
  bool add;         /* received rows are added, peers in the order of recv, rather than stored */
  sley_dtype dtype; /* that add works in */
  sl_grain grain;
  /* Not 0: rows are received in so many pieces, at most SL_PIECES_MOST, for exchange_arrive. Each rank may
   * have a number of its own. Not with add. */
  int pieces;
  /* The rows are awaited for longer than they take to come, by what is known at plan time: a device may leave
   * more of itself to what it does meanwhile. */
  bool unhurried;
  /* Between devices that are not the host's: rounds are the devices' affair alone, the hosts do not wait for
   * each other, so that a round can be captured; every rank makes its calls without waiting for a device's
   * work in between. Errors of create: SLEY_ERR_UNSUPPORTED. */
  bool capture;
} sl_exchange_spec;

/* Where a peer's rows lie: row r at src + r * stride. */
typedef struct sl_mapped_rows {
  const void *src;
  int64_t stride; /* bytes */
} sl_mapped_rows;

/* A pair of ranks of a sized exchange: bytes from one to the other, at most so many a round; the same on both
 * sides. */
typedef struct sl_sized_list {
  int peer;
  int64_t capacity;
} sl_sized_list;

/* An exchange whose messages have a length of their own in every round, which the receiver learns from the
 * message. Not used after create. */
typedef struct sl_sized_spec {
  const char *name; /* for traces and errors */
  int sends, recvs;
  const sl_sized_list *send, *recv; /* ascending peers, each at most once; may name the rank itself */
} sl_sized_spec;

/* What moves in a round: send_bytes[i] bytes at src + send_at[i] go to send[i].peer, and what recv[i].peer
 * sends goes to dst + recv_at[i]. All in bytes. The arrays, of the host's memory, are read by begin alone. */
typedef struct sl_sized_round {
  const void *src;
  const int64_t *send_at, *send_bytes;
  void *dst;
  const int64_t *recv_at;
} sl_sized_round;

typedef struct sl_exchange sl_exchange;
typedef struct sl_sized sl_sized;

/* Typed collectives over the device's memory: see dense_collective.h. */
typedef struct sl_dense_spec sl_dense_spec;
typedef struct sl_dense_native sl_dense_native;

typedef enum sl_reduce { SL_SUM, SL_MIN, SL_MAX } sl_reduce;

typedef struct sl_transport_ops {
  /* Prepares an exchange; spec's lists are used until destroy. All memory it needs is taken here. Collective.
   */
  sley_status (*exchange_create)(sl_comm *comm, const sl_exchange_spec *spec, sl_exchange **out);
  /* At most what exchange_create would take of this rank's device's memory for spec, in bytes. All ranks have
   * met before. Not collective. */
  int64_t (*exchange_memory)(sl_comm *comm, const sl_exchange_spec *spec);
  /* The transport's model, by which plans predict; nothing that moves is counted by it. Messages in which the
   * rows of a list come in one round of an exchange of that grain; and those in which get_rows, or a device
   * that loads rows one by one, brings so many rows of `bytes` from a peer. Where no byte moves, none. All
   * ranks have met before. Not collective. */
  int64_t (*list_messages)(const sl_comm *comm, const sl_row_list *list, sl_grain grain);
  int64_t (*row_messages)(const sl_comm *comm, int peer, int64_t count, int64_t bytes);
  /* Starts it: src holds the rows sent, dst takes those received; strides in bytes. src and dst may be one
   * buffer if the rows differ. From here on the rows received must not be read before end returns, nor those
   * sent change before reclaim does; with add, dst is not touched before end, so that others may still write
   * to it. Returns without waiting for a peer that has begun the exchange's previous round. Several exchanges
   * may be in flight; all ranks begin and end them in the same order. Collective. */
  sley_status (*exchange_begin)(sl_exchange *exchange, const void *src, int64_t src_stride, void *dst,
                                int64_t dst_stride, sl_queue *queue);
  /* Between begin and end, if rows are wanted before the last has come. The receiving half of the round is
   * given to the device; the rows of the first piece are there, in queue's order. Kernels in queue can wait
   * for the others by *words (SL_OP_ARRIVE and others); *words NULL: all rows are there. The host waits for
   * its peers' hosts to have begun the round, but not for a device. May be called again in a round, with the
   * same queue. Not collective. */
  sley_status (*exchange_arrive)(sl_exchange *exchange, sl_queue *queue, const sl_piece_words **words);
  /* dst is complete, in queue's order. Collective. */
  sley_status (*exchange_end)(sl_exchange *exchange, sl_queue *queue);
  /* After end, in queue's order: src is free for reuse, for the peers have taken their rows. Apart from end,
   * so that a rank can go on with what it has received before the slowest peer has. Begin and destroy do it
   * for a round that was not reclaimed. Collective; ranks may reclaim in different orders. */
  sley_status (*exchange_reclaim)(sl_exchange *exchange, sl_queue *queue);
  /* Between begin and end, in place of moving rows, where comm->zero_copy and every link of the exchange is
   * direct or the rank's own: once all peers have begun, mapped[i] tells where the rows of recv[i].peer lie.
   * They may be read, in queue's order, until end, which then moves nothing; each row lent counts once. The
   * host waits for its peers' hosts, but not for a device. No call that waits for a peer may come before that
   * end, and no other exchange may be mapped meanwhile. Not with add. Errors: SLEY_ERR_UNSUPPORTED,
   * SLEY_ERR_PEER. Collective. */
  sley_status (*exchange_map)(sl_exchange *exchange, sl_mapped_rows *mapped, sl_queue *queue);
  void (*exchange_destroy)(sl_exchange *exchange); /* Collective. */

  /* Prepares a sized exchange. All memory it needs is taken here. Errors: SLEY_ERR_ARG, where the capacities
   * of a pair differ, too. Collective. */
  sley_status (*sized_create)(sl_comm *comm, const sl_sized_spec *spec, sl_sized **out);
  /* Starts a round, after what queue has been given so far. src and dst may be one buffer if what is sent and
   * the room for what is received (all of the capacities) do not overlap. Until end src must not change, nor
   * dst be touched. Several sized exchanges and others may be in flight; all ranks begin and end them in the
   * same order. Does not wait for a peer. Errors: SLEY_ERR_ARG, where a length is not 0 .. capacity: as any
   * failure in flight it ends the comm. Collective. */
  sley_status (*sized_begin)(sl_sized *sized, const sl_sized_round *round, sl_queue *queue);
  /* In queue's order dst holds what has come, and src is free for reuse; recv_bytes[i]: the length of what
   * recv[i].peer has sent, known when the call returns. The rest of the room in dst is as it was. Counts the
   * bytes received, and a message for each length but 0. The host waits for its peers to have begun the
   * round. Collective. */
  sley_status (*sized_end)(sl_sized *sized, int64_t *recv_bytes, sl_queue *queue);
  void (*sized_destroy)(sl_sized *sized); /* NULL: nothing. Collective. */

  const sl_symm_ops *symm; /* one-sided memory: symmetric.h */

  /* Prepares a collective that the transport's library runs itself, and that dense_collective.h allows it. spec is
   * valid, the same on all ranks, and used during the call only. SLEY_ERR_UNSUPPORTED, without a message, on
   * all ranks alike: the library has none, or it would be no faster than exchanges. Collective. */
  sley_status (*dense_native)(sl_comm *comm, const sl_dense_spec *spec, sl_dense_native **out);

  /* On host memory, not counted. Collective. */
  sley_status (*barrier)(sl_comm *comm);
  sley_status (*allgather)(sl_comm *comm, const void *src, int64_t bytes,
                           void *dst); /* bytes from each rank */
  /* Rank p gets send + send_at[p] .. + send_bytes[p]; what comes from p goes to recv + recv_at[p]. */
  sley_status (*alltoallv)(sl_comm *comm, const void *send, const int64_t *send_at, const int64_t *send_bytes,
                           void *recv, const int64_t *recv_at, const int64_t *recv_bytes);
  sley_status (*allreduce)(sl_comm *comm, sl_reduce op, int64_t *values, int count); /* in place */

  /* This rank has failed with the thread's current message: every wait of every rank, now and later, ends
   * with SLEY_ERR_PEER naming this rank. The first abort wins. When it returns, no peer reads what this rank
   * lent (src, row lists); so a rank that fails between begin and reclaim aborts before it frees them. A
   * begin or end that fails, and a wait that ends with an error, have done so already, and so does a rank
   * whose main returns an error. Not collective. */
  void (*abort)(sl_comm *comm, sley_status status);

  /* The host waits for all work of comm->queue so far. Errors: SLEY_ERR_PEER, where a peer for which the work
   * waits has failed, or has not done its part within the time limit of a transport between processes. Not
   * collective. */
  sley_status (*wait)(sl_comm *comm);

  /* Since the comm began or the last reset. */
  void (*counters)(const sl_comm *comm, sl_counters *out);
  void (*counters_reset)(sl_comm *comm);
  /* Traffic of this rank's kernels through addresses of peer_ptr, and of calls of a library: said where they
   * are given it. */
  void (*counters_add)(sl_comm *comm, sl_link link, int64_t bytes, int64_t messages);

  /* Ends this rank's part. Not collective; nothing may be in flight. */
  void (*close)(sl_comm *comm);
} sl_transport_ops;

/* What messages between workgroups were measured to take: collective/links.h. */
typedef struct sl_measured_links {
  double bandwidth; /* bytes/s; 0: they were not measured */
  double meeting;   /* s */
} sl_measured_links;

/* Backends extend it by making it their first member. */
struct sley_comm {
  const sl_transport_ops *ops;
  unsigned one_sided;    /* what its symmetric memory offers: sl_one_sided bits, the same on all ranks */
  const char *transport; /* its name */
  int rank, size;
  int workgroup;     /* ranks in a full workgroup, 1 .. size */
  bool processes;    /* the ranks are processes: no memory of the host is shared but symmetric memory */
  bool zero_copy;    /* exchange_map works over direct links; the same on all ranks */
  sl_device *device; /* this rank's; not owned */
  sl_queue *queue;   /* for the rank's own work; not owned */
  sl_team *team;     /* the rank's threads, for work on the host; not owned, NULL: the calling thread alone */
  void *opened;      /* what sley_comm_close needs; NULL: not made by sley_comm_open */
  const char *note;  /* why "auto" took this device rather than one that is installed; "" otherwise */
  bool trusts_network;        /* ranks have met over a network without a secret */
  sl_measured_links measured; /* kept for the comm's later collectives; the same on all ranks */
  struct sl_stopwatch *watch; /* NULL, or what the rank's time is measured by: stopwatch.h */
};
struct sl_exchange {
  sl_comm *comm;
};
struct sl_sized {
  sl_comm *comm;
};

static inline int sl_workgroup_of(const sl_comm *comm, int rank) {
  return rank / comm->workgroup;
}
static inline int sl_workgroups(const sl_comm *comm) {
  return (comm->size + comm->workgroup - 1) / comm->workgroup;
}
/* Whether ranks exchange on two levels, within workgroups and between them, of which neither is empty. */
static inline bool sl_has_levels(const sl_comm *comm) {
  return comm->workgroup > 1 && comm->workgroup < comm->size;
}
static inline int sl_workgroup_first(const sl_comm *comm, int group) {
  return group * comm->workgroup;
}
static inline int sl_workgroup_size(const sl_comm *comm, int group) {
  int first = group * comm->workgroup, rest = comm->size - first;
  return rest < comm->workgroup ? rest : comm->workgroup;
}
static inline sl_link sl_link_to(const sl_comm *comm, int peer) {
  if (peer == comm->rank)
    return SL_LINK_SELF;
  return sl_workgroup_of(comm, peer) == sl_workgroup_of(comm, comm->rank) ? SL_LINK_DIRECT : SL_LINK_MESSAGE;
}

static inline sley_status sl_exchange_arrive(sl_exchange *exchange, sl_queue *queue,
                                             const sl_piece_words **words) {
  return exchange->comm->ops->exchange_arrive(exchange, queue, words);
}

static inline sley_status sl_exchange_reclaim(sl_exchange *exchange, sl_queue *queue) {
  return exchange->comm->ops->exchange_reclaim(exchange, queue);
}

/* Passes status on. A rank that returns an error alone ends the comm, since others may wait for it; the error
 * of a peer has ended it already. A comm of one rank stays usable. Not collective. */
static inline sley_status sl_abort_on_error(sl_comm *comm, sley_status status) {
  if (status != SLEY_OK && status != SLEY_ERR_PEER && comm->size > 1)
    comm->ops->abort(comm, status);
  return status;
}

/* Every rank calls it with its own status; all return an error if any had one: the rank's own with its
 * message, or SLEY_ERR_PEER naming the first other failing rank. Unlike abort the comm stays usable.
 * Collective. */
sley_status sl_agree(sl_comm *comm, sley_status mine);

/* The same for what the ranks do as one, such as reading a file: all return the status and the message of the
 * first rank that has an error. Collective. */
sley_status sl_agree_alike(sl_comm *comm, sley_status mine);

/* All ranks must have been given the same numbers: else all get SLEY_ERR_ARG with the name of the first that
 * differs, after call, the public function's name, or NULL. Collective, agreed. */
sley_status sl_agree_same(sl_comm *comm, const char *call, const char *const *names, const int64_t *numbers,
                          int count);

/* alltoallv of items of item_bytes each, sizes exchanged first. send: grouped by rank, send_count[p] items
 * each. *recv (from sl_alloc, the caller's) is grouped by rank too; recv_count: size entries. Where no rank
 * sends anything there are no messages. Collective, agreed. */
sley_status sl_exchange_items(sl_comm *comm, int64_t item_bytes, const void *send, const int64_t *send_count,
                              void **recv, int64_t *recv_count);

#endif
