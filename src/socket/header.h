/* SPDX-License-Identifier: Apache-2.0 */
/* What a header may say: one table for all kinds of messages, read before any field is used. */
#ifndef SLEY_SOCKET_HEADER_H
#define SLEY_SOCKET_HEADER_H

#include "socket/mesh.h"

/* header.kind */
typedef enum sl_mesh_kind {
  SL_KIND_DATA = 1, /* for a posted receive */
  SL_KIND_ABORT,    /* who has failed, and the message */
  SL_KIND_LEAVE,    /* nothing more will come */
  SL_KIND_REQUEST   /* an access to memory header.tag */
} sl_mesh_kind;

/* Tags of the mesh's own messages. */
#define SL_TAG_POST   (UINT64_C(1) << 56)
#define SL_TAG_REASON (UINT64_C(2) << 56)
#define SL_TAG_DATA   (UINT64_C(3) << 56)
#define SL_TAG_ANSWER (UINT64_C(4) << 56)

/* header.slot of requests that want an answer: of one for rows the last, of others those before it. */
enum { SL_SLOT_ROWS = SL_MESH_WINDOW, SL_SLOTS };

/* NULL if the header is one that a rank may send over that connection (urgent or for messages), so that its
 * kind is known, bytes, at and length are none of them negative, at + length does not overflow, bytes is
 * what kind, access and length make it, and slot is one of a request like that; else which field is wrong.
 * What depends on the receiver is checked where it is known: whether a receive is posted, of which length,
 * and what memory there is. */
const char *sl_header_check(const sl_mesh_header *header, bool urgent);

#endif
