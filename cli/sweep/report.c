/* SPDX-License-Identifier: Apache-2.0 */
/* The table, the JSON and the picture of a sweep, from the JSON of its runs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/json.h"
#include "output/output.h"
#include "output/plot.h"
#include "output/table.h"
#include "output/terminal.h"
#include "sweep/sweep.h"

#define MIB (1024.0 * 1024.0)

/* Returns the member that a path such as time_ms.median names; NULL: there is none. */
static const json_t *member(const json_t *object, const char *path) {
  char key[64];
  while (object && *path) {
    const size_t length = strcspn(path, ".");
    snprintf(key, sizeof key, "%.*s", (int)length, path);
    object = json_object_get(object, key);
    path += length + (path[length] == '.');
  }
  return object;
}

/* Returns a number, or -1 if there is none. */
static double number(const json_t *object, const char *path) {
  const json_t *found = member(object, path);
  return json_is_number(found) ? json_number_value(found) : -1;
}

static double first_number(const json_t *object, const char *const *paths) {
  for (; *paths; paths++)
    if (number(object, *paths) >= 0)
      return number(object, *paths);
  return -1;
}

/* An algorithm in a run. */
typedef struct result {
  const json_t *run, *algo; /* algo: the run itself, if it has one algorithm only */
} result;

static size_t results_of(const json_t *run) {
  const json_t *list = json_object_get(run, "algorithms");
  return list ? json_array_size(list) : 1;
}

static result result_at(const json_t *run, size_t i) {
  const json_t *list = json_object_get(run, "algorithms");
  return (result){run, list ? json_array_get(list, i) : run};
}

static const char *name_of(const result *r) {
  const char *name = json_string_value(json_object_get(r->algo, "algo"));
  return name ? name : "-";
}

/* ---- figures */

static double of_run(const result *r, const char *key) {
  return number(r->run, key);
}

static double measured_ms(const result *r) {
  return first_number(r->algo, (const char *const[]){"time_ms.median", "measured_ms", NULL});
}

static double predicted_ms(const result *r) {
  return number(r->algo, "predicted_ms");
}

/* Bytes between ranks: counted, else predicted. */
static double moved_mib(const result *r) {
  static const char *const direct[] = {"volume_bytes.direct", "predicted_bytes.direct", NULL};
  static const char *const message[] = {"volume_bytes.message", "predicted_bytes.message", NULL};
  const double network = number(r->algo, "network_bytes"), a = first_number(r->algo, direct);
  if (network >= 0)
    return (network + number(r->algo, "inside_bytes")) / MIB;
  return a < 0 ? -1 : (a + first_number(r->algo, message)) / MIB;
}

static double gflops(const result *r) {
  return first_number(r->algo, (const char *const[]){"gflops", "attainable_gflops", NULL});
}

static double work(const result *r) {
  return number(r->algo, "flops_imbalance");
}

static double by_stages(const result *r) {
  return number(r->algo, "stage_imbalance");
}

/* The columns of figures; one without a figure in any run is left out. */
static const struct {
  const char *heading, *format;
  double (*value)(const result *r);
} columns[] = {{"median ms", "%.3f", measured_ms},
               {"predicted ms", "%.3f", predicted_ms},
               {"MiB", "%.3f", moved_mib},
               {"GFLOP/s", "%.2f", gflops},
               {"work", "%.2f", work},
               {"by stages", "%.2f", by_stages}};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* ---- text */

/* Returns whether any run has a member k. */
static bool has_k(const json_t *runs) {
  return json_object_get(json_array_get(runs, 0), "k") != NULL;
}

/* Returns the word on the check of a result; NULL: nothing was checked. */
static const char *check_of(const result *r) {
  const json_t *ok = member(r->algo, "verify.ok");
  return json_object_get(r->algo, "impossible") ? "not possible"
         : !ok                                  ? NULL
         : json_is_true(ok)                     ? "ok"
                                                : "WRONG";
}

/* Returns whether any result has a figure in a column; COLUMNS: a check. */
static bool has_column(const json_t *runs, int column) {
  for (size_t i = 0; i < json_array_size(runs); i++) {
    const json_t *run = json_array_get(runs, i);
    for (size_t n = 0; n < results_of(run); n++) {
      const result r = result_at(run, n);
      if (column < COLUMNS ? columns[column].value(&r) >= 0 : check_of(&r) != NULL)
        return true;
    }
  }
  return false;
}

static void print_row(cli_table *table, const result *r, bool k, const bool *shown) {
  int at = 0;
  cli_table_cell(table, at++, "%s", name_of(r));
  cli_table_cell(table, at++, "%.0f", of_run(r, "ranks"));
  if (k)
    cli_table_cell(table, at++, "%.0f", of_run(r, "k"));
  for (int c = 0; c < COLUMNS; c++) {
    const double value = columns[c].value(r);
    if (!shown[c])
      continue;
    if (value >= 0)
      cli_table_cell(table, at++, columns[c].format, value);
    else
      cli_table_cell(table, at++, "-");
  }
  if (shown[COLUMNS])
    cli_table_cell(table, at, "%s", check_of(r) ? check_of(r) : "-");
}

