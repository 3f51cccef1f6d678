/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/pull_list.h"

static sl_pull_entry entry_of(const sl_pull_rows *list, int64_t i) {
  return (sl_pull_entry){.src_row = list->src_rows ? list->src_rows[i] : list->src_first + i,
                         .dst_row = list->dst_rows ? list->dst_rows[i] : list->dst_first + i,
                         .source = list->source};
}

/* Entries of a list before those of a stage. */
static int64_t before(const sl_pull_rows *list, int stage, int stages) {
  if (stage == stages)
    return list->count;
  return stage > 0 && list->stage_end ? list->stage_end[stage - 1] : 0;
}

/* Entries of a list that have had their turn after so many of `turns`. */
static int64_t due(int64_t count, int64_t turn, int64_t turns) {
  return (int64_t)((__int128)count * turn / turns);
}

int64_t sl_pull_interleave_stage(const sl_pull_rows *lists, int count, int start, int stage, int stages,
                                 sl_pull_entry *out) {
  int64_t turns = 0, at = 0;
  for (int l = 0; l < count; l++) {
    int64_t entries = before(&lists[l], stage + 1, stages) - before(&lists[l], stage, stages);
    turns = entries > turns ? entries : turns;
  }
  for (int64_t turn = 0; turn < turns; turn++)
    for (int l = 0; l < count; l++) {
      const sl_pull_rows *list = &lists[(start + l) % count];
      int64_t first = before(list, stage, stages), entries = before(list, stage + 1, stages) - first;
      for (int64_t i = due(entries, turn, turns); i < due(entries, turn + 1, turns); i++)
        out[at++] = entry_of(list, first + i);
    }
  return at;
}

int64_t sl_pull_interleave(const sl_pull_rows *lists, int count, int start, sl_pull_entry *out) {
  return sl_pull_interleave_stage(lists, count, start, 0, 1, out);
}
