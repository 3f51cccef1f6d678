/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/least.h"

#include "collective/time.h"
#include "output/times.h"
#include "ranks/agree.h"

enum { RUNS = 5, WARMUP = 1 };

static const double MS = 1e-3; /* s */

/* ---- bandwidths */

typedef struct arrays {
  sley_collective *gather;
  const void *src;
  void *dst;
  int64_t bytes;
} arrays;

static sley_status copy(sley_comm *comm, void *arg) {
  const arrays *a = arg;
  return sley_comm_copy(comm, a->dst, a->src, a->bytes, SLEY_WITHIN);
}

static sley_status gather(sley_comm *comm, void *arg) {
  const arrays *a = arg;
  (void)comm;
  return sley_collective_run(a->gather, a->src, a->dst);
}

static sley_status median_of(sley_comm *comm, sley_status (*run)(sley_comm *, void *), arrays *a,
                             double *seconds) {
  const cli_timed work = {.run = run, .arg = a};
  double ms[RUNS];
  sley_status status = SLEY_OK;
  for (int i = -WARMUP; i < RUNS && status == SLEY_OK; i++)
    status = cli_collective_time(comm, &work, &ms[i < 0 ? 0 : i]);
  if (status == SLEY_OK)
    *seconds = cli_times_of(ms, RUNS).median * MS;
  return status;
}

/* Bytes/s. A time too short for the clock counts as 1 ns. */
static double bandwidth(double bytes, double seconds) {
  return bytes / (seconds > 1e-9 ? seconds : 1e-9);
}

static sley_status measure_link(sley_comm *comm, arrays *a, double *out) {
  const int ranks = sley_comm_size(comm);
  sley_collective_options options = SLEY_COLLECTIVE_OPTIONS_INIT;
  double seconds = 0;
  options.kind = SLEY_ALLGATHER;
  options.count = a->bytes / ranks / (int64_t)sizeof(float);
  if (ranks == 1 || options.count == 0)
    return SLEY_OK;
  sley_status status = sley_collective_create(comm, &options, &a->gather);
  if (status == SLEY_OK)
    status = median_of(comm, gather, a, &seconds);
  sley_collective_destroy(a->gather);
  *out = bandwidth((double)options.count * sizeof(float) * (ranks - 1), seconds);
  return status;
}

sley_status cli_collective_speeds_of(sley_comm *comm, const void *src, int64_t bytes,
                                     cli_collective_speeds *out) {
  arrays a = {.src = src, .bytes = bytes};
  double seconds = 0;
  *out = (cli_collective_speeds){0};
  sley_status status = cli_agree_status(comm, sley_comm_alloc(comm, bytes, &a.dst));
  if (status == SLEY_OK)
    status = median_of(comm, copy, &a, &seconds);
  out->copy = bandwidth(2 * (double)bytes, seconds);
  if (status == SLEY_OK)
    status = measure_link(comm, &a, &out->link);
  sley_comm_free(comm, a.dst);
  return status;
}

/* ---- the formula */

double cli_collective_least_ms(const sley_collective_kind_info *kind, int ranks, int64_t bytes, double wire,
                               const cli_collective_speeds *speeds) {
  const double all = (double)bytes, part = all / ranks;
  double dense = all + part, made = wire; /* bytes: arrays read and written; compressed written */
  if (kind->reduces && kind->gathers)
    dense = 2 * all + part;
  if (!kind->reduces)
    made = wire / (ranks - 1);
  return ((dense + made + wire) / speeds->copy + wire / speeds->link) / MS;
}
