/* SPDX-License-Identifier: Apache-2.0 */
/* The operations on compressed arrays on a GPU, in Pici, beside a copy of as many bytes in the same run:
 *
 *   bench_collective_gpu [--seed N] [--cases N] [--repeat N] [--json] [TYPE,MIB,ZEROS ...]
 *
 * Cases are drawn by the seed, or given: a type (f32, f64, f16, bf16, i64), the size of the dense array in
 * MiB, and how many of 100 values are zero, each drawn by itself. For each case a line an operation: count
 * the values that are not zero; compress; decompress; sum PARTS arrays, all but the last compressed; compress
 * PIECES pieces of the array, as a reduce-scatter does, all by one call ("pieces") or by a call each
 * ("alone"). ms: the median of --repeat rounds of BATCH times the operation. bytes: those that must be read
 * and written, dense and compressed, without the headers and words that pieces add. share: that rate by the
 * rate of a copy of the dense array within the device's memory, measured in turn. Results are checked: what
 * is decompressed is the array, and the sum has the bits of the dense one. Exit code 1 if not. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/device.h"

enum { MOST_REPEAT = 64, BATCH = 10, PARTS = 4, PIECES = PARTS - 1 };

typedef struct bench_case {
  char name[8];
  sley_type type;
  int64_t mib;
  double zeros; /* of 100 */
} bench_case;

/* An array and what is made of it, in the device's memory. */
typedef struct bench_arrays {
  int64_t count, bytes, packed; /* values; of the dense array, and of the compressed one */
  void *host, *dense, *out, *work, *part[PARTS - 1];
  int64_t *nonzeros;
  uint32_t *wrong;
} bench_arrays;

static sl_device *device;
static sl_queue *queue;
static uint64_t drawn;
static bool as_json, failed;

static void need(sley_status status) {
  if (status == SLEY_OK)
    return;
  fprintf(stderr, "bench_collective_gpu: %s\n", sley_last_error());
  exit(2);
}

static void *need_memory(void *block) {
  if (block)
    return block;
  fprintf(stderr, "bench_collective_gpu: out of memory\n");
  exit(2);
}

static uint64_t draw(void) { /* splitmix64 */
  uint64_t z = drawn += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static sley_type type_named(const char *name) {
  static const char *const names[] = {"f32", "f64", "f16", "bf16", "i64"};
  static const sley_type types[] = {SLEY_TYPE_F32, SLEY_TYPE_F64, SLEY_TYPE_F16, SLEY_TYPE_BF16,
                                    SLEY_TYPE_I64};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(names[i], name) == 0)
      return types[i];
  fprintf(stderr, "bench_collective_gpu: %s is no type: f32, f64, f16, bf16 or i64\n", name);
  exit(2);
}

static bench_case draw_case(void) {
  static const char *const names[] = {"f32", "f32", "f32", "f64", "f16", "bf16", "i64"};
  static const double zeros[] = {99.9, 99, 95, 90, 75, 50, 20};
  bench_case c = {.mib = (int64_t)(32 * pow(2, (double)(draw() % 65) / 16)), .zeros = zeros[draw() % 7]};
  snprintf(c.name, sizeof c.name, "%s", names[draw() % 7]);
  c.type = type_named(c.name);
  return c;
}

static bench_case parse_case(const char *text) {
  bench_case c;
  long long mib;
  if (sscanf(text, "%7[^,],%lld,%lf", c.name, &mib, &c.zeros) != 3 || mib < 1 || mib > 1 << 20) {
    fprintf(stderr, "bench_collective_gpu: %s is not TYPE,MIB,ZEROS\n", text);
    exit(2);
  }
  c.mib = mib;
  c.type = type_named(c.name);
  return c;
}

/* ---- arrays */

static void *take(int64_t bytes) {
  void *block;
  need(device->ops->alloc(device, bytes, "an array", &block));
  return block;
}

