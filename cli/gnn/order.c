/* SPDX-License-Identifier: Apache-2.0 */
/* Orders the graph of `sley gnn`, and chooses among orders. */
#include "gnn/order.h"

#include <stdatomic.h>
#include <string.h>

#include "gnn/options.h"
#include "matrix/job.h"
#include "output/terminal.h"
#include "ranks/agree.h"

/* Another order must save this share of the predicted time. */
static const double LEAST_GAIN = 0.05;

/* ---- layouts */

static sley_status add(cli_gnn_layouts *layouts, sley_matrix *graph, const char *order,
                       const sley_rank_options *ranks, int64_t seed) {
  cli_gnn_layout *layout = &layouts->at[layouts->count++];
  int64_t *place = NULL, *cols = NULL;
  sley_matrix_info info;
  *layout = (cli_gnn_layout){.order = order, .graph = graph};
  sley_status status = SLEY_OK;
  if (strcmp(order, "none") != 0) {
    status = cli_apply_order(&layout->graph, order, (int64_t)ranks->threads * ranks->ranks, seed, &place);
    if (status == SLEY_OK)
      status = sley_matrix_info_get(layout->graph, &info);
    if (status == SLEY_OK)
      status = cli_invert_order(place, info.rows, &layout->row_name);
    sley_buffer_free(place);
  }
  if (status == SLEY_OK)
    status = cli_partition(layout->graph, "nnz", ranks->ranks, &layout->begin, &cols);
  sley_buffer_free(cols);
  return status;
}

static void free_layout(cli_gnn_layout *layout) {
  sley_buffer_free(layout->begin);
  sley_buffer_free(layout->row_name);
  sley_matrix_destroy(layout->graph);
  *layout = (cli_gnn_layout){0};
}

/* Adds a candidate of `auto`, whose graph is ordered from the first layout's. An order that this build, or
 * this graph, does not allow is left out. */
static sley_status add_candidate(cli_gnn_layouts *layouts, const char *order, const sley_rank_options *ranks,
                                 int64_t seed) {
  sley_matrix_info info;
  sley_matrix *view = NULL;
  sley_status status = sley_matrix_info_get(layouts->at[0].graph, &info);
  if (status == SLEY_OK)
    status = sley_matrix_row_block(layouts->at[0].graph, 0, info.rows, &view);
  if (status == SLEY_OK)
    status = add(layouts, view, order, ranks, seed);
  if (status != SLEY_ERR_UNSUPPORTED)
    return status;
  free_layout(&layouts->at[--layouts->count]);
  return SLEY_OK;
}

sley_status cli_gnn_layouts_make(cli_gnn_data *data, const char *order, const sley_rank_options *ranks,
                                 int64_t seed, cli_gnn_layouts *out) {
  const bool chooses = strcmp(order, CLI_GNN_AUTO) == 0,
             threads = !ranks->transport || strcmp(ranks->transport, "threads") == 0;
  sley_matrix *graph = data->graph;
  const double begin = cli_now_ms();
  *out = (cli_gnn_layouts){.count = 0};
  atomic_init(&out->readers, threads ? ranks->ranks : 1);
  data->graph = NULL;
  const char *const *candidate = sley_order_candidates(ranks->ranks);
  sley_status status = add(out, graph, chooses ? candidate[0] : order, ranks, seed);
  for (int i = 1; candidate[i] && chooses && out->count < CLI_GNN_MOST_LAYOUTS && status == SLEY_OK; i++)
    status = add_candidate(out, candidate[i], ranks, seed);
  cli_progress_clear();
  out->ms = cli_now_ms() - begin;
  return status;
}

void cli_gnn_layouts_free(cli_gnn_layouts *layouts) {
  for (int i = 0; i < layouts->count; i++)
    free_layout(&layouts->at[i]);
  layouts->count = 0;
}

