/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats; reading told apart by content, writing by the path's ending. */
#include <stdio.h>
#include <string.h>

#include "base/locale.h"
#include "io/cache.h"
#include "io/format.h"
#include "io/io.h"

/* In the order they are asked, see format.h. A row without sniff takes any text. */
static const sl_format formats[] = {
    {"Sley cache", ".sley", sl_cache_sniff, sl_cache_read, sl_cache_write},
    {"scipy .npz", ".npz", sl_npz_sniff, sl_npz_read, sl_npz_write},
    {"Matrix Market", ".mtx", sl_mtx_sniff, sl_mtx_read, sl_mtx_write},
    {"Rutherford-Boeing", ".rb", sl_rb_sniff, sl_rb_read, sl_rb_write},
    {"METIS", ".graph", sl_metis_sniff, sl_metis_read, sl_metis_write},
    {"Matrix Market without header", NULL, sl_mtx_bare_sniff, sl_mtx_bare_read, NULL},
    {"edge list", ".el", NULL, sl_edgelist_read, sl_edgelist_write},
};
enum { FORMATS = sizeof formats / sizeof *formats };

const sl_format *sl_format_at_head(const sl_input *input) {
  static bool (*const at_head[])(const sl_input *) = {sl_cache_sniff, sl_npz_sniff, sl_mtx_sniff,
                                                      sl_rb_sniff};
  for (size_t s = 0; s < sizeof at_head / sizeof *at_head; s++)
    if (at_head[s](input))
      for (int f = 0; f < FORMATS; f++)
        if (formats[f].sniff == at_head[s])
          return &formats[f];
  return NULL;
}

static void refuse(const sl_input *input) {
  char list[256] = "";
  size_t length = 0;
  for (int f = 0; f < FORMATS && length < sizeof list; f++)
    length +=
        (size_t)snprintf(list + length, sizeof list - length, "%s%s", length ? ", " : "", formats[f].name);
  sl_fail(SLEY_ERR_INPUT, "%s:1: not a matrix in any format Sley reads (%s)", input->name, list);
}

const sl_format *sl_format_of(const sl_input *input) {
  if (input->begin == input->end) {
    sl_fail(SLEY_ERR_INPUT, "%s:1: the file is empty; give a matrix", input->name);
    return NULL;
  }
  for (int f = 0; f < FORMATS; f++)
    if (formats[f].sniff ? formats[f].sniff(input) : sl_input_is_text(input))
      return &formats[f];
  refuse(input);
  return NULL;
}

static sley_status read_input(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  const sl_format *format = sl_format_of(input);
  sley_status status = format ? format->read(input, dtype, team, out) : SLEY_ERR_INPUT;
  sl_input_close(input);
  return status;
}

sley_status sl_matrix_read_file(const char *path, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  return sl_matrix_read_within(path, dtype, 0, team, out);
}

sley_status sl_matrix_read_within(const char *path, sley_dtype dtype, int64_t limit, sl_team *team,
                                  sley_matrix **out) {
  sl_input input;
  sl_file file;
  bool cache = false;
  sley_status status = sl_file_open(path, &file);
  if (status == SLEY_ERR_UNSUPPORTED) { /* a pipe */
    SL_TRY(sl_input_open_within(path, limit, &input));
    return read_input(&input, dtype, team, out);
  }
  if (status == SLEY_OK)
    status = sl_cache_is(&file, &cache);
  if (status == SLEY_OK && cache)
    status = sl_cache_read_file(&file, dtype, team, out);
  else if (status == SLEY_OK)
    status = sl_input_load(&file, limit, team, &input);
  sl_file_close(&file);
  return status == SLEY_OK && !cache ? read_input(&input, dtype, team, out) : status;
}

sley_status sl_matrix_read_memory(const char *name, const void *bytes, size_t size, sley_dtype dtype,
                                  sl_team *team, sley_matrix **out) {
  sl_input input;
  SL_TRY(sl_input_open_memory(name, bytes, size, &input));
  return read_input(&input, dtype, team, out);
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

/* NULL: the ending of path names no format that is written. */
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
