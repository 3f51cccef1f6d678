/* SPDX-License-Identifier: Apache-2.0 */
/* How ranks meet. Rank 0 listens; each other rank connects to it, is greeted (so that it knows whom it has
 * reached: another program may hold the port), and says who it is and where it listens itself. Once all have
 * come, or the time is up, rank 0 gives all of them its verdict and the list of all places; then each rank
 * connects to the ranks below it, once for messages, once for what is urgent, and, to its neighbours in the
 * ring of ranks, once for the pulse; and accepts those above. A
 * rank that has failed before comes all the same, to say so. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "bootstrap/meet.h"
#include "bootstrap/reception.h"
#include "socket/socket.h"
#include "socket/wire.h"

static const uint64_t MAGIC = UINT64_C(0x31597970656c5379); /* also tells byte orders apart */
static const double PATIENCE = 2, FAREWELL = 1;             /* seconds for an answer; for late comers */
enum { RETRY_NANOSECONDS = 20 * 1000 * 1000 };

typedef struct greeting {
  uint64_t magic, key;
} greeting;

typedef struct hello {
  uint64_t magic, key;
  int32_t rank, size, port, spare;
  char host[SL_HOST_BYTES];
  sl_error error; /* why it cannot take part; SLEY_OK: it can */
} hello;
_Static_assert(sizeof(hello) <= SL_GUEST_BYTES, "a hello is longer than a reception hears");

/* What a rank says to the peers below it, of whom rank 0 knows it already. */
typedef struct introduction {
  uint64_t magic, key;
  int64_t rank, line;
} introduction;

/* introduction.line */
enum { LINE_MESSAGES, LINE_URGENT, LINE_PULSE };

typedef struct entry {
  char address[SL_ADDRESS_BYTES], host[SL_HOST_BYTES];
  int64_t port;
} entry;

/* The rank's part in a meeting. */
typedef struct meeting {
  const sl_place *place;
  sl_mesh *mesh;
  entry *entries; /* by rank */
  int listener, port;
  int port_0; /* where rank 0 was found */
  double deadline;
} meeting;

static void drop(int *fd) {
  if (*fd >= 0)
    close(*fd);
  *fd = -1;
}

static sl_error error_of(sley_status status) {
  sl_error error;
  sl_error_take(status, &error);
  return error;
}

/* ---- rank 0 */

/* The port a launcher names may be in use by the launcher itself: the next that is free. */
static sley_status open_port(meeting *m) {
  const sl_place *place = m->place;
  if (m->listener >= 0)
    return SLEY_OK;
  for (int port = place->port; port < place->port + SL_PORTS && port <= UINT16_MAX; port++) {
    sley_status status = sl_socket_listen(port, place->local, &m->port, &m->listener);
    if (status == SLEY_OK || errno != EADDRINUSE)
      return status;
  }
  return sl_fail(SLEY_ERR_IO, "the ports %d to %d are all in use: set MASTER_PORT to a free one", place->port,
                 place->port + SL_PORTS - 1);
}

/* Takes the next rank of this run that comes: SLEY_OK and its hello. SLEY_ERR_PEER: the time is up. */
static sley_status next_hello(const meeting *m, sl_reception *door, double deadline, hello *who, int *fd) {
  for (;;) {
    SL_TRY(sl_reception_next(door, deadline, who, fd));
    if (who->magic == MAGIC && who->key == m->place->key) {
      who->host[sizeof who->host - 1] = '\0';
      sl_error_check(&who->error, m->place->size);
      return SLEY_OK;
    }
    drop(fd);
  }
}

static sley_status judge(const meeting *m, const hello *who) {
  const sl_place *place = m->place;
  if (who->size != place->size)
    return sl_fail(
        SLEY_ERR_ARG,
        "rank %d was started as one of %d ranks, rank 0 as one of %d: WORLD_SIZE must be the same everywhere",
        who->rank, who->size, place->size);
  if (who->rank < 1 || who->rank >= place->size)
    return sl_fail(SLEY_ERR_ARG, "a rank %d has come to %d ranks: RANK must differ everywhere", who->rank,
                   place->size);
  if (m->mesh && m->mesh->peer[who->rank].fd >= 0)
    return sl_fail(SLEY_ERR_ARG, "two processes have come as rank %d: RANK must differ everywhere",
                   who->rank);
  return SLEY_OK;
}

