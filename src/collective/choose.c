/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/choose.h"

#include <math.h>
#include <string.h>

/* Measured on one thread of an x86-64 server, f32: arrays of 4 MiB with 99 % zeros, and the time added by
 * kept values at 50 %. */
static const sl_sparse_costs cpu_costs = {.count = {2.8e10, 0},
                                          .compress = {5.2e9, 0.9e-9},
                                          .compress_coo = {9.5e9, 1.3e-9},
                                          .decompress = {2.5e10, 1.4e-9},
                                          .sum = {9e9, 7e-9},
                                          .sum_own = {9e9, 7e-9},
                                          .reduce = {9e9, 0},
                                          .copy = {1e10, 0},
                                          .wait = 1e-6,
                                          .launch = 0};

/* The bytes that the kernels move (docs/COLLECTIVES.md) for f32, over 3.3e12 bytes/s of memory. Compression
 * and decompression: the array, 0.126 bytes per value for words and counts, and each kept value. To coo: the
 * array twice, and 8 bytes per kept value. Sum: words, counts and kept values of a compressed array; the
 * dense array twice, as operand and as result. */
static const sl_sparse_costs gpu_costs = {.count = {3.3e12, 0},
                                          .compress = {3.2e12, 1.2e-12},
                                          .compress_coo = {1.65e12, 2.4e-12},
                                          .decompress = {3.2e12, 1.2e-12},
                                          .sum = {1.05e14, 1.2e-12},
                                          .sum_own = {1.65e12, 0},
                                          .reduce = {3.3e12, 0},
                                          .copy = {1.7e12, 0},
                                          .wait = 1e-5,
                                          .launch = 5e-6};

/* The sparse collective must be faster than the dense one by this share, which covers the time of the probe
   (probe.c) and errors of the model. */
#define MARGIN 0.05

/* Passes that were not measured on the machine are assumed to be slower than the figures by this factor:
 * ranks share memory, and a wrong choice of the sparse collective costs more than a wrong choice of the dense
 * one. */
#define CAUTION 1.5

static void speed_up(sl_pass_cost *pass, double factor) {
  pass->bandwidth *= factor;
  pass->kept /= factor;
}

/* Sets the cost of a pass for that many threads: as measured if it was, else as built in. */
static void set_pass(const sl_machine *machine, sl_array_pass which, double threads, double caution,
                     sl_pass_cost *pass) {
  bool is_measured = machine->pass[which].bandwidth > 0;
  if (is_measured)
    *pass = machine->pass[which];
  speed_up(pass, is_measured ? threads : threads / caution);
}

sl_sparse_costs sl_sparse_costs_of(const sl_machine *machine, int threads) {
  bool is_gpu = strcmp(machine->device, sl_machine_h200.device) == 0;
  sl_sparse_costs out = is_gpu ? gpu_costs : cpu_costs;
  double used = is_gpu ? 1 : threads;
  out.machine = machine;
  set_pass(machine, SL_PASS_NONZEROS, used, 1, &out.count);
  set_pass(machine, SL_PASS_PICI, used, CAUTION, &out.compress);
  set_pass(machine, SL_PASS_COO, used, CAUTION, &out.compress_coo);
  set_pass(machine, SL_PASS_DECOMPRESS, used, CAUTION, &out.decompress);
  set_pass(machine, SL_PASS_SUM, used, CAUTION, &out.sum);
  set_pass(machine, SL_PASS_SUM_OWN, used, CAUTION, &out.sum_own);
  set_pass(machine, SL_PASS_REDUCE, used, 1, &out.reduce);
  set_pass(machine, SL_PASS_COPY, used, 1, &out.copy);
  return out;
}

double sl_density_of_sums(double density, int arrays) {
  return 1 - pow(1 - density, arrays);
}

/* ---- single arrays */

static double pass_seconds(const sl_pass_cost *pass, double bytes, double kept) {
  return bytes / pass->bandwidth + kept * pass->kept;
}

static int64_t kept_of(int64_t values, double density) {
  return (int64_t)ceil((double)values * density);
}

static double dense_bytes(sley_type type, int64_t values) {
  return (double)values * (double)sley_type_bytes(type);
}

/* Returns the bytes that travel. */
static double message_bytes(sl_compressed_format format, sley_type type, int64_t values, double density) {
  return (double)sl_compressed_bytes(format, type, values, kept_of(values, density));
}

