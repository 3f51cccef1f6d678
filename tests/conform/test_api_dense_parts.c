/* SPDX-License-Identifier: Apache-2.0 */
/* Dense parts of graph networks through the public interface: a network of two layers with dropout, whose
 * rows are divided among the ranks. The dropout mask is the same for every number of ranks, gradients equal
 * differences of the loss, and steps of Adam produce the same parameters on all ranks and a smaller loss. One
 * call with a bias, an activation and dropout, and its gradient, equal separate calls. */
#include <float.h>
#include <math.h>

#include "base/random.h"
#include "ranks.h"

enum { ROWS = 23, INPUTS = 5, HIDDEN = 7, CLASSES = 4, MOST_RANKS = 8, STEPS = 8 };

/* Offsets of the parameters, which are stored one after the other, and of the two sums of the loss, which are
 * stored after the gradients. */
enum {
  W1 = 0,
  B1 = W1 + INPUTS * HIDDEN,
  W2 = B1 + HIDDEN,
  B2 = W2 + HIDDEN * CLASSES,
  PARAMETERS = B2 + CLASSES,
  LOSS = PARAMETERS,
  SUMS = PARAMETERS + 2
};

static const double P = 0.4, SLOPE = 0.7;

/* The network of one rank, in the memory of its device. */
typedef struct network {
  sley_comm *comm;
  sley_collective *reduce;
  int64_t first, rows;
  double *x, *hidden, *dropped, *logits, *d_logits, *d_hidden; /* one row for each row of the rank */
  double *parameter, *sum, *m, *v;
  int32_t *label;
} network;

static double number(uint64_t stream, int64_t i) {
  return 2 * sl_unit(sl_random(stream, (uint64_t)i, 0)) - 1;
}

static sley_status fill(sley_comm *comm, uint64_t stream, int64_t first, int64_t count, double **out) {
  double host[ROWS * HIDDEN + SUMS];
  for (int64_t i = 0; i < count; i++)
    host[i] = stream ? number(stream, first + i) : 0;
  SL_TRY(sley_comm_alloc(comm, count * (int64_t)sizeof *host, (void **)out));
  return sley_comm_copy(comm, *out, host, count * (int64_t)sizeof *host, SLEY_TO_DEVICE);
}

static sley_status open_labels(network *n) {
  int32_t host[ROWS];
  for (int64_t i = 0; i < n->rows; i++)
    host[i] = (int32_t)((n->first + i) % (CLASSES + 1)) - 1; /* every fifth row has no label */
  SL_TRY(sley_comm_alloc(n->comm, n->rows * (int64_t)sizeof *host, (void **)&n->label));
  return sley_comm_copy(n->comm, n->label, host, n->rows * (int64_t)sizeof *host, SLEY_TO_DEVICE);
}

static sley_status open_network(network *n) {
  sley_collective_options reduce = SLEY_COLLECTIVE_OPTIONS_INIT;
  reduce.type = SLEY_TYPE_F64;
  reduce.count = SUMS;
  SL_TRY(sley_collective_create(n->comm, &reduce, &n->reduce));
  SL_TRY(fill(n->comm, 1, n->first * INPUTS, n->rows * INPUTS, &n->x));
  SL_TRY(fill(n->comm, 0, 0, n->rows * HIDDEN, &n->hidden));
  SL_TRY(fill(n->comm, 0, 0, n->rows * HIDDEN, &n->dropped));
  SL_TRY(fill(n->comm, 0, 0, n->rows * HIDDEN, &n->d_hidden));
  SL_TRY(fill(n->comm, 0, 0, n->rows * CLASSES, &n->logits));
  SL_TRY(fill(n->comm, 0, 0, n->rows * CLASSES, &n->d_logits));
  SL_TRY(fill(n->comm, 2, 0, PARAMETERS, &n->parameter));
  SL_TRY(fill(n->comm, 0, 0, SUMS, &n->sum));
  SL_TRY(fill(n->comm, 0, 0, PARAMETERS, &n->m));
  SL_TRY(fill(n->comm, 0, 0, PARAMETERS, &n->v));
  return open_labels(n);
}

static void close_network(network *n) {
  void *all[] = {n->x,         n->hidden, n->dropped, n->d_hidden, n->logits, n->d_logits,
                 n->parameter, n->sum,    n->m,       n->v,        n->label};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    sley_comm_free(n->comm, all[i]);
  sley_collective_destroy(n->reduce);
}

