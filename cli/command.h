/* SPDX-License-Identifier: Apache-2.0 */
/* What a subcommand is. Each has its own file, FOLDER/cmd_NAME.c; main.c holds the table of them. */
#ifndef SLEY_CLI_COMMAND_H
#define SLEY_CLI_COMMAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "options.h"
#include "sley.h"

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

typedef struct cli_command {
  const char *name;                  /* of a mode: the command's, a space, and the word that chooses it */
  const char *summary;               /* one line */
  const char *arguments;             /* of the usage line, e.g. "MATRIX" */
  int positionals;                   /* how many of them, at most */
  int optional;                      /* how many of the last may be left out: they are NULL */
  const char *const *(*words)(void); /* what the first of them may be, NULL-terminated; NULL: any word */
  const char *(*about)(const char *word); /* one line about each of these words for the help, or NULL */
  const cli_option *const
      *options;         /* tables, NULL-terminated; every offset is into the same settings struct */
  unsigned common;      /* common options that it takes, as bits CLI_TAKES_ of common.h */
  const void *defaults; /* a settings struct */
  size_t settings_bytes;
  const char *notes; /* end of the help page; "" for none */

  /* settings: the defaults with the options written over them. Returns the exit code. */
  int (*run)(void *settings, char **positionals);

  /* NULL, or a command of its own options that the word after the command's name chooses. */
  const struct cli_command *mode;
} cli_command;

extern const cli_command cli_spmm, cli_spgemm, cli_plan, cli_convert, cli_order, cli_generate, cli_spy,
    cli_tune, cli_bench_command, cli_bench_ops_command, cli_collective_command, cli_gnn,
    cli_gnn_bench_command, cli_gnn_infer_command, cli_tile_command, cli_roofline_command, cli_info;

/* The exit code of a status. If it is not SLEY_OK, the library's last error goes to stderr. */
int cli_finish(sley_status status);

/* For a failure that another rank tells of: says nothing, unless this process was interrupted too. */
int cli_finish_quietly(sley_status status);

/* The exit code of a status that another process tells of. */
int cli_quiet_code(sley_status status);

/* Whether this process was asked to end, by SIGINT or SIGTERM. */
bool cli_interrupted(void);

/* Work that ends by itself soon after it is asked to, so that it can write what it has: while `ready` is set
 * the first signal sets `asked` instead of interrupting the library, and a second signal, or a minute, ends
 * the process at once. In memory that forked ranks share (cli_share). */
typedef struct cli_patience {
  atomic_int ready, asked;
} cli_patience;
void cli_be_patient(cli_patience *with); /* NULL: no longer */

/* As cli_finish, with a message of the command's own: one line without a newline. */
int cli_refuse(sley_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
