/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of data that other ranks send during the meeting. */
#include "bootstrap/hello.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PORT_MOST = 65535 };

sl_process_id sl_process_id_own(void) {
  struct stat space = {.st_ino = 0};
  (void)stat("/proc/self/ns/pid", &space);
  return (sl_process_id){.pid = getpid(), .space = space.st_ino};
}

/* Returns whether a text ends within its memory and has no control characters. */
static bool is_text(const char *text, size_t room) {
  size_t at = 0;
  while (at < room && (unsigned char)text[at] >= ' ' && text[at] != 0x7f)
    at++;
  return at < room && text[at] == '\0';
}

static bool is_process(const sl_process_id *process) {
  return process->pid > 0 && process->pid <= INT32_MAX;
}

static bool is_error(const sl_error *error) {
  return error->status >= SLEY_OK && error->status <= SLEY_ERR_INTERNAL &&
         memchr(error->text, 0, sizeof error->text) != NULL;
}

bool sl_hello_check(sl_hello *hello, int ranks) {
  if (!is_error(&hello->error))
    return false;
  int least = hello->error.status == SLEY_OK ? 1 : 0;
  sl_error_check(&hello->error, ranks);
  return hello->size >= 1 && hello->port >= least && hello->port <= PORT_MOST &&
         is_process(&hello->process) && is_text(hello->host, sizeof hello->host);
}

bool sl_verdict_check(sl_error *verdict, int ranks) {
  bool sound = is_error(verdict);
  sl_error_check(verdict, ranks);
  return sound;
}

bool sl_entries_check(const sl_entry *entries, int ranks) {
  for (int r = 0; r < ranks; r++) {
    const sl_entry *e = &entries[r];
    if (!is_text(e->address, sizeof e->address) || !is_text(e->host, sizeof e->host) ||
        !is_process(&e->process) || (r > 0 && (e->port < 1 || e->port > PORT_MOST || !*e->address)))
      return false;
  }
  return true;
}