/* Values are small whole numbers, which any type of floating point holds, as bits of the type. */
static void fill(char *host, sley_type type, int64_t count, double zeros) {
  static const uint64_t one[] = {[SLEY_TYPE_F32] = 0x3f800000u,
                                 [SLEY_TYPE_F64] = 0x3ff0000000000000u,
                                 [SLEY_TYPE_F16] = 0x3c00,
                                 [SLEY_TYPE_BF16] = 0x3f80,
                                 [SLEY_TYPE_I64] = 1};
  const size_t each = sley_type_bytes(type);
  const uint64_t limit = (uint64_t)(zeros / 100 * 0x1p32);
  for (int64_t i = 0; i < count; i++) {
    const uint64_t bits = draw(), value = (bits & 0xffffffffu) < limit ? 0 : one[type] | bits >> 58;
    memcpy(host + (size_t)i * each, &value, each); /* of this byte order, the lowest bytes */
  }
}

static void run(const sl_kernel_args *args) {
  need(sl_kernel_run(queue, args));
}

/* Bytes of a compressed array at most. */
static int64_t room_of(const bench_case *c, int64_t count) {
  return sl_compressed_bytes(SL_COMPRESSED_DENSE, c->type, count, 0);
}

static sl_kernel_args compress_args(const bench_case *c, const bench_arrays *a, int parts,
                                    const sl_compress_part *part) {
  return (sl_kernel_args){.op = SL_OP_COMPRESS,
                          .compress = {.parts = parts, .part = part, .type = c->type, .work = a->work}};
}

static sl_compress_part whole_of(const bench_case *c, const bench_arrays *a) {
  return (sl_compress_part){a->dense, a->count, SL_COMPRESSED_PICI32, a->part[0], room_of(c, a->count), NULL};
}

static bench_arrays make_arrays(const bench_case *c) {
  bench_arrays a = {.count = (c->mib << 20) / (int64_t)sley_type_bytes(c->type), .bytes = c->mib << 20};
  sl_compressed_header header;
  a.host = need_memory(malloc((size_t)a.bytes));
  fill(a.host, c->type, a.count, c->zeros);
  need(sl_device_upload(queue, a.host, a.bytes, "an array", &a.dense));
  a.out = take(a.bytes);
  a.work = take(sl_compress_work(a.count) + PIECES * sl_compress_work(1)); /* of the pieces, too */
  a.nonzeros = take(sizeof *a.nonzeros);
  const uint32_t none = 0;
  need(sl_device_upload(queue, &none, sizeof none, "a verdict", (void **)&a.wrong));
  for (int p = 0; p < PARTS - 1; p++)
    a.part[p] = take(room_of(c, a.count));
  const sl_compress_part whole = whole_of(c, &a);
  const sl_kernel_args compress = compress_args(c, &a, 1, &whole);
  run(&compress);
  need(queue->ops->copy(queue, SL_COPY_TO_HOST, &header, a.part[0], sizeof header));
  need(queue->ops->queue_wait(queue));
  a.packed = SL_COMPRESSED_HEADER + header.payload_bytes;
  for (int p = 1; p < PARTS - 1; p++)
    need(queue->ops->copy(queue, SL_COPY_WITHIN, a.part[p], a.part[0], a.packed));
  return a;
}

static void drop_arrays(const bench_arrays *a) {
  void *const blocks[] = {a->dense, a->out, a->work, a->nonzeros, a->wrong};
  for (int p = 0; p < PARTS - 1; p++)
    device->ops->free(device, a->part[p]);
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    device->ops->free(device, blocks[i]);
  free(a->host);
}

/* ---- measuring */

static int ascending(const void *a, const void *b) {
  const double p = *(const double *)a, q = *(const double *)b;
  return (p > q) - (p < q);
}

/* Seconds of so many calls; none: of a copy of the dense array. */
static double time_of(int calls, const sl_kernel_args *args, const bench_arrays *a) {
  struct timespec begin, end;
  need(queue->ops->queue_wait(queue));
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < BATCH; i++) {
    for (int call = 0; call < calls; call++)
      run(&args[call]);
    if (calls == 0)
      need(queue->ops->copy(queue, SL_COPY_WITHIN, a->out, a->dense, a->bytes));
  }
  need(queue->ops->queue_wait(queue));
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec)) / BATCH;
}

