/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of the names in a table. */
#include "base/names.h"

#include <pthread.h>

const char *const *sl_names_fill(const char **list, int count, const char *(*name_of)(int row)) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < count && !list[i]; i++)
    list[i] = name_of(i);
  pthread_mutex_unlock(&lock);
  return list;
}
