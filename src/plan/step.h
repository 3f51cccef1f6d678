/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of steps. A kind is one row: what a step of it does as far as plans are changed, described and
 * predicted by it, and the function that runs it. Nobody else looks which kind a step is of; so a new kind is
 * a row and its functions, in the file of the algorithm that needs it.
 *
 * The rows of the kinds that all algorithms share are declared in plan.h and defined in exec/steps.c, beside
 * the functions that run them: this folder takes a row by its address alone. */
#ifndef SLEY_PLAN_STEP_H
#define SLEY_PLAN_STEP_H

#include "plan/plan.h"

/* What a step runs with. Execution keeps more behind it, for its own kinds. */
typedef struct sl_run {
  const sl_plan *plan;
  sl_comm *comm;
  sl_queue *queue;    /* the work goes here */
  void **memory;      /* of each buffer, in the device's memory; of X and Y the caller's, set for each run */
  int64_t *stride;    /* bytes between rows of each */
  double alpha, beta; /* of this run; beta as the steps are to apply it */
} sl_run;

/* How others take part in a step, and what its index then means. A step may do several. */
enum {
  SL_ACT_BEGIN = 1,  /* it begins exchange `index` */
  SL_ACT_MAP = 2,    /* the rows of exchange `index` are read in place until its end */
  SL_ACT_END = 4,    /* it ends exchange `index` */
  SL_ACT_SUM = 8,    /* it sums part `index` */
  SL_ACT_FETCH = 16, /* it takes part in one-sided fetches */
  SL_ACT_ORDER = 32, /* it orders other steps and writes nothing: it is run for an unchanged X too */
  SL_ACT_MOVE = 64   /* its time is that of moving rows: to or from where they travel, or waiting for them */
};

enum { SL_NO_BUFFER = -1, SL_STEP_USES = 8 };

/* What the cost model counts of a plan's steps, beside the traffic of exchanges and the entries of parts. */
typedef struct sl_step_cost {
  int products; /* passes over Y that sum entries */
  int passes;   /* other passes over Y */
  double bytes; /* of this rank's memory, read or written once */
} sl_step_cost;

/* No slot is NULL: a row begins with SL_STEP_DEFAULTS and then names what is special about its kind. */
struct sl_step_kind {
  const char *name; /* for errors */
  unsigned acts;    /* SL_ACT_... */
  /* The buffer that it fills or adds to, SL_NO_BUFFER if none. A step that writes Y is run again for an
   * unchanged X; what others have filled is still there. */
  int (*writes)(const sl_plan *plan, const sl_step *step);
  /* Where the plan keeps the numbers of the buffers that it reads or writes, X and Y not needed, so that a
   * change to the plan can put others there; *used has room for SL_STEP_USES. Returns how many. Not asked for
   * the buffers of exchanges that it begins, nor of dry plans. */
  int (*uses)(sl_plan *plan, sl_step *step, int **used);
  /* A line of text, without its end. */
  void (*describe)(const sl_plan *plan, const sl_step *step, char *line, size_t bytes);
  /* Adds to *sum what an execute of it takes. Of dry plans too. */
  void (*cost)(const sl_plan *plan, const sl_step *step, sl_step_cost *sum);
  /* At most what bind takes of the device's memory, in bytes. */
  int64_t (*memory)(const sl_plan *plan, const sl_step *step);
  /* Once, when the plan is bound: all memory that runs need. *state, which is NULL at first, is handed to run
   * and release. Local. */
  sley_status (*bind)(sl_run *run, const sl_step *step, void **state);
  void (*release)(sl_run *run, void *state); /* also after a bind that failed */
  /* Enqueues the step's work in run->queue. Collective where it waits for other ranks. */
  sley_status (*run)(sl_run *run, const sl_step *step, void *state);
};

int sl_step_writes_nothing(const sl_plan *plan, const sl_step *step);
int sl_step_uses_nothing(sl_plan *plan, sl_step *step, int **used);
void sl_step_costs_nothing(const sl_plan *plan, const sl_step *step, sl_step_cost *sum);
int64_t sl_step_takes_nothing(const sl_plan *plan, const sl_step *step);
sley_status sl_step_binds_nothing(sl_run *run, const sl_step *step, void **state);
void sl_step_releases_nothing(sl_run *run, void *state);

/* A kind that needs none of these slots. Slots that a row names after it replace them, which the compiler
 * would warn of. `name`, `describe` and `run` have no default. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define SL_STEP_DEFAULTS                                                                                     \
  .writes = sl_step_writes_nothing, .uses = sl_step_uses_nothing, .cost = sl_step_costs_nothing,             \
  .memory = sl_step_takes_nothing, .bind = sl_step_binds_nothing, .release = sl_step_releases_nothing

/* Whether any step of the plan does one of these. */
bool sl_plan_does(const sl_plan *plan, unsigned acts);

/* Whether the rows of an exchange are read in place. */
bool sl_plan_maps(const sl_plan *plan, int exchange);

#endif
