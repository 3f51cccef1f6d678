/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are read and written with a decimal point, whatever locale the program uses. */
#include "base/locale.h"

#include <pthread.h>

static locale_t c_locale;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make(void) {
  c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t sl_c_locale(void) {
  pthread_once(&once, make);
  return c_locale;
}

locale_t sl_enter_c_locale(void) {
  return uselocale(sl_c_locale());
}

void sl_leave_c_locale(locale_t before) {
  uselocale(before);
}
