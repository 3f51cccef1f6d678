/* SPDX-License-Identifier: Apache-2.0 */
/* Intel MKL's sparse products as a rival in `sley bench`: the inspector-executor functions of libmkl_rt,
 * which is loaded at run time. The build does not need MKL. */
#ifndef SLEY_CLI_BENCH_MKL_H
#define SLEY_CLI_BENCH_MKL_H

#include <stdbool.h>

#include "sley.h"

typedef struct cli_mkl cli_mkl;
typedef struct cli_mkl_product cli_mkl_product;

/* Loads the library `file` (NULL: the libmkl_rt that the dynamic loader finds), which will use `threads`
 * threads (0: MKL chooses). If it cannot be loaded, *out is NULL and *why is the reason: static text, or the
 * loader's text, valid until the next call. The library stays loaded until the process ends. Returns false
 * only if a named file cannot be used. */
bool cli_mkl_load(const char *file, int threads, cli_mkl **out, const char **why);
const char *cli_mkl_path(const cli_mkl *mkl);
void cli_mkl_free(cli_mkl *mkl);

/* Creates and optimises MKL's form of a matrix for products with k columns. The arrays of csr must outlive
 * it. Returns NULL if values have 16 bits, columns have 64 bits, there are more than 2^31 - 1 entries, MKL
 * refuses the matrix, or memory is short. */
cli_mkl_product *cli_mkl_prepare(const cli_mkl *mkl, const sley_csr *csr, int64_t k);

/* Y = A X with k columns, leading dimension k; k = 1 calls the matrix-vector function. Returns false if MKL
 * reports an error. */
bool cli_mkl_run(const cli_mkl_product *product, const void *x, void *y);
void cli_mkl_release(cli_mkl_product *product); /* accepts NULL */

#endif
