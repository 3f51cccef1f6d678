/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in machine of GPUs, and the values derived from a machine's figures. */
#include "machine/machine.h"

#include <math.h>
#include <string.h>

const sl_machine sl_machine_h200 = {
    .name = "NVIDIA H200, NVLink",
    .source = "built in",
    .device = "cuda",
    .link = {[SL_LINK_SELF] = {0, 3.5e12}, [SL_LINK_DIRECT] = {0, 340e9}, [SL_LINK_MESSAGE] = {40e-6, 10e9}},
    .meeting = 30e-6, /* extra time of products on two and four GPUs with an empty halo, over the time of
                         their sums */
    .pack_bandwidth = 10e9,
    .spmm_bandwidth = 9.5e12,
    .stream_bandwidth = 4.2e12,
    .overlaps = true};

const sl_machine *sl_machine_of(const sl_device *device) {
  return device->ops->host_addresses ? &sl_machine_threads : &sl_machine_h200;
}

const sl_machine *sl_machine_built_in(const char *device) {
  return strcmp(device, sl_machine_h200.device) == 0 ? &sl_machine_h200 : &sl_machine_threads;
}

bool sl_machine_is_built_in(const sl_machine *machine) {
  return strcmp(machine->source, sl_machine_threads.source) == 0;
}

sl_device_figures sl_machine_figures(const sl_machine *machine, const sl_device_figures *device) {
  sl_device_figures out = *device;
  if (machine->launch > 0)
    out.launch = machine->launch;
  if (machine->pass[SL_PASS_COPY].bandwidth > 0)
    out.memory = machine->pass[SL_PASS_COPY].bandwidth;
  if (machine->models_windows)
    out.windows = machine->windows;
  return out;
}

const char *sl_pass_name(sl_array_pass pass) {
  static const char *const names[SL_PASSES] = {"nonzeros", "pici",    "coo",    "decompress",
                                               "sum",      "sum-own", "reduce", "copy"};
  return names[pass];
}

/* Returns the position of x between a and b on a logarithmic scale, within [0, 1]. */
static double place(double x, double a, double b) {
  if (x <= a || b <= a)
    return 0;
  return x >= b ? 1 : log(x / a) / log(b / a);
}

/* Seconds of one message of that many bytes, from measured points; beyond the last point at that point's
 * bandwidth. */
static double by_points(const sl_link_point *p, int points, double bytes) {
  const sl_link_point *last = &p[points - 1];
  if (bytes <= p->bytes)
    return p->seconds;
  if (bytes >= last->bytes)
    return last->seconds * bytes / last->bytes;
  while (p[1].bytes < bytes)
    p++;
  return p->seconds + (p[1].seconds - p->seconds) * (bytes - p->bytes) / (p[1].bytes - p->bytes);
}

double sl_machine_link_seconds(const sl_machine *machine, sl_link link, double count, double bytes) {
  const sl_link_speed *l = &machine->link[link];
  if (count <= 0 || bytes <= 0)
    return 0;
  return count * (l->points > 0 ? by_points(l->point, l->points, bytes) : l->latency + bytes / l->bandwidth);
}

/* Measured rates, ascending in row_bytes, then reach. */
typedef struct rates {
  int count;
  const sl_rate *rate;
} rates;

/* The rate at reach, interpolated within a group of equal row_bytes: entries first .. end - 1. */
static double rate_by_reach(const rates *r, int first, int end, double reach) {
  int i = first;
  while (i + 2 < end && r->rate[i + 1].reach < reach)
    i++;
  if (i + 1 >= end)
    return r->rate[i].bandwidth;
  double at = place(reach, r->rate[i].reach, r->rate[i + 1].reach);
  return r->rate[i].bandwidth * pow(r->rate[i + 1].bandwidth / r->rate[i].bandwidth, at);
}

static int group_end(const rates *r, int first) {
  int end = first;
  while (end < r->count && r->rate[end].row_bytes == r->rate[first].row_bytes)
    end++;
  return end;
}

static double interpolate(const rates *r, double row_bytes, double reach) {
  int low = 0, low_end = group_end(r, 0), high = 0, high_end = low_end;
  while (r->rate[high].row_bytes < row_bytes && high_end < r->count) {
    low = high;
    low_end = high_end;
    high = high_end;
    high_end = group_end(r, high);
  }
  double below = rate_by_reach(r, low, low_end, reach), above = rate_by_reach(r, high, high_end, reach);
  return below * pow(above / below, place(row_bytes, r->rate[low].row_bytes, r->rate[high].row_bytes));
}

double sl_machine_spmm_rate(const sl_machine *m, double row_bytes, double reach) {
  return m->rates > 0 ? interpolate(&(rates){m->rates, m->rate}, row_bytes, reach) : m->spmm_bandwidth;
}

double sl_machine_mixed_rate(const sl_machine *m, double row_bytes, double reach, const sl_nearness *n) {
  if (m->nears == 0)
    return sl_machine_spmm_rate(m, row_bytes, reach);
  double within = n->within[0];
  double seconds = within / interpolate(&(rates){m->nears, m->near}, row_bytes, 0);
  for (int w = 1; w < n->windows; w++) {
    seconds += fmax(n->within[w] - within, 0) / sl_machine_spmm_rate(m, row_bytes, fmin(n->bytes[w], reach));
    within = fmax(n->within[w], within);
  }
  return 1 / (seconds + (1 - within) / sl_machine_spmm_rate(m, row_bytes, reach));
}

double sl_machine_store_rate(const sl_machine *m, double row_bytes, double all) {
  return m->stores > 0 ? interpolate(&(rates){m->stores, m->store}, row_bytes, all) : m->stream_bandwidth;
}

double sl_machine_pack_seconds(const sl_machine *m, double row_bytes, double bytes) {
  if (bytes <= 0)
    return 0;
  if (m->gathers > 0)
    return bytes / interpolate(&(rates){m->gathers, m->gather}, row_bytes, bytes);
  return m->link[SL_LINK_SELF].points > 0 ? sl_machine_link_seconds(m, SL_LINK_SELF, 1, bytes)
                                          : bytes / m->pack_bandwidth;
}

double sl_machine_fetch_seconds(const sl_machine *m, sl_link link, double count, double row_bytes) {
  const sl_link_speed *l = &m->link[link];
  if (count <= 0 || row_bytes <= 0)
    return 0;
  if (l->fetches > 0)
    return count * by_points(l->fetch, l->fetches, row_bytes);
  double bytes = count * row_bytes;
  return sl_machine_link_seconds(m, link, 1, bytes) + sl_machine_pack_seconds(m, row_bytes, bytes);
}
