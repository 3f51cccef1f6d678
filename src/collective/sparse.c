/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse collectives: checks, the route, and the choice between the route and the dense collective in each
   run. */
#include "collective/sparse.h"

#include <string.h>

#include "base/memory.h"
#include "collective/links.h"
#include "collective/mapped.h"
#include "collective/probe.h"
#include "collective/ways.h"
#include "transport/stopwatch.h"

struct sl_sparse {
  sl_sparse_base base;
  sl_machine machine;     /* machine of the costs, if its links were measured */
  sl_sparse_route *route; /* NULL: every run is dense */
  sl_dense *dense;        /* NULL: no run is dense */
  sl_probe probe;         /* probe; used if there are both a route and a dense collective, or bounds */
  sl_sparse_reason why;   /* reason for the path; used if there is only one of them */
};

/* ---- checks */

static sley_status check_ranges(const sl_sparse_spec *spec) {
  if ((unsigned)spec->format >= SL_SPARSE_CHOICES || !sl_way_of(spec->way))
    return sl_fail(SLEY_ERR_ARG, "a sparse collective: format %d or way %d does not exist", (int)spec->format,
                   (int)spec->way);
  if (!(spec->dense_above >= 0 && spec->dense_above <= 1))
    return sl_fail(SLEY_ERR_ARG,
                   "a sparse collective: the density above which it is dense is %g: it must be from 0 to 1",
                   spec->dense_above);
  return SLEY_OK;
}

static sley_status check_kind(const sl_sparse_spec *spec) {
  const sl_way *way = sl_way_of(spec->way);
  if (way->info.only_allreduce && spec->dense.kind != SLEY_ALLREDUCE)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "a collective: the way %s is for all-reduces only", way->info.name);
  return SLEY_OK;
}

static sley_status check_bounds(const sl_sparse_spec *spec) {
  static const char *const names[SL_MESSAGE_CLASSES] = {"inter", "intra", "allgather"};
  for (int i = 0; i < SL_MESSAGE_CLASSES; i++)
    if (spec->above[i].is_set && !(spec->above[i].density >= 0 && spec->above[i].density <= 1))
      return sl_fail(
          SLEY_ERR_ARG,
          "a collective: the density above which %s messages are dense is %g: it must be from 0 to 1",
          names[i], spec->above[i].density);
  return SLEY_OK;
}

static int64_t millionths(double density) {
  return (int64_t)(density * (double)SL_DENSITY_UNIT + 0.5);
}

/* The bound as a number that ranks compare. */
static int64_t bound_number(const sl_sparse_bound *above) {
  return above->is_set ? millionths(above->density) : -1;
}

static sley_status check_spec(sl_comm *comm, const sl_sparse_spec *spec) {
  static const char *const names[] = {"format",
                                      "way",
                                      "the density above which it is dense",
                                      "the density above which inter messages are dense",
                                      "the density above which intra messages are dense",
                                      "the density above which allgather messages are dense"};
  SL_TRY(sl_dense_agree(comm, &spec->dense));
  sley_status status = check_ranges(spec);
  if (status == SLEY_OK)
    status = check_bounds(spec);
  SL_TRY(sl_agree_alike(comm, status));
  int64_t numbers[] = {spec->format,
                       spec->way,
                       millionths(spec->dense_above),
                       bound_number(&spec->above[SL_INTER]),
                       bound_number(&spec->above[SL_INTRA]),
                       bound_number(&spec->above[SL_GATHERED])};
  SL_TRY(sl_agree_same(comm, "a sparse collective", names, numbers, sizeof numbers / sizeof *numbers));
  return check_kind(spec);
}

static bool has_kernels(const sl_comm *comm, const sl_sparse_spec *spec) {
  sl_kernel_args compress = {.op = SL_OP_COMPRESS, .compress = {.type = spec->dense.type}};
  return sl_kernel_serves(comm->device, &compress);
}

/* ---- making */

static int64_t all_values(const sl_sparse_base *base) {
  return base->begin[base->comm->size];
}

