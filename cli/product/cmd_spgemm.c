/* SPDX-License-Identifier: Apache-2.0 */
/* `sley spgemm`: the product of two sparse matrices, timed, checked and written.
 *
 * One process makes rows of C by sley_spgemm (product/spgemm.c); ranks on any device and transport make it in
 * tiles (cli/tile). */
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "common.h"
#include "matrix/input.h"
#include "matrix/job.h"
#include "output/changes.h"
#include "output/output.h"
#include "product/algos.h"
#include "product/spgemm.h"
#include "ranks/start.h"
#include "sweep/sweep.h"
#include "tile/tile.h"

#define AT(field) offsetof(cli_spgemm_settings, field)
static const cli_option own_options[] = {
    {.name = "algo",
     .kind = CLI_TEXT,
     .value = "NAME",
     .offset = AT(algo),
     .choices = cli_spgemm_algos,
     .help =
         "rows: one process computes the rows of C, on its cores or its GPUs; tile-c and others: ranks "
         "multiply tiles (several names are separated by commas); tile-all: all algorithms in tiles; auto: "
         "rows for one rank and for GPUs of one process, else tile-c"},
    {.name = "mask",
     .kind = CLI_TEXT,
     .value = "M",
     .offset = AT(mask),
     .help = "compute only the entries of C where this matrix has entries"},
    {.name = "transpose-b", .kind = CLI_FLAG, .offset = AT(transpose_b), .help = "multiply by B transposed"},
    {.name = "semiring",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = AT(semiring),
     .choices = sley_semirings,
     .help = "the product and the sum of values"},
    {.name = "out",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = AT(out),
     .help = "write C; the ending of the name chooses the format"},
    {.name = "mem-limit",
     .kind = CLI_SIZE,
     .value = "SIZE",
     .offset = AT(common.mem_limit),
     .help = "most bytes for C and the memory to compute it, such as 512M or 8G; with cuda of GPU memory; in "
             "tiles for a product of two tiles and the memory to compute it"},
    {.name = "local",
     .kind = CLI_TEXT,
     .value = "NAME",
     .offset = AT(local),
     .help = "the library that multiplies with --algo rows: sley; with --device cuda also cusparse, "
             "cusparse-alg2 or cusparse-alg3"},
    {0}};
static const cli_option *const options[] = {own_options, NULL};
static const cli_spgemm_settings defaults = {
    .common = {.dtype = "f64", .device = "cpu", .ranks = 1, .seed = 1, .repeat = 1, .reading.base = -1},
    .semiring = "plus-times",
    .local = "sley"};

/* ---- which algorithm */

/* Returns true if the device is cuda, or auto on a machine with a GPU. */
static bool is_gpus(const char *device) {
  const sley_backend *backends;
  int count = 0;
  if (strcmp(device, "auto") != 0)
    return strcmp(device, "cuda") == 0;
  bool found = false;
  if (sley_backends(&backends, &count) == SLEY_OK)
    for (int i = 0; i < count; i++)
      found |= backends[i].available && strcmp(backends[i].name, "cuda") == 0;
  return found;
}

/* Returns the algorithm for auto: "rows" for one rank and for GPUs of one process, else "tile-c". */
static const char *choose(const cli_spgemm_settings *settings, const sley_rank_options *ranks) {
  const bool one = ranks->ranks == 1 || is_gpus(settings->common.device);
  return !ranks->transport && one ? "rows" : "tile-c";
}

/* Reports options that were given but have no effect. */
static void say_idle(const cli_spgemm_settings *settings, const sley_rank_options *ranks, bool tiles) {
  cli_no_effect("spgemm", "timeout", !ranks->transport, "ranks are threads of one process");
  cli_no_effect("spgemm", "workgroup", !tiles, "no algorithm that runs is in tiles");
  cli_no_effect("spgemm", "brief", !tiles, "the report of --algo rows has no table");
  if (tiles)
    cli_workgroup_bounded("spgemm", settings->common.workgroup, ranks->ranks);
  else
    cli_tile_idle("spgemm");
}

