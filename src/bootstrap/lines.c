/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a rank's connections to all others at the same time: no rank waits until another has finished. */
#include "bootstrap/lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "bootstrap/reception.h"
#include "bootstrap/visit.h"
#include "socket/wire.h"

enum { SLICE_MS = 50 };
/* Seconds until a closed connection is tried again; seconds until a rank that seems to have ended counts as
 * lost. */
static const double AGAIN = 0.05, DOUBT = 0.5;

/* A connection to a lower rank. */
typedef struct line {
  sl_visit visit;
  int peer;
  double again; /* time of the next attempt, if fd is -1 */
} line;

struct sl_lines {
  const sl_place *place;
  const sl_entry *entries;
  sl_mesh *mesh;
  line *line;
  int count, done;
  int doubtful; /* a rank that seems to have ended; -1: none so far */
  double doubt; /* time at which that rank counts as lost */
  struct pollfd *pollers;
  sl_reception door;
};

/* The index of the pulse that joins this rank with p; -1: none. */
static int pulse_of(const sl_mesh *mesh, int p) {
  bool after = p == (mesh->rank + 1) % mesh->size, before = mesh->rank == (p + 1) % mesh->size;
  if (after && (!before || p > mesh->rank)) /* of two ranks, only the lower one counts the other as its
                                               successor */
    return 1;
  return before ? 0 : -1;
}

/* Returns the address of the variable for the socket of a connection to a peer; NULL: there is no such
   connection. */
static int *slot_of(sl_mesh *mesh, int p, uint32_t kind) {
  if (kind == SL_CLAIM_PULSE)
    return pulse_of(mesh, p) < 0 ? NULL : &mesh->pulse_fd[pulse_of(mesh, p)];
  return &mesh->peer[kind == SL_CLAIM_URGENT ? sl_wire_urgent(mesh, p) : p].fd;
}

/* Stores a proven connection. */
static void keep(sl_lines *all, int p, uint32_t kind, int fd) {
  *slot_of(all->mesh, p, kind) = fd;
  if (kind == SL_CLAIM_PULSE)
    sl_pulse_add(all->mesh->pulse, pulse_of(all->mesh, p), fd);
}

static void add_line(sl_lines *all, int p, uint32_t kind) {
  const sl_place *place = all->place;
  line *l = &all->line[all->count++];
  *l = (line){.peer = p, .visit = {.fd = -1}};
  l->visit.claim = (sl_claim){
      .kind = kind, .job = place->key, .from = place->rank, .to = p, .port = (int32_t)all->entries[p].port};
}

/* Returns whether to wait before rank p counts as lost, because it may have ended its part after another rank
   failed. */
static bool in_doubt(sl_lines *all, int p) {
  if (all->doubtful < 0) {
    all->doubtful = p;
    all->doubt = sl_now() + DOUBT;
  }
  return sl_now() < all->doubt;
}

static sley_status cannot_reach(const sl_lines *all, const line *l, const char *why) {
  const sl_entry *at = &all->entries[l->peer];
  return sl_fail_peer(l->peer, "rank %d cannot reach it at %s, port %lld: %s", all->place->rank, at->address,
                      (long long)at->port, why);
}

/* Makes one more step of a connection. A connection that was closed before it was proven is made again,
 * because the listener may have had no free place for it. */
static sley_status step(sl_lines *all, line *l) {
  sl_visit *visit = &l->visit;
  if (visit->state == SL_VISIT_DONE || (visit->fd < 0 && sl_now() < l->again))
    return SLEY_OK;
  if (visit->fd < 0) {
    const sl_entry *at = &all->entries[l->peer];
    if (sl_socket_begin_connect(at->address, (int)at->port, &visit->fd) != SLEY_OK) {
      const int reason = errno;
      l->again = sl_now() + AGAIN;
      return in_doubt(all, l->peer) ? SLEY_OK : cannot_reach(all, l, strerror(reason));
    }
    visit->state = SL_VISIT_CONNECTING;
    visit->done = 0;
  }
  SL_TRY(sl_visit_step(&all->place->secret, visit));
  if (!sl_visit_over(visit))
    return SLEY_OK;
  if (visit->state == SL_VISIT_DONE) {
    keep(all, l->peer, visit->claim.kind, visit->fd);
    all->done++;
    if (all->doubtful == l->peer)
      all->doubtful = -1;
    return SLEY_OK;
  }
  close(visit->fd);
  visit->fd = -1;
  l->again = sl_now() + AGAIN;
  bool closed = visit->state == SL_VISIT_UNPROVEN || visit->reason == 0 || visit->reason == ECONNRESET ||
                visit->reason == EPIPE;
  return closed || in_doubt(all, l->peer) ? SLEY_OK : cannot_reach(all, l, strerror(visit->reason));
}

/* Accepts connections from higher ranks. */
static sley_status receive(sl_lines *all) {
  const sl_place *place = all->place;
  for (;;) {
    int fd;
    sl_claim who;
    SL_TRY(sl_reception_take(&all->door, &who, &fd));
    if (fd < 0)
      return SLEY_OK;
    bool above = who.from > place->rank && who.from < place->size;
    int *slot = above ? slot_of(all->mesh, who.from, who.kind) : NULL;
    if (!slot || *slot >= 0)
      close(fd);
    else
      keep(all, who.from, who.kind, fd);
  }
}

