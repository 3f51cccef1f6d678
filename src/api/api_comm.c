/* SPDX-License-Identifier: Apache-2.0 */
/* Comms of programs whose processes are the ranks: opened and closed by calls, with an optional timeline. */
#include <string.h>

#include "base/memory.h"
#include "base/outfile.h"
#include "base/structs.h"
#include "bootstrap/launcher.h"
#include "transport/transport_registry.h"
#include "transport/trace/trace.h"

/* Data that close needs, in addition to the comm of the caller. */
typedef struct opened {
  sl_comm *comm; /* comm of the transport */
  char *path;    /* path of the timeline; NULL: none */
  sl_trace **traces;
} opened;

static void free_opened(opened *o, int ranks) {
  for (int r = 0; r < ranks && o->traces; r++)
    sl_trace_destroy(o->traces[r]);
  sl_free(o->traces);
  sl_free(o->path);
  sl_free(o);
}

static sley_status choose_transport(sley_comm_options *o) {
  sl_launcher launcher;
  const sl_transport_backend *backend;
  if (o->transport)
    return SLEY_OK;
  o->transport = "mpi";
  if (o->mpi_comm)
    return SLEY_OK;
  SL_TRY(sl_launcher_find(&launcher));
  if (!launcher.name)
    o->transport = "threads";
  else if (o->device && strncmp(o->device, "cuda", 4) == 0)
    o->transport = "nccl";
  else if (strcmp(launcher.name, "mpi") != 0 || sl_transport_backend_find("mpi", &backend) != SLEY_OK)
    o->transport = "tcp";
  return SLEY_OK;
}

static sley_status read_options(const sley_comm_options *given, sley_comm_options *out) {
  *out = (sley_comm_options)SLEY_COMM_OPTIONS_INIT;
  SL_TRY(sl_struct_take("sley_comm_options", given, sizeof *out, out));
  if (out->workgroup < 0 || out->threads < 0)
    return sl_fail(SLEY_ERR_ARG, "workgroup %d and threads %d must not be negative", out->workgroup,
                   out->threads);
  return choose_transport(out);
}

/* The part of opening that needs no other rank. */
static sley_status make_opened(const sley_comm_options *o, opened **out) {
  sl_outfile file;
  SL_TRY(SL_NEW_ZERO(*out, 1, "a comm"));
  if (!o->trace)
    return SLEY_OK;
  size_t bytes = strlen(o->trace) + 1;
  if (!((*out)->path = sl_alloc((int64_t)bytes, 1, "a file's name")))
    return SLEY_ERR_MEMORY;
  memcpy((*out)->path, o->trace, bytes);
  SL_TRY(sl_outfile_open(o->trace, &file)); /* checks early that the timeline can be written */
  sl_outfile_discard(&file);
  return SLEY_OK;
}

/* Replaces the transport's comm by a comm that records. */
static sley_status record(opened *o, sl_comm **comm) {
  SL_TRY(SL_NEW_ZERO(o->traces, o->comm->size, "the timeline"));
  for (int r = 0; r < o->comm->size; r++)
    SL_TRY(sl_trace_create(r, &o->traces[r]));
  return sl_trace_wrap(o->comm, o->traces[o->comm->rank], comm);
}

sley_status sley_comm_open(const sley_comm_options *options, sley_comm **out) {
  if (!out)
    return sl_fail(SLEY_ERR_ARG, "sley_comm_open: out is NULL");
  *out = NULL;
  sley_comm_options chosen;
  const sl_transport_backend *backend;
  SL_TRY(read_options(options, &chosen));
  const bool alone = strcmp(chosen.transport, "self") == 0;
  SL_TRY(sl_transport_backend_choose(alone ? "threads" : chosen.transport, &backend));
  const sl_launch launch = {.alone = alone,
                            .workgroup = chosen.workgroup,
                            .threads = chosen.threads,
                            .device = chosen.device,
                            .timeout = chosen.timeout,
                            .mpi_comm = chosen.mpi_comm};
  opened *o = NULL;
  sley_status status = make_opened(&chosen, &o);
  if (status == SLEY_OK)
    status = sl_comm_start(backend, &launch, &o->comm);
  if (status != SLEY_OK) {
    if (o)
      free_opened(o, 0);
    return status;
  }
  sl_comm *comm = o->comm;
  comm->opened = o;
  int ranks = comm->size;
  status = sl_agree(comm, o->path ? record(o, &comm) : SLEY_OK);
  if (status == SLEY_OK) {
    *out = comm;
    return SLEY_OK;
  }
  if (comm != o->comm)
    comm->ops->close(comm);
  sl_comm_end(o->comm);
  free_opened(o, ranks);
  return status;
}

/* Writes the timeline; if ranks are processes, their events are sent to rank 0. */
static sley_status write_timeline(const opened *o) {
  if (o->comm->processes)
    SL_TRY(sl_trace_collect(o->comm, o->traces));
  return o->comm->rank == 0 ? sl_trace_write(o->path, o->traces, o->comm->size) : SLEY_OK;
}

sley_status sley_comm_close(sley_comm *comm) {
  if (!comm)
    return SLEY_OK;
  opened *o = comm->opened;
  if (!o)
    return sl_fail(SLEY_ERR_ARG, "sley_comm_close: this comm was not made by sley_comm_open");
  int ranks = comm->size;
  sley_status status = SLEY_OK;
  if (comm != o->comm) {
    comm->ops->close(comm);
    status = write_timeline(o);
  }
  sl_error error;
  sl_error_save(&error);
  sl_comm_end(o->comm);
  free_opened(o, ranks);
  (void)sl_error_restore(&error);
  return status;
}
