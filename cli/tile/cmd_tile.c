/* SPDX-License-Identifier: Apache-2.0 */
/* `sley tile`: products of matrices in tiles by one-sided access, Y = A X or C = A B.
 *
 * run.c measures on ranks, report.c prints. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "common.h"
#include "matrix/input.h"
#include "matrix/job.h"
#include "output/changes.h"
#include "output/output.h"
#include "output/terminal.h"
#include "pair.h"
#include "ranks/processes.h"
#include "ranks/start.h"
#include "tile/tile.h"

enum { RANKS = 4, MOST_TILES = 1 << 24, MOST_BUFFERS = 4096 };

typedef struct tile_settings {
  cli_common common;
  const char *times, *semiring, *mask, *algo, *grid, *tiles;
  int64_t k, columns, buffers;
} tile_settings;

#define AT(field) offsetof(tile_settings, field)
static const cli_option own_options[] = {
    {.name = "k",
     .letter = 'k',
     .kind = CLI_INT,
     .value = "K",
     .offset = AT(k),
     .most = INT32_MAX,
     .help = "columns of X and Y"},
    {.name = "times",
     .kind = CLI_TEXT,
     .value = "B",
     .offset = AT(times),
     .help = "multiply by this sparse matrix instead of X: C = A B"},
    {.name = "semiring",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = AT(semiring),
     .choices = sley_semirings,
     .help = "of C = A B: what the values are multiplied and added by"},
    {.name = "mask",
     .kind = CLI_TEXT,
     .value = "M",
     .offset = AT(mask),
     .help = "of C = A B: C has entries only where this sparse matrix has"},
    {.name = "mem-limit",
     .kind = CLI_SIZE,
     .value = "SIZE",
     .offset = AT(common.mem_limit),
     .help = "of C = A B: bytes that a product of two tiles and the memory to make it may take, such as 512M "
             "or 8G"},
    {.name = "algo",
     .kind = CLI_TEXT,
     .value = "NAMES",
     .offset = AT(algo),
     .choices = sley_tile_algorithms,
     .also = "all",
     .help = "tile-c, tile-a or tile-b: what stays where it is, Y, A or X (or C, A, B); each with -steal or "
             "-steal-local: ranks that are done take work of others; several with commas, or all"},
    {.name = "grid",
     .kind = CLI_TEXT,
     .value = "RxC",
     .offset = AT(grid),
     .help = "the ranks as R rows of C; R times C is their number (default: nearest to a square)"},
    {.name = "tiles",
     .kind = CLI_TEXT,
     .value = "N|RxC",
     .offset = AT(tiles),
     .help = "divide A into N x N or R x C tiles (default: as many rows as the grid has, and for columns the "
             "least "
             "multiple of its rows and columns)"},
    {.name = "columns",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(columns),
     .most = MOST_TILES,
     .help = "divide the columns of X and Y into N tiles; 0: as many as the grid has"},
    {.name = "buffers",
     .kind = CLI_INT,
     .value = "N",
     .offset = AT(buffers),
     .most = MOST_BUFFERS,
     .help = "products of tiles, or pieces of sparse ones, that a rank holds for others; 0: 4"},
    {0}};
static const cli_option *const options[] = {own_options, NULL};
static const tile_settings defaults = {.common = {.ranks = RANKS,
                                                  .device = "cpu",
                                                  .seed = 1,
                                                  .repeat = 10,
                                                  .warmup = 2,
                                                  .verify = true,
                                                  .reading.base = -1},
                                       .algo = "tile-c",
                                       .semiring = "plus-times",
                                       .k = 64};

/* ---- words */

/* Reads --algo: "all", or names separated by commas. names has room for all algorithms; its elements point to
 * the library's names. On failure prints one line on stderr and returns false. */
