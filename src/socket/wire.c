/* SPDX-License-Identifier: Apache-2.0 */
/* Serving the sockets: a message is a header and a body. Outgoing messages wait in a queue per peer. An
 * incoming body goes straight to the memory of its posted receive; a message that is not expected yet waits
 * in its socket.
 *
 * Once the mesh is broken, by an abort here or elsewhere, nothing refers to callers' memory any more: the
 * rest of a message that was being sent is replaced by zeros, so that the notice of failure can follow it.
 * Every rank forwards the first notice that it receives to all. */
#define _GNU_SOURCE
#include "socket/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/task_state.h"
#include "socket/sent.h"
#include "socket/socket.h"

enum { WASTE = 65536 };

/* Most bytes that one connection moves in a turn, so that other connections and interrupts are served,
 * too. */
enum { TURN = 8 * 1024 * 1024 };

sley_status sl_wire_create(int rank, int size, int local_rank, double timeout, sl_mesh **out) {
  *out = NULL;
  sl_mesh *mesh;
  SL_TRY(SL_NEW_ZERO(mesh, 1, "a mesh"));
  mesh->peer = sl_alloc_zero(size, 2 * sizeof *mesh->peer, "a mesh");
  mesh->pollers = sl_alloc(size, 2 * sizeof *mesh->pollers, "a mesh");
  mesh->polled = sl_alloc(size, 2 * sizeof *mesh->polled, "a mesh");
  if (!mesh->peer || !mesh->pollers || !mesh->polled) {
    sl_free(mesh->peer);
    sl_free(mesh->pollers);
    sl_free(mesh->polled);
    sl_free(mesh);
    return SLEY_ERR_MEMORY;
  }
  mesh->rank = rank;
  mesh->size = size;
  mesh->local_rank = local_rank;
  mesh->timeout = timeout;
  mesh->failure.rank = -1;
  mesh->pulse_fd[0] = mesh->pulse_fd[1] = -1;
  for (int p = 0; p < 2 * size; p++)
    mesh->peer[p].fd = -1;
  *out = mesh;
  return SLEY_OK;
}

void sl_wire_destroy(sl_mesh *mesh) {
  if (!mesh)
    return;
  sl_progress_stop(mesh->progress);
  sl_pulse_stop(mesh->pulse);
  for (int i = 0; i < 2; i++)
    if (mesh->pulse_fd[i] >= 0)
      close(mesh->pulse_fd[i]);
  for (int p = 0; p < 2 * mesh->size; p++)
    if (mesh->peer[p].fd >= 0)
      close(mesh->peer[p].fd);
  sl_free(mesh->asked);
  sl_free(mesh->peer);
  sl_free(mesh->pollers);
  sl_free(mesh->polled);
  sl_free(mesh);
}

/* ---- failure */

sley_status sl_wire_broken(const sl_mesh *mesh) {
  return mesh->failure.rank < 0 ? SLEY_OK : sl_error_of_peer(mesh->failure.rank, &mesh->failure);
}

/* Removes all references to callers' memory; a message being sent keeps its length. */
static void forget(sl_wire_peer *peer) {
  sl_outbox_forget(&peer->out, &peer->rest);
  memset(peer->awaited, 0, sizeof peer->awaited);
  peer->unanswered = 0;
  peer->posted = NULL;
  peer->target = NULL;
  peer->waiting = peer->last_waiting = NULL;
  if (peer->header.kind != SL_KIND_ABORT)
    peer->body = NULL;
}

