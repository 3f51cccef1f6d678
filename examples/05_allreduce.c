/* SPDX-License-Identifier: Apache-2.0 */
/* Three ranks sum their gradients: a collective is prepared once and run in every step, in place. The sum has
 * the bits of adding in the order of the ranks. */
#include <sley.h>
#include <stdio.h>
#include <string.h>

enum { RANKS = 3, VALUES = 100003, STEPS = 4 };

/* Value i of rank r's gradient in a step. */
static float gradient(int r, int step, int i) {
  return (float)(r + 1) / (float)(i % 97 + step + 1);
}

static sley_status train(sley_comm *comm, void *arg) {
  int *wrong = arg, rank = sley_comm_rank(comm);
  float *host = NULL;
  void *there = NULL; /* memory of the rank's device */
  sley_collective *sum = NULL;
  sley_collective_options options = SLEY_COLLECTIVE_OPTIONS_INIT;
  const int64_t bytes = VALUES * (int64_t)sizeof *host;
  options.count = VALUES;

  sley_status status = sley_collective_create(comm, &options, &sum);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(bytes, (void **)&host);
  if (status == SLEY_OK)
    status = sley_comm_alloc(comm, bytes, &there);
  for (int step = 0; step < STEPS && status == SLEY_OK; step++) {
    for (int i = 0; i < VALUES; i++)
      host[i] = gradient(rank, step, i);
    status = sley_comm_copy(comm, there, host, bytes, SLEY_TO_DEVICE);
    if (status == SLEY_OK)
      status = sley_collective_run(sum, there, there);
    if (status == SLEY_OK)
      status = sley_comm_copy(comm, host, there, bytes, SLEY_TO_HOST);
    for (int i = 0; i < VALUES && status == SLEY_OK; i++) {
      float expected = gradient(0, step, i);
      for (int r = 1; r < RANKS; r++)
        expected += gradient(r, step, i);
      wrong[rank] += memcmp(&expected, &host[i], sizeof expected) != 0;
    }
  }
  sley_collective_destroy(sum);
  sley_comm_free(comm, there);
  sley_buffer_free(host);
  return status;
}

int main(void) {
  int wrong[RANKS] = {0}, all = 0;
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = RANKS;
  sley_status status = sley_run_ranks(&options, train, wrong);
  for (int r = 0; r < RANKS; r++)
    all += wrong[r];
  if (status == SLEY_OK)
    printf("%d ranks, %d sums of %d values: %s\n", RANKS, STEPS, VALUES, all == 0 ? "correct" : "WRONG");
  else
    fprintf(stderr, "%s: %s\n", sley_status_name(status), sley_last_error());
  return status == SLEY_OK && all == 0 ? 0 : 1;
}
