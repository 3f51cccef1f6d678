/* SPDX-License-Identifier: Apache-2.0 */
/* The options that several modes of `sley gnn` share, and functions that interpret them. */
#ifndef SLEY_CLI_GNN_OPTIONS_H
#define SLEY_CLI_GNN_OPTIONS_H

#include "common.h"
#include "gnn/data.h"
#include "options.h"

/* The shared settings, which must be the first field of each mode's settings. A mode includes some of the
 * tables below; the fields of other tables keep their defaults. */
typedef struct cli_gnn_settings {
  cli_common common;
  const char *features, *labels, *split, *optimizer, *algo, *memory;
  int64_t layers, hidden, heads, train, valid, split_seed; /* split_seed -1: seed */
  double rate, decay, dropout;
  bool undirected, weights, normalize, fresh, force;
} cli_gnn_settings;

/* Reports which options of the network have no effect. heads: at least one of the models has heads; ranks:
 * number of ranks. */
void cli_gnn_say_idle(const char *command, const cli_gnn_settings *s, bool heads, int ranks);

/* Initializers of the fields whose default is not 0. */
#define CLI_GNN_DEFAULTS                                                                                     \
  .common = {.ranks = 1,                                                                                     \
             .device = "auto",                                                                               \
             .kernel = "auto",                                                                               \
             .precision = "full",                                                                            \
             .order = "none",                                                                                \
             .wire = "none",                                                                                 \
             .seed = 1,                                                                                      \
             .reading.base = -1},                                                                            \
  .optimizer = "adam", .layers = 2, .hidden = 64, .heads = 8, .rate = 0.01, .decay = 5e-4, .dropout = 0.5,   \
  .train = 20, .valid = 30, .algo = "auto", .memory = "keep", .split_seed = -1

/* The common options of all modes, and the common options of modes that train; bits of common.h. */
enum {
  CLI_GNN_COMMON = CLI_TAKES_RANKS | CLI_TAKES_THREADS | CLI_TAKES_TRANSPORT | CLI_TAKES_DEVICE |
                   CLI_TAKES_READING | CLI_TAKES_JSON,
  CLI_GNN_NETWORK = CLI_TAKES_KERNEL | CLI_TAKES_PRECISION | CLI_TAKES_WIRE | CLI_TAKES_REPRODUCIBLE
};

extern const cli_option cli_gnn_feature_options[]; /* --features, required */
extern const cli_option cli_gnn_label_options[];   /* --labels, required */
extern const cli_option cli_gnn_network_options[]; /* layers, training, treatment of the graph */
extern const cli_option cli_gnn_set_options[];     /* which rows are used for training */
extern const cli_option cli_gnn_seed_options[];    /* --seed */

/* The description of a model, the model with this name (one of sley_gnn_models()), and the one-line summary
 * of that model. */
sley_gnn_model_info cli_gnn_model_info(sley_gnn_model model);
sley_gnn_model cli_gnn_model_named(const char *name);
const char *cli_gnn_model_summary(const char *name);

/* Names indexed by sley_gnn_optimizer and by sley_gnn_memory; NULL-terminated. */
const char *const *cli_gnn_optimizers(void);
const char *const *cli_gnn_memories(void);

/* Checks the settings beyond the limits in the tables. Returns an exit code; if it is not CLI_DONE, one line
 * has been printed on stderr. */
int cli_gnn_check(const char *command, const cli_gnn_settings *settings, const char *graph);

/* Returns true if the model uses values of the graph, else false after one line on stderr. */
bool cli_gnn_weighs(const char *command, const char *model);

sley_gnn_optimizer cli_gnn_optimizer(const cli_gnn_settings *settings);
cli_gnn_source cli_gnn_source_of(const cli_gnn_settings *settings, const char *graph, int ranks);

/* The network's options. algo, kernel, precision and wire point into the settings, which must outlive the
 * network. */
sley_gnn_options cli_gnn_model_of(const cli_gnn_settings *settings, const cli_gnn_data *data,
                                  sley_gnn_model model);

#endif
