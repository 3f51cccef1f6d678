/* SPDX-License-Identifier: Apache-2.0 */
/* Divides the matrices of a product in tiles, starts the ranks, reports and checks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "output/changes.h"
#include "output/terminal.h"
#include "output/text.h"
#include "pair.h"
#include "ranks/processes.h"
#include "ranks/start.h"
#include "tile/tile.h"

/* Returns the exit code: a failure if a result is wrong or the counted traffic is not as predicted. */
static int judge(const cli_tile_bench *b) {
  for (int i = 0; i < b->algos->count; i++) {
    const cli_tile_result *r = &b->result[i];
    if (r->checked && !r->check.ok)
      return cli_refuse(SLEY_ERR_INTERNAL, "%s: wrong result at row %" PRId64 ": please report it", r->algo,
                        r->check.row);
    if (!cli_tile_as_predicted(b, r))
      return cli_refuse(SLEY_ERR_INTERNAL, "%s: the transport counted other traffic than was predicted",
                        r->algo);
  }
  return CLI_DONE;
}

static int report(const cli_tile_bench *b, const char *json) {
  if (b->note[0])
    cli_changed("%s; ranks ran on %s, transport %s", b->note, b->device, b->transport);
  cli_text text;
  cli_text_start(&text, json);
  cli_tile_print(b, text.stream);
  cli_text_end(&text);
  int code = judge(b);
  if (code == CLI_DONE && b->plot && !cli_tile_plot(b))
    code = CLI_FAILED;
  if (json && !cli_tile_json(b, json) && code == CLI_DONE)
    code = CLI_FAILED;
  return code;
}

/* Results that ranks write, in memory that is shared if ranks are processes. rank: one element per algorithm
 * and rank. */
typedef struct board {
  sley_tiled_info info;
  bool told;
  char device[SLEY_ERROR_BYTES], transport[SLEY_ERROR_BYTES], note[SLEY_ERROR_BYTES];
  cli_tile_result result[CLI_ALGORITHMS];
  cli_tile_rank rank[];
} board;

static int run_and_report(cli_tile_bench *b, const char *json) {
  const size_t bytes =
      sizeof(board) + (size_t)b->algos->count * (size_t)b->ranks.ranks * sizeof(cli_tile_rank);
  board *shared = cli_share(bytes);
  if (!shared)
    return cli_refuse(SLEY_ERR_MEMORY, "%s: out of memory for the results", b->command);
  b->result = shared->result;
  b->info = &shared->info;
  b->device = shared->device;
  b->transport = shared->transport;
  b->note = shared->note;
  b->told = &shared->told;
  for (int i = 0; i < b->algos->count; i++)
    b->result[i] = (cli_tile_result){.algo = b->algos->name[i],
                                     .rank = shared->rank + (size_t)i * (size_t)b->ranks.ranks};
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

static int divide(cli_tile_bench *b, const cli_common *s) {
  int64_t grid_rows = 0, grid_cols = 0;
  if (!cli_pair_read(b->command, "grid", s->grid, false, CLI_MOST_RANKS, &grid_rows, &grid_cols) ||
      !cli_pair_read(b->command, "tiles", s->tiles, true, CLI_MOST_TILES, &b->a.tiles_down,
                     &b->a.tiles_across))
    return CLI_USAGE;
  b->a.grid_rows = (int)grid_rows;
  b->a.grid_cols = (int)grid_cols;
  b->buffers = s->buffers;
  b->brief = s->brief;
  return cli_finish(sley_tile_complete(b->ranks.ranks, s->columns, &b->a, &b->of_x, &b->y));
}

int cli_tile_measure(cli_tile_bench *bench, const cli_common *common) {
  bool keeps = true;
  for (int i = 0; i < bench->algos->count; i++)
    keeps &= !sley_tile_algorithm_pushes(bench->algos->name[i]);
  const int code = divide(bench, common);
  if (code != CLI_DONE)
    return code;
  cli_no_effect(bench->command, "buffers", keeps, "no algorithm that runs computes products for others");
  return run_and_report(bench, common->json);
}

void cli_tile_idle(const char *command) {
  static const char *const names[] = {"grid", "tiles", "columns", "buffers"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    cli_no_effect(command, names[i], true, "no algorithm that runs is in tiles");
}
