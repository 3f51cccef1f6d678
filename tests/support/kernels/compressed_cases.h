/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for tests of compressed arrays: fenced memory, arrays with many zeros, and calls of the operations
 * on a queue. */
#ifndef SLEY_TESTS_COMPRESSED_CASES_H
#define SLEY_TESTS_COMPRESSED_CASES_H

#include "kernels.h"

enum { MARGIN = 64 };

/* Memory whose last byte is followed by a page that must not be read. */
typedef struct fenced {
  char *pages, *data;
  size_t mapped, bytes;
} fenced;

fenced fenced_of(size_t bytes);
void fenced_free(fenced *f);

/* An array to write to, with margins of MARGIN bytes that hold a pattern. Freed by free. */
char *open_margins(size_t bytes);
void check_margins(const char *base, size_t bytes);

/* A random skew for image_of that keeps an alignment of at least `each` bytes. */
size_t draw_skew(size_t each);

/* A random length: near the ends of rows or of a tile, or longer. */
int64_t draw_length(void);

/* A random type that the devices of all queues can compress. */
sley_type draw_type(void);

/* Fills an array with random values, of which `zeros` thousandths are zero, one by one or in blocks. */
void draw_values(void *array, sley_type type, int64_t count, int64_t zeros);

enum { MOST_TOGETHER = 20 };

/* Compresses arrays in one call; addresses are in host memory. The `copy` of a part is ignored: the function
 * requests some copies and checks them. */
void run_compress_all(sl_queue *queue, sley_type type, int parts, const sl_compress_part *part);

/* Compresses one array. */
void run_compress(sl_queue *queue, const void *src, int64_t count, sley_type type,
                  sl_compressed_format format, char *dst, int64_t room);

/* Decompresses an array; returns the faults that were found. */
uint32_t run_decompress(sl_queue *queue, const fenced *src, void *dst, int64_t count, sley_type type);

/* A compressed array in memory of exactly its length, made on the first queue. */
fenced draw_compressed(sley_type type, int64_t count, sl_compressed_format format, int64_t zeros);

#endif
