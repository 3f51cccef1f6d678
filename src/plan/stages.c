/* SPDX-License-Identifier: Apache-2.0 */
/* Words: near is within the workgroup, far outside it. A far stage is a message exchange into relays, then a
 * hop: an exchange within the workgroup that hands the relayed rows to the members that need them. A stage's
 * buffer holds first the rows this rank relays, then those it took from other relays. */
#include "plan/stages.h"

#include "base/memory.h"
#include "plan/algorithm.h"
#include "plan/fusion.h"
#include "plan/parts.h"

/* Stages in flight, each with a buffer: two bring nothing to wait for where parts are equal; but of most
 * matrices the local part is the long one, during which a third keeps the links from falling idle. */
enum { IN_FLIGHT = 3 };

/* Workgroups that a stage brings rows from: first .. last - 1, less the receiver's own. */
typedef struct stage {
  int first, last;
  int64_t relay_begin, relay_end; /* this rank's relayed rows of the stage */
  int64_t rows;                   /* of its buffer */
  int buffer, message, hop;       /* indices in the plan */
} stage;

typedef struct stages {
  const sl_inspection *ins;
  const sl_stage_options *options;
  sl_plan *plan;
  sl_fusion fusion;
  int group; /* this rank's */
  int count;
  stage *stage;
  int depth; /* buffers, and stages in flight */
  int near_buffer, near_exchange;
  int32_t *part; /* the column map */
  int64_t *place;
} stages;

/* Source workgroups of a stage for receivers in group. In column order every receiver takes workgroup s at
 * stage s; else receiver g takes workgroup g + s + 1, so that no workgroup sends to all at once (CoLa,
 * algorithm 3). */
static void sources(const stages *st, int group, int number, int *first, int *last) {
  int groups = sl_workgroups(st->ins->comm);
  if (!st->options->pipelined) {
    *first = 0;
    *last = groups;
    return;
  }
  *first = st->ins->reproducible ? number : (group + number + 1) % groups;
  *last = *first + 1;
}

static bool is_source(const stages *st, int receiver_group, int number, int group) {
  int first, last;
  sources(st, receiver_group, number, &first, &last);
  return group >= first && group < last && group != receiver_group;
}

/* Sizes of each stage's buffer and the place of every far halo entry in it. */
static void place_far_rows(stages *st) {
  const sl_inspection *ins = st->ins;
  const sl_comm *comm = ins->comm;
  const sl_fusion *f = &st->fusion;
  for (int s = 0; s < st->count; s++) {
    stage *g = &st->stage[s];
    sources(st, st->group, s, &g->first, &g->last);
    int from = sl_workgroup_first(comm, g->first);
    int to = g->last * comm->workgroup < comm->size ? g->last * comm->workgroup : comm->size;
    g->relay_begin = f->relay_begin[from];
    g->relay_end = f->relay_begin[to];
    g->rows = g->relay_end - g->relay_begin;
    for (int q = 0; q < comm->size; q++)
      for (int64_t i = f->take_begin[q]; i < f->take_begin[q + 1]; i++) {
        int64_t h = f->take[i];
        if (h < ins->halo_begin[from] || h >= ins->halo_begin[to])
          continue;
        if (q == comm->rank)
          st->place[h] =
              sl_lower_bound(f->relay, g->relay_begin, g->relay_end, ins->halo[h]) - g->relay_begin;
        else
          st->place[h] = g->rows++;
      }
  }
}

static sley_status add_buffers(stages *st) {
  const sl_inspection *ins = st->ins;
  int64_t near_rows = 0, most[IN_FLIGHT] = {0};
  int first = sl_workgroup_first(ins->comm, st->group), end = first + sl_workgroup_size(ins->comm, st->group);
  for (int64_t h = ins->halo_begin[first]; h < ins->halo_begin[end]; h++)
    if (!st->options->use || st->options->use[h])
      st->place[h] = near_rows++;
  SL_TRY(sl_plan_add_buffer(st->plan, "near", near_rows, ins->row_bytes, &st->near_buffer));
  for (int s = 0; s < st->count; s++)
    most[s % st->depth] = st->stage[s].rows > most[s % st->depth] ? st->stage[s].rows : most[s % st->depth];
  static const char *const names[IN_FLIGHT] = {"far 0", "far 1", "far 2"};
  int buffer[IN_FLIGHT];
  for (int b = 0; b < st->depth; b++)
    SL_TRY(sl_plan_add_buffer(st->plan, names[b], most[b], ins->row_bytes, &buffer[b]));
  for (int s = 0; s < st->count; s++)
    st->stage[s].buffer = buffer[s % st->depth];
  return SLEY_OK;
}

