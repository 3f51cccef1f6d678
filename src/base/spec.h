/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the form "name:key=value,flag,key=value", as used by generators and options. */
#ifndef SLEY_BASE_SPEC_H
#define SLEY_BASE_SPEC_H

#include "base/status.h"

enum { SL_SPEC_KEYS = 24, SL_SPEC_TEXT = 512 };

typedef struct sl_spec {
  char text[SL_SPEC_TEXT]; /* the parts, each ended by a zero */
  const char *name;        /* text before the first ':' */
  int keys;
  const char *key[SL_SPEC_KEYS];
  const char *value[SL_SPEC_KEYS]; /* values; NULL for a bare word */
  bool used[SL_SPEC_KEYS];
} sl_spec;

/* Parses text into *out. After the first ':', further ':' separate keys like ','. Errors: SLEY_ERR_ARG (too
 * long, an empty part). */
sley_status sl_spec_parse(const char *text, sl_spec *out);

/* Reads a key into *value, which keeps its default if the key is missing. Bounds are inclusive.
 * Errors: SLEY_ERR_ARG (not a number, out of bounds). */
sley_status sl_spec_int(sl_spec *spec, const char *key, int64_t least, int64_t most, int64_t *value);
sley_status sl_spec_real(sl_spec *spec, const char *key, double least, double most, double *value);

/* Returns the value of a key, or NULL. The value of a bare word is the word itself. */
const char *sl_spec_text(sl_spec *spec, const char *key);

/* Returns SLEY_ERR_ARG, naming the first key that was not read; call it last. */
sley_status sl_spec_done(const sl_spec *spec);

/* Reads the parameters in a text such as "rowwise:ps=4,get=block" by a table of known parameters, which ends
 * with a key NULL. value[i] receives the value of table[i]: a number, or the position of the word among the
 * table's words; -1: not present in the text. Errors: SLEY_ERR_ARG (an unknown key or value, or a key given
 * twice): one line that names all keys. */
sley_status sl_spec_read(const char *text, const sley_parameter *table, int *value);

/* Parses a whole number: optional sign, digits, and one of k, m, g (powers of 1000); or 2^n. `what` names it
 * in the error. Errors: SLEY_ERR_ARG (not a number, out of bounds). */
sley_status sl_parse_int(const char *text, const char *what, int64_t least, int64_t most, int64_t *out);
sley_status sl_parse_real(const char *text, const char *what, double least, double most, double *out);

#endif
