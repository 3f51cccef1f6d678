/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in files have a decimal point, whatever locale the program that calls Sley has set. */
#ifndef SLEY_BASE_LOCALE_H
#define SLEY_BASE_LOCALE_H

#include <locale.h>

/* The "C" locale; it is made once and stays. (locale_t)0 if the system cannot make it. */
locale_t sl_c_locale(void);

/* Lets the calling thread print and scan numbers as in C; returns what sl_leave_c_locale takes back. */
locale_t sl_enter_c_locale(void);
void sl_leave_c_locale(locale_t before);

#endif
