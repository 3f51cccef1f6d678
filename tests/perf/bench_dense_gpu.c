/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products of f32 by split values (gemm-split) beside cuBLASLt's, on the same operands, turn by turn:
 *
 *   bench_dense_gpu [--seed N] [--cases N] [--repeat N] [M,N,K,KIND ...]
 *
 * Shapes are drawn by the seed, half of them with rows that begin at multiples of 16 bytes, or given. KIND:
 * rows is C = A B, back C = A B^T, sums C = A^T B with k rows. error: the greatest difference to the product
 * in f64 over the same product of magnitudes, in units of 2^-24. ratio: cuBLASLt's time by gemm-split's,
 * medians; `bound` is the time that operands and result take at 3 TB/s.
 *
 * Two more kinds, which are not drawn, compare gemm-split with itself: gate is C = (C + A B^T) relu'(Y), bias
 * is sums with the sums of B's columns; the rival makes the product alone, and the rest by an operation after
 * it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/device.h"

enum { MOST_REPEAT = 64, BATCH = 10 };

typedef struct bench_case {
  int64_t m, n, k;
  const char *kind;
  bool padded; /* rows begin at multiples of 16 bytes */
} bench_case;

static sl_device *device;
static sl_queue *queue;
static uint64_t drawn;

static void need(sley_status status) {
  if (status == SLEY_OK)
    return;
  fprintf(stderr, "bench_dense_gpu: %s\n", sley_last_error());
  exit(2);
}

static uint64_t draw(uint64_t below) { /* splitmix64 */
  uint64_t z = drawn += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (z ^ z >> 31) % below;
}

static int64_t draw_log(double least, double most) {
  return (int64_t)(least * pow(most / least, (double)draw(1 << 20) / (1 << 20)));
}

static bench_case draw_case(int number) {
  bench_case c = {.kind = (const char *[]){"rows", "back", "sums"}[number % 3],
                  .padded = number / 3 % 2 == 0};
  const int64_t rows = draw_log(2e4, 3e5), wide = draw_log(32, 256), narrow = draw_log(16, 256);
  const bool sums = strcmp(c.kind, "sums") == 0;
  c.m = sums ? wide : rows;
  c.n = narrow;
  c.k = sums ? rows : wide;
  return c;
}

static void *upload(const void *host, int64_t bytes) {
  void *at;
  need(sl_device_upload(queue, host, bytes, "an operand", &at));
  return at;
}

/* An operand in f32, f64, and its magnitudes in f64. */
typedef struct operand {
  void *single, *wide, *size;
} operand;

static operand draw_operand(int64_t count) {
  float *v = malloc((size_t)count * sizeof *v);
  double *w = malloc((size_t)count * sizeof *w), *s = malloc((size_t)count * sizeof *s);
  if (!v || !w || !s)
    exit(2);
  for (int64_t i = 0; i < count; i++) {
    v[i] = (float)((double)draw(1 << 30) / (1 << 29) - 1);
    w[i] = (double)v[i];
    s[i] = fabs(w[i]);
  }
  operand o = {upload(v, count * 4), upload(w, count * 8), upload(s, count * 8)};
  free(v);
  free(w);
  free(s);
  return o;
}

static void drop_operand(operand o) {
  device->ops->free(device, o.single);
  device->ops->free(device, o.wide);
  device->ops->free(device, o.size);
}

