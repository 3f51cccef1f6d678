/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/report.h"

#include <inttypes.h>

#include "matrix/job.h"
#include "output/table.h"

/* ---- figures */

static const char *redop(const cli_collective_bench *b) {
  return b->kind.reduces ? sley_reduces()[b->options.op] : "none";
}

static double ratio(const cli_collective_case *c) {
  return c->time.median / c->dense.median;
}

/* Returns true if the collective ran compressed, so that its bytes determine a least time. */
static bool has_bound(const cli_collective_case *c) {
  return c->least > 0;
}

/* GB/s as nccl-tests defines them (doc/PERFORMANCE.md there). algbw: size / time. busbw: algbw times the
 * number of times that a rank of a ring sends each byte; the hardware's bandwidth bounds it. */
static double algbw(const cli_collective_case *c) {
  return (double)c->size / c->time.median * 1e-6;
}

static double busbw(const cli_collective_bench *b, const cli_collective_case *c) {
  const double n = b->ranks.ranks, times = b->kind.reduces && b->kind.gathers ? 2 : 1;
  return algbw(c) * times * (n - 1) / n;
}

/* The largest ratio is the worst. */
static cli_ratios ratios_of(const cli_collective_bench *b) {
  cli_ratios all = {0};
  for (int i = 0; i < b->cases; i++) {
    const double one = ratio(&b->result->at[i]);
    cli_ratios_add(&all, one, i, one > all.worst);
  }
  return all;
}

/* ---- text */

/* The most frequent format of the compressed arrays. */
static const char *format_of(const cli_collective_case *c) {
  if (c->arrays == 0)
    return "";
  if (c->dense_arrays > c->pici_arrays && c->dense_arrays > c->coo_arrays)
    return " dense";
  return c->coo_arrays > c->pici_arrays ? " coo" : " pici";
}

static void add_case(const cli_collective_bench *b, const cli_collective_case *c, cli_table *table) {
  int column = 0;
  cli_table_cell(table, column++, "%" PRId64, c->size);
  cli_table_cell(table, column++, "%" PRId64, c->count);
  cli_table_cell(table, column++, "%s", sley_types()[b->options.type]);
  cli_table_cell(table, column++, "%s", redop(b));
  cli_table_cell(table, column++, "%.2f", c->time.median * 1e3);
  cli_table_cell(table, column++, "%.3f", algbw(c));
  cli_table_cell(table, column++, "%.3f", busbw(b, c));
  if (c->wrong >= 0)
    cli_table_cell(table, column++, "%" PRId64, c->wrong);
  else
    cli_table_cell(table, column++, "N/A");
  cli_table_cell(table, column++, "%.2f", (c->time.p90 - c->time.p10) * 1e3);
  cli_table_cell(table, column++, "%.4f", 100 * c->density_in);
  cli_table_cell(table, column++, "%.4f", 100 * c->density_out);
  cli_table_cell(table, column++, "%" PRId64, c->wire);
  cli_table_cell(table, column++, "%.2f", c->dense.median * 1e3);
  cli_table_cell(table, column++, "%.2f", (c->dense.p90 - c->dense.p10) * 1e3);
  cli_table_cell(table, column++, "%.3f", ratio(c));
  if (has_bound(c)) {
    cli_table_cell(table, column++, "%.2f", c->least * 1e3);
    cli_table_cell(table, column++, "%.1f", 100 * c->least / c->time.median);
  } else {
    cli_table_cell(table, column++, "-");
    cli_table_cell(table, column++, "-");
  }
  cli_table_cell(table, column++, "%s%s", c->path, format_of(c));
}

static void print_start(const cli_collective_bench *b, FILE *stream) {
  fprintf(stream,
          "# %s, %d rank%s, device %s, transport %s\n"
          "# blocks of %" PRId64 " values, seed %" PRId64 "; out of place\n",
          b->kind.name, b->ranks.ranks, b->ranks.ranks == 1 ? "" : "s", b->result->found,
          b->result->transport, b->block, b->seed);
  fprintf(stream,
          "# medians of %" PRId64 " measurements of %" PRId64
          " runs, of the slowest rank; spread: p90 - p10\n"
          "# measurements of the dense collective alternate with them\n",
          b->repeat, b->iters);
}

/* Prints how many messages travelled dense, for each case in which some did. */
static void print_dense(const cli_collective_bench *b, FILE *stream) {
  for (int i = 0; i < b->cases; i++) {
    const cli_collective_case *c = &b->result->at[i];
    if (c->dense_arrays > 0)
      fprintf(stream,
              "# %" PRId64 " B, zeros %g, dense arrays: inter %" PRId64 "/%" PRId64 ", intra %" PRId64 "/%" PRId64
              ", allgather %" PRId64 "/%" PRId64 "\n",
              c->size, c->zeros, c->inter_dense, c->inter, c->intra_dense, c->intra, c->allgather_dense,
              c->allgather);
  }
}

