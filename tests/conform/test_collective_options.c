/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed collectives through the public header: the bits of the dense ones for all options, reports of a
 * run, structs of older headers, and refused arguments. */
#include <stddef.h>

#include "base/memory.h"
#include "base/random.h"
#include "mirror.h"
#include "ranks.h"

enum { MOST_COUNT = 9001, COMPRESSIONS = SLEY_COMPRESS_COO + 1 };

static bool keeps_order(const sley_collective_options *o) {
  sley_collective_way_info info;
  return sley_collective_way_get(o->way, &info) == SLEY_OK && info.in_order;
}

typedef struct arrays {
  float *values;
  int64_t src, dst; /* numbers of values; dst follows src in memory */
  mirror there;
} arrays;

/* Opens arrays of whole numbers if sums may be added in any order, so that all orders have the same bits. */
static sley_status open_arrays(sley_comm *comm, const sley_collective_options *o, uint64_t seed,
                               arrays *out) {
  const int size = sley_comm_size(comm), rank = sley_comm_rank(comm);
  out->src = o->kind == SLEY_REDUCE_SCATTER ? o->count * size : o->count;
  out->dst = o->kind == SLEY_ALLGATHER ? o->count * size : o->count;
  out->values = sl_alloc_zero(out->src + out->dst + 1, sizeof *out->values, "test");
  EXPECT(out->values);
  for (int64_t i = 0; i < out->src; i++) {
    uint64_t bits = sl_random(seed, (uint64_t)rank, (uint64_t)i);
    out->values[i] =
        bits % 100 < 95 ? 0.0F : ((float)(bits / 100 % 20001) - 10000) / (keeps_order(o) ? 7.0F : 1.0F);
  }
  return mirror_open(comm, out->values, (out->src + out->dst + 1) * (int64_t)sizeof *out->values,
                     &out->there);
}

static void close_arrays(arrays *a) {
  mirror_close(&a->there);
  sl_free(a->values);
}

/* Runs the collective of o from a's src to its dst. */
static sley_status run_one(sley_comm *comm, const sley_collective_options *o, arrays *a,
                           sley_collective_info *info) {
  sley_collective *made;
  SL_TRY(sley_collective_create(comm, o, &made));
  SL_TRY(sley_collective_info_get(made, info));
  EXPECT(info->sent == 0 && info->arrays == 0 && *info->path == '\0' && *info->reason == '\0');
  sley_status status = mirror_send(&a->there);
  for (int round = 0; round < 2 && status == SLEY_OK; round++)
    status = sley_collective_run(made, a->there.here, (float *)a->there.here + a->src);
  if (status == SLEY_OK)
    status = sley_collective_info_get(made, info);
  sley_collective_destroy(made);
  return status == SLEY_OK ? mirror_fetch(&a->there) : status;
}

/* Checks that the report describes one of the two runs, adds up over the ranks, and has fewer bytes than the
 * dense run if 5 % of the values are nonzero. */
static sley_status check_info(sley_comm *comm, const sley_collective_options *o,
                              const sley_collective_info *info, const sley_collective_info *dense) {
  int64_t sums[] = {info->sent, info->received, info->dense_sent, dense->sent, dense->received};
  const bool moves = sley_comm_size(comm) > 1 && o->count > 0;
  EXPECT(*info->path != '\0' && *info->reason != '\0' && strcmp(dense->path, "dense") == 0);
  EXPECT(info->dense_sent == dense->sent && dense->dense_sent == dense->sent && dense->arrays == 0);
  EXPECT(info->dense + info->pici + info->coo == info->arrays);
  EXPECT(info->nonzeros >= 0 && info->nonzeros <= info->values && info->result_nonzeros >= -1);
  if (o->compress == SLEY_COMPRESS_PICI || o->compress == SLEY_COMPRESS_COO) {
    EXPECT(!moves || strcmp(info->path, "dense") != 0);
    EXPECT((info->arrays > 0) == moves);
    EXPECT(o->compress == SLEY_COMPRESS_PICI ? info->coo == 0 : info->pici == 0);
    EXPECT(o->count < 1000 || !moves || o->way == SLEY_WAY_TWO_LEVEL || o->way == SLEY_WAY_SPLIT_DENSE ||
           info->sent < info->dense_sent / 2);
  }
  SL_TRY(sley_comm_allreduce(comm, SLEY_SUM, sums, sizeof sums / sizeof *sums));
  EXPECT(sums[0] == sums[1] && sums[3] == sums[4] && sums[2] == sums[3]);
  return SLEY_OK;
}

static sley_status compare(sley_comm *comm, sley_collective_options *o, uint64_t seed) {
  sley_collective_info info, dense;
  arrays expected, got;
  const sley_compress compress = o->compress;
  SL_TRY(open_arrays(comm, o, seed, &expected));
  SL_TRY(open_arrays(comm, o, seed, &got));
  SL_TRY(run_one(comm, o, &got, &info));
  o->compress = SLEY_COMPRESS_NONE;
  SL_TRY(run_one(comm, o, &expected, &dense));
  o->compress = compress;
  EXPECT(memcmp(got.values, expected.values, (size_t)(got.src + got.dst + 1) * sizeof *got.values) == 0);
  if (compress != SLEY_COMPRESS_NONE)
    SL_TRY(check_info(comm, o, &info, &dense));
  close_arrays(&got);
  close_arrays(&expected);
  return SLEY_OK;
}

