/* SPDX-License-Identifier: Apache-2.0 */
/* `sley gnn train`: trains a graph network on a whole graph, or on drawn neighbourhoods, and says how many
 * rows it finds right.
 *
 * gnn_data.c reads the graph, features, labels and sets; gnn_train.c runs the epochs, gnn_sample.c those over
 * drawn neighbourhoods; gnn_state.c has what is in the file beside the network's state. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "gnn_plot.h"
#include "gnn_report.h"
#include "gnn_start.h"
#include "gnn_state.h"
#include "input.h"
#include "job.h"
#include "output.h"
#include "plot.h"
#include "processes.h"
#include "terminal.h"

enum { MESSAGE_BYTES = 512, MOST_RANKS = 256, MOST_EPOCHS = 1000000 };

typedef struct gnn_settings {
  const char *features, *labels, *split, *model, *optimizer, *sample, *algo, *wire, *device, *transport, *out,
      *plot, *json;
  int64_t layers, hidden, heads, epochs, patience, batch, every, ranks, threads, seed, train, valid;
  double rate, decay, dropout;
  bool undirected, normalize, reproducible, fresh, resume;
} gnn_settings;

/* By sley_gnn_model. */
static const char *const models[] = {"gcn", "gin", "sage", "sage-max", "gat", NULL};
static const char *const *model_names(void) {
  return models;
}

/* By sley_gnn_optimizer. */
static const char *const optimizers[] = {"adam", "sgd", NULL};
static const char *const *optimizer_names(void) {
  return optimizers;
}

static const char *const wires[] = {"none", "bf16", "f16", NULL};
static const char *const *wire_names(void) {
  return wires;
}

