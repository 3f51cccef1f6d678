/* SPDX-License-Identifier: Apache-2.0 */
/* Dense parts of graph networks: products, activations, loss and Adam. */
#ifndef SLEY_DENSE_H
#define SLEY_DENSE_H

#include "sley_comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rules that all functions of this header share. Each works on one rank alone, with the threads or the GPU of
 * its comm; none is collective. Arrays lie in memory of the rank's device (sley_comm_alloc, or on cuda the
 * caller's own cudaMalloc), are aligned to their type and are owned by the caller; matrices are row-major,
 * with leading dimensions in elements. An array without values may be NULL. The struct is read during the
 * call.
 *
 * Work is enqueued as by sley_spmm: on the cpu it is done on return; on cuda it is ordered with the rank's
 * other work, the call neither waits nor copies between host and device, and it can be captured into a graph,
 * after a first direct run of its shapes. On the cpu sley_gemm, sley_column_sums and sley_nll take memory for
 * sums while they run; on cuda the first of these calls takes 32 MiB, until the comm ends.
 *
 * The same arguments produce the same bits on every run, with any number of threads. On another processor or
 * device the bits of sley_gemm without in_order may differ, and the bits of sley_nll because of its
 * logarithms; all others are the same. With several ranks, gradients of weights and biases and the sums of
 * sley_nll cover the rank's own rows only: a sley_collective (SLEY_ALLREDUCE) adds them up.
 *
 * Errors of all: SLEY_ERR_ARG (a NULL comm or array, a negative size, a leading dimension that is too small,
 * an unknown dtype; the message names it), SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */

/* The activation that is applied to the result of a product. In the order of the constants, v becomes: v; v <
 * 0 ? 0 : v; v < 0 ? slope v : v; v > 0 ? v : slope (exp(v) - 1). NaN stays NaN, but with SLEY_RELU on cuda,
 * which cuBLASLt applies, it may become 0. */
typedef enum sley_activation {
  SLEY_NO_ACTIVATION = 0,
  SLEY_RELU = 1,
  SLEY_LEAKY_RELU = 2, /* slope: factor for negative values, 0.2 in GAT */
  SLEY_ELU = 3         /* slope: the factor often called alpha */
} sley_activation;

typedef struct sley_gemm_spec {
  size_t struct_size;
  sley_dtype dtype;              /* type of A, B, C and bias; default SLEY_F32 */
  bool transpose_a, transpose_b; /* op(A) is A^T, op(B) is B^T */
  int64_t m, n, k;               /* C is m x n, op(A) m x k, op(B) k x n */
  double alpha, beta;            /* default 1 and 0 */
  const void *a, *b;             /* A: m x k, with transpose_a k x m; B: k x n, with transpose_b n x k */
  int64_t lda, ldb;              /* elements between rows, at least the columns of A and B as stored */
  void *c;
  int64_t ldc;      /* elements between rows, at least n */
  const void *bias; /* NULL, or n values, one for each column of C */
  sley_activation act;
  double slope; /* slope of the activation */
  /* Each sum adds its terms in ascending order, so a row of C has the same bits whatever the other rows are,
   * and for every number of ranks; slower. */
  bool in_order;
  /* For f32 on GPUs: values may be rounded to tf32, 11 significant bits, as in a plan with precision "tf32";
   * faster. */
  bool tf32;
} sley_gemm_spec;
#define SLEY_GEMM_SPEC_INIT                                                                                  \
  {                                                                                                          \
    sizeof(sley_gemm_spec), SLEY_F32, false, false, 0, 0, 0, 1, 0, NULL, NULL, 0, 0, NULL, 0, NULL,          \
        SLEY_NO_ACTIVATION, 0, false, false                                                                  \
  }

/* C = act(alpha op(A) op(B) + beta C + bias): a linear layer X W + b, and its gradients dY W^T and X^T dY.
 * Products are summed in f64 for f64 and else in f32, on the cpu in blocks of 8192 terms that are added in
 * ascending order; the final value is rounded to dtype once (on cuda possibly once more before the
 * activation). With beta = 0 C need not be initialised. With alpha = 0 A and B are not read. C must not
 * overlap another array.
 *
 * On the cpu the library opens OpenBLAS (libopenblas.so.0) at the first call, if Sley was built for it, and
 * sets OpenBLAS's number of threads to 1 for the whole process: each thread of the comm calls it by itself.
 * Only builds with threads of their own are used (Debian's libopenblas0-pthread): other builds are not safe
 * to call from several threads, or start more threads. On cuda the library opens cuBLASLt (libcublasLt.so),
 * whose bits may depend on the arrays' alignment. If these libraries are missing, and with in_order, kernels
 * of Sley's own multiply. Not collective; see above. */
