/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory of ranks that are processes. In the host's memory every rank makes its block a file in
 * memory that its workgroup maps; ranks of other workgroups ask for access over the mesh, which the
 * owner serves while it waits for something itself. In the memory of devices a workgroup maps the blocks of
 * its ranks; those of other workgroups are out of reach. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "transport/process/peer_memory.h"

/* Of one rank's block. */
typedef struct block {
  char *at; /* NULL: cannot be mapped from here */
  int64_t bytes;
  int64_t pid, fd; /* where the owner's file is, while it is being mapped */
} block;

typedef struct sl_process_symm {
  sl_symm base;
  uint64_t id;
  bool freed;       /* by this rank */
  int still_in_use; /* by that many ranks of other workgroups, which may ask for access */
  struct sl_process_symm *next;
  sl_peer_block device; /* blocks in devices' memory; own NULL: in the host's */
  block ranks[];
} sl_process_symm;

static size_t mapped_bytes(int64_t bytes) {
  return bytes > 0 ? (size_t)bytes : 1;
}

/* For requests from other workgroups. */
static void *find(void *owner, uint64_t id, int64_t *bytes) {
  sl_process_comm *comm = owner;
  for (sl_process_symm *symm = comm->symms; symm; symm = symm->next)
    if (symm->id == id) {
      *bytes = symm->ranks[comm->base.rank].bytes;
      return symm->ranks[comm->base.rank].at;
    }
  return NULL;
}

static void unmap_all(sl_process_symm *symm) {
  for (int r = 0; symm && r < symm->base.comm->size; r++)
    if (symm->ranks[r].at)
      munmap(symm->ranks[r].at, mapped_bytes(symm->ranks[r].bytes));
  sl_free(symm);
}

/* Ends memory that nobody can ask for any more; all: whoever may. */
static void release(sl_process_comm *comm, bool all) {
  for (sl_process_symm **at = &comm->symms; *at;) {
    sl_process_symm *symm = *at;
    if (all || (symm->freed && (symm->still_in_use == 0 || sl_mesh_broken(comm->mesh)))) {
      *at = symm->next;
      unmap_all(symm);
    } else {
      at = &symm->next;
    }
  }
}

void sl_process_symm_end(sl_process_comm *comm) {
  release(comm, true);
  sl_free(comm->asks);
}

static void freed(void *owner, uint64_t id) {
  sl_process_comm *comm = owner;
  for (sl_process_symm *symm = comm->symms; symm; symm = symm->next)
    symm->still_in_use -= symm->id == id;
  release(comm, false);
}

static sley_status map_file(int fd, block *out) {
  void *at = mmap(NULL, mapped_bytes(out->bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED)
    return sl_fail(SLEY_ERR_MEMORY, "cannot map %lld bytes of symmetric memory: %s", (long long)out->bytes,
                   strerror(errno));
  out->at = at;
  return SLEY_OK;
}

/* The rank's own block, as a file in memory. */
static sley_status make_own(block *own, int64_t bytes) {
  own->bytes = bytes;
  own->pid = getpid();
  own->fd = memfd_create("sley", MFD_CLOEXEC);
  if (own->fd < 0 || ftruncate((int)own->fd, (off_t)mapped_bytes(bytes)) != 0)
    return sl_fail(SLEY_ERR_MEMORY, "cannot make %lld bytes of symmetric memory: %s", (long long)bytes,
                   strerror(errno));
  return map_file((int)own->fd, own);
}

static sley_status map_peer(sl_comm *comm, int rank, block *peer) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)peer->pid, (long long)peer->fd);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return sl_fail(
        SLEY_ERR_IO,
        "rank %d cannot open the memory of rank %d, which is in its workgroup: %s; use --workgroup 1",
        comm->rank, rank, strerror(errno));
  sley_status status = map_file(fd, peer);
  close(fd);
  return status;
}

/* A request may come before this rank is back from the allocation. */
static void enlist(sl_process_comm *comm, sl_process_symm *symm) {
  for (int r = 0; r < comm->base.size; r++)
    symm->still_in_use += sl_link_to(&comm->base, r) == SL_LINK_MESSAGE;
  symm->next = comm->symms;
  comm->symms = symm;
  sl_mesh_serve(comm->mesh, find, freed, comm);
}

static sley_status map_all(sl_process_comm *comm, sl_process_symm *symm) {
  int rank = comm->base.rank;
  block own = symm->ranks[rank];
  char *at = own.at;
  own.at = NULL;
  SL_TRY(sl_mesh_allgather(comm->mesh, &own, sizeof own, symm->ranks));
  symm->ranks[rank].at = at;
  for (int r = 0; r < comm->base.size; r++)
    if (sl_link_to(&comm->base, r) == SL_LINK_DIRECT)
      SL_TRY(map_peer(&comm->base, r, &symm->ranks[r]));
  return SLEY_OK;
}

