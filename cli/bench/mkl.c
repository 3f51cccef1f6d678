/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/mkl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Constants and types of oneMKL's mkl_spblas.h with 32-bit integers (oneMKL's documentation,
 * "Inspector-executor Sparse BLAS Routines"). */
enum { OPERATION_NONE = 10, GENERAL = 20, ROW_MAJOR = 101, BASE_ZERO = 0, SUCCESS = 0, CALLS = 1000 };
typedef struct description {
  int type, mode, diagonal;
} description;
typedef struct handle *sparse; /* opaque */

typedef int create_f32(sparse *, int, int, int, int *, int *, int *, float *);
typedef int create_f64(sparse *, int, int, int, int *, int *, int *, double *);
typedef int mm_f32(int, float, sparse, description, int, const float *, int, int, float, float *, int);
typedef int mm_f64(int, double, sparse, description, int, const double *, int, int, double, double *, int);
typedef int mv_f32(int, float, sparse, description, const float *, float, float *);
typedef int mv_f64(int, double, sparse, description, const double *, double, double *);

struct cli_mkl {
  char path[512];
  create_f32 *create_f32;
  create_f64 *create_f64;
  mm_f32 *mm_f32;
  mm_f64 *mm_f64;
  mv_f32 *mv_f32;
  mv_f64 *mv_f64;
  int (*mm_hint)(sparse, int, description, int, int, int);
  int (*mv_hint)(sparse, int, description, int);
  int (*optimize)(sparse);
  int (*destroy)(sparse);
};

struct cli_mkl_product {
  const cli_mkl *mkl;
  sparse handle;
  int *rowptr;
  int k;
  sley_dtype dtype;
};

static const description general = {GENERAL, 0, 0};

