/* SPDX-License-Identifier: Apache-2.0 */
/* Version, statuses and errors, types of numbers, host memory. */
#ifndef SLEY_BASE_H
#define SLEY_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLEY_VERSION_MAJOR 0
#define SLEY_VERSION_MINOR 1
#define SLEY_VERSION_PATCH 0

/* The library's version as "major.minor.patch". */
const char *sley_version(void);

/* The values are pinned: they never change between releases. */
typedef enum sley_status {
  SLEY_OK = 0,
  SLEY_ERR_ARG = 1,         /* an argument is wrong */
  SLEY_ERR_INPUT = 2,       /* a file or matrix is not valid */
  SLEY_ERR_MEMORY = 3,      /* an allocation failed */
  SLEY_ERR_IO = 4,          /* the system refused to read or write */
  SLEY_ERR_UNSUPPORTED = 5, /* a valid request that this build or backend cannot serve */
  SLEY_ERR_PEER = 6,        /* another rank failed */
  SLEY_ERR_OVERFLOW = 7,    /* a size does not fit its type */
  SLEY_ERR_INTERRUPTED = 8, /* sley_interrupt() was called */
  SLEY_ERR_INTERNAL = 9     /* an internal check of Sley failed: please report it */
} sley_status;

/* The status as a word, e.g. "SLEY_ERR_INPUT". Never NULL. */
const char *sley_status_name(sley_status status);

/* The message of the calling thread's last error; "" if there was none. Valid until the thread's next error.
 * At most SLEY_ERROR_BYTES with its terminating 0; a longer message is cut and ends in "...". An error about
 * another rank begins with "rank R failed: " if the status is SLEY_ERR_PEER, else with "rank R: ". */
const char *sley_last_error(void);
enum { SLEY_ERROR_BYTES = 1024 };

/* Writes a text of unknown origin, such as a file name, as one line that is safe to show: control characters,
 * characters that change the direction of text, and bytes that are not valid UTF-8 become escapes such as
 * "\n", "\x1b" and "\u202e"; all else stays, backslashes too. out has room for `room` bytes with the
 * terminating 0; a longer text is cut between characters. Returns the length of the whole result without the
 * 0, as snprintf does: the length of text if nothing in it is escaped. out may be NULL if room is 0. Error
 * messages are already escaped in this way. */
size_t sley_printable(const char *text, char *out, size_t room);

/* The rank that the calling thread's last error is about; -1 if it is about no particular rank, or about the
 * calling rank itself. */
int sley_last_error_rank(void);

/* Returns whether the rank that sley_last_error_rank returns has failed without reporting an error itself:
 * other ranks have noticed that its process has ended or does not answer. */
bool sley_last_error_noticed(void);

/* Asks every Sley call of this process to end with SLEY_ERR_INTERRUPTED: running calls, and calls made
 * before sley_interrupt_clear. Async-signal-safe. */
void sley_interrupt(void);

/* Withdraws sley_interrupt, for a process that goes on, such as an interpreter: calls work again. Call it
 * once the interrupted calls have returned; a call that is still running may continue. A comm whose call was
 * interrupted has failed. Returns whether sley_interrupt had been called. Async-signal-safe. */
bool sley_interrupt_clear(void);

/* Receives the progress of long work, such as "sorting rows" (work is static), and the share of it that is
 * done, within [0, 1]. Called by any thread, but by one at a time, and often: it should return soon, and must
 * not call Sley. */
typedef void (*sley_watch_fn)(void *context, const char *work, double share);

/* Names the function of this process that receives the progress of generating, reading, transposing,
 * symmetrising and permuting matrices, and of planning on rank 0; NULL: none. On return the function that was
 * named before is not running and is not called again. */
void sley_watch(sley_watch_fn fn, void *context);

/* Removes the unfinished output files of this process and of the ranks it has forked, and prevents new ones.
 * For a process that ends at once, for example in a signal handler, when the running calls have not ended
 * soon enough after sley_interrupt. Async-signal-safe. */
void sley_discard_outputs(void);

/* The type of the values of A, X and Y. 16-bit values are summed in f32 and Y is rounded once. SLEY_F16 is
 * IEEE's binary16, SLEY_BF16 the upper half of an f32. */
typedef enum sley_dtype { SLEY_F32 = 0, SLEY_F64 = 1, SLEY_F16 = 2, SLEY_BF16 = 3 } sley_dtype;
typedef enum sley_index { SLEY_I32 = 0, SLEY_I64 = 1 } sley_index;

/* Bytes of one value; 0 if the dtype is unknown. */
size_t sley_dtype_bytes(sley_dtype dtype);

/* Converts count values from one dtype to another, each rounded once, to nearest with ties to even. src and
 * dst must not overlap. Errors: SLEY_ERR_ARG. */
sley_status sley_convert(sley_dtype from, const void *src, sley_dtype to, void *dst, int64_t count);

/* Allocates host memory aligned to 64 bytes (in huge pages if they help) for X and Y. Freed by
 * sley_buffer_free. Errors: SLEY_ERR_ARG (bytes < 0), SLEY_ERR_MEMORY. */
sley_status sley_buffer_alloc(int64_t bytes, void **out);
void sley_buffer_free(void *buffer);

#ifdef __cplusplus
}
#endif
#endif
