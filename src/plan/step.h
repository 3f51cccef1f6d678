/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of steps. A kind is a struct of functions: they describe a step, predict its cost, report the buffers
 * that it uses, and run it. No other code tests of which kind a step is. So a new kind is one struct and its
 * functions, in the file of the algorithm that needs it.
 *
 * The kinds that all algorithms share are declared in plan.h and defined in exec/steps.c, beside the
 * functions that run them. This folder uses only their addresses. */
#ifndef SLEY_PLAN_STEP_H
#define SLEY_PLAN_STEP_H

#include "plan/plan.h"

/* The state with which steps run. The execution extends it for its own kinds (sl_exec). */
typedef struct sl_run {
  const sl_plan *plan;
  sl_comm *comm;
  sl_queue *queue;    /* queue of the rank's own work */
  void **memory;      /* memory of each buffer, on the device; the memory of X and Y is the caller's, and is
                         set for each run */
  int64_t *stride;    /* bytes between the rows of each buffer */
  double alpha, beta; /* factors of this run; beta is the one that the steps apply */
} sl_run;

/* How a step takes part in exchanges, sums and fetches, which determines the meaning of its index. A step may
 * have several of these acts. */
enum {
  SL_ACT_BEGIN = 1,  /* it begins exchange `index` */
  SL_ACT_MAP = 2,    /* the rows of exchange `index` are read in place until its end */
  SL_ACT_END = 4,    /* it ends exchange `index` */
  SL_ACT_SUM = 8,    /* it sums part `index` */
  SL_ACT_FETCH = 16, /* it takes part in one-sided fetches */
  SL_ACT_ORDER = 32, /* it orders other steps and writes nothing; it also runs for an unchanged X */
  SL_ACT_MOVE = 64   /* its time counts as moving rows: copying them for transport, or waiting for them */
};

enum { SL_NO_BUFFER = -1, SL_STEP_USES = 8 };

/* Work of a plan's steps that the cost model counts in addition to the traffic of exchanges and the entries
 * of parts. */
typedef struct sl_step_cost {
  int products; /* passes over Y that sum entries */
  int passes;   /* other passes over Y */
  double bytes; /* bytes of this rank's memory, read or written once */
} sl_step_cost;

/* No slot is NULL: a kind begins with SL_STEP_DEFAULTS and then names the slots in which it differs. */
struct sl_step_kind {
  const char *name; /* name in errors */
  unsigned acts;    /* bits SL_ACT_... */
  /* The buffer that the step fills or adds to, or SL_NO_BUFFER. For an unchanged X only steps that write Y
   * run again; the other buffers still have their contents. */
  int (*writes)(const sl_plan *plan, const sl_step *step);
  /* Sets used[i] to the addresses of the plan's fields that number the buffers that the step reads or writes,
   * so that a change to the plan can replace the numbers. X and Y may be left out. used has SL_STEP_USES
   * elements. Returns how many were set. The buffers of an exchange that the step begins are not included.
   * Not called for dry plans. */
  int (*uses)(sl_plan *plan, sl_step *step, int **used);
  /* Writes a line of text, without line end. */
  void (*describe)(const sl_plan *plan, const sl_step *step, char *line, size_t bytes);
  /* Adds the cost of one execution of the step to *sum. Also called for dry plans. */
  void (*cost)(const sl_plan *plan, const sl_step *step, sl_step_cost *sum);
  /* Upper bound of the device memory that bind allocates, in bytes. */
  int64_t (*memory)(const sl_plan *plan, const sl_step *step);
  /* Called once, when the plan is bound: allocates all memory that runs need. *state is NULL at first and is
   * passed to run and release. Local. */
  sley_status (*bind)(sl_run *run, const sl_step *step, void **state);
  void (*release)(sl_run *run, void *state); /* Frees the state; also called after a bind that failed. */
  /* Enqueues the step's work in run->queue. Collective if it waits for other ranks. */
  sley_status (*run)(sl_run *run, const sl_step *step, void *state);
};

int sl_step_writes_nothing(const sl_plan *plan, const sl_step *step);
int sl_step_uses_nothing(sl_plan *plan, sl_step *step, int **used);
void sl_step_costs_nothing(const sl_plan *plan, const sl_step *step, sl_step_cost *sum);
int64_t sl_step_takes_nothing(const sl_plan *plan, const sl_step *step);
sley_status sl_step_binds_nothing(sl_run *run, const sl_step *step, void **state);
void sl_step_releases_nothing(sl_run *run, void *state);

/* Slots of a kind that does not need them. Slots that are named after the macro replace them; the pragma
 * suppresses the compiler's warning about this. `name`, `describe` and `run` have no default. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define SL_STEP_DEFAULTS                                                                                     \
  .writes = sl_step_writes_nothing, .uses = sl_step_uses_nothing, .cost = sl_step_costs_nothing,             \
  .memory = sl_step_takes_nothing, .bind = sl_step_binds_nothing, .release = sl_step_releases_nothing

/* Returns whether any step of the plan has one of these acts. */
bool sl_plan_does(const sl_plan *plan, unsigned acts);

/* Returns whether the rows of an exchange are read in place. */
bool sl_plan_maps(const sl_plan *plan, int exchange);

#endif
