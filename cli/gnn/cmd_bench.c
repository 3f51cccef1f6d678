/* SPDX-License-Identifier: Apache-2.0 */
/* `sley gnn bench`: measures the time of a step of training, and the share of each kind of work.
 *
 * bench.c makes the steps, bench_report.c prints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "gnn/bench_report.h"
#include "gnn/start.h"
#include "options_json.h"
#include "output/output.h"
#include "output/terminal.h"
#include "output/text.h"
#include "ranks/processes.h"
#include "ranks/start.h"

typedef struct bench_settings {
  cli_gnn_settings base; /* must be first: shared tables of options write to it */
  const char *model;
} bench_settings;

#define AT(field) offsetof(bench_settings, field)
static const cli_option own_options[] = {{.name = "model",
                                          .kind = CLI_TEXT,
                                          .value = "LIST",
                                          .offset = AT(model),
                                          .choices = sley_gnn_models,
                                          .also = "all",
                                          .about = cli_gnn_model_summary,
                                          .help = "kinds of layers, separated by commas, or all; N(i): the "
                                                  "columns of the entries of row i; j is in N(i)"},
                                         {0}};
static const cli_option *const options[] = {cli_gnn_feature_options, cli_gnn_label_options, own_options,
                                            cli_gnn_network_options, cli_gnn_seed_options,  NULL};
static const bench_settings defaults = {
    .base = {CLI_GNN_DEFAULTS, .features = "random:64", .labels = "planted:8"},
    .base.common.repeat = 11,
    .base.common.warmup = 3,
    .model = "all"};

/* Index of the model with this name of `length` letters; -1 after one line on stderr. */
static int find_model(const char *word, size_t length) {
  const char *const *names = sley_gnn_models();
  char name[32], suggestion[256];
  for (int i = 0; names[i]; i++)
    if (strlen(names[i]) == length && strncmp(names[i], word, length) == 0)
      return i;
  snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), word);
  cli_suggest(suggestion, sizeof suggestion, name, names);
  cli_error("gnn bench: --model takes all, or names of models: there is no \"%s\"%s", name, suggestion);
  return -1;
}

/* Reads a list such as "gcn,gat", or "all", into one flag per model; repeated names count once. On failure
 * prints one line on stderr and returns false. */
static bool read_models(const char *text, bool *chosen) {
  const bool all = strcmp(text, "all") == 0;
  for (int i = 0; sley_gnn_models()[i]; i++)
    chosen[i] = all;
  while (!all && text) {
    const size_t length = strcspn(text, ",");
    const int model = find_model(text, length);
    if (model < 0)
      return false;
    chosen[model] = true;
    text = text[length] ? text + length + 1 : NULL;
  }
  return true;
}

static int measure(cli_gnn_bench *b, const bench_settings *s, const char *graph) {
  const bool tells = cli_start_reports(&b->ranks);
  const size_t result = sizeof *b->result + (size_t)b->models * sizeof *b->result->at;
  const size_t memory = (size_t)b->models * (size_t)b->ranks.ranks * sizeof *b->bytes;
  int code = CLI_DONE;
  b->result = cli_share(result);
  b->bytes = b->result ? cli_share(memory) : NULL;
  if (!b->bytes) {
    cli_unshare(b->result, result);
    return cli_refuse(SLEY_ERR_MEMORY, "gnn bench: out of memory");
  }
  b->tells = tells;
  const sley_status status = cli_gnn_bench_run(b);
  cli_progress_clear();
  if (status != SLEY_OK)
    code = cli_start_failed(&b->ranks, status, "");
  else if (tells) {
    cli_text text;
    cli_text_start(&text, s->base.common.json);
    cli_gnn_bench_print(b, &s->base, graph, text.stream);
    cli_text_end(&text);
    if (s->base.common.json) {
      json_t *all = cli_gnn_bench_json(b, &s->base, graph);
      cli_options_json(&cli_gnn_bench_command, s, all);
      if (!cli_output_json(s->base.common.json, all))
        code = CLI_FAILED;
    }
  }
  cli_gnn_layouts_free(&b->layouts);
  cli_unshare(b->bytes, memory);
  cli_unshare(b->result, result);
  return code;
}

