/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a rank's part: by its own failure, or in order, once all ranks have announced that they send no
 * more messages. */
#include <stdio.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "socket/wire.h"

enum { SLICE_MS = 50 };
static const double FAREWELL = 1; /* seconds for the last messages of a broken mesh */

/* Returns whether rank p has failed without answering, so that no message needs to be sent to it. */
static bool is_given_up(const sl_mesh *mesh, int p) {
  return mesh->failure.rank == p % mesh->size && mesh->failure.noticed;
}

/* Serves the sockets until all messages are sent or the deadline is reached, so that the notice of failure is
   delivered. */
static void serve_until_sent(sl_mesh *mesh, double deadline) {
  for (;;) {
    bool sent = true;
    for (int p = 0; p < 2 * mesh->size; p++)
      sent = sent && (sl_outbox_empty(&mesh->peer[p].out) || is_given_up(mesh, p));
    double left = deadline - sl_now();
    if (sent || left <= 0)
      return;
    (void)sl_wire_turn(mesh, left * 1e3 < SLICE_MS ? (int)(left * 1e3) + 1 : SLICE_MS);
  }
}

void sl_mesh_abort(sl_mesh *mesh, sley_status status) {
  sl_wire_enter(mesh);
  sl_error error;
  sl_error_take(status, &error);
  (void)sl_wire_fail(mesh, status);
  serve_until_sent(mesh, sl_now() + FAREWELL / 10);
  (void)sl_error_restore(&error); /* serving may have set another error, such as an interrupt */
}

/* Returns whether all ranks have sent their farewell, or cannot send it because their host is cut off. In
 * that case their urgent connection, which has a time limit, has ended. */
static bool all_left(const sl_mesh *mesh) {
  for (int p = 0; p < mesh->size; p++)
    if (mesh->peer[p].fd >= 0 && mesh->peer[sl_wire_urgent(mesh, p)].fd >= 0 && !mesh->peer[p].left)
      return false;
  return true;
}

void sl_mesh_leave(sl_mesh *mesh) {
  sl_wire_enter(mesh);
  bool first = !mesh->leaving && mesh->failure.rank < 0;
  mesh->leaving = mesh->leaving || first;
  for (int p = 0; p < mesh->size && first; p++) {
    sl_wire_peer *peer = &mesh->peer[p];
    peer->own_send.header = (sl_mesh_header){.kind = SL_KIND_LEAVE};
    if (p != mesh->rank)
      (void)sl_wire_queue(mesh, p, NULL, &peer->own_send);
  }
  bool interrupted = false;
  while (mesh->failure.rank < 0 && !interrupted && !all_left(mesh))
    interrupted = sl_wire_turn(mesh, SLICE_MS) != SLEY_OK;
}

void sl_mesh_close(sl_mesh *mesh) {
  if (!mesh)
    return;
  sl_error error;
  sl_error_save(&error);
  sl_mesh_leave(mesh);
  double deadline = sl_now() + FAREWELL;
  serve_until_sent(mesh, deadline);
  for (int p = 0; p < 2 * mesh->size; p++)
    if (mesh->peer[p].fd >= 0)
      shutdown(mesh->peer[p].fd, SHUT_WR);
  /* Reads the data that the peer still sends, because otherwise its system would discard data that the peer
   * has not read yet. */
  mesh->leaving = true;
  for (bool open = mesh->failure.rank >= 0; open && sl_now() < deadline;) {
    (void)sl_wire_turn(mesh, SLICE_MS);
    open = false;
    for (int p = 0; p < 2 * mesh->size; p++)
      open = open || (mesh->peer[p].fd >= 0 && !mesh->peer[p % mesh->size].left && !is_given_up(mesh, p));
  }
  sl_wire_destroy(mesh);
  if (*error.text)
    (void)sl_error_restore(&error);
}
