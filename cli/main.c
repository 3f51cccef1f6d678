/* SPDX-License-Identifier: Apache-2.0 */
/* The command `sley`: finds the subcommand, reads its options, runs it, and checks that stdout was written
 * completely. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "alias.h"
#include "command.h"
#include "output/output.h"
#include "output/terminal.h"
#include "output/text.h"
#include "ranks/mpirun.h"
#include "version.h"

enum { MOST_POSITIONALS = 4, SIGNAL_BASE = 128 };

static const cli_command *const commands[] = {
    &cli_spmm,  &cli_spgemm,   &cli_plan, &cli_roofline_command, &cli_convert,
    &cli_order, &cli_generate, &cli_spy,          &cli_tune, &cli_bench_command,    &cli_collective_command,
    &cli_gnn,   &cli_info};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* ---- statuses and signals */

/* Milliseconds until a process is ended after a signal: for forked ranks, which receive the signal too, and
 * for this process, which waits for them. Everything ends within 2 seconds. */
enum { RANK_MS = 500, GRACE_MS = 900, TWICE_MS = 250, PATIENT_MS = 60000 };

/* The signal handler runs in any thread, at the same time as threads of ranks that call cli_interrupted. So
 * the variables that they share are atomic and lock-free. caught_at is set first: the thread that sets it
 * handles the first signal. */
static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2, "a handler must not wait for a lock");
static atomic_int caught;      /* the first signal's number; 0: none */
static atomic_llong caught_at; /* time of the first signal, in ns of the monotonic clock; 0: none */
static atomic_bool told;       /* true: the interruption was reported */
static atomic_bool too_long; /* true: a file reached the limit of its size; the failed write reports which */
static pid_t self;           /* process id, set before the handlers are installed */
static cli_patience *_Atomic patience;

/* Signals that end the command in an orderly way, with their messages. `always`: caught even if the parent
 * process has set the signal to be ignored, as nohup does with SIGHUP. */
static const struct {
  int number;
  bool always;
  const char *said;
} endings[] = {{SIGINT, true, "interrupted"},
               {SIGTERM, true, "interrupted"},
               {SIGHUP, false, "interrupted by SIGHUP: the terminal or the session has ended"},
               {SIGQUIT, false, "interrupted by SIGQUIT"},
               {SIGXCPU, false, "interrupted by SIGXCPU: the limit of processor time (ulimit -t) is reached"},
               {SIGXFSZ, false, "interrupted by SIGXFSZ: the limit of a file's size (ulimit -f) is reached"},
               {SIGUSR1, false, "interrupted by SIGUSR1"},
               {SIGUSR2, false, "interrupted by SIGUSR2"},
               {SIGVTALRM, false, "interrupted by SIGVTALRM"}};
enum { ENDINGS = sizeof endings / sizeof *endings };

/* Signals after which a process cannot continue: it removes unfinished files, and then ends by the signal. */
static const int crashes[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS};
enum { CRASHES = sizeof crashes / sizeof *crashes };

static const char *said_of(int number) {
  for (int i = 0; i < ENDINGS; i++)
    if (endings[i].number == number)
      return endings[i].said;
  return endings[0].said;
}

/* Ends the process at once, and removes unfinished files. Calls only async-signal-safe functions. */
static void end_now(int number) {
  if (getpid() == self) {
    char text[128] = "sley: ";
    cli_output_abandon();
    cli_progress_abandon();
    strcat(strcat(text, said_of(caught ? caught : number)), "\n");
    if (!told)
      (void)!write(STDERR_FILENO, text, strlen(text));
  }
  sley_discard_outputs();
  _exit(SIGNAL_BASE + number);
}

static void on_alarm(int number) {
  (void)number;
  end_now(caught);
}

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The first signal asks the library to stop, so that no partial file stays, and sets a time limit for that. A
 * second signal ends the process at once, unless it arrives within TWICE_MS: a launcher may signal both a
 * process and its group. */
static void on_signal(int number, siginfo_t *from, void *context) {
  (void)context;
  if (number == SIGXFSZ &&
      from->si_pid == getpid()) { /* the signal was caused by a write, which fails and ends the command */
    atomic_store(&too_long, true);
    return;
  }
  int before = errno;
  long long now = now_ns(), first = 0;
  if (!atomic_compare_exchange_strong(&caught_at, &first, now)) {
    if (now - first > (long long)TWICE_MS * 1000000)
      end_now(number);
    errno = before;
    return;
  }
  atomic_store(&caught, number);
  cli_patience *waits = atomic_load(&patience);
  if (waits && !atomic_load(&waits->ready))
    waits = NULL;
  if (waits)
    atomic_store(&waits->asked, 1);
  else
    sley_interrupt();
  int ms = waits ? PATIENT_MS : getpid() == self ? GRACE_MS : RANK_MS;
  struct itimerval grace = {.it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};
  setitimer(ITIMER_REAL, &grace, NULL);
  errno = before;
}

