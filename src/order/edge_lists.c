/* SPDX-License-Identifier: Apache-2.0 */
/* Edge lists of communities. Lists are stored in chunks, each thread filling its own; a dropped list leaves a
 * hole, and when holes take more than half of the memory, the live lists are copied into new chunks. */
#include "order/edge_lists.h"

#include <string.h>

#include "base/memory.h"

enum { CHUNK_LINKS = 1 << 17, LEAST_SLOTS = 32, TIDY_FROM = 1 << 20 };

typedef struct sl_arc_chunk {
  struct sl_arc_chunk *next;
  int64_t used, capacity;
  sl_arc *items;
} sl_arc_chunk;

static void free_chunks(sl_arc_chunk *chunk) {
  while (chunk) {
    sl_arc_chunk *next = chunk->next;
    sl_free(chunk->items);
    sl_free(chunk);
    chunk = next;
  }
}

/* Reserves memory for count links in the thread's chunks; NULL if memory ran out. */
static sl_arc *reserve(sl_arc_sum *sum, int64_t count) {
  sl_arc_chunk *chunk = sum->chunks;
  if (!chunk || chunk->capacity - chunk->used < count) {
    chunk = sl_alloc_zero(1, sizeof *chunk, "communities' edges");
    if (!chunk)
      return NULL;
    chunk->capacity = count > CHUNK_LINKS ? count : CHUNK_LINKS;
    chunk->items = sl_alloc(chunk->capacity, sizeof *chunk->items, "communities' edges");
    if (!chunk->items) {
      sl_free(chunk);
      return NULL;
    }
    chunk->next = sum->chunks;
    sum->chunks = chunk;
    sum->held += chunk->capacity;
  }
  sl_arc *room = chunk->items + chunk->used;
  chunk->used += count;
  return room;
}

sley_status sl_adjacency_create(int32_t vertices, int threads, sl_adjacency *out) {
  *out = (sl_adjacency){.vertices = vertices, .threads = threads};
  sley_status status = SL_NEW_ZERO(out->sums, threads, "communities' edges");
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(out->list, vertices, "communities' edges");
  if (status != SLEY_OK)
    sl_adjacency_free(out);
  return status;
}

void sl_adjacency_free(sl_adjacency *links) {
  for (int t = 0; links->sums && t < links->threads; t++) {
    free_chunks(links->sums[t].chunks);
    sl_free(links->sums[t].table);
    sl_free(links->sums[t].items);
  }
  sl_free(links->list);
  sl_free(links->sums);
  *links = (sl_adjacency){0};
}

static uint32_t slot_of(const sl_arc_sum *sum, int32_t to) {
  return (uint32_t)(((uint64_t)((uint32_t)to * UINT32_C(0x9e3779b1)) * (uint64_t)sum->slots) >> 32);
}

/* Enlarges both arrays for one more item. */
static sley_status grow(sl_arc_sum *sum) {
  if (sum->count == sum->capacity) {
    int64_t capacity = sum->capacity ? 2 * (int64_t)sum->capacity : LEAST_SLOTS;
    capacity = capacity < INT32_MAX ? capacity : INT32_MAX;
    sl_arc *items = sl_realloc(sum->items, capacity, sizeof *items, "communities' edges");
    if (!items)
      return SLEY_ERR_MEMORY;
    sum->items = items;
    sum->capacity = (int32_t)capacity;
  }
  if (2 * ((int64_t)sum->count + 1) <= sum->slots)
    return SLEY_OK;
  int64_t slots = sum->slots ? 2 * sum->slots : LEAST_SLOTS;
  if (slots > sum->table_size) {
    int32_t *table = sl_alloc_zero(slots, sizeof *table, "communities' edges");
    if (!table)
      return SLEY_ERR_MEMORY;
    sl_free(sum->table);
    sum->table = table;
    sum->table_size = slots;
  } else {
    memset(sum->table, 0, (size_t)slots * sizeof *sum->table);
  }
  sum->slots = slots;
  for (int32_t i = 0; i < sum->count; i++) {
    uint32_t slot = slot_of(sum, sum->items[i].to);
    while (sum->table[slot] != 0)
      slot = (int64_t)slot + 1 < slots ? slot + 1 : 0;
    sum->table[slot] = i + 1;
  }
  return SLEY_OK;
}

