/* SPDX-License-Identifier: Apache-2.0 */
/* How a rank's part ends: by its own failure, or in order, once all have said that nothing more will come. */
#include <stdio.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "bootstrap/wire.h"

enum { SLICE_MS = 50 };
static const double FAREWELL = 1; /* seconds for the last messages of a broken bootstrap */

/* Serves for a while, so that the notice gets out. */
static void serve_until_sent(sl_bootstrap *boot, double deadline) {
  for (;;) {
    bool sent = true;
    for (int p = 0; p < 2 * boot->size; p++)
      sent = sent && !boot->peer[p].first;
    double left = deadline - sl_now();
    if (sent || left <= 0)
      return;
    (void)sl_wire_turn(boot, left * 1e3 < SLICE_MS ? (int)(left * 1e3) + 1 : SLICE_MS);
  }
}

void sl_bootstrap_abort(sl_bootstrap *boot, sley_status status) {
  sl_wire_enter(boot);
  char message[SL_BOOT_MESSAGE];
  snprintf(message, sizeof message, "%s", sley_last_error());
  (void)sl_wire_fail(boot, status);
  serve_until_sent(boot, sl_now() + FAREWELL / 10);
  (void)sl_fail(status, "%s", message); /* serving may have met an interrupt */
}

/* Or cannot say so any more, for their host is cut off: their urgent connection tells, which has a time
 * limit. */
static bool all_left(const sl_bootstrap *boot) {
  for (int p = 0; p < boot->size; p++)
    if (boot->peer[p].fd >= 0 && boot->peer[sl_wire_urgent(boot, p)].fd >= 0 && !boot->peer[p].left)
      return false;
  return true;
}

void sl_bootstrap_leave(sl_bootstrap *boot) {
  sl_wire_enter(boot);
  bool first = !boot->leaving && boot->failed_rank < 0;
  boot->leaving = boot->leaving || first;
  for (int p = 0; p < boot->size && first; p++) {
    sl_wire_peer *peer = &boot->peer[p];
    peer->own_send.header = (sl_boot_header){.kind = SL_KIND_LEAVE};
    if (p != boot->rank)
      sl_wire_queue(boot, p, NULL, &peer->own_send);
  }
  bool interrupted = false;
  while (boot->failed_rank < 0 && !interrupted && !all_left(boot))
    interrupted = sl_wire_turn(boot, SLICE_MS) != SLEY_OK;
}

void sl_bootstrap_close(sl_bootstrap *boot) {
  if (!boot)
    return;
  char message[1024];
  snprintf(message, sizeof message, "%s", sley_last_error());
  sl_bootstrap_leave(boot);
  double deadline = sl_now() + FAREWELL;
  serve_until_sent(boot, deadline);
  for (int p = 0; p < 2 * boot->size; p++)
    if (boot->peer[p].fd >= 0)
      shutdown(boot->peer[p].fd, SHUT_WR);
  /* What a peer has sent meanwhile is read, or it would lose what it has not read yet itself. */
  boot->leaving = true;
  for (bool open = boot->failed_rank >= 0; open && sl_now() < deadline;) {
    (void)sl_wire_turn(boot, SLICE_MS);
    open = false;
    for (int p = 0; p < 2 * boot->size; p++)
      open = open || (boot->peer[p].fd >= 0 && !boot->peer[p % boot->size].left);
  }
  sl_wire_destroy(boot);
  if (*message)
    (void)sl_fail(SLEY_OK, "%s", message);
}
