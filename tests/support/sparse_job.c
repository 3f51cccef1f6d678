/* SPDX-License-Identifier: Apache-2.0 */
#include "sparse_job.h"

#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "dense_oracle.h"
#include "ranks.h"

enum { MARGIN = 3, ROUNDS = 2 /* in round ROUNDS a rank has the values that the next rank has in round 0 */ };

static void lay_out(sparse_job *j, int rank, int size) {
  const sley_collective_kind_info *kind = &sl_collective_kind_of(j->spec.dense.kind)->info;
  const bool both = kind->reduces && kind->gathers;
  if (kind->whole && !both)
    sl_dense_lay_out(&j->spec.dense, size, j->begin);
  for (int r = 0; r < size; r++)
    if (kind->whole && !both)
      j->counts[r] = j->begin[r + 1] - j->begin[r];
    else
      j->begin[r + 1] = j->begin[r] + j->counts[r];
  int64_t all = j->begin[size];
  j->each = (int64_t)sley_type_bytes(j->spec.dense.type);
  j->src_values = both ? j->spec.dense.count : kind->reduces ? all : j->counts[rank];
  j->dst_values = both ? j->spec.dense.count : kind->gathers ? all : j->counts[rank];
  j->src_at = MARGIN;
  j->dst_at = j->src_at + j->src_values + MARGIN;
  j->values = j->dst_at + j->dst_values + MARGIN;
  if (!j->in_place)
    return;
  j->dst_at = MARGIN + (kind->gathers ? 0 : j->begin[rank]);
  j->src_at = MARGIN + (kind->reduces ? 0 : j->begin[rank]);
}

static void draw(sparse_job *j, int rank, int round) {
  static const uint64_t shares[] = {0, 100, 500, 900, 950, 990, 999, 1000};
  uint64_t stream = (uint64_t)(rank * ROUNDS + round) + 100;
  uint64_t zeros = shares[sl_random(j->seed, stream, 1) % (sizeof shares / sizeof *shares)];
  for (int64_t i = 0; i < j->values; i++) {
    uint64_t bits = sl_random(j->seed, stream, (uint64_t)i + 2);
    uint64_t chance = j->blocks ? sl_random(j->seed, stream + 1000, (uint64_t)i / 513) : bits;
    if (j->whole_numbers && j->spec.dense.type <= SLEY_TYPE_BF16)
      oracle_set(j->sparse, j->spec.dense.type, i, (double)(bits / 1000 % 17) - 8);
    else
      oracle_draw(j->sparse, j->spec.dense.type, i, bits / 1000);
    if (j->signs || chance % 1000 < zeros)
      memset(j->sparse + i * j->each, 0, (size_t)j->each);
    if (j->signs && bits % 8 != 0)
      j->sparse[(i + 1) * j->each - 1] = (char)0x80; /* the sign */
  }
  memcpy(j->dense, j->sparse, (size_t)(j->values * j->each));
}

sley_status sparse_job_open(sl_comm *comm, sparse_job *j) {
  lay_out(j, comm->rank, comm->size);
  j->sparse = sl_alloc_zero(j->values, (size_t)j->each, "test");
  j->dense = sl_alloc_zero(j->values, (size_t)j->each, "test");
  EXPECT(j->sparse && j->dense);
  SL_TRY(mirror_open(comm, j->sparse, j->values * j->each, &j->there[0]));
  SL_TRY(mirror_open(comm, j->dense, j->values * j->each, &j->there[1]));
  SL_TRY(sl_sparse_create(comm, &j->spec, &j->one));
  return sl_dense_create(comm, &j->spec.dense, &j->other);
}

void sparse_job_close(sparse_job *j) {
  sl_dense_destroy(j->other);
  sl_sparse_destroy(j->one);
  for (int i = 0; i < 2; i++)
    mirror_close(&j->there[i]);
  sl_free(j->dense);
  sl_free(j->sparse);
}

sley_status sparse_job_fill(sparse_job *j, int rank, int round) {
  draw(j, rank, round);
  for (int i = 0; i < 2; i++)
    SL_TRY(mirror_send(&j->there[i]));
  return SLEY_OK;
}

sley_status sparse_job_run_sparse(sl_comm *comm, sparse_job *j) {
  char *here = j->there[0].here;
  return sl_sparse_run(j->one, here + j->src_at * j->each, here + j->dst_at * j->each, comm->queue);
}

sley_status sparse_job_run_dense(sl_comm *comm, sparse_job *j) {
  char *here = j->there[1].here;
  return sl_dense_run(j->other, here + j->src_at * j->each, here + j->dst_at * j->each, comm->queue);
}

sley_status sparse_job_compare(sparse_job *j, int round) {
  for (int i = 0; i < 2; i++)
    SL_TRY(mirror_fetch(&j->there[i]));
  for (int64_t i = 0; i < j->values; i++)
    if (memcmp(j->sparse + i * j->each, j->dense + i * j->each, (size_t)j->each) != 0)
      return sl_fail(SLEY_ERR_INTERNAL,
                     "kind %d, op %d, type %d, format %d, way %d, count %lld%s: value %lld (result from "
                     "%lld) differs in round %d",
                     (int)j->spec.dense.kind, (int)j->spec.dense.op, (int)j->spec.dense.type,
                     (int)j->spec.format, (int)j->spec.way, (long long)j->spec.dense.count,
                     j->in_place ? ", in place" : "", (long long)i, (long long)j->dst_at, round);
  return SLEY_OK;
}
