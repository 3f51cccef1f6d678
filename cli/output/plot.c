/* SPDX-License-Identifier: Apache-2.0 */
/* Writes charts as gnuplot scripts that contain the data. */
#include "output/plot.h"

#include <inttypes.h>
#include <stdio.h>

#include "command.h"
#include "matrix/input.h"
#include "output/gnuplot.h"
#include "output/output.h"
#include "output/terminal.h"

#define MIB (1024.0 * 1024.0)
/* Widths and heights in pixels. LEGEND: width of the legend of lines; LEFT, RIGHT: margins of a chart of
 * lines. */
enum { WIDTH = 560, HEIGHT = 420, LEGEND = 230, LEFT = 120, RIGHT = 20 };

bool cli_plot_possible(const char *command, const char *path, int *code) {
  *code = CLI_USAGE;
  if (!path)
    return true;
  static const char *const endings[] = {".svg", ".png", NULL};
  char what[64];
  snprintf(what, sizeof what, "%s: --plot", command);
  if (!cli_output_ending(what, path, endings))
    return false;
  if (!cli_gnuplot_found()) {
    cli_error("%s: --plot needs the program gnuplot, which is not installed (Debian: gnuplot-nox)", command);
    return false;
  }
  *code = CLI_FAILED;
  return cli_output_possible(path);
}

/* Writes a block of data with a line per point: its name, and a column per series. */
static void put_data(FILE *script, const cli_chart *c, int number) {
  fprintf(script, "$chart%d << EOD\n", number);
  for (int p = 0; p < c->points; p++) {
    cli_gnuplot_text(script, c->point[p]);
    for (int s = 0; s < c->series; s++)
      if (c->value[s * c->points + p] > 0 || !c->lines)
        fprintf(script, " %.9g", c->value[s * c->points + p]);
      else
        fputs(" NaN", script); /* 0 has no logarithm */
    fputc('\n', script);
  }
  fputs("EOD\n", script);
}

static bool has_positive(const cli_chart *c, int series) {
  for (int p = 0; p < c->points; p++)
    if (c->value[series * c->points + p] > 0)
      return true;
  return false;
}

/* Puts a tic at each point. */
static void put_tics(FILE *script, const cli_chart *c) {
  fputs("set xtics rotate by -35 (", script);
  for (int p = 0; p < c->points; p++) {
    fputs(p > 0 ? ", " : "", script);
    cli_gnuplot_text(script, c->point[p]);
    fprintf(script, " %s", c->point[p]);
  }
  fputs(")\n", script);
}

/* Places the chart and its legend. Charts of lines have equal widths, and one legend right of the last chart.
 */
static void put_place(FILE *script, const cli_chart *c, int number, int count) {
  if (!c->lines) {
    fputs(c->series > 1 ? "set key outside top center horizontal\n" : "set key off\n", script);
    return;
  }
  const double all = WIDTH * count + LEGEND, end = WIDTH * (number + 1);
  fprintf(script, "set lmargin at screen %.9g\nset rmargin at screen %.9g\n", (end - WIDTH + LEFT) / all,
          (end - RIGHT) / all);
  if (number + 1 < count)
    fputs("set key off\n", script);
  else
    fprintf(script, "set key at screen %.9g, 0.5 left center Left reverse\n", end / all);
}

static void put_chart(FILE *script, const cli_chart *c, int number, int count) {
  fputs("set title ", script);
  cli_gnuplot_text(script, c->title);
  fputs("\nset ylabel ", script);
  cli_gnuplot_text(script, c->unit);
  fputs("\nunset logscale\n", script);
  put_place(script, c, number, count);
  if (c->lines) {
    put_tics(script, c);
    fputs("set logscale xy\nset autoscale\nset autoscale xfix\nset offsets graph 0.05, graph 0.05, 0, 0\n"
          "set xlabel ",
          script);
    cli_gnuplot_text(script, c->across);
    fputs("\nplot ", script);
  } else {
    fprintf(script, "unset xlabel\nset tmargin %d\n", c->series > 2 ? 6 : 4); /* rows for the legend */
    fputs("set style data histogram\nset style histogram rowstacked\n"
          "set style fill solid 0.8 border -1\nset boxwidth 0.9\nset xtics rotate by -35\n"
          "set yrange [0:*]\nplot ",
          script);
  }
  bool drawn = false;
  for (int s = 0; s < c->series; s++) {
    const bool shown = !c->lines || has_positive(c, s);
    fputs(s > 0 ? ", " : "", script);
    if (!shown) /* only appears in the legend */
      fprintf(script, "NaN with linespoints linetype %d title ", s + 1);
    else if (c->lines)
      fprintf(script, "$chart%d using (real(strcol(1))):%d with linespoints linetype %d title ", number,
              s + 2, s + 1);
    else
      fprintf(script, "$chart%d using %d:xtic(1) title ", number, s + 2);
    cli_gnuplot_text(script, c->name[s]);
    drawn |= shown;
  }
  if (!drawn) /* gnuplot refuses an empty chart, so an invisible curve is drawn */
    fprintf(script, "%s1 with dots linecolor rgb \"white\" notitle", c->series > 0 ? ", " : "");
  fputc('\n', script);
}

static void put_script(FILE *script, const char *path, const char *title, const cli_chart *charts,
                       int count) {
  cli_gnuplot_begin(script, path, WIDTH * count + (charts[0].lines ? LEGEND : 0), HEIGHT);
  fputs("set grid ytics\n", script);
  for (int i = 0; i < count; i++)
    put_data(script, &charts[i], i);
  fprintf(script, "set multiplot layout 1,%d title ", count);
  cli_gnuplot_text(script, title);
  fputc('\n', script);
  for (int i = 0; i < count; i++)
    put_chart(script, &charts[i], i, count);
  fputs("unset multiplot\n", script);
}

bool cli_plot(const char *path, const char *title, const cli_chart *charts, int count) {
  FILE *script = cli_gnuplot_file(path);
  if (!script)
    return false;
  put_script(script, path, title, charts, count);
  return cli_gnuplot_run(path, script, NULL);
}

bool cli_plot_steps(const char *path, const cli_job *job, int64_t k, const cli_step *steps, int count,
                    const cli_chart *times) {
  const char *names[CLI_ALGORITHMS + 1];
  double ms[CLI_ALGORITHMS + 1], mib[2 * (CLI_ALGORITHMS + 1)];
  char title[256];
  for (int i = 0; i < count; i++) {
    names[i] = steps[i].algo;
    ms[i] = steps[i].ms;
    mib[i] = (double)steps[i].traffic.direct_bytes / MIB;
    mib[count + i] = (double)steps[i].traffic.message_bytes / MIB;
  }
  snprintf(title, sizeof title, "%s, k = %" PRId64 ", %d ranks", cli_base_name(job->name), k,
           job->ranks.ranks);
  const cli_chart charts[] = {{.title = times->title,
                               .unit = times->unit,
                               .points = count,
                               .point = names,
                               .series = 1,
                               .name = (const char *[]){"ms"},
                               .value = ms},
                              {.title = "bytes over links",
                               .unit = "MiB",
                               .points = count,
                               .point = names,
                               .series = 2,
                               .name = (const char *[]){"direct", "message"},
                               .value = mib}};
  return cli_plot(path, title, charts, 2);
}
