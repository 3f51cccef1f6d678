/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory that the ranks of a workgroup, which are processes, load and store directly. */
#ifndef SLEY_TRANSPORT_PROCESS_PEER_MEMORY_H
#define SLEY_TRANSPORT_PROCESS_PEER_MEMORY_H

#include "transport/process/process.h"

/* A block on every rank; sizes may differ. */
typedef struct sl_peer_block {
  char *own; /* this rank's block, initially zero */
  char **at; /* addresses of the blocks as this rank's device sees them, by position in the workgroup */
  sl_shared *shared; /* the handles of all ranks' blocks, if the blocks were mapped by handles; else NULL */
} sl_peer_block;

/* A method to allocate and map such memory. */
typedef struct sl_peer_memory {
  /* Allocates a block on every rank. Collective; either every rank gets an error or none. */
  sley_status (*take)(sl_process_comm *comm, int64_t bytes, sl_peer_block *out);
  /* Ends this rank's access to the peers' blocks. */
  void (*close)(sl_process_comm *comm, sl_peer_block *block);
  /* Frees this rank's block, after close and once no peer accesses it. keep: does not free its memory,
   * because a peer may still access it. */
  void (*give)(sl_process_comm *comm, sl_peer_block *block, bool keep);
} sl_peer_memory;

/* Blocks from the device's own alloc, which peers map by handles. */
extern const sl_peer_memory sl_shared_memory;

static inline int sl_place_in_workgroup(const sl_comm *comm, int rank) {
  return rank % comm->workgroup;
}

/* Sets `bytes` bytes of device memory, a multiple of 8, to zero. Waits for the device. */
sley_status sl_peer_memory_clear(sl_process_comm *comm, void *block, int64_t bytes);

#endif
