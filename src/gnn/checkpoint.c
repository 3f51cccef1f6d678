/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: parameters, moments, steps and options, stored by name.
 *
 * Version 1: arrays of one integer each (version, model, layers, features, hidden, classes, heads, dtype,
 * seed, step), of one real number each (slope, dropout), and for each parameter NAME, NAME.first,
 * NAME.second. */
#include "gnn/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "io/arrays.h"

enum { VERSION = 1, EACH = 3, NAME_ROOM = SL_ARRAY_NAME };

/* ---- numbers by name */

enum { WHOLE = 10, REAL = 2 };
static const char *const whole_name[WHOLE] = {"version", "model", "layers", "features", "hidden",
                                              "classes", "heads", "dtype",  "seed",     "step"};
static const char *const real_name[REAL] = {"slope", "dropout"};

typedef struct numbers {
  int64_t whole[WHOLE];
  double real[REAL];
} numbers;

static numbers numbers_of(const sley_gnn *gnn) {
  const sley_gnn_options *o = &gnn->options;
  return (numbers){.whole = {VERSION, o->model, o->layers, o->features, o->hidden, o->classes, o->heads,
                             o->dtype, (int64_t)o->seed, *gnn->parameters.step},
                   .real = {o->slope, o->dropout}};
}

static sley_status read_number(sl_arrays *from, const char *name, sley_type type, void *out) {
  int64_t rows, cols;
  void *data = NULL;
  SL_TRY(sl_arrays_read(from, name, type, &rows, &cols, &data));
  sley_status status = SLEY_OK;
  if (rows == 1 && (cols == 1 || cols == SLEY_VECTOR))
    memcpy(out, data, sizeof(int64_t));
  else
    status = sl_fail(SLEY_ERR_INPUT, "%s: %s is not one number", from->input.name, name);
  sl_free(data);
  return status;
}

static sley_status read_numbers(sl_arrays *from, numbers *out) {
  for (int i = 0; i < WHOLE; i++)
    SL_TRY(read_number(from, whole_name[i], SLEY_TYPE_I64, &out->whole[i]));
  if (out->whole[0] != VERSION)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "%s: version %" PRId64 " of checkpoints: this library reads version %d", from->input.name,
                   out->whole[0], VERSION);
  for (int i = 0; i < REAL; i++)
    SL_TRY(read_number(from, real_name[i], SLEY_TYPE_F64, &out->real[i]));
  return SLEY_OK;
}

static sley_status options_of(const numbers *n, const char *path, sley_gnn_options *out) {
  const int64_t *w = n->whole;
  if (!sl_layer_kind_of(w[1]) || w[2] < 1 || w[2] > SL_MOST_PARAMETERS || w[3] < 0 || w[4] < 1 || w[5] < 1 ||
      w[6] < 1 || w[7] < 0 || w[7] > SLEY_BF16 || w[9] < 0)
    return sl_fail(SLEY_ERR_INPUT, "%s: its numbers are of no network", path);
  *out = (sley_gnn_options)SLEY_GNN_OPTIONS_INIT;
  out->model = (sley_gnn_model)w[1];
  out->layers = (int)w[2];
  out->features = w[3];
  out->hidden = w[4];
  out->classes = w[5];
  out->heads = w[6];
  out->dtype = (sley_dtype)w[7];
  out->seed = (uint64_t)w[8];
  out->slope = n->real[0];
  out->dropout = n->real[1];
  return SLEY_OK;
}

/* Refuses damaged numbers: each layer has a matrix of its input width times its output width, which must fit
 * in the file. */
static sley_status check_widths(sl_arrays *from, const sley_gnn_options *o) {
  const int64_t values = sl_archive_claimed(&from->archive) / (int64_t)sley_dtype_bytes(o->dtype);
  bool fit = sl_network_widths_fit(o);
  for (int i = 0; i < o->layers && fit; i++) {
    const int64_t in = sl_network_width(o, i - 1), out = sl_network_width(o, i);
    fit = in == 0 || out <= values / in;
  }
  return fit ? SLEY_OK
             : sl_fail(SLEY_ERR_INPUT, "%s: its numbers are of a network larger than the file",
                       from->input.name);
}

sley_status sl_network_options(const char *path, sley_gnn_options *out) {
  sl_arrays from;
  numbers n;
  SL_TRY(sl_arrays_open(path, &from));
  sley_status status;
  SL_TRY_GOTO(status, read_numbers(&from, &n), done);
  SL_TRY_GOTO(status, options_of(&n, path, out), done);
  status = check_widths(&from, out);
done:
  sl_arrays_close(&from);
  return status;
}

/* ---- parameters: their values, first and second moments */

static const char *const ending[EACH] = {"", ".first", ".second"};

static void *array_of(const sl_parameters *p, int kind) {
  return kind == 0 ? p->value : kind == 1 ? p->first : p->second;
}

static sley_dtype dtype_of(const sl_parameters *p, int kind) {
  return kind == 0 ? p->dtype : sl_sum_dtype(p->dtype);
}

static int64_t bytes_of(const sl_parameters *p, int kind) {
  return p->values * (int64_t)sley_dtype_bytes(dtype_of(p, kind));
}

/* The arrays written to a file, with the memory that contains them. */
typedef struct saved {
  numbers n;
  void *host[EACH];
  char (*name)[NAME_ROOM];
  sley_array *array;
  int count;
} saved;

static sley_status download(const sl_parameters *p, saved *s) {
  sl_queue *queue = p->comm->queue;
  for (int kind = 0; kind < EACH; kind++) {
    s->host[kind] = sl_alloc(bytes_of(p, kind), 1, "a checkpoint");
    if (!s->host[kind])
      return SLEY_ERR_MEMORY;
    SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, s->host[kind], array_of(p, kind), bytes_of(p, kind)));
  }
  return queue->ops->queue_wait(queue);
}