static bool read_algos(const char *text, const char **names, int *count) {
  const char *const *known = sley_tile_algorithms();
  *count = 0;
  for (const char *at = text; strcmp(text, "all") != 0;) {
    const size_t length = strcspn(at, ",");
    int found = 0;
    while (known[found] && (strlen(known[found]) != length || strncmp(known[found], at, length) != 0))
      found++;
    if (!known[found] || *count == CLI_TILE_ALGORITHMS) {
      char word[64], suggestion[256];
      snprintf(word, sizeof word, "%.*s", (int)length, at);
      cli_suggest(suggestion, sizeof suggestion, word, known);
      cli_error("tile: --algo: there is no \"%s\"%s", word, suggestion);
      return false;
    }
    names[(*count)++] = known[found];
    if (at[length] == '\0')
      return true;
    at += length + 1;
  }
  for (; known[*count] && *count < CLI_TILE_ALGORITHMS; ++*count)
    names[*count] = known[*count];
  return true;
}

static int read_tilings(cli_tile_bench *b, const tile_settings *s) {
  int64_t grid_rows = 0, grid_cols = 0;
  if (!cli_pair_read("tile", "grid", s->grid, false, CLI_TILE_RANKS, &grid_rows, &grid_cols) ||
      !cli_pair_read("tile", "tiles", s->tiles, true, MOST_TILES, &b->a.tiles_down, &b->a.tiles_across))
    return CLI_USAGE;
  b->a.grid_rows = (int)grid_rows;
  b->a.grid_cols = (int)grid_cols;
  return cli_finish(sley_tile_complete(b->ranks.ranks, s->columns, &b->a, &b->of_x, &b->y));
}

/* ---- the run */

/* Returns the exit code: a failure if a result is wrong or the counted traffic is not as predicted. */
static int judge(const cli_tile_bench *b) {
  for (int i = 0; i < b->algos; i++) {
    const cli_tile_result *r = &b->result[i];
    if (r->checked && !r->right)
      return cli_refuse(SLEY_ERR_INTERNAL, "%s: wrong result at row %" PRId64 ": please report it", r->algo,
                        r->wrong_row);
    if (!cli_tile_as_predicted(b, r))
      return cli_refuse(SLEY_ERR_INTERNAL, "%s: the transport counted other traffic than was predicted",
                        r->algo);
  }
  return CLI_DONE;
}

static int report(const cli_tile_bench *b, const char *json) {
  if (b->note[0])
    cli_changed("%s; ranks ran on %s", b->note, b->found);
  cli_tile_print(b, json && strcmp(json, "-") == 0 ? stderr : stdout);
  const int code = judge(b);
  if (json && !cli_tile_json(b, json))
    return code == CLI_DONE ? CLI_FAILED : code;
  return code;
}

/* Results that ranks write, in memory that is shared if ranks are processes. rank: one element per algorithm
 * and rank. */
typedef struct board {
  sley_tiled_info info;
  bool told;
  char found[SLEY_ERROR_BYTES], note[SLEY_ERROR_BYTES];
  cli_tile_result result[CLI_TILE_ALGORITHMS];
  cli_tile_rank rank[];
} board;

static int measure(cli_tile_bench *b, const char **names, const char *json) {
  const size_t bytes = sizeof(board) + (size_t)b->algos * (size_t)b->ranks.ranks * sizeof(cli_tile_rank);
  board *shared = cli_share(bytes);
  if (!shared)
    return cli_refuse(SLEY_ERR_MEMORY, "tile: out of memory for the results");
  b->result = shared->result;
  b->info = &shared->info;
  b->found = shared->found;
  b->note = shared->note;
  b->told = &shared->told;
  for (int i = 0; i < b->algos; i++)
    b->result[i] =
        (cli_tile_result){.algo = names[i], .rank = shared->rank + (size_t)i * (size_t)b->ranks.ranks};
  const sley_status status = cli_tile_run(b);
  cli_progress_clear();
  int code = CLI_DONE;
  if (status != SLEY_OK)
    code = shared->told ? cli_quiet_code(status) : cli_start_failed(&b->ranks, status, "");
  else if (b->tells)
    code = report(b, json);
  cli_unshare(shared, bytes);
  return code;
}

