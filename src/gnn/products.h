/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse products of a network, Y = N X and X' = N^T Y', for the widths that its layers have: plans that
 * layers of the same width share. Plans for fewer columns are derived from the widest plans and use their
 * memory. If N^T equals N, one plan serves both products. */
#ifndef SLEY_GNN_PRODUCTS_H
#define SLEY_GNN_PRODUCTS_H

#include "sley_gnn.h"

#include "exec/exec.h"
#include "gnn/dense.h"

/* Maximum number of widths: features, hidden rows and classes, one of them in two forms. */
enum { SL_MOST_WIDTHS = 4 };

/* A pair of plans. back may be the same plan as forward. */
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

/* Takes ownership of matrix, also after an error. The options algo, wire, kernel, precision and
 * reproducible are passed to the plans; their texts must outlive the products. Not collective. */
sley_status sl_products_open(sl_comm *comm, sley_matrix *matrix, const int64_t *row_begin,
                             const sley_gnn_options *options, sl_products *out);

/* Sets *number to the number of the pair for products of `width` columns, and makes its plans if they do not
 * exist. The widest pair must be made first. Collective, agreed. */
sley_status sl_products_take(sl_products *products, int64_t width, int *number);

/* Computes y = N x + beta y, or with `back` y = N^T x + beta y. Rows of x and y have at least as many values
 * as the products have columns. Collective. */
sley_status sl_products_run(const sl_products *products, int number, bool back, sl_rows x, double beta,
                            sl_rows y);

/* Returns whether sl_products_update runs products of the pair on this rank: on CPUs, in f32 or
 * f64, without `reproducible`, where the plan is fused (sl_plan_should_fuse). */
bool sl_products_fuse(const sl_products *products, int number, bool back);

/* The product followed by a dense update in one pass, z = act((N x) w + beta z + bias) or with `back` N^T x,
 * with the additional work of update->more. w has as many rows as the product has columns. Collective, with
 * ranks that call sl_products_run. */
sley_status sl_products_update(const sl_products *products, int number, bool back, sl_rows x,
                               const sl_update *update);

/* Bytes of the plans and their buffers on this rank, counted as in sley_plan_info. */
int64_t sl_products_bytes(const sl_products *products);

/* Destroys the plans. Accepts a zeroed struct. */
void sl_products_close(sl_products *products);

#endif
