/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of column numbers as bitmaps: building, listing, and the place of a column. */
#include "plan/colset.h"

#include <stdatomic.h>

#include "base/memory.h"

enum { BATCH = 512, WORDS_A_PAGE = SL_COLSET_PAGE / 64 };

typedef struct build {
  const sl_colset_source *source;
  sl_colset *set;
  _Atomic unsigned char *touched; /* a flag per page; NULL: every page counts as touched, and set_bits counts
                                   * the occurrences */
} build;

static sley_status touch_pages(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  build *b = context;
  int64_t columns[BATCH], seen = 0;
  for (int64_t at = begin; at < end; at += BATCH) {
    int64_t count = b->source->columns(b->source->context, at, at + BATCH < end ? at + BATCH : end, columns);
    seen += count;
    for (int64_t i = 0; i < count; i++) {
      _Atomic unsigned char *flag = &b->touched[columns[i] / SL_COLSET_PAGE];
      if (!atomic_load_explicit(flag, memory_order_relaxed))
        atomic_store_explicit(flag, 1, memory_order_relaxed);
    }
  }
  __atomic_fetch_add(&b->set->occurrences, seen, __ATOMIC_RELAXED);
  return SLEY_OK;
}

static sley_status set_bits(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  build *b = context;
  int64_t columns[BATCH], seen = 0;
  for (int64_t at = begin; at < end; at += BATCH) {
    int64_t count = b->source->columns(b->source->context, at, at + BATCH < end ? at + BATCH : end, columns);
    seen += count;
    for (int64_t i = 0; i < count; i++) {
      int64_t page = columns[i] / SL_COLSET_PAGE, in_page = columns[i] % SL_COLSET_PAGE;
      uint64_t *word = &b->set->words[b->set->page_at[page] + in_page / 64].bits;
      uint64_t bit = UINT64_C(1) << (in_page % 64);
      if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
    }
  }
  if (!b->touched)
    __atomic_fetch_add(&b->set->occurrences, seen, __ATOMIC_RELAXED);
  return SLEY_OK;
}

/* Finds the pages that the source touches. All pages count if their words need little memory compared with
 * the source. */
static sley_status find_pages(build *b, sl_team *team) {
  const sl_colset_source *source = b->source;
  sl_colset *set = b->set;
  if (set->range > 4 * source->entries) {
    SL_TRY(SL_NEW_ZERO(b->touched, set->pages, "a column set"));
    SL_TRY(sl_team_for(team, source->entries, 256 * BATCH, touch_pages, b));
  }
  SL_TRY(SL_NEW(set->page_at, set->pages, "a column set"));
  for (int64_t page = 0; page < set->pages; page++) {
    bool holds = !b->touched || b->touched[page];
    set->page_at[page] = holds ? set->word_count : -1;
    set->word_count += holds ? WORDS_A_PAGE : 0;
  }
  return SLEY_OK;
}

sley_status sl_colset_build(int64_t range, const sl_colset_source *source, sl_team *team, sl_colset *out) {
  *out = (sl_colset){.range = range, .pages = (range + SL_COLSET_PAGE - 1) / SL_COLSET_PAGE};
  build b = {.source = source, .set = out};
  sley_status status;
  SL_TRY_GOTO(status, find_pages(&b, team), done);
  SL_TRY_GOTO(status, SL_NEW_ZERO(out->words, out->word_count, "a column set"), done);
  SL_TRY_GOTO(status, sl_team_for(team, source->entries, 256 * BATCH, set_bits, &b), done);
  for (int64_t i = 0; i < out->word_count; i++) {
    out->words[i].before = out->count;
    out->count += sl_ones(out->words[i].bits);
  }
done:
  sl_free((void *)b.touched);
  if (status != SLEY_OK)
    sl_colset_free(out);
  return status;
}

sley_status sl_colset_from_bits(int64_t range, const uint64_t *bits, sl_colset *out) {
  *out = (sl_colset){.range = range, .pages = (range + SL_COLSET_PAGE - 1) / SL_COLSET_PAGE};
  int64_t known = (range + 63) / 64;
  sley_status status = SL_NEW(out->page_at, out->pages, "a column set");
  if (status == SLEY_OK)
    status = SL_NEW(out->words, out->pages * WORDS_A_PAGE, "a column set");
  if (status != SLEY_OK) {
    sl_colset_free(out);
    return status;
  }
  for (int64_t page = 0; page < out->pages; page++)
    out->page_at[page] = page * WORDS_A_PAGE;
  out->word_count = out->pages * WORDS_A_PAGE;
  for (int64_t i = 0; i < out->word_count; i++) {
    out->words[i] = (sl_colset_word){i < known ? bits[i] : 0, out->count};
    out->count += sl_ones(out->words[i].bits);
  }
  return SLEY_OK;
}

typedef struct listing {
  const sl_colset *set;
  int64_t *out;
} listing;

static sley_status list_pages(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const listing *l = context;
  for (int64_t page = begin; page < end; page++) {
    if (l->set->page_at[page] < 0)
      continue;
    const sl_colset_word *words = &l->set->words[l->set->page_at[page]];
    int64_t *out = l->out + words->before;
    for (int64_t i = 0; i < WORDS_A_PAGE; i++)
      for (uint64_t bits = words[i].bits; bits; bits &= bits - 1)
        *out++ = page * SL_COLSET_PAGE + i * 64 + __builtin_ctzll(bits);
  }
  return SLEY_OK;
}

sley_status sl_colset_list(const sl_colset *set, sl_team *team, int64_t *out) {
  enum { FEW = 1 << 12, GRAIN = 16 };
  return sl_team_for(set->count < FEW ? NULL : team, set->pages, GRAIN, list_pages, &(listing){set, out});
}

void sl_colset_free(sl_colset *set) {
  sl_free(set->page_at);
  sl_free(set->words);
  *set = (sl_colset){0};
}
