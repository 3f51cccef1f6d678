/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a visit: connected, challenged, claimed, answered. */
#include "bootstrap/visit.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "socket/sent.h"

short sl_visit_events(const sl_visit *visit) {
  return visit->state == SL_VISIT_CONNECTING || visit->state == SL_VISIT_CLAIMING ? POLLOUT : POLLIN;
}

static void end(sl_visit *visit, int reason) {
  visit->state = SL_VISIT_ENDED;
  visit->reason = reason;
}

/* Receives bytes; returns whether all have come. */
static bool take(sl_visit *visit, void *into, size_t bytes) {
  while (visit->done < bytes) {
    ssize_t got = recv(visit->fd, (char *)into + visit->done, bytes - visit->done, MSG_DONTWAIT);
    if (got > 0)
      visit->done += (size_t)got;
    else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return false;
    else if (got == 0 || errno != EINTR) {
      end(visit, got == 0 ? 0 : errno);
      return false;
    }
  }
  visit->done = 0;
  return true;
}

/* Sends the claim and its payload; returns whether all was sent. */
static bool give(sl_visit *visit) {
  size_t head = sizeof visit->claim, all = head + (size_t)visit->claim.payload;
  while (visit->done < all) {
    bool in_head = visit->done < head;
    size_t at = in_head ? visit->done : visit->done - head;
    const char *from = in_head ? (const char *)&visit->claim : visit->payload;
    ssize_t sent =
        send(visit->fd, from + at, (in_head ? head : all) - visit->done, MSG_NOSIGNAL | MSG_DONTWAIT);
    sl_sent_control(sent);
    if (sent >= 0)
      visit->done += (size_t)sent;
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      return false;
    else if (errno != EINTR) {
      end(visit, errno);
      return false;
    }
  }
  visit->done = 0;
  return true;
}

/* Returns whether the connection is established. */
static bool connected(sl_visit *visit) {
  struct pollfd poller = {.fd = visit->fd, .events = POLLOUT};
  int reason = 0;
  socklen_t length = sizeof reason;
  if (poll(&poller, 1, 0) <= 0)
    return false;
  if (getsockopt(visit->fd, SOL_SOCKET, SO_ERROR, &reason, &length) != 0)
    reason = errno;
  if (reason != 0)
    end(visit, reason);
  return reason == 0;
}

sley_status sl_visit_step(const sl_secret *secret, sl_visit *visit) {
  if (visit->state == SL_VISIT_CONNECTING && connected(visit))
    visit->state = SL_VISIT_CHALLENGED;
  if (visit->state == SL_VISIT_CHALLENGED && take(visit, &visit->challenge, sizeof visit->challenge)) {
    if (!sl_challenge_check(&visit->challenge)) {
      end(visit, 0);
      return SLEY_OK;
    }
    SL_TRY(sl_claim_make(secret, &visit->challenge, visit->payload, &visit->claim));
    visit->state = SL_VISIT_CLAIMING;
  }
  if (visit->state == SL_VISIT_CLAIMING && give(visit)) {
    visit->state = SL_VISIT_ANSWERED;
    visit->claimed = true;
  }
  if (visit->state == SL_VISIT_ANSWERED && take(visit, &visit->proof, sizeof visit->proof))
    visit->state = sl_proof_check(secret, &visit->challenge, &visit->claim, &visit->proof)
                       ? SL_VISIT_DONE
                       : SL_VISIT_UNPROVEN;
  return SLEY_OK;
}
