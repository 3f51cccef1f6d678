/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the state of a training. */
#include "gnn/state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gnn/options.h"
#include "gnn/print.h"

enum { FIGURES = 4, NAME_ROOM = 128, VERSION = 2 }; /* FIGURES: per epoch */

typedef struct cli_gnn_kept_array {
  char name[NAME_ROOM];
  int64_t rows, cols;
  float *value;
} kept_array;

sley_status cli_gnn_kept_open(const sley_gnn *gnn, cli_gnn_kept *out) {
  int count = 0;
  sley_status status = sley_gnn_parameters(gnn, &count);
  *out = (cli_gnn_kept){.epoch = -1};
  out->array = calloc((size_t)count + 1, sizeof *out->array);
  if (!out->array)
    return SLEY_ERR_MEMORY;
  for (int i = 0; i < count && status == SLEY_OK; i++) {
    sley_gnn_parameter p;
    kept_array *a = &out->array[out->count++];
    status = sley_gnn_parameter_get(gnn, i, &p);
    if (status != SLEY_OK)
      break;
    snprintf(a->name, sizeof a->name, CLI_GNN_BEST "%s", p.name);
    a->rows = p.rows;
    a->cols = p.cols;
    a->value = malloc((size_t)(p.rows * p.cols) * sizeof *a->value + 1);
    if (!a->value)
      status = SLEY_ERR_MEMORY;
  }
  return status;
}

sley_status cli_gnn_keep(cli_gnn_kept *kept, sley_comm *comm, const sley_gnn *gnn, int64_t epoch) {
  for (int i = 0; i < kept->count; i++) {
    const kept_array *a = &kept->array[i];
    sley_gnn_parameter p;
    sley_status status = sley_gnn_parameter_get(gnn, i, &p);
    if (status == SLEY_OK)
      status =
          sley_comm_copy(comm, a->value, p.value, a->rows * a->cols * (int64_t)sizeof(float), SLEY_TO_HOST);
    if (status != SLEY_OK)
      return status;
  }
  kept->epoch = epoch;
  return SLEY_OK;
}

static sley_status wrong(const char *path, const char *name, cli_gnn_message *message) {
  snprintf(message->text, sizeof message->text, "%s: the array %s has values that it cannot have", path,
           name);
  return SLEY_ERR_INPUT;
}

/* Reads the array `name` of a file, which must have this shape. cols SLEY_VECTOR: one dimension; rows -1: any
 * number of rows, returned in *found. */
static sley_status read_array(const char *path, const char *name, sley_type type, int64_t rows, int64_t cols,
                              int64_t *found, void **data, cli_gnn_message *message) {
  int64_t has_rows, has_cols;
  const sley_status status = sley_array_read(path, name, type, &has_rows, &has_cols, data);
  if (status != SLEY_OK)
    return status;
  *found = has_rows;
  if ((rows < 0 || has_rows == rows) && has_cols == cols)
    return SLEY_OK;
  sley_buffer_free(*data);
  *data = NULL;
  snprintf(message->text, sizeof message->text, "%s: the array %s has a shape that it cannot have", path,
           name);
  return SLEY_ERR_INPUT;
}

static sley_status read_whole(const char *path, const char *name, int64_t *out, cli_gnn_message *message) {
  int64_t found;
  void *data = NULL;
  const sley_status status = read_array(path, name, SLEY_TYPE_I64, 1, SLEY_VECTOR, &found, &data, message);
  if (status == SLEY_OK)
    *out = *(int64_t *)data;
  sley_buffer_free(data);
  return status;
}

sley_status cli_gnn_keep_from(cli_gnn_kept *kept, const char *path, cli_gnn_message *message) {
  int64_t found;
  sley_status status = read_whole(path, CLI_GNN_BEST "epoch", &kept->epoch, message);
  if (status == SLEY_OK && kept->epoch < -1)
    status = wrong(path, CLI_GNN_BEST "epoch", message);
  for (int i = 0; i < kept->count && status == SLEY_OK && kept->epoch >= 0; i++) {
    kept_array *a = &kept->array[i];
    void *data = NULL;
    status = read_array(path, a->name, SLEY_TYPE_F32, a->rows, a->cols, &found, &data, message);
    for (int64_t n = 0; status == SLEY_OK && n < a->rows * a->cols; n++)
      if (!isfinite(((const float *)data)[n]))
        status = wrong(path, a->name, message);
    if (status == SLEY_OK)
      memcpy(a->value, data, (size_t)(a->rows * a->cols) * sizeof(float));
    sley_buffer_free(data);
  }
  return status;
}

