/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model of sparse collectives: which format a message travels in, and up to which density a way is
 * faster than the dense collective. Seconds of one rank. Source of the terms: Hough et al., Adaptive
 * Space-efficient Collectives, sections II-A and IV-C; but a rank receives from its peers one after another,
 * and the work on values that are kept is apart from that on the array. */
#ifndef SLEY_COLLECTIVE_CHOOSE_H
#define SLEY_COLLECTIVE_CHOOSE_H

#include "machine/machine.h"
#include "transport/dense_collective.h"

/* The parameters. Links and meetings are the machine's. */
typedef struct sl_sparse_costs {
  const sl_machine *machine;
  sl_pass_cost count, compress, decompress; /* compress: to Pici */
  sl_pass_cost compress_coo;
  sl_pass_cost sum;     /* of each compressed array that is added */
  sl_pass_cost sum_own; /* of the dense one, and of the result */
  sl_pass_cost reduce;  /* of each array of a dense reduction */
  sl_pass_cost copy;
  double wait;   /* s: the host waits for what is enqueued */
  double launch; /* s: a kernel begins */
} sl_sparse_costs;

/* For ranks of so many threads: what `sley tune` has measured of the machine, else what is built in for its
 * kind of device. The cpu's were measured on one thread, a GPU's are the bytes of each pass at the speed of
 * the H200's memory. */
sl_sparse_costs sl_sparse_costs_of(const sl_machine *machine, int threads);

/* A collective as seen from one rank; comm: rank, size and workgroup of it are looked at. */
typedef struct sl_sparse_shape {
  const sl_comm *comm;
  const sl_dense_spec *spec;
  const int64_t *begin; /* as sl_dense_lay_out fills it */
  bool in_place;        /* direct: peers' arrays are read where they are, and no host waits for a device */
} sl_sparse_shape;

/* The expected density of the sum of two arrays whose nonzeros are at independent places. */
static inline double sl_density_of_sum(double a, double b) {
  return 1 - (1 - a) * (1 - b);
}

/* Of so many arrays of the same density. */
double sl_density_of_sums(double density, int arrays);

/* With offsets of 32 bits, if they are enough for as many values as can be kept. */
static inline sl_compressed_format sl_pici_for(int64_t values) {
  return sl_compressed_serves(SL_COMPRESSED_PICI32, values) ? SL_COMPRESSED_PICI32 : SL_COMPRESSED_PICI64;
}

/* The format in which an array of so many values travels in the least time over a link of the class, if it
 * has to be compressed before and taken apart behind. */
sl_compressed_format sl_choose_format(const sl_sparse_costs *costs, sl_link link, sley_type type,
                                      int64_t values, double density);

/* The times that a run is expected to take. density: of the ranks' arrays. */
double sl_dense_seconds(const sl_sparse_costs *costs, const sl_sparse_shape *shape);
double sl_direct_seconds(const sl_sparse_costs *costs, const sl_sparse_shape *shape, double density);
double sl_two_level_seconds(const sl_sparse_costs *costs, const sl_sparse_shape *shape, double density);

/* Densities are counted in parts per million where ranks agree on them. */
#define SL_DENSITY_UNIT INT64_C(1000000)

/* The largest density, in millionths, up to which a way is expected to end on this rank before the dense
 * collective, which takes `dense` seconds on the slowest rank, and by so much that the choice costs nothing;
 * -1: none is. Not the same on all ranks. */
int64_t sl_choose_limit(const sl_sparse_costs *costs, const sl_sparse_shape *shape, bool two_level,
                        double dense);

#endif