/* Numbers of the parts in the order they are summed. By default: local, near, then the stages. In column
 * order the near part is cut in two around the local one, and so is a stage that has workgroups on both sides
 * of the own. */
typedef struct part_numbers {
  int local, near_below, near_above, count;
} part_numbers;

static part_numbers number_parts(const stages *st) {
  part_numbers n = {.local = 0, .near_below = 1, .near_above = 1, .count = 2 + st->count};
  if (st->ins->reproducible) {
    n.near_below = st->options->pipelined ? st->group : st->count;
    n.local = n.near_below + 1;
    n.near_above = n.near_below + 2;
    n.count = st->options->pipelined ? sl_workgroups(st->ins->comm) + 2 : 2 * st->count + 3;
  }
  return n;
}

/* The part of stage s's columns above or below the own workgroup's. */
static int far_part(const stages *st, const part_numbers *n, int s, bool above) {
  if (!st->ins->reproducible)
    return 2 + s;
  if (st->options->pipelined)
    return s < st->group ? s : s + 2;
  return above ? n->near_above + 1 : 0;
}

static sley_status cut_parts(stages *st, const part_numbers *n, int *first) {
  const sl_inspection *ins = st->ins;
  const sl_comm *comm = ins->comm;
  sl_part_frame *frames;
  SL_TRY(SL_NEW(frames, n->count, "parts"));
  for (int i = 0; i < n->count; i++)
    frames[i] = (sl_part_frame){.name = "far", .x = SL_BUFFER_X, .whole = i == 0};
  frames[n->local] = (sl_part_frame){.name = "local", .x = SL_BUFFER_X, .whole = n->local == 0};
  frames[n->near_below] = (sl_part_frame){.name = "near", .x = st->near_buffer, .whole = n->near_below == 0};
  frames[n->near_above] = (sl_part_frame){.name = "near", .x = st->near_buffer, .whole = n->near_above == 0};
  for (int p = 0; p < comm->size; p++) {
    int group = sl_workgroup_of(comm, p), number;
    if (p == comm->rank)
      continue;
    if (group == st->group) {
      number = p < comm->rank ? n->near_below : n->near_above;
    } else {
      int s = 0;
      while (!is_source(st, st->group, s, group))
        s++;
      number = far_part(st, n, s, group > st->group);
      frames[number].x = st->stage[s].buffer;
    }
    for (int64_t h = ins->halo_begin[p]; h < ins->halo_begin[p + 1]; h++)
      st->part[h] = st->options->use && !st->options->use[h] ? -1 : number;
  }
  sl_column_map map = {.local = n->local, .part = st->part, .place = st->place};
  sley_status status = sl_parts_cut(st->plan, ins, &map, n->count, frames, first);
  sl_free(frames);
  return status;
}

/* Rows of X that members of the workgroup need of each other. Who skips some tells the owner by wanted_use.
 */
static sley_status add_near(stages *st, const uint8_t *wanted_use) {
  const sl_inspection *ins = st->ins;
  const sl_comm *comm = ins->comm;
  SL_TRY(sl_plan_add_exchange(st->plan, "near", SL_BUFFER_X, st->near_buffer, SL_GRAIN_PEER,
                              &st->near_exchange));
  int first = sl_workgroup_first(comm, st->group), end = first + sl_workgroup_size(comm, st->group);
  int64_t *rows = sl_plan_alloc(st->plan, ins->wanted_begin[end] - ins->wanted_begin[first], sizeof *rows);
  if (!rows)
    return SLEY_ERR_MEMORY;
  int64_t at = 0;
  for (int p = first; p < end; p++) {
    sl_row_list to = {.peer = p, .rows = rows, .bytes = ins->row_bytes};
    for (int64_t i = ins->wanted_begin[p]; i < ins->wanted_begin[p + 1]; i++)
      if (!wanted_use || wanted_use[i])
        rows[to.count++] = ins->wanted[i];
    rows += to.count;
    sl_plan_send(st->plan, st->near_exchange, &to);
    sl_row_list from = {.peer = p, .first = at, .bytes = ins->row_bytes};
    for (int64_t h = ins->halo_begin[p]; h < ins->halo_begin[p + 1]; h++)
      from.count += !st->options->use || st->options->use[h];
    at += from.count;
    sl_plan_recv(st->plan, st->near_exchange, &from);
  }
  return SLEY_OK;
}