/* Refuses options that the algorithms do not have. Returns the exit code. */
static int check_algos(const cli_spgemm_settings *settings, const cli_algos *algos,
                       const sley_rank_options *ranks) {
  if (algos->tiles && strcmp(settings->local, "sley") != 0)
    return cli_refuse(SLEY_ERR_ARG, "spgemm: --local %s requires --algo rows, but %s is an algorithm in tiles",
                      settings->local, algos->name[0]);
  if (!algos->tiles && algos->count > 1)
    return cli_refuse(SLEY_ERR_ARG, "spgemm: --algo: rows and auto cannot be in a list");
  if (!algos->tiles && ranks->transport)
    return cli_refuse(SLEY_ERR_ARG,
                      "spgemm: --algo rows runs in one process, but the ranks of transport %s are "
                      "several processes: leave one of the two out",
                      ranks->transport);
  if (!algos->tiles && ranks->ranks > 1 && !is_gpus(settings->common.device))
    return cli_refuse(SLEY_ERR_ARG,
                      "spgemm: --algo rows runs on all cores of this process as one rank, but --ranks is %d: "
                      "give --algo tile-c, or leave --ranks out",
                      ranks->ranks);
  return CLI_DONE;
}

/* ---- the run */

static sley_status load(const cli_spgemm_settings *s, int ranks, cli_spgemm_factors *f) {
  const int64_t threads = s->common.threads * ranks;
  const bool other = strcmp(f->name_a, f->name_b) != 0;
  sley_status status =
      cli_load(f->name_a, s->common.dtype, threads, s->common.seed, 0, &s->common.reading, &f->a);
  f->b = f->a;
  if (status == SLEY_OK && other)
    status = cli_load(f->name_b, s->common.dtype, threads, s->common.seed, 0, &s->common.reading, &f->b);
  if (status == SLEY_OK && s->mask)
    status = cli_load(s->mask, "f32", threads, s->common.seed, 0, &s->common.reading, &f->mask);
  return status;
}

static void unload(cli_spgemm_factors *f) {
  if (f->b != f->a)
    sley_matrix_destroy(f->b);
  sley_matrix_destroy(f->a);
  sley_matrix_destroy(f->mask);
}

/* Replaces B by its transpose if --transpose-b was given. */
static sley_status transpose_b(const cli_spgemm_settings *s, cli_spgemm_factors *f) {
  sley_matrix *transposed = NULL;
  const sley_status status =
      s->transpose_b ? sley_matrix_transpose(f->b, (int)s->common.threads, &transposed) : SLEY_OK;
  if (!transposed)
    return status;
  if (f->b != f->a)
    sley_matrix_destroy(f->b);
  f->b = transposed;
  return status;
}

/* Checks the shapes of the factors and of the mask. Returns the exit code. */
static int check_sizes(const cli_tile_bench *b) {
  const sley_matrix_info *left = &b->size, *right = &b->size_b, *mask = &b->size_mask;
  if (left->cols != right->rows)
    return cli_refuse(SLEY_ERR_ARG,
                      "spgemm: A has %" PRId64 " columns and B %" PRId64 " rows: they must be equal",
                      left->cols, right->rows);
  if (b->mask && (mask->rows != left->rows || mask->cols != right->cols))
    return cli_refuse(SLEY_ERR_ARG,
                      "spgemm: the mask is %" PRId64 " x %" PRId64 ", but the product is %" PRId64
                      " x %" PRId64,
                      mask->rows, mask->cols, left->rows, right->cols);
  return CLI_DONE;
}

static int run_tiles(const cli_spgemm_settings *s, cli_spgemm_factors *f, const cli_algos *algos,
                     const sley_rank_options *ranks) {
  sley_status status = transpose_b(s, f);
  cli_tile_bench bench = {.command = "spgemm",
                          .ranks = *ranks,
                          .algos = algos,
                          .name = f->name_a,
                          .matrix = f->a,
                          .name_b = f->name_b,
                          .b = f->b,
                          .transpose_b = s->transpose_b,
                          .name_mask = s->mask,
                          .mask = f->mask,
                          .semiring = (sley_semiring)cli_number_of(s->semiring, sley_semirings()),
                          .mem_limit = s->common.mem_limit,
                          .out = s->out,
                          .seed = s->common.seed,
                          .repeat = s->common.repeat,
                          .warmup = s->common.warmup,
                          .verify = s->common.verify,
                          .tells = cli_start_reports(ranks)};
  if (status == SLEY_OK)
    status = sley_matrix_info_get(f->a, &bench.size);
  if (status == SLEY_OK)
    status = sley_matrix_info_get(f->b, &bench.size_b);
  if (status == SLEY_OK && f->mask)
    status = sley_matrix_info_get(f->mask, &bench.size_mask);
  const int code = status == SLEY_OK ? check_sizes(&bench) : cli_finish(status);
  return code == CLI_DONE ? cli_tile_measure(&bench, &s->common) : code;
}

