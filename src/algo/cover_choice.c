/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/cover_choice.h"

#include <math.h>
#include <string.h>

#include "algo/cover_blocks.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/value.h"
#include "matrix/matrix.h"
#include "partition/partition.h"

/* Weight of a partial row of Y, in rows of X. */
static int64_t row_weight(const sl_inspection *ins) {
  sley_dtype dtype = ins->block->dtype;
  return (int64_t)(sley_dtype_bytes(sl_sum_dtype(dtype)) / sley_dtype_bytes(dtype));
}

/* ---- blocks between this rank and every other */

typedef struct rank_blocks {
  const sl_inspection *ins;
  sl_cover_blocks blocks; /* one block per owner; a column is a place in the halo */
  bool stores;            /* true in the second pass */
} rank_blocks;

/* Counts or stores the edges of this thread's share of rows. The owner is looked up only if it changes. */
static sley_status take_rows(void *context, int thread, int threads) {
  const rank_blocks *r = context;
  const sl_inspection *ins = r->ins;
  const sley_matrix *block = ins->block;
  const int ranks = ins->comm->size;
  sl_block_cursor *cursors = sl_block_cursors(&r->blocks, thread);
  const int64_t first = sl_csr_split(block->rows, block->rowptr, thread, threads),
                last = sl_csr_split(block->rows, block->rowptr, thread + 1, threads);
  int owner = 0;
  int64_t owner_begin = 0, owner_end = 0;
  for (int64_t row = first; row < last; row++)
    for (int64_t e = block->rowptr[row]; e < block->rowptr[row + 1]; e++) {
      int64_t col = sl_index_at(block->col, block->index, e);
      if (!sl_is_remote(ins, col))
        continue;
      if (col < owner_begin || col >= owner_end) {
        owner = sl_partition_owner(ins->col_begin, ranks, col);
        owner_begin = ins->col_begin[owner];
        owner_end = ins->col_begin[owner + 1];
      }
      if (r->stores)
        sl_block_store(&r->blocks, &cursors[owner], owner, row, sl_colset_place(&ins->halo_set, col));
      else
        sl_block_count(&cursors[owner], row);
    }
  return SLEY_OK;
}

/* Fills the blocks between this rank and every other. The caller frees them, also on error. */
static sley_status take_blocks(rank_blocks *r) {
  const sl_inspection *ins = r->ins;
  sl_team *team = sl_plan_team(ins);
  SL_TRY(sl_cover_blocks_begin(ins->comm->size, sl_team_size(team), ins->halo->begin, &r->blocks));
  SL_TRY(sl_team_run(team, take_rows, r));
  SL_TRY(sl_cover_blocks_place(&r->blocks));
  r->stores = true;
  return sl_team_run(team, take_rows, r);
}

/* Number of rows that are this share of the rank's halo. */
static int64_t share_of_halo(const sl_inspection *ins, double share) {
  return (int64_t)ceil(share * (double)ins->halo_set.count);
}

/* Sets *out to whether the covers of any rank may weigh less than `enough`, if they weigh at least `least`.
 * status: of finding that bound. Collective, agreed. */
static sley_status could_be_below(sl_comm *comm, sley_status status, int64_t least, int64_t enough,
                                  bool *out) {
  int64_t below = least < enough;
  SL_TRY(sl_agree(comm, status));
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, &below, 1));
  *out = below;
  return SLEY_OK;
}

/* Finds minimum covers of the blocks between this rank and every other. Sets cover_use for the blocks that
 * are decided between ranks: within the workgroup, and all blocks if workgroups are single ranks. Adds to
 * ins->cover_rows; `between` is right unless sl_has_levels. */
