/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a sweep as two charts. */
#include <stdio.h>

#include "collective/report.h"
#include "output/plot.h"

#define MIB (1024.0 * 1024.0)
enum { MOST = CLI_COLLECTIVE_CASES, NAME = 32 };

bool cli_collective_plot(const char *path, const cli_collective_bench *b, int zeros) {
  static char point[MOST][NAME], series[MOST][NAME];
  static const char *points[MOST], *names[MOST];
  static double ratio[MOST], ms[MOST];
  const int sizes = b->cases / zeros;
  char title[128];
  for (int s = 0; s < sizes; s++) {
    snprintf(point[s], NAME, "%g", (double)b->result->at[s * zeros].size / MIB);
    points[s] = point[s];
    for (int z = 0; z < zeros; z++) {
      const cli_collective_case *c = &b->result->at[s * zeros + z];
      ratio[z * sizes + s] = c->time.median / c->dense.median;
      ms[z * sizes + s] = c->time.median;
    }
  }
  for (int z = 0; z < zeros; z++) {
    snprintf(series[z], NAME, "%g %% zeros", 100 * b->result->at[z].zeros);
    names[z] = series[z];
  }
  snprintf(title, sizeof title, "%s, %d ranks, %s", b->kind.name, b->ranks.ranks,
           b->result->transport);
  const cli_chart time = {.title = "time of a run",
                          .unit = "ms, median",
                          .lines = true,
                          .across = "MiB",
                          .points = sizes,
                          .point = points,
                          .series = zeros,
                          .name = names,
                          .value = ms};
  cli_chart by_dense = time;
  by_dense.title = "time / time of the dense collective";
  by_dense.unit = "time / dense";
  by_dense.value = ratio;
  const cli_chart charts[] = {by_dense, time};
  return cli_plot(path, title, charts, 2);
}
