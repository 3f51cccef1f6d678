/* SPDX-License-Identifier: Apache-2.0 */
/* The text, the JSON and the picture of products in tiles. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "output/json.h"
#include "output/output.h"
#include "output/plot.h"
#include "output/table.h"
#include "output/terminal.h"
#include "product/legend.h"
#include "product/report.h"
#include "tile/tile.h"

enum { RANKS_SHOWN = 32 };
static const double MIB = 1 << 20;

/* ---- figures */

static cli_tile_rank mean_of(const cli_tile_bench *b, const cli_tile_result *r) {
  cli_tile_rank mean = {0};
  for (int i = 0; i < b->ranks.ranks; i++) {
    mean.compute += r->rank[i].compute / b->ranks.ranks;
    mean.communicate += r->rank[i].communicate / b->ranks.ranks;
    mean.accumulate += r->rank[i].accumulate / b->ranks.ranks;
    mean.imbalance += r->rank[i].imbalance / b->ranks.ranks;
    mean.tasks += r->rank[i].tasks;
    mean.flops += r->rank[i].flops;
    mean.stolen += r->rank[i].stolen;
  }
  return mean; /* times are means over the ranks; other numbers are sums */
}

/* Returns true if sparse products, whose sizes are not known in advance, are sent to other ranks. */
static bool sends_sparse(const cli_tile_bench *b, const cli_tile_result *r) {
  return b->b && sley_tile_algorithm_pushes(r->algo) && strncmp(r->algo, "tile-c", 6) != 0;
}

bool cli_tile_as_predicted(const cli_tile_bench *bench, const cli_tile_result *r) {
  const sley_traffic *a = &r->predicted, *b = &r->counted;
  return mean_of(bench, r).stolen > 0 || sends_sparse(bench, r) ||
         (a->direct_bytes == b->direct_bytes && a->direct_messages == b->direct_messages &&
          a->message_bytes == b->message_bytes && a->message_messages == b->message_messages &&
          a->self_bytes == b->self_bytes && a->self_messages == b->self_messages);
}

/* Returns the remark on the traffic. */
static const char *verdict(const cli_tile_bench *b, const cli_tile_result *r) {
  return mean_of(b, r).stolen > 0      ? "not predicted, since work was stolen"
         : sends_sparse(b, r)          ? "not predicted: sparse products were sent"
         : cli_tile_as_predicted(b, r) ? "as predicted"
                                       : "NOT AS PREDICTED";
}

/* Ratio of the largest flops of a rank to the mean. */
static double flops_imbalance(const cli_tile_bench *b, const cli_tile_result *r) {
  int64_t most = 0;
  for (int i = 0; i < b->ranks.ranks; i++)
    most = r->rank[i].flops > most ? r->rank[i].flops : most;
  const int64_t all = mean_of(b, r).flops;
  return all > 0 ? (double)most * b->ranks.ranks / (double)all : 1;
}

/* The same if ranks wait for each other after each stage. */
static double stage_imbalance(const cli_tile_bench *b, const cli_tile_result *r) {
  const int64_t all = mean_of(b, r).flops;
  return all > 0 ? (double)r->staged_flops * b->ranks.ranks / (double)all : 1;
}

static double over_mean(int64_t most, int64_t all, int64_t parts) {
  return all > 0 ? (double)most * (double)parts / (double)all : 1;
}

/* Number of products of an entry of A and an entry of B. */
static int64_t products_of(const cli_tile_bench *b, const cli_tile_result *r) {
  return mean_of(b, r).flops / 2;
}

/* Bytes between workgroups, with those of the preparation, in parts of those of tile-summa. */
static double of_summa(const cli_tile_result *r) {
  return (double)(r->counted.message_bytes + r->prepare_bytes) / (double)r->summa_bytes;
}

static double gflops(const cli_tile_bench *b, const cli_tile_result *r) {
  return r->time.median > 0 ? (double)mean_of(b, r).flops / r->time.median * 1e-6 : 0;
}

/* ---- text */

static void print_matrix(const char *word, const char *name, const sley_matrix_info *size, FILE *stream) {
  fprintf(stream, "%-9s %s: %" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros, %s\n", word, cli_shown(name),
          size->rows, size->cols, size->nnz, sley_dtypes()[size->dtype]);
}