/* Medians of rounds in which both are measured in turn. */
static void measure(int calls, const sl_kernel_args *args, const bench_arrays *a, int repeat, double *own,
                    double *copy) {
  double owns[MOST_REPEAT], copies[MOST_REPEAT];
  (void)time_of(calls, args, a);
  (void)time_of(0, NULL, a);
  for (int i = 0; i < repeat; i++) {
    owns[i] = time_of(calls, args, a);
    copies[i] = time_of(0, NULL, a);
  }
  qsort(owns, (size_t)repeat, sizeof *owns, ascending);
  qsort(copies, (size_t)repeat, sizeof *copies, ascending);
  *own = owns[repeat / 2];
  *copy = copies[repeat / 2];
}

static void print_line(const bench_case *c, const char *operation, double bytes, double own,
                       double copy_rate) {
  const double rate = bytes / own;
  if (!as_json) {
    printf("%-5s %5lld %6.1f  %-10s %9.4f %9.1f %9.1f %6.2f\n", c->name, (long long)c->mib, c->zeros,
           operation, 1e3 * own, rate / 1e9, copy_rate / 1e9, rate / copy_rate);
    return;
  }
  json_t *line =
      json_pack("{s:s, s:I, s:f, s:s, s:f, s:f, s:f, s:f, s:f}", "type", c->name, "mib", (json_int_t)c->mib,
                "zeros", c->zeros, "operation", operation, "ms", 1e3 * own, "bytes", bytes, "gbytes_per_s",
                rate / 1e9, "copy_gbytes_per_s", copy_rate / 1e9, "share", rate / copy_rate);
  need_memory(line);
  json_dumpf(line, stdout, JSON_REAL_PRECISION(5) | JSON_PRESERVE_ORDER);
  printf("\n");
  json_decref(line);
}

/* Whether out has these bytes, and nothing was found wrong. */
static void check(const bench_arrays *a, const void *expected, const char *operation) {
  void *found = need_memory(malloc((size_t)a->bytes));
  uint32_t wrong;
  need(queue->ops->copy(queue, SL_COPY_TO_HOST, found, a->out, a->bytes));
  need(queue->ops->copy(queue, SL_COPY_TO_HOST, &wrong, a->wrong, sizeof wrong));
  need(queue->ops->queue_wait(queue));
  if (wrong || memcmp(found, expected, (size_t)a->bytes) != 0) {
    fprintf(stderr, "bench_collective_gpu: the result of %s is wrong\n", operation);
    failed = true;
  }
  free(found);
}

static void bench_calls(const bench_case *c, const bench_arrays *a, int calls, const sl_kernel_args *args,
                        const char *name, double bytes, int repeat) {
  double own, copy;
  measure(calls, args, a, repeat, &own, &copy);
  print_line(c, name, bytes, own, 2 * (double)a->bytes / copy);
}

static void bench_one(const bench_case *c, const bench_arrays *a, const sl_kernel_args *args,
                      const char *name, double bytes, int repeat) {
  bench_calls(c, a, 1, args, name, bytes, repeat);
}

/* The last of a case: writes to the parts. */
static void bench_pieces(const bench_case *c, const bench_arrays *a, double bytes, int repeat) {
  const int64_t each = (int64_t)sley_type_bytes(c->type);
  sl_compress_part piece[PIECES];
  sl_kernel_args alone[PIECES];
  for (int p = 0; p < PIECES; p++) {
    const int64_t begin = a->count * p / PIECES, count = a->count * (p + 1) / PIECES - begin;
    piece[p] = (sl_compress_part){
        (char *)a->dense + begin * each, count, SL_COMPRESSED_PICI32, a->part[p], room_of(c, count), NULL};
    alone[p] = compress_args(c, a, 1, &piece[p]);
  }
  const sl_kernel_args all = compress_args(c, a, PIECES, piece);
  bench_one(c, a, &all, "pieces", bytes, repeat);
  bench_calls(c, a, PIECES, alone, "alone", bytes, repeat);
}

