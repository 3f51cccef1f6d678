/* SPDX-License-Identifier: Apache-2.0 */
/* Draws axes, title and scale around the picture of a matrix. */
#ifndef SLEY_CLI_MATRIX_SPY_AXES_H
#define SLEY_CLI_MATRIX_SPY_AXES_H

#include "matrix/picture.h"

/* Writes the picture with axes that count rows and columns, the title above it, and a scale for the colours,
 * with gnuplot: SVG if path ends in .svg, else PNG. On failure returns false after one line on stderr, and
 * leaves no file behind. */
bool cli_spy_axes(const cli_picture *picture, const char *title, const char *path);

#endif
