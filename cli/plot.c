/* SPDX-License-Identifier: Apache-2.0 */
/* Charts as scripts for gnuplot, the data in them. */
#include "plot.h"

#include <inttypes.h>
#include <stdio.h>

#include "command.h"
#include "gnuplot.h"
#include "output.h"
#include "terminal.h"

#define MIB (1024.0 * 1024.0)
enum { WIDTH = 560, HEIGHT = 420 };

bool cli_plot_possible(const char *command, const char *path, int *code) {
  *code = CLI_USAGE;
  if (!path)
    return true;
  if (!cli_ends_with(path, ".svg") && !cli_ends_with(path, ".png")) {
    cli_error("%s: --plot %s: the name must end in .svg or .png", command, path);
    return false;
  }
  if (!cli_gnuplot_found()) {
    cli_error("%s: --plot needs the program gnuplot, which is not installed (Debian: gnuplot-nox)", command);
    return false;
  }
  *code = CLI_FAILED;
  return cli_output_possible(path);
}

/* A block of data: a line for each point, its name and a column for each series. */
static void put_data(FILE *script, const cli_chart *c, int number) {
  fprintf(script, "$chart%d << EOD\n", number);
  for (int p = 0; p < c->points; p++) {
    cli_gnuplot_text(script, c->point[p]);
    for (int s = 0; s < c->series; s++)
      if (c->value[s * c->points + p] > 0 || !c->lines)
        fprintf(script, " %.9g", c->value[s * c->points + p]);
      else
        fputs(" NaN", script); /* it has no logarithm */
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

static void put_chart(FILE *script, const cli_chart *c, int number) {
  fputs("set title ", script);
  cli_gnuplot_text(script, c->title);
  fputs("\nset ylabel ", script);
  cli_gnuplot_text(script, c->unit);
  fputs("\nunset logscale\nset key ", script);
  fputs(c->lines        ? "outside right center\nset logscale xy\nset xtics norotate autofreq\n"
        : c->series > 1 ? "top right\n"
                        : "off\n",
        script);
  if (c->lines) {
    fputs("set autoscale\nset xlabel ", script);
    cli_gnuplot_text(script, c->across);
    fputs("\nplot ", script);
  } else {
    fputs("unset xlabel\nset style data histogram\nset style fill solid 0.8 border -1\nset boxwidth 0.9\n"
          "set xtics rotate by -35\nset yrange [0:*]\nplot ",
          script);
  }
  int drawn = 0;
  for (int s = 0; s < c->series; s++) {
    if (c->lines && !has_positive(c, s))
      continue;
    fprintf(script, "%s$chart%d using ", drawn++ > 0 ? ", " : "", number);
    fprintf(script, c->lines ? "(real(strcol(1))):%d with linespoints title " : "%d:xtic(1) title ", s + 2);
    cli_gnuplot_text(script, c->name[s]);
  }
  if (drawn == 0)
    fputs("[1:2] 1 notitle", script); /* an empty chart */
  fputc('\n', script);
}

static void put_script(FILE *script, const char *path, const char *title, const cli_chart *charts,
                       int count) {
  cli_gnuplot_begin(script, path, WIDTH * count, HEIGHT);
  fputs("set grid ytics\n", script);
  for (int i = 0; i < count; i++)
    put_data(script, &charts[i], i);
  fprintf(script, "set multiplot layout 1,%d title ", count);
  cli_gnuplot_text(script, title);
  fputc('\n', script);
  for (int i = 0; i < count; i++)
    put_chart(script, &charts[i], i);
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
  snprintf(title, sizeof title, "%s, k = %" PRId64 ", %d ranks", job->name, k, job->ranks.ranks);
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