/* Returns the seconds in which one rank compresses an array; the function below, the seconds in which another
   decompresses it. */
static double compress_seconds(const sl_sparse_costs *c, sl_compressed_format format, sley_type type,
                               int64_t values, double density) {
  double bytes = dense_bytes(type, values);
  const sl_pass_cost *pass = format == SL_COMPRESSED_COO ? &c->compress_coo : &c->compress;
  return format == SL_COMPRESSED_DENSE ? bytes / c->copy.bandwidth
                                       : pass_seconds(pass, bytes, (double)kept_of(values, density));
}

static double decompress_seconds(const sl_sparse_costs *c, sl_compressed_format format, sley_type type,
                                 int64_t values, double density) {
  double bytes = dense_bytes(type, values);
  return format == SL_COMPRESSED_DENSE
             ? bytes / c->copy.bandwidth
             : pass_seconds(&c->decompress, bytes, (double)kept_of(values, density));
}

sl_compressed_format sl_choose_format(const sl_sparse_costs *costs, sl_link link, sley_type type,
                                      int64_t values, double density, bool may_be_dense) {
  const sl_compressed_format formats[] = {SL_COMPRESSED_DENSE, sl_pici_for(values), SL_COMPRESSED_COO};
  sl_compressed_format best = SL_COMPRESSED_DENSE;
  double least = INFINITY;
  for (int i = may_be_dense ? 0 : 1; i < 3; i++) {
    sl_compressed_format format = formats[i];
    if (!sl_compressed_serves(format, values))
      continue;
    double seconds =
        sl_machine_link_seconds(costs->machine, link, 1, message_bytes(format, type, values, density)) +
        compress_seconds(costs, format, type, values, density) +
        decompress_seconds(costs, format, type, values, density);
    if (seconds < least) {
      least = seconds;
      best = format;
    }
  }
  return best;
}

/* ---- the arrays that a rank receives from several peers */

typedef struct receipt {
  double seconds[SL_LINK_COUNT];
  double messages; /* number of bytes over message links */
} receipt;

static void receive(const sl_sparse_costs *c, receipt *r, sl_link link, double bytes) {
  r->seconds[link] += sl_machine_link_seconds(c->machine, link, 1, bytes);
  if (link == SL_LINK_MESSAGE)
    r->messages += bytes;
}

/* Seconds of a receipt. Messages take at least the time of the link that the workgroup's ranks share. */
static double receipt_seconds(const sl_sparse_costs *c, const sl_comm *comm, const receipt *r) {
  double shared = r->messages * sl_workgroup_size(comm, sl_workgroup_of(comm, comm->rank));
  double least = c->machine->node_bandwidth > 0 ? shared / c->machine->node_bandwidth : 0;
  return r->seconds[SL_LINK_DIRECT] + fmax(r->seconds[SL_LINK_MESSAGE], least);
}

static int64_t values_of(const sl_sparse_shape *s, int rank) {
  return s->begin[rank + 1] - s->begin[rank];
}

static bool reduces(const sl_sparse_shape *s) {
  return sl_collective_kind_of(s->spec->kind)->info.reduces;
}

static bool gathers(const sl_sparse_shape *s) {
  return sl_collective_kind_of(s->spec->kind)->info.gathers;
}

/* ---- dense */

double sl_dense_seconds(const sl_sparse_costs *c, const sl_sparse_shape *s) {
  int rank = s->comm->rank, size = s->comm->size;
  sley_type type = s->spec->type;
  bool whole = sl_dense_is_whole(s->spec, s->comm);
  int64_t reduced = whole ? s->spec->count : values_of(s, rank);
  receipt scatter = {0}, gather = {0};
  double seconds = 0;
  for (int p = 0; p < size; p++) {
    if (p == rank)
      continue;
    receive(c, &scatter, sl_link_to(s->comm, p), dense_bytes(type, reduced));
    receive(c, &gather, sl_link_to(s->comm, p), dense_bytes(type, values_of(s, p)));
  }
  if (reduces(s)) {
    const double moved = receipt_seconds(c, s->comm, &scatter),
                 added = size * dense_bytes(type, reduced) / c->reduce.bandwidth;
    seconds += sl_dense_is_mapped(s->spec, s->comm) ? fmax(moved, added) : moved + added;
    seconds += c->machine->meeting;
  }
  if (gathers(s) && !whole)
    seconds += receipt_seconds(c, s->comm, &gather) + c->machine->meeting;
  return seconds;
}

