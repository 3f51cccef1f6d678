/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for Intel MKL's sparse products where `sley bench` is tested: the functions that cli/bench/mkl.c takes,
 * with their documented arguments, by plain loops. MOCK_MKL=wrong: its products by a matrix are wrong;
 * MOCK_MKL=refuses: it optimises no matrix. */
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 6, OPERATION_NONE = 10, ROW_MAJOR = 101, GENERAL = 20 };

typedef struct description {
  int type, mode, diagonal;
} description;

typedef struct matrix {
  int rows, wide;
  const int *begin, *end, *col;
  const void *val;
} matrix;

static int asked_for(const char *what) {
  const char *value = getenv("MOCK_MKL");
  return value && strcmp(value, what) == 0;
}

static int create(matrix **out, int base, int rows, const int *begin, const int *end, const int *col,
                  const void *val, int wide) {
  matrix *made = base == 0 ? malloc(sizeof *made) : NULL;
  if (!made)
    return NOT_SUPPORTED;
  *made = (matrix){rows, wide, begin, end, col, val};
  *out = made;
  return SUCCESS;
}

/* What the header of MKL declares elsewhere. */
#define EXPORT __attribute__((visibility("default")))
EXPORT void MKL_Set_Num_Threads(int threads);
EXPORT int MKL_Set_Interface_Layer(int layer);
EXPORT int mkl_sparse_s_create_csr(matrix **out, int base, int rows, int cols, int *begin, int *end, int *col,
                                   float *val);
EXPORT int mkl_sparse_d_create_csr(matrix **out, int base, int rows, int cols, int *begin, int *end, int *col,
                                   double *val);
EXPORT int mkl_sparse_set_mm_hint(matrix *a, int operation, description of, int layout, int k, int calls);
EXPORT int mkl_sparse_set_mv_hint(matrix *a, int operation, description of, int calls);
EXPORT int mkl_sparse_optimize(matrix *a);
EXPORT int mkl_sparse_destroy(matrix *a);
EXPORT int mkl_sparse_s_mm(int operation, float alpha, matrix *a, description of, int layout, const float *x,
                           int k, int ldx, float beta, float *y, int ldy);
EXPORT int mkl_sparse_d_mm(int operation, double alpha, matrix *a, description of, int layout,
                           const double *x, int k, int ldx, double beta, double *y, int ldy);
EXPORT int mkl_sparse_s_mv(int operation, float alpha, matrix *a, description of, const float *x, float beta,
                           float *y);
EXPORT int mkl_sparse_d_mv(int operation, double alpha, matrix *a, description of, const double *x,
                           double beta, double *y);

void MKL_Set_Num_Threads(int threads) {
  (void)threads;
}

int MKL_Set_Interface_Layer(int layer) {
  return layer;
}

int mkl_sparse_s_create_csr(matrix **out, int base, int rows, int cols, int *begin, int *end, int *col,
                            float *val) {
  (void)cols;
  return create(out, base, rows, begin, end, col, val, 0);
}

int mkl_sparse_d_create_csr(matrix **out, int base, int rows, int cols, int *begin, int *end, int *col,
                            double *val) {
  (void)cols;
  return create(out, base, rows, begin, end, col, val, 1);
}

int mkl_sparse_set_mm_hint(matrix *a, int operation, description of, int layout, int k, int calls) {
  (void)a, (void)calls;
  return operation == OPERATION_NONE && of.type == GENERAL && layout == ROW_MAJOR && k > 1 ? SUCCESS
                                                                                           : NOT_SUPPORTED;
}

int mkl_sparse_set_mv_hint(matrix *a, int operation, description of, int calls) {
  (void)a, (void)calls;
  return operation == OPERATION_NONE && of.type == GENERAL ? SUCCESS : NOT_SUPPORTED;
}

int mkl_sparse_optimize(matrix *a) {
  (void)a;
  return asked_for("refuses") ? NOT_SUPPORTED : SUCCESS;
}

int mkl_sparse_destroy(matrix *a) {
  free(a);
  return SUCCESS;
}

/* Y = A X; Y is not read, as beta is 0. */
static int multiply(const matrix *a, const void *x, int k, int ldx, void *y, int ldy, double error) {
  for (int i = 0; i < a->rows; i++)
    for (int c = 0; c < k; c++) {
      double sum = error;
      for (int e = a->begin[i]; e < a->end[i]; e++) {
        size_t at = (size_t)a->col[e] * (size_t)ldx + (size_t)c;
        sum += a->wide ? ((const double *)a->val)[e] * ((const double *)x)[at]
                       : (double)((const float *)a->val)[e] * (double)((const float *)x)[at];
      }
      size_t to = (size_t)i * (size_t)ldy + (size_t)c;
      if (a->wide)
        ((double *)y)[to] = sum;
      else
        ((float *)y)[to] = (float)sum;
    }
  return SUCCESS;
}

int mkl_sparse_s_mm(int operation, float alpha, matrix *a, description of, int layout, const float *x, int k,
                    int ldx, float beta, float *y, int ldy) {
  if (operation != OPERATION_NONE || alpha != 1 || of.type != GENERAL || layout != ROW_MAJOR || beta != 0)
    return NOT_SUPPORTED;
  return multiply(a, x, k, ldx, y, ldy, asked_for("wrong"));
}

int mkl_sparse_d_mm(int operation, double alpha, matrix *a, description of, int layout, const double *x,
                    int k, int ldx, double beta, double *y, int ldy) {
  if (operation != OPERATION_NONE || alpha != 1 || of.type != GENERAL || layout != ROW_MAJOR || beta != 0)
    return NOT_SUPPORTED;
  return multiply(a, x, k, ldx, y, ldy, asked_for("wrong"));
}

int mkl_sparse_s_mv(int operation, float alpha, matrix *a, description of, const float *x, float beta,
                    float *y) {
  if (operation != OPERATION_NONE || alpha != 1 || of.type != GENERAL || beta != 0)
    return NOT_SUPPORTED;
  return multiply(a, x, 1, 1, y, 1, 0);
}

int mkl_sparse_d_mv(int operation, double alpha, matrix *a, description of, const double *x, double beta,
                    double *y) {
  if (operation != OPERATION_NONE || alpha != 1 || of.type != GENERAL || beta != 0)
    return NOT_SUPPORTED;
  return multiply(a, x, 1, 1, y, 1, 0);
}
