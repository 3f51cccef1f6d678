/* SPDX-License-Identifier: Apache-2.0 */
/* Who a process is among the ranks, before they have met: from a launcher's variables, or from our own. */
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
  int local_rank; /* among the ranks of this host; -1: found when they meet */
  char address[SL_ADDRESS_BYTES];
  int port;         /* of rank 0; where it is taken, one of the SL_PORTS from it on */
  uint64_t key;     /* of the run: ranks of another run that come to the port are sent away */
  int listener;     /* rank 0's listening socket, given by who started the ranks; else -1 */
  bool local;       /* all ranks are on this host: only its loopback address is listened on */
  bool listens;     /* rank 0 listens at port before any other rank is started */
  sl_secret secret; /* by which ranks prove that they belong to the job; see sl_secret_from_environment */
  double timeout;   /* seconds to meet, and to wait for a peer that does not answer; see sl_timeout */
  double patience;  /* seconds to meet, where somebody watches the ranks until they have; 0: timeout */
  atomic_int *met;  /* raised once the rank has met the others, for who watches; else NULL */
} sl_place;

/* Whether a launcher (torchrun, mpirun, srun) has started this process as a rank: see launcher.h. */
bool sl_place_launched(void);

/* Where the launcher's ranks meet: at MASTER_ADDR and MASTER_PORT, which torchrun sets; under mpirun and srun
 * they may be missing if all ranks are on this host, or SLURM names their hosts. Errors: SLEY_ERR_ARG (a
 * variable that is missing, no number, or does not fit the others: it is named). */
sley_status sl_place_from_variables(sl_place *out);

/* The secret that the user has given: SLEY_SECRET, or the contents of SLEY_SECRET_FILE, which nobody but its
 * owner may be able to read; without a newline at its end. Neither: none, out->given is false. Errors:
 * SLEY_ERR_ARG (both are set, fewer than 16 bytes, a file that others can read), SLEY_ERR_IO. */
sley_status sl_secret_from_environment(sl_secret *out);

/* The number of ranks where `asked` were asked for: that, or the launcher's if there is one (asked is 1 then,
 * or the same). Errors: SLEY_ERR_ARG. */
sley_status sl_place_ranks(int asked, int *out);

/* How many of the ranks share this host, as far as a launcher says; else all. */
int sl_place_neighbours(int ranks);

/* seconds > 0: those. 0: SLEY_TIMEOUT, else 60. Errors: SLEY_ERR_ARG (negative, or SLEY_TIMEOUT is no
 * number). */
sley_status sl_timeout(double seconds, double *out);

/* Names this host so that no other has the same name: NCCL_HOSTID if set, so that one host can stand for
 * several; else host name, boot id and network namespace: what has a network of its own, as a container may,
 * counts as a host. */
void sl_host_name(char out[SL_HOST_BYTES]);

#endif