sley_status cli_gnn_weights_finite(sley_comm *comm, const sley_gnn *gnn, char *text, size_t room,
                                   bool *finite) {
  int count = 0;
  sley_status status = sley_gnn_parameters(gnn, &count);
  *finite = true;
  for (int i = 0; i < count && status == SLEY_OK && *finite; i++) {
    sley_gnn_parameter p;
    status = sley_gnn_parameter_get(gnn, i, &p);
    if (status != SLEY_OK)
      break;
    const size_t bytes = (size_t)(p.rows * p.cols) * sizeof(float);
    float *value = malloc(bytes + 1);
    status = value ? sley_comm_copy(comm, value, p.value, (int64_t)bytes, SLEY_TO_HOST) : SLEY_ERR_MEMORY;
    for (int64_t n = 0; status == SLEY_OK && n < p.rows * p.cols && *finite; n++)
      if (!isfinite(value[n])) {
        *finite = false;
        snprintf(text, room, "%s, row %" PRId64 ", column %" PRId64 ", is %g", p.name, n / p.cols + 1,
                 n % p.cols + 1, value[n]);
      }
    free(value);
  }
  return status;
}

void cli_gnn_kept_close(cli_gnn_kept *kept) {
  for (int i = 0; i < kept->count; i++)
    free(kept->array[i].value);
  free(kept->array);
  *kept = (cli_gnn_kept){0};
}

/* ---- the description of a training */

/* For each setting: its array in the file ("": stored by the network itself), its option, and the names of
 * its values. Flags have no names. */
static const struct {
  const char *array, *option;
  const char *const *(*words)(void);
  bool flag, real;
} settings[CLI_GNN_SETTINGS] = {
    [CLI_GNN_RATE] = {"rate", "rate", .real = true},
    [CLI_GNN_DECAY] = {"decay", "decay", .real = true},
    [CLI_GNN_DROPOUT] = {"", "dropout", .real = true},
    [CLI_GNN_SEED] = {"", "seed"},
    [CLI_GNN_MODEL] = {"", "model", .words = sley_gnn_models},
    [CLI_GNN_LAYERS] = {"", "layers"},
    [CLI_GNN_HIDDEN] = {"", "hidden"},
    [CLI_GNN_HEADS] = {"", "heads"},
    [CLI_GNN_OPTIMIZER] = {"optimizer", "optimizer", .words = cli_gnn_optimizers},
    [CLI_GNN_UNDIRECTED] = {"undirected", "undirected", .flag = true},
    [CLI_GNN_NORMALIZE] = {"normalize", "normalize", .flag = true},
    [CLI_GNN_WEIGHTS] = {"weights", "weights", .flag = true},
    [CLI_GNN_REPRODUCIBLE] = {"reproducible", "reproducible", .flag = true},
    [CLI_GNN_TF32] = {"precision", "precision", .words = cli_precisions},
    [CLI_GNN_MEMORY] = {"memory", "memory", .words = cli_gnn_memories},
    [CLI_GNN_WIRE] = {"wire", "wire", .words = sley_wires},
    [CLI_GNN_BATCH] = {"batch", "batch"},
    [CLI_GNN_DRAWN] = {"drawn.train", NULL},
    [CLI_GNN_DRAWN_VALID] = {"drawn.valid", NULL},
    [CLI_GNN_DRAWN_SEED] = {"drawn.seed", NULL},
};

static int number_of(const char *const *words, const char *word) {
  const int number = word ? cli_number_of(word, words) : 0;
  return number < 0 ? 0 : number;
}

static void take_model(const sley_gnn_options *model, double *setting) {
  setting[CLI_GNN_DROPOUT] = model->dropout;
  setting[CLI_GNN_SEED] = (double)model->seed;
  setting[CLI_GNN_MODEL] = model->model;
  setting[CLI_GNN_LAYERS] = model->layers;
  setting[CLI_GNN_HIDDEN] = (double)model->hidden;
  setting[CLI_GNN_HEADS] = cli_gnn_model_info(model->model).heads ? (double)model->heads : 0;
}