#define AT(field) offsetof(gnn_settings, field)
static const cli_option own_options[] = {
    {.name = "features",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(features),
     .required = true,
     .help = "a row of features for each row of GRAPH: a matrix, .npy or .npz file, or random:K"},
    {.name = "labels",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(labels),
     .required = true,
     .help = "a text file with a class on each line, -1 for none; a .npz with labels; or planted:C"},
    {.name = "model",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = AT(model),
     .choices = model_names,
     .help = "kind of the layers"},
    {.name = "layers",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(layers),
     .least = 1,
     .most = CLI_GNN_MOST_LAYERS,
     .help = "how many"},
    {.name = "hidden",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(hidden),
     .least = 1,
     .most = 1 << 20,
     .help = "values of a row between layers, of gat of each head"},
    {.name = "heads",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(heads),
     .least = 1,
     .most = 1024,
     .help = "of gat's hidden layers"},
    {.name = "epochs",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(epochs),
     .least = 1,
     .most = MOST_EPOCHS,
     .help = "how many; each is a step over the whole graph, or with --sample one over each batch"},
    {.name = "patience",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(patience),
     .most = MOST_EPOCHS,
     .help = "ends after so many epochs without a better validation; 0: never"},
    {.name = "rate",
     .kind = CLI_REAL,
     .positive = true,
     .value = "R",
     .offset = AT(rate),
     .help = "of learning"},
    {.name = "optimizer",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = AT(optimizer),
     .choices = optimizer_names,
     .help = "what makes a step of gradients"},
    {.name = "decay",
     .kind = CLI_REAL,
     .positive = true,
     .value = "D",
     .offset = AT(decay),
     .help = "of weights, added to the gradient"},
    {.name = "dropout",
     .kind = CLI_REAL,
     .positive = true,
     .value = "P",
     .offset = AT(dropout),
     .help = "chance of a value that a layer is given to be left out"},
    {.name = "train",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(train),
     .least = 1,
     .most = INT32_MAX,
     .help = "rows of each class to train on, drawn by --seed"},
    {.name = "valid",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(valid),
     .most = INT32_MAX,
     .help = "others for validation; the rest is for the test"},
    {.name = "split",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(split),
     .help = "a text file with train, valid, test or none on each line, instead"},
    {.name = "sample",
     .kind = CLI_TEXT,
     .value = "LIST",
     .offset = AT(sample),
     .help =
         "train on drawn neighbourhoods: the most entries drawn of a row, or all, for each hop from the rows "
         "to train on, as 10,25"},
    {.name = "batch",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(batch),
     .least = 1,
     .most = INT32_MAX,
     .help = "with --sample: rows to train on of each step"},
    {.name = "undirected",
     .kind = CLI_FLAG,
     .offset = AT(undirected),
     .help = "an entry (i, j) stands for (j, i) too"},
    {.name = "normalize",
     .kind = CLI_FLAG,
     .offset = AT(normalize),
     .help = "rows of features are divided by the sums of their magnitudes"},
    {.name = "reproducible",
     .kind = CLI_FLAG,
     .offset = AT(reproducible),
     .help = "sums over entries have the same bits for every number of ranks"},
    {.name = "fresh-features",
     .kind = CLI_FLAG,
     .offset = AT(fresh),
     .help = "the first layer sums features anew in each step, as if they had changed"},
    {.name = "aggregate",
     .kind = CLI_TEXT,
     .value = "NAME",
     .offset = AT(algo),
     .help = "how sums over entries go (gcn, gin, sage): an algorithm of sley spmm; auto: the one predicted "
             "fastest"},
    {.name = "wire",
     .kind = CLI_CHOICE,
     .value = "TYPE",
     .offset = AT(wire),
     .choices = wire_names,
     .help = "in which rows travel for these sums"},
    {.name = "ranks",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(ranks),
     .least = 1,
     .most = MOST_RANKS,
     .help = "ranks; under a launcher as many as it has started"},
    {.name = "transport",
     .kind = CLI_TEXT,
     .value = "NAME",
     .offset = AT(transport),
     .help = "threads, or one between processes: tcp, mpi, nccl, nvshmem"},
    {.name = "threads",
     .kind = CLI_INT,
     .value = "T",
     .offset = AT(threads),
     .most = 4096,
     .help = "of each rank; 0: cores / ranks"},
    {.name = "device",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = AT(device),
     .choices = cli_devices,
     .help = "whose kernels run; auto: cuda where there is a GPU, else cpu"},
    {.name = "seed",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(seed),
     .most = INT32_MAX,
     .help = "of weights, dropout, sets, neighbourhoods and generators"},
    {.name = "out",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(out),
     .help = "write the state as .npz: weights, those of the best epoch, and what going on needs"},
    {.name = "save-every",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(every),
     .least = 1,
     .most = MOST_EPOCHS,
     .help = "epochs from one state to the next; the last is always written"},
    {.name = "resume",
     .kind = CLI_FLAG,
     .offset = AT(resume),
     .help = "go on from the state in --out, if that is there"},
    {.name = "plot",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(plot),
     .help = "draw losses and what is right by epochs, by gnuplot, as .svg or .png"},
    {.name = "json",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(json),
     .help = "write all figures as JSON; - for stdout"},
    {0}};
static const cli_option *const options[] = {own_options, NULL};
static const gnn_settings defaults = {.model = "gcn",
                                      .optimizer = "adam",
                                      .device = "auto",
                                      .layers = 2,
                                      .hidden = 64,
                                      .heads = 8,
                                      .epochs = 200,
                                      .rate = 0.01,
                                      .decay = 5e-4,
                                      .dropout = 0.5,
                                      .train = 20,
                                      .valid = 30,
                                      .algo = "auto",
                                      .wire = "none",
                                      .batch = 1024,
                                      .every = 10,
                                      .seed = 1};

/* ---- talk */

typedef struct talk {
  const cli_gnn_training *training;
  FILE *stream;
} talk;

static void tell_epoch(void *context, int64_t number, const cli_gnn_epoch *epoch) {
  const talk *t = context;
  char text[128];
  snprintf(text, sizeof text, "epoch %" PRId64 ", loss %.4f, validation %.3f", number + 1, epoch->loss,
           epoch->right[CLI_GNN_VALID]);
  cli_progress(text, number + 1, t->training->epochs);
}

/* ---- the state to go on from */

