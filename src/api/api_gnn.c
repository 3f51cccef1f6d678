/* SPDX-License-Identifier: Apache-2.0 */
/* Graph networks of the public interface: argument checks. */
#include <math.h>

#include "api/text_number.h"
#include "base/structs.h"
#include "gnn/checkpoint.h"
#include "gnn/network.h"

/* Most bytes of one value of any dtype. */
enum { MOST_BYTES = 8 };

static const double MOST_SLOPE = 1e6;

const char *const *sley_gnn_models(void) {
  return sl_layer_names();
}

sley_status sley_gnn_model_get(sley_gnn_model model, sley_gnn_model_info *out) {
  const sl_layer_kind *kind = sl_layer_kind_of(model);
  if (!kind || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_gnn_model_get: out is NULL, or there is no model %d", (int)model);
  *out = (sley_gnn_model_info){.name = kind->name,
                               .summary = kind->summary,
                               .hops = kind->hops,
                               .sums = kind->sums,
                               .heads = kind->heads,
                               .sparse_x = !kind->dense_x};
  return SLEY_OK;
}

static sley_status check_sizes(const char *call, const sley_gnn_options *o) {
  if (o->layers < 1)
    return sl_fail(SLEY_ERR_ARG, "%s: layers is %d: it must be 1 or more", call, o->layers);
  if (o->layers > SL_MOST_PARAMETERS)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "%s: layers is %d: it must be at most %d", call, o->layers,
                   SL_MOST_PARAMETERS);
  if (o->features < 0 || o->hidden < 1 || o->classes < 1 || o->heads < 1)
    return sl_fail(SLEY_ERR_ARG,
                   "%s: %lld features, %lld hidden, %lld classes, %lld heads: features must be 0 or more, "
                   "the others 1 or more",
                   call, (long long)o->features, (long long)o->hidden, (long long)o->classes,
                   (long long)o->heads);
  if (!sl_network_widths_fit(o))
    return sl_fail(SLEY_ERR_OVERFLOW, "%s: the rows of a layer have 2^31 or more values", call);
  return SLEY_OK;
}

static sley_status check_options(const char *call, const sley_gnn_options *o) {
  const sl_layer_kind *kind = sl_layer_kind_of(o->model);
  if (!kind)
    return sl_fail(SLEY_ERR_ARG, "%s: there is no model %d", call, (int)o->model);
  if (sley_dtype_bytes(o->dtype) == 0)
    return sl_fail(SLEY_ERR_ARG, "%s: there is no dtype %d", call, (int)o->dtype);
  if (!(o->dropout >= 0 && o->dropout < 1))
    return sl_fail(SLEY_ERR_ARG, "%s: dropout is %g: it must be 0 or more and less than 1", call, o->dropout);
  if (!(fabs(o->slope) <= MOST_SLOPE))
    return sl_fail(SLEY_ERR_ARG, "%s: slope is %g: it must be from -%g to %g", call, o->slope, MOST_SLOPE,
                   MOST_SLOPE);
  if ((unsigned)o->memory > SLEY_GNN_BF16)
    return sl_fail(SLEY_ERR_ARG, "%s: there is no kind of memory %d", call, (int)o->memory);
  if (o->memory == SLEY_GNN_BF16 && o->dtype != SLEY_F32)
    return sl_fail(SLEY_ERR_ARG, "%s: memory in bf16 needs a network in f32: choose keep or recompute", call);
  if (o->weights && !kind->sums)
    return sl_fail(SLEY_ERR_ARG, "%s: model %s does not use the values of A: leave the option weights out",
                   call, kind->name);
  return check_sizes(call, o);
}

static sley_status check_block(const char *call, const sl_comm *comm, const sley_matrix *block,
                               const int64_t *row_begin) {
  sley_matrix_info info;
  if (!block || !row_begin)
    return sl_fail(SLEY_ERR_ARG, "%s: block or row_begin is NULL", call);
  SL_TRY(sley_matrix_info_get(block, &info));
  const int64_t rows = row_begin[comm->rank + 1] - row_begin[comm->rank];
  if (info.rows != rows || info.cols != row_begin[comm->size])
    return sl_fail(
        SLEY_ERR_ARG,
        "%s: block has %lld rows and %lld columns, but row_begin requires %lld rows and %lld columns", call,
        (long long)info.rows, (long long)info.cols, (long long)rows, (long long)row_begin[comm->size]);
  return SLEY_OK;
}

