/* SPDX-License-Identifier: Apache-2.0 */
/* Loadable modules: backends that live in a shared object of their own, libsley_NAME.so, found at run time.
 */
#ifndef SLEY_BASE_MODULE_H
#define SLEY_BASE_MODULE_H

#include "base/abi.h" /* SL_MODULE_ABI; made by the build */
#include "base/status.h"

/* SL_MODULE_ABI is the number of the internal interfaces: a hash of the headers that modules are compiled
 * against. A module of other headers is refused. */

/* What a module exports, under the name its registry asks for: the backend's table, or NULL if abi is not the
 * SL_MODULE_ABI it was built with, which it stores in *built_for in any case. */
typedef const void *(*sl_module_entry)(int abi, int *built_for);

/* What modules use of the library: src/module_calls.txt. The library exports none of it: it calls a module's
 * sl_module_take with this table before anything else in it. Both sides are made by cmake/ModuleCalls.cmake.
 */
extern const void *const sl_module_table[];
typedef void (*sl_module_taker)(const void *const *table);

/* Whether there is a file libsley_NAME.so in one of the folders below. */
bool sl_module_installed(const char *name);

/* Loads libsley_NAME.so and calls its function symbol. Looked for in the folders of the environment variable
 * SLEY_MODULE_PATH (separated by ':'), in the folder sley beside this library, and beside this library
 * itself, wherever that lies; the first file found counts. *out is the table; modules stay loaded. Loading
 * one again is cheap. Errors: SLEY_ERR_UNSUPPORTED (no file and where it was sought, the linker's message, no
 * such symbol, another ABI). */
sley_status sl_module_load(const char *name, const char *symbol, const void **out);

#endif
