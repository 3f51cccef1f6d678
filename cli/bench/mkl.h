/* SPDX-License-Identifier: Apache-2.0 */
/* Intel MKL's sparse products as a rival of `sley bench`: the inspector-executor functions of libmkl_rt,
 * which is loaded when it is asked for. Nothing of MKL is needed to build. */
#ifndef SLEY_CLI_BENCH_MKL_H
#define SLEY_CLI_BENCH_MKL_H

#include <stdbool.h>

#include "sley.h"

typedef struct cli_mkl cli_mkl;
typedef struct cli_mkl_product cli_mkl_product;

/* Loads file, or, with NULL, the libmkl_rt that the system's loader finds, for products by `threads` threads
 * (0: as many as MKL takes). *out is NULL where it cannot be loaded, and *why says so: static, or the
 * loader's text, valid until the next call. The library stays loaded as long as the process. False: file was
 * named, and cannot be used. */
bool cli_mkl_load(const char *file, int threads, cli_mkl **out, const char **why);
const char *cli_mkl_path(const cli_mkl *mkl);
void cli_mkl_free(cli_mkl *mkl);

/* A matrix in MKL's form, with its hint for k columns, and optimised. NULL where MKL cannot serve it: values
 * of 16 bits, columns of 64 bits, more than 2^31 - 1 entries, MKL refuses, or memory is short. The arrays of
 * csr outlive it.
 */
cli_mkl_product *cli_mkl_prepare(const cli_mkl *mkl, const sley_csr *csr, int64_t k);

/* Y = A X, k columns without gaps; at k = 1 by the function for a vector. False: MKL reports an error. */
bool cli_mkl_run(const cli_mkl_product *product, const void *x, void *y);
void cli_mkl_release(cli_mkl_product *product); /* accepts NULL */

#endif
