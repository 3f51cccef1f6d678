/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of callers: sending, posting of receives, waiting, and moving messages while the rank computes. */
#include "socket/wire.h"

enum { SLICE_MS = 50, MUCH = 256 * 1024 };

/* ---- while the rank computes */

static bool in_flight(const sl_wire_peer *peer) {
  return peer->fd >= 0 && (!sl_outbox_empty(&peer->out) || sl_wire_expects(peer));
}

/* One turn of the progress thread: moves messages in flight, and serves requests if this rank provides
 * memory. */
static bool help(void *arg) {
  enum { LIVELY = 50 };
  sl_mesh *mesh = arg;
  int64_t before = mesh->moved;
  mesh->helping = true;
  if (mesh->lively > 0)
    mesh->lively--;
  for (int p = 0; p < 2 * mesh->size; p++) {
    sl_wire_peer *peer = &mesh->peer[p];
    bool asked = p >= mesh->size && mesh->serves && peer->fd >= 0;
    if (!in_flight(peer) && !asked)
      continue;
    int64_t then = mesh->moved;
    sl_wire_send(mesh, p);
    if (sl_wire_expects(peer) || asked)
      sl_wire_take(mesh, p);
    if (asked && mesh->moved > then) /* further requests are likely to follow soon */
      mesh->lively = LIVELY;
  }
  mesh->helping = false;
  return mesh->moved - before > MUCH || mesh->lively > 0;
}

sley_status sl_mesh_start_progress(sl_mesh *mesh) {
  sl_wire_enter(mesh);
  return mesh->progress || mesh->size == 1 ? SLEY_OK : sl_progress_start(help, mesh, &mesh->progress);
}

void sl_mesh_work(sl_mesh *mesh) {
  /* `working` is tested first, because while the progress thread may serve, only that thread may access the
   * other fields of the mesh. */
  if (!mesh->progress || mesh->working || mesh->failure.rank >= 0)
    return;
  bool something = mesh->serves;
  for (int p = 0; p < 2 * mesh->size && !something; p++)
    something = in_flight(&mesh->peer[p]);
  if (!something)
    return;
  mesh->working = true;
  sl_progress_allow(mesh->progress);
}

/* ---- messages */

static void post(sl_mesh *mesh, uint64_t turn, bool rows, int peer, uint64_t tag, const void *data,
                 int64_t bytes, sl_mesh_outgoing *send) {
  sl_wire_enter(mesh);
  send->header = (sl_mesh_header){.kind = SL_KIND_DATA, .tag = tag, .bytes = bytes};
  if (mesh->failure.rank >= 0) {
    send->done = false;
    return;
  }
  const bool alone = sl_wire_queue(mesh, peer, data, send);
  send->has_rows = rows && bytes > 0;
  if (turn > 0 && !send->done) {
    sl_mesh_outgoing **at = &mesh->in_turn;
    while (*at)
      at = &(*at)->next_turn;
    *at = send;
    send->turn = turn;
  }
  if (alone)
    sl_wire_send(mesh, peer);
}

void sl_mesh_send(sl_mesh *mesh, int peer, uint64_t tag, const void *data, int64_t bytes,
                  sl_mesh_outgoing *send) {
  post(mesh, 0, false, peer, tag, data, bytes, send);
}

void sl_mesh_send_in_turn(sl_mesh *mesh, uint64_t turn, int peer, uint64_t tag, const void *data,
                          int64_t bytes, sl_mesh_outgoing *send) {
  post(mesh, turn, true, peer, tag, data, bytes, send);
}

void sl_mesh_recv(sl_mesh *mesh, int peer, uint64_t tag, void *data, int64_t bytes, sl_mesh_incoming *recv) {
  sl_wire_enter(mesh);
  sl_wire_post(mesh, peer, tag, data, bytes, recv);
}