/* The chosen models; heads: at least one has heads; dense_x: at least one needs dense features. */
typedef struct chosen_models {
  bool *chosen; /* one flag per model */
  bool heads, dense_x;
} chosen_models;

static int check_models(const bench_settings *s, chosen_models *m) {
  if (!read_models(s->model, m->chosen))
    return CLI_USAGE;
  for (int i = 0; sley_gnn_models()[i]; i++) {
    const sley_gnn_model_info info = cli_gnn_model_info((sley_gnn_model)i);
    if (!m->chosen[i])
      continue;
    if (s->base.weights && !cli_gnn_weighs("gnn bench", info.name))
      return CLI_USAGE;
    m->heads |= info.heads;
    m->dense_x |= !info.sparse_x;
  }
  return CLI_DONE;
}

static int bench(cli_gnn_bench *b, const bench_settings *s, const char *graph, chosen_models *m) {
  cli_gnn_data data;
  int code = check_models(s, m);
  if (code == CLI_DONE)
    code = cli_gnn_check("gnn bench", &s->base, graph);
  if (code == CLI_DONE)
    code = cli_start(&s->base.common, &b->ranks);
  if (code != CLI_DONE)
    return code;
  cli_gnn_source source = cli_gnn_source_of(&s->base, graph, b->ranks.ranks);
  source.dense = m->dense_x;
  code = cli_gnn_read(&source, &data);
  b->data = &data;
  for (int i = 0; sley_gnn_models()[i] && code == CLI_DONE; i++)
    if (m->chosen[i])
      b->model[b->models++] = cli_gnn_model_of(&s->base, &data, (sley_gnn_model)i);
  if (code == CLI_DONE) {
    cli_gnn_say_idle("gnn bench", &s->base, m->heads, b->ranks.ranks);
    code = measure(b, s, graph);
  }
  cli_gnn_data_free(&data);
  return code;
}

static int run(void *settings, char **positionals) {
  const bench_settings *s = settings;
  size_t models = 0;
  while (sley_gnn_models()[models])
    models++;
  chosen_models m = {.chosen = calloc(models, sizeof *m.chosen)};
  cli_gnn_bench b = {.model = calloc(models, sizeof *b.model),
                     .rate = s->base.rate,
                     .decay = s->base.decay,
                     .optimizer = cli_gnn_optimizer(&s->base),
                     .order = s->base.common.order,
                     .seed = s->base.common.seed,
                     .repeat = s->base.common.repeat,
                     .warmup = s->base.common.warmup};
  const int code = m.chosen && b.model ? bench(&b, s, positionals[0], &m)
                                       : cli_refuse(SLEY_ERR_MEMORY, "gnn bench: out of memory");
  free(b.model);
  free(m.chosen);
  return code;
}

const cli_command cli_gnn_bench_command = {
    .name = "gnn bench",
    .summary = "measure the time of a training step, and the share of each kind of work",
    .arguments = "GRAPH",
    .positionals = 1,
    .options = options,
    .common = CLI_GNN_COMMON | CLI_GNN_NETWORK | CLI_TAKES_REPEAT | CLI_TAKES_WARMUP,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes =
        "Some steps are timed as a whole, others are split: these wait after each operation, so that nothing "
        "overlaps, and the report compares both. Times of work are means over the ranks; slowest rank: the "
        "time of the rank that spent the most.\n"
        "exchange: moving rows between ranks and waiting for them, and sums over ranks; spmm: sums and "
        "maxima over entries; other: activations, sums of columns, dropout and the rest.\n"
        "Example: sley gnn bench er:n=20000,nnz=200000 --model gcn,gat --ranks 2\n"
        "Exit status: 0 done, 1 a failure, 2 wrong usage or input, 130 interrupted.\n",
    .run = run,
    .mode = &cli_gnn_infer_command};
