/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a gnuplot script with the pixels of the matrix's area, each pixel unscaled, between margins for
 * text. */
#include "matrix/spy_axes.h"

#include <inttypes.h>
#include <stdio.h>

#include "output/gnuplot.h"

enum { LEFT = 90, RIGHT = 130, TOP = 46, BOTTOM = 58, LEAST = 240, STEPS = 8, CHANNELS = 3 };

/* Writes the pixels of the matrix's area to a temporary file, row by row. */
static FILE *pixels_of(const cli_picture *p, const char *path) {
  FILE *data = cli_gnuplot_file(path);
  for (int y = 0; data && y < p->inner_height; y++)
    fwrite(p->rgb + ((size_t)(p->top + y) * (size_t)p->width + (size_t)p->left) * CHANNELS, CHANNELS,
           (size_t)p->inner_width, data);
  return data;
}

/* Writes the scale beside the picture: colours by the number of nonzeros. */
static void put_scale(FILE *script, const cli_picture *p) {
  if (p->most <= 1) {
    fputs("unset colorbox\n", script);
    return;
  }
  fputs("set palette defined (", script);
  for (int i = 0; i <= STEPS; i++) {
    unsigned char colour[CHANNELS];
    cli_picture_colour(p->lightest + (1 - p->lightest) * i / STEPS, colour);
    fprintf(script, "%s%d \"#%02x%02x%02x\"", i > 0 ? ", " : "", i, colour[0], colour[1], colour[2]);
  }
  fprintf(script,
          ")\nset logscale cb\nset cbrange [1:%" PRIu32 "]\nset cblabel \"nonzeros in a pixel\" offset 2\n",
          p->most);
}

/* Writes the margins as fractions of the picture's sides, which gnuplot measures from the left and from the
 * bottom. */
static void put_margins(FILE *script, const cli_picture *p, int width, int height) {
  double left = LEFT + (width - LEFT - RIGHT - p->inner_width) / 2, below = height - TOP - p->inner_height;
  fprintf(script, "set lmargin at screen %.9g\nset rmargin at screen %.9g\n", left / width,
          (left + p->inner_width) / width);
  fprintf(script, "set bmargin at screen %.9g\nset tmargin at screen %.9g\n", below / height,
          (below + p->inner_height) / height);
}

/* Writes tics at whole numbers, also for few rows or columns. */
static void put_tics(FILE *script, const char *axis, int64_t cells) {
  if (cells <= STEPS)
    fprintf(script, "set %s 1\n", axis);
}

static void put_script(FILE *script, const cli_picture *p, const char *title, const char *path) {
  int width = p->inner_width + LEFT + RIGHT, height = p->inner_height + TOP + BOTTOM;
  width = width < LEAST + LEFT + RIGHT ? LEAST + LEFT + RIGHT : width; /* the title needs this width */
  height = height < LEAST ? LEAST : height;
  int64_t cols = p->cols > 0 ? p->cols : 1, rows = p->rows > 0 ? p->rows : 1; /* an axis must not be empty */
  double dx = (double)cols / p->inner_width, dy = (double)rows / p->inner_height;
  cli_gnuplot_begin(script, path, width, height);
  fputs("unset key\nset tics out nomirror format \"%.0f\"\nset xtics rotate by -30\n", script);
  put_tics(script, "xtics", cols);
  put_tics(script, "ytics", rows);
  fputs("set xlabel \"column\"\nset ylabel \"row\"\nset cbtics format \"%g\"\nset title ", script);
  cli_gnuplot_text(script, title);
  fputc('\n', script);
  put_margins(script, p, width, height);
  put_scale(script, p);
  fprintf(script, "set xrange [0:%" PRId64 "]\nset yrange [%" PRId64 ":0]\n", cols, rows);
  fprintf(script,
          "plot \"" CLI_GNUPLOT_DATA "\" binary array=(%d,%d) format=\"%%3uchar\" dx=%.17g dy=%.17g "
          "origin=(%.17g,%.17g) with rgbimage",
          p->inner_width, p->inner_height, dx, dy, dx / 2, dy / 2);
  fputs(p->most > 1 ? ", NaN with points palette\n" : "\n", script);
}

bool cli_spy_axes(const cli_picture *picture, const char *title, const char *path) {
  FILE *data = pixels_of(picture, path), *script = data ? cli_gnuplot_file(path) : NULL;
  if (!script) {
    if (data)
      fclose(data);
    return false;
  }
  put_script(script, picture, title, path);
  return cli_gnuplot_run(path, script, data);
}
