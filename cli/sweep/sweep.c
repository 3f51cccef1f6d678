/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the runs of a sweep, and reads their results. */
#include "sweep/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "output/output.h"
#include "output/plot.h"
#include "output/terminal.h"
#include "output/text.h"
#include "ranks/mpirun.h"
#include "ranks/processes.h"

extern char **environ;

enum { WORD = 64, ADDED = CLI_AXES + 2 };

typedef struct sweep {
  const cli_command *command;
  const cli_axis *axes;
  int count;           /* number of axes */
  int at[CLI_AXES];    /* the current number of each axis */
  char file[PATH_MAX]; /* of the JSON of a run */
  const char *self;    /* this program */
  char word[ADDED][PATH_MAX + WORD];
  const char **line; /* command line of a run */
  json_t *runs;
} sweep;

/* Returns whether a word of the command line belongs to an option that each run has with another value. */
static bool is_replaced(const sweep *s, char *const *word) {
  const cli_occurrence *one;
  for (int i = 0; (one = cli_occurrence_at(i)); i++) {
    bool replaced = strcmp(one->option->name, "json") == 0 || strcmp(one->option->name, "plot") == 0;
    for (int a = 0; a < s->count; a++)
      replaced |= one->option == s->axes[a].option;
    if (replaced && word >= one->begin && word < one->end)
      return true;
  }
  return false;
}

static void fill_line(sweep *s) {
  int words, added = 0, n = 0;
  char **all = cli_kept_words(&words);
  s->line[n++] = s->self;
  s->line[n++] = all[1];
  for (int a = 0; a < s->count; a++) {
    snprintf(s->word[added], sizeof s->word[added], "--%s=%" PRId64, s->axes[a].option->name,
             s->axes[a].value[s->at[a]]);
    s->line[n++] = s->word[added++];
  }
  snprintf(s->word[added], sizeof s->word[added], "--json=%s", s->file);
  s->line[n++] = s->word[added];
  for (int i = 2; i < words; i++)
    if (!is_replaced(s, all + i))
      s->line[n++] = all[i];
  s->line[n] = NULL;
}

/* Waits for a run, and asks it to end if this process was asked to. Returns its exit code. */
static int wait_for(pid_t child) {
  int state;
  while (waitpid(child, &state, 0) < 0)
    if (errno != EINTR || (cli_interrupted() && kill(child, SIGTERM) != 0))
      return CLI_FAILED;
  return WIFEXITED(state) ? WEXITSTATUS(state) : CLI_FAILED;
}

/* Runs the line, whose stdout is discarded. Returns its exit code. */
static int run_line(const sweep *s) {
  posix_spawn_file_actions_t actions;
  pid_t child;
  if (posix_spawn_file_actions_init(&actions) != 0)
    return cli_refuse(SLEY_ERR_MEMORY, "out of memory for a run of the sweep");
  int reason = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  if (reason == 0)
    reason = posix_spawn(&child, s->self, &actions, NULL, (char *const *)s->line, environ);
  posix_spawn_file_actions_destroy(&actions);
  return reason == 0 ? wait_for(child)
                     : cli_refuse(SLEY_ERR_IO, "a run of the sweep cannot be started: %s", strerror(reason));
}

/* Writes the current numbers, as --ranks 4 --k 32. */
static void name_run(const sweep *s, char *out, size_t room) {
  size_t length = 0;
  for (int a = 0; a < s->count && length < room; a++)
    length += (size_t)snprintf(out + length, room - length, "%s--%s %" PRId64, a > 0 ? " " : "",
                               s->axes[a].option->name, s->axes[a].value[s->at[a]]);
}

/* Returns the exit code. */
static int run_one(sweep *s, int done, int all) {
  char name[CLI_AXES * WORD];
  json_error_t error;
  name_run(s, name, sizeof name);
  cli_progress(name, done, all);
  fill_line(s);
  const int code = run_line(s);
  if (code != CLI_DONE) {
    if (!cli_interrupted())
      cli_error("%s: the sweep ends at the run that failed, %s", s->command->name, name);
    return code;
  }
  json_t *found = json_load_file(s->file, 0, &error);
  if (!found || json_array_append_new(s->runs, found) != 0)
    return cli_refuse(SLEY_ERR_MEMORY, "%s: the results of %s cannot be read", s->command->name, name);
  return CLI_DONE;
}

/* Moves to the next numbers; the last list varies fastest. Returns false after the last. */
static bool next(sweep *s) {
  for (int a = s->count - 1; a >= 0; a--) {
    if (++s->at[a] < s->axes[a].count)
      return true;
    s->at[a] = 0;
  }
  return false;
}

static int run_all(sweep *s) {
  int all = 1, done = 0, code;
  for (int a = 0; a < s->count; a++)
    all *= s->axes[a].count;
  do
    code = run_one(s, done++, all);
  while (code == CLI_DONE && next(s));
  cli_progress_clear();
  return code;
}

static int report(const sweep *s, const cli_common *common) {
  cli_text text;
  cli_text_start(&text, common->json);
  cli_sweep_print(s->runs, text.stream);
  cli_text_end(&text);
  if (common->plot && !cli_sweep_plot(common->plot, s->command, s->runs))
    return CLI_FAILED;
  return common->json && !cli_sweep_json(common->json, s->command, json_incref(s->runs)) ? CLI_FAILED
                                                                                         : CLI_DONE;
}

/* Refuses what several runs cannot share. Returns the exit code. */
static int check(const cli_command *command, const cli_common *common, char **positionals) {
  static const char *const of_one[] = {"out", "trace", "measured", "per-rank", "scaling"};
  const char *name = command->name;
  int code;
  for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++)
    if (cli_given(of_one[i]))
      return cli_refuse(SLEY_ERR_ARG, "%s: --%s goes with one run, but a list of numbers asks for several",
                        name, of_one[i]);
  for (int i = 0; i < command->positionals; i++)
    if (positionals[i] && strcmp(positionals[i], "-") == 0)
      return cli_refuse(SLEY_ERR_ARG, "%s: several runs cannot read standard input: give a file", name);
  if (cli_launched())
    return cli_refuse(
        SLEY_ERR_ARG,
        "%s: a list of numbers asks for several runs, which start their ranks themselves: leave "
        "the launcher out, or give one number",
        name);
  if (!cli_plot_possible(name, common->plot, &code))
    return code;
  return cli_output_possible(common->json) ? CLI_DONE : CLI_FAILED;
}

/* Creates the file for the runs' JSON, and finds this program. */
static bool prepare(sweep *s) {
  const char *folder = getenv("TMPDIR");
  snprintf(s->file, sizeof s->file, "%s/sley-sweep-XXXXXX", folder && *folder ? folder : "/tmp");
  const int file = mkstemp(s->file);
  if (file < 0) {
    cli_error("%s: cannot create: %s", s->file, strerror(errno));
    return false;
  }
  close(file);
  int words;
  (void)cli_kept_words(&words);
  s->self = cli_this_program();
  s->line = malloc(((size_t)words + ADDED + 1) * sizeof *s->line);
  s->runs = json_array();
  return s->line && s->runs;
}

int cli_sweep(const cli_command *command, const void *settings, char **positionals) {
  const cli_common *common = settings;
  static sweep s;
  s = (sweep){.command = command};
  s.axes = cli_axes(&s.count);
  int code = check(command, common, positionals);
  if (code != CLI_DONE)
    return code;
  code = prepare(&s) ? run_all(&s) : CLI_FAILED;
  unlink(s.file);
  if (code == CLI_DONE)
    code = report(&s, common);
  json_decref(s.runs);
  free(s.line);
  return code;
}
