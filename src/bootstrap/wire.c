/* SPDX-License-Identifier: Apache-2.0 */
/* Serving the sockets: a message is a header and its bytes. What is sent waits in a queue a peer; what
 * arrives goes straight to where its receive was posted, and a message that nobody expects yet waits in its
 * socket.
 *
 * Once broken, by an abort here or elsewhere, nothing refers to memory of the callers any more: what is left
 * of a message that was being sent is made up of zeros, so that the notice of the failure can follow it.
 * Every rank passes the first notice it gets on to all. */
#define _GNU_SOURCE
#include "bootstrap/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/memory.h"

enum { SLICE_MS = 50, ZEROS = 4096, WASTE = 65536, PIECES = 128, MUCH = 256 * 1024 };

sley_status sl_wire_create(const sl_place *place, sl_bootstrap **out) {
  *out = NULL;
  sl_bootstrap *boot;
  SL_TRY(SL_NEW_ZERO(boot, 1, "a bootstrap"));
  boot->peer = sl_alloc_zero(place->size, 2 * sizeof *boot->peer, "a bootstrap");
  boot->pollers = sl_alloc(place->size, 2 * sizeof *boot->pollers, "a bootstrap");
  boot->polled = sl_alloc(place->size, 2 * sizeof *boot->polled, "a bootstrap");
  if (!boot->peer || !boot->pollers || !boot->polled) {
    sl_free(boot->peer);
    sl_free(boot->pollers);
    sl_free(boot->polled);
    sl_free(boot);
    return SLEY_ERR_MEMORY;
  }
  boot->rank = place->rank;
  boot->size = place->size;
  boot->local_rank = place->local_rank;
  boot->timeout = place->timeout;
  boot->failed_rank = -1;
  boot->beside[0] = boot->beside[1] = -1;
  for (int p = 0; p < 2 * place->size; p++)
    boot->peer[p].fd = -1;
  *out = boot;
  return SLEY_OK;
}

void sl_wire_destroy(sl_bootstrap *boot) {
  if (!boot)
    return;
  sl_progress_stop(boot->progress);
  sl_pulse_stop(boot->pulse);
  for (int i = 0; i < 2; i++)
    if (boot->beside[i] >= 0)
      close(boot->beside[i]);
  for (int p = 0; p < 2 * boot->size; p++)
    if (boot->peer[p].fd >= 0)
      close(boot->peer[p].fd);
  sl_free(boot->asked);
  sl_free(boot->peer);
  sl_free(boot->pollers);
  sl_free(boot->polled);
  sl_free(boot);
}

/* ---- failure */

sley_status sl_wire_broken(const sl_bootstrap *boot) {
  if (boot->failed_rank < 0)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_PEER, "rank %d failed: %s", boot->failed_rank, boot->failed_message);
}

/* Forgets what the callers lent, but for the shape of a message that is on its way. */
static void forget(sl_wire_peer *peer) {
  sl_boot_send *first = peer->first;
  peer->first = peer->last = NULL;
  if (first && first->sent > 0) {
    peer->rest = *first;
    peer->rest.data = NULL;
    peer->rest.rows = NULL;
    peer->rest.turn = 0;
    peer->rest.next = NULL;
    peer->first = peer->last = &peer->rest;
  }
  peer->posted = NULL;
  peer->target = NULL;
  if (peer->header.kind != SL_KIND_ABORT)
    peer->body = NULL;
}

/* Rank failed_rank is the first to fail: tells all. */
static void break_down(sl_bootstrap *boot, int failed_rank, const char *message) {
  if (boot->failed_rank >= 0)
    return;
  boot->failed_rank = failed_rank;
  boot->in_turn = NULL;
  snprintf(boot->failed_message, sizeof boot->failed_message, "%s", message);
  boot->notice.rank = failed_rank;
  memcpy(boot->notice.text, boot->failed_message, sizeof boot->notice.text);
  for (int p = 0; p < boot->size; p++) {
    int urgent = sl_wire_urgent(boot, p);
    forget(&boot->peer[p]);
    forget(&boot->peer[urgent]);
    sl_boot_send *notice = &boot->peer[urgent].notice;
    notice->header = (sl_boot_header){.kind = SL_KIND_ABORT, .bytes = sizeof boot->notice};
    if (p != boot->rank && p != failed_rank) /* one that has left may still wait for others to leave */
      sl_wire_queue(boot, urgent, &boot->notice, notice);
  }
}