sley_status cli_gnn_facts_of(const cli_gnn_training *t, int64_t train, int64_t valid, cli_gnn_facts *out) {
  const cli_gnn_data *data = t->data;
  const bool drawn = data->split.seed >= 0;
  double *s = out->setting;
  *out = (cli_gnn_facts){.graph = data->graph_print, .features = data->feature_print};
  take_model(&t->model, s);
  s[CLI_GNN_RATE] = t->rate;
  s[CLI_GNN_DECAY] = t->decay;
  s[CLI_GNN_OPTIMIZER] = t->optimizer;
  s[CLI_GNN_UNDIRECTED] = data->undirected;
  s[CLI_GNN_NORMALIZE] = data->normalized;
  s[CLI_GNN_WEIGHTS] = data->weights;
  s[CLI_GNN_REPRODUCIBLE] = t->model.reproducible;
  s[CLI_GNN_TF32] = number_of(cli_precisions(), t->model.precision);
  s[CLI_GNN_MEMORY] = t->model.memory;
  s[CLI_GNN_WIRE] = number_of(sley_wires(), t->model.wire);
  s[CLI_GNN_BATCH] = t->sampling.words ? (double)t->sampling.batch : 0;
  s[CLI_GNN_DRAWN] = drawn ? (double)train : -1;
  s[CLI_GNN_DRAWN_VALID] = drawn ? (double)valid : -1;
  s[CLI_GNN_DRAWN_SEED] = (double)data->split.seed;
  for (int hop = 0; hop < t->sampling.hops; hop++)
    out->fan_out[hop] = t->sampling.fan_out[hop];
  const sley_status status = cli_gnn_print_labels(data, &out->labels);
  return status == SLEY_OK ? cli_gnn_print_split(data, &data->split, &out->split) : status;
}

static void append(char *text, size_t room, const char *more) {
  const size_t used = strlen(text);
  snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "", more);
}

static void print_setting(int number, double value, char *text, size_t room) {
  if (settings[number].words)
    snprintf(text, room, "%s", settings[number].words()[(int)value]);
  else
    snprintf(text, room, "%.12g", value);
}

void cli_gnn_settings_differ(const cli_gnn_facts *state, const cli_gnn_facts *now, char *text, size_t room) {
  char one[160], had[40], has[40];
  for (int i = 0; i < CLI_GNN_SETTINGS; i++) {
    const char *option = settings[i].option;
    if (!option || state->setting[i] == now->setting[i])
      continue;
    print_setting(i, state->setting[i], had, sizeof had);
    print_setting(i, now->setting[i], has, sizeof has);
    if (settings[i].flag)
      snprintf(one, sizeof one, "it was %s --%s", state->setting[i] != 0 ? "with" : "without", option);
    else
      snprintf(one, sizeof one, "--%s was %s and is %s", option, had, has);
    append(text, room, one);
  }
  if (memcmp(state->fan_out, now->fan_out, sizeof now->fan_out) != 0)
    append(text, room, "--sample was another");
}

void cli_gnn_data_differ(const cli_gnn_facts *state, const cli_gnn_facts *now, bool labels, bool split,
                         char *text, size_t room) {
  if (!cli_gnn_print_same(&state->graph, &now->graph))
    append(text, room, "the graph is another");
  if (!cli_gnn_print_same(&state->features, &now->features))
    append(text, room, "the features are others");
  if (labels && !cli_gnn_print_same(&state->labels, &now->labels))
    append(text, room, "the labels are others");
  if (split && !cli_gnn_print_same(&state->split, &now->split))
    append(text, room, "the split is another");
}

/* ---- the file */

static double *figures_of(const cli_gnn_result *r) {
  double *out = malloc((size_t)r->done * FIGURES * sizeof *out + 1);
  for (int64_t i = 0; out && i < r->done; i++) {
    const cli_gnn_epoch *e = &r->epoch[i];
    const double figures[FIGURES] = {e->loss, e->right[CLI_GNN_TRAIN], e->right[CLI_GNN_VALID],
                                     e->right[CLI_GNN_TEST]};
    memcpy(out + i * FIGURES, figures, sizeof figures);
  }
  return out;
}

static float *sets_of(const cli_gnn_data *data) {
  float *out = malloc((size_t)data->rows * sizeof *out + 1);
  for (int64_t i = 0; out && i < data->rows; i++)
    out[i] = data->split.set[i];
  return out;
}

/* The arrays to be written, and the numbers that some of them point to. */
typedef struct written {
  sley_array *more;
  int count;
  int64_t version, whole[CLI_GNN_SETTINGS];
} written;

