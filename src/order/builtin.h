/* SPDX-License-Identifier: Apache-2.0 */
/* The orderings, one a file; see sl_ordering for what run promises. */
#ifndef SLEY_ORDER_BUILTIN_H
#define SLEY_ORDER_BUILTIN_H

#include "order/order.h"

extern const sl_ordering sl_order_none, sl_order_random, sl_order_degree, sl_order_rcm, sl_order_rabbit,
    sl_order_scotch, sl_order_metis;

#endif
