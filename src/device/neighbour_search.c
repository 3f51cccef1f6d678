/* SPDX-License-Identifier: Apache-2.0 */
/* Searches over shapes of the row-wise kernel: which shape to time next, and which was fastest. */
#include "device/neighbour_search.h"

#include <math.h>

typedef enum axis { PS, DIST, WPB } axis;
static const int most[] = {
    [PS] = SL_NEIGHBOUR_PS_MOST, [DIST] = SL_NEIGHBOUR_DIST_MOST, [WPB] = SL_NEIGHBOUR_WPB_MOST};

typedef struct search {
  sl_neighbour_timer time;
  void *context;
  sl_neighbour_shape fixed; /* 0: not fixed */
  sl_neighbour_table *table;
} search;

static int *along(sl_neighbour_shape *shape, axis which) {
  return which == PS ? &shape->ps : which == DIST ? &shape->dist : &shape->wpb;
}

/* Sets *seconds to the shape's time, from the table or by timing the shape; INFINITY if the table is full. */
static sley_status seconds_of(search *s, const sl_neighbour_shape *shape, double *seconds) {
  sl_neighbour_table *table = s->table;
  for (int i = 0; i < table->count; i++) {
    const sl_neighbour_shape *known = &table->trial[i].shape;
    if (known->ps == shape->ps && known->dist == shape->dist && known->wpb == shape->wpb) {
      *seconds = table->trial[i].seconds;
      return SLEY_OK;
    }
  }
  *seconds = INFINITY;
  if (table->count == SL_NEIGHBOUR_TRIALS)
    return SLEY_OK;
  sl_neighbour_trial trial = {.shape = *shape, .seconds = INFINITY};
  SL_TRY(s->time(s->context, &trial));
  *seconds = trial.seconds;
  table->trial[table->count] = trial;
  if (*seconds < table->trial[table->best].seconds)
    table->best = table->count;
  table->count++;
  return SLEY_OK;
}

/* Doubles one figure, unless it is fixed, as long as that saves time. Skips shapes that do not fit. */
static sley_status grow(search *s, axis which, sl_neighbour_shape *shape) {
  double least;
  SL_TRY(seconds_of(s, shape, &least));
  if (*along(&s->fixed, which))
    return SLEY_OK;
  sl_neighbour_shape next = *shape;
  while (*along(&next, which) * 2 <= most[which]) {
    double seconds;
    *along(&next, which) *= 2;
    SL_TRY(seconds_of(s, &next, &seconds));
    if (isinf(seconds) && isinf(least))
      continue;
    if (seconds >= least)
      break;
    least = seconds;
    *shape = next;
  }
  return SLEY_OK;
}

/* The fastest ps tried with the dist and wpb of the first trial, except the ps in use; 0: none. */
static int second_ps(const sl_neighbour_table *table, int used) {
  const sl_neighbour_shape *first = &table->trial[0].shape;
  int second = 0;
  double least = INFINITY;
  for (int i = 0; i < table->count; i++) {
    const sl_neighbour_trial *trial = &table->trial[i];
    if (trial->shape.dist == first->dist && trial->shape.wpb == first->wpb && trial->shape.ps != used &&
        trial->seconds < least) {
      least = trial->seconds;
      second = trial->shape.ps;
    }
  }
  return second;
}

sley_status sl_neighbour_search(sl_neighbour_timer time, void *context, const sl_neighbour_shape *fixed,
                                sl_neighbour_table *out) {
  search s = {time, context, *fixed, out};
  sl_neighbour_shape shape = {fixed->ps ? fixed->ps : 1, fixed->dist ? fixed->dist : 1,
                              fixed->wpb ? fixed->wpb : 1};
  *out = (sl_neighbour_table){0};
  SL_TRY(grow(&s, PS, &shape));
  SL_TRY(grow(&s, DIST, &shape));
  SL_TRY(grow(&s, WPB, &shape));
  int retreat = second_ps(out, shape.ps);
  if (shape.wpb < most[WPB] && retreat > 0 && retreat < shape.ps) {
    shape.ps = retreat;
    SL_TRY(grow(&s, WPB, &shape));
  }
  if (isinf(out->trial[out->best].seconds))
    return sl_fail(SLEY_ERR_MEMORY,
                   "no shape of the row-wise kernel that it may have fits in the device's memory: take more "
                   "ranks, or with memory=shared fewer columns");
  return SLEY_OK;
}