/* Owners send relays their rows of a stage. */
static sley_status add_message(stages *st, int number, const int64_t *out) {
  const sl_inspection *ins = st->ins;
  const sl_comm *comm = ins->comm;
  const sl_fusion *f = &st->fusion;
  stage *g = &st->stage[number];
  SL_TRY(sl_plan_add_exchange(st->plan, "far", SL_BUFFER_X, g->buffer, st->options->grain, &g->message));
  for (int p = 0; p < comm->size; p++) {
    if (is_source(st, sl_workgroup_of(comm, p), number, st->group)) {
      sl_row_list to = {
          p, f->out_begin[p + 1] - f->out_begin[p], out + f->out_begin[p], 0, 0, ins->row_bytes};
      sl_plan_send(st->plan, g->message, &to);
    }
    if (is_source(st, st->group, number, sl_workgroup_of(comm, p))) {
      int64_t count = f->relay_begin[p + 1] - f->relay_begin[p];
      sl_row_list from = {p, count, NULL, f->relay_begin[p] - g->relay_begin, 0, ins->row_bytes};
      sl_plan_recv(st->plan, g->message, &from);
    }
  }
  return SLEY_OK;
}

/* Relays hand a stage's rows to the members. */
static sley_status add_hop(stages *st, int number) {
  const sl_inspection *ins = st->ins;
  const sl_comm *comm = ins->comm;
  const sl_fusion *f = &st->fusion;
  stage *g = &st->stage[number];
  SL_TRY(sl_plan_add_exchange(st->plan, "hop", g->buffer, g->buffer, SL_GRAIN_PEER, &g->hop));
  int first = sl_workgroup_first(comm, st->group), end = first + sl_workgroup_size(comm, st->group);
  int64_t from_halo = ins->halo_begin[sl_workgroup_first(comm, g->first)];
  int last_rank = g->last * comm->workgroup < comm->size ? g->last * comm->workgroup : comm->size;
  int64_t to_halo = ins->halo_begin[last_rank], at = g->relay_end - g->relay_begin;
  for (int p = first; p < end; p++) {
    if (p == comm->rank)
      continue;
    int64_t begin = sl_lower_bound(f->hop, f->hop_begin[p], f->hop_begin[p + 1], g->relay_begin);
    int64_t stop = sl_lower_bound(f->hop, f->hop_begin[p], f->hop_begin[p + 1], g->relay_end);
    int64_t *rows = sl_plan_alloc(st->plan, stop - begin, sizeof *rows);
    if (!rows)
      return SLEY_ERR_MEMORY;
    for (int64_t i = begin; i < stop; i++)
      rows[i - begin] = f->hop[i] - g->relay_begin;
    sl_row_list to = {p, stop - begin, rows, 0, 0, ins->row_bytes};
    sl_plan_send(st->plan, g->hop, &to);
    int64_t count = sl_lower_bound(f->take, f->take_begin[p], f->take_begin[p + 1], to_halo) -
                    sl_lower_bound(f->take, f->take_begin[p], f->take_begin[p + 1], from_halo);
    sl_row_list from = {p, count, NULL, at, 0, ins->row_bytes};
    at += count;
    sl_plan_recv(st->plan, g->hop, &from);
  }
  return SLEY_OK;
}

/* Brings stage s's rows to this rank. */
static sley_status arrive(stages *st, int s) {
  SL_TRY(sl_plan_add_step(st->plan, SL_STEP_END, st->stage[s].message));
  SL_TRY(sl_plan_add_step(st->plan, SL_STEP_BEGIN, st->stage[s].hop));
  return sl_plan_add_step(st->plan, SL_STEP_END, st->stage[s].hop);
}

/* Stage s's buffer is free again: the next stage that uses it may come. */
static sley_status follow_up(stages *st, int s) {
  int next = s + st->depth;
  return next < st->count ? sl_plan_add_step(st->plan, SL_STEP_BEGIN, st->stage[next].message) : SLEY_OK;
}

static sley_status add_steps(stages *st, const part_numbers *n, int first) {
  sl_plan *plan = st->plan;
  bool in_order = st->ins->reproducible;
  for (int s = 0; s < st->depth; s++)
    SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, st->stage[s].message));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, st->near_exchange));
  if (!in_order)
    SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, first + n->local));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_END, st->near_exchange));
  if (!in_order)
    SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, first + n->near_below));
  for (int s = 0; s < st->count; s++) {
    SL_TRY(arrive(st, s));
    if (!in_order || (st->options->pipelined && s != st->group))
      SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, first + far_part(st, n, s, false)));
    if (in_order && st->options->pipelined && s == st->group)
      for (int part = n->near_below; part <= n->near_above; part++)
        SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, first + part));
    SL_TRY(follow_up(st, s));
  }
  if (in_order && (!st->options->pipelined || st->count == 0))
    for (int part = 0; part < n->count; part++)
      SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, first + part));
  return SLEY_OK;
}

