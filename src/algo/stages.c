/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of rows. Near means within the workgroup, far outside it. A far stage is a message exchange to the
 * relays, then a hop: an exchange within the workgroup that copies the relayed rows to the members that need
 * them. A stage's buffer holds first the rows that this rank relays, then the rows that it took from other
 * relays.
 *
 * A step of this schedule brings a workgroup's rows in one stage or, if there are few workgroups, in
 * several: each stage brings a slice of the rows of each rank. Then more sums run while rows are in flight,
 * and less is left to sum after the last rows.
 *
 * The number of slices depends only on sizes, and a row's entries are summed slice by slice even if one stage
 * brings all slices. So the bits do not depend on the transport. */
#include "algo/stages.h"

#include "base/memory.h"
#include "base/overrides.h"
#include "base/search.h"
#include "algo/algorithm.h"
#include "algo/fusion.h"
#include "plan/parts.h"

/* Steps in flight; each stage of these steps has a buffer. Two would be enough if all parts took equal time.
 * But with most matrices the local part is the longest, and during it a third step keeps the links busy. */
enum { IN_FLIGHT = 3 };

/* Number of stages that is enough, and least bytes of a message that justify a stage of its own. */
enum { ENOUGH_STAGES = 8, LEAST_BYTES = 128 * 1024 };

/* A stage: rows from workgroups first .. last - 1, without the receiver's own workgroup; only slice `slice`
 * of each rank's rows. */
typedef struct stage {
  int first, last, slice;
  int64_t relayed, rows;    /* number of rows that this rank relays; number of rows of the buffer */
  int buffer, message, hop; /* numbers in the plan */
} stage;

typedef struct stages {
  const sl_inspection *ins;
  const sl_stage_options *options;
  sl_plan *plan;
  sl_fusion fusion;
  int group;  /* workgroup of this rank */
  int slices; /* slices of every rank's rows, each with a stage */
  int turns;  /* slices that one stage brings and its part sums in turn; 1: no turns */
  int count;
  stage *stage;
  int depth; /* (steps in flight) x (slices): number of buffers, and of stages in flight */
  int near_buffer, near_exchange;
  int32_t *stage_of; /* stage of each halo entry; not used for near entries */
  int32_t *part;     /* column map */
  int64_t *place;
  uint8_t *turn; /* NULL if turns is 1 */
} stages;

/* Finds the source workgroups of a stage, for receivers in `group`. In column order every receiver takes
 * workgroup s at step s. Otherwise receiver g takes workgroup g + s + 1, so that no workgroup sends to all
 * others at once (CoLa, algorithm 3). */
static void sources(const stages *st, int group, int number, int *first, int *last) {
  int groups = sl_workgroups(st->ins->comm), step = number / st->slices;
  if (!st->options->pipelined) {
    *first = 0;
    *last = groups;
    return;
  }
  *first = st->ins->wishes->reproducible ? step : (group + step + 1) % groups;
  *last = *first + 1;
}

static bool is_source(const stages *st, int receiver_group, int number, int group) {
  int first, last;
  sources(st, receiver_group, number, &first, &last);
  return group >= first && group < last && group != receiver_group;
}

/* Finds the ranks whose rows a stage brings: *begin .. *end - 1, without the ranks of this workgroup. */
static void source_ranks(const stages *st, const stage *g, int *begin, int *end) {
  const sl_comm *comm = st->ins->comm;
  *begin = sl_workgroup_first(comm, g->first);
  *end = g->last * comm->workgroup < comm->size ? g->last * comm->workgroup : comm->size;
}

/* First column of a rank's slice; for number `slices`, the end. */
static int64_t slice_begin(const stages *st, int rank, int slice, int slices) {
  int64_t first = st->ins->col_begin[rank], columns = st->ins->col_begin[rank + 1] - first;
  return first + columns / slices * slice + columns % slices * slice / slices;
}

/* Finds the entries of an ascending list that belong to a slice of a rank: *begin .. *end - 1. The rank's
 * entries are list[from] .. list[to - 1], and their values are its columns minus base. */
