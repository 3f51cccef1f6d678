/* SPDX-License-Identifier: Apache-2.0 */
/* Fingerprints of graphs, features, labels and splits. */
#include "gnn/print.h"

#include <math.h>
#include <sodium.h>
#include <string.h>

#include "gnn/reading.h"

enum { WORD = 8, ROOM = 1 << 16 };

/* State of a hash. Each number is hashed as 8 bytes, the lowest byte first. */
typedef struct hash {
  crypto_generichash_state state;
  unsigned char bytes[ROOM];
  size_t used;
} hash;

static void start(hash *h) {
  h->used = 0;
  crypto_generichash_init(&h->state, NULL, 0, CLI_GNN_PRINT * WORD);
}

static void flush(hash *h) {
  crypto_generichash_update(&h->state, h->bytes, h->used);
  h->used = 0;
}

static void add(hash *h, int64_t number) {
  if (h->used == ROOM)
    flush(h);
  for (int byte = 0; byte < WORD; byte++)
    h->bytes[h->used++] = (unsigned char)((uint64_t)number >> 8 * byte);
}

static void add_real(hash *h, double value) {
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  add(h, bits);
}

static void end(hash *h, cli_gnn_print *out) {
  unsigned char bytes[CLI_GNN_PRINT * WORD];
  flush(h);
  crypto_generichash_final(&h->state, bytes, sizeof bytes);
  for (int word = 0; word < CLI_GNN_PRINT; word++) {
    uint64_t number = 0;
    for (int byte = WORD - 1; byte >= 0; byte--)
      number = number << 8 | bytes[word * WORD + byte];
    out->word[word] = (int64_t)number;
  }
}

static void add_entries(hash *h, const sley_csr *m, bool values, bool zeros) {
  add(h, m->rows);
  add(h, m->cols);
  for (int64_t i = 0; i < m->rows; i++) {
    int64_t count = 0;
    for (int64_t e = m->rowptr[i]; e < m->rowptr[i + 1]; e++)
      if (zeros || cli_gnn_value(m, e) != 0) {
        add(h, cli_gnn_column(m, e));
        if (values)
          add_real(h, cli_gnn_value(m, e));
        count++;
      }
    add(h, count);
  }
}

sley_status cli_gnn_print_matrix(const sley_matrix *matrix, bool values, cli_gnn_print *out) {
  hash h;
  sley_csr m;
  const sley_status status = sley_matrix_csr(matrix, &m);
  if (status != SLEY_OK)
    return status;
  start(&h);
  add_entries(&h, &m, values, true);
  end(&h, out);
  return SLEY_OK;
}

static void add_dense(hash *h, const cli_gnn_data *data) {
  add(h, data->rows);
  add(h, data->features);
  for (int64_t i = 0; i < data->rows; i++) {
    const float *row = data->x + i * data->features;
    int64_t count = 0;
    for (int64_t f = 0; f < data->features; f++)
      if (row[f] != 0) {
        add(h, f);
        add_real(h, row[f]);
        count++;
      }
    add(h, count);
  }
}

sley_status cli_gnn_print_features(const cli_gnn_data *data, cli_gnn_print *out) {
  hash h;
  sley_csr m;
  sley_status status = data->sparse ? sley_matrix_csr(data->sparse, &m) : SLEY_OK;
  if (status != SLEY_OK)
    return status;
  start(&h);
  if (data->sparse)
    add_entries(&h, &m, true, false);
  else
    add_dense(&h, data);
  end(&h, out);
  return SLEY_OK;
}

sley_status cli_gnn_print_labels(const cli_gnn_data *data, cli_gnn_print *out) {
  hash h;
  start(&h);
  add(&h, data->rows);
  add(&h, data->classes);
  for (int64_t i = 0; i < data->rows; i++)
    add(&h, data->label[i]);
  end(&h, out);
  return SLEY_OK;
}

sley_status cli_gnn_print_split(const cli_gnn_data *data, const cli_gnn_split *split, cli_gnn_print *out) {
  hash h;
  start(&h);
  add(&h, data->rows);
  for (int64_t i = 0; i < data->rows; i++)
    add(&h, split->set[i] < CLI_GNN_SETS ? split->set[i] : CLI_GNN_NONE);
  end(&h, out);
  return SLEY_OK;
}

bool cli_gnn_print_same(const cli_gnn_print *one, const cli_gnn_print *other) {
  return memcmp(one, other, sizeof *one) == 0;
}
