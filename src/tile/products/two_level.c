/* SPDX-License-Identifier: Apache-2.0 */
/* Two levels: tiles of A and X travel between workgroups in few messages, and each workgroup receives an
 * extract of a tile once (extracts.h); within a workgroup ranks read tiles and extracts in each other's
 * memory, and the owners of Y multiply.
 *
 * The extracts of A are the first round of messages, the extracts of X the second: in each at most one
 * message from a rank to a rank. If memory is limited, X travels in blocks of columns of tiles, a round for
 * each, so that extracts take at most half of the limit. Meanwhile a sparse Y is multiplied with tiles of the
 * workgroup itself; a dense Y is not, because its bits would depend on the workgroups. */
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "tile/broadcast_tree.h"
#include "tile/products/extracts.h"
#include "tile/products/task_loop.h"

enum { ROUND_OF_A, FIRST_BLOCK };

/* The messages of one matrix, A or X, between this rank and others. Arrays have an element for each rank. */
typedef struct mail {
  sl_sized *exchange;
  int64_t *send_most, *recv_most;                       /* most bytes in any round */
  int64_t *send_at, *send_bytes, *recv_at, *recv_bytes; /* a round; in the order of the exchange's lists */
  int64_t *came;
  char *send, *landing; /* device memory for a round; landing: only if messages are unpacked */
  char *packed, *seen;  /* host memory for the same, if the host cannot address the device's */
  int64_t sent, landed; /* most bytes of a round */
} mail;

typedef struct two_level {
  sl_task_loop *loop;
  sl_extracts extracts;
  int64_t blocks; /* blocks of columns of tiles of X */
  /* Memory for the extracts that a rank of this workgroup has received is divided into a section for each
   * owner, first of A, then of a block of X. For each rank of the workgroup and each owner: bytes of the
   * section, and bytes that have been placed in it. */
  int64_t *section[2], *placed;
  mail mails[2]; /* arrays of 2 have an element for X, and one for A */
  sl_symm *symm;
  char **blocks_at;  /* addresses of that memory, for each rank; NULL: this rank cannot load it */
  char *expanded;    /* host memory for one tile, for devices; or NULL */
  char *spare[2];    /* memory for one extract that must be copied; or NULL */
  int64_t *found[2]; /* for each tile, the number of the received extract; -1: none */
  sl_tile_fetch fetch[2];
} two_level;

static sl_comm *comm_of(const two_level *t) {
  return t->loop->comm;
}

static const sl_tiled *matrix_of(const two_level *t, bool of_a) {
  return of_a ? t->loop->o->a : t->loop->o->x;
}

static bool on_host(const two_level *t) {
  return comm_of(t)->device->ops->host_addresses;
}

/* ---- rounds */

static int64_t most_blocks(const two_level *t) {
  const sl_tiling *x = &t->loop->o->x->tiling;
  return (x->across - 1) / x->grid_cols + 1;
}

/* The round that moves tile columns j of X. Blocks have about the same number of columns on each rank. */
static int64_t round_of_column(const two_level *t, int64_t j) {
  return FIRST_BLOCK + j / t->loop->o->x->tiling.grid_cols * t->blocks / most_blocks(t);
}

static int64_t round_of(const two_level *t, const sl_extract *e) {
  return e->of_a ? ROUND_OF_A : round_of_column(t, e->j);
}

static bool is_mine(const two_level *t, const sl_extract *e) {
  return e->receiver == comm_of(t)->rank;
}

/* Position of a receiver of this workgroup and an owner in `section`. */
static int64_t pair_of(const two_level *t, int receiver, int owner) {
  const sl_comm *comm = comm_of(t);
  const int first = sl_workgroup_first(comm, sl_workgroup_of(comm, comm->rank));
  return (int64_t)(receiver - first) * comm->size + owner;
}

static int64_t pairs(const two_level *t) {
  const sl_comm *comm = comm_of(t);
  return (int64_t)sl_workgroup_size(comm, sl_workgroup_of(comm, comm->rank)) * comm->size;
}