/* Breaks the mesh by the failure of failure.rank, the first to fail, and sends notices to all ranks. */
static void break_down(sl_mesh *mesh, const sl_error *failure) {
  if (mesh->failure.rank >= 0)
    return;
  mesh->failure = *failure;
  mesh->in_turn = NULL;
  const bool first = mesh->epoch <= 1; /* other ranks may not know all their connections yet */
  for (int at = 0; at < 2 * mesh->size; at++) {
    const int p = at % mesh->size;
    sl_mesh_outgoing *notice = &mesh->peer[at].notice;
    forget(&mesh->peer[at]);
    notice->header = (sl_mesh_header){.kind = SL_KIND_ABORT, .bytes = sizeof mesh->failure};
    /* A rank that has left may still wait for others to leave; so may the rank that failed, if it reported
     * the failure itself. */
    if ((at != p || first) && p != mesh->rank && (p != failure->rank || !failure->noticed))
      (void)sl_wire_queue(mesh, at, &mesh->failure, notice);
  }
}

sley_status sl_wire_fail(sl_mesh *mesh, sley_status status) {
  sl_error failure;
  sl_error_take(status, &failure);
  /* An error that the ranks agreed on belongs to another rank, and is reported as that rank's failure. */
  if (status != SLEY_ERR_PEER || failure.rank < 0 || failure.rank >= mesh->size) {
    failure.rank = mesh->rank;
    failure.noticed = false;
  }
  break_down(mesh, &failure);
  return status;
}

sl_wire_end sl_wire_look(const sl_mesh *mesh, int rank, sl_error *word) {
  const int at[] = {rank, sl_wire_urgent(mesh, rank)};
  sl_wire_end end = SL_WIRE_THERE;
  for (int i = 0; i < 2; i++) {
    struct said {
      sl_mesh_header header;
      sl_error error;
    } said;
    _Static_assert(sizeof said == sizeof said.header + sizeof said.error, "as it is sent");
    const int fd = mesh->peer[at[i]].fd;
    if (fd < 0)
      continue;
    const ssize_t got = recv(fd, &said, sizeof said, MSG_PEEK | MSG_DONTWAIT);
    if (got == sizeof said && said.header.kind == SL_KIND_ABORT && said.header.bytes == sizeof said.error) {
      sl_error_check(&said.error, mesh->size);
      *word = said.error;
      if (word->rank >= 0 && word->status != SLEY_OK)
        return SL_WIRE_SAID;
    }
    if (sl_socket_has_ended(fd))
      end = SL_WIRE_GONE;
  }
  return end;
}

/* Breaks the mesh because this rank has noticed an event about another rank. */
static void break_down_of(sl_mesh *mesh, int rank, const char *text) {
  sl_error failure = {.status = SLEY_ERR_PEER, .rank = rank, .noticed = true};
  sl_text_format(failure.text, sizeof failure.text, "%s", text);
  break_down(mesh, &failure);
}

static void take_what_comes(sl_mesh *mesh, int p);

/* Marks a message as done and returns it to its caller. */
static void finish(sl_mesh *mesh, sl_mesh_outgoing *out) {
  sl_mesh_outgoing **at = &mesh->in_turn;
  while (out->turn > 0 && *at && *at != out)
    at = &(*at)->next_turn;
  if (out->turn > 0 && *at)
    *at = out->next_turn;
  out->done = true;
}

/* Returns whether the next message of the queue may be sent, according to its turn. */
static bool may_send(const sl_mesh *mesh, sl_wire_peer *peer) {
  const sl_mesh_outgoing *next = sl_outbox_next(&peer->out);
  return next && next->turn <= (mesh->in_turn ? mesh->in_turn->turn : 0);
}

/* Empties a queue whose messages cannot be sent any more. They count as done, so that no rank waits for them.
 */
static void drop_queue(sl_mesh *mesh, sl_wire_peer *peer) {
  for (sl_mesh_outgoing *out; (out = sl_outbox_take(&peer->out));)
    finish(mesh, out);
}

/* Handles the end of a connection to a peer; reason: errno, or 0 for an end of file. A notice of failure that
 * the peer has sent before takes precedence. */
