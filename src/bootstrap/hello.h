/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks tell each other when they meet, and the check of it. */
#ifndef SLEY_BOOTSTRAP_HELLO_H
#define SLEY_BOOTSTRAP_HELLO_H

#include "socket/mesh.h"
#include "socket/proof.h"
#include "socket/socket.h"

/* The process of a rank, for who can look it up: of the same host and the same space of process ids. */
typedef struct sl_process_id {
  int64_t pid;
  uint64_t space; /* 0: not known */
} sl_process_id;

/* Of this process. */
sl_process_id sl_process_id_own(void);

/* A rank to rank 0, with its claim. */
typedef struct sl_hello {
  int32_t size, port; /* port: where it listens itself; 0: it cannot take part */
  sl_process_id process;
  char host[SL_HOST_BYTES];
  sl_error error; /* why it cannot take part; SLEY_OK: it can */
} sl_hello;

/* Rank 0 to each rank: a verdict (sl_error), and then an entry per rank. */
typedef struct sl_entry {
  char address[SL_ADDRESS_BYTES], host[SL_HOST_BYTES];
  int64_t port;
  sl_process_id process;
} sl_entry;

/* Whether each field is in its range and each text ends; the error is made safe (sl_error_check). */
bool sl_hello_check(sl_hello *hello, int ranks);
bool sl_verdict_check(sl_error *verdict, int ranks);
/* The entries of all ranks; of rank 0 address and port are not given. */
bool sl_entries_check(const sl_entry *entries, int ranks);

#endif
