/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduces and all-gathers that MPI runs itself, between ranks of several workgroups. Not reduce-scatters:
 * Open MPI's non-blocking one reduces all parts on one rank, and takes twice as long as exchanges.
 *
 * The calls do not block, and the rank polls them. MPI cannot cancel a collective: after a failure it may
 * read and write its buffers as long as some rank does not take part. So values travel in pieces through
 * memory of the transport's own, up to SLOTS pieces at a time. That also keeps counts within int, and serves
 * devices without host addresses. All ranks meet before the first piece, so a rank that fails before that has
 * begun nothing. After a failure in between, the living ranks complete the remaining pieces with any values:
 * sl_mpi_end_dense. */
#include "base/memory.h"
#include "transport/dense_collective.h"
#include "transport/mpi/mpi_comm.h"

enum { SLOTS = 2, SLOT_BYTES = 4 << 20 };

/* A piece in flight: of every part the values from piece * most on, at most `most`. */
typedef struct slot {
  char *result; /* results for the parts, one part after another */
  char *given;  /* input of an all-reduce, because Open MPI would send more data in place; else NULL */
  int *count;   /* number of values of each part */
  int *at;      /* position of each part; MPI reads both arrays until the piece is done */
  MPI_Request request;
} slot;

typedef struct sl_mpi_dense {
  sl_dense_native base;
  sl_mpi_comm *comm;
  uint64_t id;
  bool reduces;
  MPI_Datatype type;
  MPI_Op op;
  int64_t value_bytes;
  int parts;            /* all-gather: one for each rank; else 1 */
  int64_t *begin;       /* parts + 1 entries: part r is values begin[r] .. begin[r + 1] - 1 of all */
  int64_t most, pieces; /* maximum number of values of a part in a piece, and number of pieces; see slot */
  int64_t started, done;
  bool is_dropped; /* destroyed before all pieces were done */
  slot slots[SLOTS];
} sl_mpi_dense;

/* ---- making */

/* Returns whether MPI can run the collective faster than exchanges. MPI cannot add 16-bit values. In one
 * workgroup, and for short arrays, exchanges are as fast. */
static bool serves(const sl_comm *comm, const sl_dense_spec *spec) {
  int64_t values = spec->counts ? 0 : spec->count, each = (int64_t)sley_type_bytes(spec->type);
  for (int r = 0; r < comm->size && spec->counts; r++)
    values += spec->counts[r];
  const sley_collective_kind_info *kind = &sl_collective_kind_of(spec->kind)->info;
  if (!kind->whole && !spec->counts)
    values *= comm->size;
  if (!kind->gathers || (kind->reduces && (spec->type == SLEY_TYPE_F16 || spec->type == SLEY_TYPE_BF16)))
    return false;
  return sl_workgroups(comm) > 1 && values > SL_DENSE_ONE_EXCHANGE / comm->size / each;
}

/* Returns the MPI type. An all-gather moves bits. Sums of i64 wrap around, which is defined for unsigned
 * types. */
static MPI_Datatype type_of(const sl_dense_spec *spec) {
  const bool reduces = sl_collective_kind_of(spec->kind)->info.reduces;
  if (reduces && spec->type == SLEY_TYPE_F32)
    return MPI_FLOAT;
  if (reduces && spec->type == SLEY_TYPE_F64)
    return MPI_DOUBLE;
  if (reduces && spec->op != SLEY_SUM)
    return MPI_INT64_T;
  const size_t bytes = sley_type_bytes(spec->type);
  return bytes == 1 ? MPI_UINT8_T : bytes == 2 ? MPI_UINT16_T : bytes == 4 ? MPI_UINT32_T : MPI_UINT64_T;
}

static void drop(sl_mpi_dense *dense) {
  for (int s = 0; s < SLOTS; s++) {
    sl_free(dense->slots[s].at);
    sl_free(dense->slots[s].count);
    sl_free(dense->slots[s].given);
    sl_free(dense->slots[s].result);
  }
  sl_free(dense->begin);
  sl_free(dense);
}

