/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory of ranks that are processes: making and freeing it. In host memory every rank's block is
 * an in-memory file that its workgroup maps; in device memory a workgroup maps the blocks of its ranks, if
 * its devices reach each other. Ranks that have not mapped a block access it by requests over the mesh
 * (one_sided.c), which the owner's process serves (keeper.c). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "transport/process/symmetric_inside.h"

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW };

static size_t mapped_bytes(int64_t bytes) {
  return bytes > 0 ? (size_t)bytes : 1;
}

static const sl_far_memory *far_memory_of(const sl_comm *comm) {
  return ((const sl_process_comm *)comm)->backend->far;
}

static void unmap_all(sl_process_symm *symm) {
  bool in_use = symm && symm->window && !far_memory_of(symm->base.comm)->drop(symm->window);
  for (int r = 0; symm && r < symm->base.comm->size; r++)
    if (symm->ranks[r].at && !(in_use && r == symm->base.comm->rank))
      munmap(symm->ranks[r].at, mapped_bytes(symm->ranks[r].bytes));
  sl_free(symm);
}

/* Frees blocks in host memory that no rank can access any more. broken: other ranks are not served any more.
 * all: frees all blocks. A block with a window is kept until the window is closed, or the comm ends. */
static void release(sl_process_comm *comm, bool broken, bool all) {
  for (sl_process_symm **at = &comm->symms; *at;) {
    sl_process_symm *symm = *at;
    bool left = symm->freed && !symm->window && (symm->still_in_use == 0 || broken);
    if (!symm->on_device && (all || left)) {
      *at = symm->next;
      unmap_all(symm);
    } else {
      at = &symm->next;
    }
  }
}

void sl_process_symm_end(sl_process_comm *comm) {
  release(comm, true, true);
  sl_free(comm->asks);
}

bool sl_process_symm_freed(void *owner, uint64_t id, int rank) {
  sl_process_comm *comm = owner;
  for (sl_process_symm *symm = comm->symms; symm; symm = symm->next)
    if (symm->id == id && !symm->ranks[rank].parted) {
      symm->ranks[rank].parted = true;
      symm->still_in_use--;
    }
  release(comm, false, false);
  return comm->symms != NULL;
}

static sley_status map_file(int fd, sl_process_block *out) {
  void *at = mmap(NULL, mapped_bytes(out->bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED)
    return sl_fail(SLEY_ERR_MEMORY, "cannot map %lld bytes of symmetric memory: %s", (long long)out->bytes,
                   strerror(errno));
  out->at = at;
  return SLEY_OK;
}

/* Makes the rank's own block, as an in-memory file that cannot be made shorter, because an access beyond its
 * end would raise SIGBUS. */
static sley_status make_own(sl_process_block *own, int64_t bytes) {
  own->bytes = bytes;
  own->pid = getpid();
  own->fd = memfd_create("sley", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (own->fd < 0 || ftruncate((int)own->fd, (off_t)mapped_bytes(bytes)) != 0 ||
      fcntl((int)own->fd, F_ADD_SEALS, SEALS) != 0)
    return sl_fail(SLEY_ERR_MEMORY, "cannot create %lld bytes of symmetric memory: %s", (long long)bytes,
                   strerror(errno));
  return map_file((int)own->fd, own);
}

/* Returns whether an open file is the block that a peer has announced: a sealed in-memory file of this user,
 * with the right length. */
static bool is_block(int fd, const sl_process_block *peer) {
  struct stat about;
  int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
         about.st_uid == geteuid() && about.st_size == (off_t)mapped_bytes(peer->bytes);
}

static sley_status map_peer(sl_comm *comm, int rank, sl_process_block *peer) {
  char path[64];
  if (peer->bytes < 0 || peer->pid < 1 || peer->pid > INT32_MAX || peer->fd < 0 || peer->fd > INT32_MAX)
    return sl_fail_peer(rank, "it has announced impossible memory: %lld bytes, process %lld, file %lld",
                        (long long)peer->bytes, (long long)peer->pid, (long long)peer->fd);
  snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)peer->pid, (long long)peer->fd);
  int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return sl_fail(
        SLEY_ERR_IO,
        "rank %d cannot open the memory of rank %d, which is in its workgroup: %s; use --workgroup 1",
        comm->rank, rank, strerror(errno));
  sley_status status = is_block(fd, peer)
                           ? map_file(fd, peer)
                           : sl_fail_peer(rank, "%s is not the memory that it has announced", path);
  close(fd);
  return status;
}

/* Makes the memory available to requests, which may come before this rank has returned from the
 * allocation. */
static void enlist(sl_process_comm *comm, sl_process_symm *symm) {
  symm->next = comm->symms;
  comm->symms = symm;
  sl_process_keep(comm);
}

/* Removes memory from the list from which requests are served. */
static void unlist(sl_process_comm *comm, sl_process_symm *symm) {
  sl_process_symm **at = &comm->symms;
  while (*at && *at != symm)
    at = &(*at)->next;
  if (*at)
    *at = symm->next;
  sl_process_keep(comm);
}

