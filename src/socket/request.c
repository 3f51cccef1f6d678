/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided access: the keeper of the memory serves it between its own waits. A peer has one request that
 * wants an answer at a time. Single words move as atomics, because ranks of the same host may touch them
 * directly. */
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "socket/wire.h"

static bool is_word(const void *at, int64_t bytes) {
  return bytes == sizeof(int64_t) && (uintptr_t)at % sizeof(int64_t) == 0;
}

void sl_mesh_serve(sl_mesh *mesh, sl_mesh_memory find, sl_mesh_freed freed, void *owner) {
  sl_wire_enter(mesh);
  mesh->find = find;
  mesh->freed = freed;
  mesh->owner = owner;
}

/* Where the request's bytes lie; NULL if there is no such place. */
static char *locate(sl_mesh *mesh, const sl_mesh_header *header) {
  int64_t bytes = 0;
  char *base = mesh->find ? mesh->find(mesh->owner, header->tag, &bytes) : NULL;
  bool inside = base && header->at >= 0 && header->length >= 0 && header->length <= bytes &&
                header->at <= bytes - header->length;
  return inside ? base + header->at : NULL;
}

void sl_wire_request(sl_mesh *mesh, int p) {
  sl_wire_peer *peer = &mesh->peer[p];
  char *at = locate(mesh, &peer->header);
  if (peer->header.access == SL_MESH_ROWS)
    peer->body =
        peer->header.bytes <= (int64_t)sizeof(uint32_t) * SL_MESH_ROWS_MOST ? (char *)peer->asked : NULL;
  else if (peer->header.access == SL_MESH_PUT)
    peer->body = at && is_word(at, peer->header.length) ? (char *)&peer->request_value : at;
  else if (peer->header.access == SL_MESH_ADD)
    peer->body = (char *)&peer->request_value;
}

/* Rows as asked for; zeros if there is one that is not. */
static void answer_rows(sl_mesh *mesh, int p) {
  sl_wire_peer *peer = &mesh->peer[p];
  const sl_mesh_header *header = &peer->header;
  int64_t bytes = 0, count = header->bytes / (int64_t)sizeof *peer->asked;
  char *base = mesh->find ? mesh->find(mesh->owner, header->tag, &bytes) : NULL;
  int64_t rows = header->length > 0 ? bytes / header->length : 0;
  bool inside = base && peer->asked && count <= SL_MESH_ROWS_MOST;
  for (int64_t i = 0; i < count && inside; i++)
    inside = peer->asked[i] < rows;
  peer->answer.header =
      (sl_mesh_header){.kind = SL_KIND_DATA, .tag = SL_TAG_ANSWER, .bytes = count * header->length};
  sl_wire_queue(mesh, p, inside ? base : NULL, &peer->answer);
  peer->answer.rows = inside ? peer->asked : NULL;
  peer->answer.row_bytes = header->length;
}

void sl_wire_request_done(sl_mesh *mesh, int p) {
  sl_wire_peer *peer = &mesh->peer[p];
  const sl_mesh_header *header = &peer->header;
  if (header->access == SL_MESH_ROWS) {
    answer_rows(mesh, p);
    return;
  }
  if (header->access == SL_MESH_FREE) {
    if (mesh->freed)
      mesh->freed(mesh->owner, header->tag);
    return;
  }
  char *at = header->access == SL_MESH_FLUSH ? NULL : locate(mesh, header);
  _Atomic int64_t *word = at && is_word(at, header->length) ? (_Atomic int64_t *)(void *)at : NULL;
  const void *data = NULL;
  if (header->access == SL_MESH_PUT) {
    if (word)
      atomic_store(word, peer->request_value);
    return;
  }
  if (header->access == SL_MESH_ADD && word) {
    peer->answer_value = atomic_fetch_add(word, peer->request_value);
    data = &peer->answer_value;
  } else if (header->access == SL_MESH_GET && word) {
    peer->answer_value = atomic_load(word);
    data = &peer->answer_value;
  } else if (header->access == SL_MESH_GET) {
    data = at; /* NULL: zeros */
  }
  peer->answer.header = (sl_mesh_header){.kind = SL_KIND_DATA,
                                         .tag = SL_TAG_ANSWER,
                                         .bytes = header->access == SL_MESH_FLUSH ? 0 : header->length};
  sl_wire_queue(mesh, p, data, &peer->answer);
}

sley_status sl_mesh_access(sl_mesh *mesh, int p, sl_mesh_access_kind access, uint64_t id, int64_t at,
                           void *data, int64_t bytes) {
  sl_wire_enter(mesh);
  SL_TRY(sl_wire_broken(mesh));
  sl_mesh_incoming answer;
  sl_mesh_outgoing request = {
      .header = {.kind = SL_KIND_REQUEST, .access = access, .tag = id, .at = at, .length = bytes}};
  if (access == SL_MESH_PUT || access == SL_MESH_ADD)
    request.header.bytes = bytes;
  int64_t answered = access == SL_MESH_FLUSH ? 0 : bytes;
  bool answers = access != SL_MESH_PUT && access != SL_MESH_FREE;
  if (answers)
    sl_wire_post(mesh, sl_wire_urgent(mesh, p), SL_TAG_ANSWER, data, answered, &answer);
  sl_wire_queue(mesh, sl_wire_urgent(mesh, p), data, &request);
  SL_TRY(sl_wire_wait(mesh, p, &request.done, true));
  return answers ? sl_wire_wait(mesh, p, &answer.done, true) : SLEY_OK;
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
  if (sl_mesh_broken(mesh))
    return;
  ask->request.header = (sl_mesh_header){.kind = SL_KIND_REQUEST,
                                         .access = SL_MESH_ROWS,
                                         .tag = id,
                                         .bytes = count * (int64_t)sizeof *ask->row,
                                         .length = bytes};
  sl_wire_post(mesh, sl_wire_urgent(mesh, p), SL_TAG_ANSWER, dst, count * bytes, &ask->answer);
  sl_wire_queue(mesh, sl_wire_urgent(mesh, p), ask->row, &ask->request);
}

sley_status sl_mesh_wait_rows(sl_mesh *mesh, int p, sl_mesh_rows *ask) {
  return sl_wire_wait(mesh, p, &ask->answer.done, true);
}