/* Looks up the functions. Returns false if one is missing. */
static bool find_functions(void *library, cli_mkl *mkl) {
  const struct {
    const char *name;
    void *place;
  } functions[] = {{"mkl_sparse_s_create_csr", &mkl->create_f32},
                   {"mkl_sparse_d_create_csr", &mkl->create_f64},
                   {"mkl_sparse_s_mm", &mkl->mm_f32},
                   {"mkl_sparse_d_mm", &mkl->mm_f64},
                   {"mkl_sparse_s_mv", &mkl->mv_f32},
                   {"mkl_sparse_d_mv", &mkl->mv_f64},
                   {"mkl_sparse_set_mm_hint", &mkl->mm_hint},
                   {"mkl_sparse_set_mv_hint", &mkl->mv_hint},
                   {"mkl_sparse_optimize", &mkl->optimize},
                   {"mkl_sparse_destroy", &mkl->destroy}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (!(*(void **)functions[i].place = dlsym(library, functions[i].name)))
      return false;
  return true;
}

/* Sets 32-bit integers and the number of threads; must precede any other call of MKL. */
static void configure(void *library, int threads) {
  int (*interface)(int);
  void (*set_threads)(int);
  *(void **)&interface = dlsym(library, "MKL_Set_Interface_Layer");
  *(void **)&set_threads = dlsym(library, "MKL_Set_Num_Threads");
  if (interface)
    (void)interface(0);
  if (set_threads && threads > 0)
    set_threads(threads);
}

bool cli_mkl_load(const char *file, int threads, cli_mkl **out, const char **why) {
  static const char *const names[] = {"libmkl_rt.so.2", "libmkl_rt.so.3", "libmkl_rt.so", NULL};
  const char *const named[] = {file, NULL};
  void *library = NULL;
  const char *path = NULL;
  *out = NULL;
  *why = "libmkl_rt was not found";
  setenv("KMP_BLOCKTIME", "1", 0); /* ms that MKL's idle threads spin before they sleep, so that they free the
                                      cores for other contenders */
  for (const char *const *name = file ? named : names; *name && !library; name++) {
    library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    path = *name;
  }
  if (!library) {
    *why = file ? dlerror() : *why;
    return !file;
  }
  cli_mkl *mkl = calloc(1, sizeof *mkl);
  if (!mkl || !find_functions(library, mkl)) {
    *why = mkl ? "it lacks functions of MKL's inspector-executor sparse BLAS" : "out of memory";
    free(mkl);
    dlclose(library);
    return !file;
  }
  configure(library, threads);
  snprintf(mkl->path, sizeof mkl->path, "%s", path);
  *out = mkl;
  return true;
}

const char *cli_mkl_path(const cli_mkl *mkl) {
  return mkl->path;
}

void cli_mkl_free(cli_mkl *mkl) {
  free(mkl);
}

static bool suits(const sley_csr *csr, int64_t k) {
  return (csr->dtype == SLEY_F32 || csr->dtype == SLEY_F64) && csr->index == SLEY_I32 &&
         csr->rows <= INT32_MAX && csr->cols <= INT32_MAX && csr->rowptr[csr->rows] <= INT32_MAX &&
         k <= INT32_MAX;
}

static int create(const cli_mkl *mkl, const sley_csr *csr, int *rowptr, sparse *out) {
  int rows = (int)csr->rows, cols = (int)csr->cols, *col = (int *)csr->col;
  if (csr->dtype == SLEY_F64)
    return mkl->create_f64(out, BASE_ZERO, rows, cols, rowptr, rowptr + 1, col, (double *)csr->val);
  return mkl->create_f32(out, BASE_ZERO, rows, cols, rowptr, rowptr + 1, col, (float *)csr->val);
}

static int hint(const cli_mkl *mkl, sparse handle, int k) {
  return k == 1 ? mkl->mv_hint(handle, OPERATION_NONE, general, CALLS)
                : mkl->mm_hint(handle, OPERATION_NONE, general, ROW_MAJOR, k, CALLS);
}

cli_mkl_product *cli_mkl_prepare(const cli_mkl *mkl, const sley_csr *csr, int64_t k) {
  if (!suits(csr, k))
    return NULL;
  cli_mkl_product *product = calloc(1, sizeof *product);
  int *rowptr = malloc((size_t)(csr->rows + 1) * sizeof *rowptr);
  if (!product || !rowptr) {
    free(rowptr);
    free(product);
    return NULL;
  }
  for (int64_t i = 0; i <= csr->rows; i++)
    rowptr[i] = (int)csr->rowptr[i];
  *product = (cli_mkl_product){.mkl = mkl, .rowptr = rowptr, .k = (int)k, .dtype = csr->dtype};
  if (create(mkl, csr, rowptr, &product->handle) != SUCCESS ||
      hint(mkl, product->handle, (int)k) != SUCCESS || mkl->optimize(product->handle) != SUCCESS) {
    cli_mkl_release(product);
    return NULL;
  }
  return product;
}

static int run_f32(const cli_mkl_product *p, const float *x, float *y) {
  if (p->k == 1)
    return p->mkl->mv_f32(OPERATION_NONE, 1, p->handle, general, x, 0, y);
  return p->mkl->mm_f32(OPERATION_NONE, 1, p->handle, general, ROW_MAJOR, x, p->k, p->k, 0, y, p->k);
}

static int run_f64(const cli_mkl_product *p, const double *x, double *y) {
  if (p->k == 1)
    return p->mkl->mv_f64(OPERATION_NONE, 1, p->handle, general, x, 0, y);
  return p->mkl->mm_f64(OPERATION_NONE, 1, p->handle, general, ROW_MAJOR, x, p->k, p->k, 0, y, p->k);
}

bool cli_mkl_run(const cli_mkl_product *product, const void *x, void *y) {
  return (product->dtype == SLEY_F64 ? run_f64(product, x, y) : run_f32(product, x, y)) == SUCCESS;
}

void cli_mkl_release(cli_mkl_product *product) {
  if (!product)
    return;
  if (product->handle)
    (void)product->mkl->destroy(product->handle);
  free(product->rowptr);
  free(product);
}
