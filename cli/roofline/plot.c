/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a gnuplot script that draws rooflines: the network's roof rises until it meets the horizontal local
 * roofs, and each algorithm has a vertical line with its predicted and measured points. */
#include <inttypes.h>
#include <math.h>

#include "matrix/input.h"
#include "output/gnuplot.h"
#include "roofline/roofline.h"

enum { WIDTH = 760, HEIGHT = 440, COLOURS = 8 };
#define MARGIN 4.0 /* factor between the outermost values and the edges */

/* The colours of Okabe and Ito, which colour-blind readers can distinguish. */
static const char *const colours[COLOURS] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                             "#56b4e9", "#d55e00", "#f0e442", "#000000"};

typedef struct window {
  double left, right, low, high;
} window;

static void widen(double *least, double *most, double value) {
  if (!(value > 0) || isinf(value))
    return;
  *least = fmin(*least, value);
  *most = fmax(*most, value);
}

static double slope(const cli_roofline *r) {
  return r->row[0].line.network_bandwidth / 1e9;
}

static double roof_of(const cli_roofline_row *row) {
  return row->line.local_roof / 1e9;
}

static window window_of(const cli_roofline *r) {
  window w = {INFINITY, 0, INFINITY, 0};
  for (int i = 0; i < r->count; i++) {
    const cli_roofline_row *row = &r->row[i];
    widen(&w.left, &w.right, cli_roofline_intensity(row, false));
    widen(&w.left, &w.right, cli_roofline_intensity(row, true));
    if (row->known) {
      widen(&w.left, &w.right, roof_of(row) / slope(r)); /* the intensity at which the two roofs meet */
      widen(&w.low, &w.high, roof_of(row));
      widen(&w.low, &w.high, cli_roofline_rate(r, row, row->line.predicted_ms));
    }
    widen(&w.low, &w.high, cli_roofline_rate(r, row, row->measured_ms));
  }
  widen(&w.low, &w.high, r->row[0].line.peak / 1e9);
  if (w.right == 0)
    w.left = w.right = 1;
  if (w.high == 0)
    w.low = w.high = 1;
  return (window){w.left / MARGIN, w.right * MARGIN, w.low / MARGIN, w.high * MARGIN};
}

/* Adds a curve to the plot command. data: name of a data block; title NULL: the curve is not in the key. */
static void put_curve(FILE *script, int *drawn, const char *data, const char *style, const char *title) {
  fprintf(script, "%s%s %s ", (*drawn)++ > 0 ? ", \\\n  " : "plot ", data, style);
  if (!title) {
    fputs("notitle", script);
    return;
  }
  fputs("title ", script);
  cli_gnuplot_text(script, title);
}

/* Writes the data blocks, which must precede the plot command. */
static void put_data(FILE *script, const cli_roofline *r, const window *w) {
  double highest = r->row[0].line.peak / 1e9;
  for (int i = 0; i < r->count; i++)
    highest = r->row[i].known ? fmax(highest, roof_of(&r->row[i])) : highest;
  const double ridge = highest / slope(r);
  fprintf(script, "$network << EOD\n%.9g %.9g\n%.9g %.9g\nEOD\n", w->left, w->left * slope(r), ridge,
          highest);
  if (r->row[0].line.peak > 0)
    fprintf(script, "$peak << EOD\n%.9g %.9g\n%.9g %.9g\nEOD\n", w->left, r->row[0].line.peak / 1e9, w->right,
            r->row[0].line.peak / 1e9);
  for (int i = 0; i < r->count; i++) {
    const cli_roofline_row *row = &r->row[i];
    const double at = cli_roofline_intensity(row, false), seen = cli_roofline_intensity(row, true);
    if (row->known) {
      fprintf(script, "$roof%d << EOD\n%.9g %.9g\n%.9g %.9g\nEOD\n", i, w->left, roof_of(row), w->right,
              roof_of(row));
      if (at > 0)
        fprintf(script, "$line%d << EOD\n%.9g %.9g\n%.9g %.9g\nEOD\n$predicted%d << EOD\n%.9g %.9g\nEOD\n", i,
                at, w->low, at, fmin(roof_of(row), at * slope(r)), i, at,
                cli_roofline_rate(r, row, row->line.predicted_ms));
    }
    if (seen > 0 && row->measured_ms > 0)
      fprintf(script, "$measured%d << EOD\n%.9g %.9g\nEOD\n", i, seen,
              cli_roofline_rate(r, row, row->measured_ms));
  }
}

