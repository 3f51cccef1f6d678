/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the split of the rows, or reads it from a file. */
#include "gnn/split.h"

#include <stdlib.h>
#include <string.h>

#include "output/output.h"
#include "ranks/loop.h"

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

/* Moves the `least` least of count elements to the front, in any order. The keys are random, so the middle
 * element divides the others well. */
static void select_least(keyed *list, int64_t count, int64_t least) {
  int64_t low = 0, high = count - 1;
  while (low < high) {
    const keyed middle = list[low + (high - low) / 2];
    int64_t left = low, right = high;
    while (left <= right) {
      while (compare(&list[left], &middle) < 0)
        left++;
      while (compare(&list[right], &middle) > 0)
        right--;
      if (left <= right) {
        const keyed moved = list[left];
        list[left++] = list[right];
        list[right--] = moved;
      }
    }
    if (least <= right + 1)
      high = right;
    else if (least > left)
      low = left;
    else
      return; /* the elements between right and left are in their places */
  }
}

/* Assigns the rows of one class, which a random order determines by the rows' keys, to the sets. */
static void deal(const cli_gnn_source *s, keyed *row, int64_t count, cli_gnn_split *out) {
  const int64_t train = s->train < count ? s->train : count,
                valid = s->valid < count - train ? s->valid : count - train, drawn = train + valid;
  select_least(row, count, drawn);
  qsort(row, (size_t)drawn, sizeof *row, compare);
  for (int64_t n = 0; n < count; n++)
    put(out, row[n].row, n < train ? CLI_GNN_TRAIN : n < drawn ? CLI_GNN_VALID : CLI_GNN_TEST);
}

typedef struct keys {
  double *key; /* one per row */
  uint64_t seed;
} keys;

static sley_status draw_keys(void *context, int64_t begin, int64_t end) {
  const keys *k = context;
  return sley_dense_random(k->seed, begin, end - begin, 1, NULL, SLEY_F64, k->key + begin, 1);
}

/* Groups the labelled rows by class, and deals each class. begin has classes + 1 elements, all 0. */
static void deal_classes(const cli_gnn_reading *r, const double *key, int64_t *begin, keyed *order) {
  const cli_gnn_data *data = r->data;
  cli_gnn_split *out = &r->data->split;
  for (int64_t i = 0; i < data->rows; i++)
    if (data->label[i] >= 0)
      begin[data->label[i]]++;
  for (int64_t c = 0, sum = 0; c <= data->classes; c++)
    begin[c] = sum += begin[c]; /* the end of the class; its rows are placed from there */
  for (int64_t i = data->rows - 1; i >= 0; i--)
    if (data->label[i] >= 0)
      order[--begin[data->label[i]]] = (keyed){key[i], i};
    else
      put(out, i, CLI_GNN_NONE);
  for (int64_t c = 0; c < data->classes; c++)
    deal(r->source, order + begin[c], begin[c + 1] - begin[c], out);
}

/* Assigns rows, in a random order determined by the seed, to the sets of their classes. */
static sley_status draw(const cli_gnn_reading *r) {
  const int64_t rows = r->data->rows;
  cli_gnn_split *out = &r->data->split;
  out->seed = r->source->split_seed;
  double *key = malloc((size_t)rows * sizeof *key + 1);
  keyed *order = malloc((size_t)rows * sizeof *order + 1);
  int64_t *begin = calloc((size_t)r->data->classes + 1, sizeof *begin);
  sley_status status = key && order && begin ? SLEY_OK : SLEY_ERR_MEMORY;
  if (status == SLEY_OK)
    status = cli_loop(r->source->threads, rows, CLI_GNN_ROWS_AT_ONCE, draw_keys,
                      &(keys){key, (uint64_t)out->seed + 2});
  if (status == SLEY_OK)
    deal_classes(r, key, begin, order);
  free(begin);
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