static void bench_sum(const bench_case *c, const bench_arrays *a, int repeat) {
  const void *part[PARTS];
  for (int p = 0; p < PARTS; p++)
    part[p] = p < PARTS - 1 ? a->part[p] : NULL;
  sl_kernel_args sum = {.op = SL_OP_SPARSE_SUM,
                        .sparse_sum = {.count = a->count,
                                       .parts = PARTS,
                                       .src = part,
                                       .room = a->packed,
                                       .own = PARTS - 1,
                                       .own_src = a->dense,
                                       .dst = a->out,
                                       .type = c->type,
                                       .wrong = a->wrong}},
                 reduce = {.op = SL_OP_REDUCE, /* all parts are the same array */
                           .reduce = {.count = a->count,
                                      .parts = PARTS,
                                      .src = a->dense,
                                      .own = -1,
                                      .dst = a->out,
                                      .op = SLEY_SUM,
                                      .type = c->type}};
  void *expected = need_memory(malloc((size_t)a->bytes));
  bench_one(c, a, &sum, "sum", (PARTS - 1) * (double)a->packed + 2 * (double)a->bytes, repeat);
  run(&reduce);
  need(queue->ops->copy(queue, SL_COPY_TO_HOST, expected, a->out, a->bytes));
  run(&sum);
  check(a, expected, "sum");
  free(expected);
}

static void bench(const bench_case *c, int repeat) {
  bench_arrays a = make_arrays(c);
  const double dense = (double)a.bytes, packed = (double)a.packed;
  sl_compressed_part part = {a.part[0], a.packed, a.out, a.count};
  const sl_compress_part whole = whole_of(c, &a);
  const sl_kernel_args compress = compress_args(c, &a, 1, &whole),
                       nonzeros = {.op = SL_OP_NONZEROS, .nonzeros = {a.dense, a.count, c->type, a.nonzeros}},
                       decompress = {.op = SL_OP_DECOMPRESS, .decompress = {1, &part, c->type, a.wrong}};
  bench_one(c, &a, &nonzeros, "count", dense, repeat);
  bench_one(c, &a, &compress, "compress", dense + packed, repeat);
  bench_one(c, &a, &decompress, "decompress", dense + packed, repeat);
  run(&decompress);
  check(&a, a.host, "decompress");
  if (c->type != SLEY_TYPE_I64)
    bench_sum(c, &a, repeat);
  bench_pieces(c, &a, dense + packed, repeat);
  drop_arrays(&a);
}

int main(int argc, char **argv) {
  const sl_device_ops *ops;
  int seed = 1, cases = 8, repeat = 9, i = 1;
  for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
    if (strcmp(argv[i], "--json") == 0) {
      as_json = true;
      continue;
    }
    int *number = strcmp(argv[i], "--seed") == 0     ? &seed
                  : strcmp(argv[i], "--cases") == 0  ? &cases
                  : strcmp(argv[i], "--repeat") == 0 ? &repeat
                                                     : NULL;
    if (!number || i + 1 == argc) {
      fprintf(stderr, "bench_collective_gpu: %s: --seed N, --cases N, --repeat N or --json\n", argv[i]);
      return 2;
    }
    *number = atoi(argv[++i]);
  }
  repeat = repeat < 1 ? 1 : repeat < MOST_REPEAT ? repeat : MOST_REPEAT;
  need(sl_device_backend("cuda", &ops));
  need(ops->open(0, 1, &device));
  need(ops->queue_create(device, NULL, &queue));
  drawn = (uint64_t)seed;
  fprintf(as_json ? stderr : stdout, "%s\nseed %d, %d rounds of %d calls, Pici, sums of %d\n",
          ops->describe(device), seed, repeat, BATCH, PARTS);
  if (!as_json)
    printf("%-5s %5s %6s  %-10s %9s %9s %9s %6s\n", "type", "MiB", "zeros", "operation", "ms", "GB/s", "copy",
           "share");
  const bool given = i < argc;
  for (int number = 0; given ? i < argc : number < cases; number++, i++) {
    const bench_case c = given ? parse_case(argv[i]) : draw_case();
    bench(&c, repeat);
  }
  ops->queue_destroy(queue);
  ops->close(device);
  return failed;
}
