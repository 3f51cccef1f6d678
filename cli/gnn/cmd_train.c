/* SPDX-License-Identifier: Apache-2.0 */
/* `sley gnn train`: trains a graph network on a whole graph, or on drawn neighbourhoods, and reports the
 * share of rows that it classifies correctly.
 *
 * data.c reads the graph, features, labels and sets; train.c runs the epochs, and sample.c runs epochs over
 * drawn neighbourhoods; state.c reads and writes the state. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "gnn/options.h"
#include "gnn/plot.h"
#include "gnn/report.h"
#include "gnn/split.h"
#include "gnn/start.h"
#include "gnn/state.h"
#include "matrix/job.h"
#include "options_json.h"
#include "output/changes.h"
#include "output/output.h"
#include "output/plot.h"
#include "output/terminal.h"
#include "output/text.h"
#include "ranks/processes.h"
#include "ranks/start.h"

enum { MOST_EPOCHS = 1000000 };

static const cli_command train_command;

typedef struct train_settings {
  cli_gnn_settings base; /* must be first: shared tables of options write to it */
  const char *model, *sample, *out;
  int64_t epochs, patience, batch, every;
  bool resume;
} train_settings;

#define AT(field) offsetof(train_settings, field)
static const cli_option own_options[] = {
    {.name = "model",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = AT(model),
     .choices = sley_gnn_models,
     .about = cli_gnn_model_summary,
     .help = "kind of the layers; N(i): the columns of the entries of row i; j is in N(i)"},
    {.name = "epochs",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(epochs),
     .least = 1,
     .most = MOST_EPOCHS,
     .help = "number of epochs; an epoch is one step over the whole graph, or with --sample one step for "
             "each batch"},
    {.name = "patience",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(patience),
     .most = MOST_EPOCHS,
     .help = "end after N epochs without a better validation; 0: never"},
    {.name = "sample",
     .kind = CLI_TEXT,
     .value = "LIST",
     .offset = AT(sample),
     .help = "train on drawn neighbourhoods: for each hop from the training rows the most entries that are "
             "drawn of a row, or all, such as 10,25"},
    {.name = "batch",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(batch),
     .least = 1,
     .most = INT32_MAX,
     .help = "with --sample: training rows of each step"},
    {.name = "out",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(out),
     .help = "write the state as .npz: the weights, the weights of the best epoch, and what --resume needs"},
    {.name = "save-every",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(every),
     .least = 1,
     .most = MOST_EPOCHS,
     .help = "write the state every N epochs, and after the last"},
    {.name = "resume",
     .kind = CLI_FLAG,
     .offset = AT(resume),
     .help = "continue from the state in --out, if the file exists"},
    {.name = "force",
     .kind = CLI_FLAG,
     .offset = AT(base.force),
     .help =
         "with --resume: continue even if data or settings differ from the state, and print the differences"},
    {0}};
static const cli_option *const options[] = {cli_gnn_feature_options,
                                            cli_gnn_label_options,
                                            cli_gnn_network_options,
                                            cli_gnn_set_options,
                                            own_options,
                                            cli_gnn_seed_options,
                                            NULL};
static const train_settings defaults = {
    .base = {CLI_GNN_DEFAULTS}, .model = "gcn", .epochs = 200, .batch = 1024, .every = 10};

/* ---- progress */

static void tell_epoch(const cli_gnn_training *t, int64_t number, const cli_gnn_epoch *epoch) {
  char text[64];
  snprintf(text, sizeof text, "epoch %" PRId64 ", loss %.4f, validation %.3f", number + 1, epoch->loss,
           epoch->right[CLI_GNN_VALID]);
  cli_progress(text, number + 1, t->epochs);
}

/* ---- the state from which training continues */

enum { FORCED_ROOM = 512 };

/* Checks that the state is of this training. If not, refuses it, or, with --force, stores the differences in
 * `told`. Rows that the state was trained on are removed from validation and test. Returns the exit code. */
