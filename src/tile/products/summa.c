/* SPDX-License-Identifier: Apache-2.0 */
/* SUMMA: the tiles of A and X are broadcast to the owners of Y, in as many stages as A has columns of tiles.
 *
 * In stage s each rank that owns tiles of column s of A sends them along its row of the grid, and each rank
 * that owns tiles of row s of X sends them along its column. All tiles of a rank for one stage are a panel,
 * which travels as one message. Then each rank adds the products of both panels to its tiles of Y. Tiles that
 * no task needs (walk.h) are left out.
 *
 * A broadcast is a binomial tree. Each level of the tree is a step, and the steps of successive stages
 * overlap: while stage s is multiplied, the last level of stage s + 1 is in flight, the last but one of stage
 * s + 2, and so on. So a rank sends about one panel per stage, however many ranks a row of the grid has. If
 * all ranks can read each other's memory, the tree has one level: every rank reads the owner's panel.
 *
 * Sources: R. A. van de Geijn and J. Watts, SUMMA: Scalable Universal Matrix Multiplication Algorithm,
 * Concurrency: Practice and Experience 9 (1997); compared with one-sided algorithms by Brock and others. */
#include "base/interrupt.h"
#include "base/memory.h"
#include "tile/broadcast_tree.h"
#include "tile/products/task_loop.h"

/* The broadcasts of one matrix, A or X, along the rank's line of the grid, which is its row for A and its
 * column for X. Panel s consists of the tiles of stage s in the line: tiles (i, s) of A with the line's i, or
 * tiles (s, j) of X with its j. */
typedef struct panels {
  const sl_tiled *of;
  bool of_a;
  int ranks, place; /* number of ranks of the line, and this rank's place in it */
  int first, apart; /* rank first + p * apart has place p */
  sl_broadcast_tree tree;
  int64_t line, step;         /* number of the line; distance between the numbers of its tiles */
  int64_t count;              /* tiles of a panel */
  int64_t *bytes;             /* bytes of each tile of each panel; 0 if no task needs the tile */
  int64_t most;               /* bytes of the largest panel */
  char *room;                 /* device memory for panels in flight and the panel in use, `most` bytes each */
  char *seen;                 /* host memory in which a panel for a device is checked; NULL: not needed */
  const char **tile;          /* addresses of the tiles of the panel in use */
  int64_t *none, *send_bytes; /* arguments of a round: zeros, and lengths; one per rank of the line */
  sl_sized **exchange;        /* one for each level and place of the owner */
} panels;

typedef struct broadcasts {
  sl_task_loop *loop;
  int64_t stages;
  int levels; /* levels of the deeper tree */
  panels side[2];
} broadcasts;

/* ---- panels */

static sl_comm *comm_of(const panels *p) {
  return p->of->comm;
}

/* Sets row and column of tile q of panel s. */
static void place_of(const panels *p, int64_t s, int64_t q, int64_t *i, int64_t *j) {
  const int64_t n = p->line + q * p->step;
  *i = p->of_a ? n : s;
  *j = p->of_a ? s : n;
}

static int owner_of(const panels *p, int64_t s) {
  return (int)(s % p->ranks);
}

static int rank_at(const panels *p, int place) {
  return p->first + place * p->apart;
}

static int64_t panel_bytes(const panels *p, int64_t s) {
  int64_t bytes = 0;
  for (int64_t q = 0; q < p->count; q++)
    bytes += p->bytes[s * p->count + q];
  return bytes;
}

/* ---- creation */

static void shape(panels *p, const sl_tile_operands *o, bool of_a) {
  const sl_tiling *t = of_a ? &o->a->tiling : &o->x->tiling;
  sl_comm *comm = o->y->comm;
  const int row = comm->rank / t->grid_cols, col = comm->rank % t->grid_cols;
  *p = (panels){.of = of_a ? o->a : o->x,
                .of_a = of_a,
                .ranks = of_a ? t->grid_cols : t->grid_rows,
                .place = of_a ? col : row,
                .first = of_a ? row * t->grid_cols : col,
                .apart = of_a ? 1 : t->grid_cols,
                .line = of_a ? row : col,
                .step = of_a ? t->grid_rows : t->grid_cols};
  const int64_t tiles = of_a ? t->down : t->across;
  p->count = p->line < tiles ? (tiles - p->line - 1) / p->step + 1 : 0;
  p->tree = sl_broadcast_tree_of(p->ranks, comm->workgroup == comm->size);
}