/* Draws a way that serves the kind. */
static sley_collective_way draw_way(const sley_collective_options *o, uint64_t bits) {
  sley_collective_way_info info;
  uint64_t ways = 0;
  while (sley_collective_ways()[ways])
    ways++;
  const sley_collective_way way = (sley_collective_way)(bits % ways);
  if (sley_collective_way_get(way, &info) != SLEY_OK || (info.only_allreduce && o->kind != SLEY_ALLREDUCE))
    return SLEY_WAY_AUTO;
  return way;
}

/* Tests half of the kinds and compressions, chosen by the case. */
static sley_status bits_main(sley_comm *comm, void *arg) {
  static const int64_t counts[] = {0, 1, 37, 1000, MOST_COUNT};
  const rank_case *c = arg;
  for (int i = (int)(sl_random(c->seed, 3, 0) % 2); i < COMPRESSIONS * 3; i += 2) {
    sley_collective_options o = SLEY_COLLECTIVE_OPTIONS_INIT;
    o.kind = (sley_collective_kind)(i % 3);
    o.compress = (sley_compress)(i / 3);
    o.way = draw_way(&o, sl_random(c->seed, 1, (uint64_t)i));
    o.count = counts[sl_random(c->seed, 2, (uint64_t)i) % (sizeof counts / sizeof *counts)];
    SL_TRY(compare(comm, &o, c->seed));
  }
  return SLEY_OK;
}

/* A program compiled with a header without compression: its struct is shorter, and the bytes behind it and in
 * its padding are not read. */
static sley_status old_main(sley_comm *comm, void *arg) {
  (void)arg;
  sley_collective_options o;
  sley_collective_info info;
  arrays a;
  memset(&o, 0x5a, sizeof o);
  o.struct_size = offsetof(sley_collective_options, compress);
  o.kind = SLEY_ALLREDUCE;
  o.op = SLEY_SUM;
  o.type = SLEY_TYPE_F32;
  o.count = 100;
  o.counts = NULL;
  o.any_order = false;
  EXPECT(o.struct_size == 48); /* size in that header on 64-bit machines */
  SL_TRY(open_arrays(comm, &o, 5, &a));
  SL_TRY(run_one(comm, &o, &a, &info));
  EXPECT(strcmp(info.path, "dense") == 0);
  close_arrays(&a);
  return SLEY_OK;
}

/* Checks that all ranks get the same error, and that the comm stays usable. */
static sley_status refused(sley_comm *comm, const sley_collective_options *o, sley_status expected) {
  sley_collective *made = NULL;
  sley_status status = sley_collective_create(comm, o, &made);
  EXPECT(status == expected && (made != NULL) == (expected == SLEY_OK));
  EXPECT(status == SLEY_OK || *sley_last_error() != '\0');
  sley_collective_destroy(made);
  return SLEY_OK;
}

static sley_status wrong_main(sley_comm *comm, void *arg) {
  (void)arg;
  const bool last = sley_comm_rank(comm) == sley_comm_size(comm) - 1;
  const sley_status alone = sley_comm_size(comm) == 1 ? SLEY_OK : SLEY_ERR_ARG;
  sley_collective_options o = SLEY_COLLECTIVE_OPTIONS_INIT;
  sley_collective_info info;
  o.count = 3;
  o.compress = last ? (sley_compress)COMPRESSIONS : SLEY_COMPRESS_PICI;
  SL_TRY(refused(comm, &o, SLEY_ERR_ARG));
  o.compress = SLEY_COMPRESS_PICI;
  o.way = last ? (sley_collective_way)99 : SLEY_WAY_AUTO;
  SL_TRY(refused(comm, &o, SLEY_ERR_ARG));
  o.way = last ? SLEY_WAY_DIRECT : SLEY_WAY_AUTO;
  SL_TRY(refused(comm, &o, alone));
  o.compress = SLEY_COMPRESS_NONE; /* ignores the way */
  SL_TRY(refused(comm, &o, SLEY_OK));
  o.compress = last ? SLEY_COMPRESS_NONE : SLEY_COMPRESS_COO;
  o.way = SLEY_WAY_AUTO;
  SL_TRY(refused(comm, &o, alone));
  o.compress = SLEY_COMPRESS_COO; /* all-reduces only */
  o.kind = SLEY_ALLGATHER;
  o.way = SLEY_WAY_SPLIT_ALLGATHER;
  SL_TRY(refused(comm, &o, SLEY_ERR_UNSUPPORTED));
  sley_collective_way_info way;
  EXPECT(sley_collective_way_get(SLEY_WAY_RING, NULL) == SLEY_ERR_ARG);
  EXPECT(sley_collective_way_get((sley_collective_way)99, &way) == SLEY_ERR_ARG);
  o.struct_size = sizeof o + 1;
  SL_TRY(refused(comm, &o, SLEY_ERR_ARG));
  SL_TRY(refused(comm, NULL, SLEY_ERR_ARG));
  EXPECT(sley_collective_info_get(NULL, &info) == SLEY_ERR_ARG);
  return sley_comm_barrier(comm);
}

static void body(const rank_case *c) {
  int64_t before = sl_memory_now();
  assert_case_ok(c, run_case(c, bits_main, (void *)(uintptr_t)c));
  assert_case_ok(c, run_case(c, old_main, NULL));
  assert_case_ok(c, run_case(c, wrong_main, NULL));
  assert_int_equal(sl_memory_now(), before);
}

static void test_options(void **state) {
  (void)state;
  each_case(body);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_options)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
