/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/links.h"

#include <math.h>

#include "base/clock.h"
#include "transport/dense_collective.h"

/* SHORT, LONG, LONGER: bytes that a rank receives in all-gathers; the shortest time of RUNS runs counts.
 * Collectives of fewer than SMALL bytes have too little to gain. */
enum { RUNS = 5, SHORT = 1 << 10, LONG = 1 << 16, LONGER = 1 << 20, SMALL = 1 << 16 };

/* Seconds. A long all-gather that takes at least this time determines the bandwidth; the next longer
 * all-gather would take 16 times as long. */
#define LONG_ENOUGH 2e-3

/* An all-gather in which each rank receives about a given number of bytes. */
typedef struct gather {
  sl_comm *comm;
  sl_dense *dense;
  void *src, *dst;
} gather;

static int64_t values_of(const sl_comm *comm, int64_t bytes) {
  int64_t each = bytes / (comm->size - 1) / (int64_t)sizeof(int64_t);
  return each > 0 ? each : 1;
}

static sley_status take(gather *g, int64_t values) {
  sl_device *device = g->comm->device;
  int64_t bytes = values * (int64_t)sizeof(int64_t);
  SL_TRY(device->ops->alloc(device, bytes, "measuring links", &g->src));
  return device->ops->alloc(device, bytes * g->comm->size, "measuring links", &g->dst);
}

static sley_status open_gather(gather *g, int64_t bytes) {
  sl_dense_spec spec = {.kind = SLEY_ALLGATHER, .op = SLEY_SUM, .type = SLEY_TYPE_I64};
  spec.count = values_of(g->comm, bytes);
  SL_TRY(sl_agree(g->comm, take(g, spec.count)));
  return sl_dense_create(g->comm, &spec, &g->dense);
}

static void close_gather(gather *g) {
  sl_device *device = g->comm->device;
  sl_dense_destroy(g->dense);
  if (g->src)
    device->ops->free(device, g->src);
  if (g->dst)
    device->ops->free(device, g->dst);
}

static sley_status run_once(const gather *g, double *seconds) {
  sl_comm *comm = g->comm;
  SL_TRY(comm->ops->barrier(comm));
  double begin = sl_now();
  SL_TRY(sl_dense_run(g->dense, g->src, g->dst, comm->queue));
  SL_TRY(comm->ops->wait(comm));
  int64_t nanoseconds = (int64_t)((sl_now() - begin) * 1e9) + 1;
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, &nanoseconds, 1));
  *seconds = (double)nanoseconds * 1e-9;
  return SLEY_OK;
}

/* Measures RUNS all-gathers; *least is the time of the fastest, in seconds on its slowest rank. */
static sley_status time_gather(sl_comm *comm, int64_t bytes, double *least) {
  gather g = {.comm = comm};
  *least = INFINITY;
  sley_status status = open_gather(&g, bytes);
  for (int i = -1; i < RUNS && status == SLEY_OK; i++) {
    double seconds = 0;
    status = run_once(&g, &seconds);
    if (i >= 0)
      *least = fmin(*least, seconds);
  }
  close_gather(&g);
  return status;
}

/* Sets *out to whether all ranks need the measurement. */
static sley_status agree(sl_comm *comm, const sl_machine *costs, int64_t bytes, bool *out) {
  char path[SL_MACHINE_SOURCE];
  bool named;
  (void)sl_machine_path(costs->device, path, sizeof path, &named);
  int64_t wants = sl_machine_is_built_in(costs) && !named && bytes >= SMALL;
  *out = false;
  if (sl_workgroups(comm) < 2)
    return SLEY_OK;
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, &wants, 1));
  *out = wants;
  return SLEY_OK;
}

/* Measures the links and stores the result in the comm. All ranks have the same times, so they make the same
 * decisions. */
static sley_status measure(sl_comm *comm) {
  double shortest, longest, bytes = LONG;
  SL_TRY(time_gather(comm, SHORT, &shortest));
  SL_TRY(time_gather(comm, LONG, &longest));
  if (longest < LONG_ENOUGH) {
    bytes = LONGER;
    SL_TRY(time_gather(comm, LONGER, &longest));
  }
  comm->measured = (sl_measured_links){.bandwidth = (bytes - SHORT) / fmax(longest - shortest, 0.1 * longest),
                                       .meeting = shortest};
  return SLEY_OK;
}

sley_status sl_links_measure(sl_comm *comm, const sl_machine *costs, int64_t bytes, sl_machine *machine,
                             bool *measured) {
  SL_TRY(agree(comm, costs, bytes, measured));
  if (!*measured)
    return SLEY_OK;
  if (comm->measured.bandwidth == 0)
    SL_TRY(measure(comm));
  *machine = *costs;
  machine->link[SL_LINK_MESSAGE] = (sl_link_speed){.bandwidth = comm->measured.bandwidth};
  machine->meeting = fmax(machine->meeting, comm->measured.meeting);
  return SLEY_OK;
}