sley_status sl_wire_fail(sl_bootstrap *boot, sley_status status) {
  char message[SL_BOOT_MESSAGE];
  int first = -1, led = 0;
  snprintf(message, sizeof message, "%s", *sley_last_error() ? sley_last_error() : sley_status_name(status));
  /* What the ranks agreed on is another's failure, and told as such. */
  if (status == SLEY_ERR_PEER && sscanf(message, "rank %d failed: %n", &first, &led) == 1 && led > 0 &&
      first >= 0 && first < boot->size && first != boot->rank)
    break_down(boot, first, message + led);
  else
    break_down(boot, boot->rank, message);
  return status;
}

static void take_what_comes(sl_bootstrap *boot, int p);

/* From here on it is the caller's again. */
static void finish(sl_bootstrap *boot, sl_boot_send *out) {
  sl_boot_send **at = &boot->in_turn;
  while (out->turn > 0 && *at && *at != out)
    at = &(*at)->next_turn;
  if (out->turn > 0 && *at)
    *at = out->next_turn;
  out->done = true;
}

/* Whether it is a queue's turn to send. */
static bool may_send(const sl_bootstrap *boot, const sl_wire_peer *peer) {
  return peer->first && peer->first->turn <= (boot->in_turn ? boot->in_turn->turn : 0);
}

/* Nothing of it can be sent any more, which is no reason to wait. */
static void drop_queue(sl_bootstrap *boot, sl_wire_peer *peer) {
  for (sl_boot_send *out = peer->first, *next; out; out = next) {
    next = out->next;
    finish(boot, out);
  }
  peer->first = peer->last = NULL;
}

/* A connection to a peer has ended; reason: errno, 0 for an end of file. If it had news, that is what counts.
 */
static void lose(sl_bootstrap *boot, int p, int reason) {
  sl_wire_peer *peer = &boot->peer[p];
  int rank = p % boot->size, urgent = sl_wire_urgent(boot, rank);
  close(peer->fd);
  peer->fd = -1;
  drop_queue(boot, peer);
  if (p < boot->size && boot->peer[urgent].fd >= 0)
    take_what_comes(boot, urgent);
  if (!boot->peer[rank].left && !boot->leaving)
    break_down(boot, rank,
               reason == ETIMEDOUT || reason == EHOSTUNREACH || reason == ENETUNREACH
                   ? "its connection was closed: its host or the network between does not answer"
                   : "its connection was closed: the process has ended or was killed");
}

/* The pulse of a neighbour has stopped. */
static void heed_pulse(sl_bootstrap *boot) {
  int rank = sl_pulse_silent(boot->pulse);
  char message[SL_BOOT_MESSAGE];
  if (rank < 0 || boot->failed_rank >= 0 || boot->peer[rank].left)
    return;
  snprintf(message, sizeof message,
           "rank %d has heard nothing of it for %g s: it is stopped, or cut off (--timeout sets the limit)",
           boot->rank, boot->timeout);
  break_down(boot, rank, message);
}

/* ---- sending */

void sl_wire_queue(sl_bootstrap *boot, int p, const void *data, sl_boot_send *send) {
  sl_wire_peer *peer = &boot->peer[p];
  send->data = data;
  send->rows = NULL;
  send->sent = 0;
  send->turn = 0;
  send->next = send->next_turn = NULL;
  send->done = peer->fd < 0 || peer->deaf;
  if (send->done)
    return;
  if (peer->last)
    peer->last->next = send;
  else
    peer->first = send;
  peer->last = send;
}

/* The bytes of a message from `sent` on, at least one piece of them if there are any; returns the pieces. */
static int next_pieces(const sl_boot_send *out, struct iovec pieces[PIECES]) {
  static const char zeros[ZEROS];
  const int64_t head = sizeof out->header, end = head + out->header.bytes;
  int count = 0;
  for (int64_t at = out->sent; at < end && count < PIECES;) {
    const char *data = (const char *)&out->header + at;
    int64_t bytes = head - at;
    if (at >= head && !out->data) {
      data = zeros;
      bytes = end - at < ZEROS ? end - at : ZEROS;
    } else if (at >= head && out->rows) {
      int64_t row = (at - head) / out->row_bytes, within = (at - head) % out->row_bytes;
      data = (const char *)out->data + out->rows[row] * out->row_bytes + within;
      bytes = out->row_bytes - within;
    } else if (at >= head) {
      data = (const char *)out->data + (at - head);
      bytes = end - at;
    }
    pieces[count++] = (struct iovec){.iov_base = (void *)(uintptr_t)data, .iov_len = (size_t)bytes};
    at += bytes;
  }
  return count;
}

