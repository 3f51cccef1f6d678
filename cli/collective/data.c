/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/data.h"

#include <math.h>
#include <string.h>

#include "random.h"

enum { PIECE = 1 << 20 }; /* values per piece */

static int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Counts values with any bit set; so -0 counts. */
static int64_t count_nonzeros(const void *values, int64_t count, size_t bytes) {
  int64_t nonzeros = 0;
  switch (bytes) {
  case 1:
    for (int64_t i = 0; i < count; i++)
      nonzeros += ((const uint8_t *)values)[i] != 0;
    break;
  case 2:
    for (int64_t i = 0; i < count; i++)
      nonzeros += ((const uint16_t *)values)[i] != 0;
    break;
  case 4:
    for (int64_t i = 0; i < count; i++)
      nonzeros += ((const uint32_t *)values)[i] != 0;
    break;
  default:
    for (int64_t i = 0; i < count; i++)
      nonzeros += ((const uint64_t *)values)[i] != 0;
    break;
  }
  return nonzeros;
}

/* ---- drawing */

static uint64_t seed_of(const cli_collective_draw *draw, int rank, uint64_t purpose) {
  return cli_random_at(cli_random_at(draw->seed, (uint64_t)rank), purpose);
}

/* Sets zero blocks in values [first, first + count) of a rank's array. Returns the number of nonzero values.
 */
static int64_t draw_piece(const cli_collective_draw *draw, int rank, int64_t first, int64_t count,
                          char *out) {
  const size_t bytes = sley_type_bytes(draw->type);
  const uint64_t seed = seed_of(draw, rank, 0);
  int64_t i = 0;
  for (int64_t block = first / draw->block; i < count; block++) {
    const int64_t end = lesser((block + 1) * draw->block - first, count);
    if (cli_random_uniform_at(seed, (uint64_t)block) < draw->zeros)
      memset(out + (size_t)i * bytes, 0, (size_t)(end - i) * bytes);
    i = end;
  }
  return count_nonzeros(out, count, bytes);
}

static bool is_whole(sley_type type) {
  return type > SLEY_TYPE_BF16;
}

/* Draws nonzero whole numbers: values [first, first + count) of the rank's array. */
static void draw_whole(uint64_t seed, int64_t first, int64_t count, sley_type type, void *out) {
  enum { LARGEST = 127 };
  for (int64_t i = 0; i < count; i++) {
    const int64_t value = (int64_t)(cli_random_at(seed, (uint64_t)(first + i)) % LARGEST) + 1;
    if (type == SLEY_TYPE_I64)
      ((int64_t *)out)[i] = value;
    else
      ((uint8_t *)out)[i] = (uint8_t)value;
  }
}

static sley_status draw_values(const cli_collective_draw *draw, int rank, int64_t first, int64_t count,
                               void *out) {
  const uint64_t seed = seed_of(draw, rank, 1);
  if (!is_whole(draw->type))
    return sley_dense_random(seed, first, count, 1, NULL, (sley_dtype)draw->type, out, 1);
  draw_whole(seed, first, count, draw->type, out);
  return SLEY_OK;
}

sley_status cli_collective_fill(sley_comm *comm, const cli_collective_draw *draw, void *array, int64_t count,
                                int64_t *nonzeros) {
  const size_t bytes = sley_type_bytes(draw->type);
  const int rank = sley_comm_rank(comm);
  void *piece = NULL;
  *nonzeros = 0;
  sley_status status = sley_buffer_alloc(PIECE * (int64_t)bytes, &piece);
  for (int64_t at = 0; at < count && status == SLEY_OK; at += PIECE) {
    const int64_t values = lesser(PIECE, count - at);
    status = draw_values(draw, rank, at, values, piece);
    if (status != SLEY_OK)
      break;
    *nonzeros += draw_piece(draw, rank, at, values, piece);
    status = sley_comm_copy(comm, (char *)array + (size_t)at * bytes, piece, values * (int64_t)bytes,
                            SLEY_TO_DEVICE);
    if (status == SLEY_OK)
      status = sley_comm_wait(comm); /* the next iteration overwrites the piece */
  }
  sley_buffer_free(piece);
  return status;
}

/* ---- comparing */

double cli_collective_bound(sley_type type, int ranks) {
  static const double unit[] = {[SLEY_TYPE_F32] = 0x1p-24,
                                [SLEY_TYPE_F64] = 0x1p-53,
                                [SLEY_TYPE_F16] = 0x1p-11,
                                [SLEY_TYPE_BF16] = 0x1p-8};
  return is_whole(type) ? 0 : 2.0 * (ranks - 1) * unit[type] * ranks;
}

static sley_status count_far(sley_dtype dtype, const void *a, const void *b, int64_t count, double bound,
                             double *wide, int64_t *wrong) {
  sley_status status = sley_convert(dtype, a, SLEY_F64, wide, count);
  if (status == SLEY_OK)
    status = sley_convert(dtype, b, SLEY_F64, wide + PIECE, count);
  for (int64_t i = 0; i < count && status == SLEY_OK; i++)
    *wrong += !(fabs(wide[i] - wide[PIECE + i]) <= bound);
  return status;
}

typedef struct pieces {
  char *a, *b;
  double *wide; /* 2 * PIECE */
} pieces;

static sley_status take_pieces(size_t bytes, pieces *p) {
  *p = (pieces){0};
  sley_status status = sley_buffer_alloc(PIECE * (int64_t)bytes, (void **)&p->a);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(PIECE * (int64_t)bytes, (void **)&p->b);
  return status == SLEY_OK ? sley_buffer_alloc(2 * PIECE * (int64_t)sizeof *p->wide, (void **)&p->wide)
                           : status;
}

static sley_status fetch(sley_comm *comm, char *piece, const void *array, int64_t at, int64_t bytes) {
  return array ? sley_comm_copy(comm, piece, (const char *)array + at, bytes, SLEY_TO_HOST) : SLEY_OK;
}

sley_status cli_collective_compare(sley_comm *comm, sley_type type, const void *array, const void *other,
                                   int64_t count, double bound, int64_t *nonzeros, int64_t *wrong) {
  const size_t each = sley_type_bytes(type);
  pieces p;
  *nonzeros = *wrong = 0;
  sley_status status = take_pieces(each, &p);
  for (int64_t at = 0; at < count && status == SLEY_OK; at += PIECE) {
    const int64_t values = lesser(PIECE, count - at), first = at * (int64_t)each,
                  bytes = values * (int64_t)each;
    status = fetch(comm, p.a, array, first, bytes);
    if (status == SLEY_OK)
      status = fetch(comm, p.b, other, first, bytes);
    if (status == SLEY_OK)
      status = sley_comm_wait(comm);
    if (status != SLEY_OK)
      break;
    *nonzeros += count_nonzeros(p.a, values, each);
    if (other && bound > 0)
      status = count_far((sley_dtype)type, p.a, p.b, values, bound, p.wide, wrong);
    else if (other && memcmp(p.a, p.b, (size_t)bytes) != 0)
      for (int64_t i = 0; i < values; i++)
        *wrong += memcmp(p.a + (size_t)i * each, p.b + (size_t)i * each, each) != 0;
  }
  sley_buffer_free(p.wide);
  sley_buffer_free(p.b);
  sley_buffer_free(p.a);
  return status;
}
