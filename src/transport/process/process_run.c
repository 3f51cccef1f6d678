/* SPDX-License-Identifier: Apache-2.0 */
/* Starts ranks that are processes, and runs a rank from the meeting of the ranks to its end. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bootstrap/meet.h"
#include "bootstrap/spawn.h"
#include "transport/process/process.h"
#include "transport/transport_registry.h"

enum { RANKS_MOST = 65536 };

/* Opens the rank's device: the device that the caller names, or the device with the number of the local rank
 * modulo the number of devices. */
static sley_status open_device(sl_process_comm *comm, const sl_launch *launch) {
  const sl_device_ops *ops;
  sl_comm *base = &comm->base;
  int ordinal = sl_mesh_local_rank(comm->mesh);
  SL_TRY(sl_device_choose_one(launch->device, &ops, &ordinal, comm->note, sizeof comm->note));
  comm->ordinal = ordinal % ops->count();
  SL_TRY(ops->open(comm->ordinal, launch->threads, &base->device));
  SL_TRY(ops->queue_create(base->device, NULL, &base->queue));
  if (!ops->host_addresses)
    SL_TRY(sl_team_create(launch->threads, &comm->own_team));
  base->queue->team = comm->own_team;
  base->team = comm->own_team ? comm->own_team : sl_cpu_queue_team(base->queue);
  return SLEY_OK;
}

static void close_device(sl_process_comm *comm) {
  sl_team_destroy(comm->own_team);
  if (comm->base.queue)
    comm->base.queue->ops->queue_destroy(comm->base.queue);
  if (comm->base.device)
    comm->base.device->ops->close(comm->base.device);
}

/* Finds ranks that share a device that is not the host's CPU, by host and place. Collective. */
static sley_status find_shared(sl_process_comm *comm) {
  typedef struct address {
    char place[SL_PLACE_BYTES];
  } address;
  address own = {{0}}, *all = NULL;
  int size = comm->base.size;
  if (comm->base.device->ops->host_addresses)
    return SLEY_OK;
  snprintf(own.place, sizeof own.place, "%s", comm->base.device->ops->place(comm->base.device));
  sley_status status = sl_mesh_agree(comm->mesh, "places", 0, 0, SL_NEW(all, size, "a comm"));
  if (status == SLEY_OK)
    status = sl_mesh_allgather(comm->mesh, &own, sizeof own, all);
  for (int r = 0; r < size && status == SLEY_OK; r++) {
    int first = 0;
    while (first < r && (strcmp(all[first].place, all[r].place) != 0 ||
                         strcmp(sl_mesh_host(comm->mesh, first), sl_mesh_host(comm->mesh, r)) != 0))
      first++;
    comm->first_there[r] = first;
  }
  sl_free(all);
  return status;
}

sley_status sl_process_refuse_shared(const sl_process_comm *comm, const char *library) {
  for (int r = 0; r < comm->base.size; r++)
    if (comm->first_there[r] != r)
      return sl_fail(SLEY_ERR_UNSUPPORTED,
                     "%s needs a GPU per rank, but ranks %d and %d share one: use as many ranks as GPUs",
                     library, comm->first_there[r], r);
  return SLEY_OK;
}

/* Checks that "auto" has chosen the same kind of device on all ranks. */
static sley_status same_device(const sl_process_comm *comm) {
  int64_t kind[2] = {comm->base.device->ops->host_addresses, !comm->base.device->ops->host_addresses};
  SL_TRY(sl_mesh_allreduce(comm->mesh, SL_MESH_SUM, kind, 2));
  if (kind[0] == 0 || kind[1] == 0)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_UNSUPPORTED, "%lld ranks have a GPU and %lld have none: choose --device cpu",
                 (long long)kind[1], (long long)kind[0]);
}