static void on_crash(int number) {
  if (getpid() == self)
    cli_output_abandon();
  sley_discard_outputs();
  raise(number); /* SA_RESETHAND has restored the default action */
}

static void on_processor_time(int number) {
  (void)number;
  end_now(SIGXCPU);
}

/* If the soft and the hard limit of processor time are equal, as ulimit -t sets them, the system kills the
 * process at the limit without a warning. Sets a timer that ends the process shortly before. */
static void come_before_the_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_max == RLIM_INFINITY ||
      limit.rlim_cur < limit.rlim_max || limit.rlim_max < 1 || limit.rlim_max > INT_MAX)
    return;
  struct sigaction action = {.sa_handler = on_processor_time};
  sigfillset(&action.sa_mask);
  sigaction(SIGPROF, &action, NULL);
  struct itimerval before = {.it_value = {.tv_sec = (time_t)limit.rlim_max - 1, .tv_usec = 900 * 1000}};
  setitimer(ITIMER_PROF, &before, NULL);
}

/* Returns true if the signal has its default action. */
static bool is_default(int number) {
  struct sigaction now;
  return sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
}

static void catch_signals(void) {
  self = getpid();
  struct sigaction alarm = {.sa_handler = on_alarm};
  sigfillset(&alarm.sa_mask);
  sigaction(SIGALRM, &alarm, NULL);
  sigset_t unblocked; /* the parent process may have blocked the signal */
  sigemptyset(&unblocked);
  sigaddset(&unblocked, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &unblocked, NULL);
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < ENDINGS; i++)
    sigaddset(&action.sa_mask, endings[i].number);
  for (int i = 0; i < ENDINGS; i++)
    if (endings[i].always || is_default(endings[i].number))
      sigaction(endings[i].number, &action, NULL);
  struct sigaction crash = {.sa_handler = on_crash, .sa_flags = SA_RESETHAND | SA_NODEFER};
  sigemptyset(&crash.sa_mask);
  for (int i = 0; i < CRASHES; i++)
    if (is_default(crashes[i]))
      sigaction(crashes[i], &crash, NULL);
  if (is_default(SIGPROF))
    come_before_the_limit();
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  sigemptyset(&ignore.sa_mask);
  sigaction(SIGPIPE, &ignore, NULL);
}

static int exit_code(sley_status status) {
  if (status != SLEY_OK && (caught || too_long))
    return SIGNAL_BASE + (caught ? caught : SIGXFSZ);
  switch (status) {
  case SLEY_OK:
    return CLI_DONE;
  case SLEY_ERR_ARG:
  case SLEY_ERR_INPUT:
  case SLEY_ERR_UNSUPPORTED:
  case SLEY_ERR_MEMORY: /* the user requested more memory than the machine has */
    return CLI_USAGE;
  case SLEY_ERR_INTERRUPTED:
    return SIGNAL_BASE + SIGINT;
  default:
    return CLI_FAILED;
  }
}

int cli_finish(sley_status status) {
  if (status == SLEY_ERR_INTERRUPTED || (status != SLEY_OK && caught)) {
    told = true;
    cli_error("%s", said_of(caught));
  } else if (status != SLEY_OK)
    cli_error("%s", *sley_last_error() ? sley_last_error() : sley_status_name(status));
  return exit_code(status);
}

int cli_finish_quietly(sley_status status) {
  return caught ? cli_finish(status) : exit_code(status);
}

int cli_refuse(sley_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  cli_error_list(format, arguments);
  va_end(arguments);
  return exit_code(status);
}

bool cli_interrupted(void) {
  return caught != 0;
}

void cli_be_patient(cli_patience *with) {
  atomic_store(&patience, with);
}

int cli_quiet_code(sley_status status) {
  return exit_code(status);
}

/* Flushes stdout, and reports errors, except that the reader closed the pipe. Returns the exit code. */
static int close_stdout(int code) {
  errno = 0;
  bool failed = ferror(stdout) != 0;
  failed |= fflush(stdout) != 0;
  if (!failed || errno == EPIPE || cli_output_stdout_reason() == EPIPE)
    return code;
  if (cli_output_stdout_reason())
    errno = cli_output_stdout_reason();
  cli_error("stdout: cannot write: %s", strerror(errno ? errno : EIO));
  return code == CLI_DONE ? exit_code(SLEY_ERR_IO) : code;
}

/* ---- dispatch */

static void print_usage(bool refused) {
  cli_text text;
  cli_text_start(&text, refused ? "-" : NULL);
  FILE *stream = text.stream;
  fprintf(stream, "usage: sley COMMAND [words] [options]\n\nSley multiplies sparse matrices across "
                  "ranks.\n\ncommands:\n");
  for (int i = 0; i < COMMANDS; i++)
    for (const cli_command *one = commands[i]; one; one = one->mode)
      fprintf(stream, "  %-10s  %s\n", one->name, one->summary);
  fprintf(stream, "  %-10s  %s\n", "help", "help COMMAND: a command's page, as COMMAND --help");
  fprintf(stream, "  %-10s  %s\n", "words", "words WORD ...: what may follow these words, for completion");
  fprintf(stream, "  %-10s  %s\n", "version", "the version, and the commit if it is known; -V, --version too");
  fprintf(stream, "\nA first run: sley spmm twin:cyt --ranks 4\n");
  cli_text_end(&text);
}

