/* SPDX-License-Identifier: Apache-2.0 */
/* The roofline of the public interface: argument checks, and defaults of options. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/structs.h"
#include "roofline/roofline.h"

static const char *const algorithms[] = {"tile-c", "tile-a", "tile-b", "tile-summa", "summa-2d", NULL};
static const char *const bounds[] = {[SLEY_BOUND_MEMORY] = "memory",
                                     [SLEY_BOUND_SUMS] = "sums",
                                     [SLEY_BOUND_ARITHMETIC] = "arithmetic",
                                     [SLEY_BOUND_NETWORK] = "network"};

const char *const *sley_roofline_algorithms(void) {
  return algorithms;
}

const char *sley_bound_name(sley_bound bound) {
  return (int)bound < 0 || bound > SLEY_BOUND_NETWORK ? NULL : bounds[bound];
}

static bool is_summa(const sley_roofline_options *o) {
  return strcmp(o->algo, "summa-2d") == 0;
}

static sley_status check_algo(const char *call, sley_roofline_options *o, bool dense) {
  if (!o->algo)
    o->algo = algorithms[0];
  for (const char *const *known = algorithms; *known; known++)
    if (strcmp(*known, o->algo) == 0)
      return dense || !is_summa(o)
                 ? SLEY_OK
                 : sl_fail(
                       SLEY_ERR_ARG,
                       "%s: summa-2d multiplies a dense X only: give tile-c, tile-a, tile-b or tile-summa",
                       call);
  return sl_fail(SLEY_ERR_ARG,
                 "%s: there is no algorithm \"%s\": give tile-c, tile-a, tile-b, tile-summa or summa-2d",
                 call, o->algo);
}

static bool is_rate(double value) {
  return value >= 0 && isfinite(value);
}

static sley_status check_figures(const char *call, const sley_roofline_options *o) {
  if (o->ranks < 1)
    return sl_fail(SLEY_ERR_ARG, "%s: %d ranks: give 1 or more", call, o->ranks);
  if (o->ranks_per_node < 0 || o->threads < 0)
    return sl_fail(SLEY_ERR_ARG, "%s: ranks per node and threads must not be negative", call);
  if (!is_rate(o->memory_bandwidth) || !is_rate(o->network_bandwidth) || !is_rate(o->peak) ||
      !is_rate(o->compression) || !is_rate(o->latency))
    return sl_fail(SLEY_ERR_ARG,
                   "%s: bandwidths, latency, peak and compression must be 0 or more, and finite", call);
  if (o->compression > 0 && o->compression < 1)
    return sl_fail(
        SLEY_ERR_ARG,
        "%s: compression is %g: it must be 1 or more, because an entry of C sums at least 1 product", call,
        o->compression);
  return SLEY_OK;
}

/* Sets the shape of the grid: the shape nearest to a square, rows >= columns; if one number is set, the other
 * follows from it. */
static void choose_grid(sley_roofline_options *o) {
  if (o->grid_rows == 0 && o->grid_cols == 0)
    for (int c = 1; c <= o->ranks / c; c++)
      if (o->ranks % c == 0)
        o->grid_cols = c;
  if (o->grid_rows == 0 && o->grid_cols > 0)
    o->grid_rows = o->ranks / o->grid_cols;
  if (o->grid_cols == 0 && o->grid_rows > 0)
    o->grid_cols = o->ranks / o->grid_rows;
}

static int64_t common_multiple(int64_t a, int64_t b) {
  int64_t x = a, y = b;
  while (y != 0) {
    const int64_t rest = x % y;
    x = y;
    y = rest;
  }
  return a / x * b;
}