static sley_status make_x(cli_tile_bench *b, void **x) {
  const int64_t value = (int64_t)sley_dtype_bytes(b->size.dtype);
  int64_t bytes;
  if (__builtin_mul_overflow(b->size.cols, b->k * value, &bytes))
    bytes = INT64_MAX; /* sley_buffer_alloc refuses it */
  sley_status status = sley_buffer_alloc(bytes, x);
  b->x = *x;
  return status == SLEY_OK
             ? sley_dense_random((uint64_t)b->seed, 0, b->size.cols, b->k, NULL, b->size.dtype, *x, b->k)
             : status;
}

static sley_status load(const char *name, const char *dtype, const tile_settings *s, const cli_tile_bench *b,
                        sley_matrix **out, sley_matrix_info *size) {
  const sley_status status =
      cli_load(name, dtype, s->common.threads * b->ranks.ranks, s->common.seed, 0, &s->common.reading, out);
  return status == SLEY_OK ? sley_matrix_info_get(*out, size) : status;
}

/* Checks the shapes of the factors and of the mask. Returns the exit code. */
static int check_sizes(const cli_tile_bench *b) {
  const sley_matrix_info *left = &b->size, *right = &b->size_b, *mask = &b->size_mask;
  if (b->b && left->cols != right->rows)
    return cli_refuse(SLEY_ERR_ARG,
                      "tile: A has %" PRId64 " columns and B %" PRId64 " rows: they must be as many",
                      left->cols, right->rows);
  if (b->mask && (mask->rows != left->rows || mask->cols != right->cols))
    return cli_refuse(SLEY_ERR_ARG,
                      "tile: the mask is %" PRId64 " x %" PRId64 ", but the product is %" PRId64
                      " x %" PRId64,
                      mask->rows, mask->cols, left->rows, right->cols);
  return CLI_DONE;
}

static int load_and_measure(cli_tile_bench *b, const tile_settings *s, const char **names) {
  sley_matrix *matrix = NULL, *factor = NULL, *mask = NULL;
  void *x = NULL;
  const char *from, *dtype = cli_settled_dtype(s->common.dtype, b->name, b->name_b, &from);
  if (from && b->tells)
    cli_say("dtype f64, in which %s is stored; --dtype f32 computes in f32", from);
  sley_status status = load(b->name, dtype, s, b, &matrix, &b->size);
  if (status == SLEY_OK)
    status = b->name_b ? load(b->name_b, dtype, s, b, &factor, &b->size_b) : make_x(b, &x);
  if (status == SLEY_OK && b->name_mask)
    status = load(b->name_mask, "f32", s, b, &mask, &b->size_mask);
  b->matrix = matrix;
  b->b = factor;
  b->mask = mask;
  int code = cli_finish(status);
  if (code == CLI_DONE)
    code = check_sizes(b);
  if (code == CLI_DONE)
    code = measure(b, names, s->common.json);
  sley_buffer_free(x);
  sley_matrix_destroy(matrix);
  sley_matrix_destroy(factor);
  sley_matrix_destroy(mask);
  return code;
}

/* Refuses wrong arguments before any work. Returns the exit code. */
static int check_words(const tile_settings *s, const char *name, const char **names, int *algos) {
  if (!read_algos(s->algo, names, algos) || !cli_name_fits_json("tile", name, s->common.json) ||
      (s->times && !cli_name_fits_json("tile", s->times, s->common.json)) ||
      (s->mask && !cli_name_fits_json("tile", s->mask, s->common.json)))
    return CLI_USAGE;
  if (!s->times && (s->mask || s->common.mem_limit > 0)) {
    cli_error("tile: --%s is of C = A B: give --times too", s->mask ? "mask" : "mem-limit");
    return CLI_USAGE;
  }
  return cli_output_possible(s->common.json) ? CLI_DONE : CLI_FAILED;
}

