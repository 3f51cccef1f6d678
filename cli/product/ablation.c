/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the ablation as one table. */
#include "product/ablation.h"

#include <inttypes.h>
#include <string.h>

#include "output/table.h"

#define MIB (1024.0 * 1024.0)

/* The effect that shows the idea of a step. If a run lacks the effect, it cannot show the step. */
typedef enum sign { NONE, FEWER_BYTES, FEWER_FAR_BYTES, FEWER_MESSAGES, OTHER_PLAN } sign;

static const struct {
  const char *algo, *text;
  sign sign;
} steps_of[] = {{"rowwise", "basic: a fetch for every remote nonzero", NONE},
                {"halo", "RF: each needed row once", FEWER_BYTES},
                {"halo-fused", "+CF: once into a workgroup", FEWER_FAR_BYTES},
                {"halo-coalesced", "+RC: one message per peer", FEWER_MESSAGES},
                {"halo-pipelined", "+PP: sums meanwhile", OTHER_PLAN},
                {"cover", "+cover: rows of X or of Y", OTHER_PLAN}};
enum { STEPS = sizeof steps_of / sizeof *steps_of };

void cli_ablation_names(cli_algos *out) {
  *out = (cli_algos){.several = true, .ablation = true};
  for (int i = 0; i < STEPS; i++)
    out->name[out->count++] = steps_of[i].algo;
}

static int step_of(const char *algo) {
  for (int i = 0; i < STEPS; i++)
    if (strcmp(steps_of[i].algo, algo) == 0)
      return i;
  return -1;
}

const char *cli_ablation_idea(const cli_step *step) {
  int at = step_of(step->algo);
  return at < 0 ? "" : steps_of[at].text;
}

static int64_t bytes_of(const sley_traffic *t) {
  return t->direct_bytes + t->message_bytes;
}

static int64_t messages_of(const sley_traffic *t) {
  return t->direct_messages + t->message_messages;
}

const char *cli_ablation_not_shown(const cli_step *steps, int index) {
  int at = step_of(steps[index].algo), before = index - 1;
  if (at < 0 || index == 0 || steps[index].ms <= 0)
    return NULL;
  while (before > 0 && steps[before].ms <= 0)
    before--;
  const sley_traffic *now = &steps[index].traffic, *then = &steps[before].traffic;
  switch (steps_of[at].sign) {
  case FEWER_BYTES:
    return bytes_of(now) < bytes_of(then) ? NULL : "no row is needed twice";
  case FEWER_FAR_BYTES:
    return now->message_bytes < then->message_bytes ? NULL : "no row is needed twice in another workgroup";
  case FEWER_MESSAGES:
    return messages_of(now) < messages_of(then) ? NULL : "the step before sends one message per peer already";
  case OTHER_PLAN:
    return steps[index].plan != steps[before].plan ? NULL : "its plan equals the plan of the previous step";
  default:
    return NULL;
  }
}

int64_t cli_plan_number(const char *description) {
  const char *at = strchr(description, '\n');
  uint64_t number = UINT64_C(14695981039346656037); /* FNV-1a */
  for (at = at ? at : description; *at; at++)
    number = (number ^ (unsigned char)*at) * UINT64_C(1099511628211);
  return (int64_t)(number >> 24);
}

static void ratio(cli_table *table, int column, double before, double now) {
  if (before > 0 && now > 0)
    cli_table_cell(table, column, "%.2f", before / now);
  else
    cli_table_cell(table, column, "-");
}

void cli_ablation_print(const cli_step *steps, int count, const char *what, const char *transport,
                        FILE *stream) {
  const char *headings[] = {"<algo",    "<step",         what,          "MiB over links",
                            "messages", "x step before", "x first one", NULL};
  static cli_table table;
  double before = 0, first = 0;
  cli_table_start(&table, headings);
  for (int i = 0; i < count && cli_table_row(&table); i++) {
    const cli_step *s = &steps[i];
    cli_table_cell(&table, 0, "%s", s->algo);
    cli_table_cell(&table, 1, "%s", cli_ablation_idea(s));
    if (s->ms <= 0) {
      for (int c = 2; c < 7; c++)
        cli_table_cell(&table, c, "-");
      continue;
    }
    first = first > 0 ? first : s->ms;
    cli_table_cell(&table, 2, "%.3f", s->ms);
    cli_table_cell(&table, 3, "%.3f", (double)(s->traffic.direct_bytes + s->traffic.message_bytes) / MIB);
    cli_table_cell(&table, 4, "%" PRId64, messages_of(&s->traffic));
    const bool shown = !cli_ablation_not_shown(steps, i);
    ratio(&table, 5, shown ? before : 0, s->ms);
    ratio(&table, 6, shown ? first : 0, s->ms);
    before = s->ms;
  }
  cli_table_print(&table, stream);
  for (int i = 0; i < count; i++)
    if (cli_ablation_not_shown(steps, i))
      fprintf(stream, "%s: not shown by this run over %s: %s\n", steps[i].algo,
              transport ? transport : "threads", cli_ablation_not_shown(steps, i));
}
