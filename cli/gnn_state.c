/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a training as a file. */
#include "gnn_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  FIGURES = 4,
  NAME_ROOM = 128,
  OTHERS = 4
}; /* FIGURES of an epoch; OTHERS: arrays beside the weights */

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

/* The array `name` of a file, of that shape, cols SLEY_VECTOR for one dimension; rows -1: of any length. */
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
  for (int i = 0; i < kept->count && status == SLEY_OK && kept->epoch >= 0; i++) {
    kept_array *a = &kept->array[i];
    void *data = NULL;
    status = read_array(path, a->name, SLEY_TYPE_F32, a->rows, a->cols, &found, &data, message);
    if (status == SLEY_OK)
      memcpy(a->value, data, (size_t)(a->rows * a->cols) * sizeof(float));
    sley_buffer_free(data);
  }
  return status;
}

void cli_gnn_kept_close(cli_gnn_kept *kept) {
  for (int i = 0; i < kept->count; i++)
    free(kept->array[i].value);
  free(kept->array);
  *kept = (cli_gnn_kept){0};
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

sley_status cli_gnn_state_write(sley_gnn *gnn, const char *path, const cli_gnn_training *t,
                                const cli_gnn_kept *kept) {
  if (!kept) /* not rank 0 */
    return sley_gnn_save(gnn, path, NULL, 0);
  const int64_t undirected = t->data->undirected, normalize = t->data->normalized;
  double *figures = figures_of(t->result);
  sley_array *more = malloc((size_t)(OTHERS + kept->count) * sizeof *more);
  int count = 0;
  if (figures && more) {
    more[count++] = (sley_array){"epochs", SLEY_TYPE_F64, t->result->done, FIGURES, figures};
    more[count++] = (sley_array){"undirected", SLEY_TYPE_I64, 1, SLEY_VECTOR, &undirected};
    more[count++] = (sley_array){"normalize", SLEY_TYPE_I64, 1, SLEY_VECTOR, &normalize};
    more[count++] = (sley_array){CLI_GNN_BEST "epoch", SLEY_TYPE_I64, 1, SLEY_VECTOR, &kept->epoch};
    for (int i = 0; i < kept->count && kept->epoch >= 0; i++) {
      const kept_array *a = &kept->array[i];
      more[count++] = (sley_array){a->name, SLEY_TYPE_F32, a->rows, a->cols, a->value};
    }
  }
  /* Without memory the call is made all the same, for other ranks wait in it; it refuses. */
  const sley_status status = sley_gnn_save(gnn, count > 0 ? path : NULL, more, count);
  free(more);
  free(figures);
  return status;
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

sley_status cli_gnn_state_reading(const char *path, bool *undirected, bool *normalize,
                                  cli_gnn_message *message) {
  int64_t first = 0, second = 0;
  sley_status status = read_whole(path, "undirected", &first, message);
  if (status == SLEY_OK)
    status = read_whole(path, "normalize", &second, message);
  *undirected = first != 0;
  *normalize = second != 0;
  return status;
}
