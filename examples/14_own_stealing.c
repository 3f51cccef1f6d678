/* SPDX-License-Identifier: Apache-2.0 */
/* An algorithm of one's own in tiles: Y = A X with stationary A and work stealing, as tile-a-steal does it,
 * built from sley_remote.h.
 *
 * Task (i, l, j) multiplies tile (i, l) of A with tile (l, j) of X, and adds the product to tile (i, j) of Y.
 * The owner of a tile of A has a word in which the tile's tasks are reserved, one j after the other. A rank
 * reserves the tasks of its own tiles, then those that others have not reserved yet, and sends each product
 * to the owner of its tile of Y, which adds products in the order of l: the bits do not depend on who
 * computed what. Source: B. Brock, A. Buluc and K. Yelick, RDMA-Based Algorithms for Sparse Matrix
 * Multiplication on GPUs, ICS 2024, sections 3.3 and 3.4. */
#include <sley.h>
#include <sley_remote.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 4, TILES = 8, COLUMNS = 4, K = 16 };

typedef struct job {
  sley_matrix *matrix;
  int64_t n;
  float *x, *y;         /* whole operands */
  int64_t stolen, made; /* tasks of all ranks */
} job;

typedef struct product {
  sley_comm *comm;
  sley_tiled *a, *x, *y;
  sley_words *next; /* for each tile of A: number of its tasks that are reserved */
  sley_sums *sums;
  int64_t stolen, made;
} product;

/* Number of tiles of row i of A before column `end` that have entries: the terms of a tile of Y. */
static int64_t terms_before(const product *p, int64_t i, int64_t end) {
  int64_t count = 0;
  for (int64_t l = 0; l < end; l++) {
    sley_tile_info tile;
    count += sley_tile_info_get(p->a, i, l, &tile) == SLEY_OK && tile.entries > 0;
  }
  return count;
}

/* Multiplies a tile of A with tile (l, j) of X, and adds the product to tile (i, j) of Y. */
static sley_status run_task(product *p, const sley_csr *a, int64_t i, int64_t l, int64_t j) {
  sley_tile_future *future = NULL;
  sley_tile_info of_x;
  sley_status status = sley_tile_info_get(p->x, l, j, &of_x);
  float *x = malloc((size_t)(of_x.rows * of_x.cols + 1) * sizeof *x);
  float *y = calloc((size_t)(a->rows * of_x.cols + 1), sizeof *y);
  if (status == SLEY_OK)
    status = x && y ? sley_tile_get_begin(p->x, l, j, &future) : SLEY_ERR_MEMORY;
  if (status == SLEY_OK)
    status = sley_tile_get_values(future, x, of_x.cols);
  for (int64_t row = 0; status == SLEY_OK && row < a->rows; row++)
    for (int64_t e = a->rowptr[row]; e < a->rowptr[row + 1]; e++)
      for (int64_t c = 0; c < of_x.cols; c++)
        y[row * of_x.cols + c] +=
            ((const float *)a->val)[e] * x[((const int32_t *)a->col)[e] * of_x.cols + c];
  if (status == SLEY_OK)
    status = sley_sums_add(p->sums, i, j, terms_before(p, i, l), y);
  sley_tile_future_destroy(future);
  free(x);
  free(y);
  return status;
}

/* Computes the tasks of tile (i, l) of A that are left. The tile is fetched once there is one. */
static sley_status run_tile(product *p, int64_t i, int64_t l, const sley_tile_info *tile) {
  sley_tile_future *future = NULL;
  sley_matrix *a = NULL;
  sley_csr csr = {0};
  sley_status status = SLEY_OK;
  for (int64_t j = 0; status == SLEY_OK;) {
    status = sley_words_reserve(p->next, tile->rank, i * TILES + l, COLUMNS, &j);
    if (status != SLEY_OK || j < 0)
      break;
    if (!a) {
      status = sley_tile_get_begin(p->a, i, l, &future);
      if (status == SLEY_OK)
        status = sley_tile_get_matrix(future, &a);
      if (status == SLEY_OK)
        status = sley_matrix_csr(a, &csr);
    }
    if (status == SLEY_OK)
      status = run_task(p, &csr, i, l, j);
    p->made++;
    p->stolen += tile->rank != sley_comm_rank(p->comm);
  }
  sley_tile_future_destroy(future);
  sley_matrix_destroy(a);
  return status;
}