/* In the memory of devices. */
static sley_status alloc_on_devices(sl_process_comm *comm, int64_t bytes, sl_symm **out) {
  sl_comm *base = &comm->base;
  sl_process_symm *symm = NULL;
  int64_t *sizes = NULL;
  sley_status status = SLEY_OK;
  if (bytes < 0)
    status = sl_fail(SLEY_ERR_ARG, "symmetric memory of %lld bytes", (long long)bytes);
  else if (base->workgroup > 1 && !comm->direct)
    status = sl_fail(SLEY_ERR_UNSUPPORTED,
                     "one-sided access to a GPU of another process needs memory that can be mapped: give "
                     "--workgroup 1, or use the transport threads");
  else if (!(symm = sl_alloc_zero(1, sizeof *symm + (size_t)base->size * sizeof symm->ranks[0],
                                  "symmetric memory")))
    status = SLEY_ERR_MEMORY;
  else
    status = SL_NEW(sizes, base->size, "symmetric memory");
  status = sl_mesh_agree(comm->mesh, "symm_alloc", 0, 0, status);
  if (status == SLEY_OK)
    status = sl_mesh_allgather(comm->mesh, &bytes, sizeof bytes, sizes);
  if (status == SLEY_OK)
    status = comm->memory->take(comm, bytes, &symm->device);
  if (status == SLEY_OK) {
    symm->base.comm = base;
    for (int r = 0; r < base->size; r++) {
      symm->ranks[r].bytes = sizes[r];
      if (sl_link_to(base, r) != SL_LINK_MESSAGE)
        symm->ranks[r].at = symm->device.at[sl_place_in_workgroup(base, r)];
    }
    *out = &symm->base;
  } else {
    sl_free(symm);
  }
  sl_free(sizes);
  return status;
}

static bool on_devices(const sl_symm *symm) {
  return ((const sl_process_symm *)symm)->device.own != NULL;
}

/* All ranks' devices are done with it before any rank's memory goes. */
static void free_on_devices(sl_process_comm *comm, sl_process_symm *symm) {
  sley_status status = sl_process_wait_for(comm, comm->base.queue);
  if (status == SLEY_OK)
    status = sl_mesh_agree(comm->mesh, "symm_free", 0, 0, SLEY_OK);
  comm->memory->close(comm, &symm->device);
  if (status == SLEY_OK)
    status = sl_mesh_barrier(comm->mesh);
  comm->memory->give(comm, &symm->device, status != SLEY_OK);
  sl_free(symm);
}

/* Room for requests for rows, where there are ranks to ask. */
static sley_status take_asks(sl_process_comm *comm) {
  if (comm->asks || comm->base.workgroup == comm->base.size)
    return SLEY_OK;
  SL_TRY(sl_mesh_serve_rows(comm->mesh));
  return SL_NEW(comm->asks, comm->base.size, "requests for rows");
}