static sley_status measure(panels *p, const sl_tile_operands *o, int64_t stages) {
  SL_TRY(SL_NEW(p->bytes, stages * p->count, "sizes of panels"));
  for (int64_t s = 0; s < stages; s++) {
    SL_TRY(sl_interrupted());
    for (int64_t q = 0; q < p->count; q++) {
      int64_t i, j;
      place_of(p, s, q, &i, &j);
      p->bytes[s * p->count + q] =
          sl_tile_is_needed(o, p->of_a, i, j, -1) ? sl_tile_at(p->of, i, j)->bytes : 0;
    }
    const int64_t bytes = panel_bytes(p, s);
    p->most = bytes > p->most ? bytes : p->most;
  }
  return SLEY_OK;
}

static sley_status take_memory(panels *p, int slots) {
  sl_device *device = comm_of(p)->device;
  SL_TRY(SL_NEW_ZERO(p->tile, p->count, "tiles of a panel"));
  SL_TRY(SL_NEW_ZERO(p->none, p->ranks, "a broadcast"));
  SL_TRY(SL_NEW_ZERO(p->send_bytes, p->ranks, "a broadcast"));
  SL_TRY(SL_NEW_ZERO(p->exchange, (int64_t)p->tree.levels * p->ranks, "broadcasts"));
  if (p->tree.levels == 0 || p->most == 0)
    return SLEY_OK;
  if (p->most > INT64_MAX / slots)
    return sl_fail(SLEY_ERR_OVERFLOW, "panels of tiles do not fit 64-bit sizes: use more tiles");
  SL_TRY(device->ops->alloc(device, slots * p->most, "panels of tiles", (void **)&p->room));
  if (p->of->sparse && comm_of(p)->processes && !device->ops->host_addresses &&
      !(p->seen = sl_alloc(p->most, 1, "a panel of tiles")))
    return SLEY_ERR_MEMORY;
  return SLEY_OK;
}

/* Creates the exchange of one level of one owner's broadcasts. lists has a list for each rank of the line. */
static sley_status open_level(panels *p, int64_t stages, int level, int owner, sl_sized_list *lists) {
  const int from = sl_broadcast_parent(&p->tree, owner, level, p->place);
  sl_sized_list recv = {0};
  sl_sized_spec spec = {.name = p->of_a ? "broadcasts of A" : "broadcasts of X",
                        .send = lists,
                        .recv = &recv,
                        .recvs = from >= 0};
  for (int64_t s = owner; s < stages; s += p->ranks) {
    const int64_t bytes = panel_bytes(p, s);
    recv.capacity = bytes > recv.capacity ? bytes : recv.capacity;
  }
  for (int place = 0; place < p->ranks; place++)
    if (sl_broadcast_parent(&p->tree, owner, level, place) == p->place)
      lists[spec.sends++] = (sl_sized_list){.peer = rank_at(p, place), .capacity = recv.capacity};
  if (from >= 0)
    recv.peer = rank_at(p, from);
  return comm_of(p)->ops->sized_create(comm_of(p), &spec, &p->exchange[level * p->ranks + owner]);
}

/* Collective. */
static sley_status open_levels(panels *p, int64_t stages) {
  sl_sized_list *lists;
  sley_status status = sl_agree(comm_of(p), SL_NEW(lists, p->ranks, "a broadcast"));
  for (int level = 0; level < p->tree.levels; level++)
    for (int owner = 0; owner < p->ranks && status == SLEY_OK; owner++)
      status = open_level(p, stages, level, owner, lists);
  sl_free(lists);
  return status;
}

/* Predicts the panels that this rank counts (sl_counters): processes count what they send, threads what they
 * receive. */
static void predict(const panels *p, sl_task_loop *loop, int64_t stages) {
  for (int64_t s = 0; s < stages; s++)
    for (int level = 0; level < p->tree.levels; level++)
      for (int place = 0; place < p->ranks; place++) {
        const int from = sl_broadcast_parent(&p->tree, owner_of(p, s), level, place);
        if (from < 0 || p->place != (loop->comm->processes ? from : place))
          continue;
        sl_task_predict_exchange(loop, rank_at(p, loop->comm->processes ? place : from), panel_bytes(p, s));
      }
}