static sley_status check_x(const char *call, const sley_matrix *block, const sley_gnn_options *o) {
  sley_matrix_info info, rows;
  if (!o->x)
    return SLEY_OK;
  const sl_layer_kind *kind = sl_layer_kind_of(o->model);
  if (kind->dense_x)
    return sl_fail(SLEY_ERR_ARG, "%s: x is sparse, but model %s needs dense rows", call, kind->name);
  SL_TRY(sley_matrix_info_get(o->x, &info));
  SL_TRY(sley_matrix_info_get(block, &rows));
  if (info.rows != rows.rows || info.cols != o->features || info.dtype != o->dtype)
    return sl_fail(SLEY_ERR_ARG,
                   "%s: x is %lld x %lld: it must be %lld x %lld (this rank's rows and the features), in the "
                   "network's dtype",
                   call, (long long)info.rows, (long long)info.cols, (long long)rows.rows,
                   (long long)o->features);
  return SLEY_OK;
}

/* Checks that all ranks pass the same options. Collective. */
static sley_status check_same(const char *call, sl_comm *comm, const sley_gnn_options *o) {
  static const char *const name[] = {"model",     "layers", "features", "hidden",          "classes",
                                     "heads",     "dtype",  "seed",     "slope",           "reproducible",
                                     "dropout",   "algo",   "wire",     "same_x",          "kernel",
                                     "precision", "memory", "weights",  "x, sparse or not"};
  const int64_t given[] = {o->model,
                           o->layers,
                           o->features,
                           o->hidden,
                           o->classes,
                           o->heads,
                           o->dtype,
                           (int64_t)o->seed,
                           (int64_t)(o->slope * 0x1p40),
                           o->reproducible,
                           (int64_t)(o->dropout * 0x1p52),
                           sl_text_number(o->algo, "auto"),
                           sl_text_number(o->wire, "none"),
                           o->same_x,
                           sl_text_number(o->kernel, "auto"),
                           sl_text_number(o->precision, "full"),
                           o->memory,
                           o->weights != 0,
                           o->x != NULL};
  return sl_agree_same(comm, call, name, given, (int)(sizeof given / sizeof *given));
}

sley_status sley_gnn_create(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                            const sley_gnn_options *options, sley_gnn **out) {
  static const char call[] = "sley_gnn_create";
  sley_gnn_options chosen = SLEY_GNN_OPTIONS_INIT;
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "%s: comm is NULL", call);
  sley_status status = sl_struct_take("sley_gnn_options", options, sizeof chosen, &chosen);
  if (status == SLEY_OK && !out)
    status = sl_fail(SLEY_ERR_ARG, "%s: out is NULL", call);
  if (status == SLEY_OK)
    status = check_options(call, &chosen);
  if (status == SLEY_OK)
    status = check_block(call, comm, block, row_begin);
  if (status == SLEY_OK)
    status = check_x(call, block, &chosen);
  SL_TRY(sl_agree(comm, status));
  SL_TRY(check_same(call, comm, &chosen));
  return sl_network_create(comm, block, row_begin, &chosen, NULL, out);
}

sley_status sley_gnn_create_shared(const sley_gnn *of, const sley_matrix *block, const int64_t *row_begin,
                                   sley_gnn **out) {
  static const char call[] = "sley_gnn_create_shared";
  if (!of)
    return sl_fail(SLEY_ERR_ARG, "%s: of is NULL", call);
  sley_status status = out ? SLEY_OK : sl_fail(SLEY_ERR_ARG, "%s: out is NULL", call);
  if (status == SLEY_OK)
    status = check_block(call, of->comm, block, row_begin);
  SL_TRY(sl_agree(of->comm, status));
  return sl_network_create(of->comm, block, row_begin, &of->options, of, out);
}

