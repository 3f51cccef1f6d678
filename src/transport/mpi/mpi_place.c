/* SPDX-License-Identifier: Apache-2.0 */
/* How the ranks of an MPI job find each other: MPI knows who they are, and carries the address at which rank
 * 0 listens. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "bootstrap/launcher.h"
#include "socket/socket.h"
#include "transport/mpi/mpi_comm.h"

/* What rank 0 tells all others. */
typedef struct meeting_point {
  char address[SL_ADDRESS_BYTES], message[512];
  uint64_t key;
  int64_t port, status;
} meeting_point;

/* An address of this host that others reach: MASTER_ADDR if set, else the first that is not its own alone. */
static void find_address(char out[SL_ADDRESS_BYTES]) {
  const char *given = getenv("MASTER_ADDR");
  struct ifaddrs *list = NULL;
  if (gethostname(out, SL_ADDRESS_BYTES - 1) != 0)
    snprintf(out, SL_ADDRESS_BYTES, "localhost");
  if (given && *given) {
    snprintf(out, SL_ADDRESS_BYTES, "%s", given);
    return;
  }
  if (getifaddrs(&list) != 0)
    return;
  for (const struct ifaddrs *at = list; at; at = at->ifa_next) {
    struct sockaddr_in where;
    if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET || (at->ifa_flags & IFF_LOOPBACK) ||
        !(at->ifa_flags & IFF_UP))
      continue;
    memcpy(&where, at->ifa_addr, sizeof where);
    inet_ntop(AF_INET, &where.sin_addr, out, SL_ADDRESS_BYTES);
    break;
  }
  freeifaddrs(list);
}

/* MPI and the launcher's variables must tell the same. */
static sley_status compare(const sl_launcher *launcher, int rank, int size) {
  if (launcher->name && launcher->size != size)
    return sl_fail(SLEY_ERR_ARG,
                   "%s is %d, but MPI has started %d ranks: the launcher belongs to another MPI than "
                   "libsley_mpi.so, or its variables are stale",
                   launcher->size_variable, launcher->size, size);
  if (launcher->name && launcher->rank != rank)
    return sl_fail(SLEY_ERR_ARG, "%s is %d, but MPI says that this is rank %d: unset the variables of one",
                   launcher->rank_variable, launcher->rank, rank);
  return SLEY_OK;
}

/* Rank 0 listens. */
static void offer(sl_place *place, meeting_point *out) {
  int port = 0;
  find_address(out->address);
  if (getrandom(&out->key, sizeof out->key, 0) != (ssize_t)sizeof out->key)
    out->key = (uint64_t)getpid();
  out->status = sl_socket_listen(0, false, &port, &place->listener);
  out->port = port;
  snprintf(out->message, sizeof out->message, "%s", out->status == SLEY_OK ? "" : sley_last_error());
}

/* FNV-1a of the host's name. */
static uint64_t hash_of_host(void) {
  char host[SL_HOST_BYTES];
  uint64_t hash = UINT64_C(14695981039346656037);
  sl_host_name(host);
  for (const char *at = host; *at; at++)
    hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
  return hash;
}

/* Rank 0's point to all, and whether all are on one host. Nothing is allocated, so that no rank fails alone.
 */
static sley_status tell(meeting_point *point, double timeout, bool *one_host) {
  MPI_Request request = MPI_REQUEST_NULL;
  sl_mpi_wait wait = {.timeout = timeout, .what = "a rank's place, by MPI,"};
  sl_mpi_enter();
  int code = MPI_Ibcast(point, sizeof *point, MPI_BYTE, 0, sl_mpi_world(), &request);
  sl_mpi_leave();
  SL_TRY(sl_mpi_settle(code, &request, wait));
  uint64_t hash = hash_of_host(), mine[2] = {hash, ~hash}, most[2];
  sl_mpi_enter();
  code = MPI_Iallreduce(mine, most, 2, MPI_UINT64_T, MPI_MAX, sl_mpi_world(), &request);
  sl_mpi_leave();
  SL_TRY(sl_mpi_settle(code, &request, wait));
  *one_host = most[0] == ~most[1];
  return SLEY_OK;
}

sley_status sl_mpi_place(int ranks, double timeout, sl_place *out) {
  sl_launcher launcher;
  int rank, size;
  *out = (sl_place){.local_rank = -1, .listener = -1, .timeout = timeout};
  SL_TRY(sl_launcher_find(&launcher));
  SL_TRY(sl_mpi_ready(timeout));
  SL_TRY(sl_mpi_check(MPI_Comm_rank(sl_mpi_world(), &rank), "MPI_Comm_rank"));
  SL_TRY(sl_mpi_check(MPI_Comm_size(sl_mpi_world(), &size), "MPI_Comm_size"));
  SL_TRY(compare(&launcher, rank, size));
  if (size != ranks)
    return sl_fail(SLEY_ERR_ARG,
                   "%d ranks were asked for, but MPI has started %d: start them by mpirun -n %d", ranks, size,
                   ranks);
  out->rank = rank;
  out->size = size;
  if (size == 1)
    return SLEY_OK;
  meeting_point point = {.port = 0};
  bool one_host = false;
  if (rank == 0)
    offer(out, &point);
  sley_status status = tell(&point, timeout, &one_host);
  if (status != SLEY_OK)
    sl_mpi_skip_finalise(true);
  else if (point.status != SLEY_OK)
    status = rank == 0 ? sl_fail((sley_status)point.status, "%s", point.message)
                       : sl_fail(SLEY_ERR_PEER, "rank 0 failed: %s", point.message);
  out->key = point.key;
  out->port = (int)point.port;
  snprintf(out->address, sizeof out->address, "%s", one_host ? "127.0.0.1" : point.address);
  if (status != SLEY_OK && out->listener >= 0)
    close(out->listener);
  return status;
}