static void lose(sl_mesh *mesh, int p, int reason) {
  sl_wire_peer *peer = &mesh->peer[p];
  int rank = p % mesh->size, urgent = sl_wire_urgent(mesh, rank);
  close(peer->fd);
  peer->fd = -1;
  drop_queue(mesh, peer);
  if (p < mesh->size && mesh->peer[urgent].fd >= 0)
    take_what_comes(mesh, urgent);
  if (!mesh->peer[rank].left && !mesh->leaving)
    break_down_of(mesh, rank,
                  reason == ETIMEDOUT || reason == EHOSTUNREACH || reason == ENETUNREACH
                      ? "its connection was closed: its host or the network between does not answer"
                      : "its connection was closed: the process has ended or was killed");
}

/* Returns whether a process of this host is stopped, by a signal or a debugger. */
static bool is_stopped(int pid) {
  char state = sl_task_state(pid, 0);
  return state == 'T' || state == 't';
}

/* Breaks the mesh if a neighbour's pulse has stopped. */
static void heed_pulse(sl_mesh *mesh) {
  int rank = sl_pulse_silent(mesh->pulse);
  char text[SL_ERROR_TEXT];
  if (rank < 0 || mesh->failure.rank >= 0 || mesh->peer[rank].left)
    return;
  if (is_stopped(mesh->peer[rank].pid))
    snprintf(text, sizeof text, "its process %d is stopped, for %g s or more (--timeout sets the limit)",
             mesh->peer[rank].pid, mesh->timeout);
  else
    snprintf(text, sizeof text,
             "rank %d has heard nothing of it for %g s: it is stopped, or cut off (--timeout sets the limit)",
             mesh->rank, mesh->timeout);
  break_down_of(mesh, rank, text);
}

void sl_wire_violated(sl_mesh *mesh, int p, const char *what) {
  const sl_mesh_header *h = &mesh->peer[p].header;
  int rank = p % mesh->size;
  char text[SL_ERROR_TEXT];
  snprintf(
      text, sizeof text,
      "rank %d has had a message from it that makes no sense: %s (kind %u.%u, tag %llu, %lld bytes, %lld at "
      "%lld)",
      mesh->rank, what, h->kind, h->access, (unsigned long long)h->tag, (long long)h->bytes,
      (long long)h->length, (long long)h->at);
  mesh->peer[rank].dropped = mesh->peer[sl_wire_urgent(mesh, rank)].dropped = true;
  break_down_of(mesh, rank, text);
}

/* ---- sending */

bool sl_wire_queue(sl_mesh *mesh, int p, const void *data, sl_mesh_outgoing *send) {
  sl_wire_peer *peer = &mesh->peer[p];
  const bool alone = sl_outbox_empty(&peer->out);
  send->data = data;
  send->rows = NULL;
  send->has_rows = false;
  send->turn = 0;
  send->next_turn = NULL;
  send->done = peer->fd < 0 || peer->deaf;
  if (send->done)
    return false;
  sl_outbox_add(&peer->out, p >= mesh->size, send);
  return alone;
}

void sl_wire_post(sl_mesh *mesh, int index, uint64_t tag, void *data, int64_t bytes, sl_mesh_incoming *recv) {
  *recv = (sl_mesh_incoming){.tag = tag, .data = data, .bytes = bytes};
  if (mesh->failure.rank >= 0)
    return;
  sl_mesh_incoming **at = &mesh->peer[index].posted;
  while (*at)
    at = &(*at)->next;
  *at = recv;
}

/* Counts the bytes of the current message that a call has sent. */
static void count_sent(const sl_mesh_outgoing *out, ssize_t sent) {
  const int64_t head = sizeof out->header, taken = sent > 0 ? sent : 0;
  const int64_t of_head = out->sent >= head ? 0 : head - out->sent < taken ? head - out->sent : taken;
  if (out->has_rows)
    sl_sent_rows(of_head, taken - of_head, out->sent + taken == head + out->header.bytes);
  else
    sl_sent_control(sent);
}

