/* SPDX-License-Identifier: Apache-2.0 */
#include "compressed_cases.h"

#include <sys/mman.h>
#include <unistd.h>

#include "dense_oracle.h"

fenced fenced_of(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), padded = (bytes + 7) / 8 * 8;
  size_t whole = (padded + page - 1) / page * page;
  fenced f = {.mapped = whole + page, .bytes = bytes};
  f.pages = mmap(NULL, f.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(f.pages != MAP_FAILED);
  assert_int_equal(mprotect(f.pages + whole, page, PROT_NONE), 0);
  f.data = f.pages + whole - padded;
  return f;
}

void fenced_free(fenced *f) {
  munmap(f->pages, f->mapped);
}

char *open_margins(size_t bytes) {
  char *base = malloc(bytes + 2 * MARGIN);
  assert_non_null(base);
  memset(base, 0x5a, bytes + 2 * MARGIN);
  return base;
}

void check_margins(const char *base, size_t bytes) {
  for (size_t i = 0; i < MARGIN; i++)
    if (base[i] != 0x5a || base[MARGIN + bytes + i] != 0x5a)
      fail_msg("byte %zu beyond an array of %zu bytes was written", i, bytes);
}

void draw_values(void *array, sley_type type, int64_t count, int64_t zeros) {
  size_t each = sley_type_bytes(type);
  bool blocks = draw(3) == 0, zero = false;
  for (int64_t i = 0; i < count; i++) {
    oracle_draw(array, type, i, (uint64_t)draw(INT64_MAX));
    if (!blocks || i % 37 == 0)
      zero = draw(1000) < zeros;
    if (zero)
      memset((char *)array + (size_t)i * each, 0, each);
  }
}

/* A part in host memory, and its images on the device. */
typedef struct part_images {
  image from, to, copy;
} part_images;

static part_images open_part(sl_queue *queue, const sl_compress_part *part, size_t each) {
  size_t bytes = (size_t)part->count * each;
  char *copy = draw(2) ? calloc(bytes + 1, 1) : NULL;
  return (part_images){.from = image_of(queue, part->src, bytes, draw_skew(each)),
                       .to = image_of(queue, part->dst, (size_t)part->room, draw_skew(8)),
                       .copy = image_of(queue, copy, bytes, draw_skew(each))};
}

static void close_part(part_images *i, const sl_compress_part *part, size_t each) {
  image_return(&i->to);
  image_return(&i->copy);
  image_drop(&i->from);
  assert_true(!i->copy.host || memcmp(i->copy.host, part->src, (size_t)part->count * each) == 0);
  free(i->copy.host);
}

void run_compress_all(sl_queue *queue, sley_type type, int parts, const sl_compress_part *part) {
  size_t each = sley_type_bytes(type), bytes = 0;
  sl_compress_part there[MOST_TOGETHER];
  part_images images[MOST_TOGETHER];
  assert_in_range(parts, 0, MOST_TOGETHER);
  for (int p = 0; p < parts; p++) {
    images[p] = open_part(queue, &part[p], each);
    there[p] = part[p];
    there[p].src = images[p].from.data;
    there[p].dst = images[p].to.data;
    there[p].copy = images[p].copy.data;
    bytes += (size_t)sl_compress_work(part[p].count);
  }
  void *work = malloc(bytes + 1);
  image scratch = image_of(queue, work, bytes, 0);
  sl_kernel_args args = {.op = SL_OP_COMPRESS, .compress = {parts, there, type, scratch.data}};
  assert_sley_ok(sl_kernel_run(queue, &args));
  memset(there, 0x5a, sizeof there); /* run has returned */
  for (int p = 0; p < parts; p++)
    close_part(&images[p], &part[p], each);
  assert_sley_ok(queue->ops->queue_wait(queue));
  image_drop(&scratch);
  free(work);
}

void run_compress(sl_queue *queue, const void *src, int64_t count, sley_type type,
                  sl_compressed_format format, char *dst, int64_t room) {
  const sl_compress_part part = {src, count, format, dst, room, NULL};
  run_compress_all(queue, type, 1, &part);
}

uint32_t run_decompress(sl_queue *queue, const fenced *src, void *dst, int64_t count, sley_type type) {
  uint32_t wrong = 0;
  image from = image_of(queue, src->data, src->bytes, draw_skew(8)),
        to = image_of(queue, dst, (size_t)count * sley_type_bytes(type), draw_skew(sley_type_bytes(type))),
        verdict = image_of(queue, &wrong, sizeof wrong, 0);
  sl_compressed_part part = {from.data, (int64_t)src->bytes, to.data, count};
  sl_kernel_args args = {.op = SL_OP_DECOMPRESS, .decompress = {1, &part, type, verdict.data}};
  assert_sley_ok(sl_kernel_run(queue, &args));
  image_return(&to);
  image_return(&verdict);
  image_drop(&from);
  return wrong;
}

fenced draw_compressed(sley_type type, int64_t count, sl_compressed_format format, int64_t zeros) {
  int64_t room = sl_compressed_bytes(format, type, count, count);
  char *src = malloc((size_t)count * 8 + 1), *made = malloc((size_t)room);
  sl_compressed_header header;
  draw_values(src, type, count, zeros);
  run_compress(queues[0], src, count, type, format, made, room);
  memcpy(&header, made, sizeof header);
  fenced out = fenced_of((size_t)(SL_COMPRESSED_HEADER + header.payload_bytes));
  memcpy(out.data, made, out.bytes);
  free(made);
  free(src);
  return out;
}

size_t draw_skew(size_t each) {
  return draw(2) ? (size_t)draw(16) * each : 0;
}

sley_type draw_type(void) {
  enum { TYPES = SLEY_TYPE_U8 + 1, EVERYWHERE = SLEY_TYPE_I64 + 1 };
  sley_type type = (sley_type)draw(TYPES);
  sl_kernel_args args = {.op = SL_OP_COMPRESS, .compress = {.type = type}};
  for (int q = 0; q < QUEUES; q++)
    if (!sl_kernel_serves(queues[q]->device, &args))
      return (sley_type)draw(EVERYWHERE);
  return type;
}

int64_t draw_length(void) {
  return PICK(0, 1, 2, 63, 64, 65, 127, 4095, 4096, 4097, 8192, 12345, 70001);
}
