/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a process among the ranks, before they have met: from a launcher's variables, or from
 * sl_spawn. */
#ifndef SLEY_BOOTSTRAP_PLACE_H
#define SLEY_BOOTSTRAP_PLACE_H

#include <stdatomic.h>

#include "base/status.h"
#include "socket/mesh.h"
#include "socket/proof.h"
#include "socket/socket.h"

enum { SL_PORTS = 16 };

typedef struct sl_place {
  int rank, size;
  int local_rank; /* rank among the ranks of this host; -1: counted when they meet */
  char address[SL_ADDRESS_BYTES];
  int port;         /* port of rank 0; if it is in use, one of the SL_PORTS ports starting there */
  uint64_t key;     /* number of the run: ranks of another run that come to the port are rejected */
  int listener;     /* rank 0's listening socket, opened by the parent process; else -1 */
  bool local;       /* all ranks are on this host: rank 0 listens on its loopback address only */
  bool listens;     /* rank 0 listens at port before any other rank is started */
  sl_secret secret; /* secret by which ranks prove that they belong to the job; see
                       sl_secret_from_environment */
  double timeout;   /* seconds to meet, and to wait for a peer that does not answer; see sl_timeout */
  double patience;  /* seconds to meet, if the parent process watches the ranks until then; 0: timeout */
  atomic_int *met;  /* set once the rank has met the others, for the parent process; else NULL */
} sl_place;

/* Returns whether a launcher (torchrun, mpirun, srun) has started this process as a rank: see launcher.h. */
bool sl_place_launched(void);

/* Finds where the launcher's ranks meet: at MASTER_ADDR and MASTER_PORT, which torchrun sets. Under mpirun
 * and srun they may be missing if all ranks are on this host, or SLURM names their hosts. Errors:
 * SLEY_ERR_ARG (a variable is missing, not a number, or contradicts the others: it is named). */
sley_status sl_place_from_variables(sl_place *out);

/* Reads the user's secret: SLEY_SECRET, or the contents of SLEY_SECRET_FILE, without a newline at its end;
 * nobody but its owner may be able to read the file. If neither is set, out->given is false. Errors:
 * SLEY_ERR_ARG (both are set, fewer than 16 bytes, a file that others can read), SLEY_ERR_IO. */
sley_status sl_secret_from_environment(sl_secret *out);

/* Decides the number of ranks: `asked`, or with a launcher its number (asked is then 1 or the same). Errors:
 * SLEY_ERR_ARG. */
sley_status sl_place_ranks(int asked, int *out);

/* Returns how many of the ranks are on this host, if a launcher states it; else the number of all ranks. */
int sl_place_neighbours(int ranks);

/* The time limit: seconds if above 0; for 0 SLEY_TIMEOUT, else 60. Errors: SLEY_ERR_ARG (negative, or
 * SLEY_TIMEOUT is not a number). */
sley_status sl_timeout(double seconds, double *out);

/* Returns a unique name of this host: NCCL_HOSTID if set, so that one host can stand for several; else host
 * name, boot id and network namespace: a container with a network of its own counts as a host. */
void sl_host_name(char out[SL_HOST_BYTES]);

#endif
