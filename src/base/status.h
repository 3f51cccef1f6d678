/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses and the thread's last error. The first to detect an error writes the message; callers pass it on.
 */
#ifndef SLEY_BASE_STATUS_H
#define SLEY_BASE_STATUS_H

#include "sley.h"

/* Sets the calling thread's message (what, where, what to do) and returns status. Control characters, which
 * only quoted bytes of a file can bring in, become question marks. */
sley_status sl_fail(sley_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts text in front of the current message, e.g. "rank 3: "; returns status. */
sley_status sl_fail_prefix(sley_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns from the enclosing function on an error. */
#define SL_TRY(call)                                                                                         \
  do {                                                                                                       \
    sley_status sl_try_status_ = (call);                                                                     \
    if (sl_try_status_ != SLEY_OK)                                                                           \
      return sl_try_status_;                                                                                 \
  } while (0)

/* Stores the status and jumps to the label that cleans up. */
#define SL_TRY_GOTO(status, call, label)                                                                     \
  do {                                                                                                       \
    (status) = (call);                                                                                       \
    if ((status) != SLEY_OK)                                                                                 \
      goto label;                                                                                            \
  } while (0)

#endif