/* Returns the number of ranks that may send requests for blocks in host memory. */
static int count_far(const sl_comm *comm) {
  int far = 0;
  for (int r = 0; r < comm->size; r++)
    far += sl_link_to(comm, r) == SL_LINK_MESSAGE;
  return far;
}

static sley_status map_all(sl_process_comm *comm, sl_process_symm *symm) {
  int rank = comm->base.rank;
  sl_process_block own = symm->ranks[rank];
  char *at = own.at;
  own.at = NULL;
  SL_TRY(sl_mesh_allgather(comm->mesh, &own, sizeof own, symm->ranks));
  for (int r = 0; r < comm->base.size; r++) { /* fields that only this rank can know */
    symm->ranks[r].at = NULL;
    symm->ranks[r].parted = false;
  }
  symm->ranks[rank].at = at;
  for (int r = 0; r < comm->base.size; r++)
    if (sl_link_to(&comm->base, r) == SL_LINK_DIRECT)
      SL_TRY(map_peer(&comm->base, r, &symm->ranks[r]));
  return SLEY_OK;
}

/* Allocates a block on this rank's device that no other rank maps. */
static sley_status take_alone(sl_process_comm *comm, int64_t bytes, sl_process_symm *symm) {
  sl_device *device = comm->base.device;
  int64_t rounded = (bytes / (int64_t)sizeof(int64_t) + 1) * (int64_t)sizeof(int64_t);
  void *own = NULL;
  SL_TRY(device->ops->alloc(device, rounded, "symmetric memory", &own));
  symm->alone = own;
  return sl_peer_memory_clear(comm, own, rounded);
}

static sley_status take_on_devices(sl_process_comm *comm, int64_t bytes, sl_process_symm *symm) {
  sl_comm *base = &comm->base;
  if (!comm->direct) {
    sley_status status = take_alone(comm, bytes, symm);
    symm->ranks[base->rank].at = symm->alone;
    return sl_mesh_agree(comm->mesh, "symmetric memory", 0, 0, status);
  }
  SL_TRY(comm->memory->take(comm, sl_process_words_at(bytes) + base->workgroup * (int64_t)sizeof(int64_t),
                            &symm->device));
  for (int r = 0; r < base->size; r++)
    if (sl_link_to(base, r) != SL_LINK_MESSAGE)
      symm->ranks[r].at = symm->device.at[sl_place_in_workgroup(base, r)];
  return SLEY_OK;
}

/* Allocates symmetric memory on devices. */
static sley_status alloc_on_devices(sl_process_comm *comm, int64_t bytes, sl_symm **out) {
  sl_comm *base = &comm->base;
  sl_process_symm *symm = NULL;
  int64_t *sizes = NULL;
  sley_status status = SLEY_OK;
  if (bytes < 0)
    status = sl_fail(SLEY_ERR_ARG, "symmetric memory of %lld bytes", (long long)bytes);
  else if (!(symm = sl_alloc_zero(1, sizeof *symm + (size_t)base->size * sizeof symm->ranks[0],
                                  "symmetric memory")))
    status = SLEY_ERR_MEMORY;
  else
    status = SL_NEW(sizes, base->size, "symmetric memory");
  if (status == SLEY_OK)
    status = sl_process_staging_start(comm);
  status = sl_mesh_agree(comm->mesh, "symm_alloc", 0, 0, status);
  if (status == SLEY_OK)
    status = sl_mesh_allgather(comm->mesh, &bytes, sizeof bytes, sizes);
  if (status == SLEY_OK) {
    symm->base.comm = base;
    symm->id = comm->next_id++;
    symm->on_device = true;
    for (int r = 0; r < base->size; r++)
      symm->ranks[r].bytes = sizes[r];
    status = take_on_devices(comm, bytes, symm);
  }
  sl_free(sizes);
  if (status != SLEY_OK) {
    if (symm && symm->alone)
      base->device->ops->free(base->device, symm->alone);
    sl_free(symm);
    return status;
  }
  symm->still_in_use = base->size - 1; /* atomics use requests even within a workgroup */
  enlist(comm, symm);
  status = sl_mesh_agree(comm->mesh, "end of symm_alloc", 0, 0, SLEY_OK);
  if (status != SLEY_OK)
    sl_process_part(comm, symm);
  else
    *out = &symm->base;
  return status;
}

/* Allocates memory for requests for rows, if some ranks can only be reached by requests. */
static sley_status take_asks(sl_process_comm *comm) {
  if (comm->asks || comm->base.workgroup == comm->base.size)
    return SLEY_OK;
  SL_TRY(sl_mesh_serve_rows(comm->mesh));
  return SL_NEW(comm->asks, comm->base.size, "requests for rows");
}

/* Closes windows whose memory all ranks have freed, and frees that memory. Ranks do not wait for each other
 * when they free memory, but an MPI library makes them wait to free a window. Collective. */