/* C = op(A) op(B), m x n; all matrices are contiguous. */
static sley_status multiply(const network *n, bool ta, bool tb, int64_t rows, int64_t cols, int64_t k,
                            const double *a, const double *b, double *c, const double *bias,
                            sley_activation act) {
  sley_gemm_spec g = SLEY_GEMM_SPEC_INIT;
  g.dtype = SLEY_F64;
  g.transpose_a = ta;
  g.transpose_b = tb;
  g.m = rows;
  g.n = g.ldc = cols;
  g.k = k;
  g.a = a;
  g.b = b;
  g.c = c;
  g.lda = ta ? rows : k;
  g.ldb = tb ? k : cols;
  g.bias = bias;
  g.act = act;
  g.slope = SLOPE;
  return sley_gemm(n->comm, &g);
}

static sley_status drop(const network *n, int64_t first, int64_t rows, const double *in, double *out) {
  sley_dropout_spec d = SLEY_DROPOUT_SPEC_INIT;
  d.dtype = SLEY_F64;
  d.p = P;
  d.seed = UINT64_C(0x123456789abcdef0);
  d.stream = 3;
  d.first_row = first;
  d.rows = rows;
  d.cols = d.ld_in = d.ld_out = HIDDEN;
  d.in = in;
  d.out = out;
  return sley_dropout(n->comm, &d);
}

/* Computes the logits, their gradient, and the sums of the loss. */
static sley_status go_forward(const network *n) {
  SL_TRY(multiply(n, false, false, n->rows, HIDDEN, INPUTS, n->x, n->parameter + W1, n->hidden,
                  n->parameter + B1, SLEY_ELU));
  SL_TRY(drop(n, n->first, n->rows, n->hidden, n->dropped));
  SL_TRY(multiply(n, false, false, n->rows, CLASSES, HIDDEN, n->dropped, n->parameter + W2, n->logits,
                  n->parameter + B2, SLEY_NO_ACTIVATION));
  sley_nll_spec l = SLEY_NLL_SPEC_INIT;
  l.dtype = SLEY_F64;
  l.rows = n->rows;
  l.classes = l.ld = l.ld_grad = CLASSES;
  l.logits = n->logits;
  l.label = n->label;
  l.sums = n->sum + LOSS;
  l.grad = n->d_logits;
  return sley_nll(n->comm, &l);
}

static sley_status go_back(const network *n) {
  SL_TRY(multiply(n, true, false, HIDDEN, CLASSES, n->rows, n->dropped, n->d_logits, n->sum + W2, NULL,
                  SLEY_NO_ACTIVATION));
  SL_TRY(sley_column_sums(n->comm, SLEY_F64, n->rows, CLASSES, n->d_logits, CLASSES, n->sum + B2));
  SL_TRY(multiply(n, false, true, n->rows, HIDDEN, CLASSES, n->d_logits, n->parameter + W2, n->d_hidden, NULL,
                  SLEY_NO_ACTIVATION));
  SL_TRY(drop(n, n->first, n->rows, n->d_hidden, n->d_hidden));
  sley_activate_grad_spec a = SLEY_ACTIVATE_GRAD_SPEC_INIT;
  a.dtype = SLEY_F64;
  a.act = SLEY_ELU;
  a.slope = SLOPE;
  a.rows = n->rows;
  a.cols = a.ldy = a.ld_dy = a.ld_dx = HIDDEN;
  a.y = n->hidden;
  a.dy = n->d_hidden;
  a.dx = n->d_hidden;
  SL_TRY(sley_activate_grad(n->comm, &a));
  SL_TRY(multiply(n, true, false, INPUTS, HIDDEN, n->rows, n->x, n->d_hidden, n->sum + W1, NULL,
                  SLEY_NO_ACTIVATION));
  return sley_column_sums(n->comm, SLEY_F64, n->rows, HIDDEN, n->d_hidden, HIDDEN, n->sum + B1);
}

/* Computes gradients and the loss, summed over the ranks. */
static sley_status differentiate(const network *n, double *sums) {
  SL_TRY(go_forward(n));
  SL_TRY(go_back(n));
  SL_TRY(sley_collective_run(n->reduce, n->sum, n->sum));
  return sley_comm_copy(n->comm, sums, n->sum, SUMS * (int64_t)sizeof *sums, SLEY_TO_HOST);
}

