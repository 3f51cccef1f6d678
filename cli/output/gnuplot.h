/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the program gnuplot as a child process that reads a script and writes a picture. */
#ifndef SLEY_CLI_OUTPUT_GNUPLOT_H
#define SLEY_CLI_OUTPUT_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

/* The name of the data file in a script. */
#define CLI_GNUPLOT_DATA "/dev/fd/3"

bool cli_gnuplot_found(void);

/* Opens an empty temporary file, for the script or the data of the picture at path. On failure prints one
 * line on stderr and returns NULL. */
FILE *cli_gnuplot_file(const char *path);

/* Writes the first lines of a script. The picture is SVG if path ends in .svg, else PNG; width and height are
 * in pixels. */
void cli_gnuplot_begin(FILE *script, const char *path, int width, int height);

/* Writes a text in double quotes. */
void cli_gnuplot_text(FILE *script, const char *text);

/* Draws the script to the output path ("-": stdout), and closes script and data. data: a temporary file, or
 * NULL. On failure or interruption returns false after one line on stderr, and leaves no file behind. */
bool cli_gnuplot_run(const char *path, FILE *script, FILE *data);

#endif
