/* SPDX-License-Identifier: Apache-2.0 */
/* Axes, title and scale around the picture of a matrix. */
#ifndef SLEY_CLI_MATRIX_SPY_AXES_H
#define SLEY_CLI_MATRIX_SPY_AXES_H

#include "matrix/picture.h"

/* Writes the picture with axes that count rows and columns, the title above it, and a scale of what the
 * colours mean, by gnuplot: PNG, or SVG where the name ends in .svg. False, with nothing left behind, after
 * one line on stderr. */
bool cli_spy_axes(const cli_picture *picture, const char *title, const char *path);

#endif
