/* SPDX-License-Identifier: Apache-2.0 */
/* `sley info`: prints the version, the machine, every backend with the result of the search for it, and the
 * kernels of the devices that were found. */
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "common.h"
#include "output/json.h"
#include "output/output.h"
#include "output/table.h"
#include "output/terminal.h"
#include "output/text.h"

enum { MOST_BACKENDS = 32, MOST_KERNELS = 64 };

static const cli_option *const options[] = {NULL};
static const cli_common defaults = {0};

/* The widest vector instructions of this machine that Sley has kernels for. */
static const char *instruction_set(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return "x86-64, AVX-512";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return "x86-64, AVX2";
  return "x86-64";
#elif defined(__aarch64__)
  return "AArch64, NEON";
#else
  return "portable";
#endif
}

/* Finds the kernels of a backend if it is a device and available; else *count is 0. */
static void find_kernels(const sley_backend *backend, sley_kernel kernels[MOST_KERNELS], int *count) {
  bool usable = backend->available && strcmp(backend->kind, "device") == 0;
  if (!usable || sley_kernels(backend->name, kernels, MOST_KERNELS, count) != SLEY_OK)
    *count = 0;
  *count = *count < MOST_KERNELS ? *count : MOST_KERNELS;
}

static void add_kernels(cli_json *json, const sley_backend *backend) {
  sley_kernel kernels[MOST_KERNELS];
  cli_json list[MOST_KERNELS];
  int count;
  find_kernels(backend, kernels, &count);
  for (int i = 0; i < count; i++) {
    list[i] = cli_json_start();
    cli_json_text(&list[i], "name", kernels[i].name);
    cli_json_text(&list[i], "library", kernels[i].library);
  }
  if (count > 0)
    cli_json_list(json, "kernels", list, count);
}

static void print_kernels(const sley_backend *backend, FILE *stream) {
  sley_kernel kernels[MOST_KERNELS];
  int count;
  find_kernels(backend, kernels, &count);
  if (count > 0)
    fprintf(stream, "\nkernels of %s:", backend->name);
  for (int i = 0; i < count; i++)
    fprintf(stream, " %s", kernels[i].name);
  if (count > 0)
    fprintf(stream, "\n");
}

static json_t *info_json(const sley_backend *backends, int count, const sley_machine_info *machine) {
  cli_json json = cli_json_start(), list[MOST_BACKENDS];
  int kept = count < MOST_BACKENDS ? count : MOST_BACKENDS;
  for (int i = 0; i < kept; i++) {
    list[i] = cli_json_start();
    cli_json_text(&list[i], "kind", backends[i].kind);
    cli_json_text(&list[i], "name", backends[i].name);
    cli_json_bool(&list[i], "available", backends[i].available);
    cli_json_text(&list[i], "detail", backends[i].detail);
    add_kernels(&list[i], &backends[i]);
  }
  cli_json_text(&json, "sley", sley_version());
  cli_json_int(&json, "cores", sysconf(_SC_NPROCESSORS_ONLN));
  cli_json_text(&json, "instruction_set", instruction_set());
  cli_json of = cli_json_start();
  cli_json_text(&of, "name", machine->name);
  cli_json_text(&of, "source", machine->source);
  cli_json_object(&json, "machine", of);
  cli_json_list(&json, "backends", list, kept);
  return cli_json_end(json);
}

static void print_info(const sley_backend *backends, int count, const sley_machine_info *machine,
                       FILE *stream) {
  static const char *const headings[] = {"<backend", "<name", "<found", "<detail", NULL};
  static cli_table table;
  fprintf(stream, "sley %s\ncores: %ld\ninstruction set: %s\npredictions: for %s (%s)\n\n", sley_version(),
          sysconf(_SC_NPROCESSORS_ONLN), instruction_set(), cli_shown(machine->name),
          cli_shown(machine->source));
  cli_table_start(&table, headings);
  for (int i = 0; i < count && cli_table_row(&table); i++) {
    cli_table_cell(&table, 0, "%s", backends[i].kind);
    cli_table_cell(&table, 1, "%s", backends[i].name);
    cli_table_cell(&table, 2, "%s", backends[i].available ? "yes" : "no");
    cli_table_cell(&table, 3, "%s", backends[i].detail ? backends[i].detail : "");
  }
  cli_table_print(&table, stream);
  for (int i = 0; i < count; i++)
    print_kernels(&backends[i], stream);
}

static void print(const sley_backend *backends, int count, const sley_machine_info *machine) {
  cli_text text;
  cli_text_start(&text, NULL);
  print_info(backends, count, machine, text.stream);
  cli_text_end(&text);
}

static int run(void *settings_, char **positionals) {
  (void)positionals;
  const cli_common *settings = settings_;
  const sley_backend *backends = NULL;
  int count = 0;
  sley_status status = sley_backends(&backends, &count);
  if (status != SLEY_OK)
    return cli_finish(status);
  sley_machine *machine = NULL;
  sley_machine_info of = {0};
  status = sley_machine_find(NULL, &machine);
  if (status == SLEY_OK)
    status = sley_machine_info_get(machine, &of);
  int code = cli_finish(status);
  if (status == SLEY_OK && settings->json)
    code = cli_output_json(settings->json, info_json(backends, count, &of)) ? CLI_DONE : CLI_FAILED;
  else if (status == SLEY_OK)
    print(backends, count, &of);
  sley_machine_destroy(machine);
  return code;
}

const cli_command cli_info = {.name = "info",
                              .summary = "version, cores, and the backends found",
                              .arguments = "",
                              .positionals = 0,
                              .options = options,
                              .common = CLI_TAKES_JSON,
                              .defaults = &defaults,
                              .settings_bytes = sizeof defaults,
                              .notes = "",
                              .run = run};