sley_status sley_gnn_parameters(const sley_gnn *gnn, int *count) {
  if (!gnn || !count)
    return sl_fail(SLEY_ERR_ARG, "sley_gnn_parameters: gnn or count is NULL");
  *count = gnn->parameters.count;
  return SLEY_OK;
}

sley_status sley_gnn_parameter_get(const sley_gnn *gnn, int number, sley_gnn_parameter *out) {
  if (!gnn || !out || number < 0 || number >= gnn->parameters.count)
    return sl_fail(SLEY_ERR_ARG, "sley_gnn_parameter_get: gnn or out is NULL, or there is no parameter %d",
                   number);
  const sl_rows value = sl_parameter_value(&gnn->parameters, number);
  *out = (sley_gnn_parameter){.name = gnn->parameters.one[number].name,
                              .rows = value.rows,
                              .cols = value.cols,
                              .value = value.data,
                              .grad = sl_parameter_grad(&gnn->parameters, number).data};
  return SLEY_OK;
}

/* Takes and checks the caller's batch. */
static sley_status take_batch(const char *call, const sley_gnn *gnn, const sley_gnn_batch *given, bool labels,
                              sley_gnn_batch *out, sl_rows *x) {
  const int64_t rows = gnn->rows, features = gnn->options.features;
  SL_TRY(sl_struct_take("sley_gnn_batch", given, sizeof *out, out));
  if (gnn->sparse)
    out->ldx = features;
  else if (out->ldx < features || (rows > 0 && features > 0 && !out->x))
    return sl_fail(SLEY_ERR_ARG, "%s: x is NULL, or ldx is %lld, less than %lld features", call,
                   (long long)out->ldx, (long long)features);
  if (out->ldx > INT64_MAX / MOST_BYTES / (rows + 1))
    return sl_fail(SLEY_ERR_OVERFLOW, "%s: x has more than 2^63 bytes", call);
  if ((unsigned)out->optimizer > SLEY_GNN_SGD)
    return sl_fail(SLEY_ERR_ARG, "%s: there is no optimizer %d", call, (int)out->optimizer);
  if (labels && rows > 0 && !out->label)
    return sl_fail(SLEY_ERR_ARG, "%s: label is NULL", call);
  if (out->step < 0 || !(out->rate >= 0) || !(out->decay >= 0))
    return sl_fail(SLEY_ERR_ARG, "%s: step is %lld, rate %g, decay %g: none may be negative", call,
                   (long long)out->step, out->rate, out->decay);
  *x = gnn->sparse ? sl_sparse_input_rows(gnn->sparse)
                   : (sl_rows){.data = (void *)out->x, .rows = rows, .cols = features, .ld = out->ldx};
  return SLEY_OK;
}

sley_status sley_gnn_train(sley_gnn *gnn, const sley_gnn_batch *batch, double *loss, int64_t *counted) {
  static const char call[] = "sley_gnn_train";
  sley_gnn_batch b = SLEY_GNN_BATCH_INIT;
  sl_rows x;
  double mean;
  int64_t rows;
  if (!gnn)
    return sl_fail(SLEY_ERR_ARG, "%s: gnn is NULL", call);
  sley_status status = take_batch(call, gnn, batch, true, &b, &x);
  if (status == SLEY_OK)
    status = sl_network_train(gnn, &b, x, loss ? loss : &mean, counted ? counted : &rows);
  return sl_abort_on_error(gnn->comm, status);
}

sley_status sley_gnn_restart(sley_gnn *gnn, uint64_t seed) {
  static const char call[] = "sley_gnn_restart";
  if (!gnn)
    return sl_fail(SLEY_ERR_ARG, "%s: gnn is NULL", call);
  if (gnn->parameters.of)
    return sl_fail(SLEY_ERR_ARG, "%s: gnn shares the parameters of another network: restart that one", call);
  SL_TRY(sl_agree_same(gnn->comm, call, &(const char *){"seed"}, &(int64_t){(int64_t)seed}, 1));
  return sl_network_restart(gnn, seed);
}

