/* SPDX-License-Identifier: Apache-2.0 */
/* A A for a sparse matrix in GPU memory, by a kernel of a given name: tests/perf/sparse_product.c, which uses
 * the library's internals. */
#ifndef SLEY_BENCH_GPU_SPARSE_PRODUCT_H
#define SLEY_BENCH_GPU_SPARSE_PRODUCT_H

#include "sley.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A GPU and a queue of its own. The caller closes it with sparse_product_close. */
typedef struct sparse_product_place sparse_product_place;
sley_status sparse_product_open(int ordinal, sparse_product_place **out);
void sparse_product_close(sparse_product_place *place);

/* C, in GPU memory; freed by sparse_product_free. peak: most bytes allocated at a time, including C. */
typedef struct sparse_product {
  int64_t *rowptr;
  void *col, *val;
  int64_t nnz, products, peak;
} sparse_product;

/* a: arrays in GPU memory, with 64-bit row pointers. library: NULL for Sley's kernel, "cusparse", ... Waits
 * for the GPU. Errors: the kernel's. */
sley_status sparse_product_make(sparse_product_place *place, const sley_csr *a, const char *library,
                                sparse_product *out);
/* The same on several GPUs, each of which computes a run of C's rows, with about as many products: out[i] on
 * place[i], whose GPU has all of A in there[i]. host: A in host memory, by which the rows are divided. Waits
 * for the GPUs. */
sley_status sparse_product_make_together(sparse_product_place *const *place, int gpus, const sley_csr *host,
                                         const sley_csr *there, sparse_product *out);
void sparse_product_free(sparse_product_place *place, sparse_product *c);

#ifdef __cplusplus
}
#endif
#endif
