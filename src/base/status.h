/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses and errors. The first to detect an error writes its text; callers pass it on. An error is a
 * status, the rank that it is about, and a text; the rank's prefix is added where the message is read, and
 * nowhere else. */
#ifndef SLEY_BASE_STATUS_H
#define SLEY_BASE_STATUS_H

#include <stdarg.h>

#include "sley.h"

/* The longest text of an error, with its terminating 0. A longer one ends in "...". */
enum { SL_ERROR_TEXT = 983 };

/* Without pointers, so that it can lie in shared memory and travel between ranks as bytes. */
typedef struct sl_error {
  int32_t status; /* a sley_status */
  int32_t rank;   /* that the error is about; -1: the caller's own, or no rank in particular */
  uint8_t
      noticed; /* that rank has not reported it: others have noticed that it has ended or does not answer */
  char text[SL_ERROR_TEXT]; /* without the rank */
} sl_error;

/* Sets the calling thread's error (what, where, what to do), about no other rank, and returns status. Names
 * and quoted bytes of a file are shown as sley_printable does. */
sley_status sl_fail(sley_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for what this rank has noticed of another: that it has ended, or does not answer. Returns
 * SLEY_ERR_PEER. */
sley_status sl_fail_peer(int rank, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts text in front of the text of the thread's error, e.g. a file's name; returns status. */
sley_status sl_fail_prefix(sley_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The thread's last error, or none, to be put back by sl_error_restore: around work that may meet another. */
void sl_error_save(sl_error *out);

/* The thread's last error as the reason for status; the status's name where there is no text. SLEY_OK: none.
 */
void sl_error_take(sley_status status, sl_error *out);

/* Makes error the thread's last one, as it is; returns its status. */
sley_status sl_error_restore(const sl_error *error);

/* Makes what rank `rank` has reported the thread's last error: that rank has failed, or, where theirs is
 * about another rank already, that one has. Returns SLEY_ERR_PEER. */
sley_status sl_error_of_peer(int rank, const sl_error *theirs);

/* For who has started the ranks: makes the error of rank `rank` the thread's last one, with its status, about
 * that rank if it is about no other. Returns the status. */
sley_status sl_error_on(int rank, const sl_error *theirs);

/* Makes an error that has come over a socket safe: ends its text, and corrects what cannot be, such as a rank
 * that is none of `ranks`. */
void sl_error_check(sl_error *error, int ranks);

/* As snprintf; but a text that does not fit ends in "...", between characters of UTF-8. room > 0. */
void sl_text_format(char *out, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));
void sl_text_vformat(char *out, size_t room, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

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
