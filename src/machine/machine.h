/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers the cost model works with: what links, memory and kernels of a machine do. Built in, read from
 * a description (docs/MACHINES.md), or measured by sley_machine_tune: always this struct. */
#ifndef SLEY_MACHINE_MACHINE_H
#define SLEY_MACHINE_MACHINE_H

#include "device/window_model.h"
#include "transport/transport.h"

enum {
  SL_MACHINE_NAME = 96,
  SL_MACHINE_SOURCE = 512,
  SL_MACHINE_POINTS = 24,
  SL_MACHINE_RATES = 48,
  SL_MACHINE_STORES = 24,
  SL_MACHINE_GATHERS = 24,
  SL_MACHINE_FETCHES = 8,
  SL_MACHINE_NEAR = 12
};

/* One message of so many bytes takes so long. */
typedef struct sl_link_point {
  double bytes, seconds;
} sl_link_point;

typedef struct sl_link_speed {
  double latency;   /* s a message */
  double bandwidth; /* bytes/s of one rank, beyond the latency */
  int points;       /* measured, ascending in bytes; they go before the two above where there are any */
  sl_link_point point[SL_MACHINE_POINTS];
  int fetches; /* measured: one row of so many bytes that a rank gets one-sided, among others */
  sl_link_point fetch[SL_MACHINE_FETCHES];
} sl_link_speed;

/* Products over rows of X of row_bytes, where the distinct rows named take reach bytes together. */
typedef struct sl_rate {
  double row_bytes, reach, bandwidth; /* bytes/s of one thread (or GPU), entries and the rows they name */
} sl_rate;

/* Passes over an array, by which compressed collectives are predicted (collective/choose.h): nonzeros are
 * counted; it is compressed to Pici or to coo; taken apart; added as one of the compressed arrays of a sum;
 * the sum's dense array and its result; one array of a dense reduction; a copy. */
typedef enum sl_array_pass {
  SL_PASS_NONZEROS,
  SL_PASS_PICI,
  SL_PASS_COO,
  SL_PASS_DECOMPRESS,
  SL_PASS_SUM,
  SL_PASS_SUM_OWN,
  SL_PASS_REDUCE,
  SL_PASS_COPY,
  SL_PASSES /* how many there are */
} sl_array_pass;

/* What a pass takes: the array's bytes, dense, and each value that is not zero. */
typedef struct sl_pass_cost {
  double bandwidth; /* bytes/s of one thread (or GPU) */
  double kept;      /* s */
} sl_pass_cost;

typedef struct sley_machine {
  char name[SL_MACHINE_NAME], source[SL_MACHINE_SOURCE]; /* source: a file, or "built in" */
  char device[16];                                       /* "cpu" or "cuda" */
  int64_t nodes;                                         /* 0: as many as the ranks need */
  int64_t ranks_per_node;                                /* 0: all ranks are on one node */
  int64_t threads;                                       /* of a rank; 0: as many as it is given */
  int64_t cores;                                         /* that the ranks of a node share; 0: enough */
  sl_link_speed link[SL_LINK_COUNT];
  double meeting; /* s an exchange: the ranks wait for each other */
  double
      crowded_meeting;   /* the same where the ranks of a node have more threads than its cores; 0: meeting */
  double node_bandwidth; /* bytes/s over message links into, or out of, a workgroup's ranks; 0: no limit */
  double pack_bandwidth; /* bytes/s at which a rank gathers rows, beyond the points of the link self */
  double memory_bandwidth; /* bytes/s of a node, all its cores together; 0: not a limit */
  double spmm_bandwidth; /* bytes/s at which one thread (or GPU) takes entries and the rows of X they name */
  double stream_bandwidth; /* bytes/s at which one thread (or GPU) stores rows of Y in order */
  int rates;               /* measured, ascending in row_bytes, then reach; they go before spmm_bandwidth */
  sl_rate rate[SL_MACHINE_RATES];
  int nears; /* measured, for rows of X that are at hand (sl_locality): reach 0; then rate is for the others
              */
  sl_rate near[SL_MACHINE_NEAR];
  int stores; /* measured likewise, by bytes of a row of Y and of all; they go before stream_bandwidth */
  sl_rate store[SL_MACHINE_STORES];
  int gathers; /* measured likewise, of copying rows that do not lie side by side; before link self */
  sl_rate gather[SL_MACHINE_GATHERS];
  sl_pass_cost pass[SL_PASSES]; /* bandwidth 0: not measured */
  bool models_windows;          /* windows has figures of the machine's own; else those built in hold */
  sl_window_model windows;
  bool overlaps;      /* rows move while parts are summed; else the rank's threads do both in turn */
  bool messages_move; /* those that the node's bandwidth limits do, but for the work that they are */
} sl_machine;

