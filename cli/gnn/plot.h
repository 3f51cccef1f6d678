/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the curve of a training with gnuplot. */
#ifndef SLEY_CLI_GNN_PLOT_H
#define SLEY_CLI_GNN_PLOT_H

#include "gnn/train.h"

/* Draws the loss and, for each set that has rows, the share of correctly classified rows, over the epochs. On
 * failure returns false after one line on stderr, and leaves no file behind. */
bool cli_gnn_plot(const char *path, const cli_gnn_training *training);

#endif
