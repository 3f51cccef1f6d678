/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats. The format for reading is chosen by evidence in the content, strong evidence first
 * (format.h); the format for writing by the path's ending. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/locale.h"
#include "base/names.h"
#include "io/bytes/encoding.h"
#include "io/cache.h"
#include "io/format.h"
#include "io/io.h"
#include "io/text.h"

/* The formats in the order in which they are tried, see format.h; the last format accepts any text that no
 * other format accepts. */
static const sl_format formats[] = {
    {"sley", "Sley cache", ".sley", NULL, SL_BASES_NONE, sl_cache_banner, NULL, sl_cache_read,
     sl_cache_write},
    {"npz", "scipy .npz", ".npz", NULL, SL_BASES_NONE, sl_npz_banner, NULL, sl_npz_read, sl_npz_write},
    {"mtx", "Matrix Market", ".mtx", NULL, SL_BASES_ONE, sl_mtx_banner, NULL, sl_mtx_read, sl_mtx_write},
    {"rb", "Rutherford-Boeing", ".rb", ".rb .hb .rua .rsa .rra .rza .pua .psa .pra .iua .isa .cua .csa",
     SL_BASES_ONE, sl_rb_banner, NULL, sl_rb_read, sl_rb_write},
    {"metis", "METIS", ".graph", ".graph .metis", SL_BASES_ONE, NULL, sl_metis_guess, sl_metis_read,
     sl_metis_write},
    {"numbers", "numbers without a header", NULL, ".mtx .mm .smat", SL_BASES_BOTH, NULL, sl_mtx_bare_guess,
     sl_mtx_bare_read, NULL},
    {"edgelist", "edge list", ".el", ".el .wel .edges .edgelist .csv .tsv .konect .snap", SL_BASES_BOTH,
     sl_edgelist_banner, sl_edgelist_guess, sl_edgelist_read, sl_edgelist_write},
};
enum { FORMATS = sizeof formats / sizeof *formats, EDGE_LIST = FORMATS - 1 };

static const char *word_of(int format) {
  return formats[format].word;
}

const char *const *sl_format_words(void) {
  static const char *words[FORMATS + 1];
  return sl_names_fill(words, FORMATS, word_of);
}

static char summaries[FORMATS][64];

static void write_summaries(void) {
  for (int f = 0; f < FORMATS; f++) {
    const char *ending = formats[f].ending;
    snprintf(summaries[f], sizeof summaries[f], "%s; %s%s", formats[f].name,
             ending ? "written as " : "is only read", ending ? ending : "");
  }
}

const char *sl_format_summary(const char *word) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, write_summaries);
  for (int f = 0; f < FORMATS; f++)
    if (strcmp(word, formats[f].word) == 0)
      return summaries[f];
  return NULL;
}

/* Returns whether the name has one of the endings of a list. */
static bool is_named(const char *name, const char *endings) {
  char ending[16];
  for (const char *at = endings; at && *at; at += strspn(at, " ")) {
    size_t length = strcspn(at, " ");
    snprintf(ending, sizeof ending, "%.*s", (int)length, at);
    if (sl_name_ends(name, ending))
      return true;
    at += length;
  }
  return false;
}

const sl_format *sl_format_named(const char *word) {
  char ending[16];
  for (int f = 0; f < FORMATS; f++)
    if (strcasecmp(word, formats[f].word) == 0)
      return &formats[f];
  snprintf(ending, sizeof ending, ".%s", word); /* an ending without the point is accepted, too */
  for (int f = 0; f < FORMATS; f++)
    if (strlen(word) + 1 < sizeof ending && is_named(ending, formats[f].named))
      return &formats[f];
  return NULL;
}

int64_t sl_format_number(const sl_format *format) {
  return format - formats + 1;
}

const sl_format *sl_format_numbered(int64_t number) {
  return number >= 1 && number <= FORMATS ? &formats[number - 1] : NULL;
}

