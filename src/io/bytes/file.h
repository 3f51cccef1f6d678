/* SPDX-License-Identifier: Apache-2.0 */
/* A plain file that is read by offset into the caller's memory. Nothing is mapped: if another program writes
 * to the file or truncates it during the read, an error names it, and nothing that was read changes
 * afterwards. */
#ifndef SLEY_IO_BYTES_FILE_H
#define SLEY_IO_BYTES_FILE_H

#include <time.h>

#include "base/status.h"
#include "base/team.h"

typedef struct sl_file {
  const char *name; /* for messages */
  int64_t size;     /* size when it was opened */
  int descriptor;   /* -1: none */
  struct timespec modified;
  const char *memory; /* instead of a descriptor: the bytes, which belong to the caller */
} sl_file;

/* Opens the file at path, which must outlive *out; "-" is standard input. Errors: SLEY_ERR_IO (cannot be
 * opened); SLEY_ERR_UNSUPPORTED, without a message: it is empty, or not a plain file; then it was not opened,
 * because a pipe can be opened only once. */
sley_status sl_file_open(const char *path, sl_file *out);

/* Returns a file whose bytes are in memory. */
sl_file sl_file_of_memory(const char *name, const void *bytes, int64_t size);

/* Closes the file. Accepts a zeroed or closed file. */
void sl_file_close(sl_file *file);

/* Copies bytes [at, at + bytes), which the caller guarantees to lie in the file as it was opened, to `to`; in
 * parallel with a team (or NULL). Errors: SLEY_ERR_IO (cannot be read; the file became shorter),
 * SLEY_ERR_INTERRUPTED. */
sley_status sl_file_read(const sl_file *file, int64_t at, int64_t bytes, void *to, sl_team *team);

/* Called after the last read: SLEY_ERR_IO if the file was written to since it was opened, so the read bytes
 * may be a mixture of two states. */
sley_status sl_file_check_unchanged(const sl_file *file);

/* The path to open for a name: "-" is standard input. */
const char *sl_file_path(const char *name);

/* A moving part of the file: pointers into it, for readers with scattered accesses. */
typedef struct sl_window {
  const sl_file *file;
  char *bytes; /* from sl_alloc; NULL: none yet */
  int64_t at, count;
} sl_window;

/* Sets *out to the address of bytes [at, at + count), valid until the next call; count is at most SL_WINDOW.
 */
enum { SL_WINDOW = 1 << 18 };
sley_status sl_window_look(sl_window *window, int64_t at, int64_t count, const void **out);
void sl_window_free(sl_window *window);

#endif
