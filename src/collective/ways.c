/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the ways of sparse collectives. The API, the command, Python and the tests read it. */
#include "collective/ways.h"

#include "base/names.h"

extern const sl_sparse_route_ops sl_sparse_direct, sl_sparse_in_place, sl_sparse_ring, sl_sparse_two_level,
    sl_sparse_doubling, sl_sparse_split;

static const sl_way ways[] = {
    [SLEY_WAY_AUTO] =
        {.info = {.name = "auto",
                  .summary = "direct or two-level, as predicted; without any_order only if the bits stay",
                  .in_order = true}},
    [SLEY_WAY_DIRECT] = {.info = {.name = "direct",
                                  .summary = "directly to each rank that needs the values",
                                  .in_order = true},
                         .route = &sl_sparse_direct,
                         .mapped = &sl_sparse_in_place},
    [SLEY_WAY_RING] = {.info = {.name = "ring",
                                .summary = "from neighbour to neighbour; values are added on the way"},
                       .route = &sl_sparse_ring,
                       .whole = SL_WHOLE_NEVER},
    [SLEY_WAY_TWO_LEVEL] = {.info = {.name = "two-level", .summary = "within workgroups, then between them"},
                            .route = &sl_sparse_two_level,
                            .needs_levels = true},
    [SLEY_WAY_RECURSIVE_DOUBLING] = {.info = {.name = "recursive-doubling",
                                              .summary =
                                                  "whole arrays, to a partner at twice the distance in "
                                                  "each stage; values are added on the way",
                                              .only_allreduce = true},
                                     .route = &sl_sparse_doubling,
                                     .whole = SL_WHOLE_ALWAYS},
    [SLEY_WAY_SPLIT_ALLGATHER] = {.info = {.name = "split-allgather",
                                           .summary =
                                               "parts directly to their ranks, which gather the sums by "
                                               "recursive doubling",
                                           .in_order = true,
                                           .only_allreduce = true},
                                  .route = &sl_sparse_split,
                                  .gathers_ranges = true,
                                  .whole = SL_WHOLE_NEVER},
    [SLEY_WAY_SPLIT_DENSE] = {.info = {.name = "split-dense",
                                       .summary = "as split-allgather, but the sums are gathered dense",
                                       .in_order = true,
                                       .only_allreduce = true},
                              .route = &sl_sparse_split,
                              .gathers_ranges = true,
                              .gathers_dense = true,
                              .whole = SL_WHOLE_NEVER},
};
enum { WAYS = sizeof ways / sizeof *ways };

static const char *name_of(int way) {
  return ways[way].info.name;
}

const char *const *sl_way_names(void) {
  static const char *names[WAYS + 1];
  return sl_names_fill(names, WAYS, name_of);
}

const sl_way *sl_way_of(sley_collective_way way) {
  return (unsigned)way < WAYS ? &ways[way] : NULL;
}

const sl_sparse_route_ops *sl_way_route(const sl_way *way, const sl_comm *comm) {
  return way->mapped && sl_mapped_serves(comm) ? way->mapped : way->route;
}
