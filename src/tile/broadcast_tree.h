/* SPDX-License-Identifier: Apache-2.0 */
/* The tree by which ranks in a line, numbered by their places, pass on what one of them owns. */
#ifndef SLEY_TILE_BROADCAST_TREE_H
#define SLEY_TILE_BROADCAST_TREE_H

#include <stdbool.h>

typedef struct sl_broadcast_tree {
  int ranks;
  int radix;  /* ranks that have the data after a level, for each rank that had it before */
  int levels; /* 0 for one rank */
} sl_broadcast_tree;

/* A binomial tree, or, if all ranks of the comm are in one workgroup and can read each other's memory, a tree
 * of one level. */
static inline sl_broadcast_tree sl_broadcast_tree_of(int ranks, bool one_workgroup) {
  sl_broadcast_tree tree = {.ranks = ranks, .radix = one_workgroup && ranks > 1 ? ranks : 2};
  for (int reached = 1; reached < ranks; reached *= tree.radix)
    tree.levels++;
  return tree;
}

/* Returns the place from which the rank at `place` receives the data of `owner` in a level; -1: from none.
 * Level n reaches the ranks at distances radix^n .. radix^(n + 1) - 1 from the owner. */
static inline int sl_broadcast_parent(const sl_broadcast_tree *tree, int owner, int level, int place) {
  const int distance = (place - owner + tree->ranks) % tree->ranks;
  int step = 1;
  for (int n = 0; n < level; n++)
    step *= tree->radix;
  return distance < step || distance >= step * tree->radix ? -1 : (distance % step + owner) % tree->ranks;
}

#endif
