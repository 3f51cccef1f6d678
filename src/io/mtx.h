/* SPDX-License-Identifier: Apache-2.0 */
/* What a Matrix Market header says, and the parser of the entries after it. */
#ifndef SLEY_IO_MTX_H
#define SLEY_IO_MTX_H

#include "io/format.h"

typedef struct sl_mtx_header {
  bool array;   /* values column by column, else triplets */
  bool pattern; /* triplets without values */
  bool bare;    /* no header line: whether indices count from 0 or 1 shows in them */
  sl_symmetry symmetry;
  int64_t rows, cols, count; /* count: entries that follow */
  const char *sizes;         /* where they stand, for messages */
  const char *body;          /* the line after */
} sl_mtx_header;

/* Parses the entries on the team into a matrix. The result and the error, which is that of the first bad
 * line, do not depend on the team. The input is closed once it is read. Errors: SLEY_ERR_INPUT with file and
 * line. */
sley_status sl_mtx_parse(sl_input *input, const sl_mtx_header *header, sley_dtype dtype, sl_team *team,
                         sley_matrix **out);

/* Entries that an array of this size and symmetry stores; -1 if that overflows. Of a symmetric one the lower
 * triangle, of a skew-symmetric one without the diagonal. */
int64_t sl_mtx_array_entries(int64_t rows, int64_t cols, sl_symmetry symmetry);

#endif
