/* SPDX-License-Identifier: Apache-2.0 */
/* How ranks move rows. The unit is a prepared exchange: lists of rows per peer, fixed once, started and
 * finished any number of times. In addition: symmetric memory for one-sided algorithms, the few collectives
 * that planning needs, abort, and counters per link class.
 *
 * Rows and symmetric memory lie in the memory of the ranks' devices, row lists in host memory. On devices
 * without host addresses no call waits for the device, except where stated; begin, end and reclaim are in the
 * order of the queue.
 *
 * Workgroups are consecutive blocks of comm->workgroup ranks (the last may be smaller). Within a workgroup
 * links are direct: a peer's memory can be loaded and stored. Between workgroups they are messages. */
#ifndef SLEY_TRANSPORT_TRANSPORT_H
#define SLEY_TRANSPORT_TRANSPORT_H

#include "base/types.h"
#include "transport/symmetric.h"

typedef enum sl_link { SL_LINK_SELF, SL_LINK_DIRECT, SL_LINK_MESSAGE, SL_LINK_COUNT } sl_link;

typedef struct sl_counters {
  /* Payload over each link class, counted once by one rank: by the sender of a message, by the receiver that
   * copies or loads rows of a peer, by the rank that calls get or put. */
  int64_t bytes[SL_LINK_COUNT];
  /* Messages that carried the payload, counted by the same rank; each transport defines a message
   * (docs/TRANSPORTS.md). No message is counted if no byte moves. fetch_add is not counted. */
  int64_t messages[SL_LINK_COUNT];
} sl_counters;

static inline void sl_counters_count(sl_counters *counters, sl_link link, int64_t bytes, int64_t messages) {
  counters->bytes[link] += bytes;
  counters->messages[link] += messages;
}

/* Adds the traffic `more` of one kernel launch. */
static inline void sl_counters_sum(sl_counters *counters, const sl_counters *more) {
  for (int link = 0; link < SL_LINK_COUNT; link++)
    sl_counters_count(counters, (sl_link)link, more->bytes[link], more->messages[link]);
}

/* The rows that move between this rank and one peer. The sender's and the receiver's list for a pair have the
 * same count and bytes; entry i of the sender's list is copied to entry i of the receiver's. */
typedef struct sl_row_list {
  int peer;
  int64_t count;
  const int64_t *rows; /* NULL: rows first, first + 1, ...; else row numbers, which belong to the caller and
                          outlive the exchange */
  int64_t first;
  int64_t offset; /* offset of the moved bytes from the start of a row */
  int64_t bytes;  /* bytes of each row that move */
  /* In a list to receive, if the exchange has pieces: piece s ends before entry piece_end[s]; the last one
   * ends with the list. Belongs to the caller like rows. */
  const int64_t *piece_end;
} sl_row_list;

/* Returns whether anything moves. */
static inline bool sl_list_moves(const sl_row_list *list) {
  return list->count > 0 && list->bytes > 0;
}

typedef enum sl_grain {
  SL_GRAIN_PEER, /* one message per peer */
  SL_GRAIN_ROW   /* between workgroups one message per row, if the transport can send them */
} sl_grain;

typedef struct sl_exchange_spec {
  const char *name; /* name in traces and errors */
  int sends, recvs;
  const sl_row_list *send; /* ascending peers, each at most once; the rank itself may be one */
  const sl_row_list *recv;
  bool add;         /* received rows are added to dst, peers in the order of recv, rather than stored */
  sley_dtype dtype; /* type of the additions if rows are added */
  sl_grain grain;
  /* If not 0: rows are received in that many pieces, at most SL_PIECES_MOST, for exchange_arrive. The number
   * may differ between ranks. Not with add. */
  int pieces;
  /* The rank's other work is planned to take longer than the rows need to come, so a device may use more of
   * its resources for that work. */
  bool unhurried;
  /* For devices that are not the host: rounds are synchronised by the devices alone, and the hosts do not
   * wait for each other, so that a round can be captured. Every rank makes its calls without waiting for a
   * device's work in between. Errors of create: SLEY_ERR_UNSUPPORTED. */
  bool capture;
} sl_exchange_spec;

