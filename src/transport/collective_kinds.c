/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the kinds of collectives: what src and dst hold, and how the values are divided into the
 * ranks' parts. Algorithms, the command, Python and messages take the rest from here. */

#include "transport/dense_collective.h"

#include "base/names.h"

/* Parts of an array that is cut begin at multiples of so many bytes: devices load and store them in wide
 * words. */
enum { PART_BYTES = 128 };

/* The array of count values is cut into about equal parts. */
static void cut(const sl_dense_spec *spec, int size, int64_t *begin) {
  int64_t unit = PART_BYTES / (int64_t)sley_type_bytes(spec->type), units = (spec->count + unit - 1) / unit;
  begin[0] = 0;
  for (int r = 0; r < size; r++) {
    int64_t end = (units / size * (r + 1) + (r + 1 < units % size ? r + 1 : units % size)) * unit;
    begin[r + 1] = end < spec->count ? end : spec->count;
  }
}

/* Divides the array of count values into parts of about equal length. */
static void join(const sl_dense_spec *spec, int size, int64_t *begin) {
  begin[0] = 0;
  for (int r = 0; r < size; r++)
    begin[r + 1] = begin[r] + (spec->counts ? spec->counts[r] : spec->count);
}

static const sl_collective_kind kinds[] = {
    [SLEY_ALLREDUCE] = {.info = {.name = "allreduce",
                                 .summary = "every rank gets the reduced array",
                                 .reduces = true,
                                 .gathers = true,
                                 .whole = true},
                        .title = "all-reduce",
                        .native = true,
                        .lay_out = cut},
    [SLEY_REDUCE_SCATTER] = {.info = {.name = "reducescatter",
                                      .summary = "every rank gets its part of the reduced array",
                                      .reduces = true},
                             .title = "reduce-scatter",
                             .native = true,
                             .lay_out = join},
    [SLEY_ALLGATHER] = {.info = {.name = "allgather",
                                 .summary = "every rank gets the ranks' arrays one after the other",
                                 .gathers = true},
                        .title = "all-gather",
                        .native = true,
                        .lay_out = join},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *name_of(int kind) {
  return kinds[kind].info.name;
}

const char *const *sl_collective_kind_names(void) {
  static const char *names[KINDS + 1];
  return sl_names_fill(names, KINDS, name_of);
}

const sl_collective_kind *sl_collective_kind_of(sley_collective_kind kind) {
  return (unsigned)kind < KINDS ? &kinds[kind] : NULL;
}
