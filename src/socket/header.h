/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of headers: one table for all kinds of messages, checked before any field is used. */
#ifndef SLEY_SOCKET_HEADER_H
#define SLEY_SOCKET_HEADER_H

#include "socket/mesh.h"

/* Values of header.kind. */
typedef enum sl_mesh_kind {
  SL_KIND_DATA = 1, /* a message for a posted receive */
  SL_KIND_ABORT,    /* a failure: the body is the error of the rank that failed */
  SL_KIND_LEAVE,    /* a farewell: the rank will send no more messages */
  SL_KIND_REQUEST   /* an access to the memory header.tag */
} sl_mesh_kind;

/* Tags of the mesh's own messages. */
#define SL_TAG_POST   (UINT64_C(1) << 56)
#define SL_TAG_REASON (UINT64_C(2) << 56)
#define SL_TAG_DATA   (UINT64_C(3) << 56)
#define SL_TAG_ANSWER (UINT64_C(4) << 56)

/* Values of header.slot in requests that need an answer: SL_SLOT_ROWS in a request for rows, lower values in
 * other requests. */
enum { SL_SLOT_ROWS = SL_MESH_WINDOW, SL_SLOTS };

/* Returns NULL if the header is valid on that connection (urgent, or for messages), else the name of the
 * wrong field. Valid: kind is known; bytes, at and length are not negative; at + length does not overflow;
 * bytes matches kind, access and length; slot is a slot for such a request. Properties that depend on the
 * receiver are checked elsewhere: whether a receive is posted, its length, and which memory exists. */
const char *sl_header_check(const sl_mesh_header *header, bool urgent);

#endif