static const sl_kernel *kernel_named(const char *name) {
  for (const sl_kernel *const *k = device->ops->kernels; *k; k++)
    if (strcmp((*k)->name, name) == 0)
      return *k;
  fprintf(stderr, "bench_dense_gpu: no kernel %s\n", name);
  exit(2);
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* A kernel and its arguments, and what runs after it. */
typedef struct contender {
  const sl_kernel *kernel;
  const sl_kernel_args *args, *then; /* then: NULL, or by the kernel that is found */
} contender;

static double run_us(contender c) {
  const double begin = now_us();
  for (int i = 0; i < BATCH; i++) {
    need(c.kernel->run(queue, c.args));
    if (c.then)
      need(sl_kernel_run(queue, c.then));
  }
  need(queue->ops->queue_wait(queue));
  return (now_us() - begin) / BATCH;
}

static int ascending(const void *a, const void *b) {
  double p = *(const double *)a, q = *(const double *)b;
  return (p > q) - (p < q);
}

static void *product(const char *kernel, const sl_kernel_args *args, sley_dtype dtype, void *a, void *b) {
  const int64_t bytes = args->gemm.m * args->gemm.n * (int64_t)sley_dtype_bytes(dtype);
  void *c, *host = malloc((size_t)bytes);
  sl_kernel_args own = *args;
  own.gemm.dtype = dtype;
  own.gemm.a = a;
  own.gemm.b = b;
  own.gemm.ldc = own.gemm.n;
  if (!host)
    exit(2);
  need(device->ops->alloc(device, bytes, "a product", &c));
  own.gemm.c = c;
  need(kernel_named(kernel)->run(queue, &own));
  need(queue->ops->copy(queue, SL_COPY_TO_HOST, host, c, bytes));
  need(queue->ops->queue_wait(queue));
  device->ops->free(device, c);
  return host;
}

static double error_of(const float *made, const double *exact, const double *size, int64_t count) {
  double most = 0;
  for (int64_t i = 0; i < count; i++) {
    const double error = fabs((double)made[i] - exact[i]) / size[i] * 0x1p24;
    most = error > most || error != error ? error : most;
  }
  return most;
}

static int64_t stride(const bench_case *c, int64_t cols) {
  return c->padded ? (cols + 3) / 4 * 4 : cols;
}

static bool is_kind(const bench_case *c, const char *one, const char *other) {
  return strcmp(c->kind, one) == 0 || strcmp(c->kind, other) == 0;
}

static int64_t columns_of_a(const bench_case *c) {
  return stride(c, is_kind(c, "sums", "bias") ? c->m : c->k);
}
static int64_t columns_of_b(const bench_case *c) {
  return stride(c, is_kind(c, "back", "gate") ? c->k : c->n);
}

static sl_kernel_args args_of(const bench_case *c, const void *a, const void *b, void *out) {
  return (sl_kernel_args){.op = SL_OP_GEMM,
                          .gemm = {.dtype = SLEY_F32,
                                   .transpose_a = is_kind(c, "sums", "bias"),
                                   .transpose_b = is_kind(c, "back", "gate"),
                                   .m = c->m,
                                   .n = c->n,
                                   .k = c->k,
                                   .alpha = 1,
                                   .a = a,
                                   .lda = columns_of_a(c),
                                   .b = b,
                                   .ldb = columns_of_b(c),
                                   .c = out,
                                   .ldc = stride(c, c->n)}};
}

static operand draw_a(const bench_case *c) {
  return draw_operand((is_kind(c, "sums", "bias") ? c->k : c->m) * columns_of_a(c));
}
static operand draw_b(const bench_case *c) {
  return draw_operand((is_kind(c, "back", "gate") ? c->n : c->k) * columns_of_b(c));
}

/* Prints the medians, and returns the rival's by our own. bytes: that must be moved. */
static double race(const bench_case *c, contender own, contender rival, int repeat, double bytes) {
  double ours[MOST_REPEAT], theirs[MOST_REPEAT];
  run_us(own);
  run_us(rival);
  for (int i = 0; i < repeat; i++) {
    ours[i] = run_us(own);
    theirs[i] = run_us(rival);
  }
  qsort(ours, (size_t)repeat, sizeof *ours, ascending);
  qsort(theirs, (size_t)repeat, sizeof *theirs, ascending);
  const double ratio = theirs[repeat / 2] / ours[repeat / 2];
  printf("%8lld %5lld %8lld  %s  %8.1f (%.1f to %.1f)  %8.1f (%.1f to %.1f)  %8.1f  %6.2f", (long long)c->m,
         (long long)c->n, (long long)c->k, c->kind, ours[repeat / 2], ours[0], ours[repeat - 1],
         theirs[repeat / 2], theirs[0], theirs[repeat - 1], bytes / 3e6, ratio);
  return ratio;
}

static double bytes_of(const bench_case *c) {
  return 4 * (double)(c->m * c->k + c->k * c->n + c->m * c->n);
}

static double not_served(const bench_case *c) {
  printf("%8lld %5lld %8lld  %s  not served\n", (long long)c->m, (long long)c->n, (long long)c->k, c->kind);
  return 0;
}

static double measure_alone(const bench_case *c, int repeat, operand a, operand b, void *out) {
  const sl_kernel_args args = args_of(c, a.single, b.single, out);
  const sl_kernel *rival = kernel_named("gemm-cublaslt"), *own = kernel_named("gemm-split");
  if (!own->ok(&args))
    return not_served(c);
  double *exact = product("gemm-cublaslt", &args, SLEY_F64, a.wide, b.wide),
         *size = product("gemm-cublaslt", &args, SLEY_F64, a.size, b.size);
  float *made = product("gemm-split", &args, SLEY_F32, a.single, b.single),
        *by_rival = product("gemm-cublaslt", &args, SLEY_F32, a.single, b.single);
  const double ratio =
      race(c, (contender){own, &args, NULL}, (contender){rival, &args, NULL}, repeat, bytes_of(c));
  printf("  %8.2f %8.2f  %s%s\n", error_of(made, exact, size, c->m * c->n),
         error_of(by_rival, exact, size, c->m * c->n), c->padded ? "padded" : "",
         own->cost(&queue->device->figures, &args) < rival->cost(&queue->device->figures, &args)
             ? ""
             : " (not chosen)");
  free(exact);
  free(size);
  free(made);
  free(by_rival);
  return ratio;
}

/* What goes beside a product, by an operation of its own. */
static sl_kernel_args rest_of(const sl_gemm_args *g) {
  if (g->column_sums)
    return (sl_kernel_args){
        .op = SL_OP_COLUMN_SUMS,
        .column_sums = {
            .dtype = SLEY_F32, .rows = g->k, .cols = g->n, .x = g->b, .ldx = g->ldb, .out = g->column_sums}};
  return (sl_kernel_args){.op = SL_OP_ACTIVATE_GRAD,
                          .activate_grad = {.dtype = SLEY_F32,
                                            .act = SLEY_RELU,
                                            .rows = g->m,
                                            .cols = g->n,
                                            .y = g->gate,
                                            .ldy = g->ldgate,
                                            .dy = g->c,
                                            .lddy = g->ldc,
                                            .dx = g->c,
                                            .lddx = g->ldc,
                                            .scale = 1}};
}

static double measure_beside(const bench_case *c, int repeat, operand a, operand b, void *out) {
  const sl_kernel *own = kernel_named("gemm-split");
  const bool gated = strcmp(c->kind, "gate") == 0;
  operand other = draw_operand(gated ? c->m * stride(c, c->n) : c->n);
  sl_kernel_args alone = args_of(c, a.single, b.single, out), all;
  alone.gemm.beta = gated;
  all = alone;
  if (gated) {
    all.gemm.act = SLEY_RELU;
    all.gemm.gate = other.single;
    all.gemm.ldgate = stride(c, c->n);
  } else {
    all.gemm.column_sums = other.single;
  }
  const sl_kernel_args rest = rest_of(&all.gemm);
  double ratio = 0;
  if (own->ok(&all)) {
    ratio = race(c, (contender){own, &all, NULL}, (contender){own, &alone, &rest}, repeat,
                 bytes_of(c) + 8.0 * gated * (double)(c->m * c->n));
    printf("  %s\n", c->padded ? "padded" : "");
  } else {
    not_served(c);
  }
  drop_operand(other);
  return ratio;
}

/* The ratio, or 0 where gemm-split does not serve. */
static double measure(bench_case c, int repeat) {
  operand a = draw_a(&c), b = draw_b(&c);
  void *out;
  need(device->ops->alloc(device, c.m * stride(&c, c.n) * 4, "a product", &out));
  const double ratio = is_kind(&c, "gate", "bias") ? measure_beside(&c, repeat, a, b, out)
                                                   : measure_alone(&c, repeat, a, b, out);
  device->ops->free(device, out);
  drop_operand(a);
  drop_operand(b);
  return ratio;
}

static bench_case parse_case(const char *text) {
  static char kind[8];
  bench_case c = {.kind = kind, .padded = true};
  long long m, n, k;
  if (sscanf(text, "%lld,%lld,%lld,%7s", &m, &n, &k, kind) != 4) {
    fprintf(stderr, "bench_dense_gpu: %s is not M,N,K,KIND\n", text);
    exit(2);
  }
  c.m = m;
  c.n = n;
  c.k = k;
  return c;
}

int main(int argc, char **argv) {
  const sl_device_ops *ops;
  int seed = 1, cases = 12, repeat = 9, i = 1;
  for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2)
    *(strcmp(argv[i], "--seed") == 0    ? &seed
      : strcmp(argv[i], "--cases") == 0 ? &cases
                                        : &repeat) = atoi(argv[i + 1]);
  repeat = repeat < 1 ? 1 : repeat < MOST_REPEAT ? repeat : MOST_REPEAT;
  need(sl_device_backend("cuda", &ops));
  need(ops->open(0, 1, &device));
  need(ops->queue_create(device, NULL, &queue));
  drawn = (uint64_t)seed;
  const bool given = i < argc;
  printf("seed %d, %d rounds of %d products\n", seed, repeat, BATCH);
  printf("%8s %5s %8s  kind  split us                cuBLASLt us            bound   ratio  errors\n", "m",
         "n", "k");
  double logs = 0, worst = INFINITY;
  int counted = 0;
  for (int number = 0; given ? i < argc : number < cases; number++, i++) {
    const double ratio = measure(given ? parse_case(argv[i]) : draw_case(number), repeat);
    if (ratio == 0)
      continue;
    logs += log(ratio);
    worst = ratio < worst ? ratio : worst;
    counted++;
  }
  if (counted)
    printf("ratio: geomean %.2f, worst %.2f of %d\n", exp(logs / counted), worst, counted);
  ops->queue_destroy(queue);
  ops->close(device);
  return 0;
}
