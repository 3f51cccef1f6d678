/* SPDX-License-Identifier: Apache-2.0 */
/* Markov clustering by four ranks in two workgroups, with the sparse product tile-two-level; compared with
 * the same by plain loops in one thread, which must find exactly the same clusters.
 *
 *   13_markov_clustering           a graph with planted clusters, which must be found
 *   13_markov_clustering GRAPH     a file with an undirected graph, or a generator's name
 *
 * P holds in row i the chances of a random walk from vertex i. Each round squares P, squares its entries,
 * drops small ones and divides each row by its sum, until P does not change. A cluster is a connected set of
 * vertices in the last P, and is named after its first vertex. Source: S. van Dongen, Graph Clustering by
 * Flow Simulation, thesis, Utrecht 2000. */
#include <math.h>
#include <sley.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 4, GROUPS = 6, MEMBERS = 25, PLANTED = GROUPS * MEMBERS, ROUNDS = 100, MOST = 2000 };
static const double SMALL = 1e-5, STILL = 1e-7;

typedef struct job {
  sley_matrix *graph;
  int64_t n, begin[RANKS + 1];
  int64_t *by_ranks, *by_one; /* cluster of each vertex */
  int rounds;
} job;

/* Inflates a row of count values; returns how far it is from a row that no longer changes: its largest value
 * minus the sum of its squares. */
static double inflate(double *row, int64_t count) {
  double sum = 0, kept = 0, most = 0, squares = 0;
  for (int64_t e = 0; e < count; e++)
    sum += row[e] *= row[e];
  for (int64_t e = 0; e < count; e++)
    kept += row[e] = row[e] / sum < SMALL ? 0 : row[e] / sum;
  for (int64_t e = 0; e < count; e++) {
    row[e] /= kept;
    most = fmax(most, row[e]);
    squares += row[e] * row[e];
  }
  return most - squares;
}

/* ---- by one thread, with dense loops */

/* Gives both vertices the smaller of their names; returns whether one has changed. */
static bool join(int64_t *names, int64_t i, int64_t j) {
  const int64_t first = names[i] < names[j] ? names[i] : names[j];
  const bool changed = names[i] != names[j];
  names[i] = names[j] = first;
  return changed;
}

static void cluster_alone(const job *j, const sley_csr *a, double *p, double *square) {
  const int64_t n = j->n;
  double moves = 1;
  bool changed = true;
  for (int64_t i = 0; i < n; i++) {
    const int64_t count = a->rowptr[i + 1] - a->rowptr[i] + 1;
    p[i * n + i] += 1.0 / (double)count;
    for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++)
      p[i * n + ((const int32_t *)a->col)[e]] += 1.0 / (double)count;
  }
  for (int round = 0; round < ROUNDS && moves > STILL; round++) {
    moves = 0;
    for (int64_t i = 0; i < n; i++) {
      for (int64_t c = 0; c < n; c++)
        square[i * n + c] = 0;
      for (int64_t l = 0; l < n; l++)
        for (int64_t c = 0; c < n && p[i * n + l] > 0; c++)
          square[i * n + c] += p[i * n + l] * p[l * n + c];
    }
    for (int64_t i = 0; i < n; i++)
      moves = fmax(moves, inflate(square + i * n, n));
    double *last = p;
    p = square;
    square = last;
  }
  for (int64_t i = 0; i < n; i++)
    j->by_one[i] = i;
  while (changed) {
    changed = false;
    for (int64_t i = 0; i < n * n; i++)
      changed |= p[i] > 0 && join(j->by_one, i / n, i % n);
  }
}

/* ---- by ranks */

/* Makes this rank's rows of P from rows `first` and after of the graph: each row and its vertex, equal
 * chances. */
