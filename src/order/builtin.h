/* SPDX-License-Identifier: Apache-2.0 */
/* The orderings that have a file of their own; sl_ordering describes run. */
#ifndef SLEY_ORDER_BUILTIN_H
#define SLEY_ORDER_BUILTIN_H

#include "order/order.h"

extern const sl_ordering sl_order_degree, sl_order_rcm, sl_order_rabbit, sl_order_loa, sl_order_loa_parts,
    sl_order_scotch, sl_order_metis, sl_order_cover;

/* As sl_order_metis, but edges of vertices with many edges weigh less; only a start of sl_order_cover. */
extern const sl_ordering sl_order_metis_weighted;

/* The number of vertices that loa chooses from, after the first vertex of a window. Measured on 18 real
 * graphs of 1005 to 1524453 rows in the order of their files, with each number in turn:
 *   vertices                                      15    32    64   128   256   512  1024
 *   intensity relative to before, geom. mean    1.10  1.15  1.19  1.22  1.25  1.29  1.32
 *   seconds for all of them, one thread         0.83  0.92  1.16  1.50  2.00  3.09  5.25 */
enum { SL_LOA_AHEAD = 512 };

#endif
