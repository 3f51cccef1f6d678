/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/pull_list.h"

static sl_pull_entry entry_of(const sl_pull_rows *list, int64_t i) {
  return (sl_pull_entry){.src_row = list->src_rows ? list->src_rows[i] : list->src_first + i,
                         .dst_row = list->dst_rows ? list->dst_rows[i] : list->dst_first + i,
                         .source = list->source};
}

/* Entries of a list that have had their turn after so many of `turns`. */
static int64_t due(const sl_pull_rows *list, int64_t turn, int64_t turns) {
  return (int64_t)((__int128)list->count * turn / turns);
}

int64_t sl_pull_interleave(const sl_pull_rows *lists, int count, int start, sl_pull_entry *out) {
  int64_t turns = 0, at = 0;
  for (int l = 0; l < count; l++)
    turns = lists[l].count > turns ? lists[l].count : turns;
  for (int64_t turn = 0; turn < turns; turn++)
    for (int l = 0; l < count; l++) {
      const sl_pull_rows *list = &lists[(start + l) % count];
      for (int64_t i = due(list, turn, turns); i < due(list, turn + 1, turns); i++)
        out[at++] = entry_of(list, i);
    }
  return at;
}