static int check_state(cli_gnn_training *t, cli_gnn_data *data, const train_settings *s,
                       const cli_gnn_state *state, char *told, size_t room) {
  char others[FORCED_ROOM] = "", words[FORCED_ROOM] = "";
  cli_gnn_settings_differ(&state->facts, t->facts, words, sizeof words);
  cli_gnn_data_differ(&state->facts, t->facts, true, true, others, sizeof others);
  t->anew = *others != 0;
  if (*words || *others) {
    const char *comma = *words && *others ? ", " : "";
    if (!s->base.force)
      return cli_refuse(SLEY_ERR_ARG,
                        "gnn train: %s is of another training: %s%s%s: give what it had, or --force, or "
                        "another --out",
                        t->out, words, comma, others);
    snprintf(told, room, "%s%s%s", words, comma, others);
  }
  if (state->rows == data->rows) {
    const int64_t moved = cli_gnn_split_spend(&data->split, &state->split, data->rows);
    const size_t used = strlen(told);
    if (moved > 0)
      snprintf(told + used, room - used, "; %" PRId64 " rows that it was trained on are in no set now",
               moved);
  }
  return CLI_DONE;
}

/* Copies the epochs of the file to the result. Returns the exit code. */
static int take_epochs(cli_gnn_training *t) {
  cli_gnn_epoch *epoch = NULL;
  cli_gnn_message message = {{0}};
  const sley_status status = cli_gnn_state_epochs(t->out, &t->before, &epoch, &message);
  int code = CLI_DONE;
  if (status != SLEY_OK)
    code = cli_start_failed(&t->ranks, status, message.text);
  else if (t->before < 1 || t->before > t->epochs || (t->anew && t->before == t->epochs))
    code =
        cli_refuse(SLEY_ERR_ARG, "gnn train: %s has %" PRId64 " epochs, --epochs asks for %" PRId64 " in all",
                   t->out, t->before, t->epochs);
  if (code == CLI_DONE) {
    memcpy(t->result->epoch, epoch, (size_t)t->before * sizeof *epoch);
    t->result->done = t->before;
    t->resumes = true;
  }
  free(epoch);
  return code;
}

static int take_state(cli_gnn_training *t, cli_gnn_data *data, const train_settings *s, char *told,
                      size_t room) {
  cli_gnn_message message = {{0}};
  cli_gnn_state state;
  const sley_status status = cli_gnn_state_read(t->out, &state, &message);
  int code = status == SLEY_OK ? check_state(t, data, s, &state, told, room)
                               : cli_start_failed(&t->ranks, cli_input_status(status, t->out), message.text);
  cli_gnn_state_free(&state);
  return code == CLI_DONE ? take_epochs(t) : code;
}

/* ---- the run */

/* Data for the report, beside the training. */
typedef struct about {
  const train_settings *settings;
  const char *graph;
  char
      forced[2 * FORCED_ROOM + 2]; /* differences between the state and this training; "" if there are none */
} about;

static void report_start(const cli_gnn_training *t, const about *a) {
  const train_settings *s = a->settings;
  cli_text text;
  cli_text_start(&text, s->base.common.json);
  cli_gnn_report_start(t, a->graph, s->model, text.stream);
  if (*a->forced)
    fprintf(text.stream, "forced     %s is of another training: %s\n", t->out, a->forced);
  cli_text_end(&text);
}

/* Prints the report and writes the files. Returns false after one line on stderr if a file could not be
 * written. */
static bool report_end(const cli_gnn_training *t, const about *a) {
  const train_settings *s = a->settings;
  cli_text text;
  cli_text_start(&text, s->base.common.json);
  cli_gnn_report_end(t, s->base.memory, text.stream);
  cli_text_end(&text);
  const bool drawn = !s->base.common.plot || cli_gnn_plot(s->base.common.plot, t);
  if (!s->base.common.json)
    return drawn;
  json_t *all = cli_gnn_report_json(t, a->graph, s->model, s->base.memory);
  cli_options_json(&train_command, s, all);
  if (all && *a->forced)
    json_object_set_new(all, "forced", json_string(a->forced));
  return cli_output_json(s->base.common.json, all) && drawn;
}

