/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/probe.h"

sley_status sl_probe_begin(sl_probe *probe, sl_comm *comm, sley_type type, const sl_sparse_costs *costs,
                           double seconds) {
  double most = seconds * costs->count.bandwidth / (double)sley_type_bytes(type);
  *probe = (sl_probe){.comm = comm, .type = type, .limit = -1, .hold = 1};
  probe->most = most < SL_PROBE_LEAST ? SL_PROBE_LEAST : most > 1e15 ? (int64_t)1e15 : (int64_t)most;
  return comm->device->ops->alloc(comm->device, SL_PROBE_BLOCKS * (int64_t)sizeof(int64_t),
                                  "a sparse collective", (void **)&probe->counts);
}

void sl_probe_end(sl_probe *probe) {
  if (probe->counts)
    probe->comm->device->ops->free(probe->comm->device, probe->counts);
}

double sl_probe_density(const sl_probe *probe) {
  return probe->values > 0 ? (double)probe->nonzeros / (double)probe->values : 1;
}

/* ---- the sample */

/* Returns the start of block b of the sample in an array of `values` values: one block in each of
 * SL_PROBE_BLOCKS sections of the array, at another position in every run. */
static int64_t block_begin(const sl_probe *probe, int64_t values, int64_t length, int b) {
  int64_t stretch = values / SL_PROBE_BLOCKS, places = stretch / length;
  return b * stretch + (places > 0 ? probe->runs % places * length : 0);
}

static sley_status count(const sl_probe *probe, const char *src, int64_t values, int64_t *nonzeros,
                         sl_queue *queue) {
  sl_kernel_args args = {
      .op = SL_OP_NONZEROS,
      .nonzeros = {.src = src, .count = values, .type = probe->type, .nonzeros = nonzeros}};
  return sl_kernel_run(queue, &args);
}

static sley_status count_sample(sl_probe *probe, const char *src, int64_t values, sl_queue *queue) {
  int64_t each = (int64_t)sley_type_bytes(probe->type), counts[SL_PROBE_BLOCKS] = {0};
  bool is_all = values <= probe->most;
  int blocks = is_all ? values > 0 : SL_PROBE_BLOCKS;
  int64_t length = is_all ? values : probe->most / SL_PROBE_BLOCKS;
  for (int b = 0; b < blocks; b++) {
    int64_t begin = is_all ? 0 : block_begin(probe, values, length, b);
    SL_TRY(count(probe, src + begin * each, length, &probe->counts[b], queue));
  }
  if (blocks > 0) {
    SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, counts, probe->counts, blocks * (int64_t)sizeof *counts));
    SL_TRY(queue->ops->queue_wait(queue));
  }
  probe->values = blocks * length;
  probe->nonzeros = 0;
  for (int b = 0; b < blocks; b++)
    probe->nonzeros += counts[b];
  return SLEY_OK;
}

/* ---- the decision */

/* Returns whether the density nonzeros / values is above the limit. */
static bool is_too_dense(const sl_probe *probe, int64_t nonzeros, int64_t values) {
  return (double)nonzeros * (double)SL_DENSITY_UNIT > (double)probe->limit * (double)values;
}

static void hold(sl_probe *probe) {
  probe->held = probe->hold;
  probe->hold = probe->hold < SL_PROBE_LONGEST ? 2 * probe->hold : SL_PROBE_LONGEST;
}

/* Decides by a sample of this run, and by the counts of the last run if they are known. */
static sley_status look(sl_probe *probe, const void *src, int64_t values, sl_queue *queue,
                        sl_sparse_reason *why) {
  SL_TRY(count_sample(probe, src, values, queue));
  const sl_sparse_counts last =
      probe->follows ? (sl_sparse_counts){0} : probe->known; /* counts of the last run, unless it
                                                                was dense */
  int64_t sums[] = {probe->values, probe->nonzeros, last.values, last.nonzeros, values - probe->values};
  SL_TRY(probe->comm->ops->allreduce(probe->comm, SL_SUM, sums, 5));
  bool is_known = sums[2] > 0, was_wrong = is_known && is_too_dense(probe, sums[3], sums[2]);
  if (is_too_dense(probe, sums[1], sums[0]))
    *why = SL_SPARSE_FEW_ZEROS;
  else if (was_wrong && sums[4] > 0) /* a sample of the whole arrays is exact */
    *why = SL_SPARSE_MISSED;
  else
    *why = SL_SPARSE_ENOUGH_ZEROS;
  if (*why == SL_SPARSE_ENOUGH_ZEROS && is_known && !was_wrong)
    probe->hold = 1;
  return SLEY_OK;
}

/* Takes the counts of an earlier run, if they have come since the last decision. Returns whether they have.
 */
static bool take_known(sl_probe *probe) {
  if (probe->known.values == 0)
    return false;
  probe->values = probe->known.values;
  probe->nonzeros = probe->known.nonzeros;
  return true;
}

sley_status sl_probe_estimate(sl_probe *probe, const void *src, int64_t values, sl_queue *queue) {
  probe->runs++;
  if (probe->follows && (take_known(probe) || probe->runs > 1))
    return SLEY_OK;
  return count_sample(probe, src, values, queue);
}

/* Decides by the density that each rank knows of its array in an earlier run; then no rank waits for a
   device. */
static sley_status follow(sl_probe *probe, int64_t values, sl_sparse_reason *why) {
  bool is_new = take_known(probe);
  int64_t sums[] = {values, (int64_t)(sl_probe_density(probe) * (double)values), is_new};
  SL_TRY(probe->comm->ops->allreduce(probe->comm, SL_SUM, sums, 3));
  *why = is_too_dense(probe, sums[1], sums[0]) ? SL_SPARSE_MISSED : SL_SPARSE_ENOUGH_ZEROS;
  if (*why == SL_SPARSE_ENOUGH_ZEROS && sums[2] > 0)
    probe->hold = 1;
  return SLEY_OK;
}

sley_status sl_probe_decide(sl_probe *probe, const void *src, int64_t values, sl_queue *queue, bool *sparse,
                            sl_sparse_reason *why) {
  *sparse = false;
  *why = SL_SPARSE_HELD;
  probe->runs++;
  if (probe->held > 0) {
    probe->held--;
    return SLEY_OK;
  }
  SL_TRY(probe->follows && probe->is_sparse ? follow(probe, values, why)
                                            : look(probe, src, values, queue, why));
  *sparse = probe->is_sparse = *why == SL_SPARSE_ENOUGH_ZEROS;
  if (!*sparse)
    hold(probe);
  return SLEY_OK;
}
