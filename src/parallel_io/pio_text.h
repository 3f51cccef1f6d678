/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a text, divided among ranks: each rank holds the lines that begin in its share of the bytes.
 * From a plain file every rank reads only its own lines. A compressed file is unpacked by rank 0, which
 * distributes pieces as they come; then each piece is sent to the rank that has it in its share. */
#ifndef SLEY_PARALLEL_IO_PIO_TEXT_H
#define SLEY_PARALLEL_IO_PIO_TEXT_H

#include "io/format.h"
#include "transport/transport.h"

typedef struct sl_pio_text {
  sl_input head; /* the first lines, up to 1 MiB */
  sl_input part; /* this rank's lines; messages state their line numbers in the file */
  int64_t from;  /* bytes of the text before part */
  int64_t size;  /* bytes of the text, without a byte order mark */
  bool cr_only;  /* its lines end with CR, and there are no parts */
} sl_pio_text;

/* Divides the lines of a file, which may unpack to at most limit bytes (0: any number), cleaned as by
 * sl_encoding_clean. Collective, agreed alike. */
sley_status sl_pio_text_open(sl_comm *comm, const sl_file *file, int64_t limit, sl_pio_text *out);
void sl_pio_text_close(sl_pio_text *text);

/* Converts a position in head to a position in part: if it is before part, to the begin of part; if it is
   after part, to its end. */
const char *sl_pio_text_at(const sl_pio_text *text, const char *in_head);

#endif
