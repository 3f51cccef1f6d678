/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "matrix/input.h"
#include "matrix/job.h"
#include "output/terminal.h"

enum { MOST_NUMBER = 1 << 16, NAME_BYTES = 4096 };

bool cli_numbers_read(const char *command, const char *option, const char *text, cli_numbers *out) {
  const char *at = text;
  *out = (cli_numbers){0};
  while (*at >= '0' && *at <= '9' && out->count < CLI_NUMBERS) {
    char *end;
    const long long value = strtoll(at, &end, 10);
    if (value < 1 || value > MOST_NUMBER || (*end && *end != ','))
      break;
    out->at[out->count++] = value;
    if (!*end)
      return true;
    at = end + 1;
  }
  cli_error("%s: --%s takes whole numbers from 1 to %d, at most %d, as in 32,64, not \"%s\"", command, option,
            MOST_NUMBER, CLI_NUMBERS, text);
  return false;
}

static sley_status take_one(const char *name, const cli_common *common, cli_take_matrix *take, void *context,
                            bool *failed) {
  sley_matrix *matrix = NULL;
  sley_status status = cli_load(name, common->dtype, common->threads * common->ranks, common->seed, 0,
                                &common->reading, &matrix);
  cli_progress_clear();
  if (status == SLEY_ERR_INTERRUPTED || cli_interrupted())
    return SLEY_ERR_INTERRUPTED;
  if (status != SLEY_OK) {
    cli_error("%s", sley_last_error());
    *failed = true;
    return SLEY_OK;
  }
  status = take(context, name, matrix);
  sley_matrix_destroy(matrix);
  return status;
}

sley_status cli_matrices_each(const char *list, const cli_common *common, cli_take_matrix *take,
                              void *context, bool *failed) {
  static const char blanks[] = " \t\n";
  sley_status status = SLEY_OK;
  for (const char *at = list + strspn(list, blanks); *at && status == SLEY_OK; at += strspn(at, blanks)) {
    char name[NAME_BYTES];
    const size_t length = strcspn(at, blanks);
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), at);
    at += length;
    status = take_one(name, common, take, context, failed);
  }
  return status;
}
