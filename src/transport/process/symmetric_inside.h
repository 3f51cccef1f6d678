/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of symmetric memory of ranks that are processes, shared by the files that make it (symmetric.c),
 * access it (one_sided.c) and serve others' requests for it (keeper.c). */
#ifndef SLEY_TRANSPORT_PROCESS_SYMMETRIC_INSIDE_H
#define SLEY_TRANSPORT_PROCESS_SYMMETRIC_INSIDE_H

#include "transport/process/peer_memory.h"
#include "transport/rma_queue.h"

/* Of one rank's block. */
typedef struct sl_process_block {
  char *at; /* NULL: not mapped here */
  int64_t bytes;
  int64_t pid, fd; /* where the owner's file is, while it is being mapped */
  bool parted;     /* the rank has said that it will not ask for this rank's block any more */
} sl_process_block;

typedef struct sl_process_symm {
  sl_symm base;
  uint64_t id;
  bool freed;       /* by this rank */
  int still_in_use; /* by that many ranks of other workgroups, which may ask for access */
  bool on_device;
  struct sl_process_symm *next;
  sl_peer_block device; /* blocks in devices' memory that the workgroup maps */
  char *alone;          /* or this rank's, which no other maps */
  sl_process_block ranks[];
} sl_process_symm;

enum { SL_STAGING_SLOTS = 8 };

/* What one-sided access to devices' memory needs, from the first such memory to the end of the comm. */
typedef struct sl_process_staging {
  sl_rma_queue *own;     /* of this rank's operations */
  sl_rma_queue *serving; /* of those that it serves */
  char *answers;         /* SL_MESH_STAGING bytes of each rank, of the host, for the device to copy */
  char *slots;           /* SL_STAGING_SLOTS of SL_MESH_STAGE bytes, likewise: this rank's side of requests */
  bool taken[SL_STAGING_SLOTS];
  struct sl_process_rma *first, **last; /* operations that go through slots, in the order begun */
} sl_process_staging;

/* Makes comm->staging, and starts the thread that serves; where both are there: nothing. */
sley_status sl_process_staging_start(sl_process_comm *comm);

/* Where a block of so many bytes that a workgroup maps has a word for each of its ranks, by place. */
static inline int64_t sl_process_words_at(int64_t bytes) {
  return (bytes + (int64_t)sizeof(int64_t) - 1) / (int64_t)sizeof(int64_t) * (int64_t)sizeof(int64_t);
}

/* This rank's operations on devices' memory are complete, as far as they can be. */
void sl_process_quiet(sl_process_comm *comm);
/* Then: tells the workgroup that this rank touches symm no more. Its memory goes once all have told so, and
 * nobody will ask for it: now, at the next such call, or at the end of the comm. */
void sl_process_part(sl_process_comm *comm, sl_process_symm *symm);

/* Tells the mesh to serve what is kept now. */
void sl_process_keep(sl_process_comm *comm);

/* Of the mesh's keeper: rank `rank` has freed it. Whether any memory is left. */
bool sl_process_symm_freed(void *owner, uint64_t id, int rank);

#endif