void sl_wire_send(sl_mesh *mesh, int p) {
  sl_wire_peer *peer = &mesh->peer[p];
  for (int64_t before = mesh->moved; may_send(mesh, peer) && mesh->moved - before < TURN;) {
    struct iovec parts[SL_OUTBOX_PARTS];
    const int count = sl_outbox_parts(sl_outbox_next(&peer->out), parts);
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
    ssize_t sent = sendmsg(peer->fd, &message, MSG_NOSIGNAL);
    count_sent(sl_outbox_next(&peer->out), sent);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0) { /* the reason may still be unread in the socket, so it is read first */
      peer->deaf = true;
      drop_queue(mesh, peer);
      return;
    }
    mesh->moved += sent;
    sl_mesh_outgoing *done = sl_outbox_sent(&peer->out, sent);
    if (done)
      finish(mesh, done);
  }
}

/* ---- receiving */

static bool fits(const sl_mesh_incoming *recv, int64_t bytes) {
  return bytes == recv->bytes || (recv->up_to && bytes >= 0 && bytes < recv->bytes);
}

/* Finds the receive that was posted for the arriving message; returns false if there is none yet. */
static bool find_target(sl_mesh *mesh, sl_wire_peer *peer) {
  if (mesh->failure.rank >= 0 || mesh->leaving) {
    peer->body = NULL;
    return true;
  }
  for (sl_mesh_incoming **at = &peer->posted; *at; at = &(*at)->next)
    if ((*at)->tag == peer->header.tag) {
      sl_mesh_incoming *recv = *at;
      *at = recv->next;
      if (!fits(recv, peer->header.bytes)) {
        char what[64];
        snprintf(what, sizeof what, "%s%lld bytes were expected", recv->up_to ? "at most " : "",
                 (long long)recv->bytes);
        sl_wire_violated(mesh, (int)(peer - mesh->peer), what);
        return true;
      }
      recv->bytes = peer->header.bytes;
      peer->target = recv;
      peer->body = recv->data;
      return true;
    }
  return false;
}

/* Returns whether a message with this tag may come now. Tags of callers always may. Tags of the mesh must
 * belong to the collective in which this rank is or was last, or be the first tag of the next collective,
 * which a peer may begin earlier; each comes once, and in order. */
static bool tag_may_come(const sl_mesh *mesh, sl_wire_peer *peer) {
  const uint64_t tag = peer->header.tag, epoch = tag & (SL_TAG_POST - 1), kind = tag - epoch;
  if (kind == 0 || mesh->failure.rank >= 0 || mesh->leaving)
    return true;
  const uint64_t last = peer->last_tag, last_epoch = last & (SL_TAG_POST - 1);
  const bool now = epoch == mesh->epoch || (epoch == mesh->epoch + 1 && kind == SL_TAG_POST);
  peer->last_tag = tag;
  return now && kind <= SL_TAG_DATA && (epoch > last_epoch || (epoch == last_epoch && tag > last));
}

/* Handles a complete header. */
static void begin_body(sl_mesh *mesh, int p) {
  sl_wire_peer *peer = &mesh->peer[p];
  bool urgent = p >= mesh->size;
  const char *wrong = sl_header_check(&peer->header, urgent);
  if (!wrong && !urgent && peer->header.kind == SL_KIND_DATA && !tag_may_come(mesh, peer))
    wrong = "tag";
  peer->body_left = peer->header.bytes;
  peer->body = NULL;
  peer->target = NULL;
  peer->stalled = false;
  if (wrong || (!urgent && peer->left)) {
    sl_wire_violated(mesh, p, wrong ? wrong : "it has left before");
    return;
  }
  switch ((sl_mesh_kind)peer->header.kind) {
  case SL_KIND_DATA:
    if (urgent)
      sl_wire_piece(mesh, p);
    else
      peer->stalled = !find_target(mesh, peer);
    break;
  case SL_KIND_ABORT:
    peer->body = (char *)&peer->news;
    break;
  case SL_KIND_REQUEST:
    if (mesh->failure.rank < 0)
      sl_wire_request(mesh, p);
    break;
  case SL_KIND_LEAVE:
    break;
  }
}

