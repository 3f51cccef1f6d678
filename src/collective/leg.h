/* SPDX-License-Identifier: Apache-2.0 */
/* One exchange of compressed arrays: between every pair of ranks at most one, whose bytes are checked when it
 * has come. */
#ifndef SLEY_COLLECTIVE_LEG_H
#define SLEY_COLLECTIVE_LEG_H

#include "device/device.h"
#include "transport/transport.h"

/* An array that goes to a peer or comes from it. */
typedef struct sl_leg_item {
  int peer;
  int64_t values; /* of the array, not 0 */
  int64_t at;     /* bytes from the start of the area; a multiple of SL_LEG_SLOT */
  int64_t bytes;  /* in this round: to be sent, set by sl_leg_measure; that have come, set by sl_leg_run */
} sl_leg_item;

enum { SL_LEG_SLOT = 256 };

/* NULL exchange: nothing moves. */
typedef struct sl_leg {
  const char *name;
  sl_comm *comm;
  sley_type type;
  sl_sized *exchange;
  int sends, recvs;
  sl_leg_item *send, *recv;     /* ascending peers */
  sl_compressed_header *header; /* of the larger of sends and recvs */
  int64_t *numbers;             /* for rounds */
} sl_leg;

/* Bytes that a compressed array of so many values takes at most: in an area, rounded up to slots. */
int64_t sl_leg_room(sley_type type, int64_t values);
int64_t sl_leg_slot(sley_type type, int64_t values);

/* Makes the exchange of leg, whose comm, name and type are set; sends and recvs are filled by sl_leg_send and
 * sl_leg_recv between the two calls. begin: memory for `most` peers. Collective: make; agreed. */
sley_status sl_leg_begin(sl_leg *leg, int most);
void sl_leg_send(sl_leg *leg, int peer, int64_t values, int64_t at);
void sl_leg_recv(sl_leg *leg, int peer, int64_t values, int64_t at);
sley_status sl_leg_make(sl_leg *leg);

/* Reads the headers of what is to be sent in the area src: the host waits for the queue. */
sley_status sl_leg_measure(sl_leg *leg, const void *src, sl_queue *queue);

/* Moves what was measured from src to dst, and checks the headers of what has come: the host waits for the
 * queue. Errors: SLEY_ERR_PEER. Collective. */
sley_status sl_leg_run(sl_leg *leg, const void *src, void *dst, sl_queue *queue);

void sl_leg_destroy(sl_leg *leg); /* collective */

#endif
