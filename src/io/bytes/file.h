/* SPDX-License-Identifier: Apache-2.0 */
/* A plain file that is read by offset into memory of one's own. Nothing is mapped: whoever writes to the file
 * or cuts it while it is read gives an error that names it, and nothing that was read changes afterwards. */
#ifndef SLEY_IO_BYTES_FILE_H
#define SLEY_IO_BYTES_FILE_H

#include <time.h>

#include "base/status.h"
#include "base/team.h"

typedef struct sl_file {
  const char *name; /* for messages */
  int64_t size;     /* when it was opened */
  int descriptor;   /* -1: none */
  struct timespec modified;
  const char *memory; /* in place of a descriptor: the bytes themselves, which stay their owner's */
} sl_file;

/* Opens the file at path, which must outlive *out; "-" is standard input. Errors: SLEY_ERR_IO (cannot be
 * opened); SLEY_ERR_UNSUPPORTED, without a message: it is empty, or no plain file; it was not opened then,
 * since a pipe can be once. */
sley_status sl_file_open(const char *path, sl_file *out);

/* The same of bytes in memory. */
sl_file sl_file_of_memory(const char *name, const void *bytes, int64_t size);

/* Accepts a zeroed or closed one. */
void sl_file_close(sl_file *file);

/* Copies bytes [at, at + bytes), which are the caller's promise to lie in the file as it was opened, to `to`;
 * with a team (or NULL) in parallel. Errors: SLEY_ERR_IO (cannot be read; the file became shorter),
 * SLEY_ERR_INTERRUPTED. */
sley_status sl_file_read(const sl_file *file, int64_t at, int64_t bytes, void *to, sl_team *team);

/* After the last read: SLEY_ERR_IO if the file was written to since it was opened, so that what was read may
 * be of two states of it. */
sley_status sl_file_check_unchanged(const sl_file *file);

/* The path that opens a name: "-" is standard input. */
const char *sl_file_path(const char *name);

/* A part of the file that moves: pointers into it, for readers that look here and there. */
typedef struct sl_window {
  const sl_file *file;
  char *bytes; /* from sl_alloc; NULL: none yet */
  int64_t at, count;
} sl_window;

/* *out = bytes [at, at + count), valid until the next call; count is at most SL_WINDOW. */
enum { SL_WINDOW = 1 << 18 };
sley_status sl_window_look(sl_window *window, int64_t at, int64_t count, const void **out);
void sl_window_free(sl_window *window);

#endif
