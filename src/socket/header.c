/* SPDX-License-Identifier: Apache-2.0 */
/* The table of headers. */
#include "socket/header.h"

#include <stddef.h>

enum { WORD = sizeof(int64_t), INDEX = sizeof(uint32_t) };

/* Rules for a field of a header. */
typedef enum rule {
  ZERO,
  ANY,      /* not negative */
  SAME,     /* length: must equal the bytes of the body */
  WHOLE,    /* length of an answer, which contains the body at `at`; a body is empty only if the answer is
               empty */
  ONE_WORD, /* length: 8 bytes; at: a multiple of 8 */
  ROW,      /* length: bytes of a row, so that SL_MESH_ROWS_MOST rows do not overflow */
  OWN_TAG,  /* tag: SL_TAG_ANSWER on the urgent connection, any other tag on the other connection */
} rule;

typedef struct row {
  uint32_t kind, access;
  bool urgent; /* whether it must come over the urgent connection */
  int first_slot, last_slot;
  int64_t least, most, grain; /* limits of the body's bytes, which are a multiple of grain */
  rule tag, at, length;
} row;

enum {
  SLOT = SL_MESH_WINDOW - 1,
  ROWS = SL_SLOT_ROWS
}; /* limits of slots: the last slot of other requests, and the slot of requests for rows */

static const row rows[] = {
    {SL_KIND_DATA, 0, false, 0, 0, 0, INT64_MAX, 1, OWN_TAG, ZERO, ZERO},
    {SL_KIND_DATA, 0, true, 0, ROWS, 0, INT64_MAX, 1, OWN_TAG, ANY, WHOLE},
    {SL_KIND_ABORT, 0, false, 0, 0, sizeof(sl_error), sizeof(sl_error), 1, ZERO, ZERO, ZERO},
    {SL_KIND_ABORT, 0, true, 0, 0, sizeof(sl_error), sizeof(sl_error), 1, ZERO, ZERO, ZERO},
    {SL_KIND_LEAVE, 0, false, 0, 0, 0, 0, 1, ZERO, ZERO, ZERO},
    {SL_KIND_REQUEST, SL_MESH_GET, true, 0, SLOT, 0, 0, 1, ANY, ANY, ANY},
    {SL_KIND_REQUEST, SL_MESH_PUT, true, 0, 0, 0, INT64_MAX, 1, ANY, ANY, SAME},
    {SL_KIND_REQUEST, SL_MESH_ADD, true, 0, SLOT, WORD, WORD, 1, ANY, ONE_WORD, ONE_WORD},
    {SL_KIND_REQUEST, SL_MESH_COMPARE_SWAP, true, 0, SLOT, 2 * WORD, 2 * WORD, 1, ANY, ONE_WORD, ONE_WORD},
    {SL_KIND_REQUEST, SL_MESH_FLUSH, true, 0, SLOT, 0, 0, 1, ANY, ZERO, ZERO},
    {SL_KIND_REQUEST, SL_MESH_FREE, true, 0, 0, 0, 0, 1, ANY, ZERO, ZERO},
    {SL_KIND_REQUEST, SL_MESH_ROWS, true, ROWS, ROWS, INDEX, SL_MESH_ROWS_MOST *(int64_t)INDEX, INDEX, ANY,
     ZERO, ROW},
};

static bool tag_fits(rule must, uint64_t tag, bool urgent) {
  return must == ANY || (must == ZERO ? tag == 0 : (tag == SL_TAG_ANSWER) == urgent);
}

static bool at_fits(rule must, int64_t at) {
  return at >= 0 && (must != ZERO || at == 0) && (must != ONE_WORD || at % WORD == 0);
}

static bool length_fits(rule must, const sl_mesh_header *header) {
  const int64_t length = header->length, bytes = header->bytes;
  switch (must) {
  case ZERO:
    return length == 0;
  case SAME:
    return length == bytes;
  case WHOLE:
    return length >= bytes && header->at <= length - bytes && (bytes > 0 || length == 0);
  case ONE_WORD:
    return length == WORD;
  case ROW:
    return length >= 1 && length <= INT64_MAX / SL_MESH_ROWS_MOST;
  default:
    return length >= 0;
  }
}

const char *sl_header_check(const sl_mesh_header *header, bool urgent) {
  const row *found = NULL;
  int64_t end;
  for (size_t i = 0; i < sizeof rows / sizeof *rows && !found; i++)
    if (rows[i].kind == header->kind && rows[i].access == header->access && rows[i].urgent == urgent)
      found = &rows[i];
  if (!found)
    return "kind";
  if (header->bytes < found->least || header->bytes > found->most || header->bytes % found->grain != 0)
    return "bytes";
  if (header->slot < found->first_slot || header->slot > found->last_slot)
    return "slot";
  if (!tag_fits(found->tag, header->tag, urgent))
    return "tag";
  if (!at_fits(found->at, header->at))
    return "at";
  if (!length_fits(found->length, header) || __builtin_add_overflow(header->at, header->length, &end))
    return "length";
  return NULL;
}