static void send_what_goes(sl_bootstrap *boot, int p) {
  sl_wire_peer *peer = &boot->peer[p];
  while (may_send(boot, peer)) {
    sl_boot_send *out = peer->first;
    struct iovec pieces[PIECES];
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = (size_t)next_pieces(out, pieces)};
    ssize_t sent = sendmsg(peer->fd, &message, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0) { /* why it has closed is yet to be read */
      peer->deaf = true;
      drop_queue(boot, peer);
      return;
    }
    out->sent += sent;
    boot->moved += sent;
    if (out->sent == (int64_t)sizeof out->header + out->header.bytes) {
      peer->first = out->next;
      if (!peer->first)
        peer->last = NULL;
      finish(boot, out);
    }
  }
}

/* ---- receiving */

/* Finds the receive that was posted for the message that arrives; false: none yet. */
static bool find_target(sl_bootstrap *boot, sl_wire_peer *peer) {
  if (boot->failed_rank >= 0 || boot->leaving) {
    peer->body = NULL;
    return true;
  }
  for (sl_boot_recv **at = &peer->posted; *at; at = &(*at)->next)
    if ((*at)->tag == peer->header.tag) {
      sl_boot_recv *recv = *at;
      *at = recv->next;
      if (recv->bytes != peer->header.bytes) {
        (void)sl_fail(SLEY_ERR_INTERNAL, "a message of %lld bytes has come where %lld were expected",
                      (long long)peer->header.bytes, (long long)recv->bytes);
        (void)sl_wire_fail(boot, SLEY_ERR_INTERNAL);
        return true;
      }
      peer->target = recv;
      peer->body = recv->data;
      return true;
    }
  return false;
}

/* A header is complete. */
static void begin_body(sl_bootstrap *boot, int p) {
  sl_wire_peer *peer = &boot->peer[p];
  peer->body_left = peer->header.bytes;
  peer->body = NULL;
  peer->target = NULL;
  peer->stalled = false;
  switch (peer->header.kind) {
  case SL_KIND_DATA:
    peer->stalled = !find_target(boot, peer);
    break;
  case SL_KIND_ABORT:
    peer->body = (char *)&peer->news;
    break;
  case SL_KIND_REQUEST:
    if (boot->failed_rank < 0)
      sl_wire_request(boot, p);
    break;
  default:
    break;
  }
}

/* A message is complete. */
static void end_body(sl_bootstrap *boot, int p) {
  sl_wire_peer *peer = &boot->peer[p];
  peer->header_got = 0;
  if (peer->target)
    peer->target->done = true;
  peer->target = NULL;
  if (peer->header.kind == SL_KIND_LEAVE)
    peer->left = true;
  else if (peer->header.kind == SL_KIND_REQUEST && boot->failed_rank < 0)
    sl_wire_request_done(boot, p);
  else if (peer->header.kind == SL_KIND_ABORT) {
    peer->news.text[sizeof peer->news.text - 1] = '\0';
    if (peer->news.rank >= 0 && peer->news.rank < boot->size)
      break_down(boot, (int)peer->news.rank, peer->news.text);
  }
}

