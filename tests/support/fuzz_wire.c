/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz targets for the bytes that a peer may send: single headers, a mesh of two ranks in which the input
 * acts as the other rank, data of collectives, and the messages with which ranks meet. */
#include "fuzz_wire.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "bootstrap/hello.h"
#include "bootstrap/visit.h"
#include "mesh_lines.h"

enum { MEMORY = 256, GUARD = 64, WORDS = 4 };
#define demand fuzz_demand

void fuzz_header(const uint8_t *bytes, size_t size) {
  sl_mesh_header h;
  if (size < sizeof h)
    return;
  memcpy(&h, bytes, sizeof h);
  for (int urgent = 0; urgent < 2; urgent++) {
    const char *wrong = sl_header_check(&h, urgent);
    if (wrong) {
      demand(*wrong != 0, "a field's name");
      continue;
    }
    int64_t end;
    demand(h.bytes >= 0 && h.at >= 0 && h.length >= 0, "no negative length");
    demand(!__builtin_add_overflow(h.at, h.length, &end), "an end");
    demand(h.kind >= SL_KIND_DATA && h.kind <= SL_KIND_REQUEST, "a kind");
    demand(h.kind != SL_KIND_ABORT || h.bytes == (int64_t)sizeof(sl_error), "an error's length");
    demand(h.kind != SL_KIND_REQUEST ||
               (urgent && h.access >= SL_MESH_GET && h.access <= SL_MESH_COMPARE_SWAP),
           "a request");
    demand(h.slot < SL_SLOTS && (h.slot < SL_SLOT_ROWS || h.access == SL_MESH_ROWS || h.kind == SL_KIND_DATA),
           "a slot");
    demand(!urgent || h.kind != SL_KIND_DATA || h.bytes <= h.length - h.at, "a piece within its answer");
    demand(h.access != SL_MESH_PUT || h.bytes == h.length, "a put's length");
    demand(h.access != SL_MESH_ROWS ||
               (h.bytes <= SL_MESH_ROWS_MOST * 4 && !__builtin_mul_overflow(h.bytes / 4, h.length, &end)),
           "the rows' lengths");
  }
}

/* ---- a mesh of two ranks */

typedef struct world {
  sl_mesh *mesh;
  int other[LINES]; /* the peer's ends: messages, urgent */
  char guarded[GUARD + MEMORY + GUARD];
} world;

static void *find(void *owner, uint64_t id, int64_t *bytes, bool *on_host) {
  world *w = owner;
  *bytes = MEMORY;
  *on_host = true;
  return id == 1 ? w->guarded + GUARD : NULL;
}

static bool freed(void *owner, uint64_t id, int rank) {
  (void)owner;
  demand(rank == 1, "the rank that asks");
  return id != 2;
}

static void open_world(world *w) {
  memset(w, 0x5a, sizeof *w);
  int ends[2][LINES];
  demand(mesh_lines(ends), "sockets");
  demand(mesh_on_lines(0, ends[0], &w->mesh) == SLEY_OK, "a mesh");
  memcpy(w->other, ends[1], sizeof w->other);
  const sl_mesh_keeper keeper = {.owner = w, .find = find, .freed = freed};
  sl_mesh_serve(w->mesh, &keeper);
  demand(sl_mesh_serve_rows(w->mesh) == SLEY_OK, "memory for rows");
}

static void close_world(world *w) {
  for (int i = 0; i < GUARD; i++)
    demand(w->guarded[i] == 0x5a && w->guarded[GUARD + MEMORY + i] == 0x5a, "memory that nobody has lent");
  for (int line = 0; line < LINES; line++)
    close(w->other[line]);
  sl_wire_destroy(w->mesh);
}

/* Reads, as the peer, all bytes that this rank has sent. */
static void drain(const world *w) {
  char waste[4096];
  for (int line = 0; line < LINES; line++)
    for (int i = 0; i < 64 && recv(w->other[line], waste, sizeof waste, MSG_DONTWAIT) > 0;)
      i++;
}

/* Sends the input as the peer, in pieces. Each piece begins with a byte that selects the connection and
 * whether the rank reads in between, and a byte for the length. */