/* The tasks of this rank's tiles, then those of all others. */
static sley_status run_all(product *p) {
  const int me = sley_comm_rank(p->comm);
  for (int others = 0; others < 2; others++)
    for (int64_t n = 0; n < TILES * TILES; n++) {
      const int64_t at = (n + (int64_t)me * TILES * TILES / RANKS) % (TILES * TILES);
      sley_tile_info tile;
      sley_status status = sley_tile_info_get(p->a, at / TILES, at % TILES, &tile);
      if (status == SLEY_OK && tile.entries > 0 && (tile.rank != me) == others)
        status = run_tile(p, at / TILES, at % TILES, &tile);
      if (status != SLEY_OK)
        return status;
    }
  return sley_sums_finish(p->sums);
}

static sley_status prepare(product *p, job *j, const int64_t *begin) {
  sley_tiling of_a = {.tiles_down = TILES, .tiles_across = TILES}, of_x, of_y;
  int64_t terms[TILES * COLUMNS];
  sley_status status = sley_tile_complete(RANKS, COLUMNS, &of_a, &of_x, &of_y);
  if (status == SLEY_OK)
    status = sley_tiled_create_sparse(p->comm, j->matrix, NULL, &of_a, &p->a);
  if (status == SLEY_OK)
    status = sley_tiled_create_dense(p->comm, j->n, K, SLEY_F32, &of_x, &p->x);
  if (status == SLEY_OK)
    status = sley_tiled_create_dense(p->comm, j->n, K, SLEY_F32, &of_y, &p->y);
  if (status == SLEY_OK)
    status = sley_tiled_set_rows(p->x, begin, j->x + begin[sley_comm_rank(p->comm)] * K, K);
  if (status == SLEY_OK)
    status = sley_words_create(p->comm, TILES * TILES, &p->next);
  for (int64_t n = 0; status == SLEY_OK && n < TILES * COLUMNS; n++)
    terms[n] = terms_before(p, n / COLUMNS, TILES);
  return status == SLEY_OK ? sley_sums_create(p->y, terms, 0, &p->sums) : status;
}

static sley_status multiply(sley_comm *comm, void *arg) {
  job *j = arg;
  product p = {.comm = comm};
  int64_t begin[RANKS + 1];
  sley_status status = sley_partition_equal(j->n, RANKS, begin);
  if (status == SLEY_OK)
    status = prepare(&p, j, begin);
  if (status == SLEY_OK)
    status = run_all(&p);
  if (status == SLEY_OK)
    status = sley_tiled_get_rows(p.y, begin, j->y + begin[sley_comm_rank(comm)] * K, K);
  int64_t counts[] = {p.made, p.stolen};
  if (status == SLEY_OK)
    status = sley_comm_allreduce(comm, SLEY_SUM, counts, 2);
  if (sley_comm_rank(comm) == 0) {
    j->made = counts[0];
    j->stolen = counts[1];
  }
  sley_sums_destroy(p.sums);
  sley_words_destroy(p.next);
  sley_tiled_destroy(p.a);
  sley_tiled_destroy(p.x);
  sley_tiled_destroy(p.y);
  return status;
}

int main(void) {
  job j = {0};
  sley_matrix_info info = {0};
  sley_check check = {0};
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  void *x = NULL, *y = NULL;
  ranks.ranks = RANKS;
  sley_status status = sley_matrix_read("rmat:scale=11,edgefactor=8,seed=3", NULL, &j.matrix);
  if (status == SLEY_OK)
    status = sley_matrix_info_get(j.matrix, &info);
  j.n = info.rows;
  if (status == SLEY_OK)
    status = sley_buffer_alloc(j.n * K * (int64_t)sizeof *j.x, &x);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(j.n * K * (int64_t)sizeof *j.y, &y);
  if (status == SLEY_OK)
    status = sley_dense_random(1, 0, j.n, K, NULL, SLEY_F32, x, K);
  j.x = x;
  j.y = y;
  if (status == SLEY_OK)
    status = sley_run_ranks(&ranks, multiply, &j);
  if (status == SLEY_OK)
    status = sley_check_spmm(j.matrix, false, K, x, K, y, K, 0, &check);
  if (status == SLEY_OK)
    printf("%lld products of tiles on %d ranks, %lld of them stolen: %s\n", (long long)j.made, RANKS,
           (long long)j.stolen, check.ok ? "correct" : "WRONG");
  else
    fprintf(stderr, "%s: %s\n", sley_status_name(status), sley_last_error());
  sley_buffer_free(x);
  sley_buffer_free(y);
  sley_matrix_destroy(j.matrix);
  return status == SLEY_OK && check.ok ? 0 : 1;
}