sley_status sl_arc_sum_add(sl_arc_sum *sum, int32_t to, int32_t weight) {
  if (sum->count == sum->capacity || 2 * ((int64_t)sum->count + 1) > sum->slots)
    SL_TRY(grow(sum));
  uint32_t slot = slot_of(sum, to);
  for (int32_t item; (item = sum->table[slot]) != 0;) {
    sl_arc *link = &sum->items[item - 1];
    if (link->to == to) {
      link->weight = weight < INT32_MAX - link->weight ? link->weight + weight : INT32_MAX;
      return SLEY_OK;
    }
    slot = (int64_t)slot + 1 < sum->slots ? slot + 1 : 0;
  }
  sum->items[sum->count] = (sl_arc){to, weight};
  sum->table[slot] = ++sum->count;
  return SLEY_OK;
}

sley_status sl_adjacency_keep(sl_adjacency *links, sl_arc_sum *sum, int32_t vertex) {
  sl_arc *room = reserve(sum, sum->count);
  if (!room)
    return SLEY_ERR_MEMORY;
  if (sum->count > 0)
    memcpy(room, sum->items, (size_t)sum->count * sizeof *room);
  links->list[vertex] = (sl_arc_list){room, sum->count};
  sum->live += sum->count;
  sl_arc_sum_clear(sum);
  return SLEY_OK;
}

void sl_arc_sum_clear(sl_arc_sum *sum) {
  if (sum->slots > 0)
    memset(sum->table, 0, (size_t)sum->slots * sizeof *sum->table);
  sum->slots = sum->table_size < LEAST_SLOTS ? 0 : LEAST_SLOTS;
  sum->count = 0;
}

void sl_adjacency_drop(sl_adjacency *links, sl_arc_sum *sum, int32_t vertex) {
  sum->live -= links->list[vertex].count;
  links->list[vertex] = (sl_arc_list){NULL, 0};
}

/* Each thread copies the live lists of its share of the vertices. */
static sley_status copy_live(void *context, int thread, int threads) {
  sl_adjacency *links = context;
  int64_t first = (int64_t)links->vertices * thread / threads,
          end = (int64_t)links->vertices * (thread + 1) / threads;
  for (int64_t v = first; v < end; v++) {
    sl_arc_list *list = &links->list[v];
    if (list->count == 0)
      continue;
    sl_arc *room = reserve(&links->sums[thread], list->count);
    if (!room)
      return SLEY_ERR_MEMORY;
    memcpy(room, list->items, (size_t)list->count * sizeof *room);
    list->items = room;
  }
  return SLEY_OK;
}

sley_status sl_adjacency_tidy(sl_adjacency *links, sl_team *team) {
  int64_t held = 0, live = 0;
  for (int t = 0; t < links->threads; t++) {
    held += links->sums[t].held;
    live += links->sums[t].live;
  }
  if (held < TIDY_FROM || held < 2 * live + (int64_t)links->threads * 2 * CHUNK_LINKS)
    return SLEY_OK;
  sl_arc_chunk **old;
  SL_TRY(SL_NEW(old, links->threads, "communities' edges"));
  for (int t = 0; t < links->threads; t++) {
    old[t] = links->sums[t].chunks;
    links->sums[t].chunks = NULL;
    links->sums[t].held = 0;
  }
  sley_status status = sl_team_run(team, copy_live, links);
  for (int t = 0; t < links->threads; t++)
    free_chunks(old[t]);
  sl_free(old);
  return status;
}
