/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a text among ranks: each rank holds those that begin in its share of the bytes. Of a
 * plain file every rank reads its own lines only. A compressed one is unpacked by rank 0, which
 * deals pieces out as they come; then each goes to the rank in whose share it is. */
#ifndef SLEY_PARALLEL_IO_PIO_TEXT_H
#define SLEY_PARALLEL_IO_PIO_TEXT_H

#include "io/format.h"
#include "transport/transport.h"

typedef struct sl_pio_text {
  sl_input head; /* the first lines, up to 1 MiB */
  sl_input part; /* this rank's lines; messages tell their numbers in the file */
  int64_t from;  /* bytes of the text before part */
  int64_t size;  /* of the text, without a byte order mark */
  bool cr_only;  /* its lines end with CR, and the parts are none */
} sl_pio_text;

/* Shares out the lines of a file, which may unpack to at most limit bytes (0: any), clean as
 * sl_encoding_clean makes them. Collective, agreed alike. */
sley_status sl_pio_text_open(sl_comm *comm, const sl_file *file, int64_t limit, sl_pio_text *out);
void sl_pio_text_close(sl_pio_text *text);

/* What a place in head is in part: part's begin where it lies before, its end where it lies behind. */
const char *sl_pio_text_at(const sl_pio_text *text, const char *in_head);

#endif