/* The memory of a peer's rows: row r at src + r * stride. */
typedef struct sl_mapped_rows {
  const void *src;
  int64_t stride; /* bytes */
} sl_mapped_rows;

/* A pair of ranks in a sized exchange: at most capacity bytes per round from one to the other; the same on
 * both sides. */
typedef struct sl_sized_list {
  int peer;
  int64_t capacity;
} sl_sized_list;

/* An exchange whose messages have another length in every round, which the receiver learns from the message.
 * Not used after create. */
typedef struct sl_sized_spec {
  const char *name; /* name in traces and errors */
  int sends, recvs;
  const sl_sized_list *send, *recv; /* ascending peers, each at most once; the rank itself may be one */
} sl_sized_spec;

/* The data of one round: send_bytes[i] bytes at src + send_at[i] are sent to send[i].peer, and the message
 * from recv[i].peer is stored at dst + recv_at[i]. All in bytes. The arrays, in host memory, are read by
 * begin only. */
typedef struct sl_sized_round {
  const void *src;
  const int64_t *send_at, *send_bytes;
  void *dst;
  const int64_t *recv_at;
} sl_sized_round;

typedef struct sl_exchange sl_exchange;
typedef struct sl_sized sl_sized;

/* Typed collectives over device memory: see dense_collective.h. */
typedef struct sl_dense_spec sl_dense_spec;
typedef struct sl_dense_native sl_dense_native;

typedef enum sl_reduce { SL_SUM, SL_MIN, SL_MAX } sl_reduce;

