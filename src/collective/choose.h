/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model of sparse collectives: the format in which a message travels, and the density up to which a
 * way is faster than the dense collective. Times are seconds of one rank. Source of the terms: Hough et al.,
 * Adaptive Space-efficient Collectives, sections II-A and IV-C; but here a rank receives from its peers one
 * after another, and the work per kept value is separate from the work on the array. */
#ifndef SLEY_COLLECTIVE_CHOOSE_H
#define SLEY_COLLECTIVE_CHOOSE_H

#include "machine/machine.h"
#include "transport/dense_collective.h"

/* The parameters of the model, except links and meetings, which the machine states. */
typedef struct sl_sparse_costs {
  const sl_machine *machine;
  sl_pass_cost count, compress, decompress; /* compress: compression to Pici */
  sl_pass_cost compress_coo;
  sl_pass_cost sum;     /* seconds for each compressed array that is added */
  sl_pass_cost sum_own; /* seconds for the rank's own dense array, and for the result */
  sl_pass_cost reduce;  /* seconds for each array of a dense reduction */
  sl_pass_cost copy;
  double wait;   /* seconds for which the host waits for enqueued work */
  double launch; /* seconds in which a kernel starts */
} sl_sparse_costs;

/* Returns the costs for ranks of `threads` threads: the measurements of `sley tune` for the machine, else the
 * built-in ones for its kind of device. The built-in costs of the cpu were measured on one thread; for a GPU
 * they are the bytes of each pass at the speed of the H200's memory. */
sl_sparse_costs sl_sparse_costs_of(const sl_machine *machine, int threads);

/* A collective as seen by one rank; of comm only rank, size and workgroup are used. */
typedef struct sl_sparse_shape {
  const sl_comm *comm;
  const sl_dense_spec *spec;
  const int64_t *begin; /* parts of the ranks, as filled by sl_dense_lay_out */
  bool in_place;        /* direct: peers' arrays are read in place, and no host waits for a device */
} sl_sparse_shape;

/* The expected density of the sum of two arrays with independent nonzeros. */
static inline double sl_density_of_sum(double a, double b) {
  return 1 - (1 - a) * (1 - b);
}

/* The expected density of the sum of `arrays` arrays of the same density. */
double sl_density_of_sums(double density, int arrays);

/* Returns the Pici format with 32-bit offsets if these suffice when all values are kept, else the one with
   64-bit offsets. */
static inline sl_compressed_format sl_pici_for(int64_t values) {
  return sl_compressed_serves(SL_COMPRESSED_PICI32, values) ? SL_COMPRESSED_PICI32 : SL_COMPRESSED_PICI64;
}

/* Returns the format in which an array of that many values takes least time over a link of the class,
 * including compression before and decompression after the transfer. may_be_dense: whether the format dense
 * is one of the choices. */
sl_compressed_format sl_choose_format(const sl_sparse_costs *costs, sl_link link, sley_type type,
                                      int64_t values, double density, bool may_be_dense);

/* The expected times of a run. density: density of the ranks' arrays. */
double sl_dense_seconds(const sl_sparse_costs *costs, const sl_sparse_shape *shape);
double sl_direct_seconds(const sl_sparse_costs *costs, const sl_sparse_shape *shape, double density);
double sl_two_level_seconds(const sl_sparse_costs *costs, const sl_sparse_shape *shape, double density);

/* The unit of densities on which ranks agree: parts per million. */
#define SL_DENSITY_UNIT INT64_C(1000000)

/* The largest density, in millionths, up to which a way is expected to finish on this rank before the dense
 * collective, which takes `dense` seconds on the slowest rank, by enough to pay for the choice; -1: there is
 * no such density. The result may differ between ranks. */
int64_t sl_choose_limit(const sl_sparse_costs *costs, const sl_sparse_shape *shape, bool two_level,
                        double dense);

#endif