static void add(written *w, const char *name, sley_type type, int64_t rows, int64_t cols, const void *data) {
  w->more[w->count++] = (sley_array){name, type, rows, cols, data};
}

static void add_facts(written *w, const cli_gnn_facts *facts) {
  w->version = VERSION;
  add(w, "state", SLEY_TYPE_I64, 1, SLEY_VECTOR, &w->version);
  add(w, "fingerprint.graph", SLEY_TYPE_I64, CLI_GNN_PRINT, SLEY_VECTOR, facts->graph.word);
  add(w, "fingerprint.features", SLEY_TYPE_I64, CLI_GNN_PRINT, SLEY_VECTOR, facts->features.word);
  add(w, "fingerprint.labels", SLEY_TYPE_I64, CLI_GNN_PRINT, SLEY_VECTOR, facts->labels.word);
  add(w, "fingerprint.split", SLEY_TYPE_I64, CLI_GNN_PRINT, SLEY_VECTOR, facts->split.word);
  for (int i = 0; i < CLI_GNN_SETTINGS; i++) {
    w->whole[i] = (int64_t)facts->setting[i];
    if (*settings[i].array && settings[i].real)
      add(w, settings[i].array, SLEY_TYPE_F64, 1, SLEY_VECTOR, &facts->setting[i]);
    else if (*settings[i].array)
      add(w, settings[i].array, SLEY_TYPE_I64, 1, SLEY_VECTOR, &w->whole[i]);
  }
  add(w, "sample", SLEY_TYPE_I64, CLI_GNN_MOST_HOPS, SLEY_VECTOR, facts->fan_out);
}

sley_status cli_gnn_state_write(sley_gnn *gnn, const char *path, const cli_gnn_training *t,
                                const cli_gnn_kept *kept) {
  enum { OTHERS = CLI_GNN_SETTINGS + 16 };
  if (!kept) /* only rank 0 has kept weights */
    return sley_gnn_save(gnn, path, NULL, 0);
  double *figures = figures_of(t->result);
  float *sets = sets_of(t->data);
  written w = {.more = malloc((size_t)(OTHERS + kept->count) * sizeof *w.more)};
  if (figures && sets && w.more) {
    add_facts(&w, t->facts);
    add(&w, "split", SLEY_TYPE_F32, t->data->rows, SLEY_VECTOR, sets);
    add(&w, "epochs", SLEY_TYPE_F64, t->result->done, FIGURES, figures);
    add(&w, CLI_GNN_BEST "epoch", SLEY_TYPE_I64, 1, SLEY_VECTOR, &kept->epoch);
    for (int i = 0; i < kept->count && kept->epoch >= 0; i++) {
      const kept_array *a = &kept->array[i];
      add(&w, a->name, SLEY_TYPE_F32, a->rows, a->cols, a->value);
    }
  }
  /* sley_gnn_save is called even if memory is short, because other ranks wait in it. Then path is NULL, and
   * it returns an error. */
  const sley_status status = sley_gnn_save(gnn, w.count > 0 ? path : NULL, w.more, w.count);
  free(w.more);
  free(sets);
  free(figures);
  return status;
}

/* ---- reading */

/* Reads a vector of whole numbers. */
static sley_status read_vector(const char *path, const char *name, int64_t count, int64_t *out,
                               cli_gnn_message *message) {
  int64_t found;
  void *data = NULL;
  const sley_status status =
      read_array(path, name, SLEY_TYPE_I64, count, SLEY_VECTOR, &found, &data, message);
  if (status == SLEY_OK)
    memcpy(out, data, (size_t)count * sizeof *out);
  sley_buffer_free(data);
  return status;
}

static sley_status read_setting(const char *path, int number, double *out, cli_gnn_message *message) {
  const char *name = settings[number].array;
  int64_t found, whole = 0;
  void *data = NULL;
  if (!settings[number].real) {
    sley_status status = read_whole(path, name, &whole, message);
    int words = 0;
    while (settings[number].words && settings[number].words()[words])
      words++;
    if (status == SLEY_OK &&
        (whole < -1 || whole > INT32_MAX || (words > 0 && (whole < 0 || whole >= words))))
      status = wrong(path, name, message);
    *out = (double)whole;
    return status;
  }
  const sley_status status = read_array(path, name, SLEY_TYPE_F64, 1, SLEY_VECTOR, &found, &data, message);
  if (status == SLEY_OK)
    *out = *(double *)data;
  sley_buffer_free(data);
  return status;
}