void cli_collective_print(const cli_collective_bench *b, FILE *stream) {
  static const char *const headings[] = {
      "size B",       "count",     "type",    "redop", "time us", "algbw GB/s", "busbw GB/s",
      "#wrong",       "spread us", "in %",    "out %", "wire B",  "dense us",   "dense spread us",
      "time / dense", "bound us",  "of it %", "<path", NULL};
  cli_table table;
  print_start(b, stream);
  cli_table_start(&table, headings);
  for (int i = 0; i < b->cases && cli_table_row(&table); i++)
    add_case(b, &b->result->at[i], &table);
  cli_table_print(&table, stream);
  print_dense(b, stream);
  if (b->cases == 1)
    return;
  const cli_ratios all = ratios_of(b);
  const cli_collective_case *worst = &b->result->at[all.at];
  fprintf(stream,
          "# time / dense of %d cases: geometric mean %.3f\n"
          "# worst %.3f: %" PRId64 " B, zeros %g\n",
          b->cases, cli_ratios_mean(&all), all.worst, worst->size, worst->zeros);
}

/* ---- JSON */

static void add_bound(cli_json *json, const cli_collective_case *c) {
  static const char *const names[] = {"copy_bandwidth", "link_bandwidth", "bound_us", "bound_share"};
  const double values[] = {c->copy, c->link, c->least * 1e3, c->least / c->time.median};
  for (int i = 0; i < 4; i++)
    if (has_bound(c))
      cli_json_real(json, names[i], values[i]);
    else
      cli_json_text(json, names[i], NULL);
}

static void add_times(cli_json *json, const char *const names[3], const cli_times *times) {
  cli_json_real(json, names[0], times->median * 1e3);
  cli_json_real(json, names[1], times->p10 * 1e3);
  cli_json_real(json, names[2], times->p90 * 1e3);
}

static cli_json case_json(const cli_collective_bench *b, const cli_collective_case *c) {
  cli_json json = cli_json_start();
  cli_json_int(&json, "size", c->size);
  cli_json_int(&json, "count", c->count);
  cli_json_text(&json, "type", sley_types()[b->options.type]);
  cli_json_text(&json, "redop", redop(b));
  add_times(&json, (const char *const[]){"time_us", "p10_us", "p90_us"}, &c->time);
  cli_json_real(&json, "algbw", algbw(c));
  cli_json_real(&json, "busbw", busbw(b, c));
  cli_json_real(&json, "zeros", c->zeros);
  cli_json_real(&json, "density_in", c->density_in);
  cli_json_real(&json, "density_out", c->density_out);
  cli_json_int(&json, "wire_bytes", c->wire);
  cli_json_int(&json, "dense_wire_bytes", c->dense_wire);
  cli_json_int(&json, "arrays", c->arrays);
  cli_json_int(&json, "dense_arrays", c->dense_arrays);
  cli_json_int(&json, "pici_arrays", c->pici_arrays);
  cli_json_int(&json, "coo_arrays", c->coo_arrays);
  cli_json_int(&json, "inter_arrays", c->inter);
  cli_json_int(&json, "inter_dense_arrays", c->inter_dense);
  cli_json_int(&json, "intra_arrays", c->intra);
  cli_json_int(&json, "intra_dense_arrays", c->intra_dense);
  cli_json_int(&json, "allgather_arrays", c->allgather);
  cli_json_int(&json, "allgather_dense_arrays", c->allgather_dense);
  add_times(&json, (const char *const[]){"dense_us", "dense_p10_us", "dense_p90_us"}, &c->dense);
  cli_json_real(&json, "ratio", ratio(c));
  add_bound(&json, c);
  cli_json_text(&json, "path", c->path);
  cli_json_text(&json, "reason", c->reason);
  if (c->wrong >= 0)
    cli_json_int(&json, "wrong", c->wrong);
  else
    cli_json_text(&json, "wrong", NULL);
  return json;
}

/* Adds a density of --dense-above; null: it was not given. */
static void add_bound_of(cli_json *json, const char *name, double above) {
  if (above >= 0)
    cli_json_real(json, name, above);
  else
    cli_json_text(json, name, NULL);
}

json_t *cli_collective_json(const cli_collective_bench *b) {
  static cli_json list[CLI_COLLECTIVE_CASES];
  const cli_ratios all = ratios_of(b);
  cli_json json = cli_json_start();
  cli_json_text(&json, "sley", sley_version());
  cli_json_text(&json, "collective", b->kind.name);
  cli_json_int(&json, "ranks", b->ranks.ranks);
  cli_json_text(&json, "device", b->result->found);
  cli_json_text(&json, "transport", b->result->transport);
  cli_json_text(&json, "way", sley_collective_ways()[b->options.way]);
  cli_json_bool(&json, "any_order", b->options.any_order);
  add_bound_of(&json, "dense_above_inter", b->options.dense_above_inter);
  add_bound_of(&json, "dense_above_intra", b->options.dense_above_intra);
  add_bound_of(&json, "dense_above_allgather", b->options.dense_above_allgather);
  cli_json_int(&json, "block", b->block);
  cli_json_int(&json, "seed", b->seed);
  cli_json_int(&json, "warmup", b->warmup);
  cli_json_int(&json, "repeat", b->repeat);
  cli_json_int(&json, "iters", b->iters);
  cli_json_real(&json, "geomean", cli_ratios_mean(&all));
  cli_json_real(&json, "worst", all.worst);
  for (int i = 0; i < b->cases; i++)
    list[i] = case_json(b, &b->result->at[i]);
  cli_json_list(&json, "cases", list, b->cases);
  return cli_json_end(json);
}
