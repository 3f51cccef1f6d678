/* SPDX-License-Identifier: Apache-2.0 */
/* The model by which MGG (Wang et al., OSDI 2023, section 6, equations 1 to 3) describes a shape of its
 * kernel: the work of a warp, the shared memory of a block, and the number of warps and blocks. It predicts
 * no times. */
#ifndef SLEY_DEVICE_NEIGHBOUR_MODEL_H
#define SLEY_DEVICE_NEIGHBOUR_MODEL_H

#include "base/types.h"

typedef struct sl_neighbour_shape {
  int ps;   /* entries of a partition, 1 .. 32, or SL_NEIGHBOUR_WHOLE */
  int dist; /* pairs of partitions per warp, 1 .. 16 */
  int wpb;  /* warps per block, 1 .. 16 */
} sl_neighbour_shape;

/* A value of ps: all local entries of a row form one partition, and all remote entries another. */
enum { SL_NEIGHBOUR_WHOLE = INT32_MAX };

/* Inputs of the model in addition to a shape. */
typedef struct sl_neighbour_facts {
  int64_t locals, remotes; /* numbers of partitions */
  int64_t longest;         /* entries of the longest partition */
  int64_t k, value_bytes, sum_bytes;
  bool apart;
  int processors; /* number of multiprocessors */
} sl_neighbour_facts;

typedef struct sl_neighbour_model {
  int64_t workload;     /* WPW = 2 ps D dist; with whole rows, ps is the length of the longest partition */
  int64_t shared_bytes; /* SMEM = ps wpb 4 + wpb D (sum_bytes + value_bytes), with ps at most 32 */
  int64_t warps, blocks;
  double blocks_per_sm;
} sl_neighbour_model;

sl_neighbour_model sl_neighbour_model_of(const sl_neighbour_shape *shape, const sl_neighbour_facts *facts);

#endif