sley_status sley_gnn_time_steps(sley_gnn *gnn, bool on) {
  if (!gnn)
    return sl_fail(SLEY_ERR_ARG, "sley_gnn_time_steps: gnn is NULL");
  gnn->timed = on;
  return SLEY_OK;
}

sley_status sley_gnn_times_get(const sley_gnn *gnn, sley_gnn_times *out) {
  if (!gnn || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_gnn_times_get: gnn or out is NULL");
  return sl_network_times(gnn, out);
}

sley_status sley_gnn_bytes_get(const sley_gnn *gnn, sley_gnn_bytes *out) {
  if (!gnn || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_gnn_bytes_get: gnn or out is NULL");
  *out = sl_network_bytes(gnn);
  return SLEY_OK;
}

static sley_status copy_logits(const sley_gnn *gnn, void *to, int64_t ld) {
  const sl_rows from = sl_network_logits(gnn);
  return sl_dense_copy(&gnn->work, from,
                       (sl_rows){.data = to, .rows = from.rows, .cols = from.cols, .ld = ld});
}

static sley_status infer(sley_gnn *gnn, const sley_gnn_batch *batch, sl_rows x, void *logits, int64_t ld,
                         double *loss) {
  double mean = 0;
  int64_t rows;
  SL_TRY(sl_network_forward(gnn, x, false, 0));
  if (loss)
    SL_TRY(sl_network_loss(gnn, batch->label, false, &mean, &rows));
  if (loss)
    *loss = mean;
  return logits ? copy_logits(gnn, logits, ld) : SLEY_OK;
}

sley_status sley_gnn_infer(sley_gnn *gnn, const sley_gnn_batch *batch, void *logits, int64_t ld,
                           double *loss) {
  static const char call[] = "sley_gnn_infer";
  sley_gnn_batch b = SLEY_GNN_BATCH_INIT;
  sl_rows x;
  if (!gnn)
    return sl_fail(SLEY_ERR_ARG, "%s: gnn is NULL", call);
  sley_status status = take_batch(call, gnn, batch, loss != NULL, &b, &x);
  if (status == SLEY_OK && logits && ld < gnn->options.classes)
    status = sl_fail(SLEY_ERR_ARG, "%s: the leading dimension of logits is %lld, less than %lld classes",
                     call, (long long)ld, (long long)gnn->options.classes);
  if (status == SLEY_OK)
    status = infer(gnn, &b, x, logits, ld, loss);
  return sl_abort_on_error(gnn->comm, status);
}

sley_status sley_gnn_save(sley_gnn *gnn, const char *path, const sley_array *more, int count) {
  static const char call[] = "sley_gnn_save";
  if (!gnn)
    return sl_fail(SLEY_ERR_ARG, "%s: gnn is NULL", call);
  sley_status status = SLEY_OK;
  if (gnn->comm->rank == 0 && (!path || count < 0 || (count > 0 && !more)))
    status = sl_fail(SLEY_ERR_ARG, "%s: path or more is NULL, or count is negative", call);
  SL_TRY(sl_agree_alike(gnn->comm, status));
  return sl_network_save(gnn, path, more, more ? count : 0);
}

sley_status sley_gnn_load(sley_gnn *gnn, const char *path, const char *prefix) {
  static const char call[] = "sley_gnn_load";
  if (!gnn)
    return sl_fail(SLEY_ERR_ARG, "%s: gnn is NULL", call);
  SL_TRY(sl_agree_alike(gnn->comm, path ? SLEY_OK : sl_fail(SLEY_ERR_ARG, "%s: path is NULL", call)));
  return sl_network_load(gnn, path, prefix);
}

sley_status sley_gnn_options_read(const char *path, sley_gnn_options *out) {
  if (!path || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_gnn_options_read: path or out is NULL");
  return sl_network_options(path, out);
}

void sley_gnn_destroy(sley_gnn *gnn) {
  sl_network_destroy(gnn);
}
