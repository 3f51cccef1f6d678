/* SPDX-License-Identifier: Apache-2.0 */
/* The calling thread's last error: status and message. */
#include "base/status.h"

#include <stdio.h>
#include <string.h>

static _Thread_local sl_error last = {.rank = -1};
static _Thread_local char printed[SLEY_ERROR_BYTES]; /* message of last, with the rank's prefix */

enum { PREFIX_BYTES = 32 }; /* "rank 2147483647 failed: " */
_Static_assert(SL_ERROR_TEXT + PREFIX_BYTES <= SLEY_ERROR_BYTES, "a message has no room for its rank");
_Static_assert(sizeof(sl_error) % sizeof(int64_t) == 0, "an error travels as words of 8 bytes");

const char *sley_last_error(void) {
  return printed;
}

int sley_last_error_rank(void) {
  return last.rank;
}

bool sley_last_error_noticed(void) {
  return last.noticed;
}

/* Ends a text that did not fit with "...", and not inside a multi-byte character. */
static void mark_cut(char *text, size_t room) {
  static const char mark[] = "...";
  if (room < sizeof mark)
    return;
  size_t at = room - sizeof mark, length = strlen(text);
  if (at > length)
    at = length;
  while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
    at--;
  memcpy(text + at, mark, sizeof mark);
}

void sl_text_vformat(char *out, size_t room, const char *format, va_list arguments) {
  int bytes = vsnprintf(out, room, format, arguments);
  if (bytes < 0)
    out[0] = '\0';
  else if ((size_t)bytes >= room)
    mark_cut(out, room);
}

void sl_text_format(char *out, size_t room, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  sl_text_vformat(out, room, format, arguments);
  va_end(arguments);
}

/* Makes the text one printable line, whatever names and bytes of a file it quotes. */
static void clean(char text[SL_ERROR_TEXT]) {
  char shown[SL_ERROR_TEXT] = ""; /* cleared, because the bytes after the text also travel to other ranks */
  if (sley_printable(text, shown, sizeof shown) >= sizeof shown)
    mark_cut(shown, sizeof shown);
  memcpy(text, shown, sizeof shown);
}

/* Returns whether the text itself names the rank, as the message of an error that quotes another error does.
 */
static bool names_rank(const sl_error *error) {
  char name[PREFIX_BYTES];
  size_t length = (size_t)snprintf(name, sizeof name, "rank %d", error->rank);
  return strncmp(error->text, name, length) == 0 &&
         (error->text[length] == ' ' || error->text[length] == ':');
}

/* Makes error the thread's last error, with its printed message. */
static sley_status store(const sl_error *error) {
  last = *error;
  clean(last.text);
  char prefix[PREFIX_BYTES] = "";
  if (last.rank >= 0 && !names_rank(&last))
    snprintf(prefix, sizeof prefix,
             last.status == SLEY_ERR_PEER ? "rank %d failed: " : "rank %d: ", last.rank);
  snprintf(printed, sizeof printed, "%s%s", prefix, last.text);
  return (sley_status)last.status;
}

static sley_status store_text(sley_status status, int rank, bool noticed, const char *format,
                              va_list arguments) {
  sl_error error = {.status = status, .rank = rank, .noticed = noticed};
  sl_text_vformat(error.text, sizeof error.text, format, arguments); /* before `printed` changes, because the
                                                                        arguments may point into it */
  return store(&error);
}

sley_status sl_fail(sley_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  store_text(status, -1, false, format, arguments);
  va_end(arguments);
  return status;
}

sley_status sl_fail_peer(int rank, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  store_text(SLEY_ERR_PEER, rank, true, format, arguments);
  va_end(arguments);
  return SLEY_ERR_PEER;
}

sley_status sl_fail_prefix(sley_status status, const char *format, ...) {
  char prefix[SL_ERROR_TEXT];
  sl_error error = last;
  va_list arguments;
  va_start(arguments, format);
  sl_text_vformat(prefix, sizeof prefix, format, arguments);
  va_end(arguments);
  error.status = status;
  sl_text_format(error.text, sizeof error.text, "%s%s", prefix, last.text);
  return store(&error);
}

void sl_error_save(sl_error *out) {
  *out = last;
}

void sl_error_take(sley_status status, sl_error *out) {
  *out = status == SLEY_OK ? (sl_error){.rank = -1} : last;
  out->status = status;
  if (status != SLEY_OK && !*out->text)
    sl_text_format(out->text, sizeof out->text, "%s", sley_status_name(status));
}

sley_status sl_error_restore(const sl_error *error) {
  return store(error);
}

sley_status sl_error_of_peer(int rank, const sl_error *theirs) {
  sl_error error = *theirs;
  bool of_another = theirs->status == SLEY_ERR_PEER && theirs->rank >= 0;
  error.status = SLEY_ERR_PEER;
  error.rank = of_another ? theirs->rank : rank;
  error.noticed = of_another && theirs->noticed;
  return store(&error);
}

sley_status sl_error_on(int rank, const sl_error *theirs) {
  sl_error error = *theirs;
  if (error.rank < 0)
    error.rank = rank;
  return store(&error);
}

void sl_error_check(sl_error *error, int ranks) {
  error->text[sizeof error->text - 1] = '\0';
  if (error->status < SLEY_OK || error->status > SLEY_ERR_INTERNAL)
    error->status = SLEY_ERR_INTERNAL;
  if (error->rank < 0 || error->rank >= ranks)
    error->rank = -1;
  error->noticed = error->noticed != 0;
  clean(error->text);
}

const char *sley_status_name(sley_status status) {
  switch (status) {
  case SLEY_OK:
    return "SLEY_OK";
  case SLEY_ERR_ARG:
    return "SLEY_ERR_ARG";
  case SLEY_ERR_INPUT:
    return "SLEY_ERR_INPUT";
  case SLEY_ERR_MEMORY:
    return "SLEY_ERR_MEMORY";
  case SLEY_ERR_IO:
    return "SLEY_ERR_IO";
  case SLEY_ERR_UNSUPPORTED:
    return "SLEY_ERR_UNSUPPORTED";
  case SLEY_ERR_PEER:
    return "SLEY_ERR_PEER";
  case SLEY_ERR_OVERFLOW:
    return "SLEY_ERR_OVERFLOW";
  case SLEY_ERR_INTERRUPTED:
    return "SLEY_ERR_INTERRUPTED";
  case SLEY_ERR_INTERNAL:
    return "SLEY_ERR_INTERNAL";
  }
  return "unknown status";
}
