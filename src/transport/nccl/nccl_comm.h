/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as processes whose GPUs exchange rows by NCCL. */
#ifndef SLEY_TRANSPORT_NCCL_NCCL_COMM_H
#define SLEY_TRANSPORT_NCCL_NCCL_COMM_H

#include <nccl.h>

#include "transport/process/process.h"

/* The functions of libnccl that are called. */
typedef struct sl_nccl_library {
  void *handle;
  ncclResult_t (*GetUniqueId)(ncclUniqueId *id);
  ncclResult_t (*CommInitRankConfig)(ncclComm_t *comm, int size, ncclUniqueId id, int rank,
                                     ncclConfig_t *config);
  ncclResult_t (*CommGetAsyncError)(ncclComm_t comm, ncclResult_t *error);
  ncclResult_t (*CommAbort)(ncclComm_t comm);
  ncclResult_t (*CommFinalize)(ncclComm_t comm);
  ncclResult_t (*CommDestroy)(ncclComm_t comm);
  ncclResult_t (*Send)(const void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                       cudaStream_t stream);
  ncclResult_t (*Recv)(void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                       cudaStream_t stream);
  ncclResult_t (*GroupStart)(void);
  ncclResult_t (*GroupEnd)(void);
  const char *(*GetErrorString)(ncclResult_t result);
} sl_nccl_library;

typedef struct sl_nccl_comm {
  sl_process_comm base;
  sl_nccl_library nccl;
  ncclComm_t comm; /* NULL once it is aborted */
  cudaStream_t stream;
  sl_queue *beside; /* the stream as a queue: exchanges run on it beside the rank's own work */
} sl_nccl_comm;

/* Waits until NCCL has taken a call that returned result, and no longer than the time limit; it does not wait
 * for the GPU. Errors: SLEY_ERR_UNSUPPORTED (misuse, e.g. two ranks on one GPU), SLEY_ERR_PEER. */
sley_status sl_nccl_settle(sl_nccl_comm *comm, ncclResult_t result, const char *call);

/* Ends the rank's part in what is in flight, so that its GPU does not wait for a rank that has failed. */
void sl_nccl_abort(sl_comm *comm, sley_status status);

sley_status sl_nccl_exchange_create(sl_comm *comm, const sl_exchange_spec *spec, sl_exchange **out);
sley_status sl_nccl_exchange_begin(sl_exchange *exchange, const void *src, int64_t src_stride, void *dst,
                                   int64_t dst_stride, sl_queue *queue);
sley_status sl_nccl_exchange_borrow(sl_exchange *exchange, sl_lent *lent, sl_queue *queue);
sley_status sl_nccl_exchange_end(sl_exchange *exchange, sl_queue *queue);
sley_status sl_nccl_exchange_arrive(sl_exchange *exchange, int stage, sl_queue *queue);
void sl_nccl_exchange_destroy(sl_exchange *exchange);

#endif
