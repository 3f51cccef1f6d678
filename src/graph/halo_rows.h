/* SPDX-License-Identifier: Apache-2.0 */
/* The halo of the public interface: lists that it may share with a plan, and its two exchanges. */
#ifndef SLEY_GRAPH_HALO_ROWS_H
#define SLEY_GRAPH_HALO_ROWS_H

#include "plan/halo.h"

struct sley_halo {
  sl_comm *comm;
  sl_halo *halo;
  int64_t k;
  sley_dtype dtype;
  sl_row_list *lists;       /* of both exchanges */
  sl_exchange *exchange[2]; /* by sl_halo_way */
};

/* As sley_halo_create. Arguments are checked here. Collective, agreed. */
sley_status sl_halo_rows_create(sl_comm *comm, const int64_t *row, int64_t count, const int64_t *col_begin,
                                int64_t k, sley_dtype dtype, sley_halo **out);

/* The exchanges of k columns of dtype along a halo that others may use too: one more user. Collective,
 * agreed. Errors: SLEY_ERR_MEMORY. */
sley_status sl_halo_rows_of(sl_halo *halo, int64_t k, sley_dtype dtype, sley_halo **out);

/* Moves rows: src and dst are X and the buffer, or the buffer and X. Leading dimensions in elements. Errors
 * abort the comm. Collective. */
sley_status sl_halo_rows_run(sley_halo *halo, sl_halo_way way, const void *src, int64_t src_ld, void *dst,
                             int64_t dst_ld);

/* The same in two calls: until the second the rows that are moved must not change, nor, but for scatter-add,
 * those that they go to be read. */
sley_status sl_halo_rows_begin(sley_halo *halo, sl_halo_way way, const void *src, int64_t src_ld, void *dst,
                               int64_t dst_ld);
sley_status sl_halo_rows_end(sley_halo *halo, sl_halo_way way);

/* Between these two, of a gather: from here on, in queue's order, those that they go to may be read. Unlike
 * the end it does not wait until others have taken this rank's rows. Errors abort the comm. Not collective.
 */
sley_status sl_halo_rows_arrive(sley_halo *halo);

/* Accepts NULL. Collective. */
void sl_halo_rows_destroy(sley_halo *halo);

#endif
