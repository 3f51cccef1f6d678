/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of the public interface that begin with their size. */
#ifndef SLEY_BASE_STRUCTS_H
#define SLEY_BASE_STRUCTS_H

#include "base/status.h"

/* Copies the caller's struct `name` over the defaults in out. given begins with its own size, a size_t, from
 * the caller's header: if that is an older header with a smaller struct, the missing fields keep their
 * defaults. NULL: all fields do. known: this library's size. A field that is added to such a struct must not
 * begin inside the padding of the former size. Errors: SLEY_ERR_ARG (an impossible size). */
sley_status sl_struct_take(const char *name, const void *given, size_t known, void *out);

#endif
