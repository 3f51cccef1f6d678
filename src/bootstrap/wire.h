/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a bootstrap: two sockets a peer (and, with the neighbours in the ring, one for the pulse),
 * served together. One carries messages and the farewell, in order; a message nobody expects yet holds up
 * those behind it. The other, urgent one carries requests, their answers and notices of failure, which never
 * wait. */
#ifndef SLEY_BOOTSTRAP_WIRE_H
#define SLEY_BOOTSTRAP_WIRE_H

#include <poll.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/progress.h"
#include "bootstrap/pulse.h"

enum { SL_BOOT_MESSAGE = 768, SL_BOOT_CALL = 32 };

/* header.kind */
typedef enum sl_boot_kind {
  SL_KIND_DATA = 1, /* for a posted receive */
  SL_KIND_ABORT,    /* who has failed, and the message */
  SL_KIND_LEAVE,    /* nothing more will come */
  SL_KIND_REQUEST   /* an access to memory header.tag */
} sl_boot_kind;

/* Tags of the bootstrap's own messages. */
#define SL_TAG_POST   (UINT64_C(1) << 56)
#define SL_TAG_REASON (UINT64_C(2) << 56)
#define SL_TAG_DATA   (UINT64_C(3) << 56)
#define SL_TAG_ANSWER (UINT64_C(4) << 56)

/* What a rank brings to a meeting of all. */
typedef struct sl_boot_post {
  char call[SL_BOOT_CALL];
  int64_t number[2];
  int64_t status;
} sl_boot_post;

/* Body of an ABORT. */
typedef struct sl_boot_notice {
  int64_t rank; /* that failed first */
  char text[SL_BOOT_MESSAGE];
} sl_boot_notice;

typedef struct sl_wire_peer {
  int fd;    /* -1: none, or closed */
  bool left; /* said that nothing more will come */
  bool deaf; /* cannot be sent to any more */
  char host[SL_HOST_BYTES];

  sl_boot_send *first, *last; /* to be sent */
  sl_boot_recv *posted;       /* in the order of posting */

  sl_boot_header header; /* of the message that arrives */
  size_t header_got;
  bool stalled; /* nobody has posted a receive for it yet */
  char *body;   /* where the rest of it goes; NULL: it is thrown away */
  int64_t body_left;
  sl_boot_recv *target;

  sl_boot_notice news; /* body of an ABORT that arrives */

  /* Answers to the peer's requests, of which it has one at a time; and this rank's own sends. */
  sl_boot_send answer, notice, own_send, rest;
  sl_boot_recv own_recv;
  int64_t answer_value, request_value;
  uint32_t *asked; /* rows of a request, within boot->asked */
  sl_boot_post post;
} sl_wire_peer;

struct sl_bootstrap {
  int rank, size, local_rank;
  double timeout;
  sl_wire_peer *peer; /* 2 size: by rank, then the urgent ones by rank; the own entry holds host and post */
  struct pollfd *pollers; /* room for all */
  int *polled;            /* index of each poller's peer */
  int beside[2];          /* sockets for the pulse, with the ranks before and after this one; -1: none */
  sl_pulse *pulse;
  sl_progress *progress; /* NULL: messages move in calls alone */
  bool working;          /* the progress thread may serve; this rank's thread alone looks at it */
  bool helping;          /* the progress thread is serving */
  uint64_t epoch;        /* collectives so far */
  sl_boot_send *in_turn; /* all that have a turn and are not done, in its order */
  int64_t moved;         /* bytes over the sockets so far */
  sl_boot_memory find;
  sl_boot_freed freed;
  uint32_t *asked; /* SL_BOOT_ROWS_MOST a peer; NULL until sl_bootstrap_serve_rows */
  void *owner;
  void (*meanwhile)(void); /* another library's turn, or NULL */
  bool leaving;
  int failed_rank; /* -1: none */
  char failed_message[SL_BOOT_MESSAGE];
  sl_boot_notice notice; /* body of the ABORT this rank sends */
};

/* Memory for a bootstrap of a place, without sockets. */
sley_status sl_wire_create(const sl_place *place, sl_bootstrap **out);
/* Ends the pulse, and closes the sockets that are open. */
void sl_wire_destroy(sl_bootstrap *boot);

/* Serves the sockets: at most `milliseconds` of waiting for something to happen. */
sley_status sl_wire_turn(sl_bootstrap *boot, int milliseconds);

static inline int sl_wire_urgent(const sl_bootstrap *boot, int rank) {
  return boot->size + rank;
}

/* Every call of this rank begins with it: the progress thread leaves the sockets alone. */
static inline void sl_wire_enter(sl_bootstrap *boot) {
  if (boot->working)
    sl_progress_forbid(boot->progress);
  boot->working = false;
}

/* The verdict on a broken bootstrap, or SLEY_OK. */
sley_status sl_wire_broken(const sl_bootstrap *boot);

/* The header of a request has arrived (request.c): says where its body goes. index: into peer. */
void sl_wire_request(sl_bootstrap *boot, int index);
/* Its body has arrived. */
void sl_wire_request_done(sl_bootstrap *boot, int index);

/* Queues a message whose header is filled in; its bytes are at data. */
void sl_wire_queue(sl_bootstrap *boot, int index, const void *data, sl_boot_send *send);

/* Posts a receive. */
void sl_wire_post(sl_bootstrap *boot, int index, uint64_t tag, void *data, int64_t bytes, sl_boot_recv *recv);

/* Serves until *done, which rank will see to. answers: it does so even when it has left. */
sley_status sl_wire_wait(sl_bootstrap *boot, int rank, const bool *done, bool answers);

/* The bootstrap is broken by this rank's own failure; returns status, the message stays. */
sley_status sl_wire_fail(sl_bootstrap *boot, sley_status status);

/* All ranks meet; afterwards peer[r].post is what rank r brought. As sl_bootstrap_agree. */
sley_status sl_wire_meet(sl_bootstrap *boot, const char *call, int64_t first, int64_t second,
                         sley_status mine);

#endif