sley_status sley_gemm(sley_comm *comm, const sley_gemm_spec *spec);

/* Sums columns: out[j] = sum of x[i][j] over i < rows, for j < cols, summed in double and rounded to dtype
 * once: the gradient of a bias. x: rows x cols, ldx >= cols; out: cols values, which do not overlap x. Not
 * collective; see above. */
sley_status sley_column_sums(sley_comm *comm, sley_dtype dtype, int64_t rows, int64_t cols, const void *x,
                             int64_t ldx, void *out);

typedef struct sley_activate_grad_spec {
  size_t struct_size;
  sley_dtype dtype; /* default SLEY_F32 */
  sley_activation act;
  double slope;       /* as given to sley_gemm; at least 0 for SLEY_LEAKY_RELU and SLEY_ELU */
  int64_t rows, cols; /* size of Y, dY and dX */
  const void *y, *dy; /* output of the activation; its gradient */
  int64_t ldy, ld_dy; /* elements between rows */
  void *dx;           /* may be dy or y, with the same leading dimension; no other overlap is allowed */
  int64_t ld_dx;
  double scale; /* extra factor; default 1 */
  void *sums;   /* NULL, or cols values, which overlap no other array: the sums of the columns of dX */
} sley_activate_grad_spec;
#define SLEY_ACTIVATE_GRAD_SPEC_INIT                                                                         \
  {                                                                                                          \
    sizeof(sley_activate_grad_spec), SLEY_F32, SLEY_NO_ACTIVATION, 0, 0, 0, NULL, NULL, 0, 0, NULL, 0, 1,    \
        NULL                                                                                                 \
  }

/* dX = scale dY act'(Y): the gradient through an activation, from its output. In the order of the constants,
 * the factor act'(Y) is: 1; y > 0 ? 1 : 0; y > 0 ? 1 : slope; y > 0 ? 1 : y + slope. The products are made in
 * double, from right to left, and rounded once. sums is the gradient of a bias before act, with the bits of
 * sley_column_sums. With SLEY_RELU Y may be the output after sley_dropout, and scale 1 / (1 - p): Y is above
 * 0 where a value above 0 was kept. Errors also: SLEY_ERR_ARG (a slope below 0). Not collective; see
 * above. */
sley_status sley_activate_grad(sley_comm *comm, const sley_activate_grad_spec *spec);

typedef struct sley_dropout_spec {
  size_t struct_size;
  sley_dtype dtype; /* default SLEY_F32 */
  double p;         /* probability that a value is set to zero, 0 <= p < 1 */
  /* The mask depends on these, and on row and column. seed: the same for a whole training; stream: another
   * number for each layer and step. */
  uint64_t seed;
  uint32_t stream;
  int64_t rows, cols;
  int64_t first_row;  /* row i has the number first_row + i among all ranks' rows */
  const int64_t *row; /* NULL, or the numbers of the rows, in device memory */
  const void *in;
  int64_t ld_in; /* elements between rows */
  void *out;     /* may be in, with the same leading dimension */
  int64_t ld_out;
  /* NULL, or a seed in device memory that replaces the field seed. It is read when the work runs: a call that
   * was captured into a graph draws another mask once the value changes. */
  const uint64_t *device_seed;
  const void *bias;    /* NULL, or cols values, one for each column, which are added to in */
  sley_activation act; /* activation of in + bias */
  double slope;        /* slope of the activation */
} sley_dropout_spec;
#define SLEY_DROPOUT_SPEC_INIT                                                                               \
  {                                                                                                          \
    sizeof(sley_dropout_spec), SLEY_F32, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 0, NULL, NULL,               \
        SLEY_NO_ACTIVATION, 0                                                                                \
  }

/* out = act(in + bias) / (1 - p) where the mask keeps a value, else 0, computed in double and rounded once.
 * The mask depends only on seed, stream, the row's number and the column, so it is the same for every number
 * of ranks, threads and devices. The gradient draws the same mask again: without bias and activation, call
 * this function on the gradient of out; with SLEY_RELU use sley_activate_grad, which needs no mask. With p =
 * 0 nothing is drawn. Source: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, Parallel random numbers: as
 * easy as 1, 2, 3, SC 2011, by their library Random123. Errors also: SLEY_ERR_ARG (p, or more than 2^34
 * columns), SLEY_ERR_UNSUPPORTED (p above 0 in a build without Random123). Not collective; see above. */
