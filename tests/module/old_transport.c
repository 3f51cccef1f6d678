/* SPDX-License-Identifier: Apache-2.0 */
/* A module as one of another version of Sley would look: it refuses this library. */
#include <stddef.h>

const void *sl_transport_module(int abi, int *built_for);

const void *sl_transport_module(int abi, int *built_for) {
  (void)abi;
  *built_for = 0x999;
  return NULL;
}
