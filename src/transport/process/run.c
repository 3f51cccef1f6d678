/* SPDX-License-Identifier: Apache-2.0 */
/* Starts ranks that are processes, and a rank's life from meeting to leaving. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bootstrap/meet.h"
#include "bootstrap/spawn.h"
#include "transport/process/process.h"

enum { RANKS_MOST = 65536, MESSAGE = 1024 };

/* The rank's device: the one of its local rank, by turns where there are fewer. */
static sley_status open_device(sl_process_comm *comm, const sl_launch *launch, sl_team **own_team) {
  const sl_device_ops *ops;
  sl_comm *base = &comm->base;
  SL_TRY(sl_device_choose(launch->device, &ops, comm->note, sizeof comm->note));
  comm->ordinal = sl_mesh_local_rank(comm->mesh) % ops->count();
  SL_TRY(ops->open(comm->ordinal, launch->threads, &base->device));
  SL_TRY(ops->queue_create(base->device, NULL, &base->queue));
  if (!ops->host_addresses)
    SL_TRY(sl_team_create(launch->threads, own_team));
  base->queue->team = *own_team;
  base->team = *own_team ? *own_team : sl_cpu_queue_team(base->queue);
  return SLEY_OK;
}

static void close_device(sl_process_comm *comm, sl_team *own_team) {
  sl_team_destroy(own_team);
  if (comm->base.queue)
    comm->base.queue->ops->queue_destroy(comm->base.queue);
  if (comm->base.device)
    comm->base.device->ops->close(comm->base.device);
}

/* Which ranks have one device, other than the host: by host and place. Collective. */
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
                     "%s wants a GPU for each rank, and ranks %d and %d share one: use as many ranks as GPUs",
                     library, comm->first_there[r], r);
  return SLEY_OK;
}

/* "auto" must mean the same on all ranks. */
static sley_status same_device(const sl_process_comm *comm) {
  int64_t kind[2] = {comm->base.device->ops->host_addresses, !comm->base.device->ops->host_addresses};
  SL_TRY(sl_mesh_allreduce(comm->mesh, SL_MESH_SUM, kind, 2));
  if (kind[0] == 0 || kind[1] == 0)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_UNSUPPORTED, "%lld ranks have a GPU and %lld have none: choose --device cpu",
                 (long long)kind[1], (long long)kind[0]);
}

/* Starts one transport on all ranks or on none. template: what all transports' comms begin with. */
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

/* The next transport in line, the same on all ranks: found on all of them, or given up. */
static sley_status find_next(sl_mesh *mesh, const char *name, const sl_process_backend **out) {
  const sl_transport_backend *found = NULL;
  sley_status status = sl_transport_backend_choose(name, &found);
  if (status == SLEY_OK && !found->process)
    status = sl_fail(SLEY_ERR_UNSUPPORTED, "transport %s does not join processes", name);
  *out = found ? found->process : NULL;
  return sl_mesh_agree(mesh, "find a transport", 0, 0, status);
}

/* Starts the backend, or the first of those it names that all ranks can start; a note says so. */
static sley_status start(const sl_process_backend **backend, sl_process_comm *template,
                         sl_process_comm **out) {
  for (;;) {
    sley_status status = start_one(*backend, template, out);
    if (status != SLEY_ERR_UNSUPPORTED && status != SLEY_ERR_PEER)
      return status;
    if (sl_mesh_broken(template->mesh))
      return status;
    char why[MESSAGE / 2], failed[32];
    int64_t most = status == SLEY_ERR_UNSUPPORTED; /* what another rank reports may be of any kind */
    snprintf(why, sizeof why, "%s", sley_last_error());
    snprintf(failed, sizeof failed, "%s", (*backend)->name);
    SL_TRY(sl_mesh_allreduce(template->mesh, SL_MESH_MAX, &most, 1));
    const sl_process_backend *next = NULL;
    bool found = most && (*backend)->next && find_next(template->mesh, (*backend)->next, &next) == SLEY_OK;
    if (!found)
      return sl_fail(status, "transport %s cannot start: %s", failed, why);
    snprintf(template->note, sizeof template->note, "transport %s cannot start, %s instead: %s", failed,
             next->name, why);
    *backend = next;
  }
}

/* From the meeting on. The comm that *out receives is ended once mesh is closed: until then others may ask
 * it. */
static sley_status run_met(const sl_process_backend *backend, const sl_launch *launch,
                           sl_process_comm *template, sl_rank_main main, void *arg, sl_process_comm **out) {
  sl_team *own_team = NULL;
  sl_mesh *mesh = template->mesh;
  sley_status status = open_device(template, launch, &own_team);
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(template->dirty, template->base.size, "a comm");
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(template->first_there, template->base.size, "a comm");
  status = sl_mesh_agree(mesh, "--workgroup", launch->workgroup, 0, status);
  if (status == SLEY_OK)
    status = same_device(template);
  if (status == SLEY_OK)
    status = find_shared(template);
  if (status == SLEY_OK)
    status = start(&backend, template, out);
  if (status == SLEY_OK) {
    sl_process_comm *comm = *out;
    status = main(&comm->base, arg);
    if (status != SLEY_OK)
      comm->base.ops->abort(&comm->base, status);
    sl_process_staging_stop(comm);
    backend->stop(comm);
  }
  close_device(template, own_team);
  return status;
}

sley_status sl_process_join(const sl_process_backend *backend, const sl_launch *launch, const sl_place *place,
                            sl_rank_main main, void *arg) {
  sl_mesh *mesh;
  SL_TRY(sl_bootstrap_meet(place, SLEY_OK, &mesh));
  sl_process_comm template = {.base = {.rank = place->rank,
                                       .size = place->size,
                                       .processes = true,
                                       .workgroup = sl_mesh_block(mesh, launch->workgroup)},
                              .mesh = mesh,
                              .timeout = place->timeout};
  sl_process_comm *comm = NULL;
  sley_status status = run_met(backend, launch, &template, main, arg, &comm);
  if (status != SLEY_OK)
    sl_mesh_abort(mesh, status);
  sl_mesh_close(mesh);
  if (comm)
    sl_process_symm_end(comm);
  sl_free(comm);
  sl_free(template.first_there);
  sl_free(template.dirty);
  return status;
}

/* What a forked rank needs to know. */
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
  double timeout;
  SL_TRY(sl_timeout(launch->timeout, &timeout));
  if (backend->place) {
    SL_TRY(backend->place(launch->ranks, timeout, &place));
    return sl_process_join(backend, launch, &place, main, arg);
  }
  if (!sl_place_launched()) {
    forked f = {backend, launch, main, arg};
    return sl_spawn(launch->ranks, timeout, forked_main, &f);
  }
  SL_TRY(sl_place_from_variables(&place));
  if (place.size != launch->ranks)
    return sl_fail(SLEY_ERR_ARG, "a launch of %d ranks where the launcher has started %d", launch->ranks,
                   place.size);
  place.timeout = timeout;
  return sl_process_join(backend, launch, &place, main, arg);
}
