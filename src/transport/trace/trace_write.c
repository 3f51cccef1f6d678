/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a timeline in the Trace Event format (JSON object form), which Perfetto and Chrome open: complete
 * events "X" for spans, asynchronous pairs "b" and "e" for exchanges in flight, counters "C", metadata "M"
 * that names the tracks. Source: "Trace Event Format", Google, 2016. Times are microseconds since the first
 * event of any rank. */
#include <errno.h>
#include <inttypes.h>

#include "base/locale.h"
#include "base/outfile.h"
#include "transport/trace/record.h"

static const char *const link_names[SL_LINK_COUNT] = {"self", "direct", "message"};

/* Writes a JSON string. Bytes beyond ASCII are replaced, because a name that is cut inside a character would
 * not be valid UTF-8. */
static void write_text(FILE *stream, const char *text) {
  fputc('"', stream);
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    if (*c == '"' || *c == '\\')
      fprintf(stream, "\\%c", *c);
    else if (*c < 0x20)
      fprintf(stream, "\\u%04x", *c);
    else
      fputc(*c < 0x7f ? *c : '?', stream);
  }
  fputc('"', stream);
}

static void write_head(FILE *stream, const char *phase, int rank, const char *name, double seconds) {
  fprintf(stream, ",\n{\"ph\":\"%s\",\"pid\":0,\"tid\":%d,\"ts\":%.3f,\"name\":", phase, rank, seconds * 1e6);
  write_text(stream, name);
}

static void write_bytes(FILE *stream, const sl_trace_event *event, bool by_link) {
  const char *separator = "";
  fputs(",\"args\":{", stream);
  for (int link = 0; link < SL_LINK_COUNT; link++)
    if (event->bytes[link] >= 0) {
      fprintf(stream, "%s\"%s\":%" PRId64, separator, by_link ? link_names[link] : "bytes",
              event->bytes[link]);
      separator = ",";
    }
  fputs("}}", stream);
}

static void write_event(FILE *stream, int rank, int64_t id, const sl_trace_event *event, double origin) {
  char counter[32];
  double begin = event->begin - origin, end = event->end - origin;
  switch (event->kind) {
  case SL_TRACE_SPAN:
    write_head(stream, "X", rank, event->name, begin);
    fprintf(stream, ",\"dur\":%.3f", (end - begin) * 1e6);
    write_bytes(stream, event, false);
    break;
  case SL_TRACE_FLIGHT:
    write_head(stream, "b", rank, event->name, begin);
    fprintf(stream, ",\"cat\":\"exchange\",\"id\":\"%d.%" PRId64 "\"", rank, id);
    write_bytes(stream, event, true);
    write_head(stream, "e", rank, event->name, end);
    fprintf(stream, ",\"cat\":\"exchange\",\"id\":\"%d.%" PRId64 "\"}", rank, id);
    break;
  case SL_TRACE_COUNTER:
    snprintf(counter, sizeof counter, "bytes handed over, rank %d", rank);
    write_head(stream, "C", rank, counter, begin);
    write_bytes(stream, event, true);
    break;
  }
}

static void write_track(FILE *stream, int rank) {
  fprintf(stream,
          ",\n{\"ph\":\"M\",\"pid\":0,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"rank %d\"}}",
          rank, rank);
  fprintf(
      stream,
      ",\n{\"ph\":\"M\",\"pid\":0,\"tid\":%d,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%d}}",
      rank, rank);
}

static double first_begin(sl_trace *const *traces, int count) {
  double origin = 0;
  bool any = false;
  for (int r = 0; r < count; r++)
    for (int64_t i = 0; traces[r] && i < traces[r]->count; i++)
      if (!any || traces[r]->events[i].begin < origin) {
        origin = traces[r]->events[i].begin;
        any = true;
      }
  return origin;
}

sley_status sl_trace_write(const char *path, sl_trace *const *traces, int count) {
  sl_outfile file;
  SL_TRY(sl_outfile_open(path, &file));
  errno = 0;
  locale_t before = sl_enter_c_locale();
  FILE *stream = file.stream;
  double origin = first_begin(traces, count);
  int64_t dropped = 0;
  fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", stream);
  fputs("{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"sley\"}}", stream);
  for (int r = 0; r < count; r++) {
    const sl_trace *trace = traces[r];
    if (!trace)
      continue;
    write_track(stream, trace->rank);
    for (int64_t i = 0; i < trace->count && sl_outfile_sound(&file); i++)
      write_event(stream, trace->rank, i, &trace->events[i], origin);
    dropped += trace->dropped;
  }
  fprintf(stream, "\n],\"otherData\":{\"dropped_events\":%" PRId64 "}}\n", dropped);
  sl_leave_c_locale(before);
  return sl_outfile_commit(&file);
}
