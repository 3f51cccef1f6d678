/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of the cost model: the performance of a machine's links, memory and kernels. They are built in,
 * read from a description (docs/MACHINES.md), or measured by sley_machine_tune, always as this struct. */
#ifndef SLEY_MACHINE_MACHINE_H
#define SLEY_MACHINE_MACHINE_H

#include "device/figures.h"
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

/* A measured message size and its time. */
typedef struct sl_link_point {
  double bytes, seconds;
} sl_link_point;

typedef struct sl_link_speed {
  double latency;   /* seconds per message */
  double bandwidth; /* bytes/s of one rank, without the latency */
  int points;       /* number of measured messages, ascending in bytes; if above 0 they replace latency and
                       bandwidth */
  sl_link_point point[SL_MACHINE_POINTS];
  int fetches; /* number of measured one-sided fetches: the time of one row of that many bytes, while others
                  are in flight */
  sl_link_point fetch[SL_MACHINE_FETCHES];
} sl_link_speed;

/* The rate of products with rows of X of row_bytes; the distinct rows of X take reach bytes in all. */
typedef struct sl_rate {
  double row_bytes, reach, bandwidth; /* bandwidth: bytes/s of one thread (or GPU), for the entries and their
                                         rows of X */
} sl_rate;

/* Passes over an array, from which times of compressed collectives are predicted (collective/choose.h): count
 * nonzeros; compress to Pici; compress to coo; decompress; add one compressed array to a sum; add the sum's
 * own dense array and write the result; reduce one dense array; copy. */
typedef enum sl_array_pass {
  SL_PASS_NONZEROS,
  SL_PASS_PICI,
  SL_PASS_COO,
  SL_PASS_DECOMPRESS,
  SL_PASS_SUM,
  SL_PASS_SUM_OWN,
  SL_PASS_REDUCE,
  SL_PASS_COPY,
  SL_PASSES /* number of passes */
} sl_array_pass;

/* Time of a pass: bandwidth for the array's dense bytes, and kept for each nonzero value. */
typedef struct sl_pass_cost {
  double bandwidth; /* bytes/s of one thread (or GPU) */
  double kept;      /* seconds */
} sl_pass_cost;

typedef struct sley_machine {
  char name[SL_MACHINE_NAME], source[SL_MACHINE_SOURCE]; /* source: a file name, or "built in" */
  char device[16];                                       /* "cpu" or "cuda" */
  int64_t nodes;                                         /* 0: as many as the ranks need */
  int64_t ranks_per_node;                                /* 0: all ranks are on one node */
  int64_t threads;                                       /* threads of a rank; 0: as many as the rank has */
  int64_t cores;                                         /* cores that the ranks of a node share; 0: enough
                                                            for all */
  sl_link_speed link[SL_LINK_COUNT];
  double launch;           /* seconds of a kernel that does nothing, while others are enqueued; 0: not
                              measured */
  double meeting;          /* seconds per exchange in which the ranks wait for each other */
  double crowded_meeting;  /* the same if the ranks of a node have more threads than it has cores; 0: the same
                              as meeting */
  double node_bandwidth;   /* bytes/s over message links into, or out of, a workgroup's ranks; 0: no limit */
  double pack_bandwidth;   /* bytes/s at which a rank gathers rows larger than the measured sizes of the link
                              self */
  double memory_bandwidth; /* bytes/s of a node's memory for all its cores together; 0: no limit */
  double spmm_bandwidth;   /* bytes/s at which one thread (or GPU) processes entries and their rows of X */
  double stream_bandwidth; /* bytes/s at which one thread (or GPU) stores rows of Y in order */
  int rates;               /* number of measured rates, ascending in row_bytes, then reach; if above 0 they
                              replace spmm_bandwidth */
  sl_rate rate[SL_MACHINE_RATES];
  int nears; /* number of rates measured for rows of X that were used recently (sl_locality), reach 0; if
                above 0, rate covers the other rows only */
  sl_rate near[SL_MACHINE_NEAR];
  int stores; /* number of measured rates of storing Y, by bytes of a row and of all rows; if above 0 they
                 replace stream_bandwidth */
  sl_rate store[SL_MACHINE_STORES];
  int gathers; /* number of measured rates of copying scattered rows; if above 0 they replace link self */
  sl_rate gather[SL_MACHINE_GATHERS];
  sl_pass_cost pass[SL_PASSES]; /* bandwidth 0: not measured */
  bool models_windows;          /* windows has figures of this machine; false: the built-in ones apply */
  sl_window_model windows;
  bool overlaps;      /* rows move while parts are summed; false: the rank's threads do one after the other */
  bool messages_move; /* messages that only node_bandwidth limits overlap with sums, except for their
                         processor time */
} sl_machine;

