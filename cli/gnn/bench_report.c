/* SPDX-License-Identifier: Apache-2.0 */
/* Prints times of steps of training as tables and as JSON. */
#include "gnn/bench_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "gnn/memory.h"
#include "output/changes.h"
#include "output/table.h"
#include "output/terminal.h"

static const char *const work_names[CLI_GNN_WORKS] = {"exchange", "spmm",      "attention", "gemm",
                                                      "loss",     "optimizer", "other"};

/* ---- text */

/* Returns true for work that both halves of a step contain. The loss and the optimizer belong to one half
 * each, so the table does not divide their time. */
static bool has_halves(int work) {
  return work != CLI_GNN_LOSS && work != CLI_GNN_OPTIMIZER;
}

static void add_row(cli_table *table, const cli_gnn_case *c, int work) {
  const cli_gnn_work_times *w = &c->work[work];
  int column = 0;
  cli_table_row(table);
  cli_table_cell(table, column++, "%s", work_names[work]);
  if (has_halves(work)) {
    cli_table_cell(table, column, "%.3f", w->forward.median);
    cli_table_cell(table, column + 1, "%.3f", w->backward.median);
  }
  column += 2;
  cli_table_cell(table, column++, "%.3f", w->both.median);
  cli_table_cell(table, column++, "%.1f", c->split.median > 0 ? 100 * w->both.median / c->split.median : 0);
  cli_table_cell(table, column++, "%.3f", w->both.p90 - w->both.p10);
  cli_table_cell(table, column++, "%.3f", w->slowest);
}

static void print_case(const cli_gnn_bench *b, int number, const char *memory, FILE *stream) {
  static const char *const headings[] = {"<work",   "forward ms", "backward ms",  "both ms",
                                         "share %", "spread ms",  "slowest rank", NULL};
  static cli_table table;
  const cli_gnn_case *c = &b->result->at[number];
  fprintf(stream, "\n%-10s step %.3f ms, spread %.3f; split %.3f ms, spread %.3f: %.2f times as long\n",
          sley_gnn_models()[c->model], c->step.median, c->step.p90 - c->step.p10, c->split.median,
          c->split.p90 - c->split.p10, c->step.median > 0 ? c->split.median / c->step.median : 0);
  cli_gnn_memory_print(b->bytes + number * b->ranks.ranks, b->ranks.ranks, memory, stream);
  cli_table_start(&table, headings);
  for (int work = 0; work < CLI_GNN_WORKS; work++)
    add_row(&table, c, work);
  cli_table_print(&table, stream);
}

void cli_gnn_bench_print(const cli_gnn_bench *b, const cli_gnn_settings *s, const char *graph, FILE *stream) {
  const cli_gnn_bench_result *r = b->result;
  cli_transport_settled("gnn bench", b->ranks.transport, r->transport);
  fprintf(stream,
          "graph      %s, %" PRId64 " rows, %" PRId64 " entries; %" PRId64 " features, %" PRId64 " classes\n",
          cli_shown(graph), b->data->rows, b->data->entries, b->data->features, b->data->classes);
  cli_sources_print(stream);
  fprintf(stream, "networks   %" PRId64 " layers, hidden %" PRId64 ", dropout %g; sums by %s, wire %s\n",
          s->layers, s->hidden, s->dropout, s->algo, s->common.wire);
  cli_gnn_chosen_print(&b->layouts, &r->order, stream);
  fprintf(stream, "device     %s, %d rank%s, transport %s\n", r->found, b->ranks.ranks,
          b->ranks.ranks == 1 ? "" : "s", r->transport);
  fprintf(stream,
          "times      medians of %" PRId64
          " steps, and p90 - p10; a split step waits after each operation: nothing overlaps\n",
          b->repeat);
  for (int i = 0; i < r->cases; i++)
    print_case(b, i, s->memory, stream);
}

/* ---- JSON */

static cli_json work_json(const cli_gnn_case *c, int work) {
  const cli_gnn_work_times *w = &c->work[work];
  cli_json json = cli_json_start();
  cli_json_text(&json, "work", work_names[work]);
  cli_json_real(&json, "forward_ms", w->forward.median);
  cli_json_real(&json, "backward_ms", w->backward.median);
  cli_json_real(&json, "ms", w->both.median);
  cli_json_real(&json, "p10_ms", w->both.p10);
  cli_json_real(&json, "p90_ms", w->both.p90);
  cli_json_real(&json, "slowest_ms", w->slowest);
  return json;
}

static cli_json case_json(const cli_gnn_bench *b, int number) {
  const cli_gnn_case *c = &b->result->at[number];
  cli_json json = cli_json_start(), list[CLI_GNN_WORKS];
  cli_json_text(&json, "model", sley_gnn_models()[c->model]);
  cli_json_real(&json, "step_ms", c->step.median);
  cli_json_real(&json, "step_p10_ms", c->step.p10);
  cli_json_real(&json, "step_p90_ms", c->step.p90);
  cli_json_real(&json, "split_ms", c->split.median);
  cli_json_real(&json, "split_p10_ms", c->split.p10);
  cli_json_real(&json, "split_p90_ms", c->split.p90);
  cli_gnn_memory_json(&json, b->bytes + number * b->ranks.ranks, b->ranks.ranks);
  for (int work = 0; work < CLI_GNN_WORKS; work++)
    list[work] = work_json(c, work);
  cli_json_list(&json, "work", list, CLI_GNN_WORKS);
  return json;
}

json_t *cli_gnn_bench_json(const cli_gnn_bench *b, const cli_gnn_settings *s, const char *graph) {
  const cli_gnn_bench_result *r = b->result;
  cli_json *list = malloc((size_t)r->cases * sizeof *list + 1);
  if (!list)
    return NULL;
  cli_json json = cli_json_start();
  cli_json_text(&json, "sley", sley_version());
  cli_json_text(&json, "graph", graph);
  cli_json_int(&json, "rows", b->data->rows);
  cli_json_int(&json, "entries", b->data->entries);
  cli_json_int(&json, "features", b->data->features);
  cli_json_int(&json, "classes", b->data->classes);
  cli_json_int(&json, "layers", s->layers);
  cli_json_int(&json, "hidden", s->hidden);
  cli_json_int(&json, "heads", s->heads);
  cli_json_real(&json, "dropout", s->dropout);
  cli_json_text(&json, "aggregate", s->algo);
  cli_json_text(&json, "kernel", s->common.kernel);
  cli_json_text(&json, "precision", s->common.precision);
  cli_json_text(&json, "wire", s->common.wire);
  cli_json_text(&json, "memory", s->memory);
  cli_json_text(&json, "device", r->found);
  cli_json_text(&json, "transport", r->transport);
  cli_gnn_chosen_json(&b->layouts, &r->order, &json);
  cli_json_int(&json, "ranks", b->ranks.ranks);
  cli_json_int(&json, "seed", s->common.seed);
  cli_json_int(&json, "warmup", b->warmup);
  cli_json_int(&json, "repeat", b->repeat);
  for (int i = 0; i < r->cases; i++)
    list[i] = case_json(b, i);
  cli_json_list(&json, "models", list, r->cases);
  free(list);
  return cli_json_end(json);
}
