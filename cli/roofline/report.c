/* SPDX-License-Identifier: Apache-2.0 */
/* The text and the JSON of rooflines. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/json.h"
#include "output/output.h"
#include "output/table.h"
#include "output/terminal.h"
#include "product/legend.h"
#include "roofline/roofline.h"

#define MIB (1024.0 * 1024.0)

double cli_roofline_intensity(const cli_roofline_row *row, bool measured) {
  const double bytes = measured && row->measured_bytes >= 0 ? row->measured_bytes
                       : row->known                         ? row->line.network_bytes
                                                            : 0;
  return bytes > 0 ? row->line.flops / bytes : 0;
}

double cli_roofline_rate(const cli_roofline *r, const cli_roofline_row *row, double ms) {
  return ms > 0 ? row->line.flops / (1e6 * r->ranks * ms) : 0;
}

static double gflops(double rate) {
  return rate / 1e9;
}

/* ---- text */

static void print_head(const cli_roofline *r, FILE *stream) {
  const sley_roofline *line = &r->row[0].line;
  fprintf(stream, "%s: %" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros, %s; ", cli_shown(r->matrix),
          r->info.rows, r->info.cols, r->info.nnz, sley_dtypes()[r->info.dtype]);
  if (r->sparse)
    fprintf(stream, "times %s, %.2f products per nonzero of C; ", r->b ? cli_shown(r->b) : "itself",
            line->compression);
  else
    fprintf(stream, "k = %" PRId64 "; ", r->k);
  fprintf(stream, "%d rank%s on %d node%s\n", r->ranks, r->ranks == 1 ? "" : "s", line->nodes,
          line->nodes == 1 ? "" : "s");
  cli_sources_print(stream);
  fprintf(stream, "machine    %s (%s)\n", cli_shown(r->machine.name),
          strcmp(r->machine.source, "built in") == 0 ? "built-in figures; run sley tune"
                                                     : cli_shown(r->machine.source));
  fprintf(stream, "a rank     memory %.4g GB/s, %s %.4g GB/s", line->memory_bandwidth / 1e9,
          line->nodes > 1 ? "network" : "links between ranks", line->network_bandwidth / 1e9);
  if (line->peak > 0)
    fprintf(stream, ", arithmetic %.4g GFLOP/s", gflops(line->peak));
  fprintf(stream, "\n\n");
}

/* Writes a rate or an intensity, or a dash if there is none. */
static void put_figure(cli_table *table, int column, double value, const char *format) {
  char text[32];
  if (!(value > 0) || isinf(value)) {
    cli_table_cell(table, column, "-");
    return;
  }
  snprintf(text, sizeof text, format, value);
  cli_table_cell(table, column, "%s", text);
}

static void put_model(cli_table *table, const sley_roofline *line) {
  cli_table_cell(table, 1, "%dx%d", line->grid_rows, line->grid_cols);
  cli_table_cell(table, 2, "%" PRId64 "x%" PRId64 "x%" PRId64, line->tiles_down, line->tiles_between,
                 line->tiles_across);
  cli_table_cell(table, 3, "%.3f", line->network_bytes / MIB);
  put_figure(table, 5, gflops(line->local_roof), "%.4g");
  put_figure(table, 6, gflops(line->network_roof), "%.4g");
  cli_table_cell(table, 7, "%s", line->flops > 0 ? sley_bound_name(line->bound) : "-");
  cli_table_cell(table, 8, "%.3f", line->attainable_ms);
  cli_table_cell(table, 9, "%.3f", line->predicted_ms);
}