static void list_arrays(const sl_parameters *p, saved *s, const sley_array *more, int count) {
  for (int i = 0; i < WHOLE; i++)
    s->array[s->count++] = (sley_array){whole_name[i], SLEY_TYPE_I64, 1, SLEY_VECTOR, &s->n.whole[i]};
  for (int i = 0; i < REAL; i++)
    s->array[s->count++] = (sley_array){real_name[i], SLEY_TYPE_F64, 1, SLEY_VECTOR, &s->n.real[i]};
  for (int i = 0; i < p->count; i++)
    for (int kind = 0; kind < EACH; kind++) {
      const sl_parameter *one = &p->one[i];
      const sley_dtype dtype = dtype_of(p, kind);
      char *name = s->name[i * EACH + kind];
      snprintf(name, NAME_ROOM, "%s%s", one->name, ending[kind]);
      s->array[s->count++] = (sley_array){name, (sley_type)dtype, one->rows, one->cols,
                                          (char *)s->host[kind] + one->at * (int64_t)sley_dtype_bytes(dtype)};
    }
  for (int i = 0; i < count; i++)
    s->array[s->count++] = more[i];
}

static sley_status save(sley_gnn *gnn, const char *path, const sley_array *more, int count) {
  const sl_parameters *p = &gnn->parameters;
  saved s = {.n = numbers_of(gnn)};
  sley_status status;
  SL_TRY_GOTO(status, download(p, &s), done);
  SL_TRY_GOTO(status, SL_NEW(s.name, p->count * EACH, "a checkpoint"), done);
  SL_TRY_GOTO(status, SL_NEW(s.array, WHOLE + REAL + p->count * EACH + count, "a checkpoint"), done);
  list_arrays(p, &s, more, count);
  status = sl_arrays_write(path, s.array, s.count);
done:
  sl_free(s.array);
  sl_free(s.name);
  for (int kind = 0; kind < EACH; kind++)
    sl_free(s.host[kind]);
  return status;
}

sley_status sl_network_save(sley_gnn *gnn, const char *path, const sley_array *more, int count) {
  return sl_agree_alike(gnn->comm, gnn->comm->rank == 0 ? save(gnn, path, more, count) : SLEY_OK);
}

/* ---- loading */

static sley_status check_network(const sley_gnn *gnn, const char *path, const numbers *n) {
  const numbers own = numbers_of(gnn);
  for (int i = 1; i < WHOLE; i++)
    if (strcmp(whole_name[i], "seed") != 0 && strcmp(whole_name[i], "step") != 0 &&
        n->whole[i] != own.whole[i])
      return sl_fail(SLEY_ERR_ARG, "%s: its %s is %" PRId64 ", but the network's is %" PRId64, path,
                     whole_name[i], n->whole[i], own.whole[i]);
  return SLEY_OK;
}

/* Refuses values that are not finite, with which training cannot succeed. */
static sley_status check_finite(const char *path, const char *name, const void *data, sley_dtype dtype,
                                int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows * cols; i++) {
    const double value = sl_value_at(data, dtype, i);
    if (!isfinite(value))
      return sl_fail(SLEY_ERR_INPUT, "%s: %s, row %" PRId64 ", column %" PRId64 ", is %g", path, name,
                     i / cols + 1, i % cols + 1, value);
  }
  return SLEY_OK;
}

/* Loads one array of a parameter to device memory. */
static sley_status load_one(const sl_parameters *p, sl_arrays *from, const char *prefix, int number,
                            int kind) {
  const sl_parameter *one = &p->one[number];
  const sley_dtype dtype = dtype_of(p, kind);
  const int64_t value = (int64_t)sley_dtype_bytes(dtype);
  sl_queue *queue = p->comm->queue;
  char name[NAME_ROOM];
  int64_t rows, cols;
  void *data = NULL;
  snprintf(name, sizeof name, "%s%s%s", prefix, one->name, ending[kind]);
  SL_TRY(sl_arrays_read(from, name, (sley_type)dtype, &rows, &cols, &data));
  sley_status status = SLEY_OK;
  if (rows != one->rows || cols != one->cols)
    status = sl_fail(SLEY_ERR_INPUT, "%s: %s is not %" PRId64 " x %" PRId64, from->input.name, name,
                     one->rows, one->cols);
  if (status == SLEY_OK)
    status = check_finite(from->input.name, name, data, dtype, rows, cols);
  if (status == SLEY_OK)
    status = queue->ops->copy(queue, SL_COPY_TO_DEVICE, (char *)array_of(p, kind) + one->at * value, data,
                              rows * cols * value);
  if (status == SLEY_OK)
    status = queue->ops->queue_wait(queue);
  sl_free(data);
  return status;
}

static sley_status load(sley_gnn *gnn, const char *path, const char *prefix) {
  sl_parameters *p = &gnn->parameters;
  sl_arrays from;
  numbers n;
  SL_TRY(sl_arrays_open(path, &from));
  sley_status status = read_numbers(&from, &n);
  if (status == SLEY_OK)
    status = check_network(gnn, path, &n);
  for (int kind = 0; kind < (prefix ? 1 : EACH); kind++)
    for (int i = 0; i < p->count && status == SLEY_OK; i++)
      status = load_one(p, &from, prefix ? prefix : "", i, kind);
  sl_arrays_close(&from);
  if (status == SLEY_OK && !prefix)
    *p->step = n.whole[WHOLE - 1];
  return status;
}

sley_status sl_network_load(sley_gnn *gnn, const char *path, const char *prefix) {
  return sl_agree_alike(gnn->comm, load(gnn, path, prefix));
}
