/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of a row block under a cover: the entries whose rows of X the rank owns or receives. The other
 * entries are computed by other ranks. */
#ifndef SLEY_ALGO_COVER_REST_H
#define SLEY_ALGO_COVER_REST_H

#include "plan/inspect.h"

/* Copies the rest of the block of `ins` to *block, without values in a dry plan (dry), and inspects it. The
 * cover must have been chosen. The caller frees first *rest by sl_inspection_free, then *block by
 * sl_matrix_destroy; on error there is nothing to free. Errors: as sl_inspect_checked. Collective, agreed. */
sley_status sl_cover_rest(const sl_inspection *ins, bool dry, sley_matrix **block, sl_inspection *rest);

#endif
