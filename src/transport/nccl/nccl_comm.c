/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends NCCL on all ranks, and defines the module's table. The mesh carries the communicator's
 * identifier. */
#include "transport/nccl/nccl_comm.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/module.h"

static sley_status load(sl_nccl_library *nccl) {
  nccl->handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!nccl->handle)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "NCCL is not installed: %s", dlerror());
  const struct {
    const char *name;
    void *slot;
  } symbols[] = {{"ncclGetUniqueId", &nccl->GetUniqueId},
                 {"ncclCommInitRankConfig", &nccl->CommInitRankConfig},
                 {"ncclCommGetAsyncError", &nccl->CommGetAsyncError},
                 {"ncclCommAbort", &nccl->CommAbort},
                 {"ncclCommFinalize", &nccl->CommFinalize},
                 {"ncclCommDestroy", &nccl->CommDestroy},
                 {"ncclSend", &nccl->Send},
                 {"ncclRecv", &nccl->Recv},
                 {"ncclAllReduce", &nccl->AllReduce},
                 {"ncclReduceScatter", &nccl->ReduceScatter},
                 {"ncclAllGather", &nccl->AllGather},
                 {"ncclGroupStart", &nccl->GroupStart},
                 {"ncclGroupEnd", &nccl->GroupEnd},
                 {"ncclGetErrorString", &nccl->GetErrorString}};
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *symbol = dlsym(nccl->handle, symbols[i].name);
    if (!symbol)
      return sl_fail(SLEY_ERR_UNSUPPORTED, "libnccl.so.2 has no %s: install NCCL 2.14 or later",
                     symbols[i].name);
    memcpy(symbols[i].slot, &symbol, sizeof symbol);
  }
  return SLEY_OK;
}

static sley_status check_cuda(cudaError_t error, const char *call) {
  return error == cudaSuccess ? SLEY_OK
                              : sl_fail(SLEY_ERR_UNSUPPORTED, "%s: %s", call, cudaGetErrorString(error));
}

sley_status sl_nccl_settle(sl_nccl_comm *comm, ncclResult_t result, const char *call) {
  double deadline = sl_now() + comm->base.timeout;
  while (result == ncclSuccess || result == ncclInProgress) {
    ncclResult_t state = ncclSuccess;
    result = comm->comm ? comm->nccl.CommGetAsyncError(comm->comm, &state) : ncclInvalidUsage;
    if (result == ncclSuccess && state != ncclInProgress) {
      if (state == ncclSuccess)
        return SLEY_OK;
      result = state;
      break;
    }
    SL_TRY(sl_mesh_progress(comm->base.mesh));
    if (sl_now() > deadline)
      return sl_fail(SLEY_ERR_PEER, "%s: no answer from another rank's NCCL within %g s", call,
                     comm->base.timeout);
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
  }
  return sl_fail(result == ncclRemoteError ? SLEY_ERR_PEER : SLEY_ERR_UNSUPPORTED, "%s: %s", call,
                 comm->nccl.GetErrorString(result));
}

static void drop_comm(sl_nccl_comm *comm) {
  if (comm->comm)
    comm->nccl.CommAbort(comm->comm);
  comm->comm = NULL;
}

static void stop(sl_process_comm *base) {
  sl_nccl_comm *comm = (sl_nccl_comm *)base;
  cudaSetDevice(base->ordinal);
  sl_direct_stop(base);
  if (comm->comm && !sl_mesh_broken(base->mesh) &&
      sl_nccl_settle(comm, comm->nccl.CommFinalize(comm->comm), "ncclCommFinalize") == SLEY_OK) {
    comm->nccl.CommDestroy(comm->comm);
    comm->comm = NULL;
  }
  drop_comm(comm);
  if (comm->beside)
    comm->beside->ops->queue_destroy(comm->beside);
  if (comm->stream)
    cudaStreamDestroy(comm->stream);
  if (comm->nccl.handle)
    dlclose(comm->nccl.handle);
}

/* The part of the start that needs no other rank. */
static sley_status prepare(sl_nccl_comm *comm) {
  sl_device *device = comm->base.base.device;
  int least, greatest;
  if (strcmp(device->ops->name, "cuda") != 0)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "NCCL needs GPUs, but the device is %s: give --device cuda",
                   device->ops->name);
  SL_TRY(load(&comm->nccl));
  SL_TRY(check_cuda(cudaSetDevice(comm->base.ordinal), "cudaSetDevice"));
  SL_TRY(check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange"));
  SL_TRY(check_cuda(cudaStreamCreateWithPriority(&comm->stream, cudaStreamNonBlocking, greatest),
                    "cudaStreamCreateWithPriority"));
  return device->ops->queue_create(device, comm->stream, &comm->beside);
}

static sley_status start(sl_process_comm *base) {
  sl_nccl_comm *comm = (sl_nccl_comm *)base;
  ncclUniqueId id;
  memset(&id, 0, sizeof id);
  base->in_place = true;
  sley_status mine = prepare(comm);
  sley_status status = sl_mesh_agree(base->mesh, "prepare NCCL", 0, 0, mine);
  if (status == SLEY_OK)
    status = sl_process_refuse_shared(base, "NCCL");
  if (status == SLEY_OK) {
    ncclResult_t result = base->base.rank == 0 ? comm->nccl.GetUniqueId(&id) : ncclSuccess;
    if (result != ncclSuccess)
      mine = sl_fail(SLEY_ERR_UNSUPPORTED, "ncclGetUniqueId: %s", comm->nccl.GetErrorString(result));
    status = sl_mesh_agree(base->mesh, "name NCCL", 0, 0, mine);
  }
  if (status == SLEY_OK)
    status = sl_mesh_broadcast(base->mesh, 0, &id, sizeof id);
  if (status == SLEY_OK) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    status = sl_nccl_settle(
        comm, comm->nccl.CommInitRankConfig(&comm->comm, base->base.size, id, base->base.rank, &config),
        "ncclCommInitRankConfig");
  }
  if (status == SLEY_OK)
    status = sl_direct_start(base, &sl_shared_memory);
  if (status != SLEY_OK) {
    drop_comm(comm);
    stop(base);
  }
  return status;
}

/* Aborts NCCL, so that this rank's GPU does not wait for a rank that has failed. */
static void abandon(sl_process_comm *base) {
  drop_comm((sl_nccl_comm *)base);
}

static const sl_process_backend nccl_process = {.name = "nccl",
                                                .dense_native = sl_nccl_dense,
                                                .carrier = &sl_nccl_messages,
                                                .sized = &sl_nccl_sized_messages,
                                                .comm_bytes = sizeof(sl_nccl_comm),
                                                .start = start,
                                                .stop = stop,
                                                .abandon = abandon,
                                                .next = "tcp"};

static sley_status run(const sl_launch *launch, sl_rank_main main, void *arg) {
  return sl_process_run(&nccl_process, launch, main, arg);
}

/* Describes NCCL without using a GPU: this process may still fork its ranks. */
static const char *describe(void) {
  void *handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    sl_fail(SLEY_ERR_UNSUPPORTED, "NCCL is not installed: %s", dlerror());
    return NULL;
  }
  dlclose(handle);
  return "ranks are processes whose GPUs exchange rows by NCCL";
}

static const sl_transport_backend nccl = {
    .name = "nccl", .run = run, .describe = describe, .process = &nccl_process};

__attribute__((visibility("default"))) const void *sl_transport_module(int abi, int *built_for);

const void *sl_transport_module(int abi, int *built_for) {
  *built_for = SL_MODULE_ABI;
  return abi == SL_MODULE_ABI ? &nccl : NULL;
}
