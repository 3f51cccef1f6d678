/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as processes whose GPUs exchange rows by NCCL. */
#ifndef SLEY_TRANSPORT_NCCL_NCCL_COMM_H
#define SLEY_TRANSPORT_NCCL_NCCL_COMM_H

#include <nccl.h>

#include "transport/process/process_exchange.h"

/* The functions of libnccl that Sley calls. */
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
  ncclResult_t (*AllReduce)(const void *src, void *dst, size_t count, ncclDataType_t type, ncclRedOp_t op,
                            ncclComm_t comm, cudaStream_t stream);
  ncclResult_t (*ReduceScatter)(const void *src, void *dst, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                ncclComm_t comm, cudaStream_t stream);
  ncclResult_t (*AllGather)(const void *src, void *dst, size_t count, ncclDataType_t type, ncclComm_t comm,
                            cudaStream_t stream);
  ncclResult_t (*GroupStart)(void);
  ncclResult_t (*GroupEnd)(void);
  const char *(*GetErrorString)(ncclResult_t result);
} sl_nccl_library;

typedef struct sl_nccl_comm {
  sl_process_comm base;
  sl_nccl_library nccl;
  ncclComm_t comm; /* communicator; NULL once it is aborted */
  cudaStream_t stream;
  sl_queue *beside; /* the stream as a queue: its exchanges run concurrently with the rank's own work */
} sl_nccl_comm;

/* Waits until NCCL has accepted a call that returned result, within the time limit; does not wait for the
 * GPU. Errors: SLEY_ERR_UNSUPPORTED (misuse, e.g. two ranks on one GPU), SLEY_ERR_PEER. */
sley_status sl_nccl_settle(sl_nccl_comm *comm, ncclResult_t result, const char *call);

/* Enqueues one group on the stream beside the rank's queue: all messages that this rank sends and receives in
 * the round and that are not empty. */
sley_status sl_nccl_enqueue(const sl_process_exchange *exchange);

/* Events of one exchange or collective that order the comm's stream and the rank's queue. */
typedef struct sl_nccl_events {
  sl_event *ready; /* recorded in the queue when the stream's input is written */
  sl_event *done;  /* recorded in the stream when its work is done */
} sl_nccl_events;

sley_status sl_nccl_events_open(const sl_nccl_comm *comm, sl_nccl_events *events);

/* Waits first until the stream's work is done. Accepts events that were opened in part. */
void sl_nccl_events_close(sl_nccl_comm *comm, sl_nccl_events *events);

/* Returns whether an exchange has messages between this rank and others. */
bool sl_nccl_travels(const sl_process_exchange *exchange);

extern const sl_carrier sl_nccl_messages, sl_nccl_sized_messages;

/* The slot dense_native of sl_process_backend, defined in nccl_dense.c. */
sley_status sl_nccl_dense(sl_comm *comm, const sl_dense_spec *spec, sl_dense_native **out);

#endif
