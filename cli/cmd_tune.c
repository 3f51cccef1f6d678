/* SPDX-License-Identifier: Apache-2.0 */
/* `sley tune`: measures this machine and stores its description, which the planner reads. */
#include <stdio.h>

#include "command.h"
#include "output/output.h"
#include "output/terminal.h"

typedef struct tune_settings {
  const char *device, *out, *transport;
  double seconds;
} tune_settings;

static const char *const *devices(void) {
  static const char *const names[] = {"cpu", "cuda", NULL};
  return names;
}

static const char *const *transports(void) {
  static const char *const names[] = {"threads", "tcp", NULL};
  return names;
}

static const cli_option own_options[] = {
    {.name = "device",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = offsetof(tune_settings, device),
     .choices = devices,
     .help = "the device to measure: cpu, the cores of this machine, or cuda, its GPUs"},
    {.name = "out",
     .kind = CLI_TEXT,
     .value = "FILE",
     .offset = offsetof(tune_settings, out),
     .help =
         "the file to write; by default the file that SLEY_MACHINE names, else a file in the user's cache"},
    {.name = "transport",
     .kind = CLI_CHOICE,
     .value = "NAME",
     .offset = offsetof(tune_settings, transport),
     .choices = transports,
     .help = "the transport whose links are measured"},
    {.name = "seconds",
     .kind = CLI_REAL,
     .value = "S",
     .offset = offsetof(tune_settings, seconds),
     .help = "approximate time of the measurement"},
    {0}};
static const cli_option *const options[] = {own_options, NULL};
static const tune_settings defaults = {.device = "cpu", .transport = "threads", .seconds = 30};

static int run(void *settings_, char **positionals) {
  (void)positionals;
  const tune_settings *settings = settings_;
  sley_machine *machine = NULL;
  sley_machine_info info;
  char *path = NULL;
  if (!(settings->seconds > 0 && settings->seconds <= 3600))
    return cli_refuse(SLEY_ERR_ARG, "tune: --seconds is above 0 and at most 3600");
  if (!cli_output_possible(settings->out))
    return CLI_FAILED;
  cli_progress("measuring this machine", 0, 0);
  sley_status status = sley_machine_tune(settings->device, settings->transport, settings->seconds, &machine);
  cli_progress_clear();
  if (status == SLEY_OK && !machine)
    return CLI_DONE; /* only rank 0 has the description, and writes it */
  if (status == SLEY_OK)
    status = sley_machine_write(machine, settings->out, &path);
  if (status == SLEY_OK)
    status = sley_machine_info_get(machine, &info);
  if (status == SLEY_OK)
    printf("%s: written to %s\n", cli_shown(info.name), cli_shown(path));
  sley_buffer_free(path);
  sley_machine_destroy(machine);
  return cli_finish(status);
}

const cli_command cli_tune = {
    .name = "tune",
    .summary = "measure this machine's links, memory and kernels, for the planner",
    .arguments = "",
    .positionals = 0,
    .options = options,
    .defaults = &defaults,
    .settings_bytes = sizeof defaults,
    .notes =
        "All cores, or GPUs, are used; nothing else should run at the same time. In less than 8 seconds "
        "smaller messages and matrices are measured, and late measurements are not repeated. sley plan and "
        "the algorithm auto then predict from the description of the device that is used. SLEY_MACHINE "
        "names another description; SLEY_MACHINE=builtin is the built-in one.\n",
    .run = run};