static void print_rows(const cli_roofline *r, FILE *stream) {
  static const char *const headings[] = {
      "<algo", "grid",       "tiles",        "MiB",      "flop/B", "local GFLOP/s", "network GFLOP/s",
      "bound", "at best ms", "predicted ms", "measured", "ratio",  "work",          "by stages",
      NULL};
  static cli_table table;
  cli_table_start(&table, headings);
  for (int i = 0; i < r->count && cli_table_row(&table); i++) {
    const cli_roofline_row *row = &r->row[i];
    cli_table_cell(&table, 0, "%s", row->algo);
    put_figure(&table, 4, cli_roofline_intensity(row, !row->known), "%.4g");
    if (row->known)
      put_model(&table, &row->line);
    else if (row->measured_bytes >= 0)
      cli_table_cell(&table, 3, "%.3f", row->measured_bytes / MIB);
    put_figure(&table, 10, row->measured_ms, "%.3f");
    put_figure(&table, 11, row->known && row->measured_ms > 0 ? row->line.predicted_ms / row->measured_ms : 0,
               "%.2f");
    put_figure(&table, 12, row->known ? row->line.flops_imbalance : 0, "%.2f");
    put_figure(&table, 13, row->known ? row->line.stage_imbalance : 0, "%.2f");
  }
  cli_table_print(&table, stream);
}

/* Prints the ranks of the first algorithm. */
static void print_ranks(const cli_roofline *r, FILE *stream) {
  static const char *const headings[] = {"rank",     "tasks",    "Mflop",      "MiB in",       "MiB out",
                                         "messages", "local ms", "network ms", "predicted ms", NULL};
  const cli_roofline_row *row = &r->row[0];
  cli_table table;
  fprintf(stream, "\n%s by ranks:\n", row->algo);
  cli_table_start(&table, headings);
  for (int i = 0; i < r->ranks && cli_table_row(&table); i++) {
    const sley_roofline_rank *rank = &row->ranks[i];
    const double figures[] = {rank->flops / 1e6, rank->network_in / MIB, rank->network_out / MIB,
                              rank->messages,    rank->local_ms,         rank->network_ms,
                              rank->predicted_ms};
    cli_table_cell(&table, 0, "%d", i);
    cli_table_cell(&table, 1, "%" PRId64, rank->tasks);
    for (int column = 2; column < table.columns; column++)
      cli_table_cell(&table, column, column == 5 ? "%.0f" : "%.3f", figures[column - 2]);
  }
  cli_table_print(&table, stream);
}

void cli_roofline_print(const cli_roofline *r, bool per_rank, bool brief, FILE *stream) {
  print_head(r, stream);
  print_rows(r, stream);
  if (per_rank)
    print_ranks(r, stream);
  if (!brief)
    cli_legend_roofline(stream);
}

/* ---- JSON */

static cli_json rank_json(const sley_roofline_rank *rank) {
  cli_json json = cli_json_start();
  cli_json_int(&json, "tasks", rank->tasks);
  cli_json_real(&json, "flops", rank->flops);
  cli_json_real(&json, "local_bytes", rank->local_bytes);
  cli_json_real(&json, "network_in", rank->network_in);
  cli_json_real(&json, "network_out", rank->network_out);
  cli_json_real(&json, "inside_in", rank->inside_in);
  cli_json_real(&json, "inside_out", rank->inside_out);
  cli_json_real(&json, "messages", rank->messages);
  cli_json_real(&json, "local_ms", rank->local_ms);
  cli_json_real(&json, "network_ms", rank->network_ms);
  cli_json_real(&json, "predicted_ms", rank->predicted_ms);
  return json;
}

/* Adds the figures of each rank. Returns false if out of memory. */
static bool add_ranks(const cli_roofline *r, const cli_roofline_row *row, cli_json *json) {
  cli_json *list = malloc((size_t)r->ranks * sizeof *list);
  if (!list)
    return false;
  for (int i = 0; i < r->ranks; i++)
    list[i] = rank_json(&row->ranks[i]);
  cli_json_list(json, "ranks", list, r->ranks);
  free(list);
  return true;
}