/* The part of sl_sparse_create that needs no other rank and no device memory. */
static sley_status start(sl_comm *comm, const sl_sparse_spec *spec, sl_sparse **out) {
  sl_sparse *sparse;
  const sl_machine *machine;
  SL_TRY(SL_NEW_ZERO(sparse, 1, "a sparse collective"));
  *out = sparse;
  sl_sparse_base *base = &sparse->base;
  base->comm = comm;
  base->spec = *spec;
  base->way = sl_way_of(spec->way);
  base->spec.dense.counts = NULL;
  base->value_bytes = (int64_t)sley_type_bytes(spec->dense.type);
  base->density = 1;
  SL_TRY(sl_machine_find(sl_machine_of(comm->device), &machine));
  base->costs = sl_sparse_costs_of(machine, sl_team_size(comm->team));
  SL_TRY(SL_NEW(base->begin, (int64_t)comm->size + 1, "a sparse collective"));
  sl_dense_lay_out(&spec->dense, comm->size, base->begin);
  for (int r = 0; r < comm->size; r++)
    if (sl_route_values(base, r) > base->longest)
      base->longest = sl_route_values(base, r);
  if (sl_route_is_whole(base) || base->way->gathers_ranges)
    base->longest = all_values(base);
  if (base->longest > INT64_MAX / 16 / comm->size / base->value_bytes)
    return sl_fail(SLEY_ERR_OVERFLOW,
                   "a sparse collective: the buffers for the values of %d ranks do not fit 64-bit sizes",
                   comm->size);
  return SLEY_OK;
}

/* Returns whether the bits do not depend on the order in which the ranks' values are reduced, or may depend
   on it. */
static bool is_free(const sl_dense_spec *spec) {
  return !sl_collective_kind_of(spec->kind)->info.reduces || spec->op != SLEY_SUM ||
         spec->type == SLEY_TYPE_I64 || spec->any_order;
}

/* Returns whether the library chooses the way, and there are two ways to choose from. */
static bool chooses_way(const sl_sparse_base *base) {
  return base->spec.way == SLEY_WAY_AUTO && sl_has_levels(base->comm) && is_free(&base->spec.dense);
}

/* Predictions on which the ranks agree: times are the times of the slowest rank, limits the lowest limits of
   any rank. */
typedef struct forecast {
  double dense;              /* seconds */
  int64_t direct, two_level; /* limits, see sl_choose_limit; -1 also if the limit is not used for a choice */
  bool kernels;              /* all ranks have the kernels */
} forecast;

/* Makes the predictions. Collective. */
static sley_status predict(const sl_sparse_base *base, forecast *out) {
  sl_comm *comm = base->comm;
  const sl_sparse_shape shape = {
      .comm = comm, .spec = &base->spec.dense, .begin = base->begin, .in_place = sl_mapped_serves(comm)};
  int64_t nanoseconds = (int64_t)(sl_dense_seconds(&base->costs, &shape) * 1e9);
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, &nanoseconds, 1));
  out->dense = (double)nanoseconds * 1e-9;
  bool two_level = chooses_way(base) || (base->spec.way == SLEY_WAY_TWO_LEVEL && sl_has_levels(comm));
  bool chooses = base->spec.format == SL_SPARSE_AUTO || chooses_way(base);
  int64_t least[] = {chooses ? sl_choose_limit(&base->costs, &shape, false, out->dense) : -1,
                     chooses && two_level ? sl_choose_limit(&base->costs, &shape, true, out->dense) : -1,
                     has_kernels(comm, &base->spec)};
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, least, 3));
  out->direct = least[0];
  out->two_level = least[1];
  out->kernels = least[2];
  return SLEY_OK;
}

/* Returns the way that runs: the way of the spec, or one that the library chooses, or that replaces it. */
static const sl_way *choose_way(const sl_sparse_base *base, const forecast *f) {
  if (!base->way->route && chooses_way(base) && f->two_level > f->direct)
    return sl_way_of(SLEY_WAY_TWO_LEVEL);
  if (!base->way->route || (base->way->needs_levels && !sl_has_levels(base->comm)))
    return sl_way_of(SLEY_WAY_DIRECT);
  return base->way;
}

/* Returns the density up to which the way is taken; for ways that are not predicted, the limit of direct. */
static int64_t limit_of(const sl_sparse_base *base, const forecast *f, const sl_way *way) {
  if (base->spec.dense_above > 0)
    return millionths(base->spec.dense_above);
  return way->needs_levels ? f->two_level : f->direct;
}

/* Bytes of work memory for the largest call of SL_OP_COMPRESS: one array, or all arrays that the direct way
 * reduces. */
static int64_t work_of(const sl_sparse_base *base) {
  int64_t one = sl_compress_work(base->longest), all = 0;
  for (int p = 0; p < base->comm->size && sl_route_reduces(base); p++)
    if (p != base->comm->rank)
      all += sl_compress_work(sl_route_reduced_values(base, p));
  return one > all ? one : all;
}

static sley_status take_base(sl_sparse_base *base) {
  static const uint32_t none = 0;
  sl_queue *queue = base->comm->queue;
  SL_TRY(SL_NEW(base->part, base->comm->size, "a sparse collective"));
  SL_TRY(SL_NEW(base->src, base->comm->size, "a sparse collective"));
  SL_TRY(SL_NEW(base->to_compress, base->comm->size, "a sparse collective"));
  SL_TRY(sl_route_take(base, work_of(base), (void **)&base->work));
  SL_TRY(sl_route_take(base, (int64_t)sizeof none, (void **)&base->wrong));
  return queue->ops->copy(queue, SL_COPY_TO_DEVICE, base->wrong, &none, sizeof none);
}

