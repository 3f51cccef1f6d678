/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/report.h"

#include <inttypes.h>

const char *const cli_collective_types[] = {"f32", "f64", "f16", "bf16", "i64", "i8", "u8", NULL};
const char *const cli_collective_ops[] = {"sum", "min", "max", NULL};
const char *const cli_collective_ways[] = {"auto", "direct", "ring", "two-level", NULL};

/* ---- figures */

static const char *redop(const cli_collective_bench *b) {
  return b->kind.reduces ? cli_collective_ops[b->options.op] : "none";
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

static void print_case(const cli_collective_bench *b, const cli_collective_case *c, FILE *stream) {
  char wrong[32] = "N/A";
  if (c->wrong >= 0)
    snprintf(wrong, sizeof wrong, "%" PRId64, c->wrong);
  fprintf(stream, "%13" PRId64 " %13" PRId64 " %6s %6s %11.2f %8.3f %8.3f %6s", c->size, c->count,
          cli_collective_types[b->options.type], redop(b), c->time.median * 1e3, algbw(c), busbw(b, c),
          wrong);
  fprintf(stream, " %9.2f %8.4f %8.4f %13" PRId64 " %11.2f %9.2f %7.3f", (c->time.p90 - c->time.p10) * 1e3,
          100 * c->density_in, 100 * c->density_out, c->wire, c->dense.median * 1e3,
          (c->dense.p90 - c->dense.p10) * 1e3, ratio(c));
  if (has_bound(c))
    fprintf(stream, " %11.2f %6.1f", c->least * 1e3, 100 * c->least / c->time.median);
  else
    fprintf(stream, " %11s %6s", "-", "-");
  fprintf(stream, "  %s%s\n", c->path, format_of(c));
}

static void print_start(const cli_collective_bench *b, FILE *stream) {
  fprintf(stream,
          "# %s, %d rank%s, device %s, transport %s; blocks of %" PRId64 " values, seed %" PRId64 "\n",
          b->kind.name, b->ranks.ranks, b->ranks.ranks == 1 ? "" : "s",
          b->result->found, b->result->transport, b->block, b->seed);
  fprintf(stream,
          "# out of place; medians of %" PRId64 " measurements of %" PRId64
          " runs, of the slowest rank, spread p90 - p10; those of the dense collective alternate with them\n",
          b->repeat, b->iters);
  fprintf(stream, "#%12s %13s %6s %6s %11s %8s %8s %6s %9s %8s %8s %13s %11s %9s %7s %11s %6s  %s\n", "size",
          "count", "type", "redop", "time", "algbw", "busbw", "#wrong", "spread", "in", "out", "wire",
          "dense", "spread", "time /", "bound", "of it", "path");
  fprintf(stream, "#%12s %13s %6s %6s %11s %8s %8s %6s %9s %8s %8s %13s %11s %9s %7s %11s %6s\n", "(B)",
          "(elements)", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(%)", "(%)", "(B)", "(us)", "(us)",
          "dense", "(us)", "(%)");
}

void cli_collective_print(const cli_collective_bench *b, FILE *stream) {
  print_start(b, stream);
  for (int i = 0; i < b->cases; i++)
    print_case(b, &b->result->at[i], stream);
  if (b->cases == 1)
    return;
  const cli_ratios all = ratios_of(b);
  const cli_collective_case *worst = &b->result->at[all.at];
  fprintf(stream,
          "# time / dense of %d cases: geometric mean %.3f, worst %.3f (%" PRId64
          " B, zeros %g); seed %" PRId64 "\n",
          b->cases, cli_ratios_mean(&all), all.worst, worst->size, worst->zeros, b->seed);
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
  cli_json_text(&json, "type", cli_collective_types[b->options.type]);
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

json_t *cli_collective_json(const cli_collective_bench *b) {
  static cli_json list[CLI_COLLECTIVE_CASES];
  const cli_ratios all = ratios_of(b);
  cli_json json = cli_json_start();
  cli_json_text(&json, "sley", sley_version());
  cli_json_text(&json, "collective", b->kind.name);
  cli_json_int(&json, "ranks", b->ranks.ranks);
  cli_json_text(&json, "device", b->result->found);
  cli_json_text(&json, "transport", b->result->transport);
  cli_json_text(&json, "way", cli_collective_ways[b->options.way]);
  cli_json_bool(&json, "any_order", b->options.any_order);
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
