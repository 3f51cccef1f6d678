/* SPDX-License-Identifier: Apache-2.0 */
/* Machine descriptions as text: lines "key value", or "link CLASS LATENCY BANDWIDTH", "message CLASS BYTES
 * SECONDS", "spmm ROW_BYTES REACH BANDWIDTH" and their like; # begins a comment. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "machine/machine.h"

enum { MOST_BYTES = 1 << 16, MOST_LINE = 512, MOST_WORDS = 3 + SL_WINDOW_FIGURES };

static const char *const link_names[SL_LINK_COUNT] = {"self", "direct", "message"};

/* A key with one number. */
typedef struct key {
  const char *name;
  size_t at;
  bool whole, required; /* whole: an int64_t from 0 on; else a double above 0 */
} key;

#define WHOLE(name, field)                                                                                   \
  { name, offsetof(sl_machine, field), true, false }
#define REAL(name, field, required)                                                                          \
  { name, offsetof(sl_machine, field), false, required }
static const key keys[] = {WHOLE("nodes", nodes),
                           WHOLE("ranks-per-node", ranks_per_node),
                           WHOLE("threads", threads),
                           WHOLE("cores", cores),
                           REAL("launch", launch, false),
                           REAL("meeting", meeting, true),
                           REAL("crowded-meeting", crowded_meeting, false),
                           REAL("node-bandwidth", node_bandwidth, false),
                           REAL("pack-bandwidth", pack_bandwidth, true),
                           REAL("memory-bandwidth", memory_bandwidth, false),
                           REAL("stream-bandwidth", stream_bandwidth, true),
                           REAL("spmm-bandwidth", spmm_bandwidth, true)};
enum { KEYS = sizeof keys / sizeof *keys, MOST_WHOLE = 1 << 24 };

typedef struct parser {
  const char *name;
  int line;
  sl_machine *machine;
  bool seen[KEYS], named, of_device, overlap, link[SL_LINK_COUNT], windows[2][SL_WINDOW_KINDS],
      pass[SL_PASSES];
} parser;

