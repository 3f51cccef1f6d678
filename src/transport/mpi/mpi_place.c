/* SPDX-License-Identifier: Apache-2.0 */
/* How the ranks of an MPI job find each other: MPI provides the numbers of the ranks, and carries the address
 * at which rank 0 listens. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/launcher.h"
#include "socket/socket.h"
#include "transport/mpi/mpi_comm.h"

/* Rank 0's message to all others. */
typedef struct meeting_point {
  char address[SL_ADDRESS_BYTES];
  uint64_t key;
  sl_secret secret;
  int64_t port;
  sl_error error; /* reason why rank 0 cannot listen; SLEY_OK if it can */
} meeting_point;

/* Finds an address of this host that other hosts can reach: MASTER_ADDR if set, else the first address that
 * is not a loopback address. */
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

/* Checks that MPI and the launcher's variables agree. */
static sley_status compare(const sl_launcher *launcher, int rank, int size) {
  if (launcher->name && launcher->size != size)
    return sl_fail(SLEY_ERR_ARG,
                   "%s is %d, but MPI has started %d ranks: the launcher belongs to another MPI than "
                   "libsley_mpi.so, or its variables are out of date",
                   launcher->size_variable, launcher->size, size);
  if (launcher->name && launcher->rank != rank)
    return sl_fail(SLEY_ERR_ARG,
                   "%s is %d, but MPI says that this is rank %d: unset the variables of the other launcher",
                   launcher->rank_variable, launcher->rank, rank);
  return SLEY_OK;
}

/* Makes rank 0 listen, and fills in its message. */
static void offer(sl_place *place, bool one_host, meeting_point *out) {
  int port = 0;
  find_address(out->address);
  sley_status status = sl_random_bytes(&out->key, sizeof out->key);
  if (status == SLEY_OK)
    status = sl_secret_make(&out->secret);
  if (status == SLEY_OK)
    status = sl_socket_listen(0, one_host, &port, &place->listener);
  sl_error_take(status, &out->error);
  out->port = port;
}

/* Returns the FNV-1a hash of the host's name. */
static uint64_t hash_of_host(void) {
  char host[SL_HOST_BYTES];
  uint64_t hash = UINT64_C(14695981039346656037);
  sl_host_name(host);
  for (const char *at = host; *at; at++)
    hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
  return hash;
}

/* Sets *out to whether all ranks are on one host. */
static sley_status compare_hosts(MPI_Comm ranks, sl_mpi_wait wait, bool *one_host) {
  MPI_Request request = MPI_REQUEST_NULL;
  uint64_t hash = hash_of_host(), mine[2] = {hash, ~hash}, most[2];
  sl_mpi_enter();
  int code = MPI_Iallreduce(mine, most, 2, MPI_UINT64_T, MPI_MAX, ranks, &request);
  sl_mpi_leave();
  SL_TRY(sl_mpi_settle(code, &request, wait));
  *one_host = most[0] == ~most[1];
  return SLEY_OK;
}

/* Makes rank 0 listen, and sends its address and the job's secret to all ranks. Nothing is allocated, so no
 * rank fails alone. */
static sley_status tell(MPI_Comm ranks, sl_place *place, meeting_point *point) {
  MPI_Request request = MPI_REQUEST_NULL;
  sl_mpi_wait wait = {.timeout = place->timeout, .what = "a rank's place, by MPI,"};
  SL_TRY(compare_hosts(ranks, wait, &place->local));
  if (place->rank == 0)
    offer(place, place->local, point);
  sl_mpi_enter();
  int code = MPI_Ibcast(point, sizeof *point, MPI_BYTE, 0, ranks, &request);
  sl_mpi_leave();
  return sl_mpi_settle(code, &request, wait);
}

sley_status sl_mpi_place(int ranks, const void *mpi_comm, double timeout, sl_place *out) {
  sl_launcher launcher;
  int rank, size;
  *out = (sl_place){.local_rank = -1, .listener = -1, .timeout = timeout};
  if (!mpi_comm)
    SL_TRY(sl_launcher_find(&launcher));
  SL_TRY(sl_mpi_ready(mpi_comm != NULL, timeout));
  MPI_Comm origin = sl_mpi_origin(mpi_comm);
  if (origin == MPI_COMM_NULL)
    return sl_fail(SLEY_ERR_ARG, "the communicator is MPI_COMM_NULL: this process is not one of its ranks");
  SL_TRY(sl_mpi_check(MPI_Comm_rank(origin, &rank), "MPI_Comm_rank"));
  SL_TRY(sl_mpi_check(MPI_Comm_size(origin, &size), "MPI_Comm_size"));
  if (!mpi_comm)
    SL_TRY(compare(&launcher, rank, size));
  if (ranks > 0 && size != ranks)
    return sl_fail(SLEY_ERR_ARG,
                   "%d ranks were requested, but MPI has started %d: start them by mpirun -n %d", ranks, size,
                   ranks);
  out->rank = rank;
  out->size = size;
  if (size == 1)
    return SLEY_OK;
  meeting_point point = {.port = 0};
  sley_status status = tell(origin, out, &point);
  if (status == SLEY_OK && point.error.status != SLEY_OK) /* all ranks have received the error, and live */
    status = rank == 0 ? sl_error_restore(&point.error) : sl_error_of_peer(0, &point.error);
  else
    sl_mpi_skip_finalise(true); /* a rank may have ended before all ranks have met */
  out->key = point.key;
  out->secret = point.secret;
  out->listens = true;
  out->port = (int)point.port;
  snprintf(out->address, sizeof out->address, "%s", out->local ? "127.0.0.1" : point.address);
  if (status != SLEY_OK && out->listener >= 0)
    close(out->listener);
  return status;
}
