/* SPDX-License-Identifier: Apache-2.0
 *
 * Sley: sparse matrix products across ranks. This header includes all of its interface but
 * sley_gnn.h, sley_tile.h, sley_remote.h and sley_roofline.h; each of its parts can be included alone.
 *
 *   sley_base.h        version, statuses and errors, types of numbers, host memory
 *   sley_matrix.h      matrices and their files, generators, orderings, partitions of rows
 *   sley_comm.h        ranks: how they start, meet and end, and their memory
 *   sley_spmm.h        Y = A X: machine descriptions, plans, halos
 *   sley_multiply.h    Y = A X in one call, on the cores of this process
 *   sley_spgemm.h      C = A B, all sparse
 *   sley_check.h       checks of results against products in float64
 *   sley_graph.h       operations of graph networks on values of edges
 *   sley_dense.h       dense parts of graph networks
 *   sley_collective.h  collectives, dense and sparse
 *   sley_info.h        backends of this build and of the machine
 *   sley_gnn.h         training of graph networks
 *   sley_tile.h        matrices in tiles on one-sided memory, and their products
 *   sley_remote.h      one-sided words, queues and sums of tiles
 *   sley_roofline.h    the bound on such a product, and its predicted time
 *
 * Words. A is sparse, m x n, in CSR. X is dense n x k, Y dense m x k, both row-major with a leading dimension
 * given in elements. A rank owns a row block of A and Y, and a row block of X. k is the feature width.
 *
 * Conventions. Every function that can fail returns a sley_status; on anything but SLEY_OK the calling
 * thread's sley_last_error() says what failed, where, and what to do. "Collective" means that every rank of
 * the comm must call the function, in the same order, with agreeing arguments; all other functions are local.
 * Handles are opaque; destroy functions accept NULL. Strings and arrays returned by pointer belong to the
 * handle.
 *
 * Structs. One that begins with struct_size grows from version to version: start it from its INIT macro. The
 * library accepts any size up to its own, with defaults for the fields that an older header did not have, and
 * refuses a larger size with SLEY_ERR_ARG. All other structs (sley_csr and structs that Sley fills in) keep
 * their size and fields as long as SLEY_VERSION_MAJOR stays; zero their memory before you fill one in, so
 * that a field you do not name is 0.
 */
#ifndef SLEY_H
#define SLEY_H

#include "sley_base.h"
#include "sley_matrix.h"
#include "sley_comm.h"
#include "sley_spmm.h"
#include "sley_multiply.h"
#include "sley_spgemm.h"
#include "sley_check.h"
#include "sley_graph.h"
#include "sley_dense.h"
#include "sley_collective.h"
#include "sley_info.h"

#endif
