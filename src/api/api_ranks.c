/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of the public interface: argument checks, the transport by name, and the timeline around it all. */
#include <string.h>

#include "base/memory.h"
#include "base/outfile.h"
#include "base/team.h"
#include "transport/registry.h"
#include "transport/trace/trace.h"

/* What the caller gave, over the defaults; shorter structs of older programs are fine. */
static sley_status read_options(const sley_rank_options *given, sley_rank_options *out) {
  *out = (sley_rank_options)SLEY_RANK_OPTIONS_INIT;
  if (given) {
    if (given->struct_size < sizeof given->struct_size || given->struct_size > sizeof *out)
      return sl_fail(SLEY_ERR_ARG, "sley_rank_options of %zu bytes: start from SLEY_RANK_OPTIONS_INIT",
                     given->struct_size);
    memcpy(out, given, given->struct_size);
  }
  if (out->ranks < 1)
    return sl_fail(SLEY_ERR_ARG, "%d ranks: at least 1 is needed", out->ranks);
  if (out->workgroup < 0 || out->threads < 0)
    return sl_fail(SLEY_ERR_ARG, "workgroup %d and threads %d must not be negative", out->workgroup,
                   out->threads);
  if (out->workgroup == 0 || out->workgroup > out->ranks)
    out->workgroup = out->ranks;
  if (out->threads == 0)
    out->threads = sl_cores() / out->ranks > 1 ? sl_cores() / out->ranks : 1;
  if (!out->transport)
    out->transport = "threads";
  return SLEY_OK;
}

typedef struct traced_run {
  sley_rank_fn fn;
  void *arg;
  sl_trace **traces;
} traced_run;

static sley_status traced_main(sley_comm *comm, void *arg) {
  const traced_run *run = arg;
  sl_comm *traced;
  SL_TRY(sl_trace_wrap(comm, run->traces[comm->rank], &traced));
  sley_status status = run->fn(traced, run->arg);
  traced->ops->close(traced);
  return status;
}

/* A run should not end in vain because its timeline cannot be written. */
static sley_status check_writable(const char *path) {
  sl_outfile file;
  SL_TRY(sl_outfile_open(path, &file));
  sl_outfile_discard(&file);
  return SLEY_OK;
}

/* The timeline is written even if ranks failed; their error then counts more than one of writing. */
static sley_status run_traced(const sl_transport_backend *backend, const sl_launch *launch, sley_rank_fn fn,
                              void *arg) {
  traced_run run = {.fn = fn, .arg = arg};
  SL_TRY(check_writable(launch->trace));
  SL_TRY(SL_NEW_ZERO(run.traces, launch->ranks, "the timeline"));
  sley_status status = SLEY_OK;
  int made = 0;
  for (; made < launch->ranks && status == SLEY_OK; made++)
    status = sl_trace_create(made, &run.traces[made]);
  if (status == SLEY_OK) {
    status = backend->run(launch, traced_main, &run);
    char message[1024];
    strncpy(message, sley_last_error(), sizeof message - 1);
    message[sizeof message - 1] = '\0';
    sley_status written = sl_trace_write(launch->trace, run.traces, launch->ranks);
    status = status != SLEY_OK ? sl_fail(status, "%s", message) : written;
  }
  for (int r = 0; r < made; r++)
    sl_trace_destroy(run.traces[r]);
  sl_free(run.traces);
  return status;
}

sley_status sley_run_ranks(const sley_rank_options *options, sley_rank_fn fn, void *arg) {
  if (!fn)
    return sl_fail(SLEY_ERR_ARG, "sley_run_ranks: no function to run");
  sley_rank_options o;
  SL_TRY(read_options(options, &o));
  const sl_transport_backend *backend;
  SL_TRY(sl_transport_backend_find(o.transport, &backend));
  sl_launch launch = {
      .ranks = o.ranks, .workgroup = o.workgroup, .threads = o.threads, .trace = o.trace, .device = o.device};
  return o.trace ? run_traced(backend, &launch, fn, arg) : backend->run(&launch, fn, arg);
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

sley_status sley_comm_barrier(sley_comm *comm) {
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_comm_barrier: no comm");
  return comm->ops->barrier(comm);
}