static void find_slice(const stages *st, int rank, int slice, const int64_t *list, int64_t base, int64_t from,
                       int64_t to, int64_t *begin, int64_t *end) {
  *begin = sl_lower_bound(list, from, to, slice_begin(st, rank, slice, st->slices) - base);
  *end = sl_lower_bound(list, *begin, to, slice_begin(st, rank, slice + 1, st->slices) - base);
}

/* Finds the rows of rank p that this rank relays in a stage, as positions in fusion.relay. */
static void find_relayed(const stages *st, const stage *g, int p, int64_t *begin, int64_t *end) {
  const sl_fusion *f = &st->fusion;
  find_slice(st, p, g->slice, f->relay, 0, f->relay_begin[p], f->relay_begin[p + 1], begin, end);
}

/* Sets the stage of every halo entry of a stage; also its place in the stage's buffer, if this rank relays
 * it. */
static void place_relayed_rows(stages *st, int number) {
  const sl_inspection *ins = st->ins;
  stage *g = &st->stage[number];
  int first, end;
  source_ranks(st, g, &first, &end);
  for (int p = first; p < end; p++) {
    int64_t h, h_end, begin, stop;
    if (sl_workgroup_of(ins->comm, p) == st->group)
      continue;
    bool relays = sl_relay_of(ins->comm, st->group, p) == ins->comm->rank;
    find_relayed(st, g, p, &begin, &stop);
    find_slice(st, p, g->slice, ins->halo->row, 0, ins->halo->begin[p], ins->halo->begin[p + 1], &h, &h_end);
    for (; h < h_end; h++) {
      st->stage_of[h] = number;
      if (relays)
        st->place[h] = g->relayed + sl_lower_bound(st->fusion.relay, begin, stop, ins->halo->row[h]) - begin;
    }
    g->relayed += stop - begin;
  }
  g->rows = g->relayed;
}

/* Finds the sizes of all stages' buffers, and the place of every far halo entry in its buffer. */
static void place_far_rows(stages *st) {
  const sl_fusion *f = &st->fusion;
  for (int s = 0; s < st->count; s++) {
    stage *g = &st->stage[s];
    sources(st, st->group, s, &g->first, &g->last);
    g->slice = s % st->slices;
    place_relayed_rows(st, s);
  }
  for (int q = 0; q < st->ins->comm->size; q++)
    for (int64_t i = f->take_begin[q]; i < f->take_begin[q + 1] && q != st->ins->comm->rank; i++)
      st->place[f->take[i]] = st->stage[st->stage_of[f->take[i]]].rows++;
}

static sley_status add_buffers(stages *st) {
  const sl_inspection *ins = st->ins;
  int64_t near_rows = 0;
  int first = sl_workgroup_first(ins->comm, st->group), end = first + sl_workgroup_size(ins->comm, st->group);
  for (int64_t h = ins->halo->begin[first]; h < ins->halo->begin[end]; h++)
    if (!st->options->use || st->options->use[h])
      st->place[h] = near_rows++;
  SL_TRY(sl_plan_add_buffer(st->plan, "near", near_rows, ins->wishes->row_bytes, &st->near_buffer));
  for (int s = 0; s < st->count; s++) {
    stage *g = &st->stage[s];
    int64_t rows = 0;
    for (int t = s; t < st->count; t += st->depth)
      rows = st->stage[t].rows > rows ? st->stage[t].rows : rows;
    if (s < st->depth)
      SL_TRY(sl_plan_add_buffer(st->plan, "far", rows, ins->wishes->row_bytes, &g->buffer));
    else
      g->buffer = st->stage[s - st->depth].buffer;
  }
  return SLEY_OK;
}

/* Numbers of the parts, in the order in which they are summed. By default: local, near, then the stages. In
 * column order the near part is divided in two around the local one, and so is a stage with workgroups on
 * both sides of the own. */
typedef struct part_numbers {
  int local, near_below, near_above, count;
} part_numbers;

static part_numbers number_parts(const stages *st) {
  part_numbers n = {.local = 0, .near_below = 1, .near_above = 1, .count = 2 + st->count};
  if (st->ins->wishes->reproducible) {
    n.near_below = st->options->pipelined ? st->group : st->count;
    n.local = n.near_below + 1;
    n.near_above = n.near_below + 2;
    n.count = st->options->pipelined ? sl_workgroups(st->ins->comm) + 2 : 2 * st->count + 3;
  }
  return n;
}