/* Allocates all memory of this rank. */
static sley_status prepare(broadcasts *summa) {
  const sl_tile_operands *o = summa->loop->o;
  summa->stages = o->a->tiling.across;
  for (int n = 0; n < 2; n++) {
    shape(&summa->side[n], o, n == 0);
    summa->levels = summa->side[n].tree.levels > summa->levels ? summa->side[n].tree.levels : summa->levels;
  }
  for (int n = 0; n < 2; n++) {
    SL_TRY(measure(&summa->side[n], o, summa->stages));
    SL_TRY(take_memory(&summa->side[n], summa->levels + 1));
  }
  return SLEY_OK;
}

static void close_panels(panels *p) {
  for (int n = 0; p->exchange && n < p->tree.levels * p->ranks; n++)
    if (p->exchange[n])
      comm_of(p)->ops->sized_destroy(p->exchange[n]);
  if (p->room)
    comm_of(p)->device->ops->free(comm_of(p)->device, p->room);
  sl_free(p->seen);
  sl_free(p->exchange);
  sl_free(p->send_bytes);
  sl_free(p->none);
  sl_free(p->tile);
  sl_free(p->bytes);
}

static void destroy(void *state) {
  broadcasts *summa = state;
  if (!summa)
    return;
  for (int n = 0; n < 2; n++)
    close_panels(&summa->side[n]);
  sl_free(summa);
}

static sley_status create(sl_task_loop *loop, void **out) {
  broadcasts *summa;
  *out = NULL;
  sley_status status = SL_NEW_ZERO(summa, 1, "broadcasts of tiles");
  if (status == SLEY_OK) {
    summa->loop = loop;
    status = prepare(summa);
  }
  status = sl_agree(loop->comm, status);
  for (int n = 0; n < 2 && status == SLEY_OK; n++) {
    status = open_levels(&summa->side[n], summa->stages);
    predict(&summa->side[n], loop, summa->stages);
  }
  if (status != SLEY_OK) {
    destroy(summa);
    return status;
  }
  *out = summa;
  return SLEY_OK;
}

/* ---- broadcasts */

static char *room_of(const broadcasts *summa, const panels *p, int64_t s) {
  return p->room ? p->room + s % (summa->levels + 1) * p->most : NULL;
}

/* Sets the addresses of the tiles of panel s. */
static void find_tiles(const broadcasts *summa, panels *p, int64_t s) {
  const char *at = room_of(summa, p, s);
  const bool own = owner_of(p, s) == p->place;
  for (int64_t q = 0; q < p->count; q++) {
    const int64_t bytes = p->bytes[s * p->count + q];
    int64_t i, j;
    place_of(p, s, q, &i, &j);
    p->tile[q] = bytes == 0 ? NULL : own ? sl_tile_own(p->of, i, j) : at;
    at += own ? 0 : bytes;
  }
}

/* Sets *out to the address of panel s, which this rank owns: the tiles themselves if they adjoin, else a
 * copy, which is made if `first`. */
static sley_status gather(const broadcasts *summa, panels *p, int64_t s, bool first, const char **out) {
  const sl_comm *comm = comm_of(p);
  char *to = room_of(summa, p, s);
  const char *start = NULL, *end = NULL;
  bool adjoin = true;
  find_tiles(summa, p, s);
  for (int64_t q = 0; q < p->count; q++) {
    if (!p->tile[q])
      continue;
    adjoin &= !start || p->tile[q] == end;
    start = start ? start : p->tile[q];
    end = p->tile[q] + p->bytes[s * p->count + q];
  }
  *out = adjoin ? start : to;
  for (int64_t q = 0; q < p->count && first && !adjoin; q++) {
    const int64_t bytes = p->bytes[s * p->count + q];
    if (bytes > 0)
      SL_TRY(comm->device->ops->copy(comm->queue, SL_COPY_WITHIN, to, p->tile[q], bytes));
    to += bytes;
  }
  return SLEY_OK;
}

static sley_status begin_level(const broadcasts *summa, panels *p, int level, int64_t s) {
  const int owner = owner_of(p, s);
  const int64_t bytes = panel_bytes(p, s);
  char *room = room_of(summa, p, s);
  const char *src = room;
  if (owner == p->place)
    SL_TRY(gather(summa, p, s, level == 0, &src));
  for (int n = 0; n < p->ranks; n++)
    p->send_bytes[n] = bytes;
  const sl_sized_round round = {
      .src = src, .send_at = p->none, .send_bytes = p->send_bytes, .dst = room, .recv_at = p->none};
  return comm_of(p)->ops->sized_begin(p->exchange[level * p->ranks + owner], &round, comm_of(p)->queue);
}