static void destroy(sl_dense_native *native) {
  sl_mpi_dense *dense = (sl_mpi_dense *)native;
  if (dense->comm->running == dense)
    dense->is_dropped = true;
  else
    drop(dense);
}

static sley_status take_slots(sl_mpi_dense *dense) {
  int64_t longest = 0, room = SLOT_BYTES / dense->value_bytes / dense->parts;
  for (int r = 0; r < dense->parts; r++)
    if (dense->begin[r + 1] - dense->begin[r] > longest)
      longest = dense->begin[r + 1] - dense->begin[r];
  dense->most = room > longest ? longest : room > 0 ? room : 1;
  dense->pieces = (longest + dense->most - 1) / dense->most;
  for (int s = 0; s < SLOTS; s++) {
    slot *one = &dense->slots[s];
    one->request = MPI_REQUEST_NULL;
    SL_TRY(SL_NEW(one->count, dense->parts, "a collective"));
    SL_TRY(SL_NEW(one->at, dense->parts, "a collective"));
    one->result = sl_alloc(dense->most * dense->parts, (size_t)dense->value_bytes, "a collective");
    if (!one->result)
      return SLEY_ERR_MEMORY;
    if (dense->reduces && !(one->given = sl_alloc(dense->most, (size_t)dense->value_bytes, "a collective")))
      return SLEY_ERR_MEMORY;
  }
  return SLEY_OK;
}

/* ---- pieces */

/* Sets the counts of piece `started`. */
static void lay_out(const sl_mpi_dense *dense, slot *one) {
  int at = 0;
  for (int r = 0; r < dense->parts; r++) {
    int64_t left = dense->begin[r + 1] - dense->begin[r] - dense->started * dense->most;
    one->count[r] = (int)(left < 0 ? 0 : left < dense->most ? left : dense->most);
    one->at[r] = at;
    at += one->count[r];
  }
}

/* Starts piece `started`, whose input has been copied in. */
static sley_status start(sl_mpi_dense *dense, slot *one) {
  MPI_Comm comm = dense->comm->collectives;
  int code;
  sl_mpi_enter();
  if (dense->reduces)
    code =
        MPI_Iallreduce(one->given, one->result, one->count[0], dense->type, dense->op, comm, &one->request);
  else
    code = MPI_Iallgatherv(MPI_IN_PLACE, 0, dense->type, one->result, one->count, one->at, dense->type, comm,
                           &one->request);
  sl_mpi_leave();
  SL_TRY(sl_mpi_check(code, dense->reduces ? "MPI_Iallreduce" : "MPI_Iallgatherv"));
  dense->started++;
  return SLEY_OK;
}

static bool may_start(const sl_mpi_dense *dense) {
  return dense->started < dense->pieces && dense->started - dense->done < SLOTS;
}

static slot *slot_of(sl_mpi_dense *dense, int64_t piece) {
  return &dense->slots[piece % SLOTS];
}

sley_status sl_mpi_end_dense(sl_mpi_comm *comm, bool *over) {
  sl_mpi_dense *dense = comm->running;
  int done = 1;
  while (dense && dense->done < dense->pieces && done) {
    while (may_start(dense)) {
      lay_out(dense, slot_of(dense, dense->started));
      SL_TRY(start(dense, slot_of(dense, dense->started)));
    }
    SL_TRY(sl_mpi_test(&slot_of(dense, dense->done)->request, 1, &done, NULL));
    dense->done += done;
  }
  *over = done;
  if (!dense || !done)
    return SLEY_OK;
  comm->running = NULL;
  if (dense->is_dropped)
    drop(dense);
  return SLEY_OK;
}

/* ---- running */

static char *value_at(const sl_mpi_dense *dense, const void *array, int64_t i) {
  return (char *)array + i * dense->value_bytes;
}

/* Copies this rank's input of piece `started`, whose counts are set. */
static sley_status copy_in(const sl_mpi_dense *dense, const slot *one, const void *src, sl_queue *queue) {
  const int part = dense->reduces ? 0 : dense->comm->base.base.rank;
  char *to = dense->reduces ? one->given : value_at(dense, one->result, one->at[part]);
  if (one->count[part] == 0)
    return SLEY_OK;
  return queue->ops->copy(queue, SL_COPY_TO_HOST, to, value_at(dense, src, dense->started * dense->most),
                          one->count[part] * dense->value_bytes);
}

