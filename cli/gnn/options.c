/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of options that modes of `sley gnn` share. */
#include "gnn/options.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "gnn/order.h"
#include "gnn/sample.h"
#include "matrix/input.h"
#include "matrix/job.h"
#include "output/changes.h"
#include "output/output.h"
#include "output/terminal.h"

sley_gnn_model_info cli_gnn_model_info(sley_gnn_model model) {
  sley_gnn_model_info info = {0};
  sley_gnn_model_get(model, &info);
  return info;
}

sley_gnn_model cli_gnn_model_named(const char *name) {
  return (sley_gnn_model)cli_number_of(name, sley_gnn_models());
}

const char *cli_gnn_model_summary(const char *name) {
  return cli_gnn_model_info(cli_gnn_model_named(name)).summary;
}

/* Lists the names of the models for which `is` returns true, separated by commas. */
static const char *names_of(bool (*is)(const sley_gnn_model_info *), char *text, size_t room) {
  size_t length = 0;
  *text = '\0';
  for (int i = 0; sley_gnn_models()[i] && length < room; i++) {
    const sley_gnn_model_info info = cli_gnn_model_info((sley_gnn_model)i);
    if (is(&info))
      length += (size_t)snprintf(text + length, room - length, "%s%s", length > 0 ? ", " : "", info.name);
  }
  return text;
}

static bool sums(const sley_gnn_model_info *info) {
  return info->sums;
}

static bool has_heads(const sley_gnn_model_info *info) {
  return info->heads;
}

/* Names indexed by sley_gnn_optimizer. */
static const char *const optimizers[] = {"adam", "sgd", NULL};
const char *const *cli_gnn_optimizers(void) {
  return optimizers;
}

/* Names indexed by sley_gnn_memory. */
static const char *const memories[] = {"keep", "recompute", "bf16", NULL};
const char *const *cli_gnn_memories(void) {
  return memories;
}

/* The orders of the library, then CLI_GNN_AUTO. */
static const char *const *orders(void) {
  enum { MOST = 32 };
  static const char *words[MOST];
  int count = 0;
  while (sley_orders()[count] && count < MOST - 2) {
    words[count] = sley_orders()[count];
    count++;
  }
  words[count] = CLI_GNN_AUTO;
  return words;
}

static const char *order_summary(const char *word) {
  return strcmp(word, CLI_GNN_AUTO) == 0 ? "the one in which the least time is predicted for the sums"
                                         : sley_order_summary(word);
}

#define AT(field) offsetof(cli_gnn_settings, field)
const cli_option cli_gnn_feature_options[] = {
    {.name = "features",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(features),
     .required = true,
     .help =
         "features of each row of GRAPH: a matrix, a .npy or .npz file, or random:K; a matrix stays sparse "
         "if the model accepts sparse features"},
    {0}};

const cli_option cli_gnn_label_options[] = {
    {.name = "labels",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(labels),
     .required = true,
     .help =
         "class of each row: a text file with one class per line (-1 or nan: none), a .npy file, a .npz file "
         "with the array labels or y, or planted:C"},
    {0}};

const cli_option cli_gnn_network_options[] = {
    {.name = "layers",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(layers),
     .least = 1,
     .most = CLI_GNN_MOST_LAYERS,
     .help = "number of layers"},
    {.name = "hidden",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(hidden),
     .least = 1,
     .most = 1 << 20,
     .help = "features of a row between layers; of each head if the model has heads"},
    {.name = "heads",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(heads),
     .least = 1,
     .most = 1024,
     .help = "heads of each hidden layer, if the model has heads"},
    {.name = "rate",
     .kind = CLI_REAL,
     .positive = true,
     .value = "R",
     .offset = AT(rate),
     .help = "learning rate"},
    {.name = "optimizer",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = AT(optimizer),
     .choices = cli_gnn_optimizers,
     .help = "optimizer"},
    {.name = "decay",
     .kind = CLI_REAL,
     .positive = true,
     .value = "D",
     .offset = AT(decay),
     .help = "weight decay, added to the gradient"},
    {.name = "dropout",
     .kind = CLI_REAL,
     .positive = true,
     .value = "P",
     .offset = AT(dropout),
     .help = "probability that an input value of a layer is set to zero"},
    {.name = "undirected",
     .kind = CLI_FLAG,
     .offset = AT(undirected),
     .help = "add the entry (j, i) for each entry (i, j)"},
    {.name = "weights",
     .kind = CLI_FLAG,
     .offset = AT(weights),
     .help =
         "if the model sums: multiply rows by the values of GRAPH before summing; without it these values "
         "are ignored"},
    {.name = "normalize",
     .kind = CLI_FLAG,
     .offset = AT(normalize),
     .help = "divide each row of features by the sum of its absolute values"},
    {.name = "order",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = AT(common.order),
     .choices = orders,
     .about = order_summary,
     .help = "order in which the ranks have the rows of GRAPH; results and files keep the order of GRAPH"},
    {.name = "fresh-features",
     .kind = CLI_FLAG,
     .offset = AT(fresh),
     .help = "the first layer sums the features again in each step, as if they had changed"},
    {.name = "aggregate",
     .kind = CLI_TEXT,
     .value = "NAME",
     .offset = AT(algo),
     .choices = sley_algorithms,
     .parameters = sley_algorithm_parameters,
     .also = "auto",
     .help =
         "if the model sums: the algorithm of sley spmm for the sums; auto: the algorithm that is predicted "
         "to be the fastest"},
    {.name = "memory",
     .kind = CLI_CHOICE,
     .value = "WAY",
     .offset = AT(memory),
     .choices = cli_gnn_memories,
     .help =
         "rows that the backward pass needs are all kept; or some are recomputed, to the same bits; or rows "
         "that would be overwritten are kept in bf16"},
    {0}};