static void send_pieces(world *w, const uint8_t *bytes, size_t size, bool turns) {
  while (size > 2) {
    int line = bytes[0] & 1;
    size_t length = bytes[1] < size - 2 ? bytes[1] : size - 2;
    (void)send(w->other[line], bytes + 2, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (turns)
      (void)sl_wire_turn(w->mesh, 0);
    if (bytes[0] & 2)
      drain(w);
    bytes += 2 + length;
    size -= 2 + length;
  }
}

void fuzz_wire(const uint8_t *bytes, size_t size) {
  world w;
  char room[WORDS][GUARD + MEMORY + GUARD];
  sl_mesh_incoming recv[WORDS], answer[2];
  if (size < 2)
    return;
  int64_t before = sl_memory_now();
  open_world(&w);
  memset(room, 0x5a, sizeof room);
  for (int i = 0; i < WORDS; i++) { /* messages 1 .. 4 are expected, of 0, 8, .. bytes */
    char *at = room[i] + GUARD;
    if (bytes[0] & 1)
      sl_mesh_recv(w.mesh, 1, (uint64_t)i + 1, at, 8 * i, &recv[i]);
    else
      sl_mesh_recv_up_to(w.mesh, 1, (uint64_t)i + 1, at, MEMORY, &recv[i]);
  }
  for (int i = 0; i < 2 && (bytes[0] & 2); i++) /* two answers are awaited */
    sl_wire_await(w.mesh, sl_wire_urgent(w.mesh, 1), i, room[i] + GUARD, 16, &answer[i]);
  if (bytes[0] & 4)
    w.mesh->leaving = true;
  send_pieces(&w, bytes + 1, size - 1, true);
  for (int i = 0; i < 4; i++) {
    (void)sl_wire_turn(w.mesh, 0);
    drain(&w);
  }
  for (int line = 0; line < LINES; line++)
    (void)shutdown(w.other[line], SHUT_WR);
  (void)sl_wire_turn(w.mesh, 0);
  if (w.mesh->failure.rank >= 0) {
    demand(w.mesh->failure.rank < 2, "a rank");
    demand(sl_wire_broken(w.mesh) == SLEY_ERR_PEER, "an error");
  }
  for (int i = 0; i < WORDS; i++)
    for (int g = 0; g < GUARD; g++)
      demand(room[i][g] == 0x5a && room[i][GUARD + MEMORY + g] == 0x5a, "no more than the receive's bytes");
  close_world(&w);
  demand(sl_memory_now() == before, "no leak");
}

void fuzz_collective(const uint8_t *bytes, size_t size) {
  world w;
  int64_t values[2 * WORDS] = {0};
  if (size < 2 || size > 4096)
    return;
  int64_t before = sl_memory_now(), at[2] = {0, 8}, some[2] = {8, 8};
  open_world(&w);
  send_pieces(&w, bytes + 1, size - 1, false);
  for (int line = 0; line < LINES; line++)
    (void)shutdown(w.other[line], SHUT_WR);
  sley_status status = SLEY_OK;
  switch (bytes[0] % 5) {
  case 0:
    status = sl_mesh_barrier(w.mesh);
    break;
  case 1:
    status = sl_mesh_allgather(w.mesh, &values[WORDS], sizeof values[0], values);
    break;
  case 2:
    status = sl_mesh_alltoallv(w.mesh, values, at, some, values + WORDS, at, some);
    break;
  case 3:
    status = sl_mesh_allreduce(w.mesh, SL_MESH_SUM, values, WORDS);
    break;
  default:
    status = sl_mesh_broadcast(w.mesh, 1, values, sizeof values);
  }
  demand(status == SLEY_OK || (sley_last_error()[0] != 0 && !strchr(sley_last_error(), '\n')),
         "a message of one line");
  close_world(&w);
  demand(sl_memory_now() == before, "no leak");
}

/* ---- how ranks meet */

void fuzz_claim(const uint8_t *bytes, size_t size) {
  struct {
    sl_claim claim;
    sl_hello hello;
  } message;
  static const sl_challenge challenge = {.nonce = {1, 2, 3}};
  sl_secret secret = {.given = false};
  if (size < sizeof message)
    return;
  memcpy(&message, bytes, sizeof message);
  sl_claim wanted = {.job = 7, .to = 0, .port = 29500, .payload = sizeof(sl_hello)};
  demand(sl_claim_check(&secret, &challenge, &wanted, &message) != SL_CLAIM_PROVEN ||
             message.claim.kind == SL_CLAIM_HELLO,
         "a hello");
  wanted.payload = 0;
  (void)sl_claim_check(&secret, &challenge, &wanted, &message);
  if (!sl_hello_check(&message.hello, 4))
    return;
  const sl_hello *h = &message.hello;
  demand(memchr(h->host, 0, sizeof h->host) != NULL, "a name that ends");
  demand(memchr(h->error.text, 0, sizeof h->error.text) != NULL, "a text that ends");
  demand(h->port >= 0 && h->port <= 65535 && h->size >= 1 && h->process.pid > 0, "fields in their ranges");
  demand(h->error.status >= SLEY_OK && h->error.rank >= -1 && h->error.rank < 4, "an error's fields");
}

void fuzz_entries(const uint8_t *bytes, size_t size) {
  enum { RANKS = 3 };
  struct {
    sl_error verdict;
    sl_entry entry[RANKS];
  } message;
  if (size < sizeof message)
    return;
  memcpy(&message, bytes, sizeof message);
  (void)sl_verdict_check(&message.verdict, RANKS);
  demand(memchr(message.verdict.text, 0, sizeof message.verdict.text) != NULL, "a text that ends");
  demand(message.verdict.rank >= -1 && message.verdict.rank < RANKS, "a rank");
  if (!sl_entries_check(message.entry, RANKS))
    return;
  for (int r = 0; r < RANKS; r++) {
    const sl_entry *e = &message.entry[r];
    demand(memchr(e->host, 0, sizeof e->host) && memchr(e->address, 0, sizeof e->address), "texts that end");
    demand(r == 0 || (e->port >= 1 && e->port <= 65535), "a port");
    demand(e->process.pid > 0, "a process");
  }
}

void fuzz_visit(const uint8_t *bytes, size_t size) {
  int ends[2];
  char payload[16] = {0};
  sl_secret secret = {.given = false};
  sl_visit visit = {.state = SL_VISIT_CONNECTING, .payload = payload};
  visit.claim = (sl_claim){.kind = SL_CLAIM_HELLO, .job = 7, .from = 1, .payload = sizeof payload};
  demand(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0, "sockets");
  visit.fd = ends[0];
  size_t half = size / 2;
  (void)send(ends[1], bytes, half, MSG_NOSIGNAL);
  demand(sl_visit_step(&secret, &visit) == SLEY_OK, "a step");
  (void)send(ends[1], bytes + half, size - half, MSG_NOSIGNAL);
  demand(sl_visit_step(&secret, &visit) == SLEY_OK, "a step");
  demand(visit.state != SL_VISIT_DONE, "a proof that nobody can make beforehand");
  close(ends[1]);
  demand(sl_visit_step(&secret, &visit) == SLEY_OK && sl_visit_over(&visit), "an end");
  close(ends[0]);
}