static sley_status open_route(sl_sparse *sparse, const sl_sparse_route_ops *ops) {
  SL_TRY(sl_agree(sparse->base.comm, take_base(&sparse->base)));
  sley_status status = ops->open(&sparse->base, &sparse->route);
  if (sparse->route)
    sparse->route->ops = ops;
  return status;
}

/* Returns whether each run may be dense as a whole or not. */
static bool chooses_run(const sl_sparse_base *base) {
  return base->spec.format == SL_SPARSE_AUTO && !sl_sparse_has_bounds(&base->spec);
}

/* Returns why all runs are dense, or SL_SPARSE_REASONS if they need not be. */
static sl_sparse_reason always_dense(const sl_sparse_base *base, const forecast *f, int64_t limit) {
  if (base->comm->size == 1 || all_values(base) == 0)
    return SL_SPARSE_ALONE;
  if (base->spec.format == SL_SPARSE_DENSE && base->spec.way == SLEY_WAY_AUTO)
    return SL_SPARSE_ASKED;
  if (base->spec.format == SL_SPARSE_AUTO && !f->kernels)
    return SL_SPARSE_NO_KERNELS;
  return chooses_run(base) && limit < 0 ? SL_SPARSE_SMALL : SL_SPARSE_REASONS;
}

/* The share of the dense collective's time that a sample may take. */
#define PROBE_SHARE 0.02

/* Measures the machine's links if predicted times decide and there is no description of the machine. */
static sley_status measure_links(sl_sparse *sparse) {
  sl_sparse_base *base = &sparse->base;
  bool measured;
  if (base->spec.format != SL_SPARSE_AUTO || base->spec.dense_above > 0)
    return SLEY_OK;
  SL_TRY(sl_links_measure(base->comm, base->costs.machine, all_values(base) * base->value_bytes,
                          &sparse->machine, &measured));
  if (measured)
    base->costs.machine = &sparse->machine;
  return SLEY_OK;
}

/* Makes the dense collective, the route, or both and a probe. */
static sley_status finish(sl_sparse *sparse, const sl_dense_spec *dense) {
  sl_sparse_base *base = &sparse->base;
  forecast f;
  SL_TRY(measure_links(sparse));
  SL_TRY(predict(base, &f));
  const sl_way *way = choose_way(base, &f);
  const sl_sparse_route_ops *route = sl_way_route(way, base->comm);
  int64_t limit = limit_of(base, &f, way);
  sparse->why = always_dense(base, &f, limit);
  bool is_dense = sparse->why != SL_SPARSE_REASONS, chooses = chooses_run(base);
  if (!is_dense && !f.kernels)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "device %s has no kernels that compress arrays: use a dense collective",
                   base->comm->device->ops->name);
  if (is_dense || chooses)
    SL_TRY(sl_dense_create(base->comm, dense, &sparse->dense));
  if (is_dense)
    return SLEY_OK;
  sparse->why = SL_SPARSE_ASKED;
  base->way = way;
  SL_TRY(open_route(sparse, route));
  if (!chooses && !sl_sparse_has_bounds(&base->spec))
    return SLEY_OK;
  SL_TRY(sl_agree(base->comm, sl_probe_begin(&sparse->probe, base->comm, dense->type, &base->costs,
                                             PROBE_SHARE * f.dense)));
  sparse->probe.limit = limit;
  sparse->probe.follows = route->in_place && !base->comm->device->ops->host_addresses;
  return SLEY_OK;
}

sley_status sl_sparse_create(sl_comm *comm, const sl_sparse_spec *spec, sl_sparse **out) {
  sl_sparse *sparse = NULL;
  *out = NULL;
  SL_TRY(check_spec(comm, spec));
  sley_status status = sl_agree(comm, start(comm, spec, &sparse));
  if (status == SLEY_OK)
    status = finish(sparse, &spec->dense);
  if (status != SLEY_OK) {
    sl_error error;
    sl_error_take(status, &error);
    sl_sparse_destroy(sparse);
    return sl_error_restore(&error);
  }
  *out = sparse;
  return SLEY_OK;
}

/* Reads the headers of runs in place that have arrived. An error ends the comm, because the other ranks do
 * not know of it. */
static sley_status settle(sl_sparse *sparse, bool wait) {
  sley_status status = sparse->route ? sparse->route->ops->settle(sparse->route, wait) : SLEY_OK;
  if (status != SLEY_OK)
    sparse->base.comm->ops->abort(sparse->base.comm, status);
  return status;
}

