/* SPDX-License-Identifier: Apache-2.0 */
#include "output/times.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

cli_times cli_times_of(double *ms, int64_t n) {
  qsort(ms, (size_t)n, sizeof *ms, by_value);
  return (cli_times){.count = n,
                     .median = (ms[(n - 1) / 2] + ms[n / 2]) / 2,
                     .min = ms[0],
                     .p10 = ms[(n - 1) / 10],
                     .p90 = ms[(n * 9 + 9) / 10 - 1],
                     .p95 = ms[(n * 95 + 99) / 100 - 1]};
}

void cli_times_json(cli_json *json, const cli_times *times) {
  cli_json time = cli_json_start();
  cli_json_real(&time, "min", times->min);
  cli_json_real(&time, "median", times->median);
  cli_json_real(&time, "p95", times->p95);
  cli_json_int(&time, "count", times->count);
  cli_json_object(json, "time_ms", time);
}

void cli_turns_json(cli_json *json, const cli_times *ms) {
  cli_json_int(json, "turns", ms->count);
  cli_json_real(json, "median_ms", ms->median);
  cli_json_real(json, "p10_ms", ms->p10);
  cli_json_real(json, "p90_ms", ms->p90);
  cli_json_real(json, "spread_ms", ms->p90 - ms->p10);
}

void cli_ratios_add(cli_ratios *ratios, double ratio, int at, bool is_worst) {
  ratios->log_sum += log(ratio);
  if (ratios->count++ == 0 || is_worst) {
    ratios->worst = ratio;
    ratios->at = at;
  }
}

double cli_ratios_mean(const cli_ratios *ratios) {
  return ratios->count > 0 ? exp(ratios->log_sum / ratios->count) : NAN;
}
