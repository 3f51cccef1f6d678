/* SPDX-License-Identifier: Apache-2.0 */
/* The destination of writers: a file that appears whole or not at all, compressed according to its path's
 * ending. */
#ifndef SLEY_IO_BYTES_SINK_H
#define SLEY_IO_BYTES_SINK_H

#include "base/status.h"

typedef struct sl_sink sl_sink;

/* Opens path for writing; .gz and .zst compress. Errors: SLEY_ERR_IO, SLEY_ERR_MEMORY. */
sley_status sl_sink_open(const char *path, sl_sink **out);

/* Appends bytes. Errors: SLEY_ERR_IO. */
sley_status sl_sink_put(sl_sink *sink, const void *bytes, size_t size);

/* Formats into the sink; for headers, not for entries. */
sley_status sl_sink_print(sl_sink *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the stream, renames the file into place and frees the sink, also on an error. */
sley_status sl_sink_commit(sl_sink *sink);

/* Removes the unfinished file and frees the sink. Accepts NULL. */
void sl_sink_discard(sl_sink *sink);

#endif
