/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends NVSHMEM on all ranks, allocates from its symmetric heap, and defines the module's table.
 * The mesh carries NVSHMEM's identifier. Only the library's host side is used: kernels load and store through
 * addresses of nvshmem_ptr, which the GPUs of one host have for each other. */
#include <cuda_runtime_api.h>
#include <string.h>

#include "base/memory.h"
#include "base/module.h"
#include "transport/nvshmem/nvshmem_library.h"
#include "transport/process/process_exchange.h"
#include "transport/tcp/tcp.h"

/* A block of the heap. A block that all ranks have returned is reused, and never freed, because freeing is
 * collective. */
typedef struct heap_block {
  struct heap_block *next;
  char *at;
  int64_t bytes;
  bool in_use; /* this rank uses the block */
} heap_block;

typedef struct nvshmem_comm {
  sl_process_comm base;
  sl_nvshmem_library library;
  bool started;
  heap_block *blocks; /* the same on all ranks, in the same order */
} nvshmem_comm;

/* ---- memory for peers */

/* Finds the first block that is large enough and that all ranks have returned. */
static sley_status find_block(nvshmem_comm *comm, int64_t bytes, heap_block **out) {
  *out = NULL;
  for (heap_block *b = comm->blocks; b; b = b->next) {
    int64_t used = b->in_use || b->bytes < bytes;
    SL_TRY(sl_mesh_allreduce(comm->base.mesh, SL_MESH_MAX, &used, 1));
    if (!used) {
      *out = b;
      return SLEY_OK;
    }
  }
  return SLEY_OK;
}

static sley_status new_block(nvshmem_comm *comm, int64_t bytes, heap_block **out) {
  heap_block *block;
  sley_status status = SL_NEW_ZERO(block, 1, "symmetric memory");
  status = sl_mesh_agree(comm->base.mesh, "symmetric heap", 0, 0, status);
  if (status != SLEY_OK) {
    sl_free(block);
    return status;
  }
  cudaSetDevice(comm->base.ordinal);
  block->at = comm->library.malloc((size_t)bytes);
  if (!block->at) {
    sl_free(block);
    return sl_fail(
        SLEY_ERR_MEMORY,
        "NVSHMEM's symmetric heap does not have %lld bytes free: set a greater NVSHMEM_SYMMETRIC_SIZE",
        (long long)bytes);
  }
  block->bytes = bytes;
  block->next = comm->blocks;
  comm->blocks = *out = block;
  return SLEY_OK;
}

static void close_nothing(sl_process_comm *comm, sl_peer_block *block) {
  (void)comm;
  (void)block;
}

static void give(sl_process_comm *base, sl_peer_block *block, bool keep) {
  for (heap_block *b = ((nvshmem_comm *)base)->blocks; b; b = b->next)
    if (b->at == block->own)
      b->in_use = keep;
  sl_free(block->at);
  *block = (sl_peer_block){0};
}

static sley_status locate(nvshmem_comm *comm, sl_peer_block *out) {
  const sl_comm *base = &comm->base.base;
  for (int r = 0; r < base->size; r++) {
    out->at[r] = r == base->rank ? out->own : comm->library.ptr(out->own, r);
    if (!out->at[r])
      return sl_fail(SLEY_ERR_UNSUPPORTED,
                     "NVSHMEM has no address by which the memory of rank %d can be reached from rank %d", r,
                     base->rank);
  }
  return SLEY_OK;
}

static sley_status take(sl_process_comm *base, int64_t bytes, sl_peer_block *out) {
  nvshmem_comm *comm = (nvshmem_comm *)base;
  heap_block *block = NULL;
  *out = (sl_peer_block){0};
  SL_TRY(sl_mesh_allreduce(base->mesh, SL_MESH_MAX, &bytes, 1));
  bytes = (bytes / SL_SHARED_GRAIN + 1) * SL_SHARED_GRAIN;
  SL_TRY(find_block(comm, bytes, &block));
  sley_status status = block ? SLEY_OK : new_block(comm, bytes, &block);
  if (status == SLEY_OK) {
    block->in_use = true;
    out->own = block->at;
    status = SL_NEW_ZERO(out->at, base->base.size, "symmetric memory");
  }
  if (status == SLEY_OK)
    status = locate(comm, out);
  if (status == SLEY_OK)
    status = sl_peer_memory_clear(base, out->own, block->bytes);
  status = sl_mesh_agree(base->mesh, "symmetric memory", 0, 0, status);
  if (status != SLEY_OK)
    give(base, out, false);
  return status;
}

