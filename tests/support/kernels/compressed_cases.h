/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of compressed arrays share: memory with fences, arrays of many zeros, and calls of the
 * operations on a queue. */
#ifndef SLEY_TESTS_COMPRESSED_CASES_H
#define SLEY_TESTS_COMPRESSED_CASES_H

#include "kernels.h"

enum { MARGIN = 64 };

/* Memory whose end is the end of what may be read. */
typedef struct fenced {
  char *pages, *data;
  size_t mapped, bytes;
} fenced;

fenced fenced_of(size_t bytes);
void fenced_free(fenced *f);

/* An array to be written, with margins of MARGIN bytes that hold a pattern; freed by free. */
char *open_margins(size_t bytes);
void check_margins(const char *base, size_t bytes);

/* For image_of: an alignment to `each` bytes, or a better one. */
size_t draw_skew(size_t each);

/* Around the ends of rows, of a tile, and longer. */
int64_t draw_length(void);

/* One of those that all queues' devices compress. */
sley_type draw_type(void);

/* Values of which a share, in thousandths, is zero: one by one, or in blocks. */
void draw_values(void *array, sley_type type, int64_t count, int64_t zeros);

enum { MOST_TOGETHER = 20 };

/* Compresses arrays in one call; addresses are the host's. A part's `copy` is not looked at: some are asked
 * for, and checked. */
void run_compress_all(sl_queue *queue, sley_type type, int parts, const sl_compress_part *part);

/* One array. */
void run_compress(sl_queue *queue, const void *src, int64_t count, sley_type type,
                  sl_compressed_format format, char *dst, int64_t room);

/* The faults found. */
uint32_t run_decompress(sl_queue *queue, const fenced *src, void *dst, int64_t count, sley_type type);

/* A compressed array with room for nothing more, made by the first of the queues. */
fenced draw_compressed(sley_type type, int64_t count, sl_compressed_format format, int64_t zeros);

#endif
