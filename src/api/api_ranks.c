/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of the public interface: argument checks, the transport by name, and the timeline of a run. */
#include <string.h>

#include "base/memory.h"
#include "base/outfile.h"
#include "base/structs.h"
#include "base/team.h"
#include "bootstrap/launcher.h"
#include "bootstrap/place.h"
#include "transport/transport_registry.h"
#include "transport/trace/trace.h"

/* Takes the caller's options over the defaults; shorter structs of older programs are allowed. */
static sley_status read_options(const sley_rank_options *given, sley_rank_options *out) {
  *out = (sley_rank_options)SLEY_RANK_OPTIONS_INIT;
  SL_TRY(sl_struct_take("sley_rank_options", given, sizeof *out, out));
  if (out->ranks < 1)
    return sl_fail(SLEY_ERR_ARG, "%d ranks: at least 1 is needed", out->ranks);
  if (out->workgroup < 0 || out->threads < 0)
    return sl_fail(SLEY_ERR_ARG, "workgroup %d and threads %d must not be negative", out->workgroup,
                   out->threads);
  if (!out->transport)
    out->transport = "threads";
  return SLEY_OK;
}

/* Sets the open options, which depend on how the ranks are started. */
static sley_status complete_options(const sl_transport_backend *backend, sley_rank_options *o) {
  int here = o->ranks;
  if (backend->process) {
    SL_TRY(sl_place_ranks(o->ranks, &o->ranks));
    here = sl_place_neighbours(o->ranks);
  }
  if (o->workgroup == 0 || o->workgroup > o->ranks)
    o->workgroup = o->ranks;
  if (o->threads == 0)
    o->threads = sl_cores() / here > 1 ? sl_cores() / here : 1;
  return SLEY_OK;
}

typedef struct traced_run {
  sley_rank_fn fn;
  void *arg;
  const char *path;
  sl_trace **traces;
} traced_run;

/* Runs a rank with a recording comm; ranks that are processes send their events to rank 0, which writes
 * them. */
static sley_status traced_main(sley_comm *comm, void *arg) {
  const traced_run *run = arg;
  sl_comm *traced;
  SL_TRY(sl_trace_wrap(comm, run->traces[comm->rank], &traced));
  sley_status status = run->fn(traced, run->arg);
  traced->ops->close(traced);
  if (status == SLEY_OK && comm->processes) {
    status = sl_trace_collect(comm, run->traces);
    if (status == SLEY_OK && comm->rank == 0)
      status = sl_trace_write(run->path, run->traces, comm->size);
  }
  return status;
}

/* Checks early that the timeline can be written, so that no run is wasted. */
static sley_status check_writable(const char *path) {
  sl_outfile file;
  SL_TRY(sl_outfile_open(path, &file));
  sl_outfile_discard(&file);
  return SLEY_OK;
}

/* Runs the ranks and writes the timeline, even if ranks failed; their error takes precedence over an error of
 * writing. */
static sley_status run_traced(const sl_transport_backend *backend, const sl_launch *launch, sley_rank_fn fn,
                              void *arg) {
  traced_run run = {.fn = fn, .arg = arg, .path = launch->trace};
  SL_TRY(check_writable(launch->trace));
  SL_TRY(SL_NEW_ZERO(run.traces, launch->ranks, "the timeline"));
  sley_status status = SLEY_OK;
  int made = 0;
  for (; made < launch->ranks && status == SLEY_OK; made++)
    status = sl_trace_create(made, &run.traces[made]);
  if (status == SLEY_OK) {
    status = backend->run(launch, traced_main, &run);
    sl_error error;
    sl_error_take(status, &error);
    sley_status written = SLEY_OK;
    if (!backend->process)
      written = sl_trace_write(launch->trace, run.traces, launch->ranks);
    status = status != SLEY_OK ? sl_error_restore(&error) : written;
  }
  for (int r = 0; r < made; r++)
    sl_trace_destroy(run.traces[r]);
  sl_free(run.traces);
  return status;
}

sley_status sley_run_ranks(const sley_rank_options *options, sley_rank_fn fn, void *arg) {
  if (!fn)
    return sl_fail(SLEY_ERR_ARG, "sley_run_ranks: fn is NULL");
  sley_rank_options o;
  SL_TRY(read_options(options, &o));
  const sl_transport_backend *backend;
  SL_TRY(sl_transport_backend_choose(o.transport, &backend));
  SL_TRY(complete_options(backend, &o));
  sl_launch launch = {.ranks = o.ranks,
                      .workgroup = o.workgroup,
                      .threads = o.threads,
                      .trace = o.trace,
                      .device = o.device,
                      .timeout = o.timeout};
  sl_outfile_share();
  sley_status status = o.trace ? run_traced(backend, &launch, fn, arg) : backend->run(&launch, fn, arg);
  sl_outfile_sweep(); /* removes files of ranks that were killed */
  return status;
}

