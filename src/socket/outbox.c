/* SPDX-License-Identifier: Apache-2.0 */
#include "socket/outbox.h"

#include "socket/header.h"

enum { HEAD = sizeof(sl_mesh_header), ZEROS = 4096 };

static bool is_put(const sl_mesh_outgoing *out) {
  return out->header.kind == SL_KIND_REQUEST && out->header.access == SL_MESH_PUT;
}

/* Sets the length of the first or the next piece. */
static void set_piece(sl_mesh_outgoing *out, int64_t bytes) {
  out->header.bytes = bytes;
  if (is_put(out))
    out->header.length = bytes;
  out->sent = 0;
}

static int64_t piece_of(int64_t bytes) {
  return bytes < SL_OUTBOX_PIECE ? bytes : SL_OUTBOX_PIECE;
}

void sl_outbox_add(sl_outbox *box, bool urgent, sl_mesh_outgoing *send) {
  const int64_t bytes = send->header.bytes;
  const bool answers = urgent && send->header.kind == SL_KIND_DATA, is_long = bytes > SL_OUTBOX_PIECE;
  const sl_lane lane = !answers ? SL_LANE_REQUESTS : is_long ? SL_LANE_LONG_ANSWERS : SL_LANE_ANSWERS;
  const int64_t first = answers || (urgent && is_put(send)) ? piece_of(bytes) : bytes;
  send->from = 0;
  send->left = bytes - first;
  set_piece(send, first);
  send->next = NULL;
  if (box->lane[lane].last)
    box->lane[lane].last->next = send;
  else
    box->lane[lane].first = send;
  box->lane[lane].last = send;
}

bool sl_outbox_empty(const sl_outbox *box) {
  for (int i = 0; i < SL_LANES; i++)
    if (box->lane[i].first)
      return false;
  return true;
}

sl_mesh_outgoing *sl_outbox_next(sl_outbox *box) {
  for (int passed = 0; passed <= SL_LANES; passed++) {
    sl_mesh_outgoing *first = box->lane[box->turn].first;
    if (first && (first->sent > 0 || box->spent < SL_OUTBOX_PIECE))
      return first;
    box->turn = (box->turn + 1) % SL_LANES;
    box->spent = 0;
  }
  return NULL;
}

int sl_outbox_parts(const sl_mesh_outgoing *out, struct iovec parts[SL_OUTBOX_PARTS]) {
  static const char zeros[ZEROS];
  const int64_t end = HEAD + out->header.bytes;
  int count = 0;
  for (int64_t at = out->sent; at < end && count < SL_OUTBOX_PARTS;) {
    const int64_t of_data = out->from + at - HEAD;
    const char *data = (const char *)&out->header + at;
    int64_t bytes = HEAD - at;
    if (at >= HEAD && !out->data) {
      data = zeros;
      bytes = end - at < ZEROS ? end - at : ZEROS;
    } else if (at >= HEAD && out->rows) {
      const int64_t row = of_data / out->row_bytes, within = of_data % out->row_bytes;
      data = (const char *)out->data + out->rows[row] * out->row_bytes + within;
      bytes = out->row_bytes - within < end - at ? out->row_bytes - within : end - at;
    } else if (at >= HEAD) {
      data = (const char *)out->data + of_data;
      bytes = end - at;
    }
    parts[count++] = (struct iovec){.iov_base = (void *)(uintptr_t)data, .iov_len = (size_t)bytes};
    at += bytes;
  }
  return count;
}

/* Removes the first message of a lane. */
static sl_mesh_outgoing *pop(sl_outbox *box, int lane) {
  sl_mesh_outgoing *out = box->lane[lane].first;
  box->lane[lane].first = out->next;
  if (!out->next)
    box->lane[lane].last = NULL;
  return out;
}

sl_mesh_outgoing *sl_outbox_sent(sl_outbox *box, int64_t bytes) {
  sl_mesh_outgoing *out = box->lane[box->turn].first;
  out->sent += bytes;
  if (out->sent < HEAD + out->header.bytes)
    return NULL;
  box->spent += out->sent;
  if (out->left == 0)
    return pop(box, box->turn);
  const int64_t next = piece_of(out->left);
  out->from += out->header.bytes;
  out->header.at += out->header.bytes;
  out->left -= next;
  set_piece(out, next);
  return NULL;
}

sl_mesh_outgoing *sl_outbox_take(sl_outbox *box) {
  for (int i = 0; i < SL_LANES; i++)
    if (box->lane[i].first)
      return pop(box, i);
  return NULL;
}

void sl_outbox_forget(sl_outbox *box, sl_mesh_outgoing *rest) {
  const sl_mesh_outgoing *first = box->lane[box->turn].first;
  const bool begun = first && first->sent > 0;
  const int turn = box->turn;
  if (begun) {
    *rest = *first;
    rest->data = NULL;
    rest->rows = NULL;
    rest->left = 0;
    rest->turn = 0;
    rest->next = NULL;
  }
  *box = (sl_outbox){.turn = turn};
  if (begun)
    box->lane[turn].first = box->lane[turn].last = rest;
}
