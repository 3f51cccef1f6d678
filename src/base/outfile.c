/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that appear whole or not at all. */
#define _GNU_SOURCE
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"

/* ---- records of files that are being written */

enum { NOTES = 32, FREE = 0, TAKEN = 1, NAMED = 2 };

typedef struct note {
  atomic_int state;
  pid_t writer;
  char name[PATH_MAX];
} note;

typedef struct notes {
  atomic_bool closed; /* no new file may be opened */
  note note[NOTES];
} notes;

static _Atomic(notes *) noted;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_notes(void) {
  void *block = mmap(NULL, sizeof(notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (block != MAP_FAILED)
    atomic_store(&noted, block);
}

void sl_outfile_share(void) {
  pthread_once(&once, make_notes);
}

/* Records name. Returns the record's number; -1 if there is none, and the file is then not recorded. */
static int take_note(const char *name) {
  sl_outfile_share();
  notes *all = atomic_load(&noted);
  if (!all || strlen(name) >= PATH_MAX)
    return -1;
  for (int n = 0; n < NOTES; n++) {
    int expected = FREE;
    if (atomic_compare_exchange_strong(&all->note[n].state, &expected, TAKEN)) {
      strcpy(all->note[n].name, name);
      all->note[n].writer = getpid();
      atomic_store(&all->note[n].state, NAMED);
      return n;
    }
  }
  return -1;
}

static void drop_note(int n) {
  notes *all = atomic_load(&noted);
  if (n >= 0 && all)
    atomic_store(&all->note[n].state, FREE);
}

static bool all_closed(void) {
  notes *all = atomic_load(&noted);
  return all && atomic_load(&all->closed);
}

void sley_discard_outputs(void) {
  notes *all = atomic_load(&noted);
  if (!all)
    return;
  int before = errno;
  atomic_store(&all->closed, true);
  for (int n = 0; n < NOTES; n++)
    if (atomic_load(&all->note[n].state) == NAMED)
      unlink(all->note[n].name);
  errno = before;
}

void sl_outfile_sweep(void) {
  notes *all = atomic_load(&noted);
  for (int n = 0; n < NOTES && all; n++) {
    note *one = &all->note[n];
    if (atomic_load(&one->state) == NAMED && kill(one->writer, 0) != 0 && errno == ESRCH) {
      unlink(one->name);
      atomic_store(&one->state, FREE);
    }
  }
}

/* ---- */

/* Resolves symbolic links in path; the result is from sl_alloc. *error: the errno that forbids writing there,
 * else 0. */
static char *resolve(const char *path, int *error) {
  struct stat info;
  char *target = realpath(path, NULL);
  *error = !target && errno == ENOENT && lstat(path, &info) == 0 && S_ISLNK(info.st_mode) ? ENOENT : 0;
  if (target && access(target, W_OK) != 0)
    *error = errno;
  char *copy = sl_strdup(target ? target : path);
  free(target);
  return copy;
}

/* Writes random letters at end, the last 6 characters of the temporary name. */
static void draw_letters(char *end) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  static atomic_uint drawn;
  enum { LETTERS = 6 };
  uint64_t number;
  if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
    number = sl_mix((uint64_t)getpid() << 32 ^ atomic_fetch_add(&drawn, 1));
  for (int i = 0; i < LETTERS; i++, number /= sizeof letters - 1)
    end[i] = letters[number % (sizeof letters - 1)];
}

/* Sets mode and owner of the new file as in the replaced file, if there is one, else to the default. */
static void set_mode(int descriptor, const struct stat *replaced) {
  if (replaced) {
    if (replaced->st_uid != geteuid() || replaced->st_gid != getegid())
      (void)!fchown(descriptor, replaced->st_uid, replaced->st_gid); /* the system may not permit a change of
                                                                        the owner */
    fchmod(descriptor, replaced->st_mode & 07777);
    return;
  }
  mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
}

/* Creates a temporary file beside out->path. aside holds its name, with room for the suffix. */
static bool open_aside(sl_outfile *out, const struct stat *replaced) {
  enum { TRIES = 100 };
  char *end = out->aside + strlen(out->aside) - 6;
  int descriptor = -1;
  for (int tries = 0; descriptor < 0 && tries < TRIES; tries++) {
    draw_letters(end);
    out->note = take_note(out->aside);
    descriptor = open(out->aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor >= 0)
      break;
    int reason = errno;
    drop_note(out->note);
    out->note = -1;
    errno = reason;
    if (reason != EEXIST)
      break;
  }
  if (descriptor < 0) {
    out->aside[0] = '\0'; /* there is nothing to remove */
    return false;
  }
  if (all_closed()) { /* sley_discard_outputs has already processed the records */
    close(descriptor);
    errno = EINTR;
    return false;
  }
  set_mode(descriptor, replaced);
  out->stream = fdopen(descriptor, "w+b");
  if (!out->stream)
    close(descriptor);
  return out->stream != NULL;
}

sley_status sl_outfile_open(const char *path, sl_outfile *out) {
  *out = (sl_outfile){.note = -1};
  static const char suffix[] = ".part-XXXXXX";
  int error;
  out->path = resolve(path, &error);
  if (!out->path)
    return SLEY_ERR_MEMORY;
  struct stat info;
  bool opened = false, there = stat(out->path, &info) == 0;
  if (error) {
    errno = error;
  } else if (there && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    out->stream = fopen(out->path, "wb");
    opened = out->stream != NULL;
  } else {
    size_t length = strlen(out->path);
    out->aside = sl_alloc((int64_t)(length + sizeof suffix), 1, "a file name");
    if (!out->aside) {
      sl_outfile_discard(out);
      return SLEY_ERR_MEMORY;
    }
    memcpy(out->aside, out->path, length);
    memcpy(out->aside + length, suffix, sizeof suffix);
    opened = open_aside(out, there && S_ISREG(info.st_mode) ? &info : NULL);
  }
  if (opened)
    return SLEY_OK;
  int reason = errno;
  sl_outfile_discard(out);
  if (error == ENOENT)
    return sl_fail(SLEY_ERR_IO, "%s: cannot write: it is a link to nothing", path);
  return sl_fail(SLEY_ERR_IO, "%s: cannot write: %s", path, strerror(reason));
}

bool sl_outfile_sound(sl_outfile *file) {
  if (ferror(file->stream) && !file->reason)
    file->reason = errno ? errno : EIO;
  return !file->reason;
}

sley_status sl_outfile_commit(sl_outfile *file) {
  errno = 0;
  bool failed = ferror(file->stream) != 0;
  failed |= fflush(file->stream) != 0;
  failed |= fclose(file->stream) != 0;
  file->stream = NULL;
  if (!failed && file->aside)
    failed = rename(file->aside, file->path) != 0;
  if (failed) {
    sley_status status = sl_fail(SLEY_ERR_IO, "%s: cannot write: %s", file->path,
                                 strerror(file->reason ? file->reason
                                          : errno      ? errno
                                                       : EIO));
    sl_outfile_discard(file);
    return status;
  }
  drop_note(file->note);
  sl_free(file->aside);
  *file = (sl_outfile){.path = file->path, .note = -1};
  sl_outfile_discard(file);
  return SLEY_OK;
}

void sl_outfile_discard(sl_outfile *file) {
  if (file->stream)
    fclose(file->stream);
  if (file->aside && file->aside[0]) {
    unlink(file->aside);
    drop_note(file->note);
  }
  sl_free(file->aside);
  sl_free(file->path);
  *file = (sl_outfile){.note = -1};
}
