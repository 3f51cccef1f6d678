/* SPDX-License-Identifier: Apache-2.0 */
/* `sley gnn infer`: computes the logits of all rows with a network that `sley gnn train --out` has written.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "gnn/options.h"
#include "gnn/print.h"
#include "gnn/report.h"
#include "gnn/split.h"
#include "gnn/start.h"
#include "gnn/state.h"
#include "matrix/job.h"
#include "options_json.h"
#include "output/json.h"
#include "output/output.h"
#include "output/terminal.h"
#include "output/text.h"
#include "ranks/processes.h"
#include "ranks/start.h"

typedef struct infer_settings {
  cli_gnn_settings base; /* must be first: shared tables of options write to it */
  const char *weights, *out;
  bool last;
} infer_settings;

enum { TEXT_ROOM = 512 };

/* The state that was read, and how the data differ from it. */
typedef struct findings {
  cli_gnn_state state;
  bool other_graph;           /* the graph is not the one on which the network was trained, so the sets of its
                                 rows are not known */
  char forced[2 * TEXT_ROOM]; /* differences from the state; "" if there are none */
} findings;

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
     .help = "use the weights of the last epoch, not of the best"},
    {.name = "labels",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(base.labels),
     .help = "as for sley gnn train; the report then has the share of correct rows in each set of the state's split"},
    {.name = "force",
     .kind = CLI_FLAG,
     .offset = AT(base.force),
     .help = "continue even if graph, features, labels or split differ from the state, and print the differences"},
    {.name = "out",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(out),
     .help = "write the logits, a row for each row of GRAPH, as .npy"},
    {0}};
static const cli_option *const options[] = {cli_gnn_feature_options, own_options, cli_gnn_set_options,
                                            cli_gnn_seed_options, NULL};
/* Settings that are not given are taken from the state. */
static const infer_settings defaults = {
    .base = {.common = {.ranks = 1, .device = "auto", .seed = -1, .reading.base = -1},
             .train = 0,
             .valid = -1,
             .split_seed = -1}};

static bool gives_split(const infer_settings *s) {
  return s->base.split || s->base.train > 0 || s->base.valid >= 0 || s->base.split_seed >= 0;
}

static int64_t given_or(int64_t given, double known, int64_t standard) {
  return given >= 0 ? given : known >= 0 ? (int64_t)known : standard;
}

/* Reads the state, and sets how its training read and divided the data. Returns the exit code. */
static int read_state(const infer_settings *s, cli_gnn_state *state, cli_gnn_source *source) {
  cli_gnn_message message = {{0}};
  const double *setting = state->facts.setting;
  const sley_status status = cli_gnn_state_read(s->weights, state, &message);
  if (status == SLEY_OK && state->model.dtype != SLEY_F32)
    return cli_refuse(SLEY_ERR_ARG, "gnn infer: %s is of a network whose values are not f32", s->weights);
  if (status != SLEY_OK)
    return *message.text ? cli_refuse(status, "%s", message.text)
                         : cli_finish(cli_input_status(status, s->weights));
  source->undirected = setting[CLI_GNN_UNDIRECTED] != 0;
  source->normalize = setting[CLI_GNN_NORMALIZE] != 0;
  source->weights = setting[CLI_GNN_WEIGHTS] != 0;
  source->dense = !cli_gnn_model_info(state->model.model).sparse_x;
  source->prints = true;
  source->seed = s->base.common.seed >= 0 ? s->base.common.seed : (int64_t)(state->model.seed & INT32_MAX);
  source->train = given_or(s->base.train > 0 ? s->base.train : -1, setting[CLI_GNN_DRAWN], 20);
  source->valid = given_or(s->base.valid, setting[CLI_GNN_DRAWN_VALID], 30);
  source->split_seed = given_or(s->base.split_seed, setting[CLI_GNN_DRAWN_SEED], source->seed);
  if (!gives_split(s)) {
    source->known = &state->split;
    source->known_rows = state->rows;
  }
  state->model.weights = source->weights;
  return CLI_DONE;
}