/* Cores of a server with ranks as threads: typical figures, not measured on a particular machine. The number
 * of cores is not in it; sl_machine_find adds it. */
extern const sl_machine sl_machine_threads;

/* GPUs that load each other's memory, with messages over sockets between workgroups. Measured on a host with
 * four NVIDIA H200, NVLink between every pair: all four gathering random rows of their peers at once;
 * products with matrices that have communities, minus the time to load X and store Y once; copies. The
 * latencies are estimates. */
extern const sl_machine sl_machine_h200;

/* Returns the built-in machine for a rank's device; or for a kind of device, "cuda" or any other name for
   "cpu". */
const sl_machine *sl_machine_of(const sl_device *device);
const sl_machine *sl_machine_built_in(const char *device);

/* The figures by which kernels are chosen and shaped on a device: the device's own figures, except where the
 * machine's description has figures. */
sl_device_figures sl_machine_figures(const sl_machine *machine, const sl_device_figures *device);

/* The name of a pass in descriptions. */
const char *sl_pass_name(sl_array_pass pass);

/* Seconds that a rank needs to receive count messages of bytes each over a link class. */
double sl_machine_link_seconds(const sl_machine *machine, sl_link link, double count, double bytes);

/* Bytes/s of products with rows of X of row_bytes, whose distinct rows take reach bytes in all: interpolated
 * between the measured rates in the logarithms of both, constant outside them. */
double sl_machine_spmm_rate(const sl_machine *machine, double row_bytes, double reach);

/* within[i]: the share of entries whose row of X was last used within bytes[i] bytes of distinct rows before;
 * both arrays ascend. */
typedef struct sl_nearness {
  int windows;
  const double *bytes, *within;
} sl_nearness;

/* Bytes/s over all entries, by their locality. Entries within the first window find their row in a cache;
 * entries within another window are as fast as entries that are spread over that many bytes, the remaining
 * ones as fast as entries spread over reach. */
double sl_machine_mixed_rate(const sl_machine *machine, double row_bytes, double reach,
                             const sl_nearness *nearness);

/* Bytes/s of storing rows of Y of row_bytes, which take `all` bytes together. */
double sl_machine_store_rate(const sl_machine *machine, double row_bytes, double all);

/* Seconds to gather, or to scatter, rows of row_bytes, `bytes` in all. */
double sl_machine_pack_seconds(const sl_machine *machine, double row_bytes, double bytes);

/* Seconds to fetch count rows of row_bytes one-sided, many at a time. */
double sl_machine_fetch_seconds(const sl_machine *machine, sl_link link, double count, double row_bytes);

/* Parses a description of bytes characters; name stands for the file in messages. Errors: SLEY_ERR_INPUT with
 * the file and the line: an unknown, repeated or missing key, a number out of range, points out of order. */
sley_status sl_machine_parse(const char *name, const char *text, size_t bytes, sl_machine *out);

/* Reads a description from a file of at most 64 KiB. Errors: as sl_machine_parse; SLEY_ERR_IO. */
sley_status sl_machine_read(const char *path, sl_machine *out);

/* Writes a description from which the same figures are read. The file appears whole or not at all. Errors:
 * SLEY_ERR_IO. */
sley_status sl_machine_write(const sl_machine *machine, const char *path);

/* Returns in path the file of the machine's own description for a kind of device: SLEY_MACHINE, whatever the
 * kind, else in the XDG cache sley/HOST.machine for "cpu", sley/HOST.cuda.machine for "cuda". Returns false
 * if SLEY_MACHINE is "builtin" or there is no home directory. *named: the path is from SLEY_MACHINE, so the
 * file must exist. */
bool sl_machine_path(const char *device, char *path, size_t room, bool *named);

/* Finds the machine for ranks on the kind of device of built_in: the description found, if it is for that
 * kind, else a copy of built_in with the cores of this host. Looked up once in a process. Errors: as
 * sl_machine_read. */
sley_status sl_machine_find(const sl_machine *built_in, const sl_machine **out);

/* Returns whether its figures are built in, not read or measured. */
bool sl_machine_is_built_in(const sl_machine *machine);

#endif
