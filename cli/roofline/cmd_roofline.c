/* SPDX-License-Identifier: Apache-2.0 */
/* `sley roofline`: predicts which resource limits a product of matrices in tiles, and its time. No ranks run,
 * and the ranks' products are not computed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "common.h"
#include "matrix/input.h"
#include "output/changes.h"
#include "output/output.h"
#include "output/plot.h"
#include "output/terminal.h"
#include "output/text.h"
#include "pair.h"
#include "roofline/roofline.h"
#include "sweep/sweep.h"

enum { DEFAULT_K = 32, DEFAULT_RANKS = 4, MOST_RANKS = 65536 };
#define GIGA  1e9
#define MICRO 1e-6

typedef struct roofline_settings {
  cli_common common;
  int64_t k;
  double memory, network, latency, peak, compression, measured_ms;
  const char *algo, *measured;
  bool spgemm, per_rank;
} roofline_settings;

#define AT(field) offsetof(roofline_settings, field)
static const cli_option own_options[] = {
    {.name = "k",
     .letter = 'k',
     .kind = CLI_INT,
     .value = "K",
     .offset = AT(k),
     .least = 1,
     .most = INT32_MAX,
     .listed = true,
     .help = "columns of X"},
    {.name = "spgemm", .kind = CLI_FLAG, .offset = AT(spgemm), .help = "C = A B, both sparse; without B A A"},
    {.name = "ranks",
     .kind = CLI_INT,
     .value = "P",
     .offset = AT(common.ranks),
     .least = 1,
     .most = MOST_RANKS,
     .listed = true,
     .help = "number of ranks"},
    {.name = "workgroup",
     .kind = CLI_INT,
     .value = "W",
     .offset = AT(common.workgroup),
     .most = MOST_RANKS,
     .help = "number of ranks of a node; 0: as the description of the machine says"},
    {.name = "algo",
     .kind = CLI_TEXT,
     .value = "NAME,...",
     .offset = AT(algo),
     .choices = sley_roofline_algorithms,
     .also = "all",
     .help = "tile-c, tile-a, tile-b, tile-summa or summa-2d, several of these separated by commas, or all"},
    {.name = "device",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = AT(common.device),
     .choices = cli_devices,
     .help = "without --machine: the device whose description of this machine is read; auto: its cores"},
    {.name = "threads",
     .kind = CLI_INT,
     .value = "T",
     .offset = AT(common.threads),
     .most = 4096,
     .help = "threads of a rank; 0: as the description of the machine says, else 1"},
    {.name = "memory-bandwidth",
     .positive = true,
     .kind = CLI_REAL,
     .value = "GB/S",
     .offset = AT(memory),
     .help = "bandwidth of a rank's memory, instead of the described one"},
    {.name = "network-bandwidth",
     .positive = true,
     .kind = CLI_REAL,
     .value = "GB/S",
     .offset = AT(network),
     .help = "bandwidth into a node, and out of it (with one node: of a rank), instead of the described one"},
    {.name = "latency",
     .positive = true,
     .kind = CLI_REAL,
     .value = "US",
     .offset = AT(latency),
     .help = "microseconds of each message over the network, instead of the described time"},
    {.name = "peak",
     .positive = true,
     .kind = CLI_REAL,
     .value = "GFLOP/S",
     .offset = AT(peak),
     .help = "peak of a rank's arithmetic; 0: no bound"},
    {.name = "compression",
     .positive = true,
     .kind = CLI_REAL,
     .value = "F",
     .offset = AT(compression),
     .help = "with --spgemm: products per nonzero of C; 0: C is computed to count them"},
    {.name = "measured-ms",
     .positive = true,
     .kind = CLI_REAL,
     .value = "MS",
     .offset = AT(measured_ms),
     .help = "measured time of a run of the first algorithm, in ms"},
    {.name = "measured",
     .kind = CLI_TEXT,
     .value = "FILE,...",
     .offset = AT(measured),
     .help = "read measured times from files that sley spmm --json or sley spgemm --json has written"},
    {.name = "per-rank",
     .kind = CLI_FLAG,
     .offset = AT(per_rank),
     .help = "also print a line for each rank, for the first algorithm"},
    {0}};
static const cli_option *const options[] = {own_options, NULL};
static const roofline_settings defaults = {
    .common = {.ranks = DEFAULT_RANKS, .device = "auto", .seed = 1, .reading.base = -1},
    .k = DEFAULT_K,
    .algo = "tile-c"};

typedef struct roofline_run {
  const roofline_settings *settings;
  sley_matrix *a, *b; /* b NULL: A is multiplied by itself */
  sley_machine *machine;
  sley_roofline_options options;
  cli_roofline r;
} roofline_run;