/* Appends a blank and the word of every format to list. */
static void list_words(char *list, size_t room) {
  size_t length = 0;
  for (int f = 0; f < FORMATS && length < room; f++)
    length += (size_t)snprintf(list + length, room - length, " %s", formats[f].word);
}

sley_status sl_format_check_word(const char *word) {
  char list[128];
  list_words(list, sizeof list);
  return !word || sl_format_named(word)
             ? SLEY_OK
             : sl_fail(SLEY_ERR_ARG, "no format is named '%s'; there are%s", word, list);
}

sley_status sl_format_check_base(const sl_format *format, const char *name, sl_base base) {
  if (base == SL_BASE_ANY || format->bases == SL_BASES_BOTH ||
      (base == SL_BASE_1 && format->bases == SL_BASES_ONE))
    return SLEY_OK;
  return sl_fail(
      SLEY_ERR_ARG,
      "%s: is read as %s, which defines the first row and column: a base is for edge lists and for "
      "numbers without a header",
      name, format->name);
}

const sl_format *sl_format_of(const sl_input *input) {
  for (int f = 0; f < FORMATS; f++)
    if (formats[f].banner && formats[f].banner(input))
      return &formats[f];
  if (!sl_input_is_text(input))
    return NULL;
  for (int f = 0; f < FORMATS; f++)
    if (is_named(input->name, formats[f].named))
      return &formats[f];
  return sl_edgelist_marked(input) ? &formats[EDGE_LIST] : NULL;
}

static sley_status refuse(const sl_input *input) {
  char list[256] = "";
  size_t length = 0;
  for (int f = 0; f < FORMATS && length < sizeof list; f++)
    length +=
        (size_t)snprintf(list + length, sizeof list - length, "%s%s", length ? ", " : "", formats[f].name);
  return sl_fail(SLEY_ERR_INPUT, "%s:1: not a matrix in any format Sley reads (%s)", input->name, list);
}

static sley_status read_as(const sl_format *format, sl_input *input, sley_dtype dtype, sl_team *team,
                           sley_matrix **out) {
  SL_TRY(sl_format_check_base(format, input->name, input->base));
  input->source = (sl_source){.format = sl_format_number(format)};
  SL_TRY(format->read(input, dtype, team, out));
  (*out)->source = input->source;
  return SLEY_OK;
}

/* Returns whether the shape is certain: if it has an index 0, the file contains triplets, because as an edge
 * list it would begin with a loop at a vertex that no other line names. */
static bool is_sure(const sl_source *source) {
  return source->shape == SL_SHAPE_TRIPLETS && source->base == 0 && source->why == SL_WHY_ZERO;
}

/* Returns another format, besides number f of the table, that the content may have; NULL: none. */
static const sl_format *other_guess(const sl_input *input, int f) {
  for (int g = 0; g < FORMATS; g++)
    if (g != f && formats[g].guess && formats[g].guess(input))
      return &formats[g];
  return NULL;
}

/* Reads content whose format is guessed from the lines alone. If it may have two formats and can be read in
 * the first one, the error asks the user to choose, unless is_sure. If it cannot be read, the next format is
 * tried. */
static sley_status read_guess(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  input->guess = true;
  for (int f = 0; f < EDGE_LIST; f++) {
    if (!formats[f].guess || !formats[f].guess(input))
      continue;
    const sl_format *other = other_guess(input, f);
    const char *name = input->name;
    sley_status status = read_as(&formats[f], input, dtype, team, out);
    if (!other || (status != SLEY_OK && status != SLEY_ERR_INPUT) ||
        (status == SLEY_OK && is_sure(&input->source)))
      return status;
    if (status == SLEY_OK) {
      sl_matrix_destroy(*out);
      *out = NULL;
      return sl_fail(SLEY_ERR_INPUT, "%s:1: may be %s, or %s: say which (--format %s or --format %s)", name,
                     formats[f].name, other->name, formats[f].word, other->word);
    }
  }
  return read_as(&formats[EDGE_LIST], input, dtype, team, out);
}

