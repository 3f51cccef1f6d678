/* SPDX-License-Identifier: Apache-2.0 */
/* Draws pictures of sparse matrices. */
#ifndef SLEY_CLI_MATRIX_PICTURE_H
#define SLEY_CLI_MATRIX_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "sley.h"

typedef struct cli_picture {
  int width, height; /* pixels, margin included */
  int left, top;     /* pixel at which the matrix's area begins */
  int inner_width, inner_height;
  int64_t rows, cols; /* size of the matrix */
  uint32_t most;      /* nonzeros of a pixel at the dark end of the scale; 1: no scale */
  double lightest;    /* place of a single nonzero on the scale, from 0 to 1 */
  unsigned char *rgb; /* height x width x 3 */
} cli_picture;

/* Draws the density of nonzeros: each pixel's number of nonzeros, on a logarithmic scale with even steps of
 * perceived lightness. The longer side of the matrix's area has size pixels, or, for a matrix with fewer
 * cells, the largest multiple of its length up to size; the shorter side is in proportion, but at least size
 * / 8. Errors: SLEY_ERR_MEMORY. */
sley_status cli_picture_of(const sley_matrix *matrix, int size, cli_picture *out);

/* Draws the lines between ranks, behind the nonzeros. row_begin, col_begin: ranks + 1 elements. */
void cli_picture_lines(cli_picture *picture, const int64_t *row_begin, const int64_t *col_begin, int ranks);

/* Computes the colour of t, from 0 (light) to 1 (dark), on the scale. out: red, green and blue. */
void cli_picture_colour(double t, unsigned char *out);

/* Writes the picture as PNG. On failure prints one line on stderr and returns false. */
bool cli_picture_write(const cli_picture *picture, const char *path);

void cli_picture_free(cli_picture *picture);

#endif