/* ---- words */

/* Calls take for each word of a list separated by commas. Returns false as soon as take does. */
static bool each_word(const char *list, bool (*take)(roofline_run *run, const char *word),
                      roofline_run *run) {
  char word[1024];
  for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
    const size_t length = strcspn(at, ",");
    if (length >= sizeof word) {
      cli_error("roofline: a word of more than %zu characters", sizeof word - 1);
      return false;
    }
    memcpy(word, at, length);
    word[length] = '\0';
    if (!take(run, word))
      return false;
  }
  return true;
}

static bool take_algo(roofline_run *run, const char *word) {
  const char *const *known = sley_roofline_algorithms();
  if (strcmp(word, "all") == 0) {
    for (; *known; known++)
      if ((!run->settings->spgemm || strcmp(*known, "summa-2d") != 0) && !take_algo(run, *known))
        return false;
    return true;
  }
  while (*known && strcmp(*known, word) != 0)
    known++;
  if (!*known) {
    char more[256];
    cli_suggest(more, sizeof more, word, sley_roofline_algorithms());
    cli_error("roofline: there is no algorithm \"%s\"%s", word, more);
    return false;
  }
  for (int i = 0; i < run->r.count; i++)
    if (strcmp(run->r.row[i].algo, word) == 0) {
      cli_error("roofline: --algo names %s twice", word);
      return false;
    }
  cli_roofline_row *row = &run->r.row[run->r.count++];
  *row = (cli_roofline_row){.known = true, .measured_bytes = -1};
  snprintf(row->algo, sizeof row->algo, "%s", word);
  return true;
}

static bool take_measured(roofline_run *run, const char *word) {
  return cli_roofline_measured(word, &run->r);
}

static bool read_layout(const roofline_settings *s, sley_roofline_options *o) {
  int64_t rows = 0, cols = 0;
  if (!cli_pair_read("roofline", "grid", s->common.grid, false, MOST_RANKS, &rows, &cols) ||
      !cli_pair_read("roofline", "tiles", s->common.tiles, true, CLI_MOST_TILES, &o->tiles_down,
                     &o->tiles_between))
    return false;
  o->grid_rows = (int)rows;
  o->grid_cols = (int)cols;
  o->tiles_across = s->common.columns;
  return true;
}

static bool read_words(roofline_run *run) {
  const roofline_settings *s = run->settings;
  return each_word(s->algo, take_algo, run) && read_layout(s, &run->options);
}

/* ---- run */

static sley_status find_machine(roofline_run *run) {
  const roofline_settings *s = run->settings;
  const sley_status status =
      s->common.machine ? sley_machine_read(s->common.machine, &run->machine)
                        : sley_machine_find(strcmp(s->common.device, "auto") == 0 ? "cpu" : s->common.device,
                                            &run->machine);
  return status == SLEY_OK ? sley_machine_info_get(run->machine, &run->r.machine) : status;
}

static sley_status load(roofline_run *run) {
  const roofline_settings *s = run->settings;
  const char *from, *dtype = cli_settled_dtype(s->common.dtype, run->r.matrix, run->r.b, &from);
  if (from)
    cli_say("dtype f64, in which %s is stored; --dtype f32 counts f32", from);
  sley_status status = cli_load(run->r.matrix, dtype, 0, s->common.seed, 0, &s->common.reading, &run->a);
  if (status == SLEY_OK)
    status = sley_matrix_info_get(run->a, &run->r.info);
  if (status == SLEY_OK && run->r.b)
    status = cli_load(run->r.b, dtype, 0, s->common.seed, 0, &s->common.reading, &run->b);
  return status;
}

static void fill_options(roofline_run *run) {
  const roofline_settings *s = run->settings;
  sley_roofline_options *o = &run->options;
  o->ranks = (int)s->common.ranks;
  o->ranks_per_node = (int)s->common.workgroup;
  o->threads = (int)s->common.threads;
  o->machine = run->machine;
  o->memory_bandwidth = s->memory * GIGA;
  o->network_bandwidth = s->network * GIGA;
  o->latency = s->latency * MICRO;
  o->peak = s->peak * GIGA;
  o->compression = s->compression;
}