static sley_status cover_rank_blocks(sl_inspection *ins, const sl_cover_blocks *blocks) {
  const sl_comm *comm = ins->comm;
  const int group = sl_workgroup_of(comm, comm->rank);
  bool *decides = NULL;
  int64_t *size = NULL;
  sley_status status;
  SL_TRY(SL_NEW(ins->cover_use, ins->halo_set.count, "the cover"));
  memset(ins->cover_use, 1, (size_t)ins->halo_set.count);
  SL_TRY_GOTO(status, SL_NEW(decides, comm->size, "remote blocks"), done);
  SL_TRY_GOTO(status, SL_NEW(size, comm->size, "remote blocks"), done);
  for (int p = 0; p < comm->size; p++)
    decides[p] = comm->workgroup <= 1 || sl_workgroup_of(comm, p) == group;
  SL_TRY_GOTO(
      status,
      sl_cover_blocks_solve(blocks, row_weight(ins), sl_plan_team(ins), decides, ins->cover_use, size), done);
  for (int p = 0; p < comm->size; p++) {
    bool inside = sl_workgroup_of(comm, p) == group;
    *(inside ? &ins->cover_rows.inside : &ins->cover_rows.between) += size[p];
    ins->cover_rows.all += size[p];
  }
done:
  sl_free(size);
  sl_free(decides);
  return status;
}

/* ---- blocks between workgroups of several ranks A block is covered by its handler, a member of the
 * workgroup that needs the block. The other members send their edges to the handler: rows are counted from
 * the member's first, columns from the first of the workgroup that owns them. */

typedef struct edge {
  uint32_t row, col;
} edge;

/* Returns the handler on this rank's side: the member of its workgroup that covers the block from another
   workgroup. */
static int handler_of(const sl_comm *comm, int source_group) {
  int group = sl_workgroup_of(comm, comm->rank);
  return sl_workgroup_first(comm, group) + source_group % sl_workgroup_size(comm, group);
}

/* First column of a workgroup's ranks; for the number after the last workgroup, the end. */
static int64_t group_first_col(const sl_inspection *ins, int group) {
  const sl_comm *comm = ins->comm;
  return ins->col_begin[group < sl_workgroups(comm) ? sl_workgroup_first(comm, group) : comm->size];
}

/* Edges that members send to a handler. Sections are in order of handlers, and for each handler in order of
 * source workgroups. */
typedef struct edge_lists {
  edge *edges;
  int64_t *sections;                   /* edges per section */
  int64_t *edge_count, *section_count; /* by rank */
} edge_lists;

static void edge_lists_free(edge_lists *lists) {
  sl_free(lists->edges);
  sl_free(lists->sections);
  sl_free(lists->edge_count);
  sl_free(lists->section_count);
  *lists = (edge_lists){0};
}

static sley_status edge_lists_begin(const sl_comm *comm, edge_lists *out) {
  *out = (edge_lists){0};
  SL_TRY(SL_NEW_ZERO(out->edge_count, comm->size, "rank counts"));
  return SL_NEW_ZERO(out->section_count, comm->size, "rank counts");
}

/* Numbers the sections. section[g]: number of the section of workgroup g; -1 for this rank's own workgroup.
 */
static void number_sections(const sl_comm *comm, int *section, edge_lists *lists) {
  const int group = sl_workgroup_of(comm, comm->rank), groups = sl_workgroups(comm);
  int sections = 0;
  section[group] = -1;
  for (int i = 0; i < sl_workgroup_size(comm, group); i++) {
    int q = sl_workgroup_first(comm, group) + i;
    for (int g = 0; g < groups; g++)
      if (g != group && handler_of(comm, g) == q) {
        section[g] = sections++;
        lists->section_count[q]++;
      }
  }
}

/* Counts this rank's edges per section, or stores them at the positions at[section]. */
static void take_edges(const sl_inspection *ins, const int *section, int64_t *at, edge *edges) {
  const sley_matrix *block = ins->block;
  const sl_comm *comm = ins->comm;
  int into = -1;
  int64_t begin = 0, end = 0; /* columns of the workgroup that was looked up last */
  for (int64_t row = 0; row < block->rows; row++)
    for (int64_t e = block->rowptr[row]; e < block->rowptr[row + 1]; e++) {
      int64_t col = sl_index_at(block->col, block->index, e);
      if (!sl_is_remote(ins, col))
        continue;
      if (col < begin || col >= end) {
        int g = sl_workgroup_of(comm, sl_partition_owner(ins->col_begin, comm->size, col));
        begin = group_first_col(ins, g);
        end = group_first_col(ins, g + 1);
        into = section[g];
      }
      if (into < 0)
        continue;
      if (edges)
        edges[at[into]] = (edge){(uint32_t)row, (uint32_t)(col - begin)};
      at[into]++;
    }
}