/* Returns the part of stage s's columns above, or below, the columns of this workgroup. */
static int far_part(const stages *st, const part_numbers *n, int s, bool above) {
  if (!st->ins->wishes->reproducible)
    return 2 + s;
  if (st->options->pipelined)
    return s < st->group ? s : s + 2;
  return above ? n->near_above + 1 : 0;
}

/* Sets the turns of far halo entries in their parts; near ones have turn 0. */
static void take_turns(stages *st) {
  const sl_inspection *ins = st->ins;
  for (int p = 0; p < ins->comm->size; p++) {
    int64_t h = ins->halo->begin[p];
    if (sl_workgroup_of(ins->comm, p) == st->group)
      continue;
    for (int turn = 0; turn < st->turns; turn++) {
      int64_t end =
          sl_lower_bound(ins->halo->row, h, ins->halo->begin[p + 1], slice_begin(st, p, turn + 1, st->turns));
      for (; h < end; h++)
        st->turn[h] = (uint8_t)turn;
    }
  }
}

static sley_status cut_parts(stages *st, const part_numbers *n, int *first) {
  const sl_inspection *ins = st->ins;
  const sl_comm *comm = ins->comm;
  sl_part_frame *frames;
  SL_TRY(SL_NEW(frames, n->count, "parts"));
  for (int i = 0; i < n->count; i++)
    frames[i] = (sl_part_frame){.name = "far", .kind = SLEY_PART_HALO, .x = SL_BUFFER_X, .whole = i == 0};
  frames[n->local] = (sl_part_frame){.name = "local", .x = SL_BUFFER_X, .whole = n->local == 0};
  sl_part_frame near_frame = {.name = "near", .kind = SLEY_PART_HALO, .x = st->near_buffer};
  frames[n->near_below] = frames[n->near_above] = near_frame;
  frames[n->near_below].whole = n->near_below == 0;
  frames[n->near_above].whole = n->near_above == 0;
  for (int p = 0; p < comm->size; p++) {
    bool near = sl_workgroup_of(comm, p) == st->group;
    for (int64_t h = ins->halo->begin[p]; h < ins->halo->begin[p + 1]; h++) {
      int number = p < comm->rank ? n->near_below : n->near_above;
      if (!near) {
        number = far_part(st, n, st->stage_of[h], p > comm->rank);
        frames[number].x = st->stage[st->stage_of[h]].buffer;
      }
      st->part[h] = st->options->use && !st->options->use[h] ? -1 : number;
    }
  }
  if (st->turn)
    take_turns(st);
  sl_column_map map = {.local = n->local, .part = st->part, .place = st->place, .turn = st->turn};
  sley_status status = sl_parts_cut(st->plan, ins, &map, n->count, frames, first);
  sl_free(frames);
  return status;
}

/* Adds the exchange of rows of X among members of the workgroup. wanted_use: NULL, or flags of the wanted
 * rows that their receivers use. */
static sley_status add_near(stages *st, const uint8_t *wanted_use) {
  const sl_inspection *ins = st->ins;
  const sl_comm *comm = ins->comm;
  SL_TRY(sl_plan_add_exchange(st->plan, "near", SL_BUFFER_X, st->near_buffer, SL_GRAIN_PEER,
                              &st->near_exchange));
  int first = sl_workgroup_first(comm, st->group), end = first + sl_workgroup_size(comm, st->group);
  int64_t *rows =
      sl_plan_alloc(st->plan, ins->halo->wanted_begin[end] - ins->halo->wanted_begin[first], sizeof *rows);
  if (!rows)
    return SLEY_ERR_MEMORY;
  int64_t at = 0;
  for (int p = first; p < end; p++) {
    sl_row_list to = {.peer = p, .rows = rows, .bytes = ins->wishes->row_bytes};
    if (st->plan->dry && !wanted_use) /* the counts are enough for a prediction */
      to.count = ins->halo->wanted_begin[p + 1] - ins->halo->wanted_begin[p];
    else
      for (int64_t i = ins->halo->wanted_begin[p]; i < ins->halo->wanted_begin[p + 1]; i++)
        if (!wanted_use || wanted_use[i])
          rows[to.count++] = ins->halo->wanted[i];
    rows += to.count;
    sl_plan_send(st->plan, st->near_exchange, &to);
    sl_row_list from = {.peer = p, .first = at, .bytes = ins->wishes->row_bytes};
    for (int64_t h = ins->halo->begin[p]; h < ins->halo->begin[p + 1]; h++)
      from.count += !st->options->use || st->options->use[h];
    at += from.count;
    sl_plan_recv(st->plan, st->near_exchange, &from);
  }
  return SLEY_OK;
}

