/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of symmetric memory of ranks that are processes, shared by the files that make it
 * (process_symmetric.c), access it (one_sided.c) and serve other ranks' requests for it (keeper.c). */
#ifndef SLEY_TRANSPORT_PROCESS_SYMMETRIC_INSIDE_H
#define SLEY_TRANSPORT_PROCESS_SYMMETRIC_INSIDE_H

#include "transport/process/far_memory.h"
#include "transport/process/peer_memory.h"
#include "transport/rma_queue.h"

/* One rank's block. */
typedef struct sl_process_block {
  char *at; /* address of the block; NULL: not mapped here */
  int64_t bytes;
  int64_t pid, fd; /* process and file descriptor of the owner's file, used while it is being mapped */
  bool parted;     /* whether that rank has announced that it will not access this rank's block any more */
} sl_process_block;

typedef struct sl_process_symm {
  sl_symm base;
  uint64_t id;
  bool freed;       /* freed by this rank */
  int still_in_use; /* number of ranks of other workgroups that may still send requests */
  bool on_device;
  sl_far_window *window; /* the blocks as a window of the transport's library; NULL: there is none */
  struct sl_process_symm *next;
  sl_peer_block device; /* blocks in device memory that the workgroup maps */
  char *alone;          /* this rank's block, if no other rank maps it */
  sl_process_block ranks[];
} sl_process_symm;

enum { SL_STAGING_SLOTS = 8 };

/* Data of one-sided access to device memory, from the first such memory to the end of the comm. */
typedef struct sl_process_staging {
  sl_rma_queue *own;     /* queue for operations that this rank begins */
  sl_rma_queue *serving; /* queue for requests of other ranks that this rank serves */
  char *answers;         /* SL_MESH_STAGING bytes for each rank, in host memory that the device copies */
  char *slots;           /* SL_STAGING_SLOTS slots of SL_MESH_STAGE bytes in such host memory, for this rank's
                            side of requests */
  bool taken[SL_STAGING_SLOTS];
  struct sl_process_rma *first, **last; /* operations that go through slots, in the order in which they
                                           began */
} sl_process_staging;

/* Creates comm->staging and starts the thread that serves; does nothing if both exist. */
sley_status sl_process_staging_start(sl_process_comm *comm);

/* Returns the offset of the closing words behind a mapped block of that many bytes: one word for each rank,
 * by position in the workgroup. */
static inline int64_t sl_process_words_at(int64_t bytes) {
  return (bytes + (int64_t)sizeof(int64_t) - 1) / (int64_t)sizeof(int64_t) * (int64_t)sizeof(int64_t);
}

/* Completes this rank's operations on device memory, as far as possible. */
void sl_process_quiet(sl_process_comm *comm);
/* Called after sl_process_quiet: notifies the workgroup that this rank does not access symm any more. Its
 * memory is freed when all ranks have done so and no request can come any more: now, at the next such call,
 * or at the end of the comm. */
void sl_process_part(sl_process_comm *comm, sl_process_symm *symm);

/* Makes the mesh serve the memory that exists now. */
void sl_process_keep(sl_process_comm *comm);

/* The slot of the mesh's keeper for a message that rank `rank` has freed memory `id`. Returns whether any
   memory is left. */
bool sl_process_symm_freed(void *owner, uint64_t id, int rank);

#endif