sley_status sley_launcher(const char **name, int *rank, int *ranks) {
  if (!name || !rank || !ranks)
    return sl_fail(SLEY_ERR_ARG, "sley_launcher: an argument is NULL");
  sl_launcher launcher;
  *name = NULL;
  *rank = *ranks = 0;
  SL_TRY(sl_launcher_find(&launcher));
  *name = launcher.name;
  *rank = launcher.rank;
  *ranks = launcher.size;
  return SLEY_OK;
}

int sley_comm_rank(const sley_comm *comm) {
  return comm ? comm->rank : -1;
}

int sley_comm_size(const sley_comm *comm) {
  return comm ? comm->size : 0;
}

int sley_comm_workgroup(const sley_comm *comm) {
  return comm ? comm->workgroup : 0;
}

const char *sley_comm_transport(const sley_comm *comm) {
  return comm ? comm->transport : "";
}

bool sley_comm_one_process(const sley_comm *comm) {
  return comm && !comm->processes;
}

sley_status sley_comm_barrier(sley_comm *comm) {
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_comm_barrier: no comm");
  return comm->ops->barrier(comm);
}

sley_status sley_comm_allreduce(sley_comm *comm, sley_reduce op, int64_t *values, int count) {
  static const sl_reduce ops[] = {[SLEY_SUM] = SL_SUM, [SLEY_MIN] = SL_MIN, [SLEY_MAX] = SL_MAX};
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_comm_allreduce: comm is NULL");
  sley_status status = SLEY_OK;
  if ((unsigned)op > SLEY_MAX || count < 0 || (count > 0 && !values))
    status = sl_fail(SLEY_ERR_ARG,
                     "sley_comm_allreduce: operator %d on %d values at %p: the operator does not exist, the "
                     "number is negative, or the address is NULL",
                     (int)op, count, (void *)values);
  SL_TRY(sl_agree(comm, status));
  return comm->ops->allreduce(comm, ops[op], values, count);
}

enum { SEND_AT, SEND_BYTES, RECV_AT, RECV_BYTES, TABLES };

/* Fills the tables: all ranks send to root, and no other rank receives. */
static sley_status lay_out_gather(const sley_comm *comm, int root, const int64_t *bytes, int64_t *tables) {
  int64_t total = 0;
  for (int r = 0; r < comm->size; r++) {
    tables[RECV_AT * comm->size + r] = total;
    tables[RECV_BYTES * comm->size + r] = comm->rank == root ? bytes[r] : 0;
    tables[SEND_AT * comm->size + r] = 0;
    tables[SEND_BYTES * comm->size + r] = r == root ? bytes[comm->rank] : 0;
    if (bytes[r] < 0 || __builtin_add_overflow(total, bytes[r], &total))
      return sl_fail(SLEY_ERR_ARG,
                     "sley_comm_gather: %lld bytes from rank %d: the sizes must not be negative, and their "
                     "sum must fit 64 bits",
                     (long long)bytes[r], r);
  }
  return SLEY_OK;
}

sley_status sley_comm_gather(sley_comm *comm, int root, const void *src, const int64_t *bytes, void *dst) {
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_comm_gather: comm is NULL");
  int64_t *tables = NULL;
  sley_status status = SLEY_OK;
  if (root < 0 || root >= comm->size || !bytes)
    status = sl_fail(SLEY_ERR_ARG,
                     "sley_comm_gather: root is %d of %d ranks, bytes is %p: root must be a rank, and bytes "
                     "must not be NULL",
                     root, comm->size, (const void *)bytes);
  if (status == SLEY_OK && !(tables = sl_alloc(comm->size, TABLES * sizeof *tables, "a gather")))
    status = SLEY_ERR_MEMORY;
  if (status == SLEY_OK)
    status = lay_out_gather(comm, root, bytes, tables);
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = comm->ops->alltoallv(comm, src, tables + SEND_AT * comm->size, tables + SEND_BYTES * comm->size,
                                  dst, tables + RECV_AT * comm->size, tables + RECV_BYTES * comm->size);
  sl_free(tables);
  return status;
}
