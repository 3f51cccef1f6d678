/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of the algorithm rowwise: their table, and the choice that they set. */
#include "device/rowwise_choice.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/spec.h"

static_assert(SL_NEIGHBOUR_PS_MOST == 32 && SL_NEIGHBOUR_DIST_MOST == 16 && SL_NEIGHBOUR_WPB_MOST == 16,
              "the table has these limits in words");

enum { PS, DIST, WPB, PARTITIONS, INTERLEAVE, MEMORY, GET, PARAMETERS };
const sley_parameter sl_rowwise_parameters[] = {
    [PS] = {"ps", "1..32", "entries of a partition at most; else searched"},
    [DIST] = {"dist", "1..16", "local and remote partitions of a warp; else searched"},
    [WPB] = {"wpb", "1..16", "warps of a block; else searched"},
    [PARTITIONS] = {"partitions", "on|off", "off: all local or all remote entries of a row, whatever ps"},
    [INTERLEAVE] = {"interleave", "on|off", "off: warps take local or remote partitions instead of pairs"},
    [MEMORY] = {"memory", "registers|shared", "where sums and remote rows are"},
    [GET] = {"get", "warp|thread|block", "threads that load a remote row together; not warp: memory=shared"},
    [PARAMETERS] = {0}};

/* A word of a parameter's values, for text. */
enum { WORD_BYTES = 16 };
static const char *word_of(int parameter, int place, char word[WORD_BYTES]) {
  const char *at = sl_rowwise_parameters[parameter].values;
  for (; place > 0; place--)
    at += strcspn(at, "|") + 1;
  snprintf(word, WORD_BYTES, "%.*s", (int)strcspn(at, "|"), at);
  return word;
}

sley_status sl_rowwise_choice_read(const char *text, sl_rowwise_choice *out) {
  int value[PARAMETERS];
  char word[WORD_BYTES];
  *out = (sl_rowwise_choice){0};
  SL_TRY(sl_spec_read(text, sl_rowwise_parameters, value));
  bool by_others = value[GET] == SL_GET_BY_THREAD || value[GET] == SL_GET_BY_BLOCK;
  if (by_others && value[MEMORY] == 0)
    return sl_fail(
        SLEY_ERR_ARG,
        "rowwise: get=%s loads rows to shared memory, but memory=registers is given too: leave one of "
        "the two out",
        word_of(GET, value[GET], word));
  *out = (sl_rowwise_choice){.ps = value[PS] > 0 ? value[PS] : 0,
                             .dist = value[DIST] > 0 ? value[DIST] : 0,
                             .wpb = value[WPB] > 0 ? value[WPB] : 0,
                             .whole = value[PARTITIONS] == 1,
                             .apart = value[INTERLEAVE] == 1,
                             .shared = value[MEMORY] == 1 || by_others,
                             .get = by_others ? (sl_rowwise_get)value[GET] : SL_GET_BY_WARP};
  return SLEY_OK;
}

void sl_rowwise_choice_describe(const sl_rowwise_choice *choice, char text[SL_ROWWISE_CHOICE_BYTES]) {
  char partitions[WORD_BYTES], interleave[WORD_BYTES], memory[WORD_BYTES], get[WORD_BYTES];
  snprintf(text, SL_ROWWISE_CHOICE_BYTES, "partitions=%s,interleave=%s,memory=%s,get=%s",
           word_of(PARTITIONS, choice->whole, partitions), word_of(INTERLEAVE, choice->apart, interleave),
           word_of(MEMORY, choice->shared, memory), word_of(GET, (int)choice->get, get));
}