/* Start of a section in the receiver's memory. */
static int64_t section_at(const two_level *t, bool of_a, int receiver, int owner) {
  const int size = comm_of(t)->size;
  int64_t at = 0;
  for (int q = 0; !of_a && q < size; q++)
    at += t->section[1][pair_of(t, receiver, q)];
  for (int q = 0; q < owner; q++)
    at += t->section[of_a][pair_of(t, receiver, q)];
  return at;
}

/* Sets the sizes of sections, then the offset of each received extract. */
static void place(two_level *t) {
  sl_extracts *x = &t->extracts;
  for (int n = 0; n < 2; n++)
    memset(t->section[n], 0, (size_t)pairs(t) * sizeof *t->placed);
  for (int offsets = 0; offsets < 2; offsets++)
    for (int64_t round = 0; round < FIRST_BLOCK + t->blocks; round++) {
      memset(t->placed, 0, (size_t)pairs(t) * sizeof *t->placed);
      for (sl_extract *e = x->received; e < x->received + x->receives; e++) {
        const int64_t pair = pair_of(t, e->receiver, e->owner);
        if (round_of(t, e) != round)
          continue;
        if (offsets)
          e->at = section_at(t, e->of_a, e->receiver, e->owner) + t->placed[pair];
        t->placed[pair] += e->room;
        if (t->placed[pair] > t->section[e->of_a][pair])
          t->section[e->of_a][pair] = t->placed[pair];
      }
    }
}

/* Bytes that a rank sends to, and receives from, each rank in a round. */
static void size_round(const two_level *t, int64_t round, int64_t *to, int64_t *from) {
  const sl_extracts *x = &t->extracts;
  memset(to, 0, (size_t)comm_of(t)->size * sizeof *to);
  memset(from, 0, (size_t)comm_of(t)->size * sizeof *from);
  for (const sl_extract *e = x->sent; e < x->sent + x->sends; e++)
    to[e->receiver] += round_of(t, e) == round ? e->bytes : 0;
  for (const sl_extract *e = x->received; e < x->received + x->receives; e++)
    from[e->owner] += is_mine(t, e) && round_of(t, e) == round ? e->bytes : 0;
}