static int check_shape(const infer_settings *s, const cli_gnn_data *data, const sley_gnn_options *model) {
  if (data->features != model->features)
    return cli_refuse(SLEY_ERR_ARG,
                      "gnn infer: %s has %" PRId64 " features, the network of %s takes %" PRId64,
                      s->base.features, data->features, s->weights, model->features);
  if (data->classes > model->classes)
    return cli_refuse(SLEY_ERR_ARG, "gnn infer: %s has %" PRId64 " classes, the network of %s %" PRId64,
                      s->base.labels, data->classes, s->weights, model->classes);
  return CLI_DONE;
}

/* Refuses data that differ from the state's, unless --force is given. Rows that were trained on are never in
 * the test. Returns the exit code. */
static int check_data(const infer_settings *s, cli_gnn_data *data, findings *found) {
  const cli_gnn_state *state = &found->state;
  cli_gnn_facts now = {.graph = data->graph_print, .features = data->feature_print};
  int code = check_shape(s, data, &state->model);
  if (code != CLI_DONE)
    return code;
  if (data->label)
    data->classes = state->model.classes; /* the labels may lack the last classes */
  sley_status status = data->label ? cli_gnn_print_labels(data, &now.labels) : SLEY_OK;
  if (status == SLEY_OK && data->label)
    status = cli_gnn_print_split(data, &data->split, &now.split);
  if (status != SLEY_OK)
    return cli_finish(status);
  cli_gnn_data_differ(&state->facts, &now, data->label != NULL, data->label && gives_split(s), found->forced,
                      TEXT_ROOM);
  if (*found->forced && !s->base.force)
    return cli_refuse(SLEY_ERR_ARG, "gnn infer: %s was not trained on these data: %s: give those, or --force",
                      s->weights, found->forced);
  found->other_graph = !cli_gnn_print_same(&state->facts.graph, &now.graph);
  if (!data->label)
    return CLI_DONE;
  if (found->other_graph || state->rows != data->rows)
    memset(data->split.set, CLI_GNN_NONE, (size_t)data->rows);
  else if (gives_split(s)) {
    const int64_t moved = cli_gnn_split_spend(&data->split, &state->split, data->rows);
    const size_t used = strlen(found->forced);
    if (moved > 0)
      snprintf(found->forced + used, sizeof found->forced - used,
               "; %" PRId64 " rows that it was trained on are left out", moved);
  }
  return CLI_DONE;
}

static json_t *report_json(const cli_gnn_inference *f, const findings *found, const char *graph) {
  const cli_gnn_result *r = f->result;
  cli_json all = cli_json_start();
  cli_json_text(&all, "graph", graph);
  cli_json_int(&all, "rows", f->data->rows);
  cli_json_int(&all, "classes", f->model.classes);
  cli_json_text(&all, "device", r->found);
  cli_json_text(&all, "transport", r->transport);
  cli_json_int(&all, "ranks", f->ranks.ranks);
  cli_json_real(&all, "ms", r->epoch[0].ms);
  cli_json_text(&all, "forced", *found->forced ? found->forced : NULL);
  if (f->data->label && found->other_graph)
    cli_json_real(&all, "labelled", r->epoch[0].right[CLI_GNN_NONE]);
  else if (f->data->label) {
    cli_json_real(&all, "train", r->epoch[0].right[CLI_GNN_TRAIN]);
    cli_json_real(&all, "valid", r->epoch[0].right[CLI_GNN_VALID]);
    cli_json_real(&all, "test", r->epoch[0].right[CLI_GNN_TEST]);
  }
  return cli_json_end(all);
}