static sley_status start(const sley_matrix *block, int64_t first, sley_matrix **out) {
  sley_csr a = {0};
  sley_status status = sley_matrix_csr(block, &a);
  const int64_t most = status == SLEY_OK ? a.rowptr[a.rows] + a.rows : 0;
  int64_t *rowptr = calloc((size_t)(a.rows + 1), sizeof *rowptr), at = 0;
  int32_t *col = malloc((size_t)(most + 1) * sizeof *col);
  double *val = malloc((size_t)(most + 1) * sizeof *val);
  if (status == SLEY_OK && (!rowptr || !col || !val))
    status = SLEY_ERR_MEMORY;
  for (int64_t i = 0; status == SLEY_OK && i < a.rows; i++) {
    rowptr[i] = at;
    for (int64_t e = a.rowptr[i]; e < a.rowptr[i + 1]; e++)
      col[at++] = ((const int32_t *)a.col)[e];
    col[at++] = (int32_t)(first + i); /* Sley sorts the row */
    rowptr[i + 1] = at;
    for (int64_t e = rowptr[i]; e < at; e++)
      val[e] = 1.0 / (double)(at - rowptr[i]);
  }
  const sley_csr p = {a.rows, a.cols, rowptr, col, val, SLEY_I32, SLEY_F64};
  if (status == SLEY_OK)
    status = sley_matrix_from_csr(&p, SLEY_COPY, out);
  free(rowptr);
  free(col);
  free(val);
  return status;
}

/* Inflates this rank's rows of P P, and makes the next P of the entries that are left. */
static sley_status inflate_rows(const sley_matrix *square, double *moves, sley_matrix **out) {
  sley_csr s = {0};
  sley_status status = sley_matrix_csr(square, &s);
  const size_t most = status == SLEY_OK ? (size_t)s.rowptr[s.rows] + 1 : 1;
  int64_t *rowptr = calloc((size_t)s.rows + 1, sizeof *rowptr), at = 0;
  int32_t *col = malloc(most * sizeof *col);
  double *val = malloc(most * sizeof *val);
  if (status == SLEY_OK && (!rowptr || !col || !val))
    status = SLEY_ERR_MEMORY;
  for (int64_t i = 0; status == SLEY_OK && i < s.rows; i++) {
    const int64_t from = s.rowptr[i], count = s.rowptr[i + 1] - from;
    double *row = val + at;
    int64_t kept = 0;
    for (int64_t e = 0; e < count; e++)
      row[e] = ((const double *)s.val)[from + e];
    *moves = fmax(*moves, inflate(row, count));
    for (int64_t e = 0; e < count; e++)
      if (row[e] > 0) {
        col[at + kept] = ((const int32_t *)s.col)[from + e];
        row[kept++] = row[e];
      }
    rowptr[i + 1] = at += kept;
  }
  const sley_csr p = {s.rows, s.cols, rowptr, col, val, SLEY_I32, SLEY_F64};
  if (status == SLEY_OK)
    status = sley_matrix_from_csr(&p, SLEY_COPY, out);
  free(rowptr);
  free(col);
  free(val);
  return status;
}

/* Names the vertices of each connected set after its first, together with the other ranks. */
static sley_status name_clusters(sley_comm *comm, const job *j, const sley_matrix *p, int64_t *names) {
  const int64_t first = j->begin[sley_comm_rank(comm)];
  int64_t changed = 1;
  sley_csr c;
  sley_status status = sley_matrix_csr(p, &c);
  for (int64_t i = 0; i < j->n; i++)
    names[i] = i;
  while (status == SLEY_OK && changed) {
    changed = 0;
    for (int64_t i = 0; i < c.rows; i++)
      for (int64_t e = c.rowptr[i]; e < c.rowptr[i + 1]; e++)
        changed |= join(names, first + i, ((const int32_t *)c.col)[e]);
    status = sley_comm_allreduce(comm, SLEY_MIN, names, (int)j->n);
    if (status == SLEY_OK)
      status = sley_comm_allreduce(comm, SLEY_MAX, &changed, 1);
  }
  return status;
}

static sley_status cluster(sley_comm *comm, void *arg) {
  job *j = arg;
  const int me = sley_comm_rank(comm);
  sley_matrix *block = NULL, *p = NULL, *square = NULL;
  int64_t *names = malloc((size_t)j->n * sizeof *names), moves = INT64_MAX;
  sley_spgemm_options options = SLEY_SPGEMM_OPTIONS_INIT;
  options.comm = comm;
  options.algo = "tile-two-level";
  options.a_begin = options.b_begin = j->begin;
  sley_status status = names ? SLEY_OK : SLEY_ERR_MEMORY;
  if (status == SLEY_OK)
    status = sley_matrix_row_block(j->graph, j->begin[me], j->begin[me + 1] - j->begin[me], &block);
  if (status == SLEY_OK)
    status = start(block, j->begin[me], &p);
  int round = 0;
  for (; status == SLEY_OK && round < ROUNDS && moves > (int64_t)(STILL * 1e12); round++) {
    double mine = 0;
    status = sley_spgemm(p, p, &options, &square, NULL);
    sley_matrix_destroy(p);
    p = NULL;
    if (status == SLEY_OK)
      status = inflate_rows(square, &mine, &p);
    sley_matrix_destroy(square);
    square = NULL;
    moves = (int64_t)(mine * 1e12);
    if (status == SLEY_OK)
      status = sley_comm_allreduce(comm, SLEY_MAX, &moves, 1);
  }
  if (status == SLEY_OK)
    status = name_clusters(comm, j, p, names);
  for (int64_t i = 0; status == SLEY_OK && me == 0 && i < j->n; i++)
    j->by_ranks[i] = names[i];
  j->rounds = me == 0 ? round : j->rounds;
  sley_matrix_destroy(p);
  sley_matrix_destroy(block);
  free(names);
  return status;
}