/* ---- sparse */

/* Seconds of waiting in a transfer: for the lengths of this rank's arrays, for the lengths of the peers'
 * arrays, and for the check of received arrays. */
static double transfer_waits(const sl_sparse_costs *c) {
  return 3 * c->wait + c->machine->meeting;
}

/* Seconds of waiting if arrays are read in place: the hosts meet twice, at the beginning and the end, and two
 * more kernels run: one reads the arrays while the links bring them, one takes their headers. */
static double round_waits(const sl_sparse_costs *c) {
  return c->machine->meeting + 2 * c->launch;
}

/* Arrays sent to peers and received from them: work is the time of the work; the time of the links is added
 * to receipt. */
typedef struct flow {
  const sl_sparse_costs *costs;
  const sl_sparse_shape *shape;
  double density;
  receipt receipt;
  double work;
} flow;

static sl_compressed_format format_of(const flow *f, sl_link link, int64_t values) {
  return sl_choose_format(f->costs, link, f->shape->spec->type, values, f->density, true);
}

/* Adds the time of one of several arrays that a single call compresses. */
static void compress_one(flow *f, sl_link link, int64_t values) {
  if (values > 0)
    f->work +=
        compress_seconds(f->costs, format_of(f, link, values), f->shape->spec->type, values, f->density);
}

/* Adds the time of an array that a separate call compresses. */
static void send_one(flow *f, sl_link link, int64_t values) {
  if (values > 0)
    f->work += f->costs->launch;
  compress_one(f, link, values);
}

static void receive_one(flow *f, sl_link link, int64_t values) {
  if (values > 0)
    receive(f->costs, &f->receipt, link,
            message_bytes(format_of(f, link, values), f->shape->spec->type, values, f->density));
}

/* Adds the time of decompressing one received array. */
static void expand_one(flow *f, sl_link link, int64_t values) {
  if (values > 0)
    f->work +=
        decompress_seconds(f->costs, format_of(f, link, values), f->shape->spec->type, values, f->density);
}

/* Adds the time to add that many arrays, one of which belongs to this rank. Operations other than sums of
 * floating-point numbers decompress the arrays first. */
static void sum_them(flow *f, int arrays, int64_t values) {
  const sl_dense_spec *spec = f->shape->spec;
  double bytes = dense_bytes(spec->type, values), kept = (double)kept_of(values, f->density);
  if (spec->op == SLEY_SUM && spec->type != SLEY_TYPE_I64)
    f->work += pass_seconds(&f->costs->sum_own, bytes, kept) +
               (arrays - 1) * pass_seconds(&f->costs->sum, bytes, kept);
  else
    f->work +=
        arrays * (pass_seconds(&f->costs->decompress, bytes, kept) + bytes / f->costs->reduce.bandwidth);
}

static double flow_seconds(const flow *f) {
  return f->work + receipt_seconds(f->costs, f->shape->comm, &f->receipt) +
         (f->shape->in_place ? round_waits(f->costs) : transfer_waits(f->costs));
}

static double direct_scatter(const sl_sparse_costs *c, const sl_sparse_shape *s, double density) {
  flow f = {.costs = c, .shape = s, .density = density};
  int rank = s->comm->rank;
  for (int p = 0; p < s->comm->size; p++) {
    if (p == rank)
      continue;
    compress_one(&f, sl_link_to(s->comm, p), values_of(s, p));
    receive_one(&f, sl_link_to(s->comm, p), values_of(s, rank));
  }
  f.work += c->launch; /* one launch for all arrays */
  sum_them(&f, s->comm->size, values_of(s, rank));
  return flow_seconds(&f);
}

static double direct_gather(const sl_sparse_costs *c, const sl_sparse_shape *s, double density) {
  flow f = {.costs = c, .shape = s, .density = density};
  int rank = s->comm->rank;
  bool is_first = true; /* the array is compressed once for all peers; if that is wrong, the error for dense
                           arrays is small */
  for (int p = 0; p < s->comm->size; p++) {
    if (p == rank)
      continue;
    sl_link link = sl_link_to(s->comm, p);
    if (is_first)
      send_one(&f, link, values_of(s, rank));
    is_first = false;
    receive_one(&f, link, values_of(s, p));
    expand_one(&f, link, values_of(s, p));
  }
  return flow_seconds(&f);
}

