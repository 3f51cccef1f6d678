/* SPDX-License-Identifier: Apache-2.0 */
/* The products of a network's sums, Y = N X and X' = N^T Y', of the widths that its layers have: plans of the
 * sparse product, which layers of one width share. Plans for fewer columns are made of the widest ones, in
 * their memory, and where N^T is N one plan serves both. */
#ifndef SLEY_GNN_PRODUCTS_H
#define SLEY_GNN_PRODUCTS_H

#include "sley_gnn.h"

#include "gnn/dense.h"

/* Of features, of hidden rows and of classes; one of them in two ways. */
enum { SL_MOST_WIDTHS = 4 };

/* back may be forward. */
typedef struct sl_product_pair {
  int64_t width;
  sley_plan *forward, *back;
} sl_product_pair;

typedef struct sl_products {
  sl_comm *comm;
  sley_matrix *matrix; /* this rank's rows of N */
  int64_t *row_begin;
  sley_plan_options options;
  int count;
  sl_product_pair of[SL_MOST_WIDTHS];
} sl_products;

/* Takes matrix over, also on an error. Of the options algo, wire, kernel, precision and
 * reproducible are those of the plans; the texts outlive the products. Not collective. */
sley_status sl_products_open(sl_comm *comm, sley_matrix *matrix, const int64_t *row_begin,
                             const sley_gnn_options *options, sl_products *out);

/* *number = that of the products of `width` columns, which are planned if they are new. The first are the
 * widest. Collective, agreed. */
sley_status sl_products_take(sl_products *products, int64_t width, int *number);

/* y = N x + beta y, or with `back` N^T. Rows of x and y have at least as many values as the products have
 * columns. Collective. */
sley_status sl_products_run(const sl_products *products, int number, bool back, sl_rows x, double beta,
                            sl_rows y);

/* What the plans and their buffers take on this rank, as sley_plan_info counts it. */
int64_t sl_products_bytes(const sl_products *products);

/* Accepts one that is zeroed. Collective. */
void sl_products_close(sl_products *products);

#endif
