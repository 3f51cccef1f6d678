/* SPDX-License-Identifier: Apache-2.0 */
/* The data that ranks send each other when they meet, and its validation. */
#ifndef SLEY_BOOTSTRAP_HELLO_H
#define SLEY_BOOTSTRAP_HELLO_H

#include "socket/mesh.h"
#include "socket/proof.h"
#include "socket/socket.h"

/* The process of a rank, for ranks that can look it up: on the same host and in the same process id
 * namespace. */
typedef struct sl_process_id {
  int64_t pid;
  uint64_t space; /* the process id namespace; 0: not known */
} sl_process_id;

/* The id of this process. */
sl_process_id sl_process_id_own(void);

/* A rank's message to rank 0, with its claim. */
typedef struct sl_hello {
  int32_t size, port; /* port: the port on which this rank listens; 0: it cannot take part */
  sl_process_id process;
  char host[SL_HOST_BYTES];
  sl_error error; /* why the rank cannot take part; SLEY_OK: it can */
} sl_hello;

/* Rank 0's answer to each rank: a verdict (sl_error), and then an entry per rank. */
typedef struct sl_entry {
  char address[SL_ADDRESS_BYTES], host[SL_HOST_BYTES];
  int64_t port;
  sl_process_id process;
} sl_entry;

/* Returns whether each field is in its range and each text is terminated; makes the error safe
   (sl_error_check). */
bool sl_hello_check(sl_hello *hello, int ranks);
bool sl_verdict_check(sl_error *verdict, int ranks);
/* Validates the entries of all ranks; rank 0's address and port are not set. */
bool sl_entries_check(const sl_entry *entries, int ranks);

#endif