static void print_start(const cli_tile_bench *b, FILE *stream) {
  const sley_tiled_info *a = b->info;
  print_matrix("matrix", b->name, &b->size, stream);
  if (b->b)
    print_matrix("times", b->name_b, &b->size_b, stream);
  if (b->mask)
    print_matrix("mask", b->name_mask, &b->size_mask, stream);
  cli_sources_print(stream);
  if (!b->b)
    fprintf(stream, "times     X of %" PRId64 " columns\n", b->k);
  fprintf(stream, "ranks     %d as a grid of %d x %d, %s, transport %s\n", b->ranks.ranks, b->a.grid_rows,
          b->a.grid_cols, b->device, b->transport);
  fprintf(stream,
          "tiles     A %" PRId64 " x %" PRId64 ", %c %" PRId64 " x %" PRId64 ", %c %" PRId64 " x %" PRId64
          "\n",
          b->a.tiles_down, b->a.tiles_across, b->b ? 'B' : 'X', b->of_x.tiles_down, b->of_x.tiles_across,
          b->b ? 'C' : 'Y', b->y.tiles_down, b->y.tiles_across);
  fprintf(stream, "nonzeros  of the fullest rank %.2f times the mean, of the fullest tile %.2f times\n",
          over_mean(a->rank_entries, a->entries, b->ranks.ranks),
          over_mean(a->tile_entries, a->entries, b->a.tiles_down * b->a.tiles_across));
}

static void add_rank(cli_table *table, const char *name, const cli_tile_rank *r) {
  cli_table_row(table);
  cli_table_cell(table, 0, "%s", name);
  cli_table_cell(table, 1, "%.3f", r->compute);
  cli_table_cell(table, 2, "%.3f", r->communicate);
  cli_table_cell(table, 3, "%.3f", r->accumulate);
  cli_table_cell(table, 4, "%.3f", r->imbalance);
  cli_table_cell(table, 5, "%" PRId64, r->tasks);
  cli_table_cell(table, 6, "%" PRId64, r->stolen);
  cli_table_cell(table, 7, "%.1f", (double)r->flops * 1e-6);
}

static void print_ranks(const cli_tile_bench *b, const cli_tile_result *r, FILE *stream) {
  static const char *const headings[] = {"<rank",         "compute ms",   "communicate ms",
                                         "accumulate ms", "imbalance ms", "tile products",
                                         "stolen",        "Mflop",        NULL};
  static cli_table table;
  cli_table_start(&table, headings);
  cli_tile_rank mean = mean_of(b, r);
  for (int i = 0; b->ranks.ranks <= RANKS_SHOWN && i < b->ranks.ranks; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", i);
    add_rank(&table, name, &r->rank[i]);
  }
  mean.tasks /= b->ranks.ranks;
  mean.flops /= b->ranks.ranks;
  mean.stolen /= b->ranks.ranks;
  add_rank(&table, "mean", &mean);
  cli_table_print(&table, stream);
}

static void print_result(const cli_tile_bench *b, const cli_tile_result *r, FILE *stream) {
  fprintf(stream,
          "\n%s    %.3f ms (median of %" PRId64 ", 10 %% below %.3f, 90 %% below %.3f), %.3f GFLOP/s\n",
          r->algo, r->time.median, b->repeat, r->time.p10, r->time.p90, gflops(b, r));
  fprintf(stream, "moved     %.3f MiB direct, %.3f MiB in %" PRId64 " messages, %s; %.3f MiB stayed\n",
          (double)r->counted.direct_bytes / MIB, (double)r->counted.message_bytes / MIB,
          r->counted.message_messages, verdict(b, r), (double)r->counted.self_bytes / MIB);
  if (r->summa_bytes > 0)
    fprintf(stream,
            "between   workgroups %.3f MiB, with %.3f MiB to prepare %.2f of the %.3f MiB of tile-summa on "
            "these tiles\n",
            (double)r->counted.message_bytes / MIB, (double)r->prepare_bytes / MIB, of_summa(r),
            (double)r->summa_bytes / MIB);
  fprintf(stream, "work      of the rank with most %.2f times the mean; by stages %.2f times\n",
          flops_imbalance(b, r), stage_imbalance(b, r));
  print_ranks(b, r, stream);
  if (b->b)
    fprintf(stream, "C         %" PRId64 " nonzeros of %" PRId64 " products, %s\n", r->c_entries,
            products_of(b, r), sley_semiring_name(b->semiring));
  if (r->checked)
    cli_report_check(&r->check, 10, stream);
}

/* A line for each algorithm, with the columns of `sley spmm --algo all`. Traffic that depends on stealing or
 * on the sizes of sparse products has no prediction. */
