/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the report of `sley gnn train`. */
#include "gnn/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "gnn/memory.h"
#include "output/changes.h"
#include "output/terminal.h"
#include "output/times.h"

/* Median ms of an epoch of this run, or of the time to draw its neighbourhoods; NaN if there is no epoch, or
 * memory is short. */
static double median_ms(const cli_gnn_result *r, bool drawn) {
  double *ms = malloc((size_t)r->done * sizeof *ms + 1);
  int64_t count = 0;
  if (!ms)
    return NAN;
  for (int64_t i = 0; i < r->done; i++)
    if (!isnan(r->epoch[i].ms))
      ms[count++] = drawn ? r->epoch[i].drawn_ms : r->epoch[i].ms;
  const double median = count > 0 ? cli_times_of(ms, count).median : NAN;
  free(ms);
  return median;
}

static void print_rows(const cli_gnn_data *d, FILE *stream) {
  const int64_t *count = d->split.count;
  fprintf(stream,
          "rows       %" PRId64 " to train on, %" PRId64 " for validation, %" PRId64 " for the test\n",
          count[CLI_GNN_TRAIN], count[CLI_GNN_VALID], count[CLI_GNN_TEST]);
}

void cli_gnn_report_data(const cli_gnn_data *d, FILE *stream) {
  if (d->other_values > 0 && !d->weights)
    fprintf(stream,
            "weights    values of the graph are ignored, and %" PRId64 " are not 1: --weights uses them\n",
            d->other_values);
  if (d->one_way > 0)
    fprintf(stream,
            "directed   %" PRId64 " of %" PRId64
            " entries looked at have no opposite: with --undirected an entry "
            "counts both ways\n",
            d->one_way, d->looked_at);
  if (d->sparse) {
    sley_matrix_info info = {0};
    sley_matrix_info_get(d->sparse, &info);
    fprintf(stream, "features   sparse: %" PRId64 " values, %.3g %% of all\n", info.nnz,
            100 * (double)info.nnz / ((double)d->rows * (double)d->features));
  }
  if (d->made_dense)
    fprintf(stream, "features   a sparse file, made dense: %s\n",
            d->made_dense == CLI_GNN_FULL ? "more than 1 of 8 values is there"
                                          : "the model takes dense ones alone");
  if (*d->told)
    fprintf(stream, "labels     %s\n", d->told);
}

void cli_gnn_report_share(double share, FILE *stream) {
  if (isnan(share))
    fprintf(stream, "no rows");
  else
    fprintf(stream, "%.4f", share);
}

void cli_gnn_report_shares(const cli_gnn_epoch *e, FILE *stream) {
  static const char *const words[] = {"in training ", ", validation ", ", test "};
  for (int set = CLI_GNN_TRAIN; set < CLI_GNN_SETS; set++) {
    fputs(words[set - CLI_GNN_TRAIN], stream);
    cli_gnn_report_share(e->right[set], stream);
  }
  fputs("\n", stream);
}

void cli_gnn_report_start(const cli_gnn_training *t, const char *graph, const char *model, FILE *stream) {
  const cli_gnn_data *d = t->data;
  fprintf(stream,
          "graph      %s, %" PRId64 " rows, %" PRId64 " entries; %" PRId64 " features, %" PRId64 " classes\n",
          cli_shown(graph), d->rows, d->entries, d->features, d->classes);
  cli_sources_print(stream);
  cli_gnn_report_data(d, stream);
  print_rows(d, stream);
  fprintf(stream,
          "model      %s, %d layers, hidden %" PRId64 ", dropout %g, rate %g, decay %g, seed %" PRIu64 "\n",
          model, t->model.layers, t->model.hidden, t->model.dropout, t->rate, t->decay, t->model.seed);
  if (t->sampling.words)
    fprintf(stream, "sampling   %s entries of a row by hops, batches of %" PRId64 " rows\n",
            cli_shown(t->sampling.words), t->sampling.batch);
}

static int64_t steps_of(const cli_gnn_training *t) {
  return cli_gnn_sampling_steps(&t->sampling, t->data->split.count[CLI_GNN_TRAIN]);
}

static void print_times(const cli_gnn_training *t, FILE *stream) {
  const int64_t steps = steps_of(t);
  fprintf(stream, ", median %.3f ms an epoch of %" PRId64 " step%s", median_ms(t->result, false), steps,
          steps == 1 ? "" : "s");
  if (t->sampling.words)
    fprintf(stream, ", %.3f of them to draw", median_ms(t->result, true));
}

static void print_place(const cli_gnn_training *t, const char *memory, FILE *stream) {
  cli_transport_settled("gnn", t->ranks.transport, t->result->transport);
  fprintf(stream, "device     %s, %d rank%s, transport %s\n", t->result->found, t->ranks.ranks,
          t->ranks.ranks == 1 ? "" : "s", t->result->transport);
  cli_gnn_chosen_print(&t->layouts, &t->result->order, stream);
  fprintf(stream, "start      graph ready after %.3f s, network planned in %.3f s\n",
          1e-3 * t->data->graph_ms, 1e-3 * t->result->plan_ms);
  cli_gnn_memory_print(t->bytes, t->ranks.ranks, memory, stream);
}