typedef struct sl_transport_ops {
  /* Prepares an exchange, with all memory that it needs; spec's lists are used until destroy. Collective. */
  sley_status (*exchange_create)(sl_comm *comm, const sl_exchange_spec *spec, sl_exchange **out);
  /* Upper bound of the bytes of this rank's device memory that exchange_create would allocate for spec. All
   * ranks have met before. Not collective. */
  int64_t (*exchange_memory)(sl_comm *comm, const sl_exchange_spec *spec);
  /* The transport's model of messages, which plans use to predict; counters do not use it. list_messages:
   * messages that carry the rows of a list in one round of an exchange of that grain. row_messages: messages
   * in which get_rows, or a device that loads rows one by one, brings count rows of `bytes` from a peer. 0 if
   * no byte moves. All ranks have met before. Not collective. */
  int64_t (*list_messages)(const sl_comm *comm, const sl_row_list *list, sl_grain grain);
  int64_t (*row_messages)(const sl_comm *comm, int peer, int64_t count, int64_t bytes);
  /* Starts a round: src holds the rows to send, dst receives rows; strides in bytes. src and dst may be one
   * buffer if the rows differ. From here on received rows must not be read before end returns, and sent rows
   * must not change before reclaim does; with add, dst is not touched before end, so other work may still
   * write to it. Does not wait for a peer that has begun the exchange's previous round. Several exchanges may
   * be in flight; all ranks begin and end them in the same order. Collective. */
  sley_status (*exchange_begin)(sl_exchange *exchange, const void *src, int64_t src_stride, void *dst,
                                int64_t dst_stride, sl_queue *queue);
  /* Called between begin and end, to use rows before the last has come. Enqueues the receiving half of the
   * round; the rows of the first piece are present, in the queue's order. Kernels in queue can wait for the
   * others by *words (SL_OP_ARRIVE and others); *words NULL: all rows are present. The host waits for its
   * peers' hosts to have begun the round, but not for a device. May be called again in a round, with the same
   * queue. Not collective. */
  sley_status (*exchange_arrive)(sl_exchange *exchange, sl_queue *queue, const sl_piece_words **words);
  /* Ends a round: dst is complete, in the queue's order. Collective. */
  sley_status (*exchange_end)(sl_exchange *exchange, sl_queue *queue);
  /* Called after end: in the queue's order src may be reused, because the peers have taken their rows. It is
   * separate from end, so that a rank can continue with the received rows before the slowest peer has taken
   * its own. Begin and destroy reclaim a round that was not reclaimed. Collective; ranks may reclaim in
   * different orders. */
  sley_status (*exchange_reclaim)(sl_exchange *exchange, sl_queue *queue);
  /* Called between begin and end, instead of moving rows, if comm->zero_copy and every link of the exchange
   * is direct or the rank's own: once all peers have begun, mapped[i] describes the memory of recv[i].peer's
   * rows. They may be read, in the queue's order, until end, which then moves nothing; each row that a peer
   * provides counts once. The host waits for its peers' hosts, but not for a device. No call that waits for a
   * peer may come before that end, and no other exchange may be mapped meanwhile. Not with add. Errors:
   * SLEY_ERR_UNSUPPORTED, SLEY_ERR_PEER. Collective. */
  sley_status (*exchange_map)(sl_exchange *exchange, sl_mapped_rows *mapped, sl_queue *queue);
  void (*exchange_destroy)(sl_exchange *exchange); /* Collective. */

  /* Prepares a sized exchange, with all memory that it needs. Errors: SLEY_ERR_ARG, also if the capacities of
   * a pair differ. Collective. */
  sley_status (*sized_create)(sl_comm *comm, const sl_sized_spec *spec, sl_sized **out);
  /* Starts a round, after the work that queue has so far. src and dst may be one buffer if the sent bytes and
   * the full capacities to receive do not overlap. Until end src must not change, and dst must not be
   * touched. Several sized and other exchanges may be in flight; all ranks begin and end them in the same
   * order. Does not wait for a peer. Errors: SLEY_ERR_ARG if a length is not 0 .. capacity: like any failure
   * in flight it ends the comm. Collective. */
  sley_status (*sized_begin)(sl_sized *sized, const sl_sized_round *round, sl_queue *queue);
  /* Ends a round: in the queue's order dst holds the received bytes, and src may be reused; recv_bytes[i]:
   * length of the message from recv[i].peer, known when the call returns. The rest of dst is unchanged.
   * A length of 0 is not a message. The host waits for its peers to have begun the round. Collective. */
  sley_status (*sized_end)(sl_sized *sized, int64_t *recv_bytes, sl_queue *queue);
  void (*sized_destroy)(sl_sized *sized); /* Frees the exchange. Does nothing if it is NULL. Collective. */

  const sl_symm_ops *symm; /* one-sided memory: symmetric.h */

  /* Prepares a collective that the transport's library runs itself, if dense_collective.h allows it. spec is
   * valid, the same on all ranks, and used during the call only. SLEY_ERR_UNSUPPORTED, without a message, on
   * all ranks alike: the library does not have it, or would not be faster than exchanges. Collective. */
  sley_status (*dense_native)(sl_comm *comm, const sl_dense_spec *spec, sl_dense_native **out);

  /* The barrier and the next three operations work on host memory, and are not counted. Collective. */
  sley_status (*barrier)(sl_comm *comm);
  sley_status (*allgather)(sl_comm *comm, const void *src, int64_t bytes,
                           void *dst); /* gathers bytes from each rank */
  /* Sends send_bytes[p] bytes at send + send_at[p] to rank p, and stores recv_bytes[p] bytes from rank p at
   * recv + recv_at[p], for all p. */
  sley_status (*alltoallv)(sl_comm *comm, const void *send, const int64_t *send_at, const int64_t *send_bytes,
                           void *recv, const int64_t *recv_at, const int64_t *recv_bytes);
  sley_status (*allreduce)(sl_comm *comm, sl_reduce op, int64_t *values, int count); /* in place */

  /* Declares that this rank has failed with the thread's current message: every wait of every rank, now and
   * later, ends with SLEY_ERR_PEER naming this rank. The first abort counts. When it returns, no peer reads
   * memory that this rank provides (src, row lists); so a rank that fails between begin and reclaim aborts
   * before it frees them. A begin or end that fails, a wait that ends with an error, and a rank whose main
   * returns an error have aborted already. Not collective. */
  void (*abort)(sl_comm *comm, sley_status status);

  /* The host waits for all work of comm->queue so far. Errors: SLEY_ERR_PEER, if a peer on which the work
   * depends has failed, or has not done its part within the time limit of a transport between processes. Not
   * collective. */
  sley_status (*wait)(sl_comm *comm);

  /* The traffic since the comm began or since the last reset. */
  void (*counters)(const sl_comm *comm, sl_counters *out);
  void (*counters_reset)(sl_comm *comm);
  /* Adds traffic of this rank that exchanges do not count: of kernels that use addresses of peer_ptr, and of
   * calls of a library, when these are enqueued. */
  void (*counters_add)(sl_comm *comm, sl_link link, int64_t bytes, int64_t messages);

  /* Ends this rank's part in the comm. Not collective; no operation may be in flight. */
  void (*close)(sl_comm *comm);
} sl_transport_ops;