void sl_sparse_destroy(sl_sparse *sparse) {
  if (!sparse)
    return;
  sl_sparse_base *base = &sparse->base;
  (void)base->comm->ops->wait(base->comm); /* enqueued work may still use the memory that is freed here */
  (void)settle(sparse, false);
  sl_probe_end(&sparse->probe);
  if (sparse->route)
    sparse->route->ops->close(sparse->route);
  sl_dense_destroy(sparse->dense);
  sl_route_give(base, base->expanded);
  sl_route_give(base, base->wrong);
  sl_route_give(base, base->work);
  sl_free(base->to_compress);
  sl_free(base->src);
  sl_free(base->part);
  sl_free(base->begin);
  sl_free(sparse);
}

sley_status sl_sparse_report_of(sl_sparse *sparse, sl_sparse_report *out) {
  SL_TRY(settle(sparse, true));
  *out = sparse->base.report;
  return SLEY_OK;
}

/* ---- running */

static sley_status check_array(const sl_sparse_base *base, const void *array, int64_t values,
                               const char *what) {
  if (values > 0 && (!array || (uintptr_t)array % (uintptr_t)base->value_bytes != 0))
    return sl_fail(SLEY_ERR_ARG, "a sparse collective: %s is %p: it must be an array aligned to %lld bytes",
                   what, array, (long long)base->value_bytes);
  return SLEY_OK;
}

static sley_status run_dense(sl_sparse *sparse, const void *src, void *dst, sl_queue *queue) {
  sl_sparse_report *report = &sparse->base.report;
  sl_counters traffic;
  sl_dense_traffic(sparse->dense, &traffic);
  report->path = "dense";
  report->sent = report->dense_sent;
  report->received = traffic.bytes[SL_LINK_DIRECT] + traffic.bytes[SL_LINK_MESSAGE];
  return sl_dense_run(sparse->dense, src, dst, queue);
}

static sley_status run_sparse(sl_sparse *sparse, const void *src, void *dst, sl_queue *queue) {
  sl_sparse_base *base = &sparse->base;
  base->report.path = base->way->info.name;
  base->report.in_place = sparse->route->ops->in_place;
  SL_TRY(sl_route_run(sparse->route, src, dst, queue));
  return sparse->route->ops->finish(sparse->route, queue);
}

/* Chooses between dense and sparse, the same on all ranks. */
static sley_status choose(sl_sparse *sparse, const void *src, int64_t values, sl_queue *queue,
                          bool *is_sparse) {
  sl_sparse_base *base = &sparse->base;
  *is_sparse = sparse->route != NULL;
  base->report.reason = sparse->why;
  bool has_bounds = sl_sparse_has_bounds(&base->spec);
  if (!sparse->route || (!sparse->dense && !has_bounds))
    return SLEY_OK;
  sparse->probe.known = base->known;
  base->known = (sl_sparse_counts){0};
  if (has_bounds) {
    SL_TRY(sl_probe_estimate(&sparse->probe, src, values, queue));
    base->density = sl_probe_density(&sparse->probe);
    return SLEY_OK;
  }
  SL_TRY(sl_probe_decide(&sparse->probe, src, values, queue, is_sparse, &base->report.reason));
  base->density = sl_probe_density(&sparse->probe);
  if (!*is_sparse && base->report.reason != SL_SPARSE_HELD) {
    base->report.values = sparse->probe.values;
    base->report.nonzeros = sparse->probe.nonzeros;
  }
  return SLEY_OK;
}

static sley_status run(sl_sparse *sparse, const void *src, void *dst, sl_queue *queue) {
  sl_sparse_base *base = &sparse->base;
  const sl_comm *comm = base->comm;
  int64_t part = sl_route_values(base, comm->rank);
  int64_t given = sl_route_reduces(base) ? all_values(base) : part;
  bool is_sparse;
  if (sparse->route)
    SL_TRY(sparse->route->ops->settle(sparse->route, false));
  SL_TRY(check_array(base, src, given, "src"));
  SL_TRY(check_array(base, dst, sl_route_gathers(base) ? all_values(base) : part, "dst"));
  base->report = (sl_sparse_report){.result_nonzeros = -1,
                                    .dense_sent = sl_dense_sent(&base->spec.dense, comm, base->begin)};
  SL_TRY(choose(sparse, src, given, queue, &is_sparse));
  return is_sparse ? run_sparse(sparse, src, dst, queue) : run_dense(sparse, src, dst, queue);
}

sley_status sl_sparse_run(sl_sparse *sparse, const void *src, void *dst, sl_queue *queue) {
  sl_comm *comm = sparse->base.comm;
  const sl_work before = sl_work_begin(comm, SL_WORK_EXCHANGE);
  sley_status status = sl_work_end(comm, before, run(sparse, src, dst, queue));
  if (status != SLEY_OK)
    comm->ops->abort(comm, status); /* no peer may wait for this rank */
  return status;
}
