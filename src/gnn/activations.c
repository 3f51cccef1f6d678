/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which memory layers share. */
#include "gnn/activations.h"

#include "base/memory.h"

/* Groups of a layer's rows: its output, its input, and the others in their order. */
enum { GROUP_GAVE, GROUP_GIVEN, GROUP_REST, GROUPS = GROUP_REST + SL_MOST_KEPT };

sley_status sl_activations_open(const sl_dense_work *work, int64_t rows, int layers, sley_gnn_memory way,
                                sl_activations *out) {
  *out = (sl_activations){.work = work, .rows = rows, .way = way, .layers = layers, .segment = layers};
  SL_TRY(SL_NEW_ZERO(out->count, layers, "a network's layers"));
  SL_TRY(SL_NEW_ZERO(out->kept, layers * SL_MOST_KEPT, "a network's layers"));
  return SL_NEW_ZERO(out->block, 2 * layers * GROUPS, "a network's layers");
}

static sl_kept *kept_of(const sl_activations *a, int layer) {
  return &a->kept[layer * SL_MOST_KEPT];
}

/* Group of a layer's next rows. Layers of one kind add the same rows in the same order, except for their
 * inputs. */
static int group_of(const sl_activations *a, int layer, sl_kept_kind kind) {
  int group = GROUP_REST;
  if (kind == SL_KEPT_GAVE || kind == SL_KEPT_GIVEN)
    return kind == SL_KEPT_GAVE ? GROUP_GAVE : GROUP_GIVEN;
  for (int n = 0; n < a->count[layer]; n++)
    group += kept_of(a, layer)[n].group >= GROUP_REST;
  return group;
}

static sl_kept *add(sl_activations *a, int layer, sl_kept_kind kind, int64_t bytes, void **where) {
  const int group = group_of(a, layer, kind);
  sl_kept *k = &kept_of(a, layer)[a->count[layer]++];
  *k = (sl_kept){.kind = kind, .layer = layer, .group = group, .bytes = bytes, .where = where};
  return k;
}

sley_status sl_activations_add(sl_activations *a, int layer, sl_kept_kind kind, int64_t cols, sl_rows *out) {
  int64_t bytes;
  SL_TRY(sl_rows_shape(a->work->dtype, a->rows, cols, out, &bytes));
  add(a, layer, kind, bytes, &out->data)->rows = out;
  return SLEY_OK;
}

void sl_activations_add_bytes(sl_activations *a, int layer, int64_t bytes, void **out) {
  add(a, layer, SL_KEPT_BITS, bytes, out);
}

/* ---- which rows share memory */

/* Returns the number of the block for k. Each layer has a separate block with number `layers` + layer; lower
 * numbers are shared. */
static int place_of(const sl_activations *a, const sl_kept *k) {
  const int own = a->layers + k->layer, i = k->layer, segment = a->segment;
  if (a->way == SLEY_GNN_KEEP || k->kind == SL_KEPT_ALWAYS || k->apart)
    return own;
  if (k->kind == SL_KEPT_GIVEN || k->kind == SL_KEPT_NEVER)
    return 0;
  if (a->way == SLEY_GNN_RECOMPUTE)
    return k->kind == SL_KEPT_GAVE && (i % segment == segment - 1 || i == a->layers - 1) ? own : i % segment;
  if (k->kind == SL_KEPT_GAVE)
    return i == a->layers - 1 ? own : i % 2;
  return k->kind == SL_KEPT_VALUES ? 0 : own;
}

/* Assigns a block to all kept rows. */
static void lay_out(sl_activations *a) {
  for (int i = 0; i < 2 * a->layers * GROUPS; i++)
    a->block[i] = (sl_block){.last = -1};
  for (int i = 0; i < a->layers; i++)
    for (int n = 0; n < a->count[i]; n++) {
      sl_kept *k = &kept_of(a, i)[n];
      k->block = place_of(a, k) * GROUPS + k->group;
      sl_block *b = &a->block[k->block];
      b->bytes = k->bytes > b->bytes ? k->bytes : b->bytes;
      b->last = i;
    }
}

static bool is_lost(const sl_activations *a, const sl_kept *k) {
  return k->kind != SL_KEPT_GIVEN && k->kind != SL_KEPT_NEVER && a->block[k->block].last != k->layer;
}

bool sl_activations_lost(const sl_activations *a, int i) {
  for (int n = 0; n < a->count[i]; n++)
    if (is_lost(a, &kept_of(a, i)[n]))
      return true;
  return false;
}

bool sl_activations_any_lost(const sl_activations *a) {
  for (int i = 0; i < a->layers; i++)
    if (sl_activations_lost(a, i))
      return true;
  return false;
}

/* ---- recompute: the length of segments */

static int64_t block_bytes(const sl_activations *a) {
  int64_t bytes = 0;
  for (int i = 0; i < 2 * a->layers * GROUPS; i++)
    bytes += a->block[i].bytes;
  return bytes;
}

/* Chooses the longest of the segment lengths that need the least memory. A segment of all layers recomputes
 * nothing. */
static sley_status choose_segment(sl_activations *a, int64_t spare_bytes, int64_t *bytes) {
  sl_comm *comm = a->work->comm;
  int best = a->layers;
  for (a->segment = 1; a->segment <= a->layers; a->segment++) {
    lay_out(a);
    bytes[a->segment - 1] = block_bytes(a) + (sl_activations_any_lost(a) ? spare_bytes : 0);
  }
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, bytes, a->layers));
  for (int segment = a->layers; segment >= 1; segment--)
    if (bytes[segment - 1] < bytes[best - 1])
      best = segment;
  a->segment = best;
  return SLEY_OK;
}

