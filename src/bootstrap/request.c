/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided access: the keeper of the memory serves it between its own waits. A peer has one request that
 * wants an answer at a time. Single words move as atomics, because ranks of the same host may touch them
 * directly. */
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "bootstrap/wire.h"

static bool is_word(const void *at, int64_t bytes) {
  return bytes == sizeof(int64_t) && (uintptr_t)at % sizeof(int64_t) == 0;
}

void sl_bootstrap_serve(sl_bootstrap *boot, sl_boot_memory find, sl_boot_freed freed, void *owner) {
  sl_wire_enter(boot);
  boot->find = find;
  boot->freed = freed;
  boot->owner = owner;
}

/* Where the request's bytes lie; NULL if there is no such place. */
static char *locate(sl_bootstrap *boot, const sl_boot_header *header) {
  int64_t bytes = 0;
  char *base = boot->find ? boot->find(boot->owner, header->tag, &bytes) : NULL;
  bool inside = base && header->at >= 0 && header->length >= 0 && header->length <= bytes &&
                header->at <= bytes - header->length;
  return inside ? base + header->at : NULL;
}

void sl_wire_request(sl_bootstrap *boot, int p) {
  sl_wire_peer *peer = &boot->peer[p];
  char *at = locate(boot, &peer->header);
  if (peer->header.access == SL_BOOT_ROWS)
    peer->body =
        peer->header.bytes <= (int64_t)sizeof(uint32_t) * SL_BOOT_ROWS_MOST ? (char *)peer->asked : NULL;
  else if (peer->header.access == SL_BOOT_PUT)
    peer->body = at && is_word(at, peer->header.length) ? (char *)&peer->request_value : at;
  else if (peer->header.access == SL_BOOT_ADD)
    peer->body = (char *)&peer->request_value;
}

/* Rows as asked for; zeros if there is one that is not. */
static void answer_rows(sl_bootstrap *boot, int p) {
  sl_wire_peer *peer = &boot->peer[p];
  const sl_boot_header *header = &peer->header;
  int64_t bytes = 0, count = header->bytes / (int64_t)sizeof *peer->asked;
  char *base = boot->find ? boot->find(boot->owner, header->tag, &bytes) : NULL;
  int64_t rows = header->length > 0 ? bytes / header->length : 0;
  bool inside = base && peer->asked && count <= SL_BOOT_ROWS_MOST;
  for (int64_t i = 0; i < count && inside; i++)
    inside = peer->asked[i] < rows;
  peer->answer.header =
      (sl_boot_header){.kind = SL_KIND_DATA, .tag = SL_TAG_ANSWER, .bytes = count * header->length};
  sl_wire_queue(boot, p, inside ? base : NULL, &peer->answer);
  peer->answer.rows = inside ? peer->asked : NULL;
  peer->answer.row_bytes = header->length;
}

void sl_wire_request_done(sl_bootstrap *boot, int p) {
  sl_wire_peer *peer = &boot->peer[p];
  const sl_boot_header *header = &peer->header;
  if (header->access == SL_BOOT_ROWS) {
    answer_rows(boot, p);
    return;
  }
  if (header->access == SL_BOOT_FREE) {
    if (boot->freed)
      boot->freed(boot->owner, header->tag);
    return;
  }
  char *at = header->access == SL_BOOT_FLUSH ? NULL : locate(boot, header);
  _Atomic int64_t *word = at && is_word(at, header->length) ? (_Atomic int64_t *)(void *)at : NULL;
  const void *data = NULL;
  if (header->access == SL_BOOT_PUT) {
    if (word)
      atomic_store(word, peer->request_value);
    return;
  }
  if (header->access == SL_BOOT_ADD && word) {
    peer->answer_value = atomic_fetch_add(word, peer->request_value);
    data = &peer->answer_value;
  } else if (header->access == SL_BOOT_GET && word) {
    peer->answer_value = atomic_load(word);
    data = &peer->answer_value;
  } else if (header->access == SL_BOOT_GET) {
    data = at; /* NULL: zeros */
  }
  peer->answer.header = (sl_boot_header){.kind = SL_KIND_DATA,
                                         .tag = SL_TAG_ANSWER,
                                         .bytes = header->access == SL_BOOT_FLUSH ? 0 : header->length};
  sl_wire_queue(boot, p, data, &peer->answer);
}

sley_status sl_bootstrap_access(sl_bootstrap *boot, int p, sl_boot_access access, uint64_t id, int64_t at,
                                void *data, int64_t bytes) {
  sl_wire_enter(boot);
  SL_TRY(sl_wire_broken(boot));
  sl_boot_recv answer;
  sl_boot_send request = {
      .header = {.kind = SL_KIND_REQUEST, .access = access, .tag = id, .at = at, .length = bytes}};
  if (access == SL_BOOT_PUT || access == SL_BOOT_ADD)
    request.header.bytes = bytes;
  int64_t answered = access == SL_BOOT_FLUSH ? 0 : bytes;
  bool answers = access != SL_BOOT_PUT && access != SL_BOOT_FREE;
  if (answers)
    sl_wire_post(boot, sl_wire_urgent(boot, p), SL_TAG_ANSWER, data, answered, &answer);
  sl_wire_queue(boot, sl_wire_urgent(boot, p), data, &request);
  SL_TRY(sl_wire_wait(boot, p, &request.done, true));
  return answers ? sl_wire_wait(boot, p, &answer.done, true) : SLEY_OK;
}

sley_status sl_bootstrap_serve_rows(sl_bootstrap *boot) {
  sl_wire_enter(boot);
  if (boot->asked)
    return SLEY_OK;
  SL_TRY(SL_NEW(boot->asked, (int64_t)boot->size * SL_BOOT_ROWS_MOST, "requests for rows"));
  for (int p = 0; p < boot->size; p++)
    boot->peer[sl_wire_urgent(boot, p)].asked = boot->asked + (int64_t)p * SL_BOOT_ROWS_MOST;
  return SLEY_OK;
}

void sl_bootstrap_ask_rows(sl_bootstrap *boot, int p, uint64_t id, int64_t bytes, int64_t count, void *dst,
                           sl_boot_rows *ask) {
  ask->answer.done = false;
  if (sl_bootstrap_broken(boot))
    return;
  ask->request.header = (sl_boot_header){.kind = SL_KIND_REQUEST,
                                         .access = SL_BOOT_ROWS,
                                         .tag = id,
                                         .bytes = count * (int64_t)sizeof *ask->row,
                                         .length = bytes};
  sl_wire_post(boot, sl_wire_urgent(boot, p), SL_TAG_ANSWER, dst, count * bytes, &ask->answer);
  sl_wire_queue(boot, sl_wire_urgent(boot, p), ask->row, &ask->request);
}

sley_status sl_bootstrap_wait_rows(sl_bootstrap *boot, int p, sl_boot_rows *ask) {
  return sl_wire_wait(boot, p, &ask->answer.done, true);
}