/* Fills a row with the algorithm's roofline. summa-2d uses its own grid and tiles. */
static sley_status find_row(roofline_run *run, cli_roofline_row *row) {
  sley_roofline_options o = run->options;
  o.algo = row->algo;
  if (strcmp(row->algo, "summa-2d") == 0) {
    o.grid_rows = o.grid_cols = 0;
    o.tiles_down = o.tiles_between = o.tiles_across = 0;
  }
  row->ranks = calloc((size_t)run->r.ranks, sizeof *row->ranks);
  if (!row->ranks)
    return SLEY_ERR_MEMORY;
  return run->r.sparse ? sley_roofline_spgemm(run->a, run->b, &o, &row->line, row->ranks)
                       : sley_roofline_spmm(run->a, run->r.k, &o, &row->line, row->ranks);
}

static sley_status find_rows(roofline_run *run) {
  sley_status status = SLEY_OK;
  cli_progress("counting tiles", 0, 0);
  for (int i = 0; i < run->r.count && status == SLEY_OK; i++)
    status = find_row(run, &run->r.row[i]);
  cli_progress_clear();
  return status;
}

/* Adds measured times and prints the report. Returns the exit code. */
static int report(roofline_run *run) {
  const roofline_settings *s = run->settings;
  run->r.row[0].measured_ms = s->measured_ms;
  if (s->measured && !each_word(s->measured, take_measured, run))
    return CLI_USAGE;
  cli_text text;
  cli_text_start(&text, s->common.json);
  cli_roofline_print(&run->r, s->per_rank, s->common.brief, text.stream);
  cli_text_end(&text);
  if (s->common.plot && !cli_roofline_plot(s->common.plot, &run->r))
    return CLI_FAILED;
  return s->common.json && !cli_roofline_write_json(&run->r, s->common.json) ? CLI_FAILED : CLI_DONE;
}

static int run_job(roofline_run *run) {
  sley_status status = find_machine(run);
  if (status == SLEY_OK)
    status = load(run);
  if (status == SLEY_OK) {
    fill_options(run);
    status = find_rows(run);
  }
  const int code = status == SLEY_OK ? report(run) : cli_finish(status);
  for (int i = 0; i < run->r.count; i++)
    free(run->r.row[i].ranks);
  sley_matrix_destroy(run->a);
  sley_matrix_destroy(run->b);
  sley_machine_destroy(run->machine);
  return code;
}

static int run(void *settings_, char **positionals) {
  const roofline_settings *s = settings_;
  static roofline_run self;
  int code;
  self = (roofline_run){.settings = s, .options = SLEY_ROOFLINE_OPTIONS_INIT};
  self.r.matrix = positionals[0];
  self.r.b = positionals[1];
  self.r.sparse = s->spgemm;
  self.r.k = s->k;
  self.r.ranks = (int)s->common.ranks;
  if (self.r.b && !s->spgemm)
    return cli_refuse(SLEY_ERR_ARG, "roofline: a second matrix, %s, goes with --spgemm", self.r.b);
  if (!read_words(&self) || !cli_name_fits_json("roofline", self.r.matrix, s->common.json) ||
      (self.r.b && !cli_name_fits_json("roofline", self.r.b, s->common.json)))
    return CLI_USAGE;
  if (!cli_plot_possible("roofline", s->common.plot, &code))
    return code;
  if (!cli_output_possible(s->common.json))
    return CLI_FAILED;
  cli_seed_no_effect("roofline", false, self.r.matrix, self.r.b, NULL);
  cli_no_effect("roofline", "k", s->spgemm, "both factors are sparse");
  cli_no_effect("roofline", "compression", !s->spgemm, "only --spgemm uses it");
  cli_no_effect("roofline", "device", s->common.machine, "--machine names the description");
  const int taken = cli_take_stdin("roofline", self.r.matrix, self.r.b, 0);
  return taken == CLI_DONE ? run_job(&self) : taken;
}

const cli_command cli_roofline_command = {
    .name = "roofline",
    .summary = "what bounds a product in tiles: memory, arithmetic or the network",
    .arguments = "MATRIX [B]",
    .positionals = 2,
    .optional = 1,
    .options = options,
    .common = CLI_TAKES_DTYPE | CLI_TAKES_MACHINE | CLI_TAKES_SEED | CLI_TAKES_READING | CLI_TAKES_PLOT |
              CLI_TAKES_JSON | CLI_TAKES_BRIEF | CLI_TAKES_TILES,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes = "MATRIX and B are files or generators. docs/ROOFLINE.md has the equations.\n",
    .sweep = cli_sweep,
    .run = run};
