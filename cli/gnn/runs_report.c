/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the report of several trainings: lines, a table, JSON. */
#include "gnn/runs_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "gnn/report.h"
#include "output/table.h"
#include "output/terminal.h"

static int64_t asked(const cli_gnn_training *t) {
  return t->data->splits * t->repeats;
}

void cli_gnn_runs_report_start(const cli_gnn_training *t, const char *split, FILE *stream) {
  const cli_gnn_data *d = t->data;
  fprintf(stream, "runs       %" PRId64 ": ", asked(t));
  if (split)
    fprintf(stream, "%" PRId64 " of the %" PRId64 " split%s in %s", d->splits, d->splits_found,
            d->splits_found == 1 ? "" : "s", cli_shown(split));
  else
    fprintf(stream, "%" PRId64 " split%s by seeds from %" PRId64 " on", d->splits, d->splits == 1 ? "" : "s",
            d->split->seed);
  fprintf(stream,
          ", %" PRId64 " training%s on each; weights and dropout by seeds %" PRIu64 " to %" PRIu64 "\n",
          t->repeats, t->repeats == 1 ? "" : "s", t->model.seed, t->model.seed + (uint64_t)asked(t) - 1);
}

void cli_gnn_runs_report_one(const cli_gnn_training *t, int64_t number, FILE *stream) {
  const cli_gnn_run *run = &t->run[number];
  const int64_t drawn = t->data->split[run->split].seed;
  fprintf(stream, "run        %" PRId64 " of %" PRId64 ": split %" PRId64, number + 1, asked(t),
          run->split + 1);
  if (drawn >= 0)
    fprintf(stream, " by seed %" PRId64, drawn);
  fprintf(stream,
          ", weights by seed %" PRIu64 ": best epoch %" PRId64 " of %" PRId64 ", right in validation ",
          run->seed, run->best + 1, run->epochs);
  cli_gnn_report_share(run->at_best.right[CLI_GNN_VALID], stream);
  fputs(", test ", stream);
  cli_gnn_report_share(run->at_best.right[CLI_GNN_TEST], stream);
  fprintf(stream, "; last loss %.4f; %.3f s\n", run->loss, run->seconds);
  fflush(stream);
}

static void print_table(const cli_gnn_summary *s, FILE *stream) {
  static const char *const headings[] = {"runs",     "test: mean",      "+-", "least",
                                         "greatest", "seconds per run", NULL};
  const double figures[] = {s->mean, s->deviation, s->least, s->greatest};
  cli_table *table = malloc(sizeof *table);
  if (!table)
    return;
  cli_table_start(table, headings);
  cli_table_row(table);
  cli_table_cell(table, 0, "%" PRId64, s->runs);
  for (int i = 0; i < (int)(sizeof figures / sizeof *figures); i++)
    if (isnan(figures[0]))
      cli_table_cell(table, i + 1, "no rows");
    else if (s->runs > 1 || i != 1)
      cli_table_cell(table, i + 1, "%.4f", figures[i]);
  cli_table_cell(table, 5, "%.3f", s->seconds);
  cli_table_print(table, stream);
  free(table);
}

void cli_gnn_runs_report_end(const cli_gnn_training *t, const char *memory, FILE *stream) {
  const cli_gnn_summary summary = cli_gnn_summarize(t->run, t->result->runs);
  cli_gnn_report_place(t, memory, stream);
  if (summary.runs < asked(t))
    fprintf(stream, "ended      %" PRId64 " of %" PRId64 " runs\n", summary.runs, asked(t));
  if (summary.runs > 0)
    print_table(&summary, stream);
}

static cli_json json_of(const cli_gnn_training *t, const cli_gnn_run *run) {
  const int64_t drawn = t->data->split[run->split].seed;
  cli_json one = cli_json_start();
  cli_json_int(&one, "split", run->split + 1);
  if (drawn >= 0)
    cli_json_int(&one, "split_seed", drawn);
  cli_json_int(&one, "seed", (int64_t)run->seed);
  cli_json_int(&one, "epochs", run->epochs);
  cli_json_int(&one, "best_epoch", run->best + 1);
  cli_json_real(&one, "train", run->at_best.right[CLI_GNN_TRAIN]);
  cli_json_real(&one, "valid", run->at_best.right[CLI_GNN_VALID]);
  cli_json_real(&one, "test", run->at_best.right[CLI_GNN_TEST]);
  cli_json_real(&one, "loss", run->loss);
  cli_json_real(&one, "seconds", run->seconds);
  return one;
}

static cli_json summary_json(const cli_gnn_summary *s) {
  cli_json all = cli_json_start();
  cli_json_int(&all, "runs", s->runs);
  cli_json_real(&all, "mean", s->mean);
  cli_json_real(&all, "deviation", s->deviation);
  cli_json_real(&all, "least", s->least);
  cli_json_real(&all, "greatest", s->greatest);
  cli_json_real(&all, "seconds", s->seconds);
  return all;
}

json_t *cli_gnn_runs_report_json(const cli_gnn_training *t, const char *graph, const char *model,
                                 const char *memory) {
  const int64_t runs = t->result->runs;
  const cli_gnn_summary summary = cli_gnn_summarize(t->run, runs);
  cli_json *list = malloc((size_t)runs * sizeof *list + 1);
  if (!list)
    return NULL;
  for (int64_t i = 0; i < runs; i++)
    list[i] = json_of(t, &t->run[i]);
  cli_json all = cli_gnn_report_json_start(t, graph, model, memory);
  cli_json_int(&all, "splits", t->data->splits);
  cli_json_int(&all, "trainings_per_split", t->repeats);
  cli_json_list(&all, "runs", list, (int)runs);
  cli_json_object(&all, "summary", summary_json(&summary));
  free(list);
  return cli_json_end(all);
}
