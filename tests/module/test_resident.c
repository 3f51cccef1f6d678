/* SPDX-License-Identifier: Apache-2.0 */
/* Planning on a device beside planning on the host, on random matrices: the same halo and counts, and for
 * every algorithm the same parts, entry by entry, lists, buffers and steps. */
#include "ranks.h"

#include <stdatomic.h>
#include <string.h>

#include "algo/algorithm.h"
#include "base/random.h"
#include "plan/resident_cut.h"

enum { ROUNDS = 60, MAX_RANKS = 4, ROWS = 90 };

typedef struct sample {
  uint64_t round;
  const sley_matrix *matrix;
  int64_t begin[MAX_RANKS + 1];
  const char *algo;
  _Atomic int resident; /* parts that lay on the device */
} sample;

/* The halo and the owners' entries, by looking at every entry. */
static sley_status check_columns(const sl_inspection *ins) {
  const sley_matrix *block = ins->block;
  int64_t owned[MAX_RANKS] = {0}, halo = 0, remote = 0;
  for (int64_t col = 0; col < block->cols; col++) {
    int owner = 0;
    int64_t entries = 0;
    while (col >= ins->col_begin[owner + 1])
      owner++;
    for (int64_t e = block->rowptr[0]; e < block->rowptr[block->rows]; e++)
      entries += sl_index_at(block->col, block->index, e) == col;
    owned[owner] += entries;
    if (owner == ins->comm->rank || entries == 0)
      continue;
    EXPECT(halo < ins->halo_set.count && ins->halo->row[halo] == col);
    EXPECT(sl_colset_place(&ins->halo_set, col) == halo);
    halo++;
    remote += entries;
  }
  EXPECT(halo == ins->halo_set.count && remote == ins->halo_set.occurrences && remote == ins->remote_nnz);
  for (int p = 0; p < ins->comm->size; p++)
    EXPECT(owned[p] == ins->owner_nnz[p]);
  return SLEY_OK;
}

/* A part's array in the host's memory, from malloc. */
static sley_status fetch(sl_comm *comm, const sl_spmm_matrix *a, const void *array, int64_t bytes,
                         void **out) {
  *out = malloc((size_t)bytes + 1);
  EXPECT(*out);
  if (a->resident)
    return comm->device->ops->copy(comm->queue, SL_COPY_TO_HOST, *out, array, bytes);
  memcpy(*out, array, (size_t)bytes);
  return SLEY_OK;
}

static sley_status same_array(sl_comm *comm, const sl_spmm_matrix *a, const void *x, const sl_spmm_matrix *b,
                              const void *y, int64_t bytes) {
  void *left = NULL, *right = NULL;
  sley_status status = fetch(comm, a, x, bytes, &left);
  if (status == SLEY_OK)
    status = fetch(comm, b, y, bytes, &right);
  bool same = status == SLEY_OK && memcmp(left, right, (size_t)bytes) == 0;
  free(right);
  free(left);
  SL_TRY(status);
  EXPECT(same);
  return SLEY_OK;
}

static sley_status same_part(sl_comm *comm, const sl_part *x, const sl_part *y) {
  const sl_spmm_matrix *a = &x->a, *b = &y->a;
  EXPECT(strcmp(x->name, y->name) == 0 && x->nnz == y->nnz && a->rows == b->rows && a->index == b->index);
  EXPECT(x->x == y->x && x->y == y->y && x->far == y->far && x->beta == y->beta && x->work == y->work);
  EXPECT(x->pieces == y->pieces && x->completes == y->completes && !a->rowid == !b->rowid);
  for (int s = 0; s < x->pieces; s++)
    EXPECT(x->piece_end[s] == y->piece_end[s]);
  if (x->arrives_in >= 0 || y->arrives_in >= 0)
    return SLEY_OK;
  EXPECT(memcmp(a->rowptr, b->rowptr, (size_t)(a->rows + 1) * 8) == 0);
  EXPECT(!a->rowid || memcmp(a->rowid, b->rowid, (size_t)a->rows * 8) == 0);
  size_t index = sl_index_bytes(a->index), value = sley_dtype_bytes(a->dtype);
  int64_t first = a->rowptr[0];
  SL_TRY(same_array(comm, a, (const char *)a->col + (size_t)first * index, b,
                    (const char *)b->col + (size_t)first * index, x->nnz * (int64_t)index));
  return same_array(comm, a, (const char *)a->val + (size_t)first * value, b,
                    (const char *)b->val + (size_t)first * value, x->nnz * (int64_t)value);
}

static sley_status same_lists(const sl_row_list *x, const sl_row_list *y, int count) {
  for (int i = 0; i < count; i++) {
    EXPECT(x[i].peer == y[i].peer && x[i].count == y[i].count && x[i].first == y[i].first &&
           x[i].bytes == y[i].bytes && x[i].offset == y[i].offset && !x[i].rows == !y[i].rows);
    EXPECT(!x[i].rows || memcmp(x[i].rows, y[i].rows, (size_t)x[i].count * sizeof *x[i].rows) == 0);
  }
  return SLEY_OK;
}

