/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 1024 };
static _Thread_local char last_error[MESSAGE_BYTES];

const char *sley_last_error(void) {
  return last_error;
}

/* Stores text as the message: one line, whatever bytes of a file it quotes. */
static void store(char text[MESSAGE_BYTES]) {
  for (char *at = text; *at; at++)
    if ((unsigned char)*at < ' ' || *at == 0x7f)
      *at = '?';
  memcpy(last_error, text, MESSAGE_BYTES);
}

sley_status sl_fail(sley_status status, const char *format, ...) {
  char text[MESSAGE_BYTES]; /* the arguments may point into last_error */
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  store(text);
  return status;
}

sley_status sl_fail_prefix(sley_status status, const char *format, ...) {
  char text[MESSAGE_BYTES];
  va_list args;
  va_start(args, format);
  int led = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (led >= 0 && (size_t)led < sizeof text)
    snprintf(text + led, sizeof text - (size_t)led, "%s", last_error);
  store(text);
  return status;
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