static sley_status loss_with(const network *n, const double *parameter, double *loss) {
  double sums[SUMS];
  SL_TRY(sley_comm_copy(n->comm, n->parameter, parameter, PARAMETERS * (int64_t)sizeof *parameter,
                        SLEY_TO_DEVICE));
  SL_TRY(differentiate(n, sums));
  *loss = sums[LOSS];
  return SLEY_OK;
}

static sley_status check_gradient(const network *n, const double *sums) {
  const double step = 1e-6;
  double parameter[PARAMETERS], above, below;
  for (int i = 0; i < PARAMETERS; i++)
    parameter[i] = number(2, i);
  for (int i = 0; i < PARAMETERS; i += 5) {
    const double here = parameter[i];
    parameter[i] = here + step;
    SL_TRY(loss_with(n, parameter, &above));
    parameter[i] = here - step;
    SL_TRY(loss_with(n, parameter, &below));
    parameter[i] = here;
    if (!(fabs((above - below) / (2 * step) - sums[i]) < 1e-6))
      return sl_fail(SLEY_ERR_INTERNAL, "parameter %d: gradient %.12g, difference %.12g", i, sums[i],
                     (above - below) / (2 * step));
  }
  return loss_with(n, parameter, &above);
}

/* Checks that the rank's rows of the mask equal these rows of a mask computed for all rows. */
static sley_status check_mask(const network *n) {
  double *ones, *all, mine[ROWS * HIDDEN], whole[ROWS * HIDDEN], host[ROWS * HIDDEN];
  const int64_t bytes = n->rows * HIDDEN * (int64_t)sizeof *mine;
  for (int i = 0; i < ROWS * HIDDEN; i++)
    host[i] = 1;
  SL_TRY(sley_comm_alloc(n->comm, sizeof host, (void **)&ones));
  SL_TRY(sley_comm_alloc(n->comm, sizeof host, (void **)&all));
  SL_TRY(sley_comm_copy(n->comm, ones, host, sizeof host, SLEY_TO_DEVICE));
  SL_TRY(drop(n, 0, ROWS, ones, all));
  SL_TRY(drop(n, n->first, n->rows, ones, ones));
  SL_TRY(sley_comm_copy(n->comm, whole, all, sizeof whole, SLEY_TO_HOST));
  SL_TRY(sley_comm_copy(n->comm, mine, ones, bytes, SLEY_TO_HOST));
  sley_comm_free(n->comm, ones);
  sley_comm_free(n->comm, all);
  int zeros = 0;
  for (int i = 0; i < ROWS * HIDDEN; i++)
    zeros += whole[i] == 0;
  EXPECT(zeros > ROWS * HIDDEN / 5 && zeros < ROWS * HIDDEN * 3 / 5);
  EXPECT(memcmp(mine, whole + n->first * HIDDEN, (size_t)bytes) == 0);
  return SLEY_OK;
}

static sley_dropout_spec dropout_of(const network *n, const void *in, void *out) {
  sley_dropout_spec d = SLEY_DROPOUT_SPEC_INIT;
  d.dtype = SLEY_F64;
  d.p = P;
  d.first_row = n->first;
  d.rows = n->rows;
  d.cols = d.ld_in = d.ld_out = HIDDEN;
  d.in = in;
  d.out = out;
  return d;
}

static sley_activate_grad_spec gradient_of(const network *n, const void *y, void *dx) {
  sley_activate_grad_spec g = SLEY_ACTIVATE_GRAD_SPEC_INIT;
  g.dtype = SLEY_F64;
  g.act = SLEY_RELU;
  g.rows = n->rows;
  g.cols = g.ldy = g.ld_dy = g.ld_dx = HIDDEN;
  g.y = y;
  g.dy = g.dx = dx;
  return g;
}

enum { TOGETHER, APART, WAYS };

/* Values of rows, and sums of columns, in host memory. */
typedef struct made {
  double rows[ROWS * HIDDEN], sums[HIDDEN];
} made;