/* Returns true if this is the first row with such a point; only its point is named in the key. */
static bool is_first(const cli_roofline *r, int row, bool measured) {
  for (int i = 0; i < row; i++)
    if (measured ? r->row[i].measured_ms > 0 : r->row[i].known)
      return false;
  return true;
}

static void put_row(FILE *script, const cli_roofline *r, int i, int *drawn) {
  const cli_roofline_row *row = &r->row[i];
  char data[32], style[96];
  const char *colour = colours[i % COLOURS];
  if (row->known) {
    snprintf(data, sizeof data, "$roof%d", i);
    snprintf(style, sizeof style, "with lines dashtype 2 linecolor rgb \"%s\"", colour);
    put_curve(script, drawn, data, style, is_first(r, i, false) ? "local roof" : NULL);
  }
  if (row->known && cli_roofline_intensity(row, false) > 0) {
    snprintf(data, sizeof data, "$line%d", i);
    snprintf(style, sizeof style, "with lines linewidth 2 linecolor rgb \"%s\"", colour);
    put_curve(script, drawn, data, style, row->algo);
    snprintf(data, sizeof data, "$predicted%d", i);
    snprintf(style, sizeof style, "with points pointtype 6 pointsize 1.6 linecolor rgb \"%s\"", colour);
    put_curve(script, drawn, data, style, is_first(r, i, false) ? "predicted" : NULL);
  }
  if (row->measured_ms > 0 && cli_roofline_intensity(row, true) > 0) {
    snprintf(data, sizeof data, "$measured%d", i);
    snprintf(style, sizeof style, "with points pointtype 7 pointsize 1 linecolor rgb \"%s\"", colour);
    put_curve(script, drawn, data, style, is_first(r, i, true) ? "measured" : NULL);
    if (!row->known)
      put_curve(script, drawn, "NaN", style, row->algo);
  }
}

static void put_title(FILE *script, const cli_roofline *r) {
  const int nodes = r->row[0].line.nodes;
  char title[320];
  int at = snprintf(title, sizeof title, "%.128s, ", cli_base_name(r->matrix));
  if (r->sparse)
    at += snprintf(title + at, sizeof title - (size_t)at, "sparse times sparse");
  else
    at += snprintf(title + at, sizeof title - (size_t)at, "k = %" PRId64, r->k);
  snprintf(title + at, sizeof title - (size_t)at, ", %d rank%s on %d node%s", r->ranks,
           r->ranks == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s");
  fputs("set title ", script);
  cli_gnuplot_text(script, title);
  fputc('\n', script);
}

bool cli_roofline_plot(const char *path, const cli_roofline *r) {
  const window w = window_of(r);
  int drawn = 0;
  FILE *script = cli_gnuplot_file(path);
  if (!script)
    return false;
  cli_gnuplot_begin(script, path, WIDTH, HEIGHT);
  put_data(script, r, &w);
  put_title(script, r);
  fputs("set logscale xy\nset grid\nset key outside right center Left reverse samplen 2\n"
        "set ylabel \"GFLOP/s of a rank\"\n",
        script);
  fprintf(script, "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n", w.left, w.right, w.low, w.high);
  fprintf(script, "set xlabel \"flops for each byte between %s, at %.3g GB/s a rank\"\n",
          r->row[0].line.nodes > 1 ? "nodes" : "ranks", slope(r));
  put_curve(script, &drawn, "$network", "with lines linewidth 2 linecolor rgb \"black\"", "network");
  if (r->row[0].line.peak > 0)
    put_curve(script, &drawn, "$peak", "with lines linewidth 2 linecolor rgb \"gray40\"", "arithmetic");
  for (int i = 0; i < r->count; i++)
    put_row(script, r, i, &drawn);
  fputc('\n', script);
  return cli_gnuplot_run(path, script, NULL);
}
