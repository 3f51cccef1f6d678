/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which ranks get their rows, for pio_read.c. */
#ifndef SLEY_PARALLEL_IO_PIO_READERS_H
#define SLEY_PARALLEL_IO_PIO_READERS_H

#include "parallel_io/parallel_io.h"
#include "parallel_io/pio_text.h"

typedef struct sl_pio_reading {
  sl_comm *comm;
  const char *name;
  const sl_reading *how;
  sley_dtype dtype; /* dtype of how */
  uint64_t seed;
  bool by_nonzeros; /* the request is a partition by nonzeros; until settled, begin may differ from it */
  /* Results: */
  int64_t *begin;         /* partition of block */
  bool settled;           /* begin is the requested partition */
  sley_matrix *block;     /* this rank's rows, or NULL */
  int64_t entries_stored; /* entries stored for the whole matrix; -1: its nonzeros */
  sl_source source;       /* how the file was read; the same on all ranks */
} sl_pio_reading;

/* Reads the lines of a text that starts with the header of a Matrix Market file. Errors: SLEY_ERR_INPUT, on
 * all ranks alike. Collective, like all functions here. */
sley_status sl_pio_mtx(sl_pio_reading *reading, const sl_pio_text *text);

/* Whether a text without the mark of a format at its head is certainly an edge list, decided by the number of
 * its lines; if not, one rank must examine all of it. */
sley_status sl_pio_is_edgelist(sl_comm *comm, const sl_pio_text *text, bool *out);
sley_status sl_pio_edgelist(sl_pio_reading *reading, const sl_pio_text *text);

/* Reads rows of a cache, by their offsets. */
sley_status sl_pio_cache(sl_pio_reading *reading, const sl_file *file);

sley_status sl_pio_generate(sl_pio_reading *reading);

#endif
