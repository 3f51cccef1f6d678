/* SPDX-License-Identifier: Apache-2.0 */
/* Visits every address and port at which rank 0 may listen. A visit that has sent its claim is never
 * abandoned for lack of an answer: rank 0 may have registered it, and would conclude that the rank has ended.
 */
#include "bootstrap/find.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "bootstrap/visit.h"

enum { SLICE_MS = 50, ADDRESSES = 4, VISITS = ADDRESSES * SL_PORTS };
static const double AGAIN = 0.02; /* seconds until a port is visited again */

typedef struct search {
  const sl_place *place;
  const sl_hello *who;
  char address[ADDRESSES][SL_ADDRESS_BYTES];
  int addresses, ports;
  sl_visit visit[VISITS]; /* visits, by address, then by port */
  double again[VISITS];
  int reason;   /* errno of the last failure; 0: none yet */
  bool refused; /* a listener has received the claim, and closed the connection */
} search;

static int port_of(const search *s, int v) {
  return s->place->port + v % s->ports;
}

/* Makes one more step of a visit, or starts a new one when it is due. */
static sley_status step(search *s, int v) {
  sl_visit *visit = &s->visit[v];
  if (visit->fd < 0) {
    if (sl_now() < s->again[v] || port_of(s, v) > UINT16_MAX)
      return SLEY_OK;
    *visit = (sl_visit){.fd = -1, .payload = s->who};
    visit->claim = (sl_claim){.kind = SL_CLAIM_HELLO,
                              .job = s->place->key,
                              .from = s->place->rank,
                              .port = port_of(s, v),
                              .payload = sizeof *s->who};
    if (sl_socket_begin_connect(s->address[v / s->ports], port_of(s, v), &visit->fd) != SLEY_OK) {
      visit->state = SL_VISIT_ENDED;
      visit->reason = errno;
    }
  }
  if (!sl_visit_over(visit))
    SL_TRY(sl_visit_step(&s->place->secret, visit));
  if (!sl_visit_over(visit) || visit->state == SL_VISIT_DONE)
    return SLEY_OK;
  if (visit->fd >= 0)
    close(visit->fd);
  visit->fd = -1;
  s->again[v] = sl_now() + AGAIN;
  s->refused = s->refused || visit->claimed;
  if (visit->reason != 0)
    s->reason = visit->reason;
  return s->place->listens && visit->reason == ECONNREFUSED
             ? sl_fail_peer(0, "it has ended before the ranks met")
             : SLEY_OK;
}

static void wait_a_moment(const search *s, double deadline) {
  struct pollfd pollers[VISITS];
  int count = 0;
  double until = sl_now() + SLICE_MS * 1e-3;
  for (int v = 0; v < s->addresses * s->ports; v++)
    if (s->visit[v].fd >= 0)
      pollers[count++] = (struct pollfd){.fd = s->visit[v].fd, .events = sl_visit_events(&s->visit[v])};
    else if (s->again[v] < until && port_of(s, v) <= UINT16_MAX)
      until = s->again[v];
  double left = (until < deadline ? until : deadline) - sl_now();
  (void)poll(pollers, (nfds_t)count, left > 0 ? (int)(left * 1e3) + 1 : 0);
}

/* Visits all ports until the deadline; *out: the number of the visit that succeeded. */
static sley_status search_all(search *s, double deadline, int *out) {
  const sl_place *place = s->place;
  static const char refused[] = "the process that listens there has another secret or belongs to another "
                                "job: SLEY_SECRET or SLEY_SECRET_FILE must be the same for all ranks";
  for (;;) {
    for (int v = 0; v < s->addresses * s->ports; v++) {
      SL_TRY(step(s, v));
      *out = v;
      if (s->visit[v].state == SL_VISIT_DONE)
        return SLEY_OK;
    }
    SL_TRY(sl_interrupted());
    if (sl_now() >= deadline)
      return sl_fail(SLEY_ERR_PEER, "rank %d cannot reach rank 0 at %s, port %d, within %g s: %s%s",
                     place->rank, place->address, place->port, place->timeout,
                     s->refused       ? refused
                     : s->reason == 0 ? "nobody answers"
                                      : strerror(s->reason),
                     s->refused ? "" : ": check MASTER_ADDR and MASTER_PORT");
    wait_a_moment(s, deadline);
  }
}

sley_status sl_find_rank_0(const sl_place *place, const sl_hello *who, double deadline, sl_entry *rank_0,
                           int *fd) {
  search s = {.place = place, .who = who, .ports = place->listens ? 1 : SL_PORTS};
  int found = 0;
  *fd = -1;
  SL_TRY(sl_socket_resolve(place->address, ADDRESSES, s.address, &s.addresses));
  for (int v = 0; v < VISITS; v++)
    s.visit[v].fd = -1;
  sley_status status = search_all(&s, deadline, &found);
  for (int v = 0; v < VISITS; v++)
    if (s.visit[v].fd >= 0 && (status != SLEY_OK || v != found))
      close(s.visit[v].fd);
  if (status != SLEY_OK)
    return status;
  *fd = s.visit[found].fd;
  rank_0->port = port_of(&s, found);
  memcpy(rank_0->address, s.address[found / s.ports], sizeof rank_0->address);
  return SLEY_OK;
}
