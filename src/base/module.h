/* SPDX-License-Identifier: Apache-2.0 */
/* Loadable modules: backends in separate shared objects, libsley_NAME.so, found at run time. */
#ifndef SLEY_BASE_MODULE_H
#define SLEY_BASE_MODULE_H

#include "base/abi.h" /* SL_MODULE_ABI, made by the build */
#include "base/status.h"

/* SL_MODULE_ABI is the version of the internal interfaces: a hash of the headers that modules are compiled
 * against. A module compiled against other headers is refused. */

/* The function that a module exports, under the name its registry looks up. Returns the backend's table, or
 * NULL if abi differs from the SL_MODULE_ABI that the module was built with; stores the latter in *built_for
 * in any case. With another abi it calls no function of the library. */
typedef const void *(*sl_module_entry)(int abi, int *built_for);

/* The library's functions and tables that modules use, listed in src/module_calls.txt. The library does not
 * export them: it passes this table to sl_module_take of a module that was built for the same interfaces,
 * before it calls a function of the backend. cmake/ModuleCalls.cmake generates both sides. */
extern const void *const sl_module_table[];
typedef void (*sl_module_taker)(const void *const *table);

/* Returns whether one of the folders of sl_module_load contains libsley_NAME.so. */
bool sl_module_installed(const char *name);

/* Loads libsley_NAME.so and calls its function symbol. Searches the folders of the environment variable
 * SLEY_MODULE_PATH (separated by ':'), the folder sley beside this library, and the folder of this library;
 * the first file found is loaded. *out receives the table; modules stay loaded. Loading one again is cheap.
 * Errors: SLEY_ERR_UNSUPPORTED (no file: the message lists the folders; the linker's message; no such symbol;
 * another ABI). */
sley_status sl_module_load(const char *name, const char *symbol, const void **out);

#endif