static void add_model(const sley_roofline *line, cli_json *json) {
  cli_json_int(json, "grid_rows", line->grid_rows);
  cli_json_int(json, "grid_cols", line->grid_cols);
  cli_json_int(json, "tiles_down", line->tiles_down);
  cli_json_int(json, "tiles_between", line->tiles_between);
  cli_json_int(json, "tiles_across", line->tiles_across);
  cli_json_int(json, "tasks", line->tasks);
  cli_json_real(json, "local_bytes", line->local_bytes);
  cli_json_real(json, "network_bytes", line->network_bytes);
  cli_json_real(json, "inside_bytes", line->inside_bytes);
  cli_json_real(json, "messages", line->messages);
  cli_json_real(json, "local_intensity", line->local_intensity);
  cli_json_real(json, "network_intensity", line->network_intensity);
  cli_json_real(json, "memory_gflops", gflops(line->memory_roof));
  cli_json_real(json, "local_gflops", gflops(line->local_roof));
  cli_json_real(json, "network_gflops", gflops(line->network_roof));
  cli_json_real(json, "attainable_gflops", gflops(line->attainable));
  cli_json_text(json, "bound", sley_bound_name(line->bound));
  cli_json_real(json, "flops_imbalance", line->flops_imbalance);
  cli_json_real(json, "stage_imbalance", line->stage_imbalance);
  cli_json_real(json, "attainable_ms", line->attainable_ms);
  cli_json_real(json, "local_ms", line->local_ms);
  cli_json_real(json, "network_ms", line->network_ms);
  cli_json_real(json, "predicted_ms", line->predicted_ms);
}

static bool row_json(const cli_roofline *r, const cli_roofline_row *row, cli_json *json) {
  bool whole = true;
  *json = cli_json_start();
  cli_json_text(json, "algo", row->algo);
  if (row->known) {
    add_model(&row->line, json);
    whole = add_ranks(r, row, json);
  }
  if (row->measured_ms > 0) {
    cli_json_real(json, "measured_ms", row->measured_ms);
    cli_json_real(json, "measured_gflops", cli_roofline_rate(r, row, row->measured_ms));
    cli_json_real(json, "measured_intensity", cli_roofline_intensity(row, true));
    if (row->measured_bytes >= 0)
      cli_json_real(json, "measured_bytes", row->measured_bytes);
  }
  return whole;
}

bool cli_roofline_write_json(const cli_roofline *r, const char *path) {
  cli_json json = cli_json_start(), list[CLI_ROOFLINE_ROWS];
  const sley_roofline *line = &r->row[0].line;
  cli_json_text(&json, "matrix", r->matrix);
  if (r->sparse)
    cli_json_text(&json, "b", r->b ? r->b : r->matrix);
  else
    cli_json_int(&json, "k", r->k);
  cli_json_int(&json, "rows", r->info.rows);
  cli_json_int(&json, "cols", r->info.cols);
  cli_json_int(&json, "nnz", r->info.nnz);
  cli_json_text(&json, "dtype", sley_dtypes()[r->info.dtype]);
  cli_json_int(&json, "ranks", r->ranks);
  cli_json_int(&json, "nodes", line->nodes);
  cli_json_int(&json, "workgroup", line->ranks_per_node);
  cli_json_text(&json, "machine", r->machine.name);
  cli_json_text(&json, "machine_source", r->machine.source);
  cli_json_real(&json, "memory_bandwidth", line->memory_bandwidth);
  cli_json_real(&json, "network_bandwidth", line->network_bandwidth);
  cli_json_real(&json, "peak_gflops", gflops(line->peak));
  cli_json_real(&json, "flops", line->flops);
  if (r->sparse)
    cli_json_real(&json, "compression", line->compression);
  for (int i = 0; i < r->count; i++)
    json.whole &= row_json(r, &r->row[i], &list[i]);
  cli_json_list(&json, "algorithms", list, r->count);
  return cli_output_json(path, cli_json_end(json));
}