static const sl_peer_memory symmetric_heap = {.take = take, .close = close_nothing, .give = give};

/* ---- starting */

/* Whether the library is started: only one comm at a time can use it in a process. */
static bool in_use;

static void stop(sl_process_comm *base) {
  nvshmem_comm *comm = (nvshmem_comm *)base;
  cudaSetDevice(base->ordinal);
  sl_direct_stop(base);
  while (comm->blocks) {
    heap_block *next = comm->blocks->next;
    sl_free(comm->blocks);
    comm->blocks = next;
  }
  /* finalize waits for all ranks; after a failure the driver frees the heap */
  if (comm->started && !sl_mesh_broken(base->mesh)) {
    comm->library.finalize();
    in_use = false;
  }
}

/* The part of the start that needs no other rank. */
static sley_status prepare(nvshmem_comm *comm) {
  const sl_comm *base = &comm->base.base;
  if (strcmp(base->device->ops->name, "cuda") != 0)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "NVSHMEM needs GPUs, but the device is %s: give --device cuda",
                   base->device->ops->name);
  if (base->workgroup < base->size)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "over NVSHMEM rows move within one workgroup only, but there are %d",
                   sl_workgroups(base));
  if (in_use)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "another comm uses NVSHMEM in this process: close it first");
  return sl_nvshmem_load(&comm->library);
}

static sley_status start_library(nvshmem_comm *comm) {
  sl_process_comm *base = &comm->base;
  sl_nvshmem_id id = {{0}};
  sley_status mine = SLEY_OK;
  cudaSetDevice(base->ordinal);
  if (base->base.rank == 0)
    mine = sl_nvshmem_name(&comm->library, &id);
  SL_TRY(sl_mesh_agree(base->mesh, "name NVSHMEM", 0, 0, mine));
  SL_TRY(sl_mesh_broadcast(base->mesh, 0, &id, sizeof id));
  mine = sl_nvshmem_begin(&comm->library, base->base.rank, base->base.size, &id);
  comm->started = in_use = mine == SLEY_OK;
  return sl_mesh_agree(base->mesh, "start NVSHMEM", 0, 0, mine);
}

static sley_status start(sl_process_comm *base) {
  nvshmem_comm *comm = (nvshmem_comm *)base;
  sley_status status = sl_mesh_agree(base->mesh, "prepare NVSHMEM", 0, 0, prepare(comm));
  if (status == SLEY_OK)
    status = sl_process_refuse_shared(base, "NVSHMEM");
  if (status == SLEY_OK)
    status = start_library(comm);
  if (status == SLEY_OK)
    status = sl_direct_start(base, &symmetric_heap);
  if (status == SLEY_OK && base->base.size > 1 && !base->direct) /* the condition is the same on all ranks */
    status = sl_fail(SLEY_ERR_UNSUPPORTED, "%s", base->note);
  if (status != SLEY_OK)
    stop(base);
  return status;
}

static void abandon(sl_process_comm *comm) {
  (void)comm;
}

static const sl_process_backend nvshmem_process = {.name = "nvshmem",
                                                   .dense_native = sl_dense_no_native,
                                                   .carrier = &sl_no_messages,
                                                   .sized = &sl_tcp_messages,
                                                   .comm_bytes = sizeof(nvshmem_comm),
                                                   .start = start,
                                                   .stop = stop,
                                                   .abandon = abandon,
                                                   .next = "nccl"};

static sley_status run(const sl_launch *launch, sl_rank_main main, void *arg) {
  return sl_process_run(&nvshmem_process, launch, main, arg);
}

/* Describes NVSHMEM without using a GPU: this process may still fork its ranks. */
static const char *describe(void) {
  sl_nvshmem_library library = {0};
  if (sl_nvshmem_load(&library) != SLEY_OK)
    return NULL;
  return "ranks are processes of one host whose GPUs share NVSHMEM's symmetric heap";
}

static const sl_transport_backend nvshmem = {
    .name = "nvshmem", .run = run, .describe = describe, .process = &nvshmem_process};

__attribute__((visibility("default"))) const void *sl_transport_module(int abi, int *built_for);

const void *sl_transport_module(int abi, int *built_for) {
  *built_for = SL_MODULE_ABI;
  return abi == SL_MODULE_ABI ? &nvshmem : NULL;
}
