/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the density of windows, and reports it as text and JSON. */
#include "matrix/windows.h"

/* Lower bounds of intensity for which the share of nonzeros is reported. */
static const int steps[] = {2, 4, 8};
enum { STEPS = sizeof steps / sizeof *steps };

sley_status cli_windows_count(const sley_matrix *matrix, const int64_t *place, int64_t threads,
                              cli_windows *out) {
  *out = (cli_windows){.ordered = place != NULL};
  sley_status status = sley_matrix_windows(matrix, NULL, (int)threads, &out->now);
  if (status == SLEY_OK && place)
    status = sley_matrix_windows(matrix, place, (int)threads, &out->before);
  return status;
}

double cli_intensity(const sley_window_info *info) {
  return info->columns > 0 ? (double)info->entries / (double)info->columns : 0;
}

/* Share of the nonzeros in windows with an intensity of `least` or more. */
static double share_from(const sley_window_info *info, int least) {
  int64_t entries = 0;
  for (int i = least; i < SLEY_INTENSITIES; i++)
    entries += info->by_intensity[i];
  return info->entries > 0 ? (double)entries / (double)info->entries : 0;
}

static void print_one(const char *label, const sley_window_info *info, FILE *stream) {
  fprintf(stream, "%-10s %d rows each, intensity %.2f;", label, SLEY_WINDOW_ROWS, cli_intensity(info));
  for (int s = 0; s < STEPS; s++)
    fprintf(stream, "%s %.1f %% %s %d%s", s > 0 ? "," : "", 100 * share_from(info, steps[s]),
            s > 0 ? "of" : "of the nonzeros in windows of", steps[s], s > 0 ? "" : " or more");
  fprintf(stream, "\n");
}

void cli_windows_print(const cli_windows *windows, FILE *stream) {
  print_one("windows", &windows->now, stream);
  if (windows->ordered)
    print_one("unordered", &windows->before, stream);
}

static cli_json one_json(const sley_window_info *info) {
  cli_json json = cli_json_start();
  char name[32];
  cli_json_int(&json, "rows", SLEY_WINDOW_ROWS);
  cli_json_int(&json, "windows", info->windows);
  cli_json_int(&json, "columns", info->columns);
  cli_json_real(&json, "intensity", cli_intensity(info));
  for (int s = 0; s < STEPS; s++) {
    snprintf(name, sizeof name, "share_from_%d", steps[s]);
    cli_json_real(&json, name, share_from(info, steps[s]));
  }
  return json;
}

void cli_windows_json(cli_json *json, const cli_windows *windows) {
  cli_json_object(json, "windows", one_json(&windows->now));
  if (windows->ordered)
    cli_json_object(json, "windows_before", one_json(&windows->before));
}