/* Words indexed by cli_gnn_end. */
static const char *const end_words[] = {"epochs", "patience", "interrupted", "diverged"};

void cli_gnn_report_end(const cli_gnn_training *t, const char *memory, FILE *stream) {
  const cli_gnn_result *r = t->result;
  print_place(t, memory, stream);
  if (t->before > 0)
    fprintf(stream, "resumed    after epoch %" PRId64 " of %s\n", t->before, cli_shown(t->out));
  fprintf(stream, "epochs     %" PRId64, r->done);
  if (r->done > t->before)
    print_times(t, stream);
  fprintf(stream, "; loss %.4f, then %.4f\n", r->epoch[0].loss, r->epoch[r->done - 1].loss);
  if (r->end >= CLI_GNN_INTERRUPTED)
    fprintf(stream, "ended      %s\n", end_words[r->end]);
  fprintf(stream, "best       epoch %" PRId64 "%s: right ", r->best + 1,
          t->data->split.count[CLI_GNN_VALID] > 0 ? "" : ", the last, as no row is for validation");
  cli_gnn_report_shares(&r->epoch[r->best], stream);
  if (t->out && r->end != CLI_GNN_DIVERGED)
    fprintf(stream, "state      in %s\n", cli_shown(t->out));
}

static cli_json json_of(const cli_gnn_epoch *e, bool drawn) {
  cli_json one = cli_json_start();
  cli_json_real(&one, "loss", e->loss);
  cli_json_real(&one, "train", e->right[CLI_GNN_TRAIN]);
  cli_json_real(&one, "valid", e->right[CLI_GNN_VALID]);
  cli_json_real(&one, "test", e->right[CLI_GNN_TEST]);
  if (!isnan(e->ms))
    cli_json_real(&one, "ms", e->ms);
  if (!isnan(e->ms) && drawn)
    cli_json_real(&one, "drawn_ms", e->drawn_ms);
  return one;
}

/* Creates the JSON with the data, the settings, and the device. */
static cli_json start_json(const cli_gnn_training *t, const char *graph, const char *model,
                           const char *memory) {
  const cli_gnn_result *r = t->result;
  cli_json all = cli_json_start();
  cli_json_text(&all, "graph", graph);
  cli_json_int(&all, "rows", t->data->rows);
  cli_json_int(&all, "features", t->data->features);
  cli_json_int(&all, "classes", t->data->classes);
  cli_json_text(&all, "model", model);
  cli_json_int(&all, "layers", t->model.layers);
  cli_json_int(&all, "hidden", t->model.hidden);
  cli_json_int(&all, "seed", (int64_t)t->model.seed);
  cli_json_real(&all, "rate", t->rate);
  cli_json_real(&all, "decay", t->decay);
  cli_json_real(&all, "dropout", t->model.dropout);
  cli_json_int(&all, "split_seed", t->data->split.seed);
  cli_json_bool(&all, "weights", t->data->weights);
  cli_json_bool(&all, "sparse_features", t->data->sparse != NULL);
  cli_json_text(&all, "sample", t->sampling.words);
  if (t->sampling.words)
    cli_json_int(&all, "batch", t->sampling.batch);
  cli_json_int(&all, "steps_per_epoch", steps_of(t));
  cli_json_text(&all, "aggregate", t->model.algo);
  cli_json_text(&all, "kernel", t->model.kernel);
  cli_json_text(&all, "precision", t->model.precision);
  cli_json_text(&all, "wire", t->model.wire);
  cli_json_text(&all, "memory", memory);
  cli_json_text(&all, "device", r->found);
  cli_json_text(&all, "transport", r->transport);
  cli_gnn_chosen_json(&t->layouts, &r->order, &all);
  cli_json_real(&all, "graph_ms", t->data->graph_ms);
  cli_json_real(&all, "plan_ms", r->plan_ms);
  cli_json_int(&all, "ranks", t->ranks.ranks);
  cli_gnn_memory_json(&all, t->bytes, t->ranks.ranks);
  return all;
}

json_t *cli_gnn_report_json(const cli_gnn_training *t, const char *graph, const char *model,
                            const char *memory) {
  const cli_gnn_result *r = t->result;
  cli_json *epochs = malloc((size_t)r->done * sizeof *epochs + 1);
  if (!epochs)
    return NULL;
  for (int64_t i = 0; i < r->done; i++)
    epochs[i] = json_of(&r->epoch[i], t->sampling.words != NULL);
  cli_json all = start_json(t, graph, model, memory);
  cli_json_int(&all, "resumed_after", t->before);
  if (r->done > t->before)
    cli_json_real(&all, "median_ms", median_ms(r, false));
  if (r->done > t->before && t->sampling.words)
    cli_json_real(&all, "median_drawn_ms", median_ms(r, true));
  cli_json_text(&all, "ended", end_words[r->end]);
  cli_json_int(&all, "best_epoch", r->best + 1);
  cli_json_list(&all, "epochs", epochs, (int)r->done);
  free(epochs);
  return cli_json_end(all);
}
