/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh_lines.h"

#include <sys/socket.h>

bool mesh_lines(int ends[2][LINES]) {
  for (int line = 0; line < LINES; line++) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
      return false;
    ends[0][line] = pair[0];
    ends[1][line] = pair[1];
  }
  return true;
}

sley_status mesh_on_lines(int rank, const int ends[LINES], sl_mesh **out) {
  SL_TRY(sl_wire_create(rank, 2, 0, 1, out));
  (*out)->peer[1 - rank].fd = ends[MESSAGES];
  (*out)->peer[sl_wire_urgent(*out, 1 - rank)].fd = ends[URGENT];
  return SLEY_OK;
}
