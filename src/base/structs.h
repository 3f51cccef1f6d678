/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of the public interface that begin with their size. */
#ifndef SLEY_BASE_STRUCTS_H
#define SLEY_BASE_STRUCTS_H

#include "base/status.h"

/* Copies the struct `name` that a caller has given over the defaults in out. given begins with its own size,
 * a size_t, which is that of the caller's header: what a smaller one, of an older header, does not have,
 * keeps its default. NULL: all does. known: this library's size. A field that is added to such a struct must
 * not begin inside the padding of the former size. Errors: SLEY_ERR_ARG (a size that no header has had). */
sley_status sl_struct_take(const char *name, const void *given, size_t known, void *out);

#endif
