/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses and errors. The function that first detects an error writes its text; callers pass it on. An error
 * consists of a status, the rank that it is about, and a text; the rank's prefix is added only where the
 * message is read. */
#ifndef SLEY_BASE_STATUS_H
#define SLEY_BASE_STATUS_H

#include <stdarg.h>

#include "sley.h"

/* The longest text of an error, with its terminating 0. A longer one ends in "...". */
enum { SL_ERROR_TEXT = 983 };

/* An error without pointers, so that it can lie in shared memory and travel between ranks as bytes. */
typedef struct sl_error {
  int32_t status;  /* a sley_status */
  int32_t rank;    /* rank that the error is about; -1: the caller, or no particular rank */
  uint8_t noticed; /* that rank has not reported it: others noticed that it has ended or does not answer */
  char text[SL_ERROR_TEXT]; /* message without the rank's prefix */
} sl_error;

/* Sets the calling thread's error (its text states the problem, the place and the remedy), about no
 * particular rank, and returns status. The text is escaped as by sley_printable. */
sley_status sl_fail(sley_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets an error that this rank has noticed about another rank: it has ended, or does not answer. Returns
 * SLEY_ERR_PEER. */
sley_status sl_fail_peer(int rank, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts text, for example a file name, in front of the text of the thread's error; returns status. */
sley_status sl_fail_prefix(sley_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Saves the thread's last error, or none, for sl_error_restore: around work that may set another error. */
void sl_error_save(sl_error *out);

/* Copies the thread's last error, with status, to *out; if there is no text, uses the status's name. For
 * SLEY_OK there is no error. */
void sl_error_take(sley_status status, sl_error *out);

/* Makes error the thread's last error, unchanged; returns its status. */
sley_status sl_error_restore(const sl_error *error);

/* Makes the error that rank `rank` has reported the thread's last error. It is about that rank, or, if theirs
 * is SLEY_ERR_PEER, about the rank that theirs is about. Returns SLEY_ERR_PEER. */
sley_status sl_error_of_peer(int rank, const sl_error *theirs);

/* For the thread or process that started the ranks: makes the error of rank `rank` its last error, with its
 * status; if it is about no particular rank, it becomes about that rank. Returns the status. */
sley_status sl_error_on(int rank, const sl_error *theirs);

/* Makes an error that was received over a socket safe: terminates its text, and corrects invalid fields, such
 * as a rank that is not below `ranks`. */
void sl_error_check(sl_error *error, int ranks);

/* As snprintf, but a text that does not fit ends in "...", between characters of UTF-8. room > 0. */
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