const cli_option cli_gnn_set_options[] = {
    {.name = "train",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(train),
     .least = 1,
     .most = INT32_MAX,
     .help = "rows of each class for training, drawn with --seed or --split-seed"},
    {.name = "valid",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(valid),
     .most = INT32_MAX,
     .help = "other rows, for validation; the remaining rows are for the test"},
    {.name = "split",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(split),
     .help = "read the sets from a text file: each line has train, valid, test or none"},
    {.name = "split-seed",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(split_seed),
     .most = INT32_MAX,
     .help = "seed for drawing the rows, instead of --seed"},
    {0}};

const cli_option cli_gnn_seed_options[] = {
    {.name = "seed",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(common.seed),
     .most = INT32_MAX,
     .help = "seed of all random values: weights, dropout, sets, generators"},
    {0}};

int cli_gnn_check(const char *command, const cli_gnn_settings *s, const char *graph) {
  if (s->dropout >= 1)
    return cli_refuse(SLEY_ERR_ARG, "%s: --dropout is %g: it must be less than 1", command, s->dropout);
  if (s->split && s->split_seed >= 0)
    return cli_refuse(SLEY_ERR_ARG, "%s: --split-seed draws rows, but --split states them: leave one out",
                      command);
  if (!cli_name_fits_json(command, graph, s->common.json))
    return CLI_USAGE;
  return cli_output_possible(s->common.json) ? CLI_DONE : CLI_FAILED;
}

bool cli_gnn_weighs(const char *command, const char *model) {
  char names[256];
  if (cli_gnn_model_info(cli_gnn_model_named(model)).sums)
    return true;
  cli_error("%s: --weights is for %s: %s has no place for values of GRAPH", command,
            names_of(sums, names, sizeof names), model);
  return false;
}

sley_gnn_optimizer cli_gnn_optimizer(const cli_gnn_settings *s) {
  return strcmp(s->optimizer, optimizers[SLEY_GNN_SGD]) == 0 ? SLEY_GNN_SGD : SLEY_GNN_ADAM;
}

cli_gnn_source cli_gnn_source_of(const cli_gnn_settings *s, const char *graph, int ranks) {
  return (cli_gnn_source){.graph = graph,
                          .features = s->features,
                          .labels = s->labels,
                          .split = s->split,
                          .undirected = s->undirected,
                          .normalize = s->normalize,
                          .weights = s->weights,
                          .train = s->train,
                          .valid = s->valid,
                          .split_seed = s->split_seed >= 0 ? s->split_seed : s->common.seed,
                          .seed = s->common.seed,
                          .threads = s->common.threads * ranks,
                          .reading = &s->common.reading};
}

void cli_gnn_say_idle(const char *command, const cli_gnn_settings *s, bool heads, int ranks) {
  char names[256], why[sizeof names + 16];
  snprintf(why, sizeof why, "it is of %s", names_of(has_heads, names, sizeof names));
  cli_no_effect(command, "heads", !heads, why);
  cli_no_effect(command, "hidden", s->layers == 1, "one layer has none before it");
  cli_no_effect(command, "wire", ranks == 1 && !s->common.reproducible, "one rank sends nothing");
}

sley_gnn_options cli_gnn_model_of(const cli_gnn_settings *s, const cli_gnn_data *data, sley_gnn_model model) {
  sley_gnn_options o = SLEY_GNN_OPTIONS_INIT;
  o.model = model;
  o.layers = (int)s->layers;
  o.features = data->features;
  o.hidden = s->hidden;
  o.heads = s->heads;
  o.classes = data->classes;
  o.dropout = s->dropout;
  o.seed = (uint64_t)s->common.seed;
  o.reproducible = s->common.reproducible;
  o.algo = s->algo;
  o.kernel = s->common.kernel;
  o.precision = s->common.precision;
  o.wire = s->common.wire;
  o.same_x = !s->fresh;
  o.memory = (sley_gnn_memory)cli_number_of(s->memory, memories);
  o.weights = s->weights;
  return o;
}