static void print_help(const cli_command *command) {
  cli_text text;
  cli_text_start(&text, NULL);
  cli_options_help(command, text.stream);
  cli_text_end(&text);
}

static void print_commands(FILE *stream) {
  for (int i = 0; i < COMMANDS; i++)
    fprintf(stream, "%s\n", commands[i]->name);
}

static const cli_command *find(const char *name) {
  for (int i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i]->name, name) == 0)
      return commands[i];
  return NULL;
}

/* Returns the mode of a command that a word chooses, or NULL. word NULL: no word. */
static const cli_command *find_mode(const cli_command *command, const char *word) {
  for (const cli_command *one = command->mode; one && word; one = one->mode) {
    const char *name = strrchr(one->name, ' ');
    if (name && strcmp(name + 1, word) == 0)
      return one;
  }
  return NULL;
}

static int refuse_command(const char *name) {
  const char *names[COMMANDS + 3] = {0};
  for (int i = 0; i < COMMANDS; i++)
    names[i] = commands[i]->name;
  names[COMMANDS] = "help";
  names[COMMANDS + 1] = "version";
  char suggestion[256];
  cli_suggest(suggestion, sizeof suggestion, name, names);
  cli_error("there is no command \"%s\"%s", name, suggestion);
  return CLI_USAGE;
}

static int run_help(const char *name, const char *word) {
  if (!name) {
    print_usage(false);
    return CLI_DONE;
  }
  const cli_command *command = find(name);
  if (!command)
    return refuse_command(name);
  const cli_command *mode = find_mode(command, word);
  print_help(mode ? mode : command);
  return CLI_DONE;
}

/* Prints the words that may follow the given words, one per line; nothing if any word or a file may follow.
 */
static int run_words(int argc, char **argv) {
  const cli_command *command = argc > 0 ? find(argv[0]) : NULL;
  const cli_command *mode = command && argc > 1 ? find_mode(command, argv[1]) : NULL;
  if (argc == 0 || (argc == 1 && strcmp(argv[0], "help") == 0))
    print_commands(stdout);
  if (argc == 0)
    printf("help\nversion\n--help\n--version\n-V\n");
  if (!command)
    return CLI_DONE;
  if (cli_options_takes_value(mode ? mode : command, argv[argc - 1])) {
    cli_options_words(mode ? mode : command, argv[argc - 1], stdout);
    return CLI_DONE;
  }
  for (const cli_command *one = argc == 1 ? command->mode : NULL; one; one = one->mode)
    printf("%s\n", strrchr(one->name, ' ') + 1);
  for (const char *const *word = argc == 1 && command->words ? command->words() : NULL; word && *word; word++)
    printf("%s\n", *word);
  cli_options_list(mode ? mode : command, stdout);
  return CLI_DONE;
}

static int run_command(const cli_command *command, int argc, char **argv) {
  char *positionals[MOST_POSITIONALS] = {0};
  bool help = false;
  void *settings = malloc(command->settings_bytes);
  if (!settings)
    return cli_refuse(SLEY_ERR_MEMORY, "out of memory");
  memcpy(settings, command->defaults, command->settings_bytes);
  int code = CLI_USAGE;
  if (cli_options_parse(command, argc, argv, settings, positionals, &help)) {
    if (help) {
      print_help(command);
      code = CLI_DONE;
    } else {
      int lists;
      cli_axes(&lists);
      code = lists > 0 ? command->sweep(command, settings, positionals) : command->run(settings, positionals);
    }
  }
  cli_progress_clear();
  free(settings);
  return code == CLI_FAILED && (caught || too_long) ? exit_code(SLEY_ERR_IO) : code;
}

int main(int argc, char **argv) {
  catch_signals();
  if (!cli_alias_expand(&argc, &argv))
    return cli_refuse(SLEY_ERR_MEMORY, "out of memory");
  cli_keep_words(argc, argv);
  if (argc < 2) {
    print_usage(true);
    return CLI_USAGE;
  }
  const char *name = argv[1];
  int code;
  if (strcmp(name, "version") == 0 || strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
    cli_version_print(stdout);
    code = CLI_DONE;
  } else if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
    code = run_help(argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL);
  } else if (strcmp(name, "words") == 0) {
    code = run_words(argc - 2, argv + 2);
  } else {
    const cli_command *command = find(name);
    const cli_command *mode = command && argc > 2 ? find_mode(command, argv[2]) : NULL;
    code = mode      ? run_command(mode, argc - 3, argv + 3)
           : command ? run_command(command, argc - 2, argv + 2)
                     : refuse_command(name);
  }
  return close_stdout(code);
}