static sley_status close_windows(sl_process_comm *comm) {
  enum { MOST = 64 };
  sl_process_symm *of[MOST];
  int64_t freed[MOST];
  int count = 0;
  SL_TRY(sl_mesh_progress(comm->mesh)); /* from here on the progress thread does not change the list */
  for (sl_process_symm *symm = comm->symms; symm && count < MOST; symm = symm->next)
    if (symm->window) { /* all ranks have the same windows in the same order */
      freed[count] = symm->freed;
      of[count++] = symm;
    }
  if (count == 0)
    return SLEY_OK;
  SL_TRY(sl_mesh_allreduce(comm->mesh, SL_MESH_MIN, freed, count));
  for (int i = 0; i < count; i++)
    if (freed[i]) {
      SL_TRY(comm->backend->far->close(of[i]->window));
      (void)comm->backend->far->drop(of[i]->window);
      of[i]->window = NULL;
    }
  release(comm, false, false);
  sl_process_keep(comm);
  return SLEY_OK;
}

/* Makes a window of the block, if the transport's library accesses memory of other workgroups. Collective. */
static sley_status open_window(sl_process_comm *comm, sl_process_symm *symm) {
  const sl_process_block *own = &symm->ranks[comm->base.rank];
  if (!comm->backend->far || symm->still_in_use == 0)
    return SLEY_OK;
  return comm->backend->far->open(comm, own->at, own->bytes, &symm->window);
}

static sley_status alloc_on_host(sl_process_comm *comm, int64_t bytes, sl_symm **out) {
  sl_comm *base = &comm->base;
  sl_process_symm *symm = NULL;
  sley_status status = SLEY_OK;
  int fd = -1;
  SL_TRY(close_windows(comm));
  if (bytes < 0)
    status = sl_fail(SLEY_ERR_ARG, "symmetric memory of %lld bytes", (long long)bytes);
  else if (!(symm = sl_alloc_zero(1, sizeof *symm + (size_t)base->size * sizeof symm->ranks[0],
                                  "symmetric memory")))
    status = SLEY_ERR_MEMORY;
  if (status == SLEY_OK) {
    symm->base.comm = base;
    symm->id = comm->next_id;
    symm->ranks[base->rank].fd = -1;
    symm->still_in_use = count_far(base);
    status = take_asks(comm);
    if (status == SLEY_OK && symm->still_in_use > 0)
      status = sl_mesh_start_progress(comm->mesh);
    if (status == SLEY_OK)
      status = make_own(&symm->ranks[base->rank], bytes);
    fd = (int)symm->ranks[base->rank].fd;
  }
  comm->next_id++;
  status = sl_mesh_agree(comm->mesh, "symm_alloc", 0, 0, status);
  if (status == SLEY_OK) {
    status = map_all(comm, symm);
    enlist(comm, symm);
    status = sl_mesh_agree(comm->mesh, "end of symm_alloc", 0, 0, status);
    if (status == SLEY_OK)
      status = open_window(comm, symm);
    if (status != SLEY_OK)
      unlist(comm, symm);
  }
  if (fd >= 0)
    close(fd);
  if (status != SLEY_OK) {
    unmap_all(symm);
    return status;
  }
  *out = &symm->base;
  return SLEY_OK;
}

sley_status sl_process_symm_alloc(sl_comm *base, int64_t bytes, sl_symm **out) {
  sl_process_comm *comm = (sl_process_comm *)base;
  *out = NULL;
  return sl_process_over(base, base->device->ops->host_addresses ? alloc_on_host(comm, bytes, out)
                                                                 : alloc_on_devices(comm, bytes, out));
}

/* Ranks do not meet to free memory, because after a failure a rank may be alone: each rank notifies the ranks
 * whose memory it could access that it has finished, and frees its own memory once all other ranks have done
 * so. */
void sl_process_symm_free(sl_symm *base) {
  sl_process_comm *comm = (sl_process_comm *)base->comm;
  sl_process_symm *symm = (sl_process_symm *)base;
  sl_error error;
  sl_error_save(&error);
  if (symm->on_device)
    sl_process_quiet(comm);
  for (int r = 0; r < base->comm->size && !sl_mesh_broken(comm->mesh); r++)
    if (r != base->comm->rank && (symm->on_device || sl_link_to(base->comm, r) == SL_LINK_MESSAGE))
      (void)sl_mesh_access(comm->mesh, r, SL_MESH_FREE, symm->id, 0, NULL, 0);
  if (symm->on_device) {
    sl_process_part(comm, symm);
  } else {
    symm->freed = true;
    release(comm, sl_mesh_broken(comm->mesh), false);
  }
  sl_process_keep(comm);
  if (!sl_mesh_broken(comm->mesh))
    sl_mesh_work(comm->mesh);
  if (*error.text)
    (void)sl_error_restore(&error); /* the error from before this call */
}
