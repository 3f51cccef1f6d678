/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of the names in a table, for callers of the public interface. */
#ifndef SLEY_BASE_NAMES_H
#define SLEY_BASE_NAMES_H

/* Fills list, which is static and zero, with the names of a table's rows 0 .. count - 1, unless an earlier call
 * has done so; list[count] stays NULL. Several threads may call it. Returns list. */
const char *const *sl_names_fill(const char **list, int count, const char *(*name_of)(int row));

#endif
