/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the record of how a file was read to words. */
#include "io/format.h"
#include "io/io.h"

/* Descriptions by sl_shape. */
static const char *const shapes[] = {NULL, "triplets without a header", "an array without a header",
                                     "one column of integers", "one column of numbers"};

/* Descriptions by sl_why. */
static const char *const reasons[] = {
    NULL,
    "as asked for",
    "as the file's header says",
    "as the file's header says, whose sym mirrors no edge",
    "as the header's number of nodes fits",
    "as the name's ending says",
    "a row or column is 0",
    "the smallest row or column is 1; if node 0 has no edge, give base 0",
    "no row or column is 0 or 1; if the first is 1, give base 1",
    "no row or column is 0; if they count from 0, give base 0",
};

void sl_source_tell(const sl_source *source, sley_matrix_source *out) {
  const sl_format *format = sl_format_numbered(source->format);
  *out = (sley_matrix_source){.base = -1};
  if (!format)
    return;
  out->format = format->word;
  out->description = source->shape ? shapes[source->shape] : format->name;
  out->unread_lines = source->unread;
  if (source->why == SL_WHY_NONE)
    return;
  out->base = (int)source->base;
  out->base_reason = reasons[source->why];
}