static void print_all(const cli_tile_bench *b, FILE *stream) {
  static const char *const headings[] = {"<algo",        "direct MiB", "message MiB", "messages",
                                         "as predicted", "median ms",  "min ms",      "p95 ms",
                                         "GFLOP/s",      "check",      NULL};
  cli_table table;
  cli_table_start(&table, headings);
  for (int i = 0; i < b->algos->count && cli_table_row(&table); i++) {
    const cli_tile_result *r = &b->result[i];
    const bool predicted = mean_of(b, r).stolen == 0 && !sends_sparse(b, r);
    cli_table_cell(&table, 0, "%s", r->algo);
    cli_table_cell(&table, 1, "%.3f", (double)r->counted.direct_bytes / MIB);
    cli_table_cell(&table, 2, "%.3f", (double)r->counted.message_bytes / MIB);
    cli_table_cell(&table, 3, "%" PRId64, r->counted.message_messages);
    cli_table_cell(&table, 4, "%s", !predicted ? "-" : cli_tile_as_predicted(b, r) ? "yes" : "NO");
    cli_table_cell(&table, 5, "%.3f", r->time.median);
    cli_table_cell(&table, 6, "%.3f", r->time.min);
    cli_table_cell(&table, 7, "%.3f", r->time.p95);
    cli_table_cell(&table, 8, "%.2f", gflops(b, r));
    cli_table_cell(&table, 9, "%s", !r->checked ? "-" : r->check.ok ? "ok" : "WRONG");
  }
  fprintf(stream, "\n");
  cli_table_print(&table, stream);
}

void cli_tile_print(const cli_tile_bench *b, FILE *stream) {
  print_start(b, stream);
  if (b->algos->count > 1)
    print_all(b, stream);
  for (int i = 0; i < b->algos->count; i++)
    print_result(b, &b->result[i], stream);
  if (!b->brief)
    cli_legend_tiles(stream, b->algos->count > 1);
}

/* Draws the parts of each rank's time. */
static bool plot_ranks(const cli_tile_bench *b, const cli_tile_result *r) {
  static const char *const parts[] = {"compute", "communicate", "accumulate", "imbalance"};
  enum { PARTS = sizeof parts / sizeof *parts, NAME = 16 };
  const int ranks = b->ranks.ranks;
  char(*name)[NAME] = malloc((size_t)ranks * sizeof *name);
  const char **names = malloc((size_t)ranks * sizeof *names);
  double *ms = malloc((size_t)ranks * PARTS * sizeof *ms);
  bool drawn = name && names && ms;
  for (int i = 0; drawn && i < ranks; i++) {
    const double of_rank[PARTS] = {r->rank[i].compute, r->rank[i].communicate, r->rank[i].accumulate,
                                   r->rank[i].imbalance};
    snprintf(name[i], NAME, "rank %d", i);
    names[i] = name[i];
    for (int part = 0; part < PARTS; part++)
      ms[part * ranks + i] = of_rank[part];
  }
  const cli_chart chart = {.title = "time of each rank",
                           .unit = "ms a run, mean",
                           .points = ranks,
                           .point = names,
                           .series = PARTS,
                           .name = parts,
                           .value = ms};
  if (!drawn)
    cli_refuse(SLEY_ERR_MEMORY, "out of memory for the picture");
  drawn = drawn && cli_plot(b->plot, r->algo, &chart, 1);
  free(ms);
  free(names);
  free(name);
  return drawn;
}

bool cli_tile_plot(const cli_tile_bench *b) {
  cli_step steps[CLI_ALGORITHMS];
  if (b->algos->count == 1)
    return plot_ranks(b, &b->result[0]);
  for (int i = 0; i < b->algos->count; i++)
    steps[i] = (cli_step){
        .algo = b->result[i].algo, .ms = b->result[i].time.median, .traffic = b->result[i].counted};
  return cli_plot_steps(b->plot, b->job, b->k, steps, b->algos->count,
                        &(cli_chart){.title = "time of a product", .unit = "ms, median"});
}

/* ---- JSON */

static cli_json tiling_json(const sley_tiling *t) {
  cli_json json = cli_json_start();
  cli_json_int(&json, "down", t->tiles_down);
  cli_json_int(&json, "across", t->tiles_across);
  return json;
}