/* Reports options that were given but have no effect. */
static void say_idle(const cli_tile_bench *b, const tile_settings *s, const char **names) {
  bool keeps = true;
  for (int i = 0; i < b->algos; i++)
    keeps &= strcmp(names[i], "tile-c") == 0;
  cli_no_effect("tile", "timeout", !b->ranks.transport, "ranks are threads of one process");
  cli_no_effect("tile", "k", b->name_b, "--times names the other factor");
  cli_no_effect("tile", "semiring", !b->name_b, "it is of --times");
  cli_no_effect("tile", "buffers", keeps, "tile-c holds no products for others");
  cli_seed_no_effect("tile", !b->name_b, b->name, b->name_b, s->mask);
  cli_workgroup_bounded("tile", s->common.workgroup, b->ranks.ranks);
}

static int run(void *settings, char **positionals) {
  const tile_settings *s = settings;
  const char *names[CLI_TILE_ALGORITHMS];
  cli_tile_bench b = {.name = positionals[0],
                      .name_b = s->times,
                      .semiring = (sley_semiring)cli_number_of(s->semiring, sley_semirings()),
                      .name_mask = s->mask,
                      .mem_limit = s->common.mem_limit,
                      .k = s->k,
                      .seed = s->common.seed,
                      .repeat = s->common.repeat,
                      .warmup = s->common.warmup,
                      .buffers = s->buffers,
                      .verify = s->common.verify};
  int code = check_words(s, b.name, names, &b.algos);
  if (code == CLI_DONE)
    code = cli_start(&s->common, &b.ranks);
  if (code == CLI_DONE)
    code = read_tilings(&b, s);
  if (code == CLI_DONE)
    code = cli_take_stdin("tile", b.name, b.name_b, 0);
  if (code == CLI_DONE && b.name_mask) /* at most one of the three may be "-" */
    code = cli_take_stdin("tile", b.name_mask, b.name_b && strcmp(b.name_b, "-") == 0 ? b.name_b : b.name, 0);
  if (code != CLI_DONE)
    return code;
  b.tells = cli_start_reports(&b.ranks);
  say_idle(&b, s, names);
  return load_and_measure(&b, s, names);
}

const cli_command cli_tile_command = {
    .name = "tile",
    .summary = "multiply matrices in tiles by one-sided access, timed by what each rank does, and checked",
    .arguments = "MATRIX",
    .positionals = 1,
    .options = options,
    .common = CLI_TAKES_RANKS | CLI_TAKES_WORKGROUP | CLI_TAKES_THREADS | CLI_TAKES_TRANSPORT |
              CLI_TAKES_TIMEOUT | CLI_TAKES_DEVICE | CLI_TAKES_DTYPE | CLI_TAKES_SEED | CLI_TAKES_REPEAT |
              CLI_TAKES_WARMUP | CLI_TAKES_VERIFY | CLI_TAKES_READING | CLI_TAKES_JSON,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes = "MATRIX is a file or a generator, as of spmm. The times of a rank: compute, products of tiles; "
             "communicate,\n"
             "waiting for tiles; accumulate, products for other ranks and from them; imbalance, waiting for "
             "slower ranks.\n"
             "Examples: sley tile rmat:scale=14 --algo all --ranks 6 --grid 3x2 --tiles 6\n"
             "          sley tile graph.mtx --times graph.mtx --tiles 4 --algo tile-c,tile-c-steal-local\n"
             "          sley tile graph.mtx --times graph.mtx --mask graph.mtx --semiring plus-pair\n"
             "Exit status: 0 done, 1 a wrong value or a failure, 2 wrong usage or input, 130 interrupted.\n",
    .run = run};