static void print(const cli_gnn_inference *f, const findings *found, const char *graph, FILE *stream) {
  const cli_gnn_result *r = f->result;
  fprintf(stream, "graph      %s, %" PRId64 " rows; %" PRId64 " classes\n", cli_shown(graph), f->data->rows,
          f->model.classes);
  cli_sources_print(stream);
  fprintf(stream, "device     %s, %d rank%s, transport %s; %.3f ms\n", r->found, f->ranks.ranks,
          f->ranks.ranks == 1 ? "" : "s", r->transport, r->epoch[0].ms);
  cli_gnn_report_data(f->data, stream);
  if (*found->forced)
    fprintf(stream, "forced     %s was not trained on these data: %s\n", f->weights, found->forced);
  if (f->data->label && found->other_graph) {
    fprintf(stream, "right      of all rows with a label ");
    cli_gnn_report_share(r->epoch[0].right[CLI_GNN_NONE], stream);
    fprintf(stream, ": which of these rows were trained on is not known\n");
  } else if (f->data->label) {
    fprintf(stream, "right      ");
    cli_gnn_report_shares(&r->epoch[0], stream);
  }
  if (f->out)
    fprintf(stream, "logits     in %s\n", cli_shown(f->out));
}

static int infer(cli_gnn_inference *f, const infer_settings *s, const findings *found, const char *graph) {
  const size_t bytes = sizeof *f->result + sizeof *f->result->epoch;
  int code = CLI_DONE;
  f->result = cli_share(bytes);
  if (!f->result)
    return cli_refuse(SLEY_ERR_MEMORY, "gnn infer: out of memory");
  const sley_status status = cli_gnn_infer(f);
  if (status != SLEY_OK)
    code = cli_start_failed(&f->ranks, status, f->result->message.text);
  else if (cli_start_reports(&f->ranks)) {
    cli_text text;
    cli_text_start(&text, s->base.common.json);
    print(f, found, graph, text.stream);
    cli_text_end(&text);
    if (s->base.common.json) {
      json_t *all = report_json(f, found, graph);
      cli_options_json(&cli_gnn_infer_command, s, all);
      if (!cli_output_json(s->base.common.json, all))
        code = CLI_FAILED;
    }
  }
  cli_unshare(f->result, bytes);
  return code;
}

static int run(void *settings, char **positionals) {
  const infer_settings *s = settings;
  cli_gnn_inference f = {.weights = s->weights, .out = s->out, .last = s->last};
  findings found = {.other_graph = false};
  cli_gnn_data data;
  static const char *const endings[] = {".npy", NULL};
  if (!cli_output_ending("gnn infer: the logits", s->out, endings))
    return CLI_USAGE;
  if (gives_split(s) && !s->base.labels)
    return cli_refuse(SLEY_ERR_ARG, "gnn infer: a split is of rows with labels: give --labels");
  int code = cli_gnn_check("gnn infer", &s->base, positionals[0]);
  if (code != CLI_DONE)
    return code;
  if (!cli_output_possible(s->out))
    return CLI_FAILED;
  code = cli_start(&s->base.common, &f.ranks);
  if (code != CLI_DONE)
    return code;
  cli_gnn_source source = cli_gnn_source_of(&s->base, positionals[0], f.ranks.ranks);
  code = read_state(s, &found.state, &source);
  if (code != CLI_DONE) {
    cli_gnn_state_free(&found.state);
    return code;
  }
  code = cli_gnn_read(&source, &data);
  if (code == CLI_DONE)
    code = check_data(s, &data, &found);
  f.data = &data;
  f.model = found.state.model;
  if (code == CLI_DONE)
    code = infer(&f, s, &found, positionals[0]);
  cli_gnn_data_free(&data);
  cli_gnn_state_free(&found.state);
  return code;
}

const cli_command cli_gnn_infer_command = {
    .name = "gnn infer",
    .summary = "compute the logits of all rows with a trained network",
    .arguments = "GRAPH",
    .positionals = 1,
    .options = options,
    .common = CLI_GNN_COMMON,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes =
        "GRAPH, features and labels must be the same as in training, and are prepared in the same way; the "
        "split of the training is used. Another split and other data are refused without --force. Training "
        "rows never count for the test.\n"
        "Example: sley gnn infer graph.mtx --weights model.npz --features features.npy --out logits.npy\n"
        "Exit status: 0 done, 1 a failure, 2 wrong usage or input, 130 interrupted.\n",
    .run = run};