/* The file must be of the same network and the same training, so far as it tells. */
static int check_state(const cli_gnn_training *t, const gnn_settings *s) {
  sley_gnn_options o;
  bool undirected, normalize;
  cli_gnn_message message = {{0}};
  sley_status status = sley_gnn_options_read(t->out, &o);
  if (status == SLEY_OK)
    status = cli_gnn_state_reading(t->out, &undirected, &normalize, &message);
  if (status != SLEY_OK)
    return cli_gnn_failed(&t->ranks, status, message.text);
  if (o.seed != t->model.seed)
    return cli_refuse(SLEY_ERR_ARG,
                      "gnn train: %s is of a training with seed %" PRIu64 ": give --seed %" PRIu64, t->out,
                      o.seed, o.seed);
  if (o.dropout != t->model.dropout)
    return cli_refuse(SLEY_ERR_ARG, "gnn train: %s is of a training with dropout %g: give --dropout %g",
                      t->out, o.dropout, o.dropout);
  if (undirected != s->undirected || normalize != s->normalize)
    return cli_refuse(SLEY_ERR_ARG, "gnn train: %s is of a training %s --undirected and %s --normalize",
                      t->out, undirected ? "with" : "without", normalize ? "with" : "without");
  return CLI_DONE;
}

/* Epochs that the file has, into the result. */
static int take_state(cli_gnn_training *t, const gnn_settings *s) {
  cli_gnn_epoch *epoch = NULL;
  cli_gnn_message message = {{0}};
  int code = check_state(t, s);
  if (code != CLI_DONE)
    return code;
  const sley_status status = cli_gnn_state_epochs(t->out, &t->before, &epoch, &message);
  if (status != SLEY_OK)
    code = cli_gnn_failed(&t->ranks, status, message.text);
  else if (t->before < 1 || t->before > t->epochs)
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

/* ---- the run */

static int train(cli_gnn_training *t, const gnn_settings *s, const char *graph) {
  FILE *stream = s->json && strcmp(s->json, "-") == 0 ? stderr : stdout;
  talk told = {.training = t, .stream = stream};
  const bool tells = cli_gnn_reports(&t->ranks);
  const size_t bytes = sizeof *t->result + (size_t)t->epochs * sizeof *t->result->epoch;
  t->result = cli_share(bytes);
  if (!t->result)
    return cli_refuse(SLEY_ERR_MEMORY, "gnn train: out of memory for %" PRId64 " epochs", t->epochs);
  int code = s->resume && access(s->out, F_OK) == 0 ? take_state(t, s) : CLI_DONE;
  if (code == CLI_DONE) {
    t->tell = tells ? tell_epoch : NULL;
    t->context = &told;
    if (tells)
      cli_gnn_report_start(t, graph, s->model, stream);
    const sley_status status = cli_gnn_train(t);
    cli_progress_clear();
    if (status != SLEY_OK)
      code = cli_gnn_failed(&t->ranks, status, t->result->message.text);
    else if (tells)
      cli_gnn_report_end(t, stream);
    if (status == SLEY_OK && tells && s->plot && !cli_gnn_plot(s->plot, t))
      code = CLI_FAILED;
    if (status == SLEY_OK && tells && s->json &&
        !cli_output_json(s->json, cli_gnn_report_json(t, graph, s->model)))
      code = CLI_FAILED;
  }
  cli_unshare(t->result, bytes);
  return code;
}

/* Which of the names it is, one of them. */
static int number_of(const char *const *names, const char *name) {
  int number = 0;
  while (strcmp(names[number], name) != 0)
    number++;
  return number;
}

static int check_words(const gnn_settings *s, const char *graph) {
  if (s->dropout >= 1)
    return cli_refuse(SLEY_ERR_ARG, "gnn train: --dropout is %g: it must be less than 1", s->dropout);
  if (s->resume && !s->out)
    return cli_refuse(SLEY_ERR_ARG, "gnn train: --resume goes on from the file that --out names: give it");
  if (s->out && !cli_ends_with(s->out, ".npz"))
    return cli_refuse(SLEY_ERR_ARG, "gnn train: --out %s: the state is a .npz", s->out);
  if (!cli_name_fits_json("gnn train", graph, s->json))
    return CLI_USAGE;
  int code;
  if (!cli_plot_possible("gnn train", s->plot, &code))
    return code;
  return cli_output_possible(s->json) && cli_output_possible(s->out) ? CLI_DONE : CLI_FAILED;
}

/* Neighbourhoods are drawn on one rank. ranks: asked for, or found. */
static int check_one_rank(const gnn_settings *s, int64_t ranks) {
  if (!s->sample || ranks <= 1)
    return CLI_DONE;
  return cli_refuse(SLEY_ERR_ARG,
                    "gnn train: --sample trains on one rank, and there are %" PRId64
                    ": give --ranks 1, or leave --sample out",
                    ranks);
}

static cli_gnn_training training_of(const gnn_settings *s, const cli_gnn_data *data,
                                    const cli_gnn_sampling *sampling, const sley_rank_options *ranks) {
  cli_gnn_training t = {.data = data,
                        .model = SLEY_GNN_OPTIONS_INIT,
                        .ranks = *ranks,
                        .epochs = s->epochs,
                        .patience = s->patience,
                        .rate = s->rate,
                        .decay = s->decay,
                        .optimizer = (sley_gnn_optimizer)number_of(optimizers, s->optimizer),
                        .sampling = *sampling,
                        .out = s->out,
                        .every = s->every};
  t.model.model = (sley_gnn_model)number_of(models, s->model);
  t.model.layers = (int)s->layers;
  t.model.features = data->features;
  t.model.hidden = s->hidden;
  t.model.heads = s->heads;
  t.model.classes = data->classes;
  t.model.dropout = s->dropout;
  t.model.seed = (uint64_t)s->seed;
  t.model.reproducible = s->reproducible;
  t.model.algo = s->algo;
  t.model.wire = s->wire;
  t.model.same_x = !s->fresh;
  return t;
}

static int run_train(void *settings, char **positionals) {
  const gnn_settings *s = settings;
  sley_rank_options ranks;
  cli_gnn_sampling sampling;
  cli_gnn_data data;
  int code = check_words(s, positionals[0]);
  if (code == CLI_DONE)
    code = cli_gnn_sampling_parse(s->sample, s->layers, s->batch, &sampling);
  if (code == CLI_DONE)
    code = check_one_rank(s, s->ranks);
  if (code == CLI_DONE)
    code = cli_gnn_ranks(s->ranks, s->threads, s->device, s->transport, &ranks);
  if (code == CLI_DONE)
    code = check_one_rank(s, ranks.ranks);
  if (code != CLI_DONE)
    return code;
  const cli_gnn_source source = {.graph = positionals[0],
                                 .features = s->features,
                                 .labels = s->labels,
                                 .split = s->split,
                                 .undirected = s->undirected,
                                 .normalize = s->normalize,
                                 .train = s->train,
                                 .valid = s->valid,
                                 .seed = s->seed,
                                 .threads = s->threads * ranks.ranks};
  code = cli_gnn_read(&source, &data);
  if (code == CLI_DONE) {
    cli_gnn_training t = training_of(s, &data, &sampling, &ranks);
    code = train(&t, s, positionals[0]);
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
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes = "Values of GRAPH are not looked at. Without --sample each step is over all rows. After an epoch "
             "what is "
             "right is\ncounted, without dropout and over the whole graph; that of the epoch with the best "
             "validation is "
             "told.\n"
             "Example: sley gnn train er:n=1000,nnz=8000 --features random:16 --labels planted:4\n"
             "Exit status: 0 done, 1 a failure, 2 wrong usage or input, 130 interrupted.\n",
    .run = run_train,
    .mode = &cli_gnn_infer_command};

static int run_gnn(void *settings, char **positionals) {
  (void)settings;
  (void)positionals;
  return cli_refuse(SLEY_ERR_ARG, "gnn: say what to do: sley gnn train --help, or sley gnn infer --help");
}

static const cli_option *const no_options[] = {NULL};

const cli_command cli_gnn = {.name = "gnn",
                             .summary = "graph networks: see gnn train, gnn infer",
                             .arguments = "",
                             .options = no_options,
                             .defaults = "",
                             .notes = "",
                             .run = run_gnn,
                             .mode = &train_command};