/* Trains and reports, also if an error or Ctrl-C ends the training after an epoch. Returns the exit code. */
static int run_and_report(cli_gnn_training *t, const about *a) {
  const bool tells = cli_start_reports(&t->ranks);
  bool written = true;
  t->tell = tells ? tell_epoch : NULL;
  if (tells)
    report_start(t, a);
  const sley_status status = cli_gnn_train(t);
  cli_progress_clear();
  if (tells && (status == SLEY_OK || t->result->ended))
    written = report_end(t, a);
  if (status != SLEY_OK)
    return cli_start_failed(&t->ranks, status, t->result->message.text);
  return written ? CLI_DONE : CLI_FAILED;
}

static int train(cli_gnn_training *t, cli_gnn_data *data, const train_settings *s, const char *graph) {
  about a = {.settings = s, .graph = graph};
  cli_gnn_facts facts;
  const size_t result = sizeof *t->result + (size_t)t->epochs * sizeof *t->result->epoch,
               bytes = (size_t)t->ranks.ranks * sizeof *t->bytes;
  t->result = cli_share(result);
  t->bytes = cli_share(bytes);
  int code = t->result && t->bytes
                 ? CLI_DONE
                 : cli_refuse(SLEY_ERR_MEMORY, "gnn train: out of memory for %" PRId64 " epochs", t->epochs);
  if (code == CLI_DONE && s->out)
    code = cli_finish(cli_gnn_facts_of(t, s->base.train, s->base.valid, &facts));
  t->facts = &facts;
  if (code == CLI_DONE && s->resume && access(s->out, F_OK) == 0)
    code = take_state(t, data, s, a.forced, sizeof a.forced);
  if (code == CLI_DONE)
    code = run_and_report(t, &a);
  cli_be_patient(NULL);
  cli_gnn_layouts_free(&t->layouts);
  cli_unshare(t->bytes, bytes);
  cli_unshare(t->result, result);
  return code;
}

static int check_words(const train_settings *s, const char *graph) {
  if (s->base.weights && !cli_gnn_weighs("gnn train", s->model))
    return CLI_USAGE;
  if (s->base.force && !s->resume)
    return cli_refuse(SLEY_ERR_ARG, "gnn train: --force goes with --resume: give it");
  if (s->resume && !s->out)
    return cli_refuse(SLEY_ERR_ARG, "gnn train: --resume continues from the file that --out names: give it");
  static const char *const endings[] = {".npz", NULL};
  if (!cli_output_ending("gnn train: the state", s->out, endings))
    return CLI_USAGE;
  int code = cli_gnn_check("gnn train", &s->base, graph);
  if (code != CLI_DONE || !cli_plot_possible("gnn train", s->base.common.plot, &code))
    return code;
  return cli_output_possible(s->out) ? CLI_DONE : CLI_FAILED;
}

/* Refuses an order with --sample, whose draws depend on the numbers of the rows. */
static int check_order(const train_settings *s) {
  const char *order = s->base.common.order;
  if (!s->sample || strcmp(order, "none") == 0 || strcmp(order, CLI_GNN_AUTO) == 0)
    return CLI_DONE;
  return cli_refuse(
      SLEY_ERR_ARG,
      "gnn train: --sample makes another graph for each step, whose rows --order %s cannot order: "
      "leave one of the two out",
      order);
}

/* Refuses --sample with several ranks. ranks: requested, or found. Returns the exit code. */
static int check_one_rank(const train_settings *s, int64_t ranks) {
  if (!s->sample || ranks <= 1)
    return CLI_DONE;
  return cli_refuse(SLEY_ERR_ARG,
                    "gnn train: --sample trains on one rank, and there are %" PRId64
                    ": give --ranks 1, or leave --sample out",
                    ranks);
}