static sley_status choose_tiles(const char *call, sley_roofline_options *o) {
  const int64_t most = SL_ROOFLINE_TASKS_MOST;
  if (o->tiles_down < 0 || o->tiles_between < 0 || o->tiles_across < 0)
    return sl_fail(SLEY_ERR_ARG, "%s: numbers of tiles must not be negative", call);
  if (o->tiles_down == 0)
    o->tiles_down = o->grid_rows;
  if (o->tiles_across == 0)
    o->tiles_across = o->grid_cols;
  if (o->tiles_between == 0)
    o->tiles_between = common_multiple(o->grid_rows, o->grid_cols);
  if (o->tiles_down > most || o->tiles_between > most / o->tiles_down ||
      o->tiles_across > most / (o->tiles_down * o->tiles_between))
    return sl_fail(SLEY_ERR_ARG,
                   "%s: %" PRId64 " x %" PRId64 " x %" PRId64 " tiles: at most %" PRId64
                   " products of two tiles are possible",
                   call, o->tiles_down, o->tiles_between, o->tiles_across, most);
  return SLEY_OK;
}

static sley_status choose_layout(const char *call, sley_roofline_options *o) {
  if (is_summa(o) && (o->grid_rows || o->grid_cols || o->tiles_down || o->tiles_between || o->tiles_across))
    return sl_fail(SLEY_ERR_ARG, "%s: summa-2d chooses its grid and tiles itself: give none", call);
  if (is_summa(o))
    return (int64_t)o->ranks * o->ranks <= SL_ROOFLINE_TASKS_MOST
               ? SLEY_OK
               : sl_fail(SLEY_ERR_ARG, "%s: %d ranks are too many for summa-2d: at most 4096 are possible",
                         call, o->ranks);
  if (o->grid_rows < 0 || o->grid_cols < 0)
    return sl_fail(SLEY_ERR_ARG, "%s: a grid of %d x %d ranks: neither number may be negative", call,
                   o->grid_rows, o->grid_cols);
  choose_grid(o);
  if ((int64_t)o->grid_rows * o->grid_cols != o->ranks)
    return sl_fail(SLEY_ERR_ARG, "%s: a grid of %d x %d does not have %d ranks: give factors of that number",
                   call, o->grid_rows, o->grid_cols, o->ranks);
  return choose_tiles(call, o);
}

static sley_status take_options(const char *call, const sley_roofline_options *given, bool dense,
                                sley_roofline_options *o) {
  *o = (sley_roofline_options)SLEY_ROOFLINE_OPTIONS_INIT;
  SL_TRY(sl_struct_take("sley_roofline_options", given, sizeof *o, o));
  SL_TRY(check_algo(call, o, dense));
  SL_TRY(check_figures(call, o));
  SL_TRY(choose_layout(call, o));
  return o->machine ? SLEY_OK : sl_machine_find(sl_machine_built_in("cpu"), &o->machine);
}

sley_status sley_roofline_spmm(const sley_matrix *a, int64_t k, const sley_roofline_options *options,
                               sley_roofline *out, sley_roofline_rank *ranks) {
  static const char CALL[] = "sley_roofline_spmm";
  sley_roofline_options o;
  if (!a || !out || k < 0)
    return sl_fail(SLEY_ERR_ARG, "%s: a or out is NULL, or k negative", CALL);
  SL_TRY(take_options(CALL, options, true, &o));
  return sl_roofline_spmm(a, k, &o, out, ranks);
}

sley_status sley_roofline_spgemm(const sley_matrix *a, const sley_matrix *b,
                                 const sley_roofline_options *options, sley_roofline *out,
                                 sley_roofline_rank *ranks) {
  static const char CALL[] = "sley_roofline_spgemm";
  sley_roofline_options o;
  if (!a || !out)
    return sl_fail(SLEY_ERR_ARG, "%s: a or out is NULL", CALL);
  if (!b)
    b = a;
  if (a->cols != b->rows)
    return sl_fail(SLEY_ERR_ARG, "%s: A has %" PRId64 " columns and B %" PRId64 " rows: they must be equal",
                   CALL, a->cols, b->rows);
  if (a->dtype != b->dtype)
    return sl_fail(SLEY_ERR_ARG, "%s: A and B have different dtypes: read or convert both to one", CALL);
  SL_TRY(take_options(CALL, options, false, &o));
  return sl_roofline_spgemm(a, b, &o, out, ranks);
}
