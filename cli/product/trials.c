/* SPDX-License-Identifier: Apache-2.0 */
#include "product/trials.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "output/table.h"

enum { PS_BYTES = 16 };

/* The most entries per partition, as text. */
static const char *ps_of(const sley_trial *trial, char text[PS_BYTES]) {
  snprintf(text, PS_BYTES, trial->ps > 0 ? "%d" : "whole", trial->ps);
  return text;
}

static void print_table(const cli_result *result, FILE *stream) {
  static const char *const headings[] = {"ps",     "dist",         "wpb", "WPW", "SMEM bytes", "warps",
                                         "blocks", "blocks an SM", "ms",  "<",   NULL};
  static cli_table table;
  char ps[PS_BYTES];
  cli_table_start(&table, headings);
  for (int i = 0; i < result->trials && cli_table_row(&table); i++) {
    const sley_trial *t = &result->trial[i];
    cli_table_cell(&table, 0, "%s", ps_of(t, ps));
    cli_table_cell(&table, 1, "%d", t->dist);
    cli_table_cell(&table, 2, "%d", t->wpb);
    cli_table_cell(&table, 3, "%" PRId64, t->workload);
    cli_table_cell(&table, 4, "%" PRId64, t->shared_bytes);
    cli_table_cell(&table, 5, "%" PRId64, t->warps);
    cli_table_cell(&table, 6, "%" PRId64, t->blocks);
    cli_table_cell(&table, 7, "%.2f", t->blocks_per_sm);
    cli_table_cell(&table, 8, "%.4f", t->ms);
    cli_table_cell(&table, 9, "%s", t->chosen ? "<- chosen" : "");
  }
  cli_table_print(&table, stream);
}

void cli_trials_print(const cli_result *result, FILE *stream) {
  const char *parameters = strchr(result->algo, ':');
  char ps[PS_BYTES];
  for (int i = 0; i < result->trials; i++) {
    const sley_trial *t = &result->trial[i];
    if (t->chosen)
      fprintf(stream, "tuned      %d shape%s tried, chosen: ps %s, dist %d, wpb %d, %.4f ms\n",
              result->trials, result->trials == 1 ? "" : "s", ps_of(t, ps), t->dist, t->wpb, t->ms);
  }
  if (parameters && result->trials > 0)
    print_table(result, stream);
  else if (parameters)
    fprintf(stream, "parameters %s change nothing: no kernel reads the rows of other ranks in place\n",
            parameters + 1);
}

void cli_trials_json(cli_json *json, const cli_result *result) {
  cli_json list[CLI_TRIALS];
  for (int i = 0; i < result->trials; i++) {
    const sley_trial *t = &result->trial[i];
    list[i] = cli_json_start();
    cli_json_int(&list[i], "ps", t->ps);
    cli_json_int(&list[i], "dist", t->dist);
    cli_json_int(&list[i], "wpb", t->wpb);
    cli_json_real(&list[i], "ms", t->ms);
    cli_json_bool(&list[i], "chosen", t->chosen);
    cli_json_int(&list[i], "workload", t->workload);
    cli_json_int(&list[i], "shared_bytes", t->shared_bytes);
    cli_json_int(&list[i], "warps", t->warps);
    cli_json_int(&list[i], "blocks", t->blocks);
    cli_json_real(&list[i], "blocks_per_sm", t->blocks_per_sm);
  }
  if (result->trials > 0)
    cli_json_list(json, "tuned", list, result->trials);
}
