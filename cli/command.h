/* SPDX-License-Identifier: Apache-2.0 */
/* The type of a subcommand. Each subcommand has a file of its own, FOLDER/cmd_NAME.c; main.c has the table of
 * all subcommands. */
#ifndef SLEY_CLI_COMMAND_H
#define SLEY_CLI_COMMAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "options.h"
#include "sley.h"

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

typedef struct cli_command {
  const char *name;      /* for a mode: the command's name, a space, and the word that chooses the mode */
  const char *summary;   /* one line */
  const char *arguments; /* arguments in the usage line, for example "MATRIX" */
  int positionals;       /* most positional arguments */
  int optional;          /* number of positionals at the end that may be missing; these are NULL */
  const char *const *(*words)(void); /* allowed words of the first argument, NULL-terminated; NULL: any word */
  const char *(*about)(const char *word); /* returns one line about a word for the help; or NULL */
  const cli_option *const
      *options;         /* tables, NULL-terminated; all offsets are into the same settings struct */
  unsigned common;      /* common options that the command takes, as bits CLI_TAKES_ of common.h */
  const void *defaults; /* a settings struct */
  size_t settings_bytes;
  const char *notes; /* end of the help page; "" for none */
  /* NULL, or runs the command for each combination of the numbers that its options list (sweep/sweep.h).
   * settings: as parsed, with the first number of each list. Returns the exit code. */
  int (*sweep)(const struct cli_command *command, const void *settings, char **positionals);

  /* settings: the defaults with the options written over them. Returns the exit code. */
  int (*run)(void *settings, char **positionals);

  /* NULL, or a command with its own options, chosen by the word after the command's name. */
  const struct cli_command *mode;
} cli_command;

extern const cli_command cli_spmm, cli_spgemm, cli_plan, cli_convert, cli_order, cli_generate, cli_spy,
    cli_tune, cli_bench_command, cli_bench_ops_command, cli_collective_command, cli_gnn,
    cli_gnn_bench_command, cli_gnn_infer_command, cli_roofline_command, cli_info;

/* Returns the exit code of a status. If the status is not SLEY_OK, prints the library's last error to stderr.
 */
int cli_finish(sley_status status);

/* Returns the exit code of a failure that another rank reports. Prints nothing, unless this process was
 * interrupted too. */
int cli_finish_quietly(sley_status status);

/* Returns the exit code of a status that another process reports. */
int cli_quiet_code(sley_status status);

/* Returns true if a signal such as SIGINT or SIGTERM has asked this process to end. */
bool cli_interrupted(void);

/* For work that ends by itself soon after a request, so that it can write its results: while `ready` is set,
 * the first signal sets `asked` instead of interrupting the library; a second signal, or one minute, ends the
 * process at once. Must be in memory that forked ranks share (cli_share). */
typedef struct cli_patience {
  atomic_int ready, asked;
} cli_patience;
void cli_be_patient(cli_patience *with); /* Sets the flag, or, if with is NULL, makes signals interrupt the
                                            library again. */

/* Like cli_finish, but prints the command's own message: one line without a newline. */
int cli_refuse(sley_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