/* Measured performance of messages between workgroups: collective/links.h. */
typedef struct sl_measured_links {
  double bandwidth; /* bytes/s; 0: not measured */
  double meeting;   /* seconds that a meeting of all ranks takes */
} sl_measured_links;

/* A comm. Backends extend the struct by making it their first member. */
struct sley_comm {
  const sl_transport_ops *ops;
  unsigned one_sided;    /* capabilities of the comm's symmetric memory: sl_one_sided bits, the same on all
                            ranks */
  const char *transport; /* name of its transport */
  int rank, size;
  int workgroup;       /* ranks in a full workgroup, 1 .. size */
  bool processes;      /* ranks are processes, which share no host memory except symmetric memory */
  bool zero_copy;      /* exchange_map works over direct links; the same on all ranks */
  sl_device *device;   /* this rank's device; not owned */
  sl_queue *queue;     /* queue of the rank's own work; not owned */
  sl_team *team;       /* the rank's threads, for work on the host; not owned. NULL: only the calling thread
                          works */
  void *opened;        /* data for sley_comm_close; NULL: not made by sley_comm_open */
  const char *note;    /* why "auto" did not choose another device that is installed; "" otherwise */
  bool trusts_network; /* ranks have met over a network without a secret */
  sl_measured_links measured; /* figures kept for the comm's later collectives; the same on all ranks */
  struct sl_stopwatch *watch; /* NULL, or the stopwatch that measures the rank's time: stopwatch.h */
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
/* Returns whether there are several workgroups, and workgroups of several ranks, so that ranks exchange on
 * two levels. */
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

/* Returns status. An error of this rank alone ends the comm, because others may wait for the rank; an error
 * of a peer has ended the comm already. A comm of one rank stays usable. Not collective. */
static inline sley_status sl_abort_on_error(sl_comm *comm, sley_status status) {
  if (status != SLEY_OK && status != SLEY_ERR_PEER && comm->size > 1)
    comm->ops->abort(comm, status);
  return status;
}

/* Every rank passes its own status. If any rank has an error, all ranks return an error: their own with its
 * message, or SLEY_ERR_PEER with the number of the first rank that failed. Unlike after abort, the comm stays
 * usable. Collective. */
sley_status sl_agree(sl_comm *comm, sley_status mine);

/* Names the work of the rank's team, as sl_team_begin_work does, on rank 0: its progress stands for that of
 * all ranks. */
static inline void sl_comm_begin_work(sl_comm *comm, const char *work, int loops) {
  if (comm->rank == 0)
    sl_team_begin_work(comm->team, work, loops);
}

/* Like sl_agree, for work that the ranks do together, such as reading a file: all ranks return the status and
 * the message of the first rank that has an error. Collective. */
sley_status sl_agree_alike(sl_comm *comm, sley_status mine);

/* Checks that all ranks have passed the same numbers: else all return SLEY_ERR_ARG with the name of the first
 * number that differs, after call, the public function's name, or NULL. Collective, agreed. */
sley_status sl_agree_same(sl_comm *comm, const char *call, const char *const *names, const int64_t *numbers,
                          int count);

/* Performs an alltoallv of items of item_bytes each, after exchanging the sizes. send: grouped by rank,
 * send_count[p] items for rank p. *recv (from sl_alloc, the caller's) is grouped by rank too; recv_count:
 * size entries. If no rank sends anything there are no messages. Collective, agreed. */
sley_status sl_exchange_items(sl_comm *comm, int64_t item_bytes, const void *send, const int64_t *send_count,
                              void **recv, int64_t *recv_count);

#endif