static sley_status read_content(sl_input *input, const char *word, sley_dtype dtype, sl_team *team,
                                sley_matrix **out) {
  if (input->begin == input->end)
    return sl_fail(SLEY_ERR_INPUT, "%s:1: the file is empty; give a matrix", input->name);
  SL_TRY(sl_format_check_word(word));
  SL_TRY(sl_encoding_clean(input));
  const sl_format *format = word ? sl_format_named(word) : sl_format_of(input);
  bool binary = word && (format->read == sl_cache_read || format->read == sl_npz_read);
  if (word && !binary && !sl_input_is_text(input))
    return sl_fail(SLEY_ERR_INPUT, "%s:1: is no text, and so not %s", input->name, format->name);
  if (format)
    return read_as(format, input, dtype, team, out);
  return sl_input_is_text(input) ? read_guess(input, dtype, team, out) : refuse(input);
}

sley_status sl_format_read(sl_input *input, const char *word, sley_dtype dtype, sl_team *team,
                           sley_matrix **out) {
  sley_status status = read_content(input, word, dtype, team, out);
  sl_input_close(input);
  return status;
}

/* Reads a cache in a plain file, by offset. */
static sley_status read_cache(const sl_file *file, const sl_reading *reading, sl_team *team,
                              sley_matrix **out) {
  const sl_format *format = sl_format_named("sley");
  if (reading->format && sl_format_named(reading->format) != format)
    return sl_fail(SLEY_ERR_INPUT, "%s: is a .sley file, not '%s'", file->name, reading->format);
  SL_TRY(sl_format_check_base(format, file->name, reading->base));
  SL_TRY(sl_cache_read_file(file, reading->dtype, team, out));
  (*out)->source = (sl_source){.format = sl_format_number(format)};
  return SLEY_OK;
}

sley_status sl_matrix_read_as(const char *path, const sl_reading *reading, sl_team *team, sley_matrix **out) {
  sl_input input;
  sl_file file;
  bool cache = false;
  SL_TRY(sl_format_check_word(reading->format));
  sl_team_begin_work(team, "reading", 4);
  sley_status status = sl_file_open(path, &file);
  if (status == SLEY_ERR_UNSUPPORTED) { /* a pipe */
    status = sl_input_open_within(path, reading->limit, &input);
  } else {
    if (status == SLEY_OK)
      status = sl_cache_is(&file, &cache);
    if (status == SLEY_OK && cache)
      status = read_cache(&file, reading, team, out);
    else if (status == SLEY_OK)
      status = sl_input_load(&file, reading->limit, team, &input);
    sl_file_close(&file);
  }
  if (status != SLEY_OK || cache)
    return status;
  input.base = reading->base;
  return sl_format_read(&input, reading->format, reading->dtype, team, out);
}

static sley_status unknown_ending(const char *path) {
  char list[256] = "";
  size_t length = 0;
  for (int f = 0; f < FORMATS; f++)
    if (formats[f].write)
      length += (size_t)snprintf(list + length, sizeof list - length, " %s", formats[f].ending);
  return sl_fail(SLEY_ERR_ARG, "%s: the ending names no format; known are%s, each also with .gz or .zst",
                 path, list);
}

/* The format that path's ending selects for writing; NULL: none. */
static const sl_format *format_of(const char *path) {
  for (int f = 0; f < FORMATS; f++)
    if (formats[f].write && sl_name_ends(path, formats[f].ending))
      return &formats[f];
  return NULL;
}

sley_status sl_matrix_check_ending(const char *path) {
  return format_of(path) ? SLEY_OK : unknown_ending(path);
}

sley_status sl_matrix_write_file(const sley_matrix *matrix, const char *path, sl_team *team) {
  const sl_format *format = format_of(path);
  if (!format)
    return unknown_ending(path);
  sl_sink *sink;
  SL_TRY(sl_sink_open(path, &sink));
  locale_t before = sl_enter_c_locale();
  sley_status status = format->write(matrix, sink, team);
  sl_leave_c_locale(before);
  if (status != SLEY_OK) {
    sl_sink_discard(sink);
    return status;
  }
  return sl_sink_commit(sink);
}