/* Adds the exchange in which owners send their rows of a stage to relays. */
static sley_status add_message(stages *st, int number, const int64_t *out) {
  const sl_inspection *ins = st->ins;
  const sl_comm *comm = ins->comm;
  const sl_fusion *f = &st->fusion;
  stage *g = &st->stage[number];
  int64_t at = 0, begin, end;
  SL_TRY(sl_plan_add_exchange(st->plan, "far", SL_BUFFER_X, g->buffer, st->options->grain, &g->message));
  for (int p = 0; p < comm->size; p++) {
    if (is_source(st, sl_workgroup_of(comm, p), number, st->group)) {
      find_slice(st, comm->rank, g->slice, f->out, ins->first_col, f->out_begin[p], f->out_begin[p + 1],
                 &begin, &end);
      sl_row_list to = {
          .peer = p, .count = end - begin, .rows = out + begin, .bytes = ins->wishes->row_bytes};
      sl_plan_send(st->plan, g->message, &to);
    }
    if (is_source(st, st->group, number, sl_workgroup_of(comm, p))) {
      find_relayed(st, g, p, &begin, &end);
      sl_row_list from = {.peer = p, .count = end - begin, .first = at, .bytes = ins->wishes->row_bytes};
      at += from.count;
      sl_plan_recv(st->plan, g->message, &from);
    }
  }
  return SLEY_OK;
}

/* Adds the list of rows of a stage that member p of the workgroup takes from this relay. */
static sley_status send_hop(stages *st, const stage *g, int p) {
  const sl_fusion *f = &st->fusion;
  int64_t most = f->hop_begin[p + 1] - f->hop_begin[p], before = 0;
  int first, end;
  source_ranks(st, g, &first, &end);
  sl_row_list to = {.peer = p, .bytes = st->ins->wishes->row_bytes};
  int64_t *rows = sl_plan_alloc(st->plan, most < g->relayed ? most : g->relayed, sizeof *rows);
  if (!rows)
    return SLEY_ERR_MEMORY;
  to.rows = rows;
  for (int q = first; q < end; q++) {
    int64_t begin, stop;
    find_relayed(st, g, q, &begin, &stop);
    int64_t i = sl_lower_bound(f->hop, f->hop_begin[p], f->hop_begin[p + 1], begin);
    for (; i < f->hop_begin[p + 1] && f->hop[i] < stop; i++)
      rows[to.count++] = f->hop[i] - begin + before;
    before += stop - begin;
  }
  sl_plan_send(st->plan, g->hop, &to);
  return SLEY_OK;
}

/* Adds the exchange in which relays send a stage's rows to the members. */
static sley_status add_hop(stages *st, int number, const int64_t *taken) {
  const sl_inspection *ins = st->ins;
  const sl_comm *comm = ins->comm;
  stage *g = &st->stage[number];
  SL_TRY(sl_plan_add_exchange(st->plan, "hop", g->buffer, g->buffer, SL_GRAIN_PEER, &g->hop));
  int first = sl_workgroup_first(comm, st->group), end = first + sl_workgroup_size(comm, st->group);
  int64_t at = g->relayed;
  for (int p = first; p < end; p++) {
    if (p == comm->rank)
      continue;
    SL_TRY(send_hop(st, g, p));
    sl_row_list from = {.peer = p,
                        .count = taken[(int64_t)(p - first) * st->count + number],
                        .first = at,
                        .bytes = ins->wishes->row_bytes};
    at += from.count;
    sl_plan_recv(st->plan, g->hop, &from);
  }
  return SLEY_OK;
}

