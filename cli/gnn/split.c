/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the split of the rows, or reads it from a file. */
#include "gnn/split.h"

#include <stdlib.h>
#include <string.h>

#include "output/output.h"

static void put(cli_gnn_split *split, int64_t row, int set) {
  split->set[row] = (uint8_t)set;
  if (set < CLI_GNN_SETS)
    split->count[set]++;
}

/* ---- a drawn split */

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

/* Assigns rows, in a random order determined by the seed, to the sets of their classes. */
static sley_status draw(const cli_gnn_reading *r) {
  const int64_t rows = r->data->rows;
  cli_gnn_split *out = &r->data->split;
  out->seed = r->source->split_seed;
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

/* ---- a split of a file */

static int set_of(const char *word) {
  static const char *const words[CLI_GNN_SETS] = {"none", "train", "valid", "test"};
  for (int set = 0; set < CLI_GNN_SETS; set++)
    if (strcmp(words[set], word) == 0)
      return set;
  return -1;
}

static const char *take_set(const cli_gnn_reading *r, char *line, int64_t row, bool there) {
  char *rest = NULL, *word = strtok_r(line, " \t\r\n", &rest);
  const int set = word && !strtok_r(NULL, " \t\r\n", &rest) ? set_of(word) : -1;
  if (set < 0)
    return "a line has one word: train, valid, test or none";
  if (there && set != CLI_GNN_NONE && r->data->label[row] < 0)
    return "this row has no label: it is in no set";
  if (there)
    put(&r->data->split, row, set);
  return NULL;
}

static sley_status read(const cli_gnn_reading *r) {
  const char *path = r->source->split;
  if (cli_ends_with(path, ".npy") || cli_ends_with(path, ".npz"))
    return cli_gnn_refuse(r, path, 0,
                          "a split is a text file, with train, valid, test or none on the line of each row");
  return cli_gnn_read_lines(r, path, "lines", take_set);
}

/* ---- the split */

/* Copies the known split, for rows that have a label. */
static void copy_known(const cli_gnn_reading *r) {
  const cli_gnn_split *known = r->source->known;
  cli_gnn_split *to = &r->data->split;
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

sley_status cli_gnn_split_make(const cli_gnn_reading *r) {
  const cli_gnn_source *s = r->source;
  cli_gnn_split *split = &r->data->split;
  split->seed = -1;
  split->set = calloc((size_t)r->data->rows + 1, 1);
  if (!split->set)
    return SLEY_ERR_MEMORY;
  if (!s->labels)
    return SLEY_OK;
  if (s->known) {
    copy_known(r);
    return SLEY_OK;
  }
  const sley_status status = s->split ? read(r) : draw(r);
  if (status != SLEY_OK || split->count[CLI_GNN_TRAIN] > 0)
    return status;
  return cli_gnn_refuse(r, s->split ? s->split : s->labels, 0, "there is no row with a label to train on");
}