static sley_status take(const network *n, const double *rows, const double *sums, made *out) {
  SL_TRY(sley_comm_copy(n->comm, out->rows, rows, n->rows * HIDDEN * (int64_t)sizeof *rows, SLEY_TO_HOST));
  return sums ? sley_comm_copy(n->comm, out->sums, sums, sizeof out->sums, SLEY_TO_HOST) : SLEY_OK;
}

/* Computes dropped = relu(x W + b) after dropout; then d_hidden for a gradient of ones, and the gradient of
 * b. */
static sley_status go_one_way(const network *n, int way, const uint64_t *seed, const double *ones,
                              made *out) {
  const double *bias = n->parameter + B1;
  SL_TRY(multiply(n, false, false, n->rows, HIDDEN, INPUTS, n->x, n->parameter + W1, n->hidden,
                  way == APART ? bias : NULL, way == APART ? SLEY_RELU : SLEY_NO_ACTIVATION));
  sley_dropout_spec d = dropout_of(n, n->hidden, n->dropped);
  if (way == APART) {
    d.seed = 77;
  } else {
    d.device_seed = seed;
    d.bias = bias;
    d.act = SLEY_RELU;
  }
  SL_TRY(sley_dropout(n->comm, &d));
  SL_TRY(take(n, n->dropped, NULL, &out[0]));
  sley_activate_grad_spec g = gradient_of(n, way == APART ? n->hidden : n->dropped, n->d_hidden);
  d.in = ones;
  d.out = n->d_hidden;
  d.bias = NULL;
  d.act = SLEY_NO_ACTIVATION;
  if (way == APART)
    SL_TRY(sley_dropout(n->comm, &d));
  else {
    g.dy = ones;
    g.scale = 1 / (1 - P);
    g.sums = n->sum + B1;
  }
  SL_TRY(sley_activate_grad(n->comm, &g));
  if (way == APART)
    SL_TRY(sley_column_sums(n->comm, SLEY_F64, n->rows, HIDDEN, n->d_hidden, HIDDEN, n->sum + B1));
  return take(n, n->d_hidden, n->sum + B1, &out[1]);
}

/* Compares one call with a seed in device memory, a bias, an activation and dropout with one call for each.
 */
static sley_status check_together(const network *n) {
  static const uint64_t SEED = 77;
  made all[WAYS][2] = {0};
  double host[ROWS * HIDDEN], *ones;
  uint64_t *seed;
  for (int i = 0; i < ROWS * HIDDEN; i++)
    host[i] = 1;
  SL_TRY(sley_comm_alloc(n->comm, sizeof host, (void **)&ones));
  SL_TRY(sley_comm_alloc(n->comm, sizeof SEED, (void **)&seed));
  SL_TRY(sley_comm_copy(n->comm, ones, host, sizeof host, SLEY_TO_DEVICE));
  SL_TRY(sley_comm_copy(n->comm, seed, &SEED, sizeof SEED, SLEY_TO_DEVICE));
  for (int way = 0; way < WAYS; way++)
    SL_TRY(go_one_way(n, way, seed, ones, all[way]));
  sley_comm_free(n->comm, ones);
  sley_comm_free(n->comm, seed);
  for (int64_t i = 0; i < n->rows * HIDDEN; i++) {
    EXPECT(fabs(all[TOGETHER][0].rows[i] - all[APART][0].rows[i]) < 1e-13);
    EXPECT(all[TOGETHER][1].rows[i] == all[APART][1].rows[i]);
  }
  for (int j = 0; j < HIDDEN; j++)
    EXPECT(all[TOGETHER][1].sums[j] == all[APART][1].sums[j]);
  return SLEY_OK;
}