/* Refuses wrong arguments before any work. Returns the exit code. */
static int check_words(const cli_spgemm_settings *s, const cli_spgemm_factors *f) {
  if (!cli_name_fits_json("spgemm", f->name_a, s->common.json) ||
      !cli_name_fits_json("spgemm", f->name_b, s->common.json) ||
      (s->mask && !cli_name_fits_json("spgemm", s->mask, s->common.json)) ||
      !cli_output_matrix_ending(s->out))
    return CLI_USAGE;
  return cli_output_possible(s->out) && cli_output_possible(s->common.json) ? CLI_DONE : CLI_FAILED;
}

/* Reads standard input; at most one of the three inputs may be "-". Returns the exit code. */
static int take_stdin(const cli_spgemm_settings *s, const char *a, const char *b) {
  const int code = cli_take_stdin("spgemm", a, b, 0);
  return code == CLI_DONE && s->mask ? cli_take_stdin("spgemm", s->mask, b && strcmp(b, "-") == 0 ? b : a, 0)
                                     : code;
}

static int run(void *settings_, char **positionals) {
  cli_spgemm_settings *settings = settings_;
  cli_spgemm_factors factors = {.name_a = positionals[0],
                                .name_b = positionals[1] ? positionals[1] : positionals[0]};
  sley_rank_options ranks;
  cli_algos algos;
  if (!cli_algos_read("spgemm", settings->algo, cli_spgemm_algos(), &algos))
    return CLI_USAGE;
  int code = check_words(settings, &factors);
  if (code == CLI_DONE)
    code = cli_start(&settings->common, &ranks);
  if (code != CLI_DONE)
    return code;
  if (algos.count == 1 && strcmp(algos.name[0], "auto") == 0 &&
      !cli_algos_read("spgemm", choose(settings, &ranks), cli_spgemm_algos(), &algos))
    return CLI_USAGE;
  code = check_algos(settings, &algos, &ranks);
  if (code == CLI_DONE)
    code = take_stdin(settings, positionals[0], positionals[1]);
  if (code != CLI_DONE)
    return code;
  say_idle(settings, &ranks, algos.tiles);
  cli_seed_no_effect("spgemm", false, positionals[0], positionals[1], settings->mask);
  const sley_status status = load(settings, algos.tiles ? ranks.ranks : 1, &factors);
  code = status != SLEY_OK ? cli_finish(status)
         : algos.tiles     ? run_tiles(settings, &factors, &algos, &ranks)
                           : cli_spgemm_rows(settings, &factors, ranks.ranks);
  unload(&factors);
  return code;
}

const cli_command cli_spgemm = {
    .name = "spgemm",
    .summary = "multiply two sparse matrices: C = A B, or A A",
    .arguments = "A [B]",
    .positionals = 2,
    .optional = 1,
    .options = options,
    .common = CLI_TAKES_RANKS | CLI_TAKES_WORKGROUP | CLI_TAKES_THREADS | CLI_TAKES_TRANSPORT |
              CLI_TAKES_TIMEOUT | CLI_TAKES_DEVICE | CLI_TAKES_DTYPE | CLI_TAKES_SEED | CLI_TAKES_REPEAT |
              CLI_TAKES_WARMUP | CLI_TAKES_VERIFY | CLI_TAKES_READING | CLI_TAKES_JSON | CLI_TAKES_TILES |
              CLI_TAKES_BUFFERS | CLI_TAKES_BRIEF,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes = "A, B and M are files or generators. The ending of --out names a format, as for sley convert.\n"
             "Examples: sley spgemm graph.mtx --mask graph.mtx --semiring plus-pair\n"
             "          sley spgemm graph.mtx --ranks 8 --transport mpi --verify\n"
             "          sley spgemm graph.mtx --ranks 4 --tiles 4 --algo tile-c,tile-c-steal-local\n"
             "Exit status: 0 done, 1 a wrong value or a failure, 2 wrong usage or input, 130 interrupted.\n",
    .sweep = cli_sweep,
    .run = run};