static void say_idle(const train_settings *s, bool heads, int ranks) {
  static const char own[] = "--split states the sets";
  cli_gnn_say_idle("gnn train", &s->base, heads, ranks);
  cli_no_effect("gnn train", "order", s->sample, "with --sample each step has a graph of its own");
  cli_no_effect("gnn train", "batch", !s->sample, "without --sample a step is over all rows");
  cli_no_effect("gnn train", "save-every", !s->out, "no state is written without --out");
  cli_no_effect("gnn train", "train", s->base.split, own);
  cli_no_effect("gnn train", "valid", s->base.split, own);
}

static int run_train(void *settings, char **positionals) {
  const train_settings *s = settings;
  const sley_gnn_model model = cli_gnn_model_named(s->model);
  const sley_gnn_model_info info = cli_gnn_model_info(model);
  sley_rank_options ranks;
  cli_gnn_sampling sampling;
  cli_gnn_data data;
  int code = check_words(s, positionals[0]);
  if (code == CLI_DONE)
    code = cli_gnn_sampling_parse(s->sample, s->base.layers, info.hops, s->batch, &sampling);
  if (code == CLI_DONE)
    code = check_order(s);
  if (code == CLI_DONE)
    code = check_one_rank(s, s->base.common.ranks);
  if (code == CLI_DONE)
    code = cli_start(&s->base.common, &ranks);
  if (code == CLI_DONE)
    code = check_one_rank(s, ranks.ranks);
  if (code != CLI_DONE)
    return code;
  cli_gnn_source source = cli_gnn_source_of(&s->base, positionals[0], ranks.ranks);
  source.prints = s->out != NULL;
  source.dense = !info.sparse_x;
  code = cli_gnn_read(&source, &data);
  if (code == CLI_DONE) {
    cli_gnn_training t = {.data = &data,
                          .model = cli_gnn_model_of(&s->base, &data, model),
                          .ranks = ranks,
                          .order = s->sample ? "none" : s->base.common.order,
                          .epochs = s->epochs,
                          .patience = s->patience,
                          .rate = s->base.rate,
                          .decay = s->base.decay,
                          .optimizer = cli_gnn_optimizer(&s->base),
                          .sampling = sampling,
                          .out = s->out,
                          .every = s->every};
    say_idle(s, info.heads, ranks.ranks);
    code = train(&t, &data, s, positionals[0]);
  }
  cli_gnn_data_free(&data);
  return code;
}

static const cli_command train_command = {
    .name = "gnn train",
    .summary = "train a graph network on a whole graph",
    .arguments = "GRAPH",
    .positionals = 1,
    .options = options,
    .common = CLI_GNN_COMMON | CLI_GNN_NETWORK | CLI_TAKES_PLOT,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes =
        "Without --weights the values of GRAPH are ignored. Without --sample each step is over all rows. "
        "After "
        "each epoch the correctly classified rows are counted, without dropout and over the whole graph; the "
        "report has the counts of the epoch with the best validation.\n"
        "Ctrl-C ends the training after the current epoch, and --out and --json are written; a second Ctrl-C "
        "ends it at once.\n"
        "Example: sley gnn train er:n=1000,nnz=8000 --features random:16 --labels planted:4\n"
        "Exit status: 0 done, 1 a failure or training diverged, 2 wrong usage or input, 130 interrupted.\n",
    .run = run_train,
    .mode = &cli_gnn_bench_command};

static int run_gnn(void *settings, char **positionals) {
  (void)settings;
  (void)positionals;
  return cli_refuse(
      SLEY_ERR_ARG,
      "gnn: say what to do: sley gnn train --help, sley gnn bench --help or sley gnn infer --help");
}

static const cli_option *const no_options[] = {NULL};

const cli_command cli_gnn = {.name = "gnn",
                             .summary = "graph networks: see gnn train, gnn bench, gnn infer",
                             .arguments = "",
                             .options = no_options,
                             .defaults = "",
                             .notes = "",
                             .run = run_gnn,
                             .mode = &train_command};
