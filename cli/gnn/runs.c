/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the number of trainings, and computes their statistics. */
#include "gnn/runs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "command.h"

enum { MOST_SPLITS = 1000, MOST_RUNS = 100000 };

/* Reads a whole number from 1 on, which must end at `end` or at the end of the text; moves *text behind it.
 * Returns false if it is none. */
static bool take_number(const char **text, char end, int64_t *out) {
  char *rest;
  if (**text < '0' || **text > '9')
    return false;
  errno = 0;
  *out = strtoll(*text, &rest, 10);
  *text = rest;
  return errno == 0 && *out >= 1 && (*rest == end || *rest == 0);
}

int cli_gnn_runs_parse(const char *words, cli_gnn_runs *out) {
  const char *at = words;
  *out = (cli_gnn_runs){.words = words, .splits = 1, .repeats = 1};
  if (!words)
    return CLI_DONE;
  bool right = take_number(&at, 'x', &out->splits);
  if (right && *at == 'x') {
    at++;
    right = take_number(&at, 0, &out->repeats);
  }
  if (!right)
    return cli_refuse(
        SLEY_ERR_ARG,
        "gnn train: --runs %s: give splits, or splits x trainings on each, whole numbers from 1 "
        "on, as 5 or 10x3",
        words);
  if (out->splits > MOST_SPLITS || out->repeats > MOST_RUNS / out->splits)
    return cli_refuse(SLEY_ERR_ARG, "gnn train: --runs %s: at most %d splits and %d trainings in all", words,
                      MOST_SPLITS, MOST_RUNS);
  return CLI_DONE;
}

static double test_of(const cli_gnn_run *run) {
  return run->at_best.right[CLI_GNN_TEST];
}

cli_gnn_summary cli_gnn_summarize(const cli_gnn_run *run, int64_t runs) {
  cli_gnn_summary s = {
      .runs = runs, .mean = NAN, .deviation = NAN, .least = NAN, .greatest = NAN, .seconds = NAN};
  double sum = 0, squares = 0, seconds = 0;
  int64_t counted = 0;
  for (int64_t i = 0; i < runs; i++) {
    const double test = test_of(&run[i]);
    seconds += run[i].seconds;
    if (isnan(test))
      continue;
    counted++;
    sum += test;
    s.least = fmin(s.least, test); /* fmin of a number and NaN returns the number */
    s.greatest = fmax(s.greatest, test);
  }
  s.seconds = runs > 0 ? seconds / (double)runs : NAN;
  s.mean = counted > 0 ? sum / (double)counted : NAN;
  for (int64_t i = 0; i < runs; i++)
    if (!isnan(test_of(&run[i])))
      squares += (test_of(&run[i]) - s.mean) * (test_of(&run[i]) - s.mean);
  if (counted > 1)
    s.deviation = sqrt(squares / (double)(counted - 1));
  return s;
}