/* Lists the edges to other workgroups for the members that handle their blocks. */
static sley_status list_edges(const sl_inspection *ins, edge_lists *lists) {
  const sl_comm *comm = ins->comm;
  const int groups = sl_workgroups(comm);
  int *section = NULL;
  int64_t *at = NULL, total = 0;
  sley_status status;
  for (int g = 0; g < groups; g++)
    if (group_first_col(ins, g + 1) - group_first_col(ins, g) > UINT32_MAX || ins->block->rows > UINT32_MAX)
      return sl_fail(SLEY_ERR_OVERFLOW, "a workgroup has more than 2^32 rows: use more workgroups");
  SL_TRY_GOTO(status, SL_NEW(section, groups, "block keys"), done);
  SL_TRY_GOTO(status, SL_NEW_ZERO(lists->sections, groups, "block starts"), done);
  SL_TRY_GOTO(status, SL_NEW_ZERO(at, groups, "block starts"), done);
  number_sections(comm, section, lists);
  take_edges(ins, section, lists->sections, NULL);
  for (int i = 0; i < groups - 1; i++) {
    at[i] = total;
    total += lists->sections[i];
  }
  SL_TRY_GOTO(status, SL_NEW(lists->edges, total, "remote entries"), done);
  take_edges(ins, section, at, lists->edges);
  for (int q = 0, i = 0; q < comm->size; q++)
    for (int64_t s = 0; s < lists->section_count[q]; s++)
      lists->edge_count[q] += lists->sections[i++];
done:
  sl_free(at);
  sl_free(section);
  return status;
}

/* Reads the edges that a handler has received, with the member and the source workgroup of each. */
typedef struct reader {
  const sl_inspection *ins;
  const edge_lists *asked;
  int member, group; /* member and source workgroup of the edge that was read last */
  int64_t at, end;   /* next edge, and end of its section */
  int64_t sections;  /* sections begun */
  int64_t left;      /* remaining sections of this member */
  int64_t row_first, col_first;
} reader;

static reader read_from_start(const sl_inspection *ins, const edge_lists *asked) {
  return (reader){.ins = ins, .asked = asked, .member = -1};
}

/* Advances to the next section that has edges. Returns false if there is none. */
static bool next_section(reader *r) {
  const sl_comm *comm = r->ins->comm;
  while (r->at == r->end) {
    while (r->left == 0) {
      if (++r->member == comm->size)
        return false;
      r->left = r->asked->section_count[r->member];
      r->row_first = r->ins->row_begin[r->member];
      r->group = -1;
    }
    do /* the next workgroup that this rank handles */
      r->group++;
    while (r->group == sl_workgroup_of(comm, comm->rank) || handler_of(comm, r->group) != comm->rank);
    r->col_first = group_first_col(r->ins, r->group);
    r->end = r->at + r->asked->sections[r->sections++];
    r->left--;
  }
  return true;
}

/* Returns row of Y and column of the next edge, or false if there is none. */
static inline bool next_edge(reader *r, int64_t *row, int64_t *col) {
  if (r->at == r->end && !next_section(r))
    return false;
  const edge *e = &r->asked->edges[r->at++];
  *row = r->row_first + e->row;
  *col = r->col_first + e->col;
  return true;
}

/* Columns of edges begin .. end-1, for the set of all columns. */
static int64_t asked_columns(const void *context, int64_t begin, int64_t end, int64_t *out) {
  reader r = *(const reader *)context;
  int64_t count = 0, row;
  while (r.end <= begin) { /* skips whole sections */
    r.at = r.end;
    if (!next_section(&r))
      return 0;
  }
  r.at = begin;
  while (r.at < end && next_edge(&r, &row, &out[count]))
    count++;
  return count;
}

typedef struct group_blocks {
  sl_colset columns;  /* columns about which members have asked */
  int64_t *first_col; /* position among them of each workgroup's first column, and the end of the last */
  sl_cover_blocks blocks;
  uint8_t *use;
  int64_t *size; /* weight of each block's cover */
} group_blocks;

static void group_blocks_free(group_blocks *b) {
  sl_cover_blocks_free(&b->blocks);
  sl_colset_free(&b->columns);
  sl_free(b->first_col);
  sl_free(b->use);
  sl_free(b->size);
}

