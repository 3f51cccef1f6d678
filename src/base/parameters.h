/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters in a text such as "rowwise:ps=4,get=block", read by a table of those that there are. */
#ifndef SLEY_BASE_PARAMETERS_H
#define SLEY_BASE_PARAMETERS_H

#include "base/status.h"

/* Reads what follows the first colon of the text (nothing, if it has none). The table ends with a key NULL.
 * value[i] receives the number of table[i]: the number itself, or the place of its word among the values; -1:
 * not given. Errors: SLEY_ERR_ARG (an unknown key or value, or a key given twice): one line that names all
 * keys. */
sley_status sl_parameters_read(const char *text, const sley_parameter *table, int *value);

#endif