/* A server's cores with ranks as threads: typical figures, not tuned to a machine. How many cores there are
 * it does not say; sl_machine_find does. */
extern const sl_machine sl_machine_threads;

/* GPUs that load each other's memory, between workgroups messages over sockets. Measured on a host with four
 * NVIDIA H200, NVLink between every pair: all four gathering random rows of their peers at once, products
 * with matrices that have communities, less the time in which X is loaded and Y stored once, copies. The
 * latencies are estimates. */
extern const sl_machine sl_machine_h200;

/* The built-in one that stands for a rank's device; for the kind of device of that name: "cuda", else "cpu".
 */
const sl_machine *sl_machine_of(const sl_device *device);
const sl_machine *sl_machine_built_in(const char *device);

/* A pass's name in descriptions. */
const char *sl_pass_name(sl_array_pass pass);

/* Seconds that a rank needs to receive count messages of bytes each over a link class. */
double sl_machine_link_seconds(const sl_machine *machine, sl_link link, double count, double bytes);

/* Bytes/s of products with rows of X of row_bytes and so many bytes of distinct ones: interpolated between
 * the measured rates in the logarithms of both, the nearest beyond them. */
double sl_machine_spmm_rate(const sl_machine *machine, double row_bytes, double reach);

/* Shares of entries whose row of X was named within so many bytes of distinct rows before; both ascend. */
typedef struct sl_nearness {
  int windows;
  const double *bytes, *within;
} sl_nearness;

/* Bytes/s over all entries. Those within the first window find their row at hand; those within another one
 * are as fast as entries anywhere in so many bytes, the rest as fast as anywhere in reach. */
double sl_machine_mixed_rate(const sl_machine *machine, double row_bytes, double reach,
                             const sl_nearness *nearness);

/* The same for storing rows of Y, which take `all` bytes together. */
double sl_machine_store_rate(const sl_machine *machine, double row_bytes, double all);

/* Seconds to gather, or to scatter, so many bytes of rows of row_bytes. */
double sl_machine_pack_seconds(const sl_machine *machine, double row_bytes, double bytes);

/* Seconds until count rows of row_bytes have come that a rank gets one-sided, many at a time. */
double sl_machine_fetch_seconds(const sl_machine *machine, sl_link link, double count, double row_bytes);

/* Parses a description of bytes characters; name stands for the file in messages. Errors: SLEY_ERR_INPUT with
 * the file and the line: an unknown, repeated or missing key, a number out of range, points out of order. */
sley_status sl_machine_parse(const char *name, const char *text, size_t bytes, sl_machine *out);

/* Reads one from a file of at most 64 KiB. Errors also: SLEY_ERR_IO. */
sley_status sl_machine_read(const char *path, sl_machine *out);

/* Writes it, so that reading it gives the same figures, whole or not at all. Errors: SLEY_ERR_IO. */
sley_status sl_machine_write(const sl_machine *machine, const char *path);

/* Where a machine's own description for ranks on a kind of device is kept: SLEY_MACHINE, whatever the kind,
 * else in the XDG cache sley/HOST.machine for "cpu", sley/HOST.cuda.machine for "cuda". Returns false where
 * SLEY_MACHINE is "builtin" or there is no home. *named: by SLEY_MACHINE, so that it must be there. */
bool sl_machine_path(const char *device, char *path, size_t room, bool *named);

/* The machine for ranks on the kind of device that a built-in one stands for: the description found, if it is
 * of that kind, else a copy of the built-in one with the cores of this host. Looked up once in a process.
 * Errors: as sl_machine_read. */
sley_status sl_machine_find(const sl_machine *built_in, const sl_machine **out);

/* Whether its figures are those built in, and not read or measured. */
bool sl_machine_is_built_in(const sl_machine *machine);

#endif