static sley_status fail_at(const parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static sley_status fail_at(const parser *p, const char *format, ...) {
  char text[MOST_LINE + 128];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return sl_fail(SLEY_ERR_INPUT, "%s:%d: %s", p->name, p->line, text);
}

static sley_status read_real(const parser *p, const char *word, bool zero, double *out) {
  char *end;
  if (!strchr("0123456789.", word[0]) || strpbrk(word, "xXnN"))
    return fail_at(p, "'%s' is not a number", word);
  *out = strtod(word, &end);
  if (*end)
    return fail_at(p, "'%s' is not a number", word);
  if (!(*out <= 1e18) || *out < 0 || (*out < 1e-15 && !(zero && *out == 0)))
    return fail_at(p, "%s is out of range: %s1e-15 to 1e18", word, zero ? "0, or " : "");
  return SLEY_OK;
}

static sley_status read_whole(const parser *p, const char *word, int64_t *out) {
  *out = 0;
  for (const char *c = word; *c; c++) {
    if (*c < '0' || *c > '9')
      return fail_at(p, "'%s' is not a whole number", word);
    *out = 10 * *out + (*c - '0');
    if (*out > MOST_WHOLE)
      return fail_at(p, "%s is out of range: 0 to 16777216", word);
  }
  return SLEY_OK;
}

static sley_status once(const parser *p, bool *seen, const char *word) {
  if (*seen)
    return fail_at(p, "'%s' is given twice", word);
  *seen = true;
  return SLEY_OK;
}

static sley_status read_link_name(const parser *p, const char *word, int *out) {
  for (*out = 0; *out < SL_LINK_COUNT; ++*out)
    if (strcmp(word, link_names[*out]) == 0)
      return SLEY_OK;
  return fail_at(p, "there is no link class '%s': self, direct, message", word);
}

static sley_status read_link(parser *p, char **word) {
  int link;
  SL_TRY(read_link_name(p, word[1], &link));
  SL_TRY(once(p, &p->link[link], word[1]));
  SL_TRY(read_real(p, word[2], true, &p->machine->link[link].latency));
  return read_real(p, word[3], false, &p->machine->link[link].bandwidth);
}

/* Appends a point from a line: word[2] bytes take word[3] seconds. */
static sley_status append_point(const parser *p, char **word, sl_link_point *points, int most, int *count) {
  sl_link_point point;
  SL_TRY(read_real(p, word[2], false, &point.bytes));
  SL_TRY(read_real(p, word[3], false, &point.seconds));
  if (*count == most)
    return fail_at(p, "too many lines '%s' of the link class '%s': %d are possible", word[0], word[1], most);
  if (*count > 0 && points[*count - 1].bytes >= point.bytes)
    return fail_at(p, "lines '%s' must ascend in bytes, %s does not", word[0], word[2]);
  points[(*count)++] = point;
  return SLEY_OK;
}

static sley_status read_point(parser *p, char **word) {
  int link;
  SL_TRY(read_link_name(p, word[1], &link));
  sl_link_speed *l = &p->machine->link[link];
  return append_point(p, word, l->point, SL_MACHINE_POINTS, &l->points);
}

static sley_status read_fetch(parser *p, char **word) {
  int link;
  SL_TRY(read_link_name(p, word[1], &link));
  sl_link_speed *l = &p->machine->link[link];
  return append_point(p, word, l->fetch, SL_MACHINE_FETCHES, &l->fetches);
}

/* Appends a rate from a line; the word reach is NULL for a reach of 0. */
static sley_status append_rate(const parser *p, char **word, const char *reach, const char *bandwidth,
                               sl_rate *rates, int most, int *count) {
  sl_rate rate = {0};
  SL_TRY(read_real(p, word[1], false, &rate.row_bytes));
  if (reach)
    SL_TRY(read_real(p, reach, false, &rate.reach));
  SL_TRY(read_real(p, bandwidth, false, &rate.bandwidth));
  if (*count == most)
    return fail_at(p, "too many lines '%s': %d are possible", word[0], most);
  const sl_rate *last = &rates[*count - 1];
  if (*count > 0 &&
      (last->row_bytes > rate.row_bytes || (last->row_bytes == rate.row_bytes && last->reach >= rate.reach)))
    return fail_at(p, "lines '%s' must ascend in bytes a row, then in reach", word[0]);
  rates[(*count)++] = rate;
  return SLEY_OK;
}

static sley_status read_rate(parser *p, char **word) {
  sl_machine *m = p->machine;
  return append_rate(p, word, word[2], word[3], m->rate, SL_MACHINE_RATES, &m->rates);
}

static sley_status read_near(parser *p, char **word) {
  sl_machine *m = p->machine;
  return append_rate(p, word, NULL, word[2], m->near, SL_MACHINE_NEAR, &m->nears);
}

static sley_status read_store(parser *p, char **word) {
  sl_machine *m = p->machine;
  return append_rate(p, word, word[2], word[3], m->store, SL_MACHINE_STORES, &m->stores);
}

static sley_status read_gather(parser *p, char **word) {
  sl_machine *m = p->machine;
  return append_rate(p, word, word[2], word[3], m->gather, SL_MACHINE_GATHERS, &m->gathers);
}

static sley_status read_choice(const parser *p, const char *word, const char *const *choices, int *out);

static sley_status read_pass(parser *p, char **word) {
  const char *names[SL_PASSES + 1] = {NULL};
  int pass;
  for (int i = 0; i < SL_PASSES; i++)
    names[i] = sl_pass_name((sl_array_pass)i);
  SL_TRY(read_choice(p, word[1], names, &pass));
  SL_TRY(once(p, &p->pass[pass], word[1]));
  SL_TRY(read_real(p, word[2], false, &p->machine->pass[pass].bandwidth));
  return read_real(p, word[3], true, &p->machine->pass[pass].kept);
}

/* Reads the window figures of one kind of values, on one kind of cores. */
static sley_status read_windows(parser *p, char **word) {
  static const char *const cores[] = {"tensor", "stream", NULL};
  const char *kinds[SL_WINDOW_KINDS + 1] = {NULL};
  int kind, core;
  for (int i = 0; i < SL_WINDOW_KINDS; i++)
    kinds[i] = sl_window_kind_name((sl_window_kind)i);
  SL_TRY(read_choice(p, word[1], kinds, &kind));
  SL_TRY(read_choice(p, word[2], cores, &core));
  SL_TRY(once(p, &p->windows[core][kind], word[0]));
  sl_window_figures *figures = &p->machine->windows.of[kind];
  double *list = core == 0 ? figures->tensor : figures->stream;
  for (int i = 0; i < SL_WINDOW_FIGURES; i++)
    SL_TRY(read_real(p, word[3 + i], true, &list[i]));
  p->machine->models_windows = true;
  return SLEY_OK;
}

/* Finds word in choices, an array that ends with NULL. */
static sley_status read_choice(const parser *p, const char *word, const char *const *choices, int *out) {
  char all[96] = "";
  for (*out = 0; choices[*out]; ++*out) {
    if (strcmp(word, choices[*out]) == 0)
      return SLEY_OK;
    size_t length = strlen(all);
    snprintf(all + length, sizeof all - length, "%s%s", *out > 0 ? ", " : "", choices[*out]);
  }
  return fail_at(p, "'%s' is none of %s", word, all);
}

static sley_status read_key(parser *p, char **word) {
  static const char *const devices[] = {"cpu", "cuda", NULL}, *const answers[] = {"no", "yes", "messages",
                                                                                  NULL};
  int chosen;
  if (strcmp(word[0], "device") == 0) {
    SL_TRY(once(p, &p->of_device, word[0]));
    SL_TRY(read_choice(p, word[1], devices, &chosen));
    snprintf(p->machine->device, sizeof p->machine->device, "%s", devices[chosen]);
    return SLEY_OK;
  }
  if (strcmp(word[0], "overlap") == 0) {
    SL_TRY(once(p, &p->overlap, word[0]));
    SL_TRY(read_choice(p, word[1], answers, &chosen));
    p->machine->overlaps = chosen == 1;
    p->machine->messages_move = chosen == 2;
    return SLEY_OK;
  }
  for (int i = 0; i < KEYS; i++)
    if (strcmp(word[0], keys[i].name) == 0) {
      void *field = (char *)p->machine + keys[i].at;
      SL_TRY(once(p, &p->seen[i], word[0]));
      return keys[i].whole ? read_whole(p, word[1], field) : read_real(p, word[1], false, field);
    }
  return fail_at(p, "there is no key '%s'; docs/MACHINES.md lists them", word[0]);
}

/* Splits a line into words and returns their number; words beyond MOST_WORDS are counted but not stored. */
static int split(char *line, char **word) {
  int count = 0;
  for (char *rest, *w = strtok_r(line, " \t\r", &rest); w && w[0] != '#';
       w = strtok_r(NULL, " \t\r", &rest)) {
    if (count < MOST_WORDS)
      word[count] = w;
    count++;
  }
  return count;
}

static sley_status read_line(parser *p, char *line) {
  static const struct {
    const char *name;
    int words;
    sley_status (*read)(parser *p, char **word);
    const char *usage;
  } lists[] = {{"link", 4, read_link, "a class, a latency in s and a bandwidth in bytes/s"},
               {"message", 4, read_point, "a class, a number of bytes and the seconds they take"},
               {"fetch", 4, read_fetch, "a class, bytes of a row and the seconds it takes"},
               {"gather", 4, read_gather, "bytes a row, bytes of all rows, and a bandwidth in bytes/s"},
               {"spmm", 4, read_rate, "bytes a row, bytes of reach, and a bandwidth in bytes/s"},
               {"windows", MOST_WORDS, read_windows,
                "f32, tf32 or f16, then tensor or stream, and 9 figures in ns; docs/MACHINES.md says which"},
               {"pass", 4, read_pass, "a name, a bandwidth in bytes/s and the seconds of a value kept"},
               {"near", 3, read_near, "bytes a row and a bandwidth in bytes/s"},
               {"store", 4, read_store, "bytes a row, bytes of all rows, and a bandwidth in bytes/s"}};
  char *word[MOST_WORDS];
  char *name = line + strspn(line, " \t");
  if (strncmp(name, "name", 4) == 0 && (name[4] == ' ' || name[4] == '\t')) {
    SL_TRY(once(p, &p->named, "name"));
    name += 4 + strspn(name + 4, " \t");
    name[strcspn(name, "\r")] = '\0';
    if (!*name || strlen(name) >= SL_MACHINE_NAME)
      return fail_at(p, "a name has 1 to 95 characters");
    snprintf(p->machine->name, sizeof p->machine->name, "%s", name);
    return SLEY_OK;
  }
  int count = split(line, word);
  if (count == 0)
    return SLEY_OK;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (strcmp(word[0], lists[i].name) == 0)
      return count == lists[i].words ? lists[i].read(p, word)
                                     : fail_at(p, "'%s' takes %s", word[0], lists[i].usage);
  if (count != 2)
    return fail_at(p, "'%s' and one value are expected on a line", word[0]);
  return read_key(p, word);
}

/* Checks that all required lines are present. */
static sley_status check_whole(const parser *p) {
  if (!p->named)
    return fail_at(p, "the key '%s' is missing", "name");
  for (int i = 0; i < KEYS; i++)
    if (keys[i].required && !p->seen[i])
      return fail_at(p, "the key '%s' is missing", keys[i].name);
  for (int i = SL_LINK_DIRECT; i < SL_LINK_COUNT; i++)
    if (!p->link[i])
      return fail_at(p, "the line 'link %s LATENCY BANDWIDTH' is missing", link_names[i]);
  return SLEY_OK;
}

sley_status sl_machine_parse(const char *name, const char *text, size_t bytes, sl_machine *out) {
  *out = (sl_machine){.device = "cpu", .windows = sl_figures_hopper.windows};
  snprintf(out->source, sizeof out->source, "%s", name);
  parser p = {.name = name, .machine = out};
  for (size_t at = 0; at < bytes;) {
    const char *end = memchr(text + at, '\n', bytes - at);
    size_t length = (end ? (size_t)(end - text) : bytes) - at;
    char line[MOST_LINE];
    p.line++;
    if (length >= sizeof line || memchr(text + at, '\0', length))
      return fail_at(&p, "a line has at most 511 characters, none of them NUL");
    memcpy(line, text + at, length);
    line[length] = '\0';
    SL_TRY(read_line(&p, line));
    at += length + 1;
  }
  if (!p.link[SL_LINK_SELF])
    out->link[SL_LINK_SELF].bandwidth = out->stream_bandwidth;
  return check_whole(&p);
}

sley_status sl_machine_read(const char *path, sl_machine *out) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return sl_fail(errno == ENOENT ? SLEY_ERR_INPUT : SLEY_ERR_IO, "%s: %s", path, strerror(errno));
  char *text = sl_alloc(MOST_BYTES + 1, 1, "a machine's description");
  size_t bytes = text ? fread(text, 1, MOST_BYTES + 1, file) : 0;
  sley_status status = text ? SLEY_OK : SLEY_ERR_MEMORY;
  if (ferror(file))
    status = sl_fail(SLEY_ERR_IO, "%s: %s", path, strerror(errno));
  else if (bytes > MOST_BYTES)
    status = sl_fail(SLEY_ERR_INPUT, "%s: a machine's description has at most 64 KiB", path);
  fclose(file);
  if (status == SLEY_OK)
    status = sl_machine_parse(path, text, bytes, out);
  sl_free(text);
  return status;
}
