/* SPDX-License-Identifier: Apache-2.0 */
/* Draws splits of rows, or reads them from a file. */
#include "gnn/split.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/output.h"

static void put(cli_gnn_split *split, int64_t row, int set) {
  split->set[row] = (uint8_t)set;
  if (set < CLI_GNN_SETS)
    split->count[set]++;
}

/* ---- drawn splits */

typedef struct keyed {
  double key;
  int64_t row;
} keyed;

static int compare(const void *a, const void *b) {
  const keyed *x = a, *y = b;
  return x->key < y->key ? -1 : x->key > y->key ? 1 : x->row < y->row ? -1 : x->row > y->row;
}

static void deal(const cli_gnn_reading *r, const keyed *order, int64_t *dealt, cli_gnn_split *out) {
  const cli_gnn_source *s = r->source;
  for (int64_t n = 0; n < r->data->rows; n++) {
    const int64_t row = order[n].row;
    const int32_t label = r->data->label[row];
    cli_gnn_set set = CLI_GNN_NONE;
    if (label >= 0) {
      const int64_t before = dealt[label]++;
      set = before < s->train ? CLI_GNN_TRAIN : before < s->train + s->valid ? CLI_GNN_VALID : CLI_GNN_TEST;
    }
    put(out, row, set);
  }
}

/* Draws one split: rows, in a random order determined by the seed, are assigned to the sets of their classes.
 */
static sley_status draw(const cli_gnn_reading *r, cli_gnn_split *out) {
  const int64_t rows = r->data->rows;
  double *key = malloc((size_t)rows * sizeof *key + 1);
  keyed *order = malloc((size_t)rows * sizeof *order + 1);
  int64_t *dealt = calloc((size_t)r->data->classes + 1, sizeof *dealt);
  sley_status status = key && order && dealt ? SLEY_OK : SLEY_ERR_MEMORY;
  if (status == SLEY_OK)
    status = sley_dense_random((uint64_t)out->seed + 2, 0, rows, 1, NULL, SLEY_F64, key, 1);
  if (status == SLEY_OK) {
    for (int64_t i = 0; i < rows; i++)
      order[i] = (keyed){key[i], i};
    qsort(order, (size_t)rows, sizeof *order, compare);
    deal(r, order, dealt, out);
  }
  free(dealt);
  free(order);
  free(key);
  return status;
}

static sley_status draw_all(const cli_gnn_reading *r) {
  sley_status status = SLEY_OK;
  for (int64_t i = 0; i < r->data->splits && status == SLEY_OK; i++) {
    r->data->split[i].seed = r->source->split_seed + i;
    status = draw(r, &r->data->split[i]);
  }
  return status;
}

/* ---- splits of a file */

static int set_of(const char *word) {
  static const char *const words[CLI_GNN_SETS] = {"none", "train", "valid", "test"};
  for (int set = 0; set < CLI_GNN_SETS; set++)
    if (strcmp(words[set], word) == 0)
      return set;
  return -1;
}

/* Reads a line with a word per split. Also checks the words of splits that are not used. */
static const char *take_sets(const cli_gnn_reading *r, char *line, int64_t row, bool there) {
  cli_gnn_data *data = r->data;
  char *rest = NULL;
  int64_t count = 0;
  for (char *word = strtok_r(line, " \t\r\n", &rest); word; word = strtok_r(NULL, " \t\r\n", &rest)) {
    const int set = set_of(word);
    if (set < 0)
      return "a line has a word for each split: train, valid, test or none";
    if (there && set != CLI_GNN_NONE && data->label[row] < 0)
      return "this row has no label: it is in no set";
    if (there && count < data->splits)
      put(&data->split[count], row, set);
    count++;
  }
  if (count == 0)
    return "a line has a word for each split: train, valid, test or none";
  if (there && row == 0)
    data->splits_found = count;
  return there && count != data->splits_found ? "this line has another number of words than the first" : NULL;
}

static sley_status read_all(const cli_gnn_reading *r) {
  const char *path = r->source->split;
  char message[128];
  if (cli_ends_with(path, ".npy") || cli_ends_with(path, ".npz"))
    return cli_gnn_refuse(r, path, 0,
                          "a split is a text file, with train, valid, test or none on the line of each row");
  const sley_status status = cli_gnn_read_lines(r, path, "lines", take_sets);
  if (status != SLEY_OK || r->data->splits <= r->data->splits_found)
    return status;
  snprintf(message, sizeof message, "it has %" PRId64 " split%s, --runs asks for %" PRId64,
           r->data->splits_found, r->data->splits_found == 1 ? "" : "s", r->data->splits);
  return cli_gnn_refuse(r, path, 0, message);
}

/* ---- all splits */

/* Allocates splits in which each row is in no set. */
static sley_status take(const cli_gnn_reading *r, int64_t splits) {
  cli_gnn_data *data = r->data;
  data->split = calloc((size_t)splits, sizeof *data->split);
  for (; data->split && data->splits < splits; data->splits++) {
    cli_gnn_split *one = &data->split[data->splits];
    one->seed = -1;
    one->set = calloc((size_t)data->rows + 1, 1);
    if (!one->set)
      return SLEY_ERR_MEMORY;
  }
  return data->split ? SLEY_OK : SLEY_ERR_MEMORY;
}

static sley_status check(const cli_gnn_reading *r) {
  const cli_gnn_source *s = r->source;
  char message[128] = "there is no row with a label to train on";
  for (int64_t i = 0; i < r->data->splits; i++) {
    if (r->data->split[i].count[CLI_GNN_TRAIN] > 0)
      continue;
    if (i > 0)
      snprintf(message, sizeof message, "split %" PRId64 " has no row to train on", i + 1);
    return cli_gnn_refuse(r, s->split ? s->split : s->labels, 0, message);
  }
  return SLEY_OK;
}

/* Copies the known split, for rows that have a label. */
static void copy_known(const cli_gnn_reading *r) {
  const cli_gnn_split *known = r->source->known;
  cli_gnn_split *to = r->data->split;
  to->seed = known->seed;
  for (int64_t i = 0; i < r->data->rows && r->source->known_rows == r->data->rows; i++)
    put(to, i, r->data->label[i] >= 0 || known->set[i] == CLI_GNN_SPENT ? known->set[i] : CLI_GNN_NONE);
}

int64_t cli_gnn_split_spend(cli_gnn_split *split, const cli_gnn_split *before, int64_t rows) {
  int64_t moved = 0;
  for (int64_t i = 0; i < rows; i++) {
    const uint8_t was = before->set[i], is = split->set[i];
    if ((was != CLI_GNN_TRAIN && was != CLI_GNN_SPENT) || is == CLI_GNN_TRAIN)
      continue;
    moved += is == CLI_GNN_VALID || is == CLI_GNN_TEST;
    split->count[is]--;
    put(split, i, CLI_GNN_SPENT);
  }
  return moved;
}

sley_status cli_gnn_splits_make(const cli_gnn_reading *r) {
  const cli_gnn_source *s = r->source;
  sley_status status = take(r, s->labels ? s->splits : 1);
  if (status != SLEY_OK || !s->labels)
    return status;
  if (s->known) {
    copy_known(r);
    return SLEY_OK;
  }
  status = s->split ? read_all(r) : draw_all(r);
  return status == SLEY_OK ? check(r) : status;
}

void cli_gnn_splits_free(cli_gnn_data *data) {
  for (int64_t i = 0; i < data->splits; i++)
    free(data->split[i].set);
  free(data->split);
  data->split = NULL;
  data->splits = 0;
}