static sley_status assemble(stages *st, const uint8_t *wanted_use) {
  const sl_fusion *f = &st->fusion;
  int64_t halo = st->ins->halo_set.count, out_count = f->out_begin[st->ins->comm->size];
  SL_TRY(SL_NEW(st->stage, st->count, "stages"));
  SL_TRY(SL_NEW_ZERO(st->part, halo, "the column map"));
  SL_TRY(SL_NEW_ZERO(st->place, halo, "the column map"));
  place_far_rows(st);
  SL_TRY(add_buffers(st));
  int64_t *out = sl_plan_alloc(st->plan, out_count, sizeof *out);
  if (!out)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i < out_count; i++)
    out[i] = f->out[i];
  SL_TRY(add_near(st, wanted_use));
  for (int s = 0; s < st->count; s++) {
    SL_TRY(add_message(st, s, out));
    SL_TRY(add_hop(st, s));
  }
  part_numbers n = number_parts(st);
  int first;
  SL_TRY(cut_parts(st, &n, &first));
  return add_steps(st, &n, first);
}

/* Which of the rows that peers want of this rank they really take: their use flags, sent back along the
 * wants. */
static sley_status exchange_use(const sl_inspection *ins, const uint8_t *use, uint8_t **wanted_use) {
  const sl_comm *comm = ins->comm;
  int64_t *counts = NULL;
  sley_status status = sl_agree(ins->comm, SL_NEW(counts, 2 * (int64_t)comm->size, "rank counts"));
  for (int p = 0; status == SLEY_OK && p < comm->size; p++)
    counts[p] = ins->halo_begin[p + 1] - ins->halo_begin[p];
  if (status == SLEY_OK)
    status = sl_exchange_items(ins->comm, 1, use, counts, (void **)wanted_use, counts + comm->size);
  sl_free(counts);
  return status;
}

sley_status sl_add_stages(const sl_inspection *ins, const sl_stage_options *options, sl_plan *plan) {
  int groups = sl_workgroups(ins->comm);
  stages st = {
      .ins = ins, .options = options, .plan = plan, .group = sl_workgroup_of(ins->comm, ins->comm->rank)};
  st.count = groups == 1 ? 0 : !options->pipelined ? 1 : ins->reproducible ? groups : groups - 1;
  st.depth = st.count < IN_FLIGHT ? st.count : IN_FLIGHT;
  uint8_t *wanted_use = NULL;
  if (options->use)
    SL_TRY(exchange_use(ins, options->use, &wanted_use));
  sley_status status = sl_fuse(ins, options->use, &st.fusion);
  if (status == SLEY_OK)
    status = assemble(&st, wanted_use);
  sl_free(wanted_use);
  sl_free(st.part);
  sl_free(st.place);
  sl_free(st.stage);
  sl_fusion_free(&st.fusion);
  return status;
}

static sley_status build_fused(const sl_inspection *ins, sl_plan *plan) {
  return sl_add_stages(ins, &(sl_stage_options){.grain = SL_GRAIN_ROW}, plan);
}

static sley_status build_coalesced(const sl_inspection *ins, sl_plan *plan) {
  return sl_add_stages(ins, &(sl_stage_options){.grain = SL_GRAIN_PEER}, plan);
}

static sley_status build_pipelined(const sl_inspection *ins, sl_plan *plan) {
  return sl_add_stages(ins, &(sl_stage_options){.grain = SL_GRAIN_PEER, .pipelined = true}, plan);
}

const sl_algorithm sl_algo_halo_fused = {.name = "halo-fused",
                                         .summary =
                                             "as halo, across workgroups once a workgroup, one message a row",
                                         .build = build_fused};
const sl_algorithm sl_algo_halo_coalesced = {.name = "halo-coalesced",
                                             .summary = "as halo-fused, packed into one message a peer",
                                             .build = build_coalesced};
const sl_algorithm sl_algo_halo_pipelined = {.name = "halo-pipelined",
                                             .summary =
                                                 "as halo-coalesced, a stage a workgroup, the next in flight",
                                             .build = build_pipelined};