/* Seconds of exchanging and adding two ranks' whole arrays. */
static double direct_whole(const sl_sparse_costs *c, const sl_sparse_shape *s, double density) {
  flow f = {.costs = c, .shape = s, .density = density};
  sl_link link = sl_link_to(s->comm, 1 - s->comm->rank);
  send_one(&f, link, s->spec->count);
  receive_one(&f, link, s->spec->count);
  sum_them(&f, 2, s->spec->count);
  return flow_seconds(&f);
}

double sl_direct_seconds(const sl_sparse_costs *costs, const sl_sparse_shape *s, double density) {
  double seconds = 0, sums = density;
  if (reduces(s) && gathers(s) && s->comm->size == 2 && !s->in_place)
    return direct_whole(costs, s, density);
  if (reduces(s))
    seconds += direct_scatter(costs, s, density);
  if (reduces(s) && gathers(s))
    sums = sl_density_of_sums(density, s->comm->size);
  if (gathers(s))
    seconds += direct_gather(costs, s, sums);
  return seconds;
}

/* Seconds of a two-level reduce-scatter, assuming that all parts are about as long as this rank's: a round
 * inside the workgroup for each workgroup, and one transfer between workgroups. */
static double two_level_scatter(const sl_sparse_costs *c, const sl_sparse_shape *s, double density) {
  int groups = sl_workgroups(s->comm), members = s->comm->workgroup;
  int64_t values = values_of(s, s->comm->rank);
  double seconds = 0;
  for (int w = 0; w < groups; w++) {
    flow inside = {.costs = c, .shape = s, .density = density};
    for (int p = 1; p < members; p++) {
      send_one(&inside, SL_LINK_DIRECT, values);
      receive_one(&inside, SL_LINK_DIRECT, values);
    }
    sum_them(&inside, members, values);
    seconds += flow_seconds(&inside);
  }
  flow across = {.costs = c, .shape = s, .density = sl_density_of_sums(density, members)};
  for (int w = 1; w < groups; w++) {
    send_one(&across, SL_LINK_MESSAGE, values);
    receive_one(&across, SL_LINK_MESSAGE, values);
  }
  sum_them(&across, groups, values);
  return seconds + flow_seconds(&across);
}

static double two_level_gather(const sl_sparse_costs *c, const sl_sparse_shape *s, double density) {
  int groups = sl_workgroups(s->comm), members = s->comm->workgroup;
  int64_t values = values_of(s, s->comm->rank);
  flow across = {.costs = c, .shape = s, .density = density}, inside = across;
  send_one(&across, SL_LINK_MESSAGE, values);
  for (int w = 1; w < groups; w++) {
    receive_one(&across, SL_LINK_MESSAGE, values);
    expand_one(&across, SL_LINK_MESSAGE, values);
  }
  for (int p = 1; p < members; p++) {
    receive_one(&inside, SL_LINK_DIRECT, values);
    expand_one(&inside, SL_LINK_DIRECT, values);
  }
  return flow_seconds(&across) + groups * flow_seconds(&inside);
}

double sl_two_level_seconds(const sl_sparse_costs *costs, const sl_sparse_shape *s, double density) {
  double seconds = 0, sums = density;
  if (reduces(s))
    seconds += two_level_scatter(costs, s, density);
  if (reduces(s) && gathers(s))
    sums = sl_density_of_sums(density, s->comm->size);
  if (gathers(s))
    seconds += two_level_gather(costs, s, sums);
  return seconds;
}

/* ---- the limit */

int64_t sl_choose_limit(const sl_sparse_costs *costs, const sl_sparse_shape *shape, bool two_level,
                        double dense) {
  double probe = costs->machine->meeting + (shape->in_place ? 0 : costs->wait);
  int64_t low = -1, high = SL_DENSITY_UNIT + 1; /* low is fast enough, high is not */
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    double density = (double)middle / (double)SL_DENSITY_UNIT;
    double sparse =
        two_level ? sl_two_level_seconds(costs, shape, density) : sl_direct_seconds(costs, shape, density);
    if (sparse + probe <= dense * (1 - MARGIN))
      low = middle;
    else
      high = middle;
  }
  return low;
}
