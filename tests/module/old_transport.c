/* SPDX-License-Identifier: Apache-2.0 */
/* A module as one of another version of Sley would look: it refuses this library, whose table of functions
 * would be too short for it. */
#include <stddef.h>
#include <stdlib.h>

void sl_module_take(const void *const *table);
const void *sl_transport_module(int abi, int *built_for);

void sl_module_take(const void *const *table) {
  (void)table;
  abort(); /* reading the table would crash */
}

const void *sl_transport_module(int abi, int *built_for) {
  (void)abi;
  *built_for = 0x999;
  return NULL;
}