/* Builds the set of columns about which members have asked, and finds each workgroup's first column. */
static sley_status number_columns(const sl_inspection *ins, const edge_lists *asked, group_blocks *b) {
  const int groups = sl_workgroups(ins->comm);
  int64_t total = 0, *list;
  for (int p = 0; p < ins->comm->size; p++)
    total += asked->edge_count[p];
  reader start = read_from_start(ins, asked);
  sl_colset_source source = {total, asked_columns, &start};
  SL_TRY(sl_colset_build(ins->block->cols, &source, sl_plan_team(ins), &b->columns));
  SL_TRY(SL_NEW(b->first_col, groups + 1, "workgroup starts"));
  SL_TRY(SL_NEW(list, b->columns.count, "the columns of blocks"));
  sley_status status = sl_colset_list(&b->columns, sl_plan_team(ins), list);
  for (int g = 0; g <= groups && status == SLEY_OK; g++)
    b->first_col[g] = sl_lower_bound(list, 0, b->columns.count, group_first_col(ins, g));
  sl_free(list);
  return status;
}

/* Finds minimum covers of the blocks that this rank handles. */
static sley_status cover_group_blocks(const sl_inspection *ins, const edge_lists *asked, group_blocks *b) {
  int64_t row, col;
  SL_TRY(number_columns(ins, asked, b));
  SL_TRY(SL_NEW(b->use, b->columns.count, "a cover"));
  SL_TRY(SL_NEW(b->size, sl_workgroups(ins->comm), "a cover"));
  SL_TRY(sl_cover_blocks_begin(sl_workgroups(ins->comm), 1, b->first_col, &b->blocks));
  sl_block_cursor *cursors = sl_block_cursors(&b->blocks, 0);
  for (reader r = read_from_start(ins, asked); next_edge(&r, &row, &col);)
    sl_block_count(&cursors[r.group], row);
  SL_TRY(sl_cover_blocks_place(&b->blocks));
  for (reader r = read_from_start(ins, asked); next_edge(&r, &row, &col);)
    sl_block_store(&b->blocks, &cursors[r.group], r.group, row, sl_colset_place(&b->columns, col));
  return sl_cover_blocks_solve(&b->blocks, row_weight(ins), sl_plan_team(ins), NULL, b->use, b->size);
}

/* For each member p, lists once each column about which it asked and that is not in the cover. Adds their
 * number to count[p]; if answers is set, stores the columns instead. told: for each column, the last member
 * for which it was listed. */
static void list_answers(const sl_inspection *ins, const edge_lists *asked, const group_blocks *b,
                         int32_t *told, int64_t *count, int64_t *answers) {
  int64_t row, col, at = 0;
  for (int64_t i = 0; i < b->columns.count; i++)
    told[i] = -1;
  for (reader r = read_from_start(ins, asked); next_edge(&r, &row, &col);) {
    int64_t place = sl_colset_place(&b->columns, col);
    if (b->use[place] || told[place] == r.member)
      continue;
    told[place] = r.member;
    if (answers)
      answers[at++] = col;
    else
      count[r.member]++;
  }
}

/* Makes a handler's answers, grouped by member. *weight: weight of the covers that it decided. */
static sley_status answer(const sl_inspection *ins, const edge_lists *asked, int64_t **answers,
                          int64_t *count, int64_t *weight) {
  group_blocks b = {0};
  int32_t *told = NULL;
  int64_t total = 0;
  sley_status status;
  SL_TRY_GOTO(status, cover_group_blocks(ins, asked, &b), done);
  sl_cover_blocks_free(&b.blocks);
  *weight = 0;
  for (int g = 0; g < sl_workgroups(ins->comm); g++)
    *weight += b.size[g];
  SL_TRY_GOTO(status, SL_NEW(told, b.columns.count, "cover answers"), done);
  list_answers(ins, asked, &b, told, count, NULL);
  for (int p = 0; p < ins->comm->size; p++)
    total += count[p];
  SL_TRY_GOTO(status, SL_NEW(*answers, total, "cover answers"), done);
  list_answers(ins, asked, &b, told, count, *answers);
done:
  sl_free(told);
  group_blocks_free(&b);
  return status;
}