/* Two steps on three parameters, by the formula of sley_dense.h. */
static sley_status check_adam(sley_comm *comm) {
  enum { COUNT = 3 };
  static const double grad[COUNT] = {0.5, -2, 1e-3};
  double want[COUNT] = {1, -1, 0.25}, host[COUNT], m[COUNT] = {0}, v[COUNT] = {0}, *there;
  sley_adam_spec a = SLEY_ADAM_SPEC_INIT;
  SL_TRY(sley_comm_alloc(comm, 4 * sizeof grad, (void **)&there));
  SL_TRY(sley_comm_copy(comm, there, want, sizeof want, SLEY_TO_DEVICE));
  SL_TRY(sley_comm_copy(comm, there + COUNT, grad, sizeof grad, SLEY_TO_DEVICE));
  SL_TRY(sley_comm_copy(comm, there + 2 * COUNT, m, sizeof m, SLEY_TO_DEVICE));
  SL_TRY(sley_comm_copy(comm, there + 3 * COUNT, v, sizeof v, SLEY_TO_DEVICE));
  a.dtype = SLEY_F64;
  a.count = COUNT;
  a.param = there;
  a.grad = there + COUNT;
  a.m = there + 2 * COUNT;
  a.v = there + 3 * COUNT;
  a.rate = 0.02;
  a.decay = 0.1;
  for (a.step = 1; a.step <= 2; a.step++) {
    SL_TRY(sley_adam(comm, &a));
    for (int i = 0; i < COUNT; i++) {
      const double g = grad[i] + a.decay * want[i];
      m[i] = a.beta1 * m[i] + (1 - a.beta1) * g;
      v[i] = a.beta2 * v[i] + (1 - a.beta2) * g * g;
      want[i] -= a.rate / (1 - pow(a.beta1, (double)a.step)) * m[i] /
                 (sqrt(v[i] / (1 - pow(a.beta2, (double)a.step))) + a.eps);
    }
  }
  SL_TRY(sley_comm_copy(comm, host, there, sizeof host, SLEY_TO_HOST));
  sley_comm_free(comm, there);
  for (int i = 0; i < COUNT; i++)
    EXPECT(fabs(host[i] - want[i]) <= 64 * DBL_EPSILON); /* some thirty roundings of numbers up to 2 */
  return SLEY_OK;
}

static sley_status train(const network *n, double before) {
  sley_adam_spec a = SLEY_ADAM_SPEC_INIT;
  double sums[SUMS], parameter[PARAMETERS];
  a.dtype = SLEY_F64;
  a.count = PARAMETERS;
  a.param = n->parameter;
  a.grad = n->sum;
  a.m = n->m;
  a.v = n->v;
  a.rate = 0.02;
  for (a.step = 1; a.step <= STEPS; a.step++) {
    SL_TRY(sley_adam(n->comm, &a));
    SL_TRY(differentiate(n, sums));
  }
  EXPECT(sums[LOSS] < 0.99 * before);
  SL_TRY(sley_comm_copy(n->comm, parameter, n->parameter, sizeof parameter, SLEY_TO_HOST));
  int64_t most[PARAMETERS], least[PARAMETERS];
  memcpy(most, parameter, sizeof most);
  memcpy(least, parameter, sizeof least);
  SL_TRY(sley_comm_allreduce(n->comm, SLEY_MAX, most, PARAMETERS));
  SL_TRY(sley_comm_allreduce(n->comm, SLEY_MIN, least, PARAMETERS));
  EXPECT(memcmp(most, least, sizeof most) == 0);
  return SLEY_OK;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  const rank_case *c = arg;
  int64_t begin[MOST_RANKS + 1];
  double sums[SUMS];
  SL_TRY(sley_partition_equal(ROWS, c->ranks, begin));
  network n = {.comm = comm, .first = begin[comm->rank], .rows = begin[comm->rank + 1] - begin[comm->rank]};
  sley_status status = open_network(&n);
  if (status == SLEY_OK)
    status = check_mask(&n);
  if (status == SLEY_OK)
    status = check_together(&n);
  if (status == SLEY_OK)
    status = differentiate(&n, sums);
  if (status == SLEY_OK && sums[LOSS + 1] != ROWS - (ROWS + CLASSES) / (CLASSES + 1))
    status = sl_fail(SLEY_ERR_INTERNAL, "%g rows are counted", sums[LOSS + 1]);
  if (status == SLEY_OK)
    status = check_gradient(&n, sums);
  if (status == SLEY_OK)
    status = check_adam(comm);
  if (status == SLEY_OK)
    status = train(&n, sums[LOSS]);
  if (status == SLEY_OK)
    close_network(&n);
  return status;
}

static void run_network(const rank_case *c) {
  rank_case copy = *c;
  if (c->ranks <= MOST_RANKS)
    assert_case_ok(c, run_case(c, rank_main, &copy));
}

static void networks_learn_with_any_ranks(void **state) {
  (void)state;
  each_case(run_network);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(networks_learn_with_any_ranks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
