/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the row-wise kernel that a user may choose: the alternatives of MGG (Wang et al., OSDI 2023)
 * that its figures 10 and 11 compare. Zeros are the defaults. */
#ifndef SLEY_DEVICE_ROWWISE_CHOICE_H
#define SLEY_DEVICE_ROWWISE_CHOICE_H

#include "base/status.h"

/* Threads that load a remote row together. */
typedef enum sl_rowwise_get { SL_GET_BY_WARP, SL_GET_BY_THREAD, SL_GET_BY_BLOCK } sl_rowwise_get;

/* Largest figures of a shape that a search tries (MGG, section 6). */
enum { SL_NEIGHBOUR_PS_MOST = 32, SL_NEIGHBOUR_DIST_MOST = 16, SL_NEIGHBOUR_WPB_MOST = 16 };

typedef struct sl_rowwise_choice {
  int ps, dist, wpb; /* figures of the shape; 0: found by a search */
  bool whole;        /* partitions are whole halves of rows; ps is not used */
  bool apart;        /* a warp takes partitions of one kind only; the local partitions come first */
  bool shared;       /* sums and remote rows are in shared memory, not in registers */
  sl_rowwise_get get;
} sl_rowwise_choice;

extern const sley_parameter sl_rowwise_parameters[];

/* Reads the parameters of an algorithm "rowwise" or "rowwise:KEY=VALUE,...". Errors: SLEY_ERR_ARG. */
sley_status sl_rowwise_choice_read(const char *text, sl_rowwise_choice *out);

enum { SL_ROWWISE_CHOICE_BYTES = 128 }; /* bytes of a choice written as text */

/* Writes the switches of a choice, without its shape, as text that sl_rowwise_choice_read accepts. */
void sl_rowwise_choice_describe(const sl_rowwise_choice *choice, char text[SL_ROWWISE_CHOICE_BYTES]);

#endif