/* Reads some bytes: 1 if it may go on, 0 if there are none now, -1 if the connection has ended. */
static int read_some(sl_wire_peer *peer, void *into, size_t bytes, size_t *got) {
  for (;;) {
    ssize_t taken = recv(peer->fd, into, bytes, 0);
    if (taken > 0) {
      *got = (size_t)taken;
      return 1;
    }
    if (taken < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return 0;
    if (taken == 0)
      errno = 0;
    if (taken == 0 || errno != EINTR)
      return -1;
  }
}

static void take_what_comes(sl_bootstrap *boot, int p) {
  static _Thread_local char waste[WASTE];
  sl_wire_peer *peer = &boot->peer[p];
  while (!peer->stalled) {
    size_t got = 0;
    int go_on;
    if (peer->header_got < sizeof peer->header) {
      go_on = read_some(peer, (char *)&peer->header + peer->header_got,
                        sizeof peer->header - peer->header_got, &got);
      peer->header_got += got;
      if (go_on > 0 && peer->header_got == sizeof peer->header)
        begin_body(boot, p);
      else if (go_on > 0)
        continue;
    } else {
      bool wasted = !peer->body;
      size_t most = wasted && peer->body_left > WASTE ? WASTE : (size_t)peer->body_left;
      go_on = read_some(peer, wasted ? waste : peer->body, most, &got);
      peer->body_left -= (int64_t)got;
      if (!wasted)
        peer->body += got;
    }
    boot->moved += (int64_t)got;
    if (go_on < 0) {
      if (!boot->helping) /* else the rank finds it in its next call */
        lose(boot, p, errno);
      return;
    }
    if (go_on == 0)
      return;
    if (!peer->stalled && peer->body_left == 0)
      end_body(boot, p);
  }
}

/* A receive was posted, or nothing is waited for any more: looks again at the message that was held up. */
static void unstall(sl_bootstrap *boot, int p) {
  sl_wire_peer *peer = &boot->peer[p];
  if (!peer->stalled || !find_target(boot, peer))
    return;
  peer->stalled = false;
  if (peer->body_left == 0)
    end_body(boot, p);
}

sley_status sl_wire_turn(sl_bootstrap *boot, int milliseconds) {
  int count = 0;
  heed_pulse(boot);
  for (int p = 0; p < 2 * boot->size; p++) {
    sl_wire_peer *peer = &boot->peer[p];
    unstall(boot, p);
    if (peer->fd < 0)
      continue;
    int events = (peer->stalled ? POLLRDHUP : POLLIN) | (may_send(boot, peer) ? POLLOUT : 0);
    boot->pollers[count] = (struct pollfd){.fd = peer->fd, .events = (short)events};
    boot->polled[count++] = p;
  }
  if (boot->meanwhile)
    boot->meanwhile();
  int ready = poll(boot->pollers, (nfds_t)count, milliseconds);
  for (int i = 0; i < count && ready > 0; i++) {
    int p = boot->polled[i];
    if (boot->pollers[i].revents & POLLOUT)
      send_what_goes(boot, p);
    if (boot->peer[p].fd < 0 || !(boot->pollers[i].revents & (POLLIN | POLLRDHUP | POLLHUP | POLLERR)))
      continue;
    if (boot->peer[p].stalled)
      lose(boot, p, 0); /* nobody leaves in order while a message of his is held up */
    else
      take_what_comes(boot, p);
  }
  return sl_interrupted();
}

/* ---- while the rank computes */

static bool in_flight(const sl_wire_peer *peer) {
  return peer->fd >= 0 && (peer->first || peer->posted || peer->target);
}

/* The progress thread's turn: messages only, since requests are for memory that the rank may be changing. */
static bool help(void *arg) {
  sl_bootstrap *boot = arg;
  int64_t before = boot->moved;
  boot->helping = true;
  for (int p = 0; p < boot->size; p++) {
    sl_wire_peer *peer = &boot->peer[p];
    if (!in_flight(peer))
      continue;
    unstall(boot, p);
    send_what_goes(boot, p);
    if (peer->posted || peer->target)
      take_what_comes(boot, p);
  }
  boot->helping = false;
  return boot->moved - before > MUCH;
}

sley_status sl_bootstrap_start_progress(sl_bootstrap *boot) {
  sl_wire_enter(boot);
  return boot->progress || boot->size == 1 ? SLEY_OK : sl_progress_start(help, boot, &boot->progress);
}

void sl_bootstrap_work(sl_bootstrap *boot) {
  bool something = false;
  for (int p = 0; p < boot->size; p++)
    something = something || in_flight(&boot->peer[p]);
  if (!boot->progress || boot->working || boot->failed_rank >= 0 || !something)
    return;
  boot->working = true;
  sl_progress_allow(boot->progress);
}

/* ---- messages */

void sl_bootstrap_send(sl_bootstrap *boot, int peer, uint64_t tag, const void *data, int64_t bytes,
                       sl_boot_send *send) {
  sl_bootstrap_send_in_turn(boot, 0, peer, tag, data, bytes, send);
}

void sl_bootstrap_send_in_turn(sl_bootstrap *boot, uint64_t turn, int peer, uint64_t tag, const void *data,
                               int64_t bytes, sl_boot_send *send) {
  sl_wire_enter(boot);
  send->header = (sl_boot_header){.kind = SL_KIND_DATA, .tag = tag, .bytes = bytes};
  if (boot->failed_rank >= 0) {
    send->done = false;
    return;
  }
  sl_wire_queue(boot, peer, data, send);
  if (turn > 0 && !send->done) {
    sl_boot_send **at = &boot->in_turn;
    while (*at)
      at = &(*at)->next_turn;
    *at = send;
    send->turn = turn;
  }
  if (boot->peer[peer].first == send)
    send_what_goes(boot, peer);
}

void sl_wire_post(sl_bootstrap *boot, int index, uint64_t tag, void *data, int64_t bytes,
                  sl_boot_recv *recv) {
  *recv = (sl_boot_recv){.tag = tag, .data = data, .bytes = bytes};
  if (boot->failed_rank >= 0)
    return;
  sl_boot_recv **at = &boot->peer[index].posted;
  while (*at)
    at = &(*at)->next;
  *at = recv;
}

void sl_bootstrap_recv(sl_bootstrap *boot, int peer, uint64_t tag, void *data, int64_t bytes,
                       sl_boot_recv *recv) {
  sl_wire_enter(boot);
  sl_wire_post(boot, peer, tag, data, bytes, recv);
}

sley_status sl_wire_wait(sl_bootstrap *boot, int p, const bool *done, bool answers) {
  const sl_wire_peer *peer = &boot->peer[p];
  sl_wire_enter(boot);
  while (!*done) {
    SL_TRY(sl_wire_broken(boot));
    if (peer->left && !answers)
      return sl_wire_fail(boot,
                          sl_fail(SLEY_ERR_PEER,
                                  "rank %d has returned, but rank %d waits for it: all ranks must make the "
                                  "same collective calls",
                                  p, boot->rank));
    if (answers && boot->peer[sl_wire_urgent(boot, p)].fd < 0)
      return sl_wire_fail(
          boot,
          sl_fail(SLEY_ERR_PEER, "rank %d failed: it has ended, and cannot answer rank %d", p, boot->rank));
    sley_status status = sl_wire_turn(boot, SLICE_MS);
    if (status != SLEY_OK)
      return sl_wire_fail(boot, status);
  }
  return SLEY_OK;
}

sley_status sl_bootstrap_wait_sent(sl_bootstrap *boot, int peer, sl_boot_send *send) {
  return sl_wire_wait(boot, peer, &send->done, false);
}

sley_status sl_bootstrap_wait_received(sl_bootstrap *boot, int peer, sl_boot_recv *recv) {
  return sl_wire_wait(boot, peer, &recv->done, false);
}

void sl_bootstrap_meanwhile(sl_bootstrap *boot, void (*turn)(void)) {
  sl_wire_enter(boot);
  boot->meanwhile = turn;
}

sley_status sl_bootstrap_progress(sl_bootstrap *boot) {
  sl_wire_enter(boot);
  SL_TRY(sl_wire_broken(boot));
  sley_status status = sl_wire_turn(boot, 0);
  if (status != SLEY_OK)
    return sl_wire_fail(boot, status);
  return sl_wire_broken(boot);
}

bool sl_bootstrap_broken(sl_bootstrap *boot) {
  sl_wire_enter(boot);
  return boot->failed_rank >= 0;
}

/* ---- what is known of the ranks */

int sl_bootstrap_rank(const sl_bootstrap *boot) {
  return boot->rank;
}

int sl_bootstrap_size(const sl_bootstrap *boot) {
  return boot->size;
}

int sl_bootstrap_local_rank(const sl_bootstrap *boot) {
  return boot->local_rank;
}

const char *sl_bootstrap_host(const sl_bootstrap *boot, int rank) {
  return boot->peer[rank].host;
}

static bool blocks_fit(const sl_bootstrap *boot, int block) {
  for (int r = 1; r < boot->size; r++)
    if (r % block != 0 && strcmp(boot->peer[r].host, boot->peer[r - 1].host) != 0)
      return false;
  return true;
}

int sl_bootstrap_block(const sl_bootstrap *boot, int most) {
  int block = most < boot->size ? most : boot->size;
  while (block > 1 && !blocks_fit(boot, block))
    block--;
  return block;
}