/* Sends the edges of members to the handlers. Collective, agreed. */
static sley_status send_edges(const sl_inspection *ins, edge_lists *asked) {
  sl_comm *comm = ins->comm;
  edge_lists own;
  sley_status status = edge_lists_begin(comm, &own);
  if (status == SLEY_OK)
    status = edge_lists_begin(comm, asked);
  if (status == SLEY_OK)
    status = list_edges(ins, &own);
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sl_exchange_items(comm, sizeof(int64_t), own.sections, own.section_count,
                               (void **)&asked->sections, asked->section_count);
  if (status == SLEY_OK)
    status = sl_exchange_items(comm, sizeof(edge), own.edges, own.edge_count, (void **)&asked->edges,
                               asked->edge_count);
  edge_lists_free(&own);
  return status;
}

/* Decides the blocks between workgroups of several ranks. Sets ins->cover_rows.between to the weight of the
 * covers that this rank decided. Collective. */
static sley_status choose_between_groups(sl_inspection *ins) {
  sl_comm *comm = ins->comm;
  edge_lists asked = {0};
  int64_t *answers = NULL, *answered = NULL, *counts = NULL, total = 0;
  sley_status status = sl_agree(comm, SL_NEW_ZERO(counts, 2 * (int64_t)comm->size, "rank counts"));
  SL_TRY_GOTO(status, status, done);
  int64_t *answered_count = counts + comm->size;
  SL_TRY_GOTO(status, send_edges(ins, &asked), done);
  SL_TRY_GOTO(status, sl_agree(comm, answer(ins, &asked, &answers, counts, &ins->cover_rows.between)), done);
  edge_lists_free(&asked);
  SL_TRY_GOTO(status,
              sl_exchange_items(comm, sizeof(int64_t), answers, counts, (void **)&answered, answered_count),
              done);
  for (int p = 0; p < comm->size; p++)
    total += answered_count[p];
  for (int64_t i = 0; i < total; i++)
    ins->cover_use[sl_colset_place(&ins->halo_set, answered[i])] = 0;
done:
  sl_free(answered);
  sl_free(answers);
  sl_free(counts);
  edge_lists_free(&asked);
  return status;
}

/* Decides all blocks, and frees them. Collective, agreed. */
static sley_status choose_columns(sl_inspection *ins, sl_cover_blocks *blocks) {
  sl_comm *comm = ins->comm;
  sl_cover_rows *rows = &ins->cover_rows;
  *rows = (sl_cover_rows){0};
  sley_status status = cover_rank_blocks(ins, blocks);
  sl_cover_blocks_free(blocks);
  SL_TRY(sl_agree(comm, status));
  if (sl_has_levels(comm))
    SL_TRY(choose_between_groups(ins));
  int64_t sums[] = {rows->all, rows->between, rows->inside};
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, sums, 3));
  *rows = (sl_cover_rows){sums[0], sums[1], sums[2]};
  return SLEY_OK;
}

sley_status sl_cover_choose(sl_inspection *ins, double most_share, bool *chosen) {
  rank_blocks r = {.ins = ins};
  *chosen = true;
  if (ins->cover_use)
    return SLEY_OK;
  const int64_t enough = share_of_halo(ins, most_share);
  int64_t least = 0;
  sley_status status = SLEY_OK;
  if (most_share < 1) {
    status = sl_cover_quick_bound(ins, enough, &least);
    SL_TRY(could_be_below(ins->comm, status, least, enough, chosen));
  }
  if (!*chosen)
    return SLEY_OK;
  status = sl_agree(ins->comm, take_blocks(&r));
  if (status == SLEY_OK && most_share < 1) {
    status = sl_cover_blocks_bound(&r.blocks, row_weight(ins), enough, sl_plan_team(ins), &least);
    status = could_be_below(ins->comm, status, least, enough, chosen);
  }
  if (status == SLEY_OK && *chosen)
    status = choose_columns(ins, &r.blocks);
  sl_cover_blocks_free(&r.blocks);
  if (status != SLEY_OK) {
    sl_free(ins->cover_use);
    ins->cover_use = NULL;
    ins->cover_rows = SL_COVER_ROWS_UNKNOWN;
  }
  return status;
}
