/* SPDX-License-Identifier: Apache-2.0 */
/* An ordering for the algorithm `cover`, which moves a minimum cover of each remote block, not its halo. The
 * objective is the number of rows in the covers of equal row blocks.
 *
 * - Step 1: take the best of several orderings (the starts), by that number.
 *
 * - Step 2: refine the division into the blocks of 16 ranks (cover_moves.c).
 *
 * - Step 3: refine the division into the blocks of 128 ranks; rows now stay in their block of 16 ranks.
 *
 * - Step 4: number the rows block by block, unless the start had fewer rows in its covers. */
#include <string.h>

#include "base/memory.h"
#include "order/builtin.h"
#include "order/cover_moves.h"
#include "order/divided.h"
#include "order/undirected.h"

/* The blocks that are refined: those of 16 and then those of 128 ranks, as shifts of SL_PARTS. */
static const int shifts[] = {4, 1};
enum { LEVELS = sizeof shifts / sizeof *shifts };

static const sl_ordering *const starts[] = {&sl_order_metis, &sl_order_metis_weighted, &sl_order_rabbit};
enum { STARTS = sizeof starts / sizeof *starts };

typedef struct job {
  sl_pattern pattern;
  int64_t begin[SL_PARTS + 1]; /* first place of each part */
  int32_t *part;               /* part of each row, 0 .. SL_PARTS - 1 */
} job;

/* First row of rank r if `ranks` ranks divide the rows equally; the first ranks may own one more. */
static int64_t equal_begin(int64_t rows, int ranks, int r) {
  int64_t more = rows % ranks;
  return rows / ranks * r + (r < more ? r : more);
}

/* Fills job->begin. Equal blocks of more ranks need not begin where blocks of fewer ranks do. A boundary that
 * several divisions have is that of the first refined one. */
static void place_parts(job *j) {
  for (int i = 0; i <= SL_PARTS; i++) {
    int shift = 0;
    for (int l = LEVELS; l-- > 0;)
      if (i % (1 << shifts[l]) == 0)
        shift = shifts[l];
    j->begin[i] = equal_begin(j->pattern.count, SL_PARTS >> shift, i >> shift);
    if (i > 0 && j->begin[i] < j->begin[i - 1]) /* possible if parts have few rows */
      j->begin[i] = j->begin[i - 1];
  }
}

static void take_parts(job *j, const int64_t *perm) {
  for (int32_t v = 0; v < j->pattern.count; v++) {
    int low = 0, high = SL_PARTS; /* begin[low] <= perm[v] < begin[high] */
    while (high - low > 1) {
      int middle = (low + high) / 2;
      if (j->begin[middle] <= perm[v])
        low = middle;
      else
        high = middle;
    }
    j->part[v] = low;
  }
}

/* Multiplies the numbers of rows in the covers of the levels: the less, the better. */
static sley_status weigh_parts(const job *j, double *weight) {
  sley_status status = SLEY_OK;
  *weight = 1;
  for (int l = 0; l < LEVELS && status == SLEY_OK; l++) {
    sl_cover_parts parts;
    status = sl_cover_parts_create(&j->pattern, SL_PARTS >> shifts[l], j->part, shifts[l], &parts);
    if (status == SLEY_OK)
      *weight *= 1 + (double)sl_cover_parts_rows(&parts);
    sl_cover_parts_free(&parts);
  }
  return status;
}

/* Performs step 1. Fills perm, and job->part with the parts of its places. */
static sley_status find_start(job *j, const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm,
                              double *least) {
  int64_t *other;
  bool found = false;
  SL_TRY(SL_NEW(other, matrix->rows, "an ordering"));
  sley_status status = SLEY_OK;
  for (int s = 0; s < STARTS; s++) {
    double weight;
    status = starts[s]->run(matrix, seed, team, other);
    if (status == SLEY_ERR_UNSUPPORTED && s + 1 < STARTS)
      continue;
    SL_TRY_GOTO(status, status, done);
    take_parts(j, other);
    SL_TRY_GOTO(status, weigh_parts(j, &weight), done);
    if (found && weight >= *least)
      continue;
    found = true;
    *least = weight;
    memcpy(perm, other, (size_t)matrix->rows * sizeof *perm);
  }
  take_parts(j, perm);
done:
  sl_free(other);
  return status;
}

/* Moves rows to the blocks of a level: a row that changed its block gets the part of it to which it has most
 * links. */
static void keep_blocks(job *j, const sl_cover_parts *blocks, int shift) {
  const sl_pattern *p = &j->pattern;
  for (int32_t v = 0; v < p->count; v++) {
    const int32_t block = blocks->part[v], first = block << shift;
    int32_t links[SL_PARTS] = {0}, best = 0;
    if (j->part[v] >> shift == block)
      continue;
    for (int side = 0; side < p->sides; side++)
      for (int64_t e = p->begin[side][v]; e < p->begin[side][v + 1]; e++) {
        int32_t part = j->part[p->neighbour[side][e]];
        if (part >> shift == block)
          links[part - first]++;
      }
    for (int32_t l = 1; l < 1 << shift; l++)
      if (links[l] > links[best])
        best = l;
    j->part[v] = first + best;
  }
}

/* Refines the blocks of a level. siblings: the number of its blocks in a block of the level before. */
static sley_status refine_level(job *j, int shift, int siblings, uint64_t seed) {
  sl_cover_parts blocks;
  int64_t target[SL_PARTS];
  for (int b = 0; b < SL_PARTS >> shift; b++)
    target[b] = j->begin[(b + 1) << shift] - j->begin[b << shift];
  sley_status status = sl_cover_parts_create(&j->pattern, SL_PARTS >> shift, j->part, shift, &blocks);
  if (status == SLEY_OK)
    status = sl_cover_refine(&blocks, siblings, target, seed);
  if (status == SLEY_OK)
    keep_blocks(j, &blocks, shift);
  sl_cover_parts_free(&blocks);
  return status;
}

static sley_status order_cover(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  job j = {0};
  double before, after;
  sley_status status;
  SL_TRY(sl_order_numbers_fit(matrix));
  SL_TRY_GOTO(status, sl_pattern_create(matrix, &j.pattern), done);
  SL_TRY_GOTO(status, SL_NEW(j.part, matrix->rows, "parts"), done);
  place_parts(&j);
  SL_TRY_GOTO(status, find_start(&j, matrix, seed, team, perm, &before), done);
  for (int l = 0, coarser = 0; l < LEVELS; coarser = shifts[l++])
    SL_TRY_GOTO(
        status,
        refine_level(&j, shifts[l], l == 0 ? SL_PARTS >> shifts[l] : 1 << (coarser - shifts[l]), seed), done);
  SL_TRY_GOTO(status, weigh_parts(&j, &after), done);
  if (after < before)
    sl_number_parts(j.part, matrix->rows, perm);
done:
  sl_free(j.part);
  sl_pattern_free(&j.pattern);
  return status;
}

const sl_ordering sl_order_cover = {"cover", "blocks refined so that the algorithm cover moves few rows",
                                    order_cover};