sley_status sley_dropout(sley_comm *comm, const sley_dropout_spec *spec);

typedef struct sley_nll_spec {
  size_t struct_size;
  sley_dtype dtype; /* type of logits, grad and log_probs; default SLEY_F32 */
  int64_t rows, classes;
  const void *logits;   /* rows x classes */
  int64_t ld;           /* elements between rows, like the other leading dimensions */
  const int32_t *label; /* rows entries, 0 .. classes - 1; -1: the row is not counted */
  double grad_scale;    /* default 1; 1 / (counted rows of all ranks) for the mean loss */
  double *row_loss; /* NULL, or rows values: -log softmax(logits[i])[label[i]], 0 if the row is not counted */
  double *sums;     /* NULL, or 2 values: the sum of the rows' losses, and the number of counted rows */
  void *grad;       /* NULL, or rows x classes: grad_scale (softmax - label), 0 in rows that are not
                     * counted */
  int64_t ld_grad;
  void *log_probs; /* NULL, or rows x classes: log softmax(logits) */
  int64_t ld_log_probs;
  /* NULL, or a value in device memory by which grad_scale is multiplied: for example 1 / (counted rows)
   * computed from the sums of an earlier call, which the host then does not wait for. It overlaps no
   * output. */
  const double *device_scale;
} sley_nll_spec;
#define SLEY_NLL_SPEC_INIT                                                                                   \
  { sizeof(sley_nll_spec), SLEY_F32, 0, 0, NULL, 0, NULL, 1, NULL, NULL, NULL, 0, NULL, 0, NULL }

/* Log-softmax and the negative log-likelihood of labels, computed in double; each row's greatest logit is
 * subtracted first, so nothing overflows. Outputs that are NULL are left out. A label that is neither -1 nor
 * a class makes the loss and gradient of its row, and so the sum, NaN. grad or log_probs may be logits, with
 * the same leading dimension, if the other is NULL; no other outputs may overlap anything. sums lies in
 * device memory; to add it up over ranks, use a collective of 2 values of SLEY_TYPE_F64. Not collective; see
 * above. */
sley_status sley_nll(sley_comm *comm, const sley_nll_spec *spec);

typedef struct sley_adam_spec {
  size_t struct_size;
  sley_dtype dtype; /* type of param and grad; default SLEY_F32 */
  int64_t count;    /* number of values of each array */
  void *param;
  const void *grad;
  void *m, *v;              /* the moments, f64 for f64 and else f32; zeros before the first step */
  void *master;             /* NULL, or the parameters in the type of the moments, from which param is
                             * rounded */
  int64_t step;             /* number of this step, from 1 */
  double rate;              /* learning rate; default 0.001 */
  double beta1, beta2, eps; /* default 0.9, 0.999, 1e-8 */
  double decay;             /* weight decay; default 0 */
  bool decoupled;           /* AdamW: decay shrinks the parameters; false: decay is added to the gradient
                             * (L2) */
  double grad_scale;        /* factor by which the gradient is multiplied first; default 1 */
} sley_adam_spec;
#define SLEY_ADAM_SPEC_INIT                                                                                  \
  {                                                                                                          \
    sizeof(sley_adam_spec), SLEY_F32, 0, NULL, NULL, NULL, NULL, NULL, 1, 0.001, 0.9, 0.999, 1e-8, 0, false, \
        1                                                                                                    \
  }

/* One step of Adam, each value in double: g = grad_scale grad (+ decay x unless decoupled); m = beta1 m + (1
 * - beta1) g; v = beta2 v + (1 - beta2) g^2; x = x (1 - rate decay, if decoupled) - rate / (1 - beta1^step) m
 * / (sqrt(v / (1 - beta2^step)) + eps), where x is master, or param if master is NULL. param, m, v and master
 * are written, each rounded once; no two arrays overlap. The bits are the same on all devices. Sources:
 * Kingma and Ba, ICLR 2015; decoupled: Loshchilov and Hutter, ICLR 2019. Errors also: SLEY_ERR_ARG (step
 * below 1, a beta outside [0, 1), eps below 0). Not collective; see above. */
sley_status sley_adam(sley_comm *comm, const sley_adam_spec *spec);

#ifdef __cplusplus
}
#endif
#endif