/* The first higher rank whose connections are not all there; -1: none. */
static int next_missing(sl_mesh *mesh) {
  for (int p = mesh->rank + 1; p < mesh->size; p++)
    for (uint32_t kind = SL_CLAIM_MESSAGES; kind <= SL_CLAIM_PULSE; kind++) {
      const int *slot = slot_of(mesh, p, kind);
      if (slot && *slot < 0)
        return p;
    }
  return -1;
}

/* Detects ranks that have ended. A notice that a rank has sent takes precedence. A connection to a lower rank
 * is known to both ends, and a rank that gives up sends a notice through it: if it is closed without one, the
 * process has ended. A connection from a higher rank may not be known there yet: that rank may have given up
 * because another rank has ended, and then this other rank is to be named, if it is noticed within a
 * moment. */
static sley_status look_for_ends(sl_lines *all) {
  const sl_mesh *mesh = all->mesh;
  int lost = -1;
  for (int p = mesh->size - 1; p >= 0; p--) {
    sl_error word;
    const sl_wire_end end = sl_wire_look(mesh, p, &word);
    if (end == SL_WIRE_SAID)
      return sl_error_of_peer(word.rank, &word);
    if (end == SL_WIRE_GONE && p < mesh->rank)
      lost = p;
    else if (end == SL_WIRE_GONE)
      (void)in_doubt(all, p);
  }
  if (lost < 0 && all->doubtful >= 0 && !in_doubt(all, all->doubtful))
    lost = all->doubtful;
  return lost < 0 ? SLEY_OK
                  : sl_fail_peer(lost, "its connection was closed: the process has ended or was killed");
}

static void wait_a_moment(const sl_lines *all, double deadline) {
  int count = sl_reception_pollers(&all->door, all->pollers);
  double until = sl_now() + SLICE_MS * 1e-3;
  for (int i = 0; i < all->count; i++) {
    const line *l = &all->line[i];
    if (l->visit.state == SL_VISIT_DONE)
      continue;
    if (l->visit.fd >= 0)
      all->pollers[count++] = (struct pollfd){.fd = l->visit.fd, .events = sl_visit_events(&l->visit)};
    else if (l->again < until)
      until = l->again;
  }
  double left = (until < deadline ? until : deadline) - sl_now();
  (void)poll(all->pollers, (nfds_t)count, left > 0 ? (int)(left * 1e3) + 1 : 0);
}

static sley_status join_all(sl_lines *all, double deadline) {
  const sl_place *place = all->place;
  for (;;) {
    for (int i = 0; i < all->count; i++)
      SL_TRY(step(all, &all->line[i]));
    SL_TRY(receive(all));
    int missing = next_missing(all->mesh);
    if (all->done == all->count && missing < 0)
      return SLEY_OK;
    SL_TRY(sl_interrupted());
    SL_TRY(look_for_ends(all));
    if (sl_now() >= deadline && all->done == all->count)
      return sl_fail_peer(
          missing, "it did not connect to rank %d within %g s: check that all hosts can reach each other",
          place->rank, place->timeout);
    for (int i = 0; i < all->count && sl_now() >= deadline; i++)
      if (all->line[i].visit.state != SL_VISIT_DONE)
        return cannot_reach(all, &all->line[i], "it does not answer, or does not know the secret");
    wait_a_moment(all, deadline);
  }
}

sley_status sl_lines_create(const sl_place *place, sl_lines **out) {
  int most = 2 * place->rank + 2; /* number of connections to lower ranks */
  sl_lines *all;
  *out = NULL;
  SL_TRY(SL_NEW_ZERO(all, 1, "connections to other ranks"));
  all->place = place;
  all->doubtful = -1;
  sley_status status = SL_NEW_ZERO(all->line, most, "connections to other ranks");
  if (status == SLEY_OK)
    status = SL_NEW(all->pollers, most + SL_GUESTS + 1, "connections to other ranks");
  if (status == SLEY_OK)
    *out = all;
  else
    sl_lines_destroy(all);
  return status;
}

void sl_lines_destroy(sl_lines *all) {
  if (!all)
    return;
  sl_free(all->pollers);
  sl_free(all->line);
  sl_free(all);
}

sley_status sl_lines_join(sl_lines *all, const sl_entry *entries, int listener, int port, sl_guest *guest,
                          sl_mesh *mesh) {
  const sl_place *place = all->place;
  const sl_claim wanted = {.job = place->key, .to = place->rank, .port = port};
  all->entries = entries;
  all->mesh = mesh;
  SL_TRY(sl_reception_open(listener, &place->secret, &wanted, guest, SL_GUESTS, &all->door));
  for (int p = 0; p < place->rank; p++) {
    if (p > 0)
      add_line(all, p, SL_CLAIM_MESSAGES);
    add_line(all, p, SL_CLAIM_URGENT);
    if (pulse_of(mesh, p) >= 0)
      add_line(all, p, SL_CLAIM_PULSE);
  }
  sley_status status = join_all(all, sl_now() + (place->patience > 0 ? place->patience : place->timeout));
  for (int i = 0; i < all->count; i++)
    if (all->line[i].visit.fd >= 0 && all->line[i].visit.state != SL_VISIT_DONE)
      close(all->line[i].visit.fd);
  sl_reception_close(&all->door);
  return status;
}
