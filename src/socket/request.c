/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided access. A rank has at most SL_MESH_WINDOW requests to a peer in flight that need an answer, each
 * with a slot that it chooses, and the keeper has a place for an answer in each slot: so it never has to stop
 * reading requests, and two ranks that ask each other for much data do not wait for each other. Short answers
 * overtake long ones (outbox.h); the slot identifies the answer that a piece belongs to, and the pieces of an
 * answer come in order. Puts need no answer: their data goes straight to its place. Single words are moved as
 * atomics, because ranks of the same host may access them directly. */
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "socket/wire.h"

enum { WORD = sizeof(int64_t) };

static bool is_word(const void *at, int64_t bytes) {
  return bytes == WORD && (uintptr_t)at % WORD == 0;
}

void sl_mesh_serve(sl_mesh *mesh, const sl_mesh_keeper *keeper) {
  sl_wire_enter(mesh);
  mesh->serves = keeper != NULL;
  if (keeper)
    mesh->keeper = *keeper;
}

/* ---- the keeper's side */

/* The memory to which a request refers. */
typedef struct place {
  char *at; /* address; NULL: there is no such memory */
  bool on_host;
} place;

static place locate(const sl_mesh *mesh, const sl_mesh_header *header) {
  const sl_mesh_keeper *keeper = &mesh->keeper;
  int64_t bytes = 0;
  place there = {NULL, true};
  char *base = keeper->find ? keeper->find(keeper->owner, header->tag, &bytes, &there.on_host) : NULL;
  bool inside = base && header->at >= 0 && header->length >= 0 && header->length <= bytes &&
                header->at <= bytes - header->length;
  if (!there.on_host && (!keeper->staging || header->length > SL_MESH_STAGE))
    inside = false;
  there.at = inside ? base + header->at : NULL;
  return there;
}

/* Returns whether the peer's last request for rows is still being answered. */
static bool rows_under_way(const sl_wire_peer *peer) {
  return peer->rows.header.kind != 0 && !peer->rows.done;
}

static char *staging_of(const sl_mesh *mesh, int p, int slot) {
  return mesh->keeper.staging + (int64_t)(p % mesh->size) * SL_MESH_STAGING + (int64_t)slot * SL_MESH_STAGE;
}

/* Returns why a request cannot be served: it refers to memory that does not exist, or comes out of order;
 * NULL: it can. Its header is already validated (header.h). */
static const char *refusal(const sl_mesh *mesh, const sl_wire_peer *peer) {
  const sl_mesh_header *header = &peer->header;
  if (header->access == SL_MESH_FLUSH || header->access == SL_MESH_FREE)
    return NULL;
  if (header->access == SL_MESH_ROWS) {
    place row = locate(mesh, header);
    if (!row.at || !row.on_host || !peer->asked)
      return "it asks for rows of memory that is not there";
    return rows_under_way(peer) ? "it asks for rows before it has had those asked for before" : NULL;
  }
  return locate(mesh, header).at ? NULL : "it asks for memory that is not there";
}

void sl_wire_request(sl_mesh *mesh, int p) {
  sl_wire_peer *peer = &mesh->peer[p];
  const sl_mesh_header *header = &peer->header;
  const char *wrong = refusal(mesh, peer);
  if (wrong) {
    sl_wire_violated(mesh, p, wrong);
    return;
  }
  if (header->access == SL_MESH_ROWS)
    peer->body = (char *)peer->asked;
  if (header->access == SL_MESH_ADD || header->access == SL_MESH_COMPARE_SWAP)
    peer->body = (char *)peer->operand;
  if (header->access != SL_MESH_PUT)
    return;
  place there = locate(mesh, header);
  if (!there.on_host)
    peer->body = staging_of(mesh, p, SL_MESH_WINDOW);
  else
    peer->body = is_word(there.at, header->length) ? (char *)peer->operand : there.at;
}

static sl_mesh_header answer_header(int slot, int64_t bytes) {
  return (sl_mesh_header){
      .kind = SL_KIND_DATA, .slot = (uint16_t)slot, .tag = SL_TAG_ANSWER, .bytes = bytes, .length = bytes};
}

/* Answers a request for rows. */
static void answer_rows(sl_mesh *mesh, int p) {
  sl_wire_peer *peer = &mesh->peer[p];
  const sl_mesh_header *header = &peer->header;
  const sl_mesh_keeper *keeper = &mesh->keeper;
  int64_t bytes = 0, count = header->bytes / (int64_t)sizeof *peer->asked;
  bool on_host = true;
  const char *base = keeper->find(keeper->owner, header->tag, &bytes, &on_host);
  int64_t rows = base && on_host ? bytes / header->length : 0;
  for (int64_t i = 0; i < count; i++)
    if (peer->asked[i] >= rows) {
      sl_wire_violated(mesh, p, "it asks for a row that is not there");
      return;
    }
  peer->rows.header = answer_header(SL_SLOT_ROWS, count * header->length);
  (void)sl_wire_queue(mesh, p, base, &peer->rows);
  peer->rows.has_rows = true;
  peer->rows.rows = peer->asked;
  peer->rows.row_bytes = header->length;
}

