/* SPDX-License-Identifier: Apache-2.0 */
/* The halo: the rows of X that a rank needs from other ranks, and its own rows that others need. It is
 * created once and shared by all that move rows along it. Gather copies rows of X to a halo buffer;
 * scatter-add is the reverse: it adds the rows of a halo buffer to the rows of X for which they stand. The
 * halo refers to no matrix and no inspection, and exists until its last user releases it. */
#ifndef SLEY_PLAN_HALO_H
#define SLEY_PLAN_HALO_H

#include "transport/transport.h"

typedef struct sl_halo {
  sl_comm *comm;
  int users;
  int64_t first, rows; /* this rank owns rows first .. first + rows - 1 of X */
  /* The needed rows: their numbers in X, ascending and therefore grouped by owner. The rows of owner p are
   * row[begin[p]] .. row[begin[p + 1] - 1]. Entry h is row h of a halo buffer. */
  int64_t count;
  int64_t *row, *begin;
  /* The rows that others need from this rank, as numbers within its rows of X. The rows for peer p, in the
   * order of p's halo buffer, are wanted[wanted_begin[p]] .. wanted[wanted_begin[p + 1] - 1]. */
  int64_t *wanted, *wanted_begin;
} sl_halo;

typedef enum sl_halo_way {
  SL_HALO_GATHER,     /* copies rows from X to the halo buffer */
  SL_HALO_SCATTER_ADD /* adds rows of the halo buffer to X, peers in ascending order, so that the bits are the
                         same in every run */
} sl_halo_way;

/* Creates the halo of `count` rows of X with ascending numbers, which may include the rank's own rows. begin
 * (size + 1 entries, the same on all ranks) divides the rows of X among the ranks; it is copied. row is an
 * array of sl_alloc, which the halo takes over, also on error. The result has one user. Errors: SLEY_ERR_ARG,
 * SLEY_ERR_MEMORY. Collective, agreed. */
sley_status sl_halo_create(sl_comm *comm, const int64_t *begin, int64_t *row, int64_t count, sl_halo **out);

/* Adds a user and returns the halo. All users of a halo belong to one rank. */
sl_halo *sl_halo_hold(sl_halo *halo);

/* Removes a user; the last one frees the memory. halo may be NULL. Not collective. */
void sl_halo_release(sl_halo *halo);

/* Returns this rank's list for a peer: rows of X, or rows of a halo buffer. The first row_bytes bytes of each
 * row move. The list refers to the halo's memory. */
sl_row_list sl_halo_list_of_x(const sl_halo *halo, int peer, int64_t row_bytes);
sl_row_list sl_halo_list_of_buffer(const sl_halo *halo, int peer, int64_t row_bytes);

/* Describes an exchange along the halo for exchange_create: *out has rows of row_bytes in dtype, one message
 * per peer. Gather: src is X, dst a buffer of halo->count rows; scatter-add: the reverse. lists has 2 size
 * elements and, like the halo, must outlive the exchange. name must be static. */
void sl_halo_spec(const sl_halo *halo, sl_halo_way way, const char *name, sley_dtype dtype, int64_t row_bytes,
                  sl_row_list *lists, sl_exchange_spec *out);

#endif