static sley_status nobody_came(const meeting *m) {
  int missing = 1;
  while (m->mesh && missing < m->place->size - 1 && m->mesh->peer[missing].fd >= 0)
    missing++;
  return sl_fail(
      SLEY_ERR_PEER,
      "rank %d of %d did not come to port %d within %g s: start all ranks, or give them longer (--timeout)",
      missing, m->place->size, m->port, m->place->timeout);
}

/* Everyone who still comes is told what has happened, as long as somebody is missing. */
static void turn_away(const meeting *m, sl_reception *door, int missing, const sl_error *verdict,
                      double deadline) {
  hello who;
  int fd;
  while (missing-- > 0 && next_hello(m, door, deadline, &who, &fd) == SLEY_OK) {
    (void)sl_socket_write(fd, verdict, sizeof *verdict, sl_now() + PATIENCE);
    close(fd);
  }
}

static void keep_entry(const meeting *m, const hello *who, int fd) {
  entry *at = &m->entries[who->rank];
  m->mesh->peer[who->rank].fd = fd;
  sl_socket_peer(fd, at->address);
  at->port = who->port;
  memcpy(at->host, who->host, sizeof at->host);
}

/* Collects the other ranks and gives the verdict. mine: rank 0's own status, with the thread's message. */
static sley_status receive_at(meeting *m, sl_reception *door, sley_status mine) {
  int size = m->place->size, missing = size - 1;
  if (mine != SLEY_OK) {
    sl_error own = error_of(mine), told = error_of(sl_error_of_peer(0, &own));
    turn_away(m, door, missing, &told, m->deadline);
    return sl_error_restore(&own);
  }
  sl_error verdict = error_of(SLEY_OK);
  while (missing > 0 && (verdict.status == SLEY_OK || verdict.status == SLEY_ERR_PEER)) {
    hello who;
    int fd;
    sley_status status = next_hello(m, door, m->deadline, &who, &fd);
    if (status != SLEY_OK) {
      verdict = error_of(status == SLEY_ERR_PEER ? nobody_came(m) : status);
      break;
    }
    missing--;
    status = judge(m, &who);
    if (status != SLEY_OK) {
      verdict = error_of(status);
      (void)sl_socket_write(fd, &verdict, sizeof verdict, sl_now() + PATIENCE);
      close(fd);
    } else {
      keep_entry(m, &who, fd);
      if (who.error.status != SLEY_OK && verdict.status == SLEY_OK)
        verdict = error_of(sl_error_of_peer(who.rank, &who.error));
    }
  }
  for (int r = 1; r < size; r++) {
    int fd = m->mesh->peer[r].fd;
    double patience = sl_now() + PATIENCE;
    if (fd >= 0 && sl_socket_write(fd, &verdict, sizeof verdict, patience) == SLEY_OK &&
        verdict.status == SLEY_OK)
      (void)sl_socket_write(fd, m->entries, (size_t)size * sizeof *m->entries, patience);
  }
  if (verdict.status == SLEY_OK)
    return SLEY_OK;
  turn_away(m, door, missing, &verdict, sl_now() + FAREWELL);
  return sl_error_restore(&verdict);
}

/* The same, of a rank that has yet to listen. */
static sley_status receive_all(meeting *m, sley_status mine) {
  const greeting hail = {MAGIC, m->place->key};
  sl_error own = error_of(mine);
  sley_status opened = open_port(m);
  if (opened != SLEY_OK && mine == SLEY_OK)
    return opened;
  if (mine != SLEY_OK)
    (void)sl_error_restore(&own);
  if (opened != SLEY_OK)
    return mine;
  sl_reception door;
  sl_reception_open(m->listener, &hail, sizeof hail, sizeof(hello), &door);
  sley_status status = receive_at(m, &door, mine);
  sl_reception_close(&door);
  return status;
}

/* ---- the others */