/* Completes a put: moves a single word, or data in staging memory, to its place. Other data is already in its
 * place. */
static sley_status store(const sl_mesh *mesh, int p, place there) {
  const sl_wire_peer *peer = &mesh->peer[p];
  const sl_mesh_keeper *keeper = &mesh->keeper;
  int64_t bytes = peer->header.length;
  if (there.at && !there.on_host)
    return keeper->store(keeper->owner, there.at, staging_of(mesh, p, SL_MESH_WINDOW), bytes);
  if (there.at && is_word(there.at, bytes))
    atomic_store((_Atomic int64_t *)(void *)there.at, peer->operand[0]);
  return SLEY_OK;
}

/* Loads the data of a GET. Sets *out to the memory itself, or to a copy in staging memory or *word; NULL: the
 * answer consists of zeros. */
static sley_status load(const sl_mesh *mesh, int p, place there, int slot, int64_t *word, const void **out) {
  const sl_mesh_keeper *keeper = &mesh->keeper;
  int64_t bytes = mesh->peer[p].header.length;
  *out = there.at;
  if (there.at && !there.on_host) {
    char *copy = staging_of(mesh, p, slot);
    *out = copy;
    return keeper->load(keeper->owner, copy, there.at, bytes);
  }
  if (there.at && is_word(there.at, bytes)) {
    *word = atomic_load((_Atomic int64_t *)(void *)there.at);
    *out = word;
  }
  return SLEY_OK;
}

static sley_status change_word(const sl_mesh *mesh, int p, place there, int64_t *old) {
  const sl_wire_peer *peer = &mesh->peer[p];
  const sl_mesh_keeper *keeper = &mesh->keeper;
  bool swaps = peer->header.access == SL_MESH_COMPARE_SWAP;
  int64_t expected = peer->operand[0], value = peer->operand[swaps ? 1 : 0];
  *old = 0;
  if (!there.at || !is_word(there.at, WORD))
    return SLEY_OK;
  if (!there.on_host)
    return keeper->atomic(keeper->owner, (sl_mesh_access_kind)peer->header.access, there.at, value, expected,
                          old);
  _Atomic int64_t *word = (_Atomic int64_t *)(void *)there.at;
  if (swaps) {
    atomic_compare_exchange_strong(word, &expected, value);
    *old = expected;
  } else {
    *old = atomic_fetch_add(word, value);
  }
  return SLEY_OK;
}

/* Answers a GET, ADD, COMPARE_SWAP or FLUSH. */
static void answer(sl_mesh *mesh, int p, place there) {
  sl_wire_peer *peer = &mesh->peer[p];
  const sl_mesh_header *header = &peer->header;
  const int slot = header->slot;
  sl_wire_answer *a = &peer->answer[slot];
  const void *data = &a->value;
  sley_status status = SLEY_OK;
  if (a->send.header.kind != 0 && !a->send.done) {
    sl_wire_violated(mesh, p, "it asks for more before it has had the answer to what it has asked for");
    return;
  }
  if (header->access == SL_MESH_GET)
    status = load(mesh, p, there, slot, &a->value, &data);
  else if (header->access != SL_MESH_FLUSH)
    status = change_word(mesh, p, there, &a->value);
  if (status != SLEY_OK) {
    (void)sl_wire_fail(mesh, status);
    return;
  }
  a->send.header = answer_header(slot, header->access == SL_MESH_FLUSH ? 0 : header->length);
  const bool alone = sl_wire_queue(mesh, p, data, &a->send);
  a->send.has_rows = header->access == SL_MESH_GET;
  if (alone)
    sl_wire_send(mesh, p);
}

void sl_wire_request_done(sl_mesh *mesh, int p) {
  const sl_mesh_header *header = &mesh->peer[p].header;
  const sl_mesh_keeper *keeper = &mesh->keeper;
  sley_status status = SLEY_OK;
  switch ((sl_mesh_access_kind)header->access) {
  case SL_MESH_ROWS:
    answer_rows(mesh, p);
    break;
  case SL_MESH_FREE:
    if (keeper->freed)
      mesh->serves = keeper->freed(keeper->owner, header->tag, p % mesh->size);
    break;
  case SL_MESH_PUT:
    status = store(mesh, p, locate(mesh, header));
    break;
  default:
    answer(mesh, p, locate(mesh, header));
  }
  if (status != SLEY_OK)
    (void)sl_wire_fail(mesh, status);
}

/* ---- the asking side */

/* Returns a free slot; SL_MESH_WINDOW: none is free. */
static int free_slot(const sl_wire_peer *peer) {
  int slot = 0;
  while (slot < SL_MESH_WINDOW && peer->awaited[slot])
    slot++;
  return slot;
}

static bool may_launch(const sl_wire_peer *peer, const sl_mesh_ask *ask) {
  return !ask->answers || free_slot(peer) < SL_MESH_WINDOW;
}

void sl_wire_await(sl_mesh *mesh, int p, int slot, void *data, int64_t bytes, sl_mesh_incoming *answer) {
  sl_wire_peer *peer = &mesh->peer[p];
  *answer = (sl_mesh_incoming){.data = data, .bytes = bytes};
  peer->awaited[slot] = answer;
  peer->unanswered++;
}

