/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the words of the option rowwise. */
#include "device/rowwise_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

/* The words that a name accepts, by number; if most > 0, numbers from 1 to most instead. */
typedef struct name {
  const char *name;
  int most;
  const char *word[3];
} name;

enum { PS, DIST, WPB, PARTITIONS, INTERLEAVE, MEMORY, GET };
static const name names[] = {
    [PS] = {"ps", SL_NEIGHBOUR_PS_MOST, {NULL}},
    [DIST] = {"dist", SL_NEIGHBOUR_DIST_MOST, {NULL}},
    [WPB] = {"wpb", SL_NEIGHBOUR_WPB_MOST, {NULL}},
    [PARTITIONS] = {"partitions", 0, {"on", "off"}},
    [INTERLEAVE] = {"interleave", 0, {"on", "off"}},
    [MEMORY] = {"memory", 0, {"registers", "shared"}},
    [GET] = {
        "get", 0, {[SL_GET_BY_WARP] = "warp", [SL_GET_BY_THREAD] = "thread", [SL_GET_BY_BLOCK] = "block"}}};

static sley_status refuse(const char *word, int length) {
  return sl_fail(
      SLEY_ERR_ARG,
      "rowwise: \"%.*s\" is not known: auto, or some of ps=1 to %d, dist=1 to %d, wpb=1 to %d, "
      "partitions=on or off, interleave=on or off, memory=registers or shared, get=thread, warp or "
      "block, separated by commas",
      length < 60 ? length : 60, word, SL_NEIGHBOUR_PS_MOST, SL_NEIGHBOUR_DIST_MOST, SL_NEIGHBOUR_WPB_MOST);
}

static bool is_word(const char *text, int length, const char *word) {
  return word && strncmp(text, word, (size_t)length) == 0 && word[length] == '\0';
}

/* The number for the text under the name; -1: invalid. */
static int value_of(const name *of, const char *text, int length) {
  for (int i = 0; i < COUNT(of->word); i++)
    if (is_word(text, length, of->word[i]))
      return i;
  int number = 0;
  for (int i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9' || number > of->most)
      return -1;
    number = 10 * number + (text[i] - '0');
  }
  return number >= 1 && number <= of->most ? number : -1;
}

/* Reads one word NAME=VALUE; value[name] receives its number. */
static sley_status read_word(const char *word, int length, int value[COUNT(names)]) {
  const char *equals = memchr(word, '=', (size_t)length);
  int at = 0, before = equals ? (int)(equals - word) : length;
  while (at < COUNT(names) && !is_word(word, before, names[at].name))
    at++;
  if (at == COUNT(names) || !equals)
    return refuse(word, length);
  if (value[at] >= 0)
    return sl_fail(SLEY_ERR_ARG, "rowwise: %s is given twice: leave one of the two out", names[at].name);
  value[at] = value_of(&names[at], equals + 1, length - before - 1);
  return value[at] >= 0 ? SLEY_OK : refuse(word, length);
}

sley_status sl_rowwise_choice_read(const char *text, sl_rowwise_choice *out) {
  int value[COUNT(names)];
  *out = (sl_rowwise_choice){0};
  if (!text || strcmp(text, "auto") == 0)
    return SLEY_OK;
  for (int i = 0; i < COUNT(names); i++)
    value[i] = -1;
  for (const char *word = text; word;) {
    int length = (int)strcspn(word, ",");
    SL_TRY(read_word(word, length, value));
    word = word[length] == ',' ? word + length + 1 : NULL;
  }
  bool by_others = value[GET] == SL_GET_BY_THREAD || value[GET] == SL_GET_BY_BLOCK;
  if (by_others && value[MEMORY] == 0)
    return sl_fail(
        SLEY_ERR_ARG,
        "rowwise: get=%s loads rows to shared memory, but the words ask for memory=registers: leave "
        "one of the two out",
        names[GET].word[value[GET]]);
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
  snprintf(text, SL_ROWWISE_CHOICE_BYTES, "partitions=%s,interleave=%s,memory=%s,get=%s",
           names[PARTITIONS].word[choice->whole], names[INTERLEAVE].word[choice->apart],
           names[MEMORY].word[choice->shared], names[GET].word[choice->get]);
}
