/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which ranks come by their rows, for read.c. */
#ifndef SLEY_PARALLEL_IO_PIO_READERS_H
#define SLEY_PARALLEL_IO_PIO_READERS_H

#include "parallel_io/parallel_io.h"
#include "parallel_io/pio_text.h"

typedef struct sl_pio_reading {
  sl_comm *comm;
  const char *name;
  const sl_reading *how;
  sley_dtype dtype; /* how's */
  uint64_t seed;
  bool by_nonzeros; /* begin shall be so, not that it is yet */
  /* What is read: */
  int64_t *begin;         /* the partition of block */
  bool settled;           /* begin is as asked for */
  sley_matrix *block;     /* this rank's rows, or NULL */
  int64_t entries_stored; /* of the whole; -1: its nonzeros */
  sl_source source;       /* what it was read as; alike on all ranks */
} sl_pio_reading;

/* Lines of a text that starts with the header of a Matrix Market file. Errors: SLEY_ERR_INPUT, on all ranks
 * alike. Collective, as all here. */
sley_status sl_pio_mtx(sl_pio_reading *reading, const sl_pio_text *text);

/* Whether a text of none of the formats with a mark at their head is an edge list for sure, told by the
 * number of its lines; if not, who has all of it must look. */
sley_status sl_pio_is_edgelist(sl_comm *comm, const sl_pio_text *text, bool *out);
sley_status sl_pio_edgelist(sl_pio_reading *reading, const sl_pio_text *text);

/* Rows of a cache, by their offsets. */
sley_status sl_pio_cache(sl_pio_reading *reading, const sl_file *file);

sley_status sl_pio_generate(sl_pio_reading *reading);

#endif
