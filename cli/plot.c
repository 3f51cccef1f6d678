/* SPDX-License-Identifier: Apache-2.0 */
/* gnuplot reads a script with the data in it, and writes the picture to the output file that it inherits. */
#include "plot.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "output.h"
#include "terminal.h"

#define MIB (1024.0 * 1024.0)
enum { WIDTH = 560, HEIGHT = 420 };

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length > tail && strcmp(text + length - tail, end) == 0;
}

/* Whether a program lies in a folder of PATH. */
static bool is_on_path(const char *program) {
  const char *at = getenv("PATH");
  char path[4096];
  for (; at && *at; at += strcspn(at, ":"), at += *at == ':') {
    int length = (int)strcspn(at, ":");
    if (length > 0 && snprintf(path, sizeof path, "%.*s/%s", length, at, program) < (int)sizeof path &&
        access(path, X_OK) == 0)
      return true;
  }
  return false;
}

bool cli_plot_possible(const char *command, const char *path, int *code) {
  *code = CLI_USAGE;
  if (!path)
    return true;
  if (!ends_with(path, ".svg") && !ends_with(path, ".png")) {
    cli_error("%s: --plot %s: the name must end in .svg or .png", command, path);
    return false;
  }
  if (!is_on_path("gnuplot")) {
    cli_error("%s: --plot needs the program gnuplot, which is not installed (Debian: gnuplot-nox)", command);
    return false;
  }
  *code = CLI_FAILED;
  return cli_output_possible(path);
}

/* In double quotes, in which gnuplot would run what stands between backquotes. */
static void put_text(FILE *script, const char *text) {
  fputc('"', script);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\')
      fputc('\\', script);
    fputc((unsigned char)*text < ' ' ? ' ' : *text == '`' ? '\'' : *text, script);
  }
  fputc('"', script);
}

/* A block of data: a line for each point, its name and a column for each series. */
static void put_data(FILE *script, const cli_chart *c, int number) {
  fprintf(script, "$chart%d << EOD\n", number);
  for (int p = 0; p < c->points; p++) {
    put_text(script, c->point[p]);
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
  put_text(script, c->title);
  fputs("\nset ylabel ", script);
  put_text(script, c->unit);
  fputs("\nunset logscale\nset key ", script);
  fputs(c->lines        ? "outside right center\nset logscale xy\nset xtics norotate autofreq\n"
        : c->series > 1 ? "top right\n"
                        : "off\n",
        script);
  if (c->lines) {
    fputs("set autoscale\nset xlabel ", script);
    put_text(script, c->across);
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
    put_text(script, c->name[s]);
  }
  if (drawn == 0)
    fputs("[1:2] 1 notitle", script); /* an empty chart */
  fputc('\n', script);
}

static void put_script(FILE *script, const char *path, const char *title, const cli_chart *charts,
                       int count) {
  fprintf(script, "set terminal %s noenhanced size %d,%d\n", ends_with(path, ".png") ? "png" : "svg",
          WIDTH * count, HEIGHT);
  fputs("set encoding utf8\nset grid ytics\n", script);
  for (int i = 0; i < count; i++)
    put_data(script, &charts[i], i);
  fprintf(script, "set multiplot layout 1,%d title ", count);
  put_text(script, title);
  fputc('\n', script);
  for (int i = 0; i < count; i++)
    put_chart(script, &charts[i], i);
  fputs("unset multiplot\n", script);
}

/* gnuplot with the script as its input and the picture as its output; its complaints go nowhere. */
static pid_t start(FILE *script, FILE *picture) {
  pid_t child = fork();
  if (child != 0)
    return child;
  FILE *nowhere = fopen("/dev/null", "w");
  if (dup2(fileno(script), STDIN_FILENO) < 0 || dup2(fileno(picture), STDOUT_FILENO) < 0 || !nowhere ||
      dup2(fileno(nowhere), STDERR_FILENO) < 0)
    _exit(126);
  execlp("gnuplot", "gnuplot", "-d", "-", (char *)NULL);
  _exit(127);
}

/* Whether gnuplot has drawn it. */
static bool draw(FILE *script, FILE *picture) {
  rewind(script);
  fflush(picture);
  pid_t child = start(script, picture);
  int ended = 0;
  while (child > 0 && waitpid(child, &ended, 0) < 0)
    if (errno != EINTR)
      return false;
  return child > 0 && WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
}

bool cli_plot(const char *path, const char *title, const cli_chart *charts, int count) {
  cli_output output;
  FILE *script = tmpfile();
  if (!script) {
    cli_error("%s: cannot make a temporary file for gnuplot: %s", path, strerror(errno));
    return false;
  }
  put_script(script, path, title, charts, count);
  bool written = fflush(script) == 0 && cli_output_open(&output, path);
  if (written && !draw(script, output.stream)) {
    cli_error("%s: gnuplot could not draw it", path);
    cli_output_discard(&output);
    written = false;
  } else if (written) {
    written = cli_output_commit(&output);
  }
  fclose(script);
  return written;
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