/* Connects to rank 0 and is greeted by it. */
static sley_status find_rank_0(meeting *m, int *fd) {
  const sl_place *place = m->place;
  int ports = place->local ? 1 : SL_PORTS;
  char last[256] = "nobody answers";
  for (int i = 0; sl_now() < m->deadline; i = (i + 1) % ports) {
    double patience = sl_now() + PATIENCE < m->deadline ? sl_now() + PATIENCE : m->deadline;
    sley_status status = place->port + i > UINT16_MAX
                             ? SLEY_ERR_IO
                             : sl_socket_connect(place->address, place->port + i, patience, fd);
    int reason = errno;
    if (status == SLEY_OK) {
      greeting theirs;
      status = sl_socket_read(*fd, &theirs, sizeof theirs, patience);
      if (status == SLEY_OK && theirs.magic == MAGIC && theirs.key == place->key) {
        m->port_0 = place->port + i;
        return SLEY_OK;
      }
      drop(fd);
      reason = 0;
    } else if (status == SLEY_ERR_ARG)
      return status;
    if (status == SLEY_ERR_INTERRUPTED)
      return status;
    if (place->local &&
        (reason == ECONNREFUSED || reason == 0)) /* it listens before the others are started */
      return sl_fail_peer(0, "it has ended before the ranks met");
    if (reason != 0)
      snprintf(last, sizeof last, "%s", strerror(reason));
    SL_TRY(sl_interrupted());
    if (i + 1 == ports)
      nanosleep(&(struct timespec){.tv_nsec = RETRY_NANOSECONDS}, NULL);
  }
  return sl_fail(
      SLEY_ERR_PEER,
      "rank %d cannot reach rank 0 at %s, port %d, within %g s: %s: check MASTER_ADDR and MASTER_PORT",
      place->rank, place->address, place->port, place->timeout, last);
}

/* Goes to rank 0 and takes its verdict. mine: this rank's own status, with the thread's message. */
static sley_status go_to_rank_0(meeting *m, sley_status mine) {
  const sl_place *place = m->place;
  if (mine == SLEY_OK)
    mine = sl_socket_listen(0, place->local, &m->port, &m->listener);
  int fd = -1;
  sl_error verdict;
  hello who = {.magic = MAGIC,
               .key = place->key,
               .rank = place->rank,
               .size = place->size,
               .port = m->port,
               .error = error_of(mine)};
  sl_host_name(who.host);
  sley_status status = find_rank_0(m, &fd);
  if (status == SLEY_OK) {
    double deadline = m->deadline + PATIENCE + FAREWELL; /* rank 0's reason is better than "no answer" */
    status = sl_socket_write(fd, &who, sizeof who, deadline);
    if (status == SLEY_OK)
      status = sl_socket_read(fd, &verdict, sizeof verdict, deadline);
    if (status == SLEY_ERR_PEER)
      (void)sl_fail_peer(0, "it has closed the connection, or does not answer");
  }
  if (status == SLEY_OK) {
    sl_error_check(&verdict, place->size);
    status = verdict.status == SLEY_OK ? SLEY_OK : sl_error_restore(&verdict);
  }
  if (status == SLEY_OK) {
    status = sl_socket_read(fd, m->entries, (size_t)place->size * sizeof *m->entries, m->deadline + PATIENCE);
    if (status == SLEY_ERR_PEER)
      (void)sl_fail_peer(0, "it has closed the connection");
  }
  if (mine != SLEY_OK || status != SLEY_OK) {
    drop(&fd);
    return mine != SLEY_OK ? sl_error_restore(&who.error) : status;
  }
  m->mesh->peer[0].fd = fd;
  return SLEY_OK;
}

