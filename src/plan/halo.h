/* SPDX-License-Identifier: Apache-2.0 */
/* The halo: the rows of X that a rank needs of the others, and those that the others need of it. Made once,
 * shared by whoever moves rows along it: gather brings rows of X into a halo buffer, scatter-add is the
 * reverse and adds the rows of a halo buffer to the rows of X that they stand for. It refers to no matrix and
 * no inspection, and lives until its last user releases it. */
#ifndef SLEY_PLAN_HALO_H
#define SLEY_PLAN_HALO_H

#include "transport/transport.h"

typedef struct sl_halo {
  sl_comm *comm;
  int users;
  int64_t first, rows; /* this rank owns rows first .. first + rows - 1 of X */
  /* The rows needed: their numbers in X, ascending, hence grouped by owner: owner p's are row[begin[p]] ..
   * row[begin[p + 1] - 1]. Entry h is row h of a halo buffer. */
  int64_t count;
  int64_t *row, *begin;
  /* What others need of this rank: numbers within its rows of X; those of peer p, in the order of p's halo
   * buffer, are wanted[wanted_begin[p]] .. wanted[wanted_begin[p + 1] - 1]. */
  int64_t *wanted, *wanted_begin;
} sl_halo;

typedef enum sl_halo_way {
  SL_HALO_GATHER,     /* X -> halo buffer */
  SL_HALO_SCATTER_ADD /* halo buffer -> added to X; peers in ascending order, so the bits repeat */
} sl_halo_way;

/* The halo of `count` rows of X, whose numbers ascend; a rank's own rows may be among them. X's rows are
 * divided by begin (size + 1 entries, the same on all ranks), which is copied. row is from sl_alloc and
 * becomes the halo's, also on error. The result has one user. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY.
 * Collective, agreed. */
sley_status sl_halo_create(sl_comm *comm, const int64_t *begin, int64_t *row, int64_t count, sl_halo **out);

/* One more user. Returns the halo. Users of a halo belong to one rank. */
sl_halo *sl_halo_hold(sl_halo *halo);

/* One user less; after the last the memory is freed. Accepts NULL. Not collective. */
void sl_halo_release(sl_halo *halo);

/* This rank's list for a peer, of rows of X or of a halo buffer: each moves row_bytes from its beginning.
 * The list refers to the halo's memory. */
sl_row_list sl_halo_list_of_x(const sl_halo *halo, int peer, int64_t row_bytes);
sl_row_list sl_halo_list_of_buffer(const sl_halo *halo, int peer, int64_t row_bytes);

/* An exchange along the halo: *out for exchange_create, of rows of row_bytes in dtype, one message a peer.
 * Gather: src is X, dst a buffer of halo->count rows; scatter-add: the reverse. lists: room for 2 size lists,
 * which like the halo must live as long as the exchange. name: static. */
void sl_halo_spec(const sl_halo *halo, sl_halo_way way, const char *name, sley_dtype dtype, int64_t row_bytes,
                  sl_row_list *lists, sl_exchange_spec *out);

#endif