/* Starts one transport on all ranks or on none. template: the common part of all transports' comms. */
static sley_status start_one(const sl_process_backend *backend, const sl_process_comm *template,
                             sl_process_comm **out) {
  *out = NULL;
  sl_process_comm *comm = sl_alloc_zero(1, backend->comm_bytes, "a comm");
  sl_mesh *mesh = template->mesh;
  sley_status status = sl_mesh_agree(mesh, "start", 0, 0, comm ? SLEY_OK : SLEY_ERR_MEMORY);
  if (status == SLEY_OK) {
    *comm = *template;
    comm->base.ops = &sl_process_ops;
    comm->base.transport = backend->name;
    comm->backend = backend;
    comm->base.note = comm->note;
    comm->base.one_sided = SL_ONE_SIDED_GET | SL_ONE_SIDED_ATOMICS | SL_ONE_SIDED_PASSIVE;
    if (!comm->base.device->ops->host_addresses)
      comm->base.one_sided |= SL_ONE_SIDED_DEVICE;
    sley_status mine = backend->start(comm);
    status = sl_mesh_agree(mesh, "end of start", 0, 0, mine);
    if (status != SLEY_OK && mine == SLEY_OK)
      backend->stop(comm);
  }
  if (status != SLEY_OK) {
    sl_free(comm);
    return status;
  }
  *out = comm;
  return SLEY_OK;
}

/* Finds the next transport to try, on all ranks or on none; it is the same on all. */
static sley_status find_next(sl_mesh *mesh, const char *name, const sl_process_backend **out) {
  const sl_transport_backend *found = NULL;
  sley_status status = sl_transport_backend_choose(name, &found);
  if (status == SLEY_OK && !found->process)
    status = sl_fail(SLEY_ERR_UNSUPPORTED, "the ranks of transport %s cannot be processes", name);
  *out = found ? found->process : NULL;
  return sl_mesh_agree(mesh, "find a transport", 0, 0, status);
}

/* Starts the backend, or the first of its alternatives that all ranks can start, which a note reports. */
static sley_status start(const sl_process_backend **backend, sl_process_comm *template,
                         sl_process_comm **out) {
  for (;;) {
    sley_status status = start_one(*backend, template, out);
    if (status != SLEY_ERR_UNSUPPORTED && status != SLEY_ERR_PEER)
      return status;
    if (sl_mesh_broken(template->mesh))
      return status;
    char why[SLEY_ERROR_BYTES], failed[32];
    int64_t most =
        status == SLEY_ERR_UNSUPPORTED; /* an error that another rank reports may have any status */
    snprintf(why, sizeof why, "%s", sley_last_error());
    snprintf(failed, sizeof failed, "%s", (*backend)->name);
    SL_TRY(sl_mesh_allreduce(template->mesh, SL_MESH_MAX, &most, 1));
    const sl_process_backend *next = NULL;
    bool found = most && (*backend)->next && find_next(template->mesh, (*backend)->next, &next) == SLEY_OK;
    if (!found)
      return sl_fail(status, "transport %s cannot start: %s", failed, why);
    sl_text_format(template->note, sizeof template->note, "transport %s cannot start, %s instead: %s", failed,
                   next->name, why);
    *backend = next;
  }
}

/* All steps after the meeting: fills template, and makes a comm from it. */
static sley_status prepare(const sl_process_backend *backend, const sl_launch *launch,
                           sl_process_comm *template, sl_process_comm **out) {
  sl_mesh *mesh = template->mesh;
  sley_status status = open_device(template, launch);
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(template->dirty, template->base.size, "a comm");
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(template->first_there, template->base.size, "a comm");
  SL_TRY(sl_mesh_agree(mesh, "--workgroup", launch->workgroup, 0, status));
  SL_TRY(same_device(template));
  SL_TRY(find_shared(template));
  return start(&backend, template, out);
}

/* Frees the common part of all transports' comms. */
static void free_template(sl_process_comm *template) {
  sl_free(template->first_there);
  sl_free(template->dirty);
}

sley_status sl_process_open(const sl_process_backend *backend, const sl_launch *launch, const sl_place *place,
                            sl_process_comm **out) {
  sl_mesh *mesh;
  *out = NULL;
  SL_TRY(sl_bootstrap_meet(place, SLEY_OK, &mesh));
  sl_process_comm template = {
      .base = {.rank = place->rank,
               .size = place->size,
               .processes = true,
               .trusts_network = place->size > 1 && !place->local && !place->secret.given,
               .workgroup = sl_mesh_block(mesh, launch->workgroup)},
      .mesh = mesh,
      .mpi_comm = launch->mpi_comm,
      .timeout = place->timeout};
  sley_status status = prepare(backend, launch, &template, out);
  if (status == SLEY_OK) {
    (*out)->mpi_comm = NULL;
    return SLEY_OK;
  }
  sl_error error;
  sl_error_take(status, &error);
  close_device(&template);
  (void)sl_error_restore(&error);
  sl_mesh_abort(mesh, status);
  sl_mesh_close(mesh);
  free_template(&template);
  return sl_error_restore(&error);
}