static sley_status read_split(const char *path, cli_gnn_state *out, cli_gnn_message *message) {
  void *data = NULL;
  sley_status status = read_array(path, "split", SLEY_TYPE_F32, -1, SLEY_VECTOR, &out->rows, &data, message);
  const float *sets = data;
  out->split.set = status == SLEY_OK ? calloc((size_t)out->rows + 1, 1) : NULL;
  if (status == SLEY_OK && !out->split.set)
    status = SLEY_ERR_MEMORY;
  for (int64_t i = 0; status == SLEY_OK && i < out->rows; i++) {
    if (!(sets[i] >= 0 && sets[i] <= CLI_GNN_SPENT) || sets[i] != floorf(sets[i]))
      return sley_buffer_free(data), wrong(path, "split", message);
    out->split.set[i] = (uint8_t)sets[i];
    if (out->split.set[i] < CLI_GNN_SETS)
      out->split.count[out->split.set[i]]++;
  }
  out->split.seed = (int64_t)out->facts.setting[CLI_GNN_DRAWN_SEED];
  sley_buffer_free(data);
  return status;
}

/* Checks the version. Old states have none, which counts as version 1. */
static sley_status read_version(const char *path, cli_gnn_message *message) {
  int64_t version = 1;
  sley_status status = read_whole(path, "state", &version, message);
  if (status == SLEY_OK && version == VERSION)
    return SLEY_OK;
  if (status == SLEY_OK || (status == SLEY_ERR_INPUT && strstr(sley_last_error(), "the archive has no"))) {
    snprintf(message->text, sizeof message->text,
             "%s: a state of version %" PRId64 ", and this sley reads version %d%s", path, version, VERSION,
             version < VERSION
                 ? ": it does not say what it was trained on, so nothing can be checked: train anew"
                 : "");
    return SLEY_ERR_INPUT;
  }
  return status;
}

sley_status cli_gnn_state_read(const char *path, cli_gnn_state *out, cli_gnn_message *message) {
  cli_gnn_facts *facts = &out->facts;
  *out = (cli_gnn_state){0};
  sley_status status = sley_gnn_options_read(path, &out->model);
  if (status == SLEY_OK)
    status = read_version(path, message);
  if (status != SLEY_OK)
    return status;
  take_model(&out->model, facts->setting);
  for (int i = 0; i < CLI_GNN_SETTINGS && status == SLEY_OK; i++)
    if (*settings[i].array)
      status = read_setting(path, i, &facts->setting[i], message);
  const struct {
    const char *name;
    cli_gnn_print *to;
  } prints[] = {{"fingerprint.graph", &facts->graph},
                {"fingerprint.features", &facts->features},
                {"fingerprint.labels", &facts->labels},
                {"fingerprint.split", &facts->split}};
  for (size_t i = 0; i < sizeof prints / sizeof *prints && status == SLEY_OK; i++)
    status = read_vector(path, prints[i].name, CLI_GNN_PRINT, prints[i].to->word, message);
  if (status == SLEY_OK)
    status = read_vector(path, "sample", CLI_GNN_MOST_HOPS, facts->fan_out, message);
  return status == SLEY_OK ? read_split(path, out, message) : status;
}

void cli_gnn_state_free(cli_gnn_state *state) {
  free(state->split.set);
  *state = (cli_gnn_state){0};
}

sley_status cli_gnn_state_epochs(const char *path, int64_t *count, cli_gnn_epoch **out,
                                 cli_gnn_message *message) {
  void *data = NULL;
  sley_status status = read_array(path, "epochs", SLEY_TYPE_F64, -1, FIGURES, count, &data, message);
  if (status != SLEY_OK)
    return status;
  const double *figures = data;
  *out = calloc((size_t)*count + 1, sizeof **out);
  for (int64_t i = 0; *out && i < *count; i++) {
    const double *f = figures + i * FIGURES;
    (*out)[i] =
        (cli_gnn_epoch){.loss = f[0],
                        .right = {[CLI_GNN_TRAIN] = f[1], [CLI_GNN_VALID] = f[2], [CLI_GNN_TEST] = f[3]},
                        .ms = NAN};
  }
  sley_buffer_free(data);
  return *out ? SLEY_OK : SLEY_ERR_MEMORY;
}
