/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a gnuplot script that draws the curve of a training. */
#include "gnn/plot.h"

#include <inttypes.h>
#include <stdio.h>

#include "output/gnuplot.h"

enum { WIDTH = 800, HEIGHT = 420 };

/* Writes a line per epoch: its number, loss, and shares by set. */
static void put_data(FILE *script, const cli_gnn_result *r) {
  fputs("$epochs << EOD\n", script);
  for (int64_t i = 0; i < r->done; i++) {
    const cli_gnn_epoch *e = &r->epoch[i];
    fprintf(script, "%" PRId64 " %.9g %.9g %.9g %.9g\n", i + 1, e->loss, e->right[CLI_GNN_TRAIN],
            e->right[CLI_GNN_VALID], e->right[CLI_GNN_TEST]);
  }
  fputs("EOD\n", script);
}

bool cli_gnn_plot(const char *path, const cli_gnn_training *t) {
  static const char *const names[CLI_GNN_SETS] = {
      [CLI_GNN_TRAIN] = "right in training", [CLI_GNN_VALID] = "validation", [CLI_GNN_TEST] = "test"};
  FILE *script = cli_gnuplot_file(path);
  if (!script)
    return false;
  cli_gnuplot_begin(script, path, WIDTH, HEIGHT);
  put_data(script, t->result);
  fputs("set xlabel \"epoch\"\nset ylabel \"loss\"\nset y2label \"share of rows that are right\"\n"
        "set ytics nomirror\nset y2tics\nset yrange [0:*]\nset y2range [0:1.05]\nset key below\n"
        "plot $epochs using 1:2 with lines dashtype 2 title \"loss\"",
        script);
  for (int set = CLI_GNN_TRAIN; set < CLI_GNN_SETS; set++)
    if (t->data->split.count[set] > 0)
      fprintf(script, ", $epochs using 1:%d axes x1y2 with lines title \"%s\"", set + 2, names[set]);
  fputc('\n', script);
  return cli_gnuplot_run(path, script, NULL);
}
