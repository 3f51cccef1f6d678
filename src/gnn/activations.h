/* SPDX-License-Identifier: Apache-2.0 */
/* What the layers of a network give and keep from their forward to their backward call, and which of it lies
 * in the same memory:
 *
 *   keep       each has memory of its own
 *   recompute  layers are in segments of `segment` layers. What the last of a segment gives has memory of its
 *              own. All else is in the memory of the layer at the same place of each other segment, so that
 *              layers of one segment alone are there at a time
 *   bf16       layers share memory for values, in turn two pieces for what they give. What a later layer
 *              overwrites is in `narrow` too, in half the bytes; the logits are not shared
 *
 * Something is lost if what a later layer puts in its place is there when the backward call begins. In all
 * ways but keep dropout is made again by the backward call where it is not in place, in one piece of memory.
 * Each piece is a block of the device's memory, from its beginning. */
#ifndef SLEY_GNN_ACTIVATIONS_H
#define SLEY_GNN_ACTIVATIONS_H

#include "sley_gnn.h"

#include "gnn/dense.h"

typedef enum sl_kept_kind {
  SL_KEPT_GAVE,   /* what the layer gave: its activation's gradient and the next layer's backward call need it
                   */
  SL_KEPT_GIVEN,  /* what it was given after dropout, where that is not made in place */
  SL_KEPT_VALUES, /* rows of the network's dtype that its backward call needs */
  SL_KEPT_BITS,   /* the same, never narrowed */
  SL_KEPT_ALWAYS, /* the same, from one step to the next */
  SL_KEPT_NEVER   /* values that nobody needs after a call */
} sl_kept_kind;

enum { SL_MOST_KEPT = 10 }; /* of one layer */

typedef struct sl_kept {
  sl_kept_kind kind;
  int layer, group; /* what has one group may have one piece of memory */
  int64_t bytes;
  sl_rows *rows; /* NULL: no rows */
  void **where;  /* gets the memory */
  bool apart;    /* in memory of its own though others of the group share */
  int block;
  sl_rows narrow; /* in bf16, where it is lost */
} sl_kept;

typedef struct sl_block {
  int64_t bytes;
  int last; /* the layer that uses it last, or -1: nobody does */
  void *data;
} sl_block;

typedef struct sl_activations {
  const sl_dense_work *work;
  int64_t rows; /* this rank's */
  sley_gnn_memory way;
  int layers, segment;
  sl_kept *kept; /* by layers, in the order in which they were added */
  int *count;    /* of each layer, SL_MOST_KEPT apart */
  sl_block *block;
  int64_t bytes; /* of blocks and of what is narrow */
} sl_activations;

/* work outlives it. Errors: SLEY_ERR_MEMORY. */
sley_status sl_activations_open(const sl_dense_work *work, int64_t rows, int layers, sley_gnn_memory way,
                                sl_activations *out);

/* Adds rows of `cols` values, or bytes, of a layer. *out gets memory from sl_activations_take, and none any
 * more when sl_activations_close has freed it. Errors: SLEY_ERR_OVERFLOW. */
sley_status sl_activations_add(sl_activations *a, int layer, sl_kept_kind kind, int64_t cols, sl_rows *out);
void sl_activations_add_bytes(sl_activations *a, int layer, int64_t bytes, void **out);

/* Takes the memory. With recompute, the segments are those that take least on the rank that takes most;
 * spare_bytes: what the network needs beside them to make something again. Collective, agreed. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_activations_take(sl_activations *a, int64_t spare_bytes);

/* Whether something is lost of what layer i gave or kept, or of any. */
bool sl_activations_lost(const sl_activations *a, int i);
bool sl_activations_any_lost(const sl_activations *a);

/* With bf16: what the backward call of layer i needs, and is lost, is narrowed, after the layer's forward
 * call and before the next layer's; widened, before its backward call. Else nothing. */
sley_status sl_activations_narrow(const sl_activations *a, int i);
sley_status sl_activations_widen(const sl_activations *a, int i);

/* Accepts one that is zeroed. */
void sl_activations_close(sl_activations *a);

#endif