void sl_process_end(sl_process_comm *comm, sley_status status) {
  sl_mesh *mesh = comm->mesh;
  sl_error error;
  if (status != SLEY_OK)
    comm->base.ops->abort(&comm->base, status);
  sl_error_save(&error);
  sl_process_staging_stop(comm);
  comm->backend->stop(comm);
  close_device(comm);
  (void)sl_error_restore(&error);
  if (status != SLEY_OK)
    sl_mesh_abort(mesh, status);
  sl_mesh_close(mesh); /* until the mesh is closed other ranks may access symmetric memory, and free theirs */
  sl_process_symm_end(comm);
  free_template(comm);
  sl_free(comm);
  (void)sl_error_restore(&error);
}

sley_status sl_process_join(const sl_process_backend *backend, const sl_launch *launch, const sl_place *place,
                            sl_rank_main main, void *arg) {
  sl_process_comm *comm;
  SL_TRY(sl_process_open(backend, launch, place, &comm));
  sley_status status = main(&comm->base, arg);
  sl_process_end(comm, status);
  return status;
}

/* The arguments of a forked rank. */
typedef struct forked {
  const sl_process_backend *backend;
  const sl_launch *launch;
  sl_rank_main main;
  void *arg;
} forked;

static sley_status forked_main(const sl_place *place, void *arg) {
  const forked *f = arg;
  return sl_process_join(f->backend, f->launch, place, f->main, f->arg);
}

/* Finds through MPI where the ranks of a communicator meet; their transport may be another one. */
static sley_status place_by_mpi(const sl_process_backend *backend, const sl_launch *launch, double timeout,
                                sl_place *out) {
  const sl_transport_backend *mpi = NULL;
  if (!backend->place)
    SL_TRY(sl_transport_backend_find("mpi", &mpi));
  if (mpi && (!mpi->process || !mpi->process->place))
    return sl_fail(SLEY_ERR_UNSUPPORTED, "transport mpi does not support communicators of the caller");
  return (mpi ? mpi->process : backend)->place(0, launch->mpi_comm, timeout, out);
}

sley_status sl_process_place(const sl_process_backend *backend, const sl_launch *launch, sl_place *out,
                             bool *launched) {
  double timeout;
  *launched = true;
  SL_TRY(sl_timeout(launch->timeout, &timeout));
  if (launch->mpi_comm)
    return place_by_mpi(backend, launch, timeout, out);
  if (backend->place)
    return backend->place(launch->ranks, NULL, timeout, out);
  *launched = sl_place_launched();
  if (*launched)
    SL_TRY(sl_place_from_variables(out));
  else
    *out = (sl_place){.size = 1, .listener = -1};
  out->timeout = timeout;
  return SLEY_OK;
}

sley_status sl_process_run(const sl_process_backend *backend, const sl_launch *launch, sl_rank_main main,
                           void *arg) {
  if (launch->ranks < 1 || launch->ranks > RANKS_MOST)
    return sl_fail(SLEY_ERR_ARG, "%d ranks: 1 to %d are possible", launch->ranks, RANKS_MOST);
  if (launch->workgroup < 1 || launch->workgroup > launch->ranks)
    return sl_fail(SLEY_ERR_ARG, "a workgroup of %d ranks: 1 to %d are possible", launch->workgroup,
                   launch->ranks);
  if (launch->threads < 1)
    return sl_fail(SLEY_ERR_ARG, "%d threads per rank: at least 1 is needed", launch->threads);
  sl_place place;
  bool launched;
  SL_TRY(sl_process_place(backend, launch, &place, &launched));
  if (!launched) {
    forked f = {backend, launch, main, arg};
    return sl_spawn(launch->ranks, place.timeout, forked_main, &f);
  }
  if (place.size != launch->ranks)
    return sl_fail(SLEY_ERR_ARG, "%d ranks are to run, but the launcher has started %d: give the same number",
                   launch->ranks, place.size);
  return sl_process_join(backend, launch, &place, main, arg);
}
