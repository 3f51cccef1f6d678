/* SPDX-License-Identifier: Apache-2.0 */
/* The program gnuplot, run as a child process that reads a script and writes a picture. */
#ifndef SLEY_CLI_OUTPUT_GNUPLOT_H
#define SLEY_CLI_OUTPUT_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

/* What a script names its data file, where it is given one. */
#define CLI_GNUPLOT_DATA "/dev/fd/3"

bool cli_gnuplot_found(void);

/* An empty temporary file, for the script or the data of the picture at path; NULL after one line on stderr.
 */
FILE *cli_gnuplot_file(const char *path);

/* The first lines of a script: SVG if the path ends in .svg, else PNG; width and height in pixels. */
void cli_gnuplot_begin(FILE *script, const char *path, int width, int height);

/* Writes a text in double quotes. */
void cli_gnuplot_text(FILE *script, const char *text);

/* Draws to the output path ("-": stdout) by the script, and by the data (a temporary file too, or NULL), and
 * closes both. False, with nothing left behind, after one line on stderr; so too when interrupted. */
bool cli_gnuplot_run(const char *path, FILE *script, FILE *data);

#endif