static sley_status same_plans(sample *s, const sl_plan *x, const sl_plan *y) {
  EXPECT(x->parts.count == y->parts.count && x->exchanges.count == y->exchanges.count &&
         x->buffers.count == y->buffers.count && x->steps.count == y->steps.count);
  for (int i = 0; i < x->buffers.count; i++)
    EXPECT(SL_BUFFER(x, i)->rows == SL_BUFFER(y, i)->rows &&
           SL_BUFFER(x, i)->row_bytes == SL_BUFFER(y, i)->row_bytes);
  for (int i = 0; i < x->parts.count; i++) {
    SL_TRY(same_part(x->comm, SL_PART(x, i), SL_PART(y, i)));
    EXPECT(!SL_PART(y, i)->a.resident);
    s->resident += SL_PART(x, i)->a.resident;
  }
  for (int i = 0; i < x->exchanges.count; i++) {
    const sl_exchange_spec *a = &SL_EXCHANGE(x, i)->spec, *b = &SL_EXCHANGE(y, i)->spec;
    EXPECT(a->sends == b->sends && a->recvs == b->recvs && a->pieces == b->pieces);
    SL_TRY(same_lists(a->send, b->send, a->sends));
    SL_TRY(same_lists(a->recv, b->recv, a->recvs));
  }
  return SLEY_OK;
}

/* One plan is built on the device, the other on the host. */
static sley_status build_both(sample *s, sl_inspection *ins) {
  int place;
  sl_plan device, host;
  SL_TRY(sl_algorithm_find(s->algo, &place));
  SL_TRY(sl_algorithm_build(sl_algorithms[place], ins, false, &device));
  sl_resident_close(ins->resident);
  ins->resident = NULL;
  sley_status status = sl_algorithm_build(sl_algorithms[place], ins, false, &host);
  if (status == SLEY_OK) {
    status = sl_agree(ins->comm, same_plans(s, &device, &host));
    sl_plan_free(&host);
  }
  sl_plan_free(&device);
  return status;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  sample *s = arg;
  sley_matrix *block;
  sl_inspection ins;
  sl_plan_wishes wishes = sl_plan_wishes_for(1 + (int64_t)(s->round % 40), s->matrix->dtype);
  wishes.reproducible = s->round % 4 == 3;
  SL_TRY(sl_matrix_view(s->matrix, s->begin[comm->rank], s->begin[comm->rank + 1] - s->begin[comm->rank],
                        &block));
  sley_status status = sl_inspect(comm, block, s->begin, s->begin, &wishes, &ins);
  if (status == SLEY_OK) {
    status = sl_agree(comm, check_columns(&ins));
    if (status == SLEY_OK)
      status = build_both(s, &ins);
    sl_inspection_free(&ins);
  }
  sley_matrix_destroy(block);
  return status;
}

/* A square matrix of random columns; rows from empty to full. */
static sley_matrix *generate(uint64_t round) {
  static const sley_dtype dtypes[] = {SLEY_F32, SLEY_F64, SLEY_F16, SLEY_BF16};
  int64_t n = 2 + sl_below(sl_random(11, round, 0), ROWS), nnz = 0;
  sley_csr csr = {.rows = n, .cols = n, .index = SLEY_I32, .dtype = dtypes[round % 4]};
  size_t value = sley_dtype_bytes(csr.dtype);
  int64_t *rowptr = calloc((size_t)n + 1, sizeof *rowptr);
  int32_t *col = malloc((size_t)(n * n) * sizeof *col);
  unsigned char *val = malloc((size_t)(n * n) * value);
  for (int64_t i = 0; i < n; i++) {
    int64_t odds = 1 + sl_below(sl_random(12, round, (uint64_t)i), 20);
    for (int64_t j = 0; j < n; j++) {
      if (sl_below(sl_random(13, round, (uint64_t)(i * n + j)), odds) > 0)
        continue;
      for (size_t b = 0; b < value; b++)
        val[(size_t)nnz * value + b] = (unsigned char)(nnz >> (8 * (b % 2)));
      col[nnz++] = (int32_t)j;
    }
    rowptr[i + 1] = nnz;
  }
  csr.rowptr = rowptr;
  csr.col = col;
  csr.val = val;
  sley_matrix *matrix;
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_COPY, &matrix));
  free(val);
  free(col);
  free(rowptr);
  return matrix;
}

static void plans_are_the_hosts(void **state) {
  (void)state;
  sample s = {0};
  for (const char *const *algo = sley_algorithms(); *algo; algo++)
    for (s.round = test_first(ROUNDS); s.round < ROUNDS; s.round += test_share()) {
      int ranks = 2 + (int)(s.round % (MAX_RANKS - 1)), workgroup = s.round % 5 == 0 ? 1 : ranks;
      sley_matrix *matrix = generate(s.round);
      s.matrix = matrix;
      s.algo = *algo;
      assert_sley_ok(sley_partition_rows(matrix, s.round % 3 ? "rows" : "nnz", ranks, s.begin));
      rank_case c = {
          .transport = "threads", .ranks = ranks, .workgroup = workgroup, .threads = 1 + (int)(s.round % 3)};
      assert_case_ok(&c, run_case(&c, rank_main, &s));
      sley_matrix_destroy(matrix);
    }
  assert_true(s.resident > (test_share() > 1 ? 0 : 100));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(plans_are_the_hosts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
