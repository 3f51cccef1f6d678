/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what a program hands to MPI, by MPI's profiling interface: to be named by LD_PRELOAD. At
 * MPI_Finalize a rank appends a line "messages bytes" to the file SLEY_COUNT_SENDS: sends, and gets and puts
 * of windows; those of 0 bytes are left out. Persistent sends count each time they are started. With
 * SLEY_COUNT_SENDS_MORE=N each rank adds N to its messages, so that a comparison can be seen to fail. With
 * SLEY_MPI_LEVEL=N MPI provides at most thread level N. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct persistent {
  MPI_Request request;
  long long bytes;
} persistent;

static persistent *made; /* a table with open addressing */
static size_t made_count, made_room;
static long long messages, bytes_sent;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long long size_of(int count, MPI_Datatype type) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  return (long long)count * bytes;
}

static void add(long long bytes) {
  pthread_mutex_lock(&lock);
  messages += bytes > 0;
  bytes_sent += bytes;
  pthread_mutex_unlock(&lock);
}

static size_t place_of(const persistent *table, size_t room, MPI_Request request) {
  size_t at = ((size_t)request * (size_t)0x9E3779B97F4A7C15ull >> 17) & (room - 1);
  while (table[at].bytes >= 0 && table[at].request != request)
    at = (at + 1) & (room - 1);
  return at;
}

/* Receives are kept with -2: MPI may give the handle of a send that was freed to a receive. */
static void keep(MPI_Request request, long long bytes) {
  pthread_mutex_lock(&lock);
  if (2 * (made_count + 1) > made_room) {
    size_t room = made_room ? 2 * made_room : 1024;
    persistent *table = malloc(room * sizeof *table);
    if (!table)
      abort();
    for (size_t i = 0; i < room; i++)
      table[i].bytes = -1;
    for (size_t i = 0; i < made_room; i++)
      if (made[i].bytes >= 0)
        table[place_of(table, room, made[i].request)] = made[i];
    free(made);
    made = table;
    made_room = room;
  }
  size_t at = place_of(made, made_room, request);
  made_count += made[at].bytes < 0;
  made[at] = (persistent){request, bytes};
  pthread_mutex_unlock(&lock);
}

static void started(MPI_Request request) {
  pthread_mutex_lock(&lock);
  long long bytes = made_room ? made[place_of(made, made_room, request)].bytes : -1;
  messages += bytes > 0;
  bytes_sent += bytes > 0 ? bytes : 0;
  pthread_mutex_unlock(&lock);
}

int MPI_Send_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request *request) {
  int code = PMPI_Send_init(buffer, count, type, to, tag, comm, request);
  if (code == MPI_SUCCESS)
    keep(*request, size_of(count, type));
  return code;
}

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request *request) {
  int code = PMPI_Recv_init(buffer, count, type, from, tag, comm, request);
  if (code == MPI_SUCCESS)
    keep(*request, 0);
  return code;
}

int MPI_Start(MPI_Request *request) {
  started(*request);
  return PMPI_Start(request);
}

int MPI_Startall(int count, MPI_Request requests[]) {
  for (int i = 0; i < count; i++)
    started(requests[i]);
  return PMPI_Startall(count, requests);
}

#define SEND(name)                                                                                           \
  int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {         \
    add(size_of(count, type));                                                                               \
    return PMPI_##name(buffer, count, type, to, tag, comm);                                                  \
  }
#define ISEND(name)                                                                                          \
  int MPI_##name(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,           \
                 MPI_Request *request) {                                                                     \
    add(size_of(count, type));                                                                               \
    return PMPI_##name(buffer, count, type, to, tag, comm, request);                                         \
  }
SEND(Send)
SEND(Ssend)
SEND(Bsend)
SEND(Rsend)
ISEND(Isend)
ISEND(Issend)
ISEND(Ibsend)
ISEND(Irsend)

int MPI_Put(const void *buffer, int count, MPI_Datatype type, int to, MPI_Aint at, int there,
            MPI_Datatype there_type, MPI_Win window) {
  add(size_of(count, type));
  return PMPI_Put(buffer, count, type, to, at, there, there_type, window);
}

#define WINDOW(name, constness)                                                                              \
  int MPI_##name(constness void *buffer, int count, MPI_Datatype type, int to, MPI_Aint at, int there,       \
                 MPI_Datatype there_type, MPI_Win window, MPI_Request *request) {                            \
    add(size_of(count, type));                                                                               \
    return PMPI_##name(buffer, count, type, to, at, there, there_type, window, request);                     \
  }
WINDOW(Rput, const)
WINDOW(Rget, )

int MPI_Init_thread(int *count, char ***words, int wanted, int *level) {
  const char *most = getenv("SLEY_MPI_LEVEL");
  int limit = most ? atoi(most) : wanted;
  return PMPI_Init_thread(count, words, wanted < limit ? wanted : limit, level);
}

int MPI_Finalize(void) {
  const char *path = getenv("SLEY_COUNT_SENDS"), *more = getenv("SLEY_COUNT_SENDS_MORE");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (file) {
    fprintf(file, "%lld %lld\n", messages + (more ? atoll(more) : 0), bytes_sent);
    fclose(file);
  }
  return PMPI_Finalize();
}
