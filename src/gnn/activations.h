/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that a network's layers output and keep from their forward to their backward call, and which of
 * them share memory:
 *
 *   keep       each has memory of its own
 *   recompute  layers form segments of `segment` layers. The output of a segment's last layer has memory of
 *              its own. All other rows share the memory of the layer at the same position of every other
 *              segment, so that only one segment's rows exist at a time
 *   bf16       layers share memory for values, and two alternating blocks for their outputs. Rows that a
 *              later layer overwrites are also stored in `narrow`, in half the bytes; the logits are not
 *              shared
 *
 * Rows are lost if a later layer's rows have overwritten them when the backward call begins. In all ways but
 * keep, dropout that is not done in place is repeated by the backward call, in one block of memory. Each
 * block is an allocation of device memory; rows are at its start. */
#ifndef SLEY_GNN_ACTIVATIONS_H
#define SLEY_GNN_ACTIVATIONS_H

#include "sley_gnn.h"

#include "gnn/dense.h"

typedef enum sl_kept_kind {
  SL_KEPT_GAVE,   /* output: the gradient of its activation, and the next layer's backward call, need it */
  SL_KEPT_GIVEN,  /* input after dropout, if dropout is not done in place */
  SL_KEPT_VALUES, /* rows of the network's dtype that the backward call needs */
  SL_KEPT_BITS,   /* rows that the backward call needs and that are never narrowed */
  SL_KEPT_ALWAYS, /* rows that are needed from one step to the next */
  SL_KEPT_NEVER   /* values that are not needed after the call */
} sl_kept_kind;

enum { SL_MOST_KEPT = 10 }; /* most kept rows per layer */

typedef struct sl_kept {
  sl_kept_kind kind;
  int layer, group; /* rows of the same group may share a block of memory */
  int64_t bytes;
  sl_rows *rows; /* NULL: plain bytes */
  void **where;  /* pointer that receives the memory */
  bool apart;    /* has separate memory although other rows of the group share memory */
  int block;
  sl_rows narrow; /* for bf16: copy of rows that are overwritten */
} sl_kept;

typedef struct sl_block {
  int64_t bytes;
  int last; /* last layer that uses the block; -1: none */
  void *data;
} sl_block;

typedef struct sl_activations {
  const sl_dense_work *work;
  int64_t rows; /* rows of this rank */
  sley_gnn_memory way;
  int layers, segment;
  sl_kept *kept; /* layer by layer, in the order in which they were added */
  int *count;    /* number of used elements of kept, per layer; a layer has SL_MOST_KEPT elements */
  sl_block *block;
  int64_t bytes; /* bytes of blocks and of narrow rows */
} sl_activations;

/* Opens the activations. work must outlive them. Errors: SLEY_ERR_MEMORY. */
sley_status sl_activations_open(const sl_dense_work *work, int64_t rows, int layers, sley_gnn_memory way,
                                sl_activations *out);

/* Add rows of `cols` values, or bytes, to a layer. sl_activations_take sets the memory of *out, and
 * sl_activations_close frees and clears it. Errors: SLEY_ERR_OVERFLOW. */
sley_status sl_activations_add(sl_activations *a, int layer, sl_kept_kind kind, int64_t cols, sl_rows *out);
void sl_activations_add_bytes(sl_activations *a, int layer, int64_t bytes, void **out);

/* Allocates the memory. With recompute it chooses the segments that need least memory on the rank that needs
 * most; spare_bytes: additional memory that the network needs to recompute a segment. Collective, agreed.
 * Errors: SLEY_ERR_MEMORY. */
sley_status sl_activations_take(sl_activations *a, int64_t spare_bytes);

/* Return whether any of the rows that layer i, or any layer, outputs or keeps are overwritten before they are
   used. */
bool sl_activations_lost(const sl_activations *a, int i);
bool sl_activations_any_lost(const sl_activations *a);

/* With bf16: narrow stores 16-bit copies of the lost rows that the backward call of layer i needs; call it
 * after the layer's forward call and before the next layer's. widen restores them; call it before the layer's
 * backward call. Otherwise they do nothing. */
sley_status sl_activations_narrow(const sl_activations *a, int i);
sley_status sl_activations_widen(const sl_activations *a, int i);

/* Frees the memory. Accepts a zeroed struct. */
void sl_activations_close(sl_activations *a);

#endif
