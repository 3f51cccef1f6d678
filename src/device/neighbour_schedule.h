/* SPDX-License-Identifier: Apache-2.0 */
/* The neighbour partitions that each warp of the row-wise kernel takes (MGG, section 5.1), for host and
 * device. */
#ifndef SLEY_DEVICE_NEIGHBOUR_SCHEDULE_H
#define SLEY_DEVICE_NEIGHBOUR_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/anywhere.h"

/* Partitions [begin, end) of both lists; each list may be shorter (locals, remotes). */
typedef struct sl_neighbour_share {
  int64_t begin, end, locals, remotes;
} sl_neighbour_share;

SL_ANYWHERE int64_t sl_neighbour_groups(int64_t count, int64_t each) {
  return (count + each - 1) / each;
}

/* Number of warps that a launch needs. In pairs: MGG, equation 2, rounded up. Apart: each warp takes 2 dist
 * partitions of one kind. */
SL_ANYWHERE int64_t sl_neighbour_warps(int64_t locals, int64_t remotes, int dist, bool apart) {
  if (apart)
    return sl_neighbour_groups(locals, 2 * (int64_t)dist) + sl_neighbour_groups(remotes, 2 * (int64_t)dist);
  return sl_neighbour_groups(locals > remotes ? locals : remotes, dist);
}

/* The share of a warp; empty for warps beyond the number that a launch needs. */
SL_ANYWHERE sl_neighbour_share sl_neighbour_share_of(int64_t locals, int64_t remotes, int dist, bool apart,
                                                     int64_t warp) {
  const int64_t each = apart ? 2 * (int64_t)dist : dist, near = apart ? sl_neighbour_groups(locals, each) : 0;
  const bool far = apart && warp >= near;
  const int64_t begin = (far ? warp - near : warp) * each;
  sl_neighbour_share share = {begin, begin + each, far ? 0 : locals, apart && !far ? 0 : remotes};
  return share;
}

#endif
