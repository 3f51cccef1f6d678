/* SPDX-License-Identifier: Apache-2.0 */
/* Runs gnuplot, which reads the script from its input, and data from an inherited file. gnuplot writes the
 * picture to a pipe, because it does not report a full file system. */
#include "output/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "output/output.h"
#include "output/terminal.h"

bool cli_gnuplot_found(void) {
  const char *at = getenv("PATH");
  char path[4096];
  for (; at && *at; at += strcspn(at, ":"), at += *at == ':') {
    int length = (int)strcspn(at, ":");
    if (length > 0 && snprintf(path, sizeof path, "%.*s/gnuplot", length, at) < (int)sizeof path &&
        access(path, X_OK) == 0)
      return true;
  }
  return false;
}

FILE *cli_gnuplot_file(const char *path) {
  FILE *file = tmpfile();
  if (!file)
    cli_error("%s: cannot make a temporary file for gnuplot: %s", path, strerror(errno));
  return file;
}

void cli_gnuplot_begin(FILE *script, const char *path, int width, int height) {
  fprintf(script, "set terminal %s noenhanced size %d,%d\nset encoding utf8\n",
          cli_ends_with(path, ".svg") ? "svg" : "png", width, height);
}

/* Replaces backquotes, because gnuplot runs commands between backquotes in double quotes. */
void cli_gnuplot_text(FILE *script, const char *text) {
  fputc('"', script);
  for (text = cli_shown(text); *text; text++) {
    if (*text == '"' || *text == '\\')
      fputc('\\', script);
    fputc(*text == '`' ? '\'' : *text, script);
  }
  fputc('"', script);
}

enum {
  DATA_FD = 3, /* see CLI_GNUPLOT_DATA */
  LOOK_MS = 50
};

/* Starts gnuplot, and discards its error messages. gnuplot gets a process group of its own, so that only this
 * process receives Ctrl-C, and then ends gnuplot. Returns the child's process id, or -1. */
static pid_t start(FILE *script, FILE *data, const int picture[2]) {
  pid_t child = fork();
  if (child != 0)
    return child;
  setpgid(0, 0);
  FILE *nowhere = fopen("/dev/null", "w");
  if (dup2(fileno(script), STDIN_FILENO) < 0 || dup2(picture[1], STDOUT_FILENO) < 0 || !nowhere ||
      dup2(fileno(nowhere), STDERR_FILENO) < 0 || (data && dup2(fileno(data), DATA_FD) < 0))
    _exit(126);
  execlp("gnuplot", "gnuplot", "-d", "-", (char *)NULL);
  _exit(127);
}

/* Ends gnuplot if this process was interrupted. */
static void look(pid_t child) {
  if (cli_interrupted())
    kill(child, SIGKILL);
}

/* Copies the bytes from a pipe to the picture until the pipe ends. */
static void copy(int from, cli_output *picture, pid_t child) {
  char piece[65536];
  struct pollfd ready = {.fd = from, .events = POLLIN};
  for (;;) {
    look(child);
    if (poll(&ready, 1, LOOK_MS) <= 0)
      continue;
    ssize_t got = read(from, piece, sizeof piece);
    if (got == 0 || (got < 0 && errno != EINTR))
      return;
    if (got > 0 && !picture->reason)
      cli_output_put(picture, piece, (size_t)got);
  }
}

/* Draws the picture. Returns true if gnuplot succeeded. */
static bool draw(FILE *script, FILE *data, cli_output *picture) {
  int ends[2], ended = 0;
  rewind(script);
  if (data)
    rewind(data);
  fflush(picture->stream);
  if (pipe(ends) != 0)
    return false;
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  pid_t child = start(script, data, ends);
  close(ends[1]);
  if (child > 0)
    copy(ends[0], picture, child);
  close(ends[0]);
  while (child > 0 && waitpid(child, &ended, 0) < 0) {
    if (errno != EINTR)
      return false;
    look(child);
  }
  return child > 0 && WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
}

/* Returns true if all bytes were written to a temporary file. file NULL: true. */
static bool is_whole(FILE *file) {
  return !file || (fflush(file) == 0 && !ferror(file));
}

bool cli_gnuplot_run(const char *path, FILE *script, FILE *data) {
  cli_output output;
  bool written = is_whole(script) && is_whole(data);
  if (!written) {
    cli_error("%s: cannot write a temporary file for gnuplot: %s", path, strerror(errno));
  } else if ((written = cli_output_open(&output, path))) {
    written = draw(script, data, &output);
    if (written || (output.reason && !cli_interrupted())) {
      written = cli_output_commit(&output);
    } else {
      if (cli_interrupted())
        cli_finish(SLEY_ERR_INTERRUPTED);
      else
        cli_error("%s: gnuplot could not draw it", path);
      cli_output_discard(&output);
    }
  }
  fclose(script);
  if (data)
    fclose(data);
  return written;
}
