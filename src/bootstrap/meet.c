/* SPDX-License-Identifier: Apache-2.0 */
/* The meeting of ranks. Rank 0 listens; each other rank connects to it, and sends its identity and the port
 * on which it listens, while both prove that they know the job's secret (another program may hold the port,
 * or connect to it). Once all have come, or the time is up, rank 0 sends all of them its verdict and the list
 * of all addresses; then every two ranks connect (lines.c). A rank that has failed before still comes, to
 * report it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "bootstrap/meet.h"
#include "bootstrap/find.h"
#include "bootstrap/lines.h"
#include "bootstrap/reception.h"
#include "socket/socket.h"
#include "socket/wire.h"

/* Seconds. PATIENCE: time for an answer. FAREWELL: time for ranks that come late. LATER: how much later rank
 * 0's time limit may end than this rank's, because it may have started later. A rank whose rank 0 is stopped
 * ends within the time limit and 2 s: see kills.py in tests/hosts. */
static const double PATIENCE = 2, FAREWELL = 1, LATER = 1.5;
enum { FEW = 4 };

/* The message that rank 0 receives. */
typedef struct hello_message {
  sl_claim claim;
  sl_hello hello;
} hello_message;
_Static_assert(sizeof(hello_message) == sizeof(sl_claim) + sizeof(sl_hello), "no padding between them");
_Static_assert(sizeof(hello_message) <= SL_GUEST_BYTES, "a hello is longer than a reception hears");

