/* SPDX-License-Identifier: Apache-2.0 */
/* What `sley gnn` keeps in a file beside the state of the network (sley_gnn_save): epochs, a row for each
 * with its loss and the shares of right rows in training, validation and test; whether the graph was made
 * undirected and the features normalised; and the weights of the epoch with the best validation, best.NAME,
 * with best.epoch, its number. */
#ifndef SLEY_CLI_GNN_STATE_H
#define SLEY_CLI_GNN_STATE_H

#include "gnn_train.h"

#define CLI_GNN_BEST "best."

/* The weights of the best epoch so far, in the host's memory. */
typedef struct cli_gnn_kept {
  int count;
  int64_t epoch; /* -1: none yet */
  struct cli_gnn_kept_array *array;
} cli_gnn_kept;

/* Room for a network's weights; its dtype is f32. Errors: SLEY_ERR_MEMORY. Freed by the last, which accepts
 * one that is zeroed. */
sley_status cli_gnn_kept_open(const sley_gnn *gnn, cli_gnn_kept *out);
/* Copies what the network has, as that of an epoch. Waits. */
sley_status cli_gnn_keep(cli_gnn_kept *kept, sley_comm *comm, const sley_gnn *gnn, int64_t epoch);
/* The same from a file that has them. */
sley_status cli_gnn_keep_from(cli_gnn_kept *kept, const char *path, cli_gnn_message *message);
void cli_gnn_kept_close(cli_gnn_kept *kept);

/* Writes the state. Collective; what rank 0 has counts. */
sley_status cli_gnn_state_write(sley_gnn *gnn, const char *path, const cli_gnn_training *training,
                                const cli_gnn_kept *kept);

/* Functions that read leave a message where an array is not what it should be (SLEY_ERR_INPUT); other errors
 * are the library's.
 *
 * Reads the epochs of a file, with ms NaN. *count: how many; *out is freed by free(). */
sley_status cli_gnn_state_epochs(const char *path, int64_t *count, cli_gnn_epoch **out,
                                 cli_gnn_message *message);

/* Whether the graph was made undirected, and the features normalised. */
sley_status cli_gnn_state_reading(const char *path, bool *undirected, bool *normalize,
                                  cli_gnn_message *message);

#endif