static cli_json rank_json(const cli_tile_rank *r) {
  cli_json json = cli_json_start();
  cli_json_real(&json, "compute_ms", r->compute);
  cli_json_real(&json, "communicate_ms", r->communicate);
  cli_json_real(&json, "accumulate_ms", r->accumulate);
  cli_json_real(&json, "imbalance_ms", r->imbalance);
  cli_json_int(&json, "tile_products", r->tasks);
  cli_json_int(&json, "flops", r->flops);
  cli_json_int(&json, "stolen", r->stolen);
  return json;
}

static cli_json result_json(const cli_tile_bench *b, const cli_tile_result *r) {
  cli_json json = cli_json_start(), ranks[CLI_MOST_RANKS];
  cli_json_text(&json, "algo", r->algo);
  cli_json_text(&json, "device", b->device);
  cli_json_text(&json, "transport", b->transport);
  cli_report_json_traffic(&json, &r->counted, &r->predicted, cli_tile_as_predicted(b, r));
  if (r->summa_bytes > 0) {
    cli_json_int(&json, "prepare_bytes", r->prepare_bytes);
    cli_json_int(&json, "summa_bytes", r->summa_bytes);
    cli_json_real(&json, "of_summa", of_summa(r));
  }
  cli_times_json(&json, &r->time);
  cli_json_real(&json, "gflops", gflops(b, r));
  cli_json_real(&json, "flops_imbalance", flops_imbalance(b, r));
  cli_json_real(&json, "stage_imbalance", stage_imbalance(b, r));
  if (b->b) {
    cli_json_int(&json, "nnz", r->c_entries);
    cli_json_int(&json, "products", products_of(b, r));
  }
  cli_report_json_check(&json, r->checked ? &r->check : NULL);
  for (int i = 0; i < b->ranks.ranks; i++)
    ranks[i] = rank_json(&r->rank[i]);
  cli_json_list(&json, "per_rank", ranks, b->ranks.ranks);
  return json;
}

/* Adds the fields that every algorithm for dense X and Y has. */
static void add_dense(const cli_tile_bench *b, cli_json *json) {
  cli_json_text(json, "matrix", b->name);
  cli_json_int(json, "rows", b->size.rows);
  cli_json_int(json, "cols", b->size.cols);
  cli_json_int(json, "nnz", b->size.nnz);
  cli_json_text(json, "dtype", sley_dtypes()[b->size.dtype]);
  cli_json_int(json, "k", b->k);
}

static void add_sparse(const cli_tile_bench *b, cli_json *json) {
  cli_json_text(json, "a", b->name);
  cli_json_text(json, "b", b->name_b);
  cli_json_text(json, "mask", b->name_mask);
  cli_json_bool(json, "transpose_b", b->transpose_b);
  cli_json_text(json, "semiring", sley_semiring_name(b->semiring));
  cli_json_text(json, "dtype", sley_dtypes()[b->size.dtype]);
  cli_json_int(json, "rows", b->size.rows);
  cli_json_int(json, "cols", b->size_b.cols);
  cli_json_int(json, "nnz", b->result[0].c_entries);
  cli_json_int(json, "a_nnz", b->size.nnz);
  cli_json_int(json, "mem_limit", b->mem_limit);
}

bool cli_tile_json(const cli_tile_bench *b, const char *path) {
  cli_json json = cli_json_start(), results[CLI_ALGORITHMS];
  cli_json_text(&json, "sley", sley_version());
  if (b->b)
    add_sparse(b, &json);
  else
    add_dense(b, &json);
  cli_json_int(&json, "ranks", b->ranks.ranks);
  cli_json_int(&json, "grid_rows", b->a.grid_rows);
  cli_json_int(&json, "grid_cols", b->a.grid_cols);
  cli_json_object(&json, "tiles_a", tiling_json(&b->a));
  cli_json_object(&json, b->b ? "tiles_b" : "tiles_x", tiling_json(&b->of_x));
  cli_json_object(&json, b->b ? "tiles_c" : "tiles_y", tiling_json(&b->y));
  cli_json_real(&json, "rank_imbalance", over_mean(b->info->rank_entries, b->info->entries, b->ranks.ranks));
  cli_json_real(&json, "tile_imbalance",
                over_mean(b->info->tile_entries, b->info->entries, b->a.tiles_down * b->a.tiles_across));
  cli_json_int(&json, "repeat", b->repeat);
  for (int i = 0; i < b->algos->count; i++)
    results[i] = result_json(b, &b->result[i]);
  cli_json_list(&json, "algorithms", results, b->algos->count);
  return cli_output_json(path, cli_json_end(json));
}