sley_status sl_process_symm_alloc(sl_comm *base, int64_t bytes, sl_symm **out) {
  sl_process_comm *comm = (sl_process_comm *)base;
  sl_process_symm *symm = NULL;
  sley_status status = SLEY_OK;
  int fd = -1;
  *out = NULL;
  if (!base->device->ops->host_addresses)
    return alloc_on_devices(comm, bytes, out);
  if (bytes < 0)
    status = sl_fail(SLEY_ERR_ARG, "symmetric memory of %lld bytes", (long long)bytes);
  else if (!(symm = sl_alloc_zero(1, sizeof *symm + (size_t)base->size * sizeof symm->ranks[0],
                                  "symmetric memory")))
    status = SLEY_ERR_MEMORY;
  if (status == SLEY_OK) {
    symm->base.comm = base;
    symm->id = comm->next_id;
    symm->ranks[base->rank].fd = -1;
    status = take_asks(comm);
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
    if (status != SLEY_OK)
      comm->symms = symm->next;
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

/* Waits for nobody; but ranks of other workgroups may ask for access until they have called it too. */
void sl_process_symm_free(sl_symm *base) {
  if (!base)
    return;
  sl_process_comm *comm = (sl_process_comm *)base->comm;
  sl_process_symm *symm = (sl_process_symm *)base;
  sl_error error;
  sl_error_save(&error);
  if (on_devices(base)) {
    free_on_devices(comm, symm);
    if (*error.text)
      (void)sl_error_restore(&error);
    return;
  }
  for (int r = 0; r < base->comm->size && !sl_mesh_broken(comm->mesh); r++)
    if (sl_link_to(base->comm, r) == SL_LINK_MESSAGE)
      (void)sl_mesh_access(comm->mesh, r, SL_MESH_FREE, symm->id, 0, NULL, 0);
  if (*error.text)
    (void)sl_error_restore(&error); /* of what went wrong before */
  symm->freed = true;
  release(comm, false);
}

static bool rank_exists(const sl_symm *symm, int rank) {
  return rank >= 0 && rank < symm->comm->size;
}

void *sl_process_peer_ptr(sl_symm *base, int rank) {
  return rank_exists(base, rank) ? ((sl_process_symm *)base)->ranks[rank].at : NULL;
}

/* The rank's block, after all checks. */
static sley_status locate(sl_symm *base, const char *call, int rank, int64_t offset, int64_t bytes,
                          block **out) {
  if (!rank_exists(base, rank))
    return sl_fail(SLEY_ERR_ARG, "%s: rank %d of %d", call, rank, base->comm->size);
  *out = &((sl_process_symm *)base)->ranks[rank];
  if (bytes < 0 || offset < 0 || bytes > (*out)->bytes || offset > (*out)->bytes - bytes)
    return sl_fail(SLEY_ERR_ARG, "%s: %lld bytes from byte %lld on, of the %lld at rank %d", call,
                   (long long)bytes, (long long)offset, (long long)(*out)->bytes, rank);
  return SLEY_OK;
}

static void count(sl_symm *base, int rank, int64_t bytes) {
  sl_counters *counters = &((sl_process_comm *)base->comm)->counters;
  sl_link link = sl_link_to(base->comm, rank);
  counters->bytes[link] += bytes;
  counters->messages[link] += bytes > 0;
}

/* Between the queue's other work and a block that the device can reach. */
static sley_status copy_on_device(sl_symm *base, const char *call, int rank, void *dst, const void *src,
                                  int64_t bytes, bool reached) {
  if (!reached)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "%s: the memory of rank %d's GPU is out of reach: its rank is of another workgroup", call,
                   rank);
  return base->comm->device->ops->copy(base->comm->queue, SL_COPY_WITHIN, dst, src, bytes);
}

static bool is_word(int64_t offset, int64_t bytes) {
  return bytes == sizeof(int64_t) && offset % (int64_t)sizeof(int64_t) == 0;
}

/* Of a rank of another workgroup. */
static sley_status access_far(sl_symm *base, int rank, sl_mesh_access_kind access, int64_t offset, void *data,
                              int64_t bytes) {
  sl_process_comm *comm = (sl_process_comm *)base->comm;
  uint64_t id = ((sl_process_symm *)base)->id;
  return sl_process_over(base->comm, sl_mesh_access(comm->mesh, rank, access, id, offset, data, bytes));
}

sley_status sl_process_get(sl_symm *base, int rank, int64_t offset, void *dst, int64_t bytes) {
  block *from = NULL;
  SL_TRY(locate(base, "get", rank, offset, bytes, &from));
  if (on_devices(base))
    SL_TRY(copy_on_device(base, "get", rank, dst, from->at + offset, bytes, from->at != NULL));
  else if (from->at && is_word(offset, bytes)) {
    int64_t word = atomic_load((_Atomic int64_t *)(void *)(from->at + offset));
    memcpy(dst, &word, sizeof word);
  } else if (from->at && bytes > 0)
    memcpy(dst, from->at + offset, (size_t)bytes);
  else if (bytes > 0)
    SL_TRY(access_far(base, rank, SL_MESH_GET, offset, dst, bytes));
  count(base, rank, bytes);
  return SLEY_OK;
}

/* Asks for the next rows of a list, from row `done` of it on; returns how many. */
static int64_t ask(sl_symm *base, const sl_row_list *list, int64_t done, void *dst) {
  sl_process_comm *comm = (sl_process_comm *)base->comm;
  sl_mesh_rows *rows = &comm->asks[list->peer];
  int64_t left = list->count - done, count = left < SL_MESH_ROWS_MOST ? left : SL_MESH_ROWS_MOST;
  for (int64_t i = 0; i < count; i++)
    rows->row[i] = (uint32_t)list->rows[done + i];
  sl_mesh_ask_rows(comm->mesh, list->peer, ((sl_process_symm *)base)->id, list->bytes, count,
                   (char *)dst + (list->first + done) * list->bytes, rows);
  return count;
}

/* Lists of ranks that are far away, some rows of each at a time. */
static sley_status get_far_rows(sl_symm *base, int lists, const sl_row_list *list, void *dst) {
  sl_process_comm *comm = (sl_process_comm *)base->comm;
  const block *ranks = ((sl_process_symm *)base)->ranks;
  bool more = true;
  for (int64_t done = 0; more; done += SL_MESH_ROWS_MOST) {
    more = false;
    for (int i = 0; i < lists; i++)
      if (!ranks[list[i].peer].at && done < list[i].count)
        more = done + ask(base, &list[i], done, dst) < list[i].count || more;
    for (int i = 0; i < lists; i++)
      if (!ranks[list[i].peer].at && done < list[i].count)
        SL_TRY(sl_process_over(base->comm,
                               sl_mesh_wait_rows(comm->mesh, list[i].peer, &comm->asks[list[i].peer])));
  }
  return SLEY_OK;
}

sley_status sl_process_get_rows(sl_symm *base, int lists, const sl_row_list *list, void *dst) {
  bool far = false;
  if (on_devices(base))
    return sl_fail(SLEY_ERR_UNSUPPORTED, "get_rows: not from the memory of GPUs");
  for (const sl_row_list *l = list; l < list + lists; l++) {
    block *from = NULL;
    SL_TRY(locate(base, "get_rows", l->peer, 0, 0, &from));
    int64_t rows = l->bytes > 0 ? from->bytes / l->bytes : 0;
    for (int64_t i = 0; i < l->count; i++)
      if (l->bytes <= 0 || l->rows[i] < 0 || l->rows[i] >= rows || l->rows[i] > UINT32_MAX)
        return sl_fail(SLEY_ERR_ARG, "get_rows: row %lld of the %lld at rank %d", (long long)l->rows[i],
                       (long long)rows, l->peer);
    for (int64_t i = 0; i < l->count && from->at; i++)
      memcpy((char *)dst + (l->first + i) * l->bytes, from->at + l->rows[i] * l->bytes, (size_t)l->bytes);
    far = far || !from->at;
  }
  if (far)
    SL_TRY(get_far_rows(base, lists, list, dst));
  for (const sl_row_list *l = list; l < list + lists; l++)
    sl_process_counters_add(base->comm, sl_link_to(base->comm, l->peer), l->count * l->bytes, l->count);
  return SLEY_OK;
}

sley_status sl_process_put(sl_symm *base, int rank, int64_t offset, const void *src, int64_t bytes) {
  sl_process_comm *comm = (sl_process_comm *)base->comm;
  block *to = NULL;
  SL_TRY(locate(base, "put", rank, offset, bytes, &to));
  if (on_devices(base)) {
    SL_TRY(copy_on_device(base, "put", rank, to->at + offset, src, bytes, to->at != NULL));
    SL_TRY(sl_process_wait_for(comm, base->comm->queue));
  } else if (to->at && is_word(offset, bytes)) {
    int64_t word;
    memcpy(&word, src, sizeof word);
    atomic_store((_Atomic int64_t *)(void *)(to->at + offset), word);
  } else if (to->at && bytes > 0)
    memcpy(to->at + offset, src, (size_t)bytes);
  else if (bytes > 0) {
    comm->dirty[rank] = true;
    SL_TRY(access_far(base, rank, SL_MESH_PUT, offset, (void *)src, bytes));
  }
  count(base, rank, bytes);
  return SLEY_OK;
}

sley_status sl_process_fetch_add(sl_symm *base, int rank, int64_t offset, int64_t delta, int64_t *old) {
  sl_process_comm *comm = (sl_process_comm *)base->comm;
  block *to = NULL;
  SL_TRY(locate(base, "fetch_add", rank, offset, sizeof(int64_t), &to));
  if (offset % (int64_t)sizeof(int64_t) != 0)
    return sl_fail(SLEY_ERR_ARG, "fetch_add: offset %lld is not a multiple of 8", (long long)offset);
  if (on_devices(base))
    return sl_fail(SLEY_ERR_UNSUPPORTED, "fetch_add: not on the memory of GPUs of several processes");
  int64_t value = delta;
  if (to->at)
    value = atomic_fetch_add((_Atomic int64_t *)(void *)(to->at + offset), delta);
  else
    SL_TRY(access_far(base, rank, SL_MESH_ADD, offset, &value, sizeof value));
  if (old)
    *old = value;
  return sl_process_over(base->comm, sl_mesh_progress(comm->mesh));
}

sley_status sl_process_flush_puts(sl_process_comm *comm) {
  for (int r = 0; r < comm->base.size; r++)
    if (comm->dirty[r]) {
      comm->dirty[r] = false;
      SL_TRY(sl_mesh_access(comm->mesh, r, SL_MESH_FLUSH, 0, 0, NULL, 0));
    }
  return SLEY_OK;
}

sley_status sl_process_flush(sl_symm *base) {
  sl_process_comm *comm = (sl_process_comm *)base->comm;
  atomic_thread_fence(memory_order_seq_cst);
  sley_status status = sl_process_flush_puts(comm);
  return sl_process_over(base->comm, status == SLEY_OK ? sl_mesh_progress(comm->mesh) : status);
}
