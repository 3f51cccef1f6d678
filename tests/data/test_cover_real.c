/* SPDX-License-Identifier: Apache-2.0 */
/* Least covers of every remote block of the real matrices, with the proof that each is least: a matching of
 * equal size. Their sum must be what a plan reports. */
#include <dirent.h>

#include "dry_plan.h"
#include "matrix/cover.h"
#include "support.h"

enum { LARGE_NNZ = 400000 };

/* The block of rows of rank i and columns of rank j; row numbers are those with entries, columns local. */
static int64_t cover_block(const sley_csr *a, const int64_t *begin, const int64_t *col_begin, int i, int j) {
  int64_t rows = begin[i + 1] - begin[i], cols = col_begin[j + 1] - col_begin[j], count = 0;
  int64_t *rowptr = malloc((size_t)(rows + 1) * sizeof *rowptr);
  int32_t *adjacency =
      malloc((size_t)(a->rowptr[begin[i + 1]] - a->rowptr[begin[i]] + 1) * sizeof *adjacency);
  uint8_t *taken = calloc((size_t)cols + 1, 1);
  assert_true(rowptr && adjacency && taken);
  for (int64_t r = 0; r < rows; r++) {
    rowptr[r] = count;
    for (int64_t e = a->rowptr[begin[i] + r]; e < a->rowptr[begin[i] + r + 1]; e++) {
      int32_t col = ((const int32_t *)a->col)[e];
      if (col >= col_begin[j] && col < col_begin[j + 1])
        adjacency[count++] = (int32_t)(col - col_begin[j]);
    }
  }
  rowptr[rows] = count;
  sl_bipartite graph = {(int32_t)rows, (int32_t)cols, rowptr, adjacency};
  sl_cover cover;
  assert_sley_ok(sl_min_vertex_cover(&graph, &cover));
  int64_t matched = 0, in_cover = 0;
  for (int64_t r = 0; r < rows; r++) {
    bool match_is_edge = cover.row_match[r] < 0;
    for (int64_t e = rowptr[r]; e < rowptr[r + 1]; e++) {
      assert_true(cover.row_in[r] || cover.col_in[adjacency[e]]);
      match_is_edge |= adjacency[e] == cover.row_match[r];
    }
    assert_true(match_is_edge);
    if (cover.row_match[r] >= 0) {
      assert_false(taken[cover.row_match[r]]);
      taken[cover.row_match[r]] = 1;
      matched++;
    }
    in_cover += cover.row_in[r];
  }
  for (int64_t c = 0; c < cols; c++)
    in_cover += cover.col_in[c];
  assert_int_equal(matched, in_cover);
  assert_int_equal(matched, cover.size);
  sl_cover_free(&cover);
  free(taken);
  free(adjacency);
  free(rowptr);
  return matched;
}

static long check_file(const char *path, const char *name) {
  sley_matrix *matrix;
  sley_matrix_info info;
  sley_csr a;
  if (sley_matrix_read(path, NULL, &matrix) != SLEY_OK)
    return 0;
  assert_sley_ok(sley_matrix_info_get(matrix, &info));
  assert_sley_ok(sley_matrix_csr(matrix, &a));
  long blocks = 0;
  for (int ranks = 2; ranks <= 8 && info.nnz <= LARGE_NNZ && a.index == SLEY_I32; ranks *= 2) {
    int64_t begin[9], col_begin[9], sum = 0;
    assert_sley_ok(sley_partition_rows(matrix, "rows", ranks, begin));
    assert_sley_ok(sley_partition_equal(info.cols, ranks, col_begin));
    for (int i = 0; i < ranks; i++)
      for (int j = 0; j < ranks; j++)
        if (i != j) {
          sum += cover_block(&a, begin, col_begin, i, j);
          blocks++;
        }
    sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
    options.ranks = ranks;
    options.workgroup = 1;
    const int64_t planned = dry_plan(&options, matrix, begin, col_begin, 1, "cover").cover_rows;
    if (planned != sum)
      fail_msg("%s on %d ranks: the plan's cover has %lld rows, the least covers %lld", name, ranks,
               (long long)planned, (long long)sum);
  }
  sley_matrix_destroy(matrix);
  return blocks;
}

static void covers_are_least(void **state) {
  (void)state;
  static const char *const folders[] = {"mtx", "hb", "metis", "snap", "npz", "gnn"};
  const char *data = test_data_dir();
  if (!data)
    skip();
  long blocks = 0;
  for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
    char folder[1024], path[2048];
    snprintf(folder, sizeof folder, "%s/%s", data, folders[f]);
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
      snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
      if (entries[i]->d_name[0] != '.')
        blocks += check_file(path, entries[i]->d_name);
      free(entries[i]);
    }
    if (count >= 0)
      free(entries);
  }
  printf("%ld remote blocks covered, each with a matching of equal size\n", blocks);
  assert_true(blocks > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(covers_are_least)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