/* Handles a complete message. */
static void end_body(sl_mesh *mesh, int p) {
  sl_wire_peer *peer = &mesh->peer[p];
  peer->header_got = 0;
  if (peer->target && p >= mesh->size)
    sl_wire_piece_done(mesh, p);
  else if (peer->target)
    peer->target->done = true;
  peer->target = NULL;
  if (peer->header.kind == SL_KIND_LEAVE)
    peer->left = true;
  else if (peer->header.kind == SL_KIND_REQUEST && mesh->failure.rank < 0)
    sl_wire_request_done(mesh, p);
  else if (peer->header.kind == SL_KIND_ABORT) {
    sl_error_check(&peer->news, mesh->size);
    if (peer->news.rank < 0 || peer->news.status == SLEY_OK)
      sl_wire_violated(mesh, p, "an error about no rank");
    else
      break_down(mesh, &peer->news);
  }
}

/* Reads some bytes. Returns 1 if it read some, 0 if there are none now, -1 if the connection has ended. */
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

static void take_what_comes(sl_mesh *mesh, int p) {
  char waste[WASTE]; /* on the stack, because a thread-local buffer would take memory in every thread */
  sl_wire_peer *peer = &mesh->peer[p];
  for (int64_t before = mesh->moved; !peer->stalled && !peer->dropped && mesh->moved - before < TURN;) {
    size_t got = 0;
    int go_on;
    if (peer->header_got < sizeof peer->header) {
      go_on = read_some(peer, (char *)&peer->header + peer->header_got,
                        sizeof peer->header - peer->header_got, &got);
      peer->header_got += got;
      if (go_on > 0 && peer->header_got == sizeof peer->header)
        begin_body(mesh, p);
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
    mesh->moved += (int64_t)got;
    if (go_on < 0) {
      if (!mesh->helping) /* otherwise the rank notices it in its next call */
        lose(mesh, p, errno);
      return;
    }
    if (go_on == 0)
      return;
    if (!peer->stalled && !peer->dropped && peer->body_left == 0)
      end_body(mesh, p);
  }
}

/* Retries a delayed message after a receive was posted, or when this rank no longer waits for any message. */
static void unstall(sl_mesh *mesh, int p) {
  sl_wire_peer *peer = &mesh->peer[p];
  if (!peer->stalled || peer->dropped || !find_target(mesh, peer))
    return;
  peer->stalled = false;
  if (peer->body_left == 0)
    end_body(mesh, p);
}

void sl_wire_take(sl_mesh *mesh, int p) {
  unstall(mesh, p);
  take_what_comes(mesh, p);
}

sley_status sl_wire_turn(sl_mesh *mesh, int milliseconds) {
  int count = 0;
  heed_pulse(mesh);
  for (int p = 0; p < 2 * mesh->size; p++) {
    sl_wire_peer *peer = &mesh->peer[p];
    unstall(mesh, p);
    if (peer->fd >= 0 && peer->dropped)
      lose(mesh, p, 0);
    if (peer->fd < 0)
      continue;
    int events = (peer->stalled ? POLLRDHUP : POLLIN) | (may_send(mesh, peer) ? POLLOUT : 0);
    mesh->pollers[count] = (struct pollfd){.fd = peer->fd, .events = (short)events};
    mesh->polled[count++] = p;
  }
  if (mesh->meanwhile)
    mesh->meanwhile();
  int ready = poll(mesh->pollers, (nfds_t)count, milliseconds);
  for (int i = 0; i < count && ready > 0; i++) {
    int p = mesh->polled[i];
    if (mesh->pollers[i].revents & POLLOUT)
      sl_wire_send(mesh, p);
    if (mesh->peer[p].fd < 0 || !(mesh->pollers[i].revents & (POLLIN | POLLRDHUP | POLLHUP | POLLERR)))
      continue;
    if (mesh->peer[p].stalled)
      lose(mesh, p, 0); /* a peer does not leave in order while one of its messages is delayed */
    else
      take_what_comes(mesh, p);
  }
  return sl_interrupted();
}