/* Counts the rows taken from each relay of the workgroup, by member and stage. */
static sley_status count_taken(const stages *st, int64_t **taken) {
  const sl_comm *comm = st->ins->comm;
  const sl_fusion *f = &st->fusion;
  int first = sl_workgroup_first(comm, st->group), members = sl_workgroup_size(comm, st->group);
  SL_TRY(SL_NEW_ZERO(*taken, (int64_t)members * st->count, "stages"));
  for (int m = 0; m < members; m++)
    for (int64_t i = f->take_begin[first + m]; i < f->take_begin[first + m + 1]; i++)
      (*taken)[(int64_t)m * st->count + st->stage_of[f->take[i]]]++;
  return SLEY_OK;
}

/* Adds the exchanges of all stages: messages to relays, and hops. */
static sley_status add_far(stages *st) {
  const sl_inspection *ins = st->ins;
  const sl_fusion *f = &st->fusion;
  int64_t *taken = NULL, out_count = f->out_begin[ins->comm->size];
  int64_t *out = sl_plan_alloc(st->plan, out_count, sizeof *out);
  if (!out)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i < out_count; i++)
    out[i] = f->out[i];
  sley_status status = count_taken(st, &taken);
  for (int s = 0; s < st->count && status == SLEY_OK; s++) {
    status = add_message(st, s, out);
    if (status == SLEY_OK)
      status = add_hop(st, s, taken);
  }
  sl_free(taken);
  return status;
}

/* Adds the steps that bring stage s's rows to this rank. */
static sley_status arrive(stages *st, int s) {
  SL_TRY(sl_plan_add_step(st->plan, SL_STEP_END, st->stage[s].message));
  SL_TRY(sl_plan_add_step(st->plan, SL_STEP_BEGIN, st->stage[s].hop));
  return sl_plan_add_step(st->plan, SL_STEP_END, st->stage[s].hop);
}

/* Called when the buffer of stage s is free: begins the next stage that uses it. */
static sley_status follow_up(stages *st, int s) {
  int next = s + st->depth;
  return next < st->count ? sl_plan_add_step(st->plan, SL_STEP_BEGIN, st->stage[next].message) : SLEY_OK;
}

static sley_status add_steps(stages *st, const part_numbers *n, int first) {
  sl_plan *plan = st->plan;
  bool in_order = st->ins->wishes->reproducible;
  for (int s = 0; s < st->depth && s < st->count; s++)
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
  int64_t halo = st->ins->halo_set.count;
  SL_TRY(SL_NEW_ZERO(st->stage, st->count, "stages"));
  SL_TRY(SL_NEW_ZERO(st->stage_of, halo, "the column map"));
  SL_TRY(SL_NEW_ZERO(st->part, halo, "the column map"));
  SL_TRY(SL_NEW_ZERO(st->place, halo, "the column map"));
  if (st->turns > 1 && halo > 0)
    SL_TRY(SL_NEW_ZERO(st->turn, halo, "the column map"));
  place_far_rows(st);
  SL_TRY(add_buffers(st));
  SL_TRY(add_near(st, wanted_use));
  SL_TRY(add_far(st));
  part_numbers n = number_parts(st);
  int first;
  SL_TRY(cut_parts(st, &n, &first));
  return add_steps(st, &n, first);
}

/* Finds which of the rows that peers want from this rank they really use: the peers send their flags to the
   owners. */
static sley_status exchange_use(const sl_inspection *ins, const uint8_t *use, uint8_t **wanted_use) {
  const sl_comm *comm = ins->comm;
  int64_t *counts = NULL;
  sley_status status = sl_agree(ins->comm, SL_NEW(counts, 2 * (int64_t)comm->size, "rank counts"));
  for (int p = 0; status == SLEY_OK && p < comm->size; p++)
    counts[p] = ins->halo->begin[p + 1] - ins->halo->begin[p];
  if (status == SLEY_OK)
    status = sl_exchange_items(ins->comm, 1, use, counts, (void **)wanted_use, counts + comm->size);
  sl_free(counts);
  return status;
}

/* Returns whether to use several slices. On devices with memory of their own a stage costs more than it
 * hides. */
