/* SPDX-License-Identifier: Apache-2.0 */
/* Generates twins of the published graphs at full size and compares rows, nonzeros, and the volumes V_FR and
 * V_FC at 16 equal row blocks and k = 32 in 4-byte values, in MiB, with the figures of CoLa's Table 2. That
 * table has no line for reddit; its twin is compared by the longest row instead.
 *
 *   check_twins [NAME ...]     without a name: all; exit status 1 if one exceeds the bounds
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sley.h"

enum { RANKS = 16, BYTES_PER_ROW = 4 * 32 };
static const double nnz_bound = 2, volume_bound = 5, longest_bound = 10; /* bounds in percent */

typedef struct published {
  const char *name, *of;
  int64_t rows, nnz;
  double v_fr, v_fc; /* 0: not published */
  int64_t longest;   /* longest row; 0: not compared */
} published;

static const published graphs[] = {
    {"cyt", "com-Youtube", 1134890, 5975248, 271.85, 92.75},
    {"clj", "com-LiveJournal", 3997962, 69362378, 2481.61, 835.43},
    {"prd", "ogbn-products", 2449029, 123718280, 2714.10, 497.93},
    {"cok", "com-Orkut", 3072441, 234370166, 12964.64, 1723.12},
    {"cit", "ogbl-citation2", 2927963, 30387995, 858.12, 285.83},
    {"slj", "soc-LiveJournal", 4847571, 68993773, 2681.62, 822.49},
    {"spk", "soc-Pokec", 1632803, 30622564, 1491.62, 575.96},
    {"sso", "sx-stackoverflow", 2601977, 36233450, 2910.63, 818.91},
    {"red", "reddit", 232965, 114615892, 0, 0, 21657},
};

/* Counts remote nonzeros and distinct remote columns, each summed over the blocks. */
static int count_remote(const sley_csr *a, int64_t *remote, int64_t *halo) {
  int64_t begin[RANKS + 1];
  unsigned char *seen = calloc((size_t)a->cols, 1);
  if (!seen || sley_partition_equal(a->rows, RANKS, begin) != SLEY_OK)
    return -1;
  *remote = *halo = 0;
  for (int r = 0; r < RANKS; r++)
    for (int64_t e = a->rowptr[begin[r]]; e < a->rowptr[begin[r + 1]]; e++) {
      int64_t col = a->index == SLEY_I32 ? ((const int32_t *)a->col)[e] : ((const int64_t *)a->col)[e];
      if (col >= begin[r] && col < begin[r + 1])
        continue;
      ++*remote;
      *halo += seen[col] != r + 1;
      seen[col] = (unsigned char)(r + 1);
    }
  free(seen);
  return 0;
}

static double percent_off(double value, double wanted) {
  return wanted > 0 ? 100 * (value / wanted - 1) : 0;
}

static bool check(const published *graph) {
  char spec[32];
  snprintf(spec, sizeof spec, "twin:%s", graph->name);
  sley_matrix *a;
  sley_csr csr;
  int64_t remote, halo;
  if (sley_matrix_read(spec, NULL, &a) != SLEY_OK || sley_matrix_csr(a, &csr) != SLEY_OK ||
      count_remote(&csr, &remote, &halo) != 0) {
    fprintf(stderr, "check_twins: %s: %s\n", spec, sley_last_error());
    return false;
  }
  int64_t nnz = csr.rowptr[csr.rows], longest = 0;
  for (int64_t i = 0; i < csr.rows; i++)
    longest = longest > csr.rowptr[i + 1] - csr.rowptr[i] ? longest : csr.rowptr[i + 1] - csr.rowptr[i];
  double v_fr = (double)remote * BYTES_PER_ROW / 0x1p20, v_fc = (double)halo * BYTES_PER_ROW / 0x1p20;
  double off_nnz = percent_off((double)nnz, (double)graph->nnz);
  double off_fr = percent_off(v_fr, graph->v_fr), off_fc = percent_off(v_fc, graph->v_fc);
  bool pass = csr.rows == graph->rows && csr.cols == graph->rows && fabs(off_nnz) <= nnz_bound &&
              fabs(off_fr) <= volume_bound && fabs(off_fc) <= volume_bound &&
              fabs(percent_off((double)longest, (double)graph->longest)) <= longest_bound;
  printf("%-4s %-16s %9lld %11lld %+6.2f %%  %9.2f %+6.2f %%  %8.2f %+6.2f %%  %8lld  %s\n", graph->name,
         graph->of, (long long)csr.rows, (long long)nnz, off_nnz, v_fr, off_fr, v_fc, off_fc,
         (long long)longest, pass ? "PASS" : "FAIL");
  fflush(stdout);
  sley_matrix_destroy(a);
  return pass;
}

int main(int argc, char **argv) {
  int failed = 0, checked = 0;
  printf("%-4s %-16s %9s %11s %8s  %9s %8s  %8s %8s  %8s\n", "twin", "of", "rows", "nnz", "off", "V_FR MiB",
         "off", "V_FC MiB", "off", "longest");
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    bool wanted = argc == 1;
    for (int a = 1; a < argc; a++)
      wanted |= strcmp(argv[a], graphs[i].name) == 0;
    if (!wanted)
      continue;
    checked++;
    failed += !check(&graphs[i]);
  }
  if (checked < argc - 1) {
    fprintf(stderr, "check_twins: the twins are cyt clj prd cok cit slj spk sso red\n");
    return 2;
  }
  return failed > 0;
}
