/* SPDX-License-Identifier: Apache-2.0 */
/* Three ranks train a network of two layers, each on its own samples: first with sums of whole gradients;
 * then each rank sends only the largest tenth of its values, by a compressed all-reduce, and keeps the rest
 * for the next steps. Both end with about the same loss. */
#include <math.h>
#include <sley.h>
#include <stdio.h>
#include <string.h>

enum { RANKS = 3, SAMPLES = 96, INPUTS = 12, HIDDEN = 48, STEPS = 500 };

/* Offsets of the parameters and their gradients, which are contiguous. */
enum { W1 = 0, B1 = W1 + INPUTS * HIDDEN, W2 = B1 + HIDDEN, B2 = W2 + HIDDEN, VALUES = B2 + 1 };

static const float RATE = 0.05F;

typedef struct network {
  float x[SAMPLES][INPUTS], y[SAMPLES];
  float parameter[VALUES], gradient[VALUES];
  sley_topk *topk; /* NULL: gradients are sent whole */
  sley_collective *sum;
  void *there; /* a gradient in the device's memory */
} network;

typedef struct result {
  double loss[2]; /* mean loss over all samples: dense, sparse */
  double sent;    /* bytes that rank 0 sent in the last step, relative to the dense collective */
} result;

/* The next number in [-1, 1) of a sequence. */
static float next(uint32_t *state) {
  *state = *state * 1664525U + 1013904223U;
  return (float)(*state >> 8) / 8388608.0F - 1;
}

/* Draws samples of the function to learn: smooth in the inputs, with noise. */
static void draw_samples(network *n, int rank) {
  uint32_t state = 7U + 1000U * (uint32_t)rank;
  for (int s = 0; s < SAMPLES; s++) {
    for (int i = 0; i < INPUTS; i++)
      n->x[s][i] = next(&state);
    n->y[s] = sinf(3 * n->x[s][0]) + n->x[s][1] * n->x[s][2] + 0.5F * n->x[s][3] + 0.5F * next(&state);
  }
}

/* Draws initial parameters, the same on all ranks. */
static void draw_parameters(network *n) {
  uint32_t state = 3;
  for (int p = 0; p < VALUES; p++)
    n->parameter[p] = next(&state) * (p < B1 ? 0.5F : p < W2 ? 0 : 0.2F);
}

/* Returns the sum of the rank's squared errors, and computes the gradient of the mean over all ranks'
 * samples. */
static double find_gradient(network *n) {
  double loss = 0;
  float *g = n->gradient;
  const float *p = n->parameter;
  memset(g, 0, sizeof n->gradient);
  for (int s = 0; s < SAMPLES; s++) {
    float hidden[HIDDEN], out = p[B2];
    for (int h = 0; h < HIDDEN; h++) {
      float sum = p[B1 + h];
      for (int i = 0; i < INPUTS; i++)
        sum += n->x[s][i] * p[W1 + h * INPUTS + i];
      hidden[h] = tanhf(sum);
      out += hidden[h] * p[W2 + h];
    }
    const float error = out - n->y[s], d_out = 2 * error / (SAMPLES * RANKS);
    loss += (double)(error * error);
    g[B2] += d_out;
    for (int h = 0; h < HIDDEN; h++) {
      const float d_hidden = d_out * p[W2 + h] * (1 - hidden[h] * hidden[h]);
      g[W2 + h] += d_out * hidden[h];
      g[B1 + h] += d_hidden;
      for (int i = 0; i < INPUTS; i++)
        g[W1 + h * INPUTS + i] += d_hidden * n->x[s][i];
    }
  }
  return loss;
}

/* Replaces gradient by the sum of what the ranks send. */
static sley_status sum_up(sley_comm *comm, network *n) {
  const int64_t bytes = sizeof n->gradient;
  sley_status status = sley_comm_copy(comm, n->there, n->gradient, bytes, SLEY_TO_DEVICE);
  if (status == SLEY_OK && n->topk)
    status = sley_topk_run(n->topk, n->there, n->there);
  if (status == SLEY_OK)
    status = sley_collective_run(n->sum, n->there, n->there);
  if (status == SLEY_OK)
    status = sley_comm_copy(comm, n->gradient, n->there, bytes, SLEY_TO_HOST);
  return status;
}

static sley_status train(sley_comm *comm, network *n, double *loss) {
  sley_status status = SLEY_OK;
  draw_parameters(n);
  for (int step = 0; step < STEPS && status == SLEY_OK; step++) {
    find_gradient(n);
    status = sum_up(comm, n);
    for (int p = 0; p < VALUES; p++)
      n->parameter[p] -= RATE * n->gradient[p];
  }
  *loss = find_gradient(n);
  return status;
}

/* Trains once; *loss: its final loss. */
static sley_status train_once(sley_comm *comm, network *n, double density, double *loss, double *sent) {
  sley_collective_options sum = SLEY_COLLECTIVE_OPTIONS_INIT;
  sley_topk_options topk = SLEY_TOPK_OPTIONS_INIT;
  sley_collective_info info = {0};
  sley_status status = SLEY_OK;
  sum.count = topk.count = VALUES;
  sum.compress = density < 1 ? SLEY_COMPRESS_COO : SLEY_COMPRESS_NONE; /* COO, even if dense is as fast */
  topk.density = density;
  if (density < 1)
    status = sley_topk_create(comm, &topk, &n->topk);
  if (status == SLEY_OK)
    status = sley_collective_create(comm, &sum, &n->sum);
  if (status == SLEY_OK)
    status = train(comm, n, loss);
  if (status == SLEY_OK)
    status = sley_collective_info_get(n->sum, &info);
  *sent = info.dense_sent > 0 ? (double)info.sent / (double)info.dense_sent : 0;
  sley_collective_destroy(n->sum);
  sley_topk_destroy(n->topk);
  n->sum = NULL;
  n->topk = NULL;
  return status;
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  result *all = arg;
  network *n = NULL;
  double loss[2] = {0}, sent = 0;
  const int rank = sley_comm_rank(comm);
  sley_status status = sley_buffer_alloc(sizeof *n, (void **)&n);
  if (status != SLEY_OK)
    return status;
  memset(n, 0, sizeof *n);
  draw_samples(n, rank);
  status = sley_comm_alloc(comm, sizeof n->gradient, &n->there);
  if (status == SLEY_OK)
    status = train_once(comm, n, 1, &loss[0], &sent);
  if (status == SLEY_OK)
    status = train_once(comm, n, 0.1, &loss[1], &sent);
  all[rank] = (result){{loss[0], loss[1]}, sent};
  sley_comm_free(comm, n->there);
  sley_buffer_free(n);
  return status;
}

int main(void) {
  result all[RANKS] = {{{0}, 0}};
  double dense = 0, sparse = 0;
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = RANKS;
  const sley_status status = sley_run_ranks(&options, rank_main, all);
  if (status != SLEY_OK) {
    fprintf(stderr, "%s: %s\n", sley_status_name(status), sley_last_error());
    return 1;
  }
  for (int r = 0; r < RANKS; r++) {
    dense += all[r].loss[0] / (SAMPLES * RANKS);
    sparse += all[r].loss[1] / (SAMPLES * RANKS);
  }
  const int correct = sparse > 0 && sparse <= 1.02 * dense;
  printf("loss after %d steps: %.5f with whole gradients, %.5f with a tenth of them, which takes %.0f %% of "
         "the bytes: %s\n",
         STEPS, dense, sparse, 100 * all[0].sent, correct ? "correct" : "WRONG");
  return correct ? 0 : 1;
}
