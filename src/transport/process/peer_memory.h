/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of devices that ranks of a workgroup, being processes, load and store each other's. */
#ifndef SLEY_TRANSPORT_PROCESS_PEER_MEMORY_H
#define SLEY_TRANSPORT_PROCESS_PEER_MEMORY_H

#include "transport/process/process.h"

/* A block on every rank; sizes may differ. */
typedef struct sl_peer_block {
  char *own; /* zeroed at first */
  char *
      *at; /* of each rank of the workgroup, by its place there: its block's address for this rank's device */
  sl_shared *shared; /* what all ranks have told of theirs, where that is how they were found; else NULL */
} sl_peer_block;

/* Where such memory comes from. */
typedef struct sl_peer_memory {
  /* Collective; either every rank gets an error or none. */
  sley_status (*take)(sl_process_comm *comm, int64_t bytes, sl_peer_block *out);
  /* This rank touches the peers' blocks no more. */
  void (*close)(sl_process_comm *comm, sl_peer_block *block);
  /* After close, and once no peer touches this rank's; keep: perhaps one does, so its memory stays. */
  void (*give)(sl_process_comm *comm, sl_peer_block *block, bool keep);
} sl_peer_memory;

/* Blocks of the device's own alloc, named to the peers by its share. */
extern const sl_peer_memory sl_shared_memory;

static inline int sl_place_in_workgroup(const sl_comm *comm, int rank) {
  return rank % comm->workgroup;
}

/* Makes `bytes` of the device's memory zero, a multiple of 8. Waits for the device. */
sley_status sl_peer_memory_clear(sl_process_comm *comm, void *block, int64_t bytes);

#endif