static void launch(sl_mesh *mesh, sl_mesh_ask *ask) {
  int urgent = sl_wire_urgent(mesh, ask->peer);
  sl_wire_peer *peer = &mesh->peer[urgent];
  if (ask->answers) {
    const int slot = free_slot(peer);
    ask->request.header.slot = (uint16_t)slot;
    sl_wire_await(mesh, urgent, slot, ask->answer.data, ask->answer.bytes, &ask->answer);
  }
  const bool alone = sl_wire_queue(mesh, urgent, ask->request.data, &ask->request);
  ask->request.has_rows = ask->request.header.access == SL_MESH_PUT;
  if (alone)
    sl_wire_send(mesh, urgent);
}

void sl_wire_piece(sl_mesh *mesh, int p) {
  sl_wire_peer *peer = &mesh->peer[p];
  const sl_mesh_header *header = &peer->header;
  sl_mesh_incoming *answer = peer->awaited[header->slot];
  if (mesh->failure.rank >= 0 || mesh->leaving) /* the piece is discarded */
    return;
  if (!answer) {
    sl_wire_violated(mesh, p, "nobody has asked for it");
    return;
  }
  if (header->length != answer->bytes || header->at != answer->got) {
    sl_wire_violated(mesh, p, "it is not what follows of the answer");
    return;
  }
  peer->target = answer;
  if (header->bytes > 0)
    peer->body = (char *)answer->data + answer->got;
}

void sl_wire_piece_done(sl_mesh *mesh, int p) {
  sl_wire_peer *peer = &mesh->peer[p];
  sl_mesh_incoming *answer = peer->target;
  answer->got += peer->header.bytes;
  if (answer->got < answer->bytes)
    return;
  answer->done = true;
  peer->awaited[peer->header.slot] = NULL;
  peer->unanswered--;
  while (peer->waiting && may_launch(peer, peer->waiting)) {
    sl_mesh_ask *next = peer->waiting;
    peer->waiting = next->next;
    launch(mesh, next);
  }
}

void sl_mesh_ask_access(sl_mesh *mesh, int p, sl_mesh_access_kind access, uint64_t id, int64_t at, void *data,
                        int64_t bytes, sl_mesh_ask *ask) {
  sl_wire_enter(mesh);
  *ask = (sl_mesh_ask){.peer = p};
  if (mesh->failure.rank >= 0)
    return;
  sl_wire_peer *peer = &mesh->peer[sl_wire_urgent(mesh, p)];
  ask->answers = access != SL_MESH_PUT && access != SL_MESH_FREE;
  ask->request.header =
      (sl_mesh_header){.kind = SL_KIND_REQUEST, .access = access, .tag = id, .at = at, .length = bytes};
  ask->request.data = data;
  if (access == SL_MESH_PUT)
    ask->request.header.bytes = bytes;
  if (access == SL_MESH_ADD || access == SL_MESH_COMPARE_SWAP) { /* the answer will overwrite data, so the
                                                                    operands are copied */
    ask->request.header.bytes = access == SL_MESH_ADD ? WORD : 2 * WORD;
    memcpy(ask->operand, data, (size_t)ask->request.header.bytes);
    ask->request.data = ask->operand;
  }
  ask->answer.data = data;
  ask->answer.bytes = access == SL_MESH_FLUSH ? 0 : bytes;
  if (!peer->waiting && may_launch(peer, ask)) {
    launch(mesh, ask);
    return;
  }
  if (peer->waiting)
    peer->last_waiting->next = ask;
  else
    peer->waiting = ask;
  peer->last_waiting = ask;
}

sley_status sl_mesh_serve_rows(sl_mesh *mesh) {
  sl_wire_enter(mesh);
  if (mesh->asked)
    return SLEY_OK;
  SL_TRY(SL_NEW(mesh->asked, (int64_t)mesh->size * SL_MESH_ROWS_MOST, "requests for rows"));
  for (int p = 0; p < mesh->size; p++)
    mesh->peer[sl_wire_urgent(mesh, p)].asked = mesh->asked + (int64_t)p * SL_MESH_ROWS_MOST;
  return SLEY_OK;
}

void sl_mesh_ask_rows(sl_mesh *mesh, int p, uint64_t id, int64_t bytes, int64_t count, void *dst,
                      sl_mesh_rows *ask) {
  ask->answer.done = false;
  sl_wire_enter(mesh);
  if (mesh->failure.rank >= 0)
    return;
  const int urgent = sl_wire_urgent(mesh, p);
  ask->request.header = (sl_mesh_header){.kind = SL_KIND_REQUEST,
                                         .access = SL_MESH_ROWS,
                                         .slot = SL_SLOT_ROWS,
                                         .tag = id,
                                         .bytes = count * (int64_t)sizeof *ask->row,
                                         .length = bytes};
  sl_wire_await(mesh, urgent, SL_SLOT_ROWS, dst, count * bytes, &ask->answer);
  (void)sl_wire_queue(mesh, urgent, ask->row, &ask->request);
}
