/* SPDX-License-Identifier: Apache-2.0 */
/* The visitor's side of a reception: a connection to a listening rank, and the proof of both ends. */
#ifndef SLEY_BOOTSTRAP_VISIT_H
#define SLEY_BOOTSTRAP_VISIT_H

#include "socket/proof.h"

typedef enum sl_visit_state {
  SL_VISIT_CONNECTING,
  SL_VISIT_CHALLENGED, /* waits for the challenge */
  SL_VISIT_CLAIMING,   /* sends the claim */
  SL_VISIT_ANSWERED,   /* waits for the listener's proof */
  SL_VISIT_DONE,
  SL_VISIT_ENDED,   /* the other end has closed the connection, or is another program */
  SL_VISIT_UNPROVEN /* the other end does not know the secret */
} sl_visit_state;

typedef struct sl_visit {
  int fd;
  sl_visit_state state;
  int reason;   /* errno of the end; 0: none */
  bool claimed; /* a claim has been sent */
  size_t done;
  sl_challenge challenge;
  sl_claim claim; /* the caller sets kind, job, from, to, port and payload */
  const void *payload;
  sl_proof proof;
} sl_visit;

/* Advances as far as possible without waiting. The caller has set fd and state, CONNECTING at first. Errors:
 * SLEY_ERR_INTERNAL (no random numbers). */
sley_status sl_visit_step(const sl_secret *secret, sl_visit *visit);

/* Returns the events for which to poll fd. */
short sl_visit_events(const sl_visit *visit);

static inline bool sl_visit_over(const sl_visit *visit) {
  return visit->state >= SL_VISIT_DONE;
}

#endif