/* Checks the tiles of a panel that another process has sent. */
static sley_status check(const broadcasts *summa, const panels *p, int64_t s) {
  const sl_comm *comm = comm_of(p);
  const char *at = room_of(summa, p, s);
  if (!p->of->sparse || !comm->processes)
    return SLEY_OK;
  if (p->seen) {
    SL_TRY(comm->device->ops->copy(comm->queue, SL_COPY_TO_HOST, p->seen, at, panel_bytes(p, s)));
    SL_TRY(comm->ops->wait(comm_of(p)));
    at = p->seen;
  }
  for (int64_t q = 0; q < p->count; q++) {
    int64_t i, j;
    place_of(p, s, q, &i, &j);
    if (p->bytes[s * p->count + q] > 0)
      SL_TRY(sl_tile_check(p->of, i, j, at));
    at += p->bytes[s * p->count + q];
  }
  return SLEY_OK;
}

static sley_status end_level(const broadcasts *summa, panels *p, int level, int64_t s) {
  const int owner = owner_of(p, s), from = sl_broadcast_parent(&p->tree, owner, level, p->place);
  const int64_t bytes = panel_bytes(p, s);
  int64_t came = 0;
  SL_TRY(comm_of(p)->ops->sized_end(p->exchange[level * p->ranks + owner], &came, comm_of(p)->queue));
  if (from < 0 || bytes == 0)
    return SLEY_OK;
  if (came != bytes)
    return sl_fail_peer(rank_at(p, from), "its panel of tiles has %lld bytes, not %lld", (long long)came,
                        (long long)bytes);
  return check(summa, p, s);
}

/* Begins, or ends, every level that is in flight while stage s is multiplied. */
static sley_status each_level(broadcasts *summa, int64_t s,
                              sley_status (*act)(const broadcasts *, panels *, int, int64_t)) {
  for (int level = 0; level < summa->levels; level++) {
    const int64_t stage = s + summa->levels - level;
    for (int n = 0; n < 2 && stage >= 0 && stage < summa->stages; n++)
      if (level < summa->side[n].tree.levels)
        SL_TRY(act(summa, &summa->side[n], level, stage));
  }
  sl_task_spend(summa->loop, &summa->loop->report->communicate_ms);
  return SLEY_OK;
}

/* ---- a run */

static sley_status multiply(broadcasts *summa, int64_t s, sl_task_body body, void *context) {
  sl_task_loop *loop = summa->loop;
  const sl_tile_operands *o = loop->o;
  panels *of_a = &summa->side[0], *of_x = &summa->side[1];
  find_tiles(summa, of_a, s);
  find_tiles(summa, of_x, s);
  for (int64_t p = 0; p < of_a->count; p++)
    for (int64_t q = 0; q < of_x->count; q++) {
      const sl_tile_task task = {.i = of_a->line + p * of_a->step, .j = of_x->line + q * of_x->step, .l = s};
      if (!sl_task_is(o, &task))
        continue;
      SL_TRY(sl_interrupted());
      const sl_tile a = sl_tile_view(o->a, task.i, s, of_a->tile[p]);
      const sl_tile x = sl_tile_view(o->x, s, task.j, of_x->tile[q]);
      if (o->mask)
        loop->mask = sl_tile_view(o->mask, task.i, task.j, sl_tile_own(o->mask, task.i, task.j));
      SL_TRY(body(context, loop, &task, &a, &x));
    }
  return SLEY_OK;
}

static sley_status run(void *state, sl_task_body body, void *context) {
  broadcasts *summa = state;
  for (int64_t s = -summa->levels; s < summa->stages; s++) {
    SL_TRY(sl_interrupted());
    SL_TRY(each_level(summa, s, begin_level));
    if (s >= 0)
      SL_TRY(multiply(summa, s, body, context));
    SL_TRY(each_level(summa, s, end_level));
  }
  return SLEY_OK;
}

const sl_tile_schedule sl_tile_summa = {.create = create, .run = run, .destroy = destroy};