void sl_mesh_recv_up_to(sl_mesh *mesh, int peer, uint64_t tag, void *data, int64_t most,
                        sl_mesh_incoming *recv) {
  sl_mesh_recv(mesh, peer, tag, data, most, recv);
  recv->up_to = true;
}

/* Serves the sockets until *done, which an event from rank p sets. */
static sley_status wait_until(sl_mesh *mesh, int p, const bool *done, sl_wire_event event) {
  const sl_wire_peer *peer = &mesh->peer[p];
  const bool answers = event == SL_WIRE_ANSWERED;
  sl_wire_enter(mesh);
  while (!*done) {
    SL_TRY(sl_wire_broken(mesh));
    if (peer->left && !answers)
      return sl_wire_fail(mesh,
                          sl_fail(SLEY_ERR_PEER,
                                  "rank %d has returned, but rank %d waits for it: all ranks must make the "
                                  "same collective calls",
                                  p, mesh->rank));
    if (answers && mesh->peer[sl_wire_urgent(mesh, p)].fd < 0)
      return sl_wire_fail(mesh, sl_fail_peer(p, "it has ended, and cannot answer rank %d", mesh->rank));
    sley_status status = sl_wire_turn(mesh, SLICE_MS);
    if (status != SLEY_OK)
      return sl_wire_fail(mesh, status);
    /* Messages come in order, and no receive can be posted while this rank waits. So a message that is
     * delayed here would prevent the awaited message from coming. */
    if (event == SL_WIRE_RECEIVED && !*done && peer->stalled && mesh->failure.rank < 0)
      sl_wire_violated(mesh, p, "another message is due");
  }
  return SLEY_OK;
}

sley_status sl_mesh_wait_sent(sl_mesh *mesh, int peer, sl_mesh_outgoing *send) {
  return wait_until(mesh, peer, &send->done, SL_WIRE_SENT);
}

sley_status sl_mesh_wait_received(sl_mesh *mesh, int peer, sl_mesh_incoming *recv) {
  return wait_until(mesh, peer, &recv->done, SL_WIRE_RECEIVED);
}

void sl_mesh_meanwhile(sl_mesh *mesh, void (*turn)(void)) {
  sl_wire_enter(mesh);
  mesh->meanwhile = turn;
}

sley_status sl_mesh_progress(sl_mesh *mesh) {
  sl_wire_enter(mesh);
  SL_TRY(sl_wire_broken(mesh));
  sley_status status = sl_wire_turn(mesh, 0);
  if (status != SLEY_OK)
    return sl_wire_fail(mesh, status);
  return sl_wire_broken(mesh);
}

bool sl_mesh_broken(sl_mesh *mesh) {
  sl_wire_enter(mesh);
  return mesh->failure.rank >= 0;
}

bool sl_mesh_lost_rank(sl_mesh *mesh) {
  sl_wire_enter(mesh);
  return mesh->failure.rank >= 0 && mesh->failure.noticed;
}

/* ---- waiting for requests (request.c) */

sley_status sl_mesh_wait_ask(sl_mesh *mesh, const sl_mesh_ask *ask) {
  sl_wire_enter(mesh);
  while (!sl_mesh_ask_done(ask))
    SL_TRY(
        wait_until(mesh, ask->peer, ask->answers ? &ask->answer.done : &ask->request.done, SL_WIRE_ANSWERED));
  return SLEY_OK;
}

sley_status sl_mesh_access(sl_mesh *mesh, int p, sl_mesh_access_kind access, uint64_t id, int64_t at,
                           void *data, int64_t bytes) {
  sl_mesh_ask ask;
  sl_wire_enter(mesh);
  SL_TRY(sl_wire_broken(mesh));
  sl_mesh_ask_access(mesh, p, access, id, at, data, bytes, &ask);
  return sl_mesh_wait_ask(mesh, &ask);
}

sley_status sl_mesh_wait_rows(sl_mesh *mesh, int p, sl_mesh_rows *ask) {
  return wait_until(mesh, p, &ask->answer.done, SL_WIRE_ANSWERED);
}