void cli_sweep_print(const json_t *runs, FILE *stream) {
  const char *headings[COLUMNS + 5] = {"<algo", "ranks"};
  bool shown[COLUMNS + 1];
  const bool k = has_k(runs);
  int count = 2;
  if (k)
    headings[count++] = "k";
  for (int c = 0; c < COLUMNS; c++)
    if ((shown[c] = has_column(runs, c)))
      headings[count++] = columns[c].heading;
  if ((shown[COLUMNS] = has_column(runs, COLUMNS)))
    headings[count] = "check";
  cli_table table;
  cli_table_start(&table, headings);
  for (size_t i = 0; i < json_array_size(runs); i++) {
    const json_t *run = json_array_get(runs, i);
    for (size_t n = 0; n < results_of(run) && cli_table_row(&table); n++) {
      const result r = result_at(run, n);
      print_row(&table, &r, k, shown);
    }
  }
  cli_table_print(&table, stream);
}

/* ---- JSON */

bool cli_sweep_json(const char *path, const cli_command *command, json_t *runs) {
  cli_json json = cli_json_start();
  int count;
  const cli_axis *axes = cli_axes(&count);
  cli_json_text(&json, "sley", sley_version());
  cli_json_text(&json, "command", command->name);
  for (int a = 0; a < count; a++) {
    json_t *list = json_array();
    for (int i = 0; i < axes[a].count; i++)
      json.whole &= json_array_append_new(list, json_integer(axes[a].value[i])) == 0;
    json.whole &= json_object_set_new(json.object, axes[a].option->name, list) == 0;
  }
  json.whole &= json_object_set_new(json.object, "runs", runs) == 0;
  return cli_output_json(path, cli_json_end(json));
}

/* ---- picture */

enum { NAME = 96, NUMBER = 24 };

/* Times and bytes of all algorithms, over the numbers of one list. */
typedef struct picture {
  const cli_axis *across, *other; /* other: a second list, whose numbers have lines of their own; or NULL */
  int series;
  char (*name)[NAME];
  const char **names;
  double *ms, *mib; /* series x points */
} picture;

static int place_of(const cli_axis *axis, const result *r) {
  for (int i = 0; i < axis->count; i++)
    if ((double)axis->value[i] == of_run(r, axis->option->name))
      return i;
  return -1;
}

/* Returns the number of the line of a result, which is added if it is new. */
static int series_of(picture *p, const result *r) {
  char name[NAME];
  if (p->other)
    snprintf(name, sizeof name, "%.48s, %s %.0f", name_of(r), p->other->option->name,
             of_run(r, p->other->option->name));
  else
    snprintf(name, sizeof name, "%.48s", name_of(r));
  for (int s = 0; s < p->series; s++)
    if (strcmp(p->name[s], name) == 0)
      return s;
  snprintf(p->name[p->series], NAME, "%s", name);
  p->names[p->series] = p->name[p->series];
  return p->series++;
}

static void fill(picture *p, const json_t *runs) {
  for (size_t i = 0; i < json_array_size(runs); i++) {
    const json_t *run = json_array_get(runs, i);
    for (size_t n = 0; n < results_of(run); n++) {
      const result r = result_at(run, n);
      const double ms = measured_ms(&r) >= 0 ? measured_ms(&r) : predicted_ms(&r);
      const int at = series_of(p, &r) * p->across->count + place_of(p->across, &r);
      if (place_of(p->across, &r) < 0)
        continue;
      p->ms[at] = ms > 0 ? ms : 0;
      p->mib[at] = moved_mib(&r) > 0 ? moved_mib(&r) : 0;
    }
  }
}

static bool draw(const char *path, const picture *p, const json_t *runs) {
  const json_t *run = json_array_get(runs, 0);
  const result first = result_at(run, 0);
  const char *matrix = json_string_value(json_object_get(run, json_object_get(run, "a") ? "a" : "matrix"));
  char title[256], text[CLI_AXIS_MOST][NUMBER];
  const char *points[CLI_AXIS_MOST];
  for (int i = 0; i < p->across->count; i++) {
    snprintf(text[i], NUMBER, "%" PRId64, p->across->value[i]);
    points[i] = text[i];
  }
  const char *slash = matrix ? strrchr(matrix, '/') : NULL;
  snprintf(title, sizeof title, "%.200s", slash ? slash + 1 : matrix ? matrix : "");
  cli_chart time = {.title = measured_ms(&first) >= 0 ? "time of a product" : "predicted time of a product",
                    .unit = "ms",
                    .lines = true,
                    .across = p->across->option->name,
                    .points = p->across->count,
                    .point = points,
                    .series = p->series,
                    .name = p->names,
                    .value = p->ms};
  cli_chart charts[] = {time, time};
  charts[1].title = "bytes between ranks";
  charts[1].unit = "MiB";
  charts[1].value = p->mib;
  return cli_plot(path, cli_shown(title), charts, 2);
}

bool cli_sweep_plot(const char *path, const cli_command *command, const json_t *runs) {
  int count;
  size_t lines = 0;
  const cli_axis *axes = cli_axes(&count);
  picture p = {.across = &axes[0], .other = count > 1 ? &axes[1] : NULL};
  for (size_t i = 0; i < json_array_size(runs); i++)
    lines += results_of(json_array_get(runs, i));
  p.name = calloc(lines, sizeof *p.name);
  p.names = calloc(lines, sizeof *p.names);
  p.ms = calloc(lines * (size_t)p.across->count, sizeof *p.ms);
  p.mib = calloc(lines * (size_t)p.across->count, sizeof *p.mib);
  bool drawn = p.name && p.names && p.ms && p.mib;
  if (drawn)
    fill(&p, runs);
  else
    cli_refuse(SLEY_ERR_MEMORY, "%s: out of memory for the picture", command->name);
  drawn = drawn && draw(path, &p, runs);
  free(p.name);
  free(p.names);
  free(p.ms);
  free(p.mib);
  return drawn;
}