/* ---- the graph */

/* A graph whose vertices have many neighbours in their own group and few in others: vertex i is in group
 * i % GROUPS. */
static sley_status plant(sley_matrix **out) {
  static int64_t rowptr[PLANTED + 1];
  static int32_t col[PLANTED * PLANTED];
  static double val[PLANTED * PLANTED];
  int64_t at = 0;
  for (int i = 0; i < PLANTED; i++) {
    for (int k = 0; k < PLANTED; k++) {
      const unsigned low = (unsigned)(i < k ? i : k), high = (unsigned)(i < k ? k : i);
      const unsigned drawn = (low * 2654435761U ^ high * 2246822519U) * 3266489917U >> 16;
      if (i != k && drawn % 1000 < (i % GROUPS == k % GROUPS ? 500 : 10)) {
        col[at] = k;
        val[at++] = 1;
      }
    }
    rowptr[i + 1] = at;
  }
  const sley_csr csr = {PLANTED, PLANTED, rowptr, col, val, SLEY_I32, SLEY_F64};
  return sley_matrix_from_csr(&csr, SLEY_COPY, out);
}

static sley_status run(job *j, const char *name) {
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  sley_csr a = {0};
  ranks.ranks = RANKS;
  ranks.workgroup = 2;
  sley_status status = name ? sley_matrix_read(name, NULL, &j->graph) : plant(&j->graph);
  if (status == SLEY_OK)
    status = sley_matrix_csr(j->graph, &a);
  if (status == SLEY_OK && (a.rows != a.cols || a.rows > MOST || a.index != SLEY_I32)) {
    fprintf(stderr, "give a square matrix of at most %d rows\n", MOST);
    return SLEY_ERR_ARG;
  }
  if (status != SLEY_OK)
    return status;
  j->n = a.rows;
  j->by_ranks = calloc((size_t)j->n + 1, sizeof *j->by_ranks);
  j->by_one = calloc((size_t)j->n + 1, sizeof *j->by_one);
  double *p = calloc((size_t)(j->n * j->n) + 1, sizeof *p),
         *square = calloc((size_t)(j->n * j->n) + 1, sizeof *p);
  status =
      j->by_ranks && j->by_one && p && square ? sley_partition_equal(j->n, RANKS, j->begin) : SLEY_ERR_MEMORY;
  if (status == SLEY_OK)
    status = sley_run_ranks(&ranks, cluster, j);
  if (status == SLEY_OK)
    cluster_alone(j, &a, p, square);
  free(p);
  free(square);
  return status;
}

int main(int argc, char **argv) {
  job j = {0};
  int64_t clusters = 0, wrong = 0, lost = 0;
  const sley_status status = run(&j, argc > 1 ? argv[1] : NULL);
  for (int64_t i = 0; status == SLEY_OK && i < j.n; i++) {
    clusters += j.by_ranks[i] == i;
    wrong += j.by_ranks[i] != j.by_one[i];
    lost += argc == 1 && j.by_ranks[i] != i % GROUPS;
  }
  if (status == SLEY_OK)
    printf("%lld clusters of %lld vertices after %d rounds by %d ranks; %lld vertices are in another cluster "
           "than by one thread, %lld in another than planted\n",
           (long long)clusters, (long long)j.n, j.rounds, RANKS, (long long)wrong, (long long)lost);
  else
    fprintf(stderr, "%s: %s\n", sley_status_name(status), sley_last_error());
  sley_matrix_destroy(j.graph);
  free(j.by_ranks);
  free(j.by_one);
  return status == SLEY_OK && wrong == 0 && lost == 0 ? 0 : 1;
}
