/* SPDX-License-Identifier: Apache-2.0 */
/* Values that tests set in place of values that the library computes. The library never writes them. */
#ifndef SLEY_BASE_OVERRIDES_H
#define SLEY_BASE_OVERRIDES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum sl_override_signals { SL_SIGNALS_COMPUTED, SL_SIGNALS_ON, SL_SIGNALS_OFF } sl_override_signals;

/* Values that tests set; 0: nothing is replaced. */
typedef struct sl_override_values {
  int64_t stage_bytes;         /* the least bytes of a message of halo-pipelined and cover */
  int64_t piece_bytes;         /* the bytes of a piece of the halo on devices */
  bool own_first;              /* devices sum the entries of their own rows of X first */
  bool aligns;                 /* devices copy X to aligned rows whatever that costs */
  int32_t fetch_rows;          /* the rows that rowwise fetches together */
  sl_override_signals signals; /* whether devices of a workgroup signal each other */
} sl_override_values;

/* The values. A test sets them before ranks start; processes that are ranks get them by the fork. */
extern sl_override_values sl_overrides;

#endif
