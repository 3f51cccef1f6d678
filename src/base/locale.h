/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in files use a decimal point, whatever locale the calling program has set. */
#ifndef SLEY_BASE_LOCALE_H
#define SLEY_BASE_LOCALE_H

#include <locale.h>

/* The "C" locale, made once and never freed. (locale_t)0 if the system cannot make it. */
locale_t sl_c_locale(void);

/* Switches the calling thread to the "C" locale for printing and scanning numbers; returns the previous
 * locale, for sl_leave_c_locale. */
locale_t sl_enter_c_locale(void);
void sl_leave_c_locale(locale_t before);

#endif
