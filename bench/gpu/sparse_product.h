/* SPDX-License-Identifier: Apache-2.0 */
/* A A of a sparse matrix that lies in a GPU's memory, by a kernel that is named: tests/perf/sparse_product.c,
 * which looks inside the library. */
#ifndef SLEY_BENCH_GPU_SPARSE_PRODUCT_H
#define SLEY_BENCH_GPU_SPARSE_PRODUCT_H

#include "sley.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A GPU and a queue of its own. Ended by sparse_product_close. */
typedef struct sparse_product_place sparse_product_place;
sley_status sparse_product_open(int ordinal, sparse_product_place **out);
void sparse_product_close(sparse_product_place *place);

/* C, in the GPU's memory; freed by sparse_product_free. peak: bytes of C and of all that was taken to make
 * it. */
typedef struct sparse_product {
  int64_t *rowptr;
  void *col, *val;
  int64_t nnz, products, peak;
} sparse_product;

/* a: its arrays in the GPU's memory, row pointers of 64 bits. library: NULL for Sley's kernel, "cusparse",
 * ... Waits for the GPU. Errors: those of the kernel. */
sley_status sparse_product_make(sparse_product_place *place, const sley_csr *a, const char *library,
                                sparse_product *out);
/* The same on several GPUs, each of which makes a run of C's rows, of about as many products: out[i] on
 * place[i], whose GPU has all of A in there[i]. host: A in the host's memory, which the rows are cut by.
 * Waits for the GPUs. */
sley_status sparse_product_make_together(sparse_product_place *const *place, int gpus, const sley_csr *host,
                                         const sley_csr *there, sparse_product *out);
void sparse_product_free(sparse_product_place *place, sparse_product *c);

#ifdef __cplusplus
}
#endif
#endif
