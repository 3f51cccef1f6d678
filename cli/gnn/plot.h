/* SPDX-License-Identifier: Apache-2.0 */
/* The curve of a training, drawn by gnuplot. */
#ifndef SLEY_CLI_GNN_PLOT_H
#define SLEY_CLI_GNN_PLOT_H

#include "gnn/train.h"

/* Losses, and shares of right rows of the sets that have any, by epochs. False, with nothing left behind,
 * after one line on stderr. */
bool cli_gnn_plot(const char *path, const cli_gnn_training *training);

#endif
