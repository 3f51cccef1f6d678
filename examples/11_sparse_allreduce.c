/* SPDX-License-Identifier: Apache-2.0 */
/* Three ranks sum the gradients of an embedding table, of which a batch uses few rows: most values are zero,
 * so the data sent is compressed. The sums have the bits of the dense collective. */
#include <sley.h>
#include <stdio.h>
#include <string.h>

enum { RANKS = 3, ROWS = 20000, WIDTH = 64, BATCH = 200, VALUES = ROWS * WIDTH };

typedef struct report {
  int wrong[RANKS];
  sley_collective_info info; /* as rank 0 reports it */
} report;

/* Row number i of rank r's batch; several ranks use some of the rows. */
static int used_row(int r, int i) {
  return (i * 97 + r * (i % 5) * 31) % ROWS;
}

static void fill(float *gradient, int r) {
  memset(gradient, 0, VALUES * sizeof *gradient);
  for (int i = 0; i < BATCH; i++)
    for (int j = 0; j < WIDTH; j++)
      gradient[used_row(r, i) * WIDTH + j] += (float)(r + 1) / (float)(i + j + 1);
}

/* Replaces gradient by the sum over all ranks, in place. */
static sley_status sum_up(sley_comm *comm, sley_compress compress, float *gradient, void *there,
                          sley_collective_info *info) {
  const int64_t bytes = VALUES * (int64_t)sizeof *gradient;
  sley_collective *sum = NULL;
  sley_collective_options options = SLEY_COLLECTIVE_OPTIONS_INIT;
  options.count = VALUES;
  options.compress = compress;
  sley_status status = sley_collective_create(comm, &options, &sum);
  if (status == SLEY_OK)
    status = sley_comm_copy(comm, there, gradient, bytes, SLEY_TO_DEVICE);
  if (status == SLEY_OK)
    status = sley_collective_run(sum, there, there);
  if (status == SLEY_OK)
    status = sley_collective_info_get(sum, info);
  if (status == SLEY_OK)
    status = sley_comm_copy(comm, gradient, there, bytes, SLEY_TO_HOST);
  sley_collective_destroy(sum);
  return status;
}

static sley_status train(sley_comm *comm, void *arg) {
  report *all = arg;
  const int rank = sley_comm_rank(comm);
  const int64_t bytes = VALUES * (int64_t)sizeof(float);
  float *compressed = NULL, *dense = NULL;
  void *there = NULL; /* memory of the rank's device */
  sley_collective_info info, of_dense;
  sley_status status = sley_buffer_alloc(bytes, (void **)&compressed);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(bytes, (void **)&dense);
  if (status == SLEY_OK)
    status = sley_comm_alloc(comm, bytes, &there);
  if (status == SLEY_OK) {
    fill(compressed, rank);
    fill(dense, rank);
    status = sum_up(comm, SLEY_COMPRESS_PICI, compressed, there, &info);
  }
  if (status == SLEY_OK)
    status = sum_up(comm, SLEY_COMPRESS_NONE, dense, there, &of_dense);
  if (status == SLEY_OK)
    all->wrong[rank] = memcmp(compressed, dense, (size_t)bytes) != 0 || info.sent >= of_dense.sent / 4;
  if (status == SLEY_OK && rank == 0)
    all->info = info;
  sley_comm_free(comm, there);
  sley_buffer_free(dense);
  sley_buffer_free(compressed);
  return status;
}

int main(void) {
  report all = {0};
  int wrong = 0;
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = RANKS;
  sley_status status = sley_run_ranks(&options, train, &all);
  for (int r = 0; r < RANKS; r++)
    wrong += all.wrong[r];
  if (status == SLEY_OK)
    printf("%d ranks, %d values, %.1f %% zeros; rank 0 sent %.1f %% of the dense collective's bytes: %s\n",
           RANKS, VALUES, 100 - 100 * (double)all.info.nonzeros / (double)all.info.values,
           100 * (double)all.info.sent / (double)all.info.dense_sent, wrong == 0 ? "correct" : "WRONG");
  else
    fprintf(stderr, "%s: %s\n", sley_status_name(status), sley_last_error());
  return status == SLEY_OK && wrong == 0 ? 0 : 1;
}
