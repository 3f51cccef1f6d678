/* SPDX-License-Identifier: Apache-2.0 */
/* Get and put on host memory of other workgroups by a transport's own library, instead of requests over the
 * mesh. The ranks' blocks of one symmetric memory are a window. Single words (sl_is_word) and atomics always
 * are requests: the ranks of a workgroup change words in mapped memory, and a library's atomics are atomic
 * only with each other. */
#ifndef SLEY_TRANSPORT_PROCESS_FAR_MEMORY_H
#define SLEY_TRANSPORT_PROCESS_FAR_MEMORY_H

#include "transport/process/process.h"

/* The library's part of one symmetric memory. */
typedef struct sl_far_window sl_far_window;

/* A get or put in flight: memory of the caller, until wait returns or the comm's operations are ended. */
typedef struct sl_far_access {
  sl_far_window *window; /* NULL: a failure has ended the operation */
  bool puts;
  int rank;
  char *here;                  /* this rank's side of the remaining bytes */
  int64_t offset, left, piece; /* position in the target's block, remaining bytes, bytes of the piece in
                                  flight */
  uint64_t request;            /* the library's handle of the piece in flight */
  struct sl_far_access *next,
      **place; /* list of the comm's operations in flight, and the pointer to this one */
} sl_far_access;

/* The functions of a library. Ranks call the collective ones in the same order. */
typedef struct sl_far_memory {
  /* Makes a window of every rank's block of bytes at own. *out: the window; NULL with SLEY_OK: the library
   * cannot make one, on no rank, and the comm's note says why. After an error *out may be a window too, of
   * which only drop may be called. Collective. */
  sley_status (*open)(sl_process_comm *comm, void *own, int64_t bytes, sl_far_window **out);
  /* Begins the operation whose window, puts, rank, here, offset and left are set. Each piece is counted when
   * it is passed to the library; the first counts one message. */
  sley_status (*begin)(sl_far_access *access);
  /* Waits until the operation is complete at the origin, and serves the mesh meanwhile. */
  sley_status (*wait)(sl_far_access *access);
  /* Waits until all puts to the rank (SL_ALL_RANKS: to all ranks), in all windows, are complete there. */
  sley_status (*flush)(sl_process_comm *comm, int rank);
  /* Ends a window whose memory all ranks have freed. Collective. */
  sley_status (*close)(sl_far_window *window);
  /* Frees the window's data. Returns whether the library does not access the block any more; if not, the
   * block must stay mapped. */
  bool (*drop)(sl_far_window *window);
} sl_far_memory;

#endif
