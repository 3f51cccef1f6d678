/* SPDX-License-Identifier: Apache-2.0 */
/* The orderings, one a file; see sl_ordering for what run promises. */
#ifndef SLEY_ORDER_BUILTIN_H
#define SLEY_ORDER_BUILTIN_H

#include "order/order.h"

extern const sl_ordering sl_order_none, sl_order_random, sl_order_degree, sl_order_rcm, sl_order_rabbit,
    sl_order_loa, sl_order_scotch, sl_order_metis;

/* Vertices that loa chooses from: so many of its list, after the one that a window begins with. Measured on
 * 18 real graphs of 1005 to 1524453 rows in the order of their files, with each number in its turn:
 *   vertices                                      15    32    64   128   256   512  1024
 *   intensity to that before, geometric mean    1.10  1.15  1.19  1.22  1.25  1.29  1.32
 *   seconds for all of them, one thread         0.83  0.92  1.16  1.50  2.00  3.09  5.25 */
enum { SL_LOA_AHEAD = 512 };

#endif
