/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which rows each rank relays for its workgroup, and which members load them from which relay. */
#include "algo/fusion.h"

#include <string.h>

#include "base/memory.h"
#include "partition/partition.h"

int sl_relay_of(const sl_comm *comm, int group, int outsider) {
  int place = outsider - sl_workgroup_first(comm, sl_workgroup_of(comm, outsider));
  return sl_workgroup_first(comm, group) + place % sl_workgroup_size(comm, group);
}

sley_status sl_starts(const int64_t *count, int ranks, int64_t **out) {
  SL_TRY(SL_NEW(*out, ranks + 1, "rank starts"));
  (*out)[0] = 0;
  for (int p = 0; p < ranks; p++)
    (*out)[p + 1] = (*out)[p] + count[p];
  return SLEY_OK;
}

static int64_t all_numbers(const void *context, int64_t begin, int64_t end, int64_t *out) {
  memcpy(out, (const int64_t *)context + begin, (size_t)(end - begin) * sizeof *out);
  return end - begin;
}

sley_status sl_distinct(const int64_t *numbers, int64_t count, int64_t range, sl_team *team, sl_colset *set,
                        int64_t **list) {
  sl_colset_source source = {count, all_numbers, numbers};
  SL_TRY(sl_colset_build(range, &source, team, set));
  SL_TRY(SL_NEW(*list, set->count, "distinct numbers"));
  return sl_colset_list(set, team, *list);
}

/* Groups the halo entries from outside the workgroup by their relay. requests: their columns in the same
 * order. */
static sley_status group_requests(const sl_inspection *ins, const uint8_t *use, sl_fusion *f, int64_t *count,
                                  int64_t **requests) {
  const sl_comm *comm = ins->comm;
  int group = sl_workgroup_of(comm, comm->rank);
  int64_t *at = NULL;
  memset(count, 0, (size_t)comm->size * sizeof *count);
  for (int pass = 0; pass < 2; pass++) {
    for (int p = 0; p < comm->size; p++) {
      if (sl_workgroup_of(comm, p) == group)
        continue;
      int relay = sl_relay_of(comm, group, p);
      for (int64_t h = ins->halo->begin[p]; h < ins->halo->begin[p + 1]; h++) {
        if (use && !use[h])
          continue;
        if (pass == 0) {
          count[relay]++;
        } else {
          f->take[at[relay]] = h;
          (*requests)[at[relay]++] = ins->halo->row[h];
        }
      }
    }
    if (pass == 1)
      break;
    SL_TRY(sl_starts(count, comm->size, &f->take_begin));
    int64_t total = f->take_begin[comm->size];
    SL_TRY(SL_NEW(f->take, total, "relayed halo entries"));
    SL_TRY(SL_NEW(*requests, total, "relayed halo entries"));
    SL_TRY(SL_NEW(at, comm->size + 1, "rank starts"));
    memcpy(at, f->take_begin, ((size_t)comm->size + 1) * sizeof *at);
  }
  sl_free(at);
  return SLEY_OK;
}

/* Unites the members' requests to the relay list, and converts each request to its position in the list.
 * count[p]: relayed rows that p owns. */
static sley_status unite_requests(const sl_inspection *ins, sl_fusion *f, const int64_t *hop_count,
                                  int64_t *count) {
  int ranks = ins->comm->size;
  sl_colset set = {0};
  sley_status status;
  SL_TRY_GOTO(status, sl_starts(hop_count, ranks, &f->hop_begin), done);
  int64_t requests = f->hop_begin[ranks];
  SL_TRY_GOTO(status, sl_distinct(f->hop, requests, ins->block->cols, sl_plan_team(ins), &set, &f->relay),
              done);
  for (int64_t i = 0; i < requests; i++)
    f->hop[i] = sl_colset_place(&set, f->hop[i]);
  memset(count, 0, (size_t)ranks * sizeof *count);
  for (int64_t i = 0; i < set.count; i++)
    count[sl_partition_owner(ins->col_begin, ranks, f->relay[i])]++;
  status = sl_starts(count, ranks, &f->relay_begin);
done:
  sl_colset_free(&set);
  return status;
}

static sley_status fuse(const sl_inspection *ins, const uint8_t *use, sl_fusion *f, int64_t *counts,
                        int64_t **requests) {
  sl_comm *comm = ins->comm;
  int64_t *received = counts + comm->size;
  SL_TRY(sl_agree(comm, group_requests(ins, use, f, counts, requests)));
  SL_TRY(sl_exchange_items(comm, sizeof(int64_t), *requests, counts, (void **)&f->hop, received));
  SL_TRY(sl_agree(comm, unite_requests(ins, f, received, counts)));
  SL_TRY(sl_exchange_items(comm, sizeof(int64_t), f->relay, counts, (void **)&f->out, received));
  SL_TRY(sl_agree(comm, sl_starts(received, comm->size, &f->out_begin)));
  for (int64_t i = 0; i < f->out_begin[comm->size]; i++)
    f->out[i] -= ins->first_col;
  return SLEY_OK;
}

sley_status sl_fuse(const sl_inspection *ins, const uint8_t *use, sl_fusion *out) {
  *out = (sl_fusion){0};
  int64_t *counts = NULL, *requests = NULL;
  sley_status status = sl_agree(ins->comm, SL_NEW(counts, 2 * (int64_t)ins->comm->size, "rank counts"));
  if (status == SLEY_OK)
    status = fuse(ins, use, out, counts, &requests);
  sl_free(requests);
  sl_free(counts);
  if (status != SLEY_OK)
    sl_fusion_free(out);
  return status;
}

void sl_fusion_free(sl_fusion *f) {
  int64_t *arrays[] = {f->relay, f->relay_begin, f->out,  f->out_begin,
                       f->hop,   f->hop_begin,   f->take, f->take_begin};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    sl_free(arrays[i]);
  *f = (sl_fusion){0};
}
