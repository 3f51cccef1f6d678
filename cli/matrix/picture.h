/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of sparse matrices. */
#ifndef SLEY_CLI_MATRIX_PICTURE_H
#define SLEY_CLI_MATRIX_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "sley.h"

typedef struct cli_picture {
  int width, height; /* pixels, margin included */
  int left, top;     /* of the matrix's area */
  int inner_width, inner_height;
  int64_t rows, cols; /* of the matrix */
  uint32_t most;      /* nonzeros of a pixel at the dark end of the scale; 1: there is no scale */
  double lightest;    /* where on the scale one nonzero lies, 0 or more */
  unsigned char *rgb; /* height x width x 3 */
} cli_picture;

/* Draws the density of nonzeros: each pixel's share of cells that are nonzero, on a logarithmic scale of even
 * steps in perceived lightness. The longer side of the matrix's area takes size pixels, or, for a small
 * matrix, the largest multiple of its length below; the shorter in proportion, at least an eighth of size.
 * Errors: SLEY_ERR_MEMORY. */
sley_status cli_picture_of(const sley_matrix *matrix, int size, cli_picture *out);

/* Draws the lines between ranks, behind the nonzeros: begin arrays of ranks + 1 entries. */
void cli_picture_lines(cli_picture *picture, const int64_t *row_begin, const int64_t *col_begin, int ranks);

/* The colour of t in 0 .. 1 of the scale, from light to dark: three values. */
void cli_picture_colour(double t, unsigned char *out);

/* Writes a PNG. False after one line on stderr. */
bool cli_picture_write(const cli_picture *picture, const char *path);

void cli_picture_free(cli_picture *picture);

#endif