/* Copies the result of piece `done` out. */
static sley_status copy_out(const sl_mpi_dense *dense, const slot *one, void *dst, sl_queue *queue) {
  for (int r = 0; r < dense->parts; r++)
    if (one->count[r] > 0)
      SL_TRY(queue->ops->copy(queue, SL_COPY_TO_DEVICE,
                              value_at(dense, dst, dense->begin[r] + dense->done * dense->most),
                              value_at(dense, one->result, one->at[r]), one->count[r] * dense->value_bytes));
  return SLEY_OK;
}

static sley_status run_pieces(sl_mpi_dense *dense, const void *src, void *dst, sl_queue *queue) {
  sl_process_comm *comm = &dense->comm->base;
  const sl_mpi_wait wait = {
      .mesh = comm->mesh, .timeout = comm->timeout, .what = "a rank's part in a collective"};
  while (dense->done < dense->pieces) {
    while (may_start(dense)) {
      slot *next = slot_of(dense, dense->started);
      lay_out(dense, next);
      SL_TRY(copy_in(dense, next, src, queue));
      SL_TRY(sl_process_wait_for(comm, queue));
      SL_TRY(start(dense, next));
    }
    slot *first = slot_of(dense, dense->done);
    SL_TRY(sl_mpi_settle(MPI_SUCCESS, &first->request, wait));
    SL_TRY(copy_out(dense, first, dst, queue));
    dense->done++;
  }
  return sl_process_wait_for(comm, queue);
}

static sley_status run(sl_dense_native *native, const void *src, void *dst, sl_queue *queue) {
  sl_mpi_dense *dense = (sl_mpi_dense *)native;
  sl_mpi_comm *comm = dense->comm;
  SL_TRY(sl_mesh_agree(comm->base.mesh, "run a collective", (int64_t)dense->id, 0, SLEY_OK));
  dense->started = dense->done = 0;
  comm->running = dense;
  SL_TRY(run_pieces(dense, src, dst, queue));
  comm->running = NULL;
  return sl_process_over(&comm->base.base, SLEY_OK);
}

/* ---- the interface */

static sley_status make(sl_mpi_comm *comm, const sl_dense_spec *spec, sl_mpi_dense **out) {
  static const MPI_Op ops[] = {[SLEY_SUM] = MPI_SUM, [SLEY_MIN] = MPI_MIN, [SLEY_MAX] = MPI_MAX};
  sl_mpi_dense *dense;
  SL_TRY(SL_NEW_ZERO(dense, 1, "a collective"));
  *out = dense;
  dense->base = (sl_dense_native){.run = run, .destroy = destroy};
  dense->comm = comm;
  dense->id = comm->base.next_id;
  dense->reduces = sl_collective_kind_of(spec->kind)->info.reduces;
  dense->type = type_of(spec);
  dense->op = ops[spec->op];
  dense->value_bytes = (int64_t)sley_type_bytes(spec->type);
  dense->parts = dense->reduces ? 1 : comm->base.base.size;
  SL_TRY(SL_NEW_ZERO(dense->begin, (int64_t)dense->parts + 1, "a collective"));
  if (dense->reduces)
    dense->begin[1] = spec->count;
  else
    sl_dense_lay_out(spec, dense->parts, dense->begin);
  return take_slots(dense);
}

sley_status sl_mpi_dense_native(sl_comm *base, const sl_dense_spec *spec, sl_dense_native **out) {
  sl_mpi_comm *comm = (sl_mpi_comm *)base;
  sl_mpi_dense *dense = NULL;
  *out = NULL;
  if (!serves(base, spec))
    return SLEY_ERR_UNSUPPORTED;
  comm->base.next_id++;
  sley_status status = sl_mesh_agree(comm->base.mesh, "prepare a collective", 0, 0, make(comm, spec, &dense));
  if (status != SLEY_OK) {
    if (dense)
      drop(dense);
    return status;
  }
  *out = &dense->base;
  return SLEY_OK;
}