static bool wants_slices(const stages *st) {
  const sl_comm *comm = st->ins->comm;
  return st->options->pipelined && sl_workgroups(comm) > 1 && !st->ins->wishes->reproducible &&
         (sl_overrides.stage_bytes > 0 || comm->device->ops->host_addresses);
}

/* Returns whether each slice gets a stage. Ranks that are threads need the cores for sums, so there one stage
 * brings all slices. */
static bool wants_stages(const stages *st) {
  const sl_comm *comm = st->ins->comm;
  return comm->processes || !comm->device->ops->host_addresses;
}

/* Chooses the number of slices: enough stages, with messages that are large enough. Nothing here may depend
 * on the transport except wants_stages. Collective. */
static sley_status choose_slices(stages *st) {
  sl_comm *comm = st->ins->comm;
  int groups = sl_workgroups(comm), slices = 1;
  st->slices = st->turns = 1;
  if (!wants_slices(st))
    return SLEY_OK;
  int64_t rows = st->fusion.relay_begin[comm->size];
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, &rows, 1));
  int64_t least = sl_overrides.stage_bytes > 0 ? sl_overrides.stage_bytes : LEAST_BYTES;
  double messages = (double)rows * (double)st->ins->wishes->row_bytes / (double)least,
         pairs = (double)comm->size * (groups - 1);
  while (slices * (groups - 1) < ENOUGH_STAGES && messages >= (slices + 1) * pairs)
    slices++;
  *(wants_stages(st) ? &st->slices : &st->turns) = slices;
  return SLEY_OK;
}

sley_status sl_add_stages(const sl_inspection *ins, const sl_stage_options *options, sl_plan *plan) {
  int groups = sl_workgroups(ins->comm);
  stages st = {
      .ins = ins, .options = options, .plan = plan, .group = sl_workgroup_of(ins->comm, ins->comm->rank)};
  uint8_t *wanted_use = NULL;
  if (options->use)
    SL_TRY(exchange_use(ins, options->use, &wanted_use));
  sley_status status = sl_fuse(ins, options->use, &st.fusion);
  if (status == SLEY_OK)
    status = choose_slices(&st);
  if (status == SLEY_OK) {
    int steps = groups == 1 ? 0 : !options->pipelined ? 1 : ins->wishes->reproducible ? groups : groups - 1;
    st.count = steps * st.slices;
    st.depth = IN_FLIGHT * st.slices;
    status = assemble(&st, wanted_use);
  }
  sl_free(wanted_use);
  sl_free(st.stage_of);
  sl_free(st.part);
  sl_free(st.place);
  sl_free(st.turn);
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

/* Within one workgroup no row is far, so the three algorithms are one plan: rows are copied to a buffer, then
 * summed. On devices that load rows from each other's memory, halo does the same and begins to sum before all
 * rows have arrived. */
static sley_status consider_fused(sl_inspection *ins, const sl_rivals *rivals, bool *considered,
                                  const char **why_not) {
  (void)rivals, (void)why_not;
  *considered = sl_workgroups(ins->comm) > 1 || ins->comm->device->ops->host_addresses;
  return SLEY_OK;
}

static sley_status consider_later(sl_inspection *ins, const sl_rivals *rivals, bool *considered,
                                  const char **why_not) {
  (void)rivals, (void)why_not;
  *considered = sl_workgroups(ins->comm) > 1;
  return SLEY_OK;
}

const sl_algorithm sl_algo_halo_fused = {
    .name = "halo-fused",
    .summary = "as halo, but a workgroup gets each row from other workgroups only once",
    .consider = consider_fused,
    .prepare = sl_prepare_no_more,
    .build = build_fused};
const sl_algorithm sl_algo_halo_coalesced = {
    .name = "halo-coalesced",
    .summary = "as halo-fused, but all rows for a rank are packed into one message",
    .consider = consider_later,
    .prepare = sl_prepare_no_more,
    .build = build_coalesced};
const sl_algorithm sl_algo_halo_pipelined = {
    .name = "halo-pipelined",
    .summary = "as halo-coalesced, in stages: the next rows travel while others are multiplied",
    .consider = consider_later,
    .prepare = sl_prepare_no_more,
    .build = build_pipelined};
