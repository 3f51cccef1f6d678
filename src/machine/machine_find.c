/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a machine's own description, and the machine for a rank's device. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outfile.h"
#include "base/team.h"
#include "machine/machine.h"

bool sl_machine_path(const char *device, char *path, size_t room, bool *named) {
  const char *given = getenv("SLEY_MACHINE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  const char *kind = strcmp(device, sl_machine_threads.device) == 0 ? "" : device, *dot = *kind ? "." : "";
  char host[128] = "host";
  *named = given && *given;
  if (*named)
    return strcmp(given, "builtin") != 0 && snprintf(path, room, "%s", given) < (int)room;
  gethostname(host, sizeof host - 1);
  for (char *c = host; *c; c++)
    if (*c == '/')
      *c = '-';
  if (cache && *cache == '/')
    return snprintf(path, room, "%s/sley/%s%s%s.machine", cache, host, dot, kind) < (int)room;
  return home && *home == '/' &&
         snprintf(path, room, "%s/.cache/sley/%s%s%s.machine", home, host, dot, kind) < (int)room;
}

/* The result of the search, made once for each built-in machine. */
typedef struct found {
  const sl_machine *built_in;
  sl_machine machine; /* a description for the kind of device of built_in; else a copy of built_in with the
                         figures of this host */
  sl_error error;     /* error of reading the description; SLEY_OK: none */
} found;

static found findings[] = {{.built_in = &sl_machine_threads}, {.built_in = &sl_machine_h200}};
enum { KINDS = sizeof findings / sizeof *findings };
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void look_for(found *f) {
  char path[SL_MACHINE_SOURCE];
  bool named;
  if (!sl_machine_path(f->built_in->device, path, sizeof path, &named) || (!named && access(path, F_OK) != 0))
    return;
  sl_machine read;
  sley_status status = sl_machine_read(path, &read);
  if (status == SLEY_OK && strcmp(read.device, f->built_in->device) == 0)
    f->machine = read;
  sl_error_take(status, &f->error);
}

/* Takes the typical rates and this host's number of cores. The machine of GPUs has no number of cores. */
static void look_at_host(found *f) {
  f->machine = *f->built_in;
  if (!f->built_in->overlaps)
    f->machine.cores = sl_cores();
}

static void look(void) {
  for (int i = 0; i < KINDS; i++) {
    look_at_host(&findings[i]);
    look_for(&findings[i]);
  }
}

sley_status sl_machine_find(const sl_machine *built_in, const sl_machine **out) {
  pthread_once(&once, look);
  *out = built_in;
  for (int i = 0; i < KINDS; i++) {
    const found *f = &findings[i];
    if (f->built_in != built_in)
      continue;
    if (f->error.status != SLEY_OK)
      return sl_error_restore(&f->error);
    *out = &f->machine;
  }
  return SLEY_OK;
}

/* Makes the parent folders of path. */
static void make_folders(const char *path) {
  char folder[SL_MACHINE_SOURCE];
  if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder)
    return;
  for (char *c = strchr(folder + 1, '/'); c; c = strchr(c + 1, '/')) {
    *c = '\0';
    (void)mkdir(folder, 0777); /* a failure is reported when the file is opened */
    *c = '/';
  }
}

static void write_points(FILE *stream, const char *key, const char *link, const sl_link_point *point,
                         int count) {
  for (int i = 0; i < count; i++)
    fprintf(stream, "%s %s %.6g %.6g\n", key, link, point[i].bytes, point[i].seconds);
}

/* Writes rates; a reach of 0 is left out. */
static void write_rates(FILE *stream, const char *key, const sl_rate *rate, int count) {
  for (int i = 0; i < count; i++) {
    fprintf(stream, "%s %.6g ", key, rate[i].row_bytes);
    if (rate[i].reach > 0)
      fprintf(stream, "%.6g ", rate[i].reach);
    fprintf(stream, "%.6g\n", rate[i].bandwidth);
  }
}

static void write_windows(FILE *stream, const sl_machine *m) {
  for (int kind = 0; kind < SL_WINDOW_KINDS && m->models_windows; kind++)
    for (int core = 0; core < 2; core++) {
      sl_window_figures figures = m->windows.of[kind];
      const double *list = core == 0 ? figures.tensor : figures.stream;
      fprintf(stream, "windows %s %s", sl_window_kind_name((sl_window_kind)kind),
              core == 0 ? "tensor" : "stream");
      for (int i = 0; i < SL_WINDOW_FIGURES; i++)
        fprintf(stream, " %.6g", list[i]);
      fprintf(stream, "\n");
    }
}

static void write_passes(FILE *stream, const sl_machine *m) {
  for (int i = 0; i < SL_PASSES; i++)
    if (m->pass[i].bandwidth > 0)
      fprintf(stream, "pass %s %.6g %.6g\n", sl_pass_name((sl_array_pass)i), m->pass[i].bandwidth,
              m->pass[i].kept);
}

sley_status sl_machine_write(const sl_machine *m, const char *path) {
  static const char *const link[SL_LINK_COUNT] = {"self", "direct", "message"};
  sl_outfile file;
  make_folders(path);
  SL_TRY(sl_outfile_open(path, &file));
  fprintf(file.stream,
          "# A machine for sley; docs/MACHINES.md explains it. Seconds and bytes/s.\nname %s\ndevice %s\n",
          m->name, m->device);
  fprintf(file.stream, "nodes %lld\nranks-per-node %lld\nthreads %lld\ncores %lld\noverlap %s\n",
          (long long)m->nodes, (long long)m->ranks_per_node, (long long)m->threads, (long long)m->cores,
          m->overlaps        ? "yes"
          : m->messages_move ? "messages"
                             : "no");
  fprintf(file.stream, "meeting %.6g\npack-bandwidth %.6g\nstream-bandwidth %.6g\nspmm-bandwidth %.6g\n",
          m->meeting, m->pack_bandwidth, m->stream_bandwidth, m->spmm_bandwidth);
  if (m->launch > 0)
    fprintf(file.stream, "launch %.6g\n", m->launch);
  if (m->crowded_meeting > 0)
    fprintf(file.stream, "crowded-meeting %.6g\n", m->crowded_meeting);
  if (m->node_bandwidth > 0)
    fprintf(file.stream, "node-bandwidth %.6g\n", m->node_bandwidth);
  if (m->memory_bandwidth > 0)
    fprintf(file.stream, "memory-bandwidth %.6g\n", m->memory_bandwidth);
  for (int l = 0; l < SL_LINK_COUNT; l++) {
    fprintf(file.stream, "link %s %.6g %.6g\n", link[l], m->link[l].latency, m->link[l].bandwidth);
    write_points(file.stream, "message", link[l], m->link[l].point, m->link[l].points);
    write_points(file.stream, "fetch", link[l], m->link[l].fetch, m->link[l].fetches);
  }
  write_rates(file.stream, "gather", m->gather, m->gathers);
  write_rates(file.stream, "spmm", m->rate, m->rates);
  write_rates(file.stream, "near", m->near, m->nears);
  write_rates(file.stream, "store", m->store, m->stores);
  write_passes(file.stream, m);
  write_windows(file.stream, m);
  return sl_outfile_commit(&file);
}