static bool is_loopback(const char *address) {
  return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

/* Where the socket of a line to a peer is kept; NULL: there is no such line. */
static int *slot_of(sl_mesh *mesh, int p, int64_t line) {
  if (line != LINE_PULSE)
    return &mesh->peer[line == LINE_URGENT ? sl_wire_urgent(mesh, p) : p].fd;
  bool after = p == (mesh->rank + 1) % mesh->size, before = mesh->rank == (p + 1) % mesh->size;
  if (after && (!before || p > mesh->rank)) /* of two ranks each is beside the other once */
    return &mesh->pulse_fd[1];
  return before ? &mesh->pulse_fd[0] : NULL;
}

/* Connects to a peer below. */
static sley_status reach_peer(const meeting *m, int p, int line, double deadline) {
  const sl_place *place = m->place;
  const entry *at = &m->entries[p];
  /* Who came to rank 0 on its own host is reached as rank 0 is. */
  const char *address = p == 0 || is_loopback(at->address) ? place->address : at->address;
  int port = p == 0 ? m->port_0 : (int)at->port, *fd = slot_of(m->mesh, p, line);
  const introduction who = {MAGIC, place->key, place->rank, line};
  sley_status status = sl_socket_connect(address, port, deadline, fd);
  if (status == SLEY_OK)
    status = sl_socket_write(*fd, &who, sizeof who, deadline);
  if (status == SLEY_OK || status == SLEY_ERR_INTERRUPTED)
    return status;
  return sl_fail_peer(p, "rank %d cannot reach it at %s, port %d: %s", place->rank, address, port,
                      strerror(errno));
}

/* The first rank above that has not come with all its lines; -1: none. */
static int next_missing(sl_mesh *mesh, int rank) {
  for (int p = rank + 1; p < mesh->size; p++)
    for (int64_t line = LINE_MESSAGES; line <= LINE_PULSE; line++) {
      const int *slot = slot_of(mesh, p, line);
      if (slot && *slot < 0)
        return p;
    }
  return -1;
}

/* Accepts the ranks above. */
static sley_status receive_peers(const meeting *m, sl_reception *door, double deadline) {
  const sl_place *place = m->place;
  sl_mesh *mesh = m->mesh;
  for (int p = next_missing(mesh, place->rank); p >= 0; p = next_missing(mesh, place->rank)) {
    int fd;
    introduction who;
    sley_status status = sl_reception_next(door, deadline, &who, &fd);
    if (status == SLEY_ERR_PEER)
      return sl_fail_peer(p, "it did not come to rank %d within %g s: check that all hosts reach each other",
                          place->rank, place->timeout);
    SL_TRY(status);
    int *slot = NULL;
    if (who.magic == MAGIC && who.key == place->key && who.rank > place->rank && who.rank < place->size)
      slot = slot_of(mesh, (int)who.rank, who.line);
    if (!slot || *slot >= 0) {
      close(fd);
      continue;
    }
    *slot = fd;
  }
  return SLEY_OK;
}

/* Connects to the ranks below, and accepts those above. */
static sley_status join_peers(meeting *m) {
  const sl_place *place = m->place;
  sl_mesh *mesh = m->mesh;
  double deadline = sl_now() + place->timeout;
  for (int p = 0; p < place->rank; p++) {
    if (p > 0)
      SL_TRY(reach_peer(m, p, LINE_MESSAGES, deadline));
    SL_TRY(reach_peer(m, p, LINE_URGENT, deadline));
    if (slot_of(mesh, p, LINE_PULSE))
      SL_TRY(reach_peer(m, p, LINE_PULSE, deadline));
  }
  sl_reception door;
  sl_reception_open(m->listener, NULL, 0, sizeof(introduction), &door);
  sley_status status = receive_peers(m, &door, deadline);
  sl_reception_close(&door);
  return status;
}

/* ---- all */

static void settle(const meeting *m) {
  sl_mesh *mesh = m->mesh;
  int before = 0;
  for (int r = 0; r < mesh->size; r++) {
    memcpy(mesh->peer[r].host, m->entries[r].host, SL_HOST_BYTES);
    before += r < mesh->rank && strcmp(m->entries[r].host, m->entries[mesh->rank].host) == 0;
    if (r != mesh->rank) {
      sl_socket_settle(mesh->peer[r].fd, mesh->timeout);
      sl_socket_settle(mesh->peer[sl_wire_urgent(mesh, r)].fd, mesh->timeout);
      sl_socket_limit(mesh->peer[sl_wire_urgent(mesh, r)].fd, mesh->timeout);
    }
  }
  if (mesh->local_rank < 0)
    mesh->local_rank = before;
}

sley_status sl_bootstrap_meet(const sl_place *place, sley_status mine, sl_mesh **out) {
  *out = NULL;
  meeting m = {.place = place,
               .listener = place->listener,
               .port = place->port,
               .deadline = sl_now() + place->timeout};
  if (mine == SLEY_OK)
    mine = sl_wire_create(place->rank, place->size, place->local_rank, place->timeout, &m.mesh);
  if (mine == SLEY_OK)
    mine = SL_NEW_ZERO(m.entries, place->size, "the ranks' places");
  if (mine == SLEY_OK)
    sl_host_name(m.entries[place->rank].host);
  sley_status status = mine;
  bool joining = false;
  if (place->size > 1) {
    status = place->rank == 0 ? receive_all(&m, mine) : go_to_rank_0(&m, mine);
    joining = status == SLEY_OK;
    if (joining)
      status = join_peers(&m);
    const int beside[2] = {(place->rank + place->size - 1) % place->size, (place->rank + 1) % place->size};
    if (status == SLEY_OK)
      status = sl_pulse_start(m.mesh->pulse_fd, beside, place->timeout, &m.mesh->pulse);
  }
  drop(&m.listener);
  if (status == SLEY_OK) {
    settle(&m);
    *out = m.mesh;
  } else if (joining) { /* some may have met all the others: they are told who is missing */
    sl_mesh_abort(m.mesh, status);
    sl_mesh_close(m.mesh);
  } else {
    sl_wire_destroy(m.mesh);
  }
  sl_free(m.entries);
  return status;
}
