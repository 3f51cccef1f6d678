/* SPDX-License-Identifier: Apache-2.0 */
/* Products that keep what their kernels prepare, on the cores of this process. */
#ifndef SLEY_OPS_MULTIPLY_H
#define SLEY_OPS_MULTIPLY_H

#include "sley_multiply.h"

#include "device/device.h"

/* The same as sley_multiply_with; options are complete and checked, with the leading dimensions. */
sley_status sl_multiply(sley_matrix *matrix, int64_t k, const sley_multiply_options *options, const void *x,
                        void *y);

/* The same as sley_multiply_csr, likewise. */
sley_status sl_multiply_arrays(const sley_csr *csr, int64_t k, const sley_multiply_options *options,
                               const void *x, void *y);

/* Products without preparation, for values of 32 and 64 bits. They allocate nothing, have the bits of every
 * other way, and check row pointers and columns on the way. Errors: SLEY_ERR_INPUT, naming the first bad row;
 * Y is then undefined. */

/* In multiply_vector.c: y = A x for one column. sl_multiply_is_vector tells whether it serves a product. */
bool sl_multiply_is_vector(sley_dtype dtype, int64_t k, const sley_multiply_options *o);
sley_status sl_multiply_vector(const sley_csr *a, sl_team *team, const void *x, void *y);

/* In multiply_scatter.c: Y = alpha A^T X + beta Y: each entry is added to its row of Y, in the order of the
 * entries. */
sley_status sl_multiply_scatter(const sley_csr *a, sl_team *team, int64_t k, const sley_multiply_options *o,
                                const void *x, void *y);

/* The same as the public functions. */
void sl_kept_get(const sley_matrix *matrix, sley_kept_info *out);
void sl_kept_clear(const sley_matrix *matrix);
void sl_kept_set_limit(int64_t bytes);

/* Called in a forked child, by its only thread, with the lock held. */
void sl_kept_forked(void);

/* In multiply_teams.c. One lock for all that this process keeps: sl_kept_lock and sl_kept_unlock. */
void sl_kept_lock(void);
void sl_kept_unlock(void);
void sl_kept_wait(void);   /* releases the lock until another thread calls sl_kept_notify */
void sl_kept_notify(void); /* wakes all that wait */

/* Takes a queue of the CPU with that many threads, which no other product uses; waits while all
 * SLEY_MULTIPLY_TEAMS are taken. The lock is held. Errors: SLEY_ERR_MEMORY. */
sley_status sl_team_queue_take(int threads, sl_queue **out);
void sl_team_queue_return(sl_queue *queue);

/* The CPU as a device without threads of its own, which exists until the process ends, also in a forked
 * child; NULL if it could not be opened. The lock is held. */
sl_device *sl_kept_device(void);

#endif