static int64_t more(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Computes the memory of messages and of extracts for t->blocks. Returns its bytes on this rank. */
static int64_t measure(two_level *t) {
  const sl_comm *comm = comm_of(t);
  int64_t bytes = section_at(t, false, comm->rank, comm->size);
  for (int n = 0; n < 2; n++) {
    t->mails[n].sent = t->mails[n].landed = 0;
    memset(t->mails[n].send_most, 0, 2 * (size_t)comm->size * sizeof *t->mails[n].send_most);
  }
  for (int64_t round = 0; round < FIRST_BLOCK + t->blocks; round++) {
    mail *m = &t->mails[round == ROUND_OF_A];
    int64_t sent = 0;
    size_round(t, round, m->send_bytes, m->recv_bytes);
    for (int r = 0; r < comm->size; r++) {
      m->send_most[r] = more(m->send_most[r], m->send_bytes[r]);
      m->recv_most[r] = more(m->recv_most[r], m->recv_bytes[r]);
      sent += m->send_bytes[r];
    }
    m->sent = more(m->sent, sent);
  }
  for (int n = 0; n < 2; n++) {
    for (int r = 0; r < comm->size; r++)
      t->mails[n].landed += t->mails[n].recv_most[r];
    bytes += t->mails[n].sent + (matrix_of(t, n)->sparse ? 0 : t->mails[n].landed);
  }
  return bytes;
}

/* Chooses the number of blocks: the least power of 2 with which extracts take at most half of the limit on
 * every rank, or as many as there can be. Collective, agreed. */
static sley_status choose_blocks(two_level *t) {
  const int64_t limit = t->loop->o->limit, most = most_blocks(t);
  for (t->blocks = 1;; t->blocks = 2 * t->blocks < most ? 2 * t->blocks : most) {
    place(t);
    const int64_t bytes = t->loop->reserved = measure(t);
    int64_t fits = limit == 0 || bytes <= limit / 2;
    SL_TRY(comm_of(t)->ops->allreduce(comm_of(t), SL_MIN, &fits, 1));
    if (fits)
      return SLEY_OK;
    if (t->blocks == most)
      return sl_agree(comm_of(t), bytes <= limit / 2
                                      ? SLEY_OK
                                      : sl_fail(SLEY_ERR_MEMORY,
                                                "rank %d exchanges %lld bytes of tiles with other workgroups "
                                                "at a time, which is more than half of a mem_limit of %lld "
                                                "bytes: use more columns of tiles, or a higher limit",
                                                comm_of(t)->rank, (long long)bytes, (long long)limit));
  }
}

/* ---- creation */

static sley_status take_numbers(two_level *t) {
  const sl_tile_reader reader = t->loop->o->y->sparse ? SL_TILE_FOR_DEVICE_OFTEN : SL_TILE_FOR_DEVICE;
  const int64_t size = comm_of(t)->size;
  for (int n = 0; n < 2; n++) {
    const sl_tiled *of = matrix_of(t, n);
    mail *m = &t->mails[n];
    SL_TRY(SL_NEW_ZERO(m->send_most, 7 * size, "messages of tiles"));
    m->recv_most = m->send_most + size;
    m->send_at = m->recv_most + size;
    m->send_bytes = m->send_at + size;
    m->recv_at = m->send_bytes + size;
    m->recv_bytes = m->recv_at + size;
    m->came = m->recv_bytes + size;
    SL_TRY(SL_NEW(t->section[n], pairs(t), "messages of tiles"));
    SL_TRY(SL_NEW(t->found[n], sl_tiles(&of->tiling), "extracts of tiles"));
    memset(t->found[n], -1, (size_t)sl_tiles(&of->tiling) * sizeof *t->found[n]);
    SL_TRY(sl_tile_fetch_open(&t->fetch[n], of, reader));
  }
  for (int64_t n = 0; n < t->extracts.receives; n++) {
    const sl_extract *e = &t->extracts.received[n];
    t->found[e->of_a][sl_tile_number(&matrix_of(t, e->of_a)->tiling, e->i, e->j)] = n;
  }
  SL_TRY(SL_NEW(t->placed, pairs(t), "messages of tiles"));
  return SL_NEW_ZERO(t->blocks_at, size, "addresses of extracts");
}

static sley_status take_device(const two_level *t, int64_t bytes, char **out) {
  sl_device *device = comm_of(t)->device;
  return bytes == 0 ? SLEY_OK : device->ops->alloc(device, bytes, "messages of tiles", (void **)out);
}

static sley_status take_host(int64_t bytes, char **out) {
  return bytes == 0 || (*out = sl_alloc(bytes, 1, "messages of tiles")) ? SLEY_OK : SLEY_ERR_MEMORY;
}

/* Allocates the memory of messages. */
static sley_status take_memory(two_level *t) {
  int64_t widest = 0;
  for (int n = 0; n < 2; n++) {
    mail *m = &t->mails[n];
    SL_TRY(take_device(t, m->sent, &m->send));
    if (!matrix_of(t, n)->sparse)
      SL_TRY(take_device(t, m->landed, &m->landing));
    if (on_host(t))
      continue;
    SL_TRY(take_host(m->sent, &m->packed));
    SL_TRY(take_host(m->landed, &m->seen));
  }
  for (const sl_extract *e = t->extracts.received; e < t->extracts.received + t->extracts.receives; e++)
    widest = is_mine(t, e) && e->room > widest ? e->room : widest;
  return on_host(t) || t->loop->o->x->sparse ? SLEY_OK : take_host(widest, &t->expanded);
}

/* Finds the memory of the workgroup's ranks, and allocates memory for extracts that must be copied. */
static sley_status find_memory(two_level *t) {
  int64_t most[2] = {0};
  t->blocks_at[comm_of(t)->rank] = sl_peer_ptr(t->symm, comm_of(t)->rank);
  for (const sl_extract *e = t->extracts.received; e < t->extracts.received + t->extracts.receives; e++) {
    t->blocks_at[e->receiver] = sl_peer_ptr(t->symm, e->receiver);
    if (!t->blocks_at[e->receiver])
      most[e->of_a] = more(most[e->of_a], e->room);
  }
  for (int n = 0; n < 2; n++)
    SL_TRY(take_device(t, most[n], &t->spare[n]));
  return SLEY_OK;
}

/* Creates the exchange of A, or of X. lists: 2 elements for each rank. Collective. */
static sley_status open_mail(two_level *t, bool of_a, sl_sized_list *lists) {
  mail *m = &t->mails[of_a];
  const int size = comm_of(t)->size;
  sl_sized_spec spec = {
      .name = of_a ? "extracts of A" : "extracts of X", .send = lists, .recv = lists + size};
  for (int r = 0; r < size; r++) {
    if (m->send_most[r] > 0)
      lists[spec.sends++] = (sl_sized_list){.peer = r, .capacity = m->send_most[r]};
    if (m->recv_most[r] > 0)
      lists[size + spec.recvs++] = (sl_sized_list){.peer = r, .capacity = m->recv_most[r]};
  }
  return comm_of(t)->ops->sized_create(comm_of(t), &spec, &m->exchange);
}

/* Collective, agreed. */
static sley_status open_memory(two_level *t) {
  sl_comm *comm = comm_of(t);
  sl_sized_list *lists = NULL;
  sley_status status = take_memory(t);
  if (status == SLEY_OK)
    status = SL_NEW(lists, 2 * (int64_t)comm->size, "messages of tiles");
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sl_symm_alloc(comm, section_at(t, false, comm->rank, comm->size), &t->symm);
  if (status == SLEY_OK)
    status = sl_agree(comm, find_memory(t)); /* addresses may be queried only while their owners exist */
  for (int n = 1; n >= 0 && status == SLEY_OK; n--)
    status = open_mail(t, n, lists);
  sl_free(lists);
  return status;
}

/* Returns the extract that replaces tile (i, j) of another workgroup; NULL: the tile is of this one. */
static const sl_extract *extract_of(const two_level *t, bool of_a, int64_t i, int64_t j) {
  const int64_t n = t->found[of_a][sl_tile_number(&matrix_of(t, of_a)->tiling, i, j)];
  return n < 0 ? NULL : &t->extracts.received[n];
}

static void predict_tile(two_level *t, bool of_a, int64_t i, int64_t j) {
  const sl_extract *e = extract_of(t, of_a, i, j);
  const sl_tile_pointer *tile = sl_tile_at(matrix_of(t, of_a), i, j);
  sl_task_predict(t->loop, e ? e->receiver : tile->rank, e ? e->room : tile->bytes);
}

/* Predicts the messages that this rank counts, as summa.c does, and the tiles that it reads. */
static void predict(two_level *t) {
  const sl_comm *comm = comm_of(t);
  sl_tile_task task;
  for (int64_t round = 0; round < FIRST_BLOCK + t->blocks; round++) {
    const mail *m = &t->mails[round == ROUND_OF_A];
    size_round(t, round, m->send_bytes, m->recv_bytes);
    for (int r = 0; r < comm->size; r++)
      sl_task_predict_exchange(t->loop, r, comm->processes ? m->send_bytes[r] : m->recv_bytes[r]);
  }
  for (sl_walk walk = sl_walk_begin(t->loop->o, comm->rank); sl_walk_next(&walk, &task);) {
    predict_tile(t, true, task.i, task.l);
    predict_tile(t, false, task.l, task.j);
  }
}

/* Bytes that this rank would send to other workgroups for a tile, with tile-summa: by the tree of its line of
 * the grid. */
static int64_t summa_bytes(const sl_tile_operands *o, bool of_a, int64_t i, int64_t j) {
  const sl_tiled *of = of_a ? o->a : o->x;
  const sl_tiling *g = &of->tiling;
  const sl_comm *comm = of->comm;
  const int ranks = of_a ? g->grid_cols : g->grid_rows, apart = of_a ? 1 : g->grid_cols;
  const int first = of_a ? (int)(i % g->grid_rows) * g->grid_cols : (int)(j % g->grid_cols);
  const int owner = (sl_tile_at(of, i, j)->rank - first) / apart;
  const sl_broadcast_tree tree = sl_broadcast_tree_of(ranks, comm->workgroup == comm->size);
  int64_t bytes = 0;
  for (int level = 0; level < tree.levels; level++)
    for (int place = 0; place < ranks; place++) {
      const int from = sl_broadcast_parent(&tree, owner, level, place);
      if (from >= 0 && first + from * apart == comm->rank &&
          sl_link_to(comm, first + place * apart) == SL_LINK_MESSAGE)
        bytes += sl_tile_at(of, i, j)->bytes;
    }
  return bytes;
}

/* Reports what the bytes between workgroups are compared with. */
static void report_levels(two_level *t) {
  const sl_tile_operands *o = t->loop->o;
  t->loop->report->prepare_bytes = t->extracts.traded;
  t->loop->report->summa_bytes = 0;
  for (int n = 0; n < 2; n++) {
    const sl_tiling *g = &matrix_of(t, n)->tiling;
    for (int64_t i = 0; i < g->down; i++)
      for (int64_t j = 0; j < g->across; j++)
        if (sl_tile_is_needed(o, n, i, j, -1))
          t->loop->report->summa_bytes += summa_bytes(o, n, i, j);
  }
}

static void destroy(void *state) {
  two_level *t = state;
  if (!t)
    return;
  sl_device *device = comm_of(t)->device;
  for (int n = 1; n >= 0; n--) {
    mail *m = &t->mails[n];
    char *device_memory[] = {m->send, m->landing, t->spare[n]};
    if (m->exchange)
      comm_of(t)->ops->sized_destroy(m->exchange);
    for (int i = 0; i < 3; i++)
      if (device_memory[i])
        device->ops->free(device, device_memory[i]);
    sl_free(m->packed);
    sl_free(m->seen);
    sl_free(m->send_most);
    sl_free(t->section[n]);
    sl_free(t->found[n]);
    sl_tile_fetch_close(&t->fetch[n]);
  }
  sl_symm_free(t->symm);
  sl_free(t->placed);
  sl_free(t->expanded);
  sl_free(t->blocks_at);
  sl_extracts_close(&t->extracts);
  sl_free(t);
}

static sley_status create(sl_task_loop *loop, void **out) {
  two_level *t;
  *out = NULL;
  sley_status status = SL_NEW_ZERO(t, 1, "a product on two levels");
  if (status == SLEY_OK)
    t->loop = loop;
  status = sl_agree(loop->comm, status);
  if (status == SLEY_OK)
    status = sl_extracts_open(&t->extracts, loop->o);
  if (status == SLEY_OK)
    status = sl_agree(loop->comm, take_numbers(t));
  if (status == SLEY_OK)
    status = choose_blocks(t);
  if (status == SLEY_OK)
    status = open_memory(t);
  if (status != SLEY_OK) {
    destroy(t);
    return status;
  }
  predict(t);
  report_levels(t);
  *out = t;
  return SLEY_OK;
}

/* ---- a round */

static sley_status copy(const two_level *t, sl_copy_kind kind, char *to, const char *from, int64_t bytes) {
  return bytes == 0 ? SLEY_OK : comm_of(t)->device->ops->copy(comm_of(t)->queue, kind, to, from, bytes);
}

/* Writes the messages of a round, one after the other by their receivers. */
static sley_status pack(two_level *t, int64_t round, char *to) {
  const sl_extracts *x = &t->extracts;
  char *own[2] = {0};
  SL_TRY(sl_tiled_own_open(t->loop->o->a, true, &own[1]));
  sley_status status = sl_tiled_own_open(t->loop->o->x, true, &own[0]);
  for (int r = 0; r < comm_of(t)->size && status == SLEY_OK; r++)
    for (const sl_extract *e = x->sent; e < x->sent + x->sends && status == SLEY_OK; e++) {
      if (e->receiver != r || round_of(t, e) != round)
        continue;
      const char *tile = own[e->of_a] + sl_tile_at(matrix_of(t, e->of_a), e->i, e->j)->offset;
      status = sl_extract_pack(x, e, tile, to);
      to += e->bytes;
    }
  sl_tiled_own_drop(t->loop->o->x, own[0]);
  sl_tiled_own_drop(t->loop->o->a, own[1]);
  return status;
}

static sley_status begin_round(two_level *t, int64_t round) {
  const sl_comm *comm = comm_of(t);
  const bool of_a = round == ROUND_OF_A;
  mail *m = &t->mails[of_a];
  int64_t sends = 0, recvs = 0, send_at = 0, landing = 0;
  size_round(t, round, m->send_bytes, m->recv_bytes);
  for (int r = 0; r < comm->size; r++) {
    const int64_t bytes = m->send_bytes[r];
    if (m->send_most[r] > 0) {
      m->send_at[sends] = send_at;
      m->send_bytes[sends++] = bytes; /* sends <= r */
      send_at += bytes;
    }
    if (m->recv_most[r] == 0)
      continue;
    m->recv_at[recvs] = m->landing ? landing : section_at(t, of_a, comm->rank, r);
    m->recv_bytes[recvs++] = m->recv_bytes[r];
    landing += m->recv_most[r];
  }
  SL_TRY(pack(t, round, m->packed ? m->packed : m->send));
  if (m->packed)
    SL_TRY(copy(t, SL_COPY_TO_DEVICE, m->send, m->packed, send_at));
  const sl_sized_round messages = {.src = m->send,
                                   .send_at = m->send_at,
                                   .send_bytes = m->send_bytes,
                                   .dst = m->landing ? m->landing : t->blocks_at[comm->rank],
                                   .recv_at = m->recv_at};
  return comm->ops->sized_begin(m->exchange, &messages, comm->queue);
}

/* Takes an extract of this rank from its message, which is at `from` in device memory, and at `seen` in host
 * memory. */
static sley_status take(two_level *t, const sl_extract *e, const char *seen) {
  const sl_tile_operands *o = t->loop->o;
  char *to = t->blocks_at[comm_of(t)->rank] + e->at;
  if (matrix_of(t, e->of_a)->sparse)
    return comm_of(t)->processes ? sl_extract_check(o, e, seen) : SLEY_OK;
  if (on_host(t))
    return sl_extract_unpack(o, e, seen, to);
  memset(t->expanded, 0, (size_t)e->room);
  SL_TRY(sl_extract_unpack(o, e, seen, t->expanded));
  return copy(t, SL_COPY_TO_DEVICE, to, t->expanded, e->room);
}

static sley_status end_round(two_level *t, int64_t round) {
  const sl_comm *comm = comm_of(t);
  const sl_extracts *x = &t->extracts;
  mail *m = &t->mails[round == ROUND_OF_A];
  int recvs = 0;
  SL_TRY(comm->ops->sized_end(m->exchange, m->came, comm->queue));
  for (int r = 0; r < comm->size; r++) {
    if (m->recv_most[r] == 0)
      continue;
    const int64_t bytes = m->recv_bytes[recvs];
    const char *at = (m->landing ? m->landing : t->blocks_at[comm->rank]) + m->recv_at[recvs], *seen = at;
    if (m->came[recvs++] != bytes)
      return sl_fail_peer(r, "its message of tiles has %lld bytes, not %lld", (long long)m->came[recvs - 1],
                          (long long)bytes);
    if (!on_host(t)) {
      SL_TRY(copy(t, SL_COPY_TO_HOST, m->seen, at, bytes));
      seen = m->seen;
    }
    for (const sl_extract *e = x->received; e < x->received + x->receives; e++)
      if (is_mine(t, e) && e->owner == r && round_of(t, e) == round) {
        SL_TRY(take(t, e, seen));
        seen += e->bytes;
      }
  }
  return comm->ops->wait(comm_of(t));
}

/* ---- a run */

static sley_status get(two_level *t, bool of_a, int64_t i, int64_t j, sl_tile *out) {
  const sl_extract *e = extract_of(t, of_a, i, j);
  sl_comm *comm = comm_of(t);
  if (!e)
    return sl_tile_get(&t->fetch[of_a], i, j, out);
  const char *at = t->blocks_at[e->receiver] + e->at;
  if (t->blocks_at[e->receiver]) {
    comm->ops->counters_add(comm, sl_link_to(comm, e->receiver), e->room, e->room > 0);
  } else if (e->room > 0) {
    at = t->spare[of_a];
    SL_TRY(sl_rma_after(t->symm, comm->queue)); /* the queue may still read the previous extract */
    SL_TRY(sl_get(t->symm, e->receiver, e->at, t->spare[of_a], e->room));
  }
  if (matrix_of(t, of_a)->sparse) {
    const sl_tile_shape shape = sl_extract_shape(t->loop->o, e);
    *out = sl_sparse_tile_view(&shape, at);
  } else {
    *out = sl_tile_view(matrix_of(t, of_a), i, j, at);
  }
  return SLEY_OK;
}

/* Runs the tasks of a block: those whose tiles are all of this workgroup, or the others; or, with `all`,
 * every task in order. */
static sley_status multiply(two_level *t, int64_t round, bool all, bool near, sl_task_body body,
                            void *context) {
  sl_task_loop *loop = t->loop;
  const sl_tile_operands *o = loop->o;
  sl_tile_task task;
  sl_tile a, x;
  for (sl_walk walk = sl_walk_begin(o, loop->comm->rank); sl_walk_next(&walk, &task);) {
    const bool is_near = !extract_of(t, true, task.i, task.l) && !extract_of(t, false, task.l, task.j);
    if (round_of_column(t, task.j) != round || (!all && near != is_near))
      continue;
    SL_TRY(sl_interrupted());
    SL_TRY(get(t, true, task.i, task.l, &a));
    SL_TRY(get(t, false, task.l, task.j, &x));
    if (o->mask)
      loop->mask = sl_tile_view(o->mask, task.i, task.j, sl_tile_own(o->mask, task.i, task.j));
    sl_task_spend(loop, &loop->report->communicate_ms);
    SL_TRY(body(context, loop, &task, &a, &x));
  }
  return SLEY_OK;
}

static sley_status run_block(two_level *t, int64_t round, sl_task_body body, void *context) {
  const sl_comm *comm = comm_of(t);
  const bool ahead = t->loop->o->y->sparse, first = round == FIRST_BLOCK;
  SL_TRY(comm->ops->wait(comm_of(t)));
  SL_TRY(comm->ops->barrier(comm_of(t))); /* nobody reads the previous block any more */
  if (first)
    SL_TRY(begin_round(t, ROUND_OF_A));
  SL_TRY(begin_round(t, round));
  sl_task_spend(t->loop, &t->loop->report->communicate_ms);
  if (ahead)
    SL_TRY(multiply(t, round, false, true, body, context));
  if (first)
    SL_TRY(end_round(t, ROUND_OF_A));
  SL_TRY(end_round(t, round));
  SL_TRY(comm->ops->barrier(comm_of(t))); /* the workgroup has received its extracts */
  sl_task_spend(t->loop, &t->loop->report->communicate_ms);
  return multiply(t, round, !ahead, false, body, context);
}

static sley_status run(void *state, sl_task_body body, void *context) {
  two_level *t = state;
  for (int64_t round = FIRST_BLOCK; round < FIRST_BLOCK + t->blocks; round++)
    SL_TRY(run_block(t, round, body, context));
  return SLEY_OK;
}

const sl_tile_schedule sl_tile_two_level = {.create = create, .run = run, .destroy = destroy};