void cli_gnn_layouts_copied(cli_gnn_layouts *layouts) {
  if (atomic_fetch_sub(&layouts->readers, 1) > 1)
    return;
  for (int i = 0; i < layouts->count; i++) {
    sley_matrix_destroy(layouts->at[i].graph);
    layouts->at[i].graph = NULL;
  }
}

int64_t cli_gnn_row_name(const cli_gnn_layout *layout, int64_t i) {
  return layout->row_name ? layout->row_name[i] : i;
}

/* ---- the choice */

/* Predicts the time of a sum of hidden rows. Collective. */
static sley_status predict(sley_comm *comm, const cli_gnn_layout *layout, const sley_gnn_options *model,
                           double *ms) {
  const int64_t first = layout->begin[sley_comm_rank(comm)],
                rows = layout->begin[sley_comm_rank(comm) + 1] - first;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_plan_info info = {0};
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  options.dry = true;
  options.algo = model->algo;
  options.wire = model->wire;
  options.kernel = model->kernel;
  options.precision = model->precision;
  options.reproducible = model->reproducible;
  sley_status status = cli_agree_status(comm, sley_matrix_row_block(layout->graph, first, rows, &block));
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, layout->begin, layout->begin,
                              (cli_gnn_model_info(model->model).heads ? model->heads : 1) * model->hidden,
                              &options, &plan);
  if (status == SLEY_OK)
    status = sley_plan_info_get(plan, &info);
  *ms = info.predicted_ms;
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

sley_status cli_gnn_layouts_choose(sley_comm *comm, const cli_gnn_layouts *layouts,
                                   const sley_gnn_options *model, cli_gnn_chosen *chosen,
                                   const cli_gnn_layout **out) {
  cli_gnn_chosen found = {.layout = 0};
  sley_status status = SLEY_OK;
  for (int i = 0; i < layouts->count && layouts->count > 1 && status == SLEY_OK; i++) {
    double *ms = found.predicted_ms;
    status = predict(comm, &layouts->at[i], model, &ms[i]);
    if (ms[i] < (found.layout == 0 ? (1 - LEAST_GAIN) * ms[0] : ms[found.layout]))
      found.layout = i;
  }
  /* one decision for all, should times be predicted from figures that differ */
  int64_t layout = sley_comm_rank(comm) == 0 ? found.layout : 0;
  if (status == SLEY_OK)
    status = sley_comm_allreduce(comm, SLEY_SUM, &layout, 1);
  if (sley_comm_rank(comm) == 0)
    *chosen = found;
  *out = &layouts->at[layout];
  return status;
}

/* ---- the report */

void cli_gnn_chosen_print(const cli_gnn_layouts *layouts, const cli_gnn_chosen *chosen, FILE *stream) {
  const char *order = layouts->at[chosen->layout].order;
  if (layouts->count == 1 && !layouts->at[0].row_name)
    return;
  fprintf(stream, "order      %s, computed in %.3f s", order, 1e-3 * layouts->ms);
  for (int i = 0; i < layouts->count && layouts->count > 1; i++)
    fprintf(stream, "%s%s %.3f", i == 0 ? "; predicted ms of a sum: " : ", ", layouts->at[i].order,
            chosen->predicted_ms[i]);
  fputs("\n", stream);
}

void cli_gnn_chosen_json(const cli_gnn_layouts *layouts, const cli_gnn_chosen *chosen, cli_json *json) {
  cli_json list[CLI_GNN_MOST_LAYOUTS];
  cli_json_text(json, "order", layouts->at[chosen->layout].order);
  cli_json_real(json, "order_ms", layouts->ms);
  if (layouts->count == 1)
    return;
  for (int i = 0; i < layouts->count; i++) {
    list[i] = cli_json_start();
    cli_json_text(&list[i], "order", layouts->at[i].order);
    cli_json_real(&list[i], "predicted_ms", chosen->predicted_ms[i]);
  }
  cli_json_list(json, "orders", list, layouts->count);
}