/* The state of a rank's meeting. */
typedef struct meeting {
  const sl_place *place;
  sl_mesh *mesh;
  sl_entry *entries; /* by rank */
  sl_guest *guests;  /* memory for SL_GUESTS connections */
  sl_lines *lines;
  int listener, port;
  double deadline;
  char turned_away[SL_ERROR_TEXT]; /* why rank 0 has rejected a rank; "": it has not rejected any */
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

/* Opens rank 0's port, or the next free one: the launcher itself may use the port that it names. */
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

/* Waits for the next rank of this run. SLEY_OK: *who is its hello. SLEY_ERR_PEER: the deadline has passed. */
static sley_status next_hello(const meeting *m, sl_reception *door, double deadline, hello_message *who,
                              int *fd) {
  for (;;) {
    SL_TRY(sl_reception_next(door, deadline, who, fd));
    if (sl_hello_check(&who->hello, m->place->size))
      return SLEY_OK;
    drop(fd);
  }
}

/* Checks that a rank that has come belongs to these ranks. */
static sley_status judge(const meeting *m, const hello_message *who) {
  const sl_place *place = m->place;
  int rank = who->claim.from;
  if (who->hello.size != place->size)
    return sl_fail(SLEY_ERR_ARG,
                   "rank %d was started as one of %d ranks, but rank 0 as one of %d: WORLD_SIZE must be the "
                   "same in every process",
                   rank, who->hello.size, place->size);
  if (rank < 1 || rank >= place->size)
    return sl_fail(SLEY_ERR_ARG,
                   "a process with rank %d has joined %d ranks: RANK must be different in every process",
                   rank, place->size);
  if (m->mesh->peer[rank].fd >= 0 && !sl_socket_has_ended(m->mesh->peer[rank].fd))
    return sl_fail(SLEY_ERR_ARG, "two processes have rank %d: RANK must be different in every process", rank);
  return SLEY_OK;
}

static sley_status nobody_came(const meeting *m, const sl_reception *door) {
  char also[SL_ERROR_TEXT] = "";
  int missing = 1;
  while (m->mesh && missing < m->place->size - 1 && m->mesh->peer[missing].fd >= 0)
    missing++;
  if (*m->turned_away)
    sl_text_format(also, sizeof also, "; a process that connected was refused: %s", m->turned_away);
  else if (door->unproven > 0)
    sl_text_format(also, sizeof also,
                   "; %lld connections did not know the secret: SLEY_SECRET or "
                   "SLEY_SECRET_FILE must be the same for all ranks",
                   (long long)door->unproven);
  return sl_fail(SLEY_ERR_PEER,
                 "rank %d of %d did not connect to port %d within %g s: start all ranks, or give them more "
                 "time (--timeout)%s",
                 missing, m->place->size, m->port, m->place->timeout, also);
}

/* Sends the verdict to every rank that still comes, until no rank is missing or the deadline is reached. */
static void turn_away(const meeting *m, sl_reception *door, int missing, const sl_error *verdict,
                      double deadline) {
  hello_message who;
  int fd;
  while (missing-- > 0 && next_hello(m, door, deadline, &who, &fd) == SLEY_OK) {
    (void)sl_socket_write(fd, verdict, sizeof *verdict, sl_now() + PATIENCE);
    close(fd);
  }
}

static void keep_entry(const meeting *m, const hello_message *who, int fd) {
  sl_entry *at = &m->entries[who->claim.from];
  m->mesh->peer[who->claim.from].fd = fd;
  sl_socket_peer(fd, at->address);
  at->port = who->hello.port;
  at->process = who->hello.process;
  memcpy(at->host, who->hello.host, sizeof at->host);
}

/* Rejects a rank that does not belong to these ranks: sends it the error. */
static void send_away(int fd, sley_status status, sl_error *why) {
  *why = error_of(status);
  (void)sl_socket_write(fd, why, sizeof *why, sl_now() + PATIENCE);
  close(fd);
}

/* Collects the other ranks and sends them the verdict. mine: rank 0's own status, with the thread's
 * message. */
static sley_status receive_at(meeting *m, sl_reception *door, sley_status mine) {
  int size = m->place->size, missing = size - 1;
  if (mine != SLEY_OK) {
    sl_error own = error_of(mine), told = error_of(sl_error_of_peer(0, &own));
    turn_away(m, door, missing, &told, m->deadline);
    return sl_error_restore(&own);
  }
  sl_error verdict = error_of(SLEY_OK);
  while (missing > 0 && (verdict.status == SLEY_OK || verdict.status == SLEY_ERR_PEER)) {
    hello_message who;
    int fd;
    sley_status status = next_hello(m, door, m->deadline, &who, &fd);
    if (status != SLEY_OK) {
      verdict = error_of(status == SLEY_ERR_PEER ? nobody_came(m, door) : status);
      break;
    }
    status = judge(m, &who);
    if (status != SLEY_OK) { /* a stranger without the secret must not end the job */
      sl_error why;
      send_away(fd, status, &why);
      memcpy(m->turned_away, why.text, sizeof why.text);
      if (m->place->secret.given) {
        verdict = why;
        missing--;
      }
      continue;
    }
    int *kept = &m->mesh->peer[who.claim.from].fd;
    missing -= *kept < 0;
    drop(kept); /* an earlier connection, which ended before the rank was answered */
    keep_entry(m, &who, fd);
    if (who.hello.error.status != SLEY_OK && verdict.status == SLEY_OK)
      verdict = error_of(sl_error_of_peer(who.claim.from, &who.hello.error));
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

/* Opens rank 0's port, then does the work of receive_at. mine: as in receive_at. */
static sley_status receive_all(meeting *m, sley_status mine) {
  sl_error own = error_of(mine);
  sley_status opened = open_port(m);
  if (opened != SLEY_OK && mine == SLEY_OK)
    return opened;
  if (mine != SLEY_OK)
    (void)sl_error_restore(&own);
  if (opened != SLEY_OK)
    return mine;
  const sl_claim wanted = {.job = m->place->key, .to = 0, .port = m->port, .payload = sizeof(sl_hello)};
  sl_reception door;
  sl_guest few[FEW]; /* used if there was no memory for guests, to report this to the ranks that come */
  sley_status status = sl_reception_open(m->listener, &m->place->secret, &wanted, m->guests ? m->guests : few,
                                         m->guests ? SL_GUESTS : FEW, &door);
  if (status == SLEY_OK)
    status = receive_at(m, &door, mine);
  sl_reception_close(&door);
  return status;
}

/* ---- the others */

static bool is_loopback(const char *address) {
  return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

/* Takes the entries that rank 0 has sent, except rank 0's own address. Ranks on rank 0's host that reached it
 * by a loopback address are reached at rank 0's address. */
static sley_status take_entries(const meeting *m, int fd) {
  int size = m->place->size;
  char address[SL_ADDRESS_BYTES];
  int64_t port = m->entries[0].port;
  memcpy(address, m->entries[0].address, sizeof address);
  if (sl_socket_read(fd, m->entries, (size_t)size * sizeof *m->entries, m->deadline + LATER) != SLEY_OK)
    return sl_fail_peer(0, "it has closed the connection");
  if (!sl_entries_check(m->entries, size))
    return sl_fail_peer(0, "the list of ranks that it has sent is invalid");
  m->entries[0].port = port;
  for (int r = 0; r < size; r++)
    if (r == 0 || is_loopback(m->entries[r].address))
      memcpy(m->entries[r].address, address, sizeof address);
  return SLEY_OK;
}

/* Connects to rank 0 and takes its verdict. mine: this rank's own status, with the thread's message. */
static sley_status go_to_rank_0(meeting *m, sley_status mine) {
  const sl_place *place = m->place;
  if (mine == SLEY_OK)
    mine = sl_socket_listen(0, place->local, &m->port, &m->listener);
  int fd = -1;
  sl_error verdict;
  sl_hello who = {.size = place->size,
                  .port = mine == SLEY_OK ? m->port : 0,
                  .process = sl_process_id_own(),
                  .error = error_of(mine)};
  sl_entry unused; /* used if there was no memory for entries, to report the error */
  bool bare = m->entries == NULL;
  if (bare)
    m->entries = &unused;
  sl_host_name(who.host);
  sley_status status = sl_find_rank_0(place, &who, m->deadline, m->entries, &fd);
  if (bare)
    m->entries = NULL;
  if (status == SLEY_OK) { /* the error from rank 0 is more precise than "no answer" */
    status = sl_socket_read(fd, &verdict, sizeof verdict, m->deadline + LATER);
    if (status == SLEY_ERR_PEER)
      (void)sl_fail_peer(0, "it has closed the connection, or does not answer");
  }
  if (status == SLEY_OK && !sl_verdict_check(&verdict, place->size))
    status = sl_fail_peer(0, "the verdict that it has sent is invalid");
  if (status == SLEY_OK && verdict.status != SLEY_OK)
    status = sl_error_restore(&verdict);
  if (status == SLEY_OK && !bare)
    status = take_entries(m, fd);
  if (mine != SLEY_OK || status != SLEY_OK) {
    drop(&fd);
    return mine != SLEY_OK ? sl_error_restore(&who.error) : status;
  }
  m->mesh->peer[0].fd = fd;
  return SLEY_OK;
}

/* ---- all */

/* Allocates the memory that a rank needs to join the others, before they meet, so that a rank without memory
 * can report it. */
static sley_status prepare(meeting *m) {
  const sl_place *place = m->place;
  const int none[2] = {-1, -1};
  const int beside[2] = {(place->rank + place->size - 1) % place->size, (place->rank + 1) % place->size};
  SL_TRY(sl_wire_create(place->rank, place->size, place->local_rank, place->timeout, &m->mesh));
  SL_TRY(SL_NEW_ZERO(m->entries, place->size, "the ranks' places"));
  sl_host_name(m->entries[place->rank].host);
  m->entries[place->rank].process = sl_process_id_own();
  if (place->size == 1)
    return SLEY_OK;
  SL_TRY(SL_NEW(m->guests, SL_GUESTS, "connections of ranks that come"));
  SL_TRY(sl_lines_create(place, &m->lines));
  /* The pulse starts with the first connection, because otherwise a rank that joins the others slowly would
   * be mistaken for a stopped rank. */
  return sl_pulse_start(none, beside, place->timeout, &m->mesh->pulse);
}

static void settle(const meeting *m) {
  sl_mesh *mesh = m->mesh;
  int before = 0;
  const sl_entry *own = &m->entries[mesh->rank];
  for (int r = 0; r < mesh->size; r++) {
    const sl_entry *at = &m->entries[r];
    bool here = strcmp(at->host, own->host) == 0;
    memcpy(mesh->peer[r].host, at->host, SL_HOST_BYTES);
    before += r < mesh->rank && here;
    mesh->peer[r].pid =
        here && at->process.space != 0 && at->process.space == own->process.space ? (int)at->process.pid : 0;
    if (r != mesh->rank) {
      sl_socket_settle(mesh->peer[r].fd, mesh->timeout);
      sl_socket_settle(mesh->peer[sl_wire_urgent(mesh, r)].fd, mesh->timeout);
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
               .deadline = sl_now() + (place->patience > 0 ? place->patience : place->timeout)};
  if (mine == SLEY_OK)
    mine = prepare(&m);
  sley_status status = mine;
  bool joining = false;
  if (place->size > 1) {
    status = place->rank == 0 ? receive_all(&m, mine) : go_to_rank_0(&m, mine);
    joining = status == SLEY_OK;
    if (joining)
      status = sl_lines_join(m.lines, m.entries, m.listener, m.port, m.guests, m.mesh);
  }
  drop(&m.listener);
  if (status == SLEY_OK) {
    settle(&m);
    *out = m.mesh;
    if (place->met)
      atomic_store(place->met, 1);
  } else if (joining) { /* some ranks may have met all the others, and get a message that names the missing
                           rank */
    sl_mesh_abort(m.mesh, status);
    sl_mesh_close(m.mesh);
  } else {
    sl_wire_destroy(m.mesh);
  }
  sl_lines_destroy(m.lines);
  sl_free(m.guests);
  sl_free(m.entries);
  return status;
}
