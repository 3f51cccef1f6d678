/* SPDX-License-Identifier: Apache-2.0 */
/* The ablation as one table. */
#include "ablation.h"

#include <inttypes.h>
#include <string.h>

#include "table.h"

#define MIB (1024.0 * 1024.0)

static const struct {
  const char *algo, *text;
} steps_of[] = {{"rowwise", "basic: a fetch for every remote nonzero"},
                {"halo", "RF: each needed row once"},
                {"halo-fused", "+CF: once into a workgroup"},
                {"halo-coalesced", "+RC: one message a peer"},
                {"halo-pipelined", "+PP: sums meanwhile"},
                {"cover", "+cover: rows of X or of Y"}};
enum { STEPS = sizeof steps_of / sizeof *steps_of };

void cli_ablation_names(cli_algos *out) {
  *out = (cli_algos){.several = true, .ablation = true};
  for (int i = 0; i < STEPS; i++)
    out->name[out->count++] = steps_of[i].algo;
}

static const char *text_of(const char *algo) {
  for (int i = 0; i < STEPS; i++)
    if (strcmp(steps_of[i].algo, algo) == 0)
      return steps_of[i].text;
  return "";
}

static void ratio(cli_table *table, int column, double before, double now) {
  if (before > 0 && now > 0)
    cli_table_cell(table, column, "%.2f", before / now);
  else
    cli_table_cell(table, column, "-");
}

void cli_ablation_print(const cli_step *steps, int count, const char *what, FILE *stream) {
  const char *headings[] = {"<algo",    "<step",         what,          "MiB over links",
                            "messages", "x step before", "x first one", NULL};
  static cli_table table;
  double before = 0, first = 0;
  cli_table_start(&table, headings);
  for (int i = 0; i < count && cli_table_row(&table); i++) {
    const cli_step *s = &steps[i];
    cli_table_cell(&table, 0, "%s", s->algo);
    cli_table_cell(&table, 1, "%s", text_of(s->algo));
    if (s->ms <= 0) {
      for (int c = 2; c < 7; c++)
        cli_table_cell(&table, c, "-");
      continue;
    }
    first = first > 0 ? first : s->ms;
    cli_table_cell(&table, 2, "%.3f", s->ms);
    cli_table_cell(&table, 3, "%.3f", (double)(s->traffic.direct_bytes + s->traffic.message_bytes) / MIB);
    cli_table_cell(&table, 4, "%" PRId64, s->traffic.direct_messages + s->traffic.message_messages);
    ratio(&table, 5, before, s->ms);
    ratio(&table, 6, first, s->ms);
    before = s->ms;
  }
  cli_table_print(&table, stream);
}
