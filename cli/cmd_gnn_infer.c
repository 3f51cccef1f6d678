/* SPDX-License-Identifier: Apache-2.0 */
/* `sley gnn infer`: logits of all rows by a network that `sley gnn train --out` has written. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "gnn_options.h"
#include "gnn_start.h"
#include "gnn_state.h"
#include "input.h"
#include "json.h"
#include "output.h"
#include "processes.h"
#include "start.h"
#include "terminal.h"

typedef struct infer_settings {
  cli_gnn_settings base; /* first: tables that modes share write to it */
  const char *weights, *out;
  bool last;
} infer_settings;

#define AT(field) offsetof(infer_settings, field)
static const cli_option own_options[] = {
    {.name = "weights",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(weights),
     .required = true,
     .help = "the state that sley gnn train --out has written"},
    {.name = "last",
     .kind = CLI_FLAG,
     .offset = AT(last),
     .help = "weights of the last epoch, not of the best"},
    {.name = "labels",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(base.labels),
     .help = "as for sley gnn train: how many rows of each set are right is told"},
    {.name = "out",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(out),
     .help = "write the logits, a row for each row of GRAPH, as .npy"},
    {0}};
static const cli_option *const options[] = {cli_gnn_feature_options, own_options, cli_gnn_set_options,
                                            cli_gnn_run_options, NULL};
static const infer_settings defaults = {.base = {CLI_GNN_DEFAULTS}};

/* The network of the file, and how its training has read graph and features. */
static int read_state(const infer_settings *s, sley_gnn_options *model, cli_gnn_source *source) {
  cli_gnn_message message = {{0}};
  sley_status status = sley_gnn_options_read(s->weights, model);
  if (status == SLEY_OK)
    status = cli_gnn_state_reading(s->weights, &source->undirected, &source->normalize, &message);
  if (status == SLEY_OK && model->dtype != SLEY_F32)
    return cli_refuse(SLEY_ERR_ARG, "gnn infer: %s is of a network whose values are not f32", s->weights);
  if (status != SLEY_OK)
    return *message.text ? cli_refuse(status, "%s", message.text)
                         : cli_finish(cli_input_status(status, s->weights));
  return CLI_DONE;
}

static int check_data(const infer_settings *s, const cli_gnn_data *data, const sley_gnn_options *model) {
  if (data->features != model->features)
    return cli_refuse(SLEY_ERR_ARG,
                      "gnn infer: %s has %" PRId64 " features, the network of %s takes %" PRId64,
                      s->base.features, data->features, s->weights, model->features);
  if (data->classes > model->classes)
    return cli_refuse(SLEY_ERR_ARG, "gnn infer: %s has %" PRId64 " classes, the network of %s %" PRId64,
                      s->base.labels, data->classes, s->weights, model->classes);
  return CLI_DONE;
}

static json_t *report_json(const cli_gnn_inference *f, const char *graph) {
  const cli_gnn_result *r = f->result;
  cli_json all = cli_json_start();
  cli_json_text(&all, "graph", graph);
  cli_json_int(&all, "rows", f->data->rows);
  cli_json_int(&all, "classes", f->model.classes);
  cli_json_text(&all, "device", r->found);
  cli_json_text(&all, "transport", r->transport);
  cli_json_int(&all, "ranks", f->ranks.ranks);
  cli_json_real(&all, "ms", r->epoch[0].ms);
  if (f->data->label) {
    cli_json_real(&all, "train", r->epoch[0].right[CLI_GNN_TRAIN]);
    cli_json_real(&all, "valid", r->epoch[0].right[CLI_GNN_VALID]);
    cli_json_real(&all, "test", r->epoch[0].right[CLI_GNN_TEST]);
  }
  return cli_json_end(all);
}

static void print(const cli_gnn_inference *f, const char *graph, FILE *stream) {
  const cli_gnn_result *r = f->result;
  fprintf(stream, "graph      %s, %" PRId64 " rows; %" PRId64 " classes\n", cli_shown(graph), f->data->rows,
          f->model.classes);
  fprintf(stream, "device     %s, %d rank%s, transport %s; %.3f ms\n", r->found, f->ranks.ranks,
          f->ranks.ranks == 1 ? "" : "s", r->transport, r->epoch[0].ms);
  if (f->data->label)
    fprintf(stream, "right      in training %.4f, validation %.4f, test %.4f\n",
            r->epoch[0].right[CLI_GNN_TRAIN], r->epoch[0].right[CLI_GNN_VALID],
            r->epoch[0].right[CLI_GNN_TEST]);
  if (f->out)
    fprintf(stream, "logits     in %s\n", cli_shown(f->out));
}

static int infer(cli_gnn_inference *f, const infer_settings *s, const char *graph) {
  const size_t bytes = sizeof *f->result + sizeof *f->result->epoch;
  FILE *stream = s->base.json && strcmp(s->base.json, "-") == 0 ? stderr : stdout;
  int code = CLI_DONE;
  f->result = cli_share(bytes);
  if (!f->result)
    return cli_refuse(SLEY_ERR_MEMORY, "gnn infer: out of memory");
  const sley_status status = cli_gnn_infer(f);
  if (status != SLEY_OK)
    code = cli_start_failed(&f->ranks, status, f->result->message.text);
  else if (cli_start_reports(&f->ranks)) {
    print(f, graph, stream);
    if (s->base.json && !cli_output_json(s->base.json, report_json(f, graph)))
      code = CLI_FAILED;
  }
  cli_unshare(f->result, bytes);
  return code;
}

static int run(void *settings, char **positionals) {
  const infer_settings *s = settings;
  cli_gnn_inference f = {.weights = s->weights, .out = s->out, .last = s->last};
  cli_gnn_data data;
  static const char *const endings[] = {".npy", NULL};
  if (!cli_output_ending("gnn infer: the logits", s->out, endings))
    return CLI_USAGE;
  int code = cli_gnn_check("gnn infer", &s->base, positionals[0]);
  if (code != CLI_DONE)
    return code;
  if (!cli_output_possible(s->out))
    return CLI_FAILED;
  code = cli_start(s->base.ranks, 1, s->base.threads, s->base.device, s->base.transport, &f.ranks);
  if (code != CLI_DONE)
    return code;
  cli_gnn_source source = cli_gnn_source_of(&s->base, positionals[0], f.ranks.ranks);
  code = read_state(s, &f.model, &source);
  if (code != CLI_DONE)
    return code;
  code = cli_gnn_read(&source, &data);
  if (code == CLI_DONE)
    code = check_data(s, &data, &f.model);
  f.data = &data;
  if (code == CLI_DONE)
    code = infer(&f, s, positionals[0]);
  cli_gnn_data_free(&data);
  return code;
}

const cli_command cli_gnn_infer_command = {
    .name = "gnn infer",
    .summary = "logits of all rows by a network that was trained",
    .arguments = "GRAPH",
    .positionals = 1,
    .options = options,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes =
        "Whether GRAPH is made undirected, and features normalised, is as it was in training.\n"
        "Example: sley gnn infer graph.mtx --weights model.npz --features features.npy --out logits.npy\n"
        "Exit status: 0 done, 1 a failure, 2 wrong usage or input, 130 interrupted.\n",
    .run = run};