static sley_status find_segment(sl_activations *a, int64_t spare_bytes) {
  int64_t *bytes = NULL;
  sley_status status = sl_agree(a->work->comm, SL_NEW(bytes, a->layers, "a network's segments"));
  if (status == SLEY_OK)
    status = choose_segment(a, spare_bytes, bytes);
  sl_free(bytes);
  return status;
}

/* ---- bf16: which values share memory */

/* The values of layer i in the group, or NULL. */
static sl_kept *values_of(const sl_activations *a, int i, int group) {
  for (int n = 0; n < a->count[i]; n++)
    if (kept_of(a, i)[n].group == group && kept_of(a, i)[n].kind == SL_KEPT_VALUES)
      return &kept_of(a, i)[n];
  return NULL;
}

/* 16-bit units per row that all layers need, if rows of up to `most` values share memory. */
static int64_t cost_of(const sl_activations *a, int group, int64_t most) {
  int64_t apart = 0, narrow = 0, last = 0;
  for (int i = 0; i < a->layers; i++) {
    const sl_kept *k = values_of(a, i, group);
    if (!k)
      continue;
    if (k->rows->ld > most)
      apart += 2 * k->rows->ld;
    else
      narrow += last = k->rows->ld;
  }
  return apart + 2 * most + narrow - last;
}

/* Keeps wide rows of a few layers apart from the narrow rows of others if that needs the least memory. The
 * choice depends only on the layers, so that all ranks round the same values. */
static void find_apart(const sl_activations *a, int group) {
  int64_t best = 0, least = cost_of(a, group, 0);
  for (int i = 0; i < a->layers; i++) {
    const sl_kept *k = values_of(a, i, group);
    if (k && cost_of(a, group, k->rows->ld) < least) {
      best = k->rows->ld;
      least = cost_of(a, group, best);
    }
  }
  for (int i = 0; i < a->layers; i++) {
    sl_kept *k = values_of(a, i, group);
    if (k)
      k->apart = k->rows->ld > best;
  }
}

/* ---- memory */

static sley_status take_bytes(sl_activations *a, int64_t bytes, void **out) {
  sl_device *device = a->work->comm->device;
  a->bytes += bytes;
  return device->ops->alloc(device, bytes, "rows of a network", out);
}

/* Allocates narrow rows without gaps, because only the conversion kernel reads them. */
static sley_status take_narrow(sl_activations *a, sl_kept *k) {
  const int64_t rows = k->rows->rows, cols = k->rows->cols;
  k->narrow = (sl_rows){.rows = rows, .cols = cols, .ld = cols};
  return take_bytes(a, rows * cols * (int64_t)sley_dtype_bytes(SLEY_BF16), &k->narrow.data);
}

static sley_status take_all(sl_activations *a) {
  for (int i = 0; i < a->layers; i++)
    for (int n = 0; n < a->count[i]; n++) {
      sl_kept *k = &kept_of(a, i)[n];
      sl_block *b = &a->block[k->block];
      if (!b->data)
        SL_TRY(take_bytes(a, b->bytes, &b->data));
      *k->where = b->data;
      if (a->way == SLEY_GNN_BF16 && is_lost(a, k))
        SL_TRY(take_narrow(a, k));
    }
  return SLEY_OK;
}

sley_status sl_activations_take(sl_activations *a, int64_t spare_bytes) {
  if (a->way == SLEY_GNN_RECOMPUTE)
    SL_TRY(find_segment(a, spare_bytes));
  for (int group = GROUP_REST; group < GROUPS && a->way == SLEY_GNN_BF16; group++)
    find_apart(a, group);
  lay_out(a);
  return sl_agree(a->work->comm, take_all(a));
}

void sl_activations_close(sl_activations *a) {
  sl_device *device = a->work ? a->work->comm->device : NULL;
  for (int i = a->layers - 1; i >= 0 && a->kept && a->block; i--)
    for (int n = a->count[i] - 1; n >= 0; n--) {
      sl_kept *k = &kept_of(a, i)[n];
      sl_block *b = &a->block[k->block];
      *k->where = NULL;
      sl_rows_give(a->work->comm, &k->narrow);
      if (b->data)
        device->ops->free(device, b->data);
      b->data = NULL;
    }
  sl_free(a->block);
  sl_free(a->kept);
  sl_free(a->count);
  *a = (sl_activations){0};
}

/* ---- narrow and wide */

/* Converts a layer's output, or the rows that it keeps. */
static sley_status convert(const sl_activations *a, int i, sl_kept_kind kind, bool widen) {
  for (int n = 0; n < a->count[i]; n++) {
    const sl_kept *k = &kept_of(a, i)[n];
    if (k->kind != kind || !k->narrow.data)
      continue;
    SL_TRY(widen ? sl_dense_convert(a->work, k->narrow, SLEY_BF16, *k->rows, SLEY_F32)
                 : sl_dense_convert(a->work, *k->rows, SLEY_F32, k->narrow, SLEY_BF16));
  }
  return SLEY_OK;
}

sley_status sl_activations_narrow(const sl_activations *a, int i) {
  if (i > 0)
    SL_TRY(convert(a, i - 1, SL_KEPT_GAVE, false));
  return convert(a, i, SL_KEPT_VALUES, false);
}

sley_status sl_activations_widen(const sl_activations *a, int i) {
  if (i > 0)
    SL_TRY(convert(a, i - 1, SL_KEPT_GAVE, true));
  return convert(a, i, SL_KEPT_VALUES, true);
}
