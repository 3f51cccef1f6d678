/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of broadcasts show why sections matter: in stage s rank s sums its local part, which is long on most
 * matrices. The other ranks, whose parts are short, wait for it before they get the next block. */
#include "predict/cost_sections.h"

#include "plan/step.h"

/* Returns whether exchanges end only when the receivers have taken their rows, because ranks that are threads
 * read rows in place. For the ranks of a described machine this is not known. */
static bool holds_up_senders(const sl_prediction *p) {
  const sl_comm *comm = p->ins->comm;
  return !p->ins->wishes->machine && !comm->processes && comm->device->ops->host_addresses &&
         p->plan->fetches.count == 0;
}

typedef enum kind { LOCAL, REMOTE, LENT, KINDS } kind;

static kind kind_of(const sl_part *part) {
  if (part->x != SL_BUFFER_X)
    return REMOTE;
  return part->y == SL_BUFFER_Y ? LOCAL : LENT;
}

int sl_cost_sections(const sl_prediction *p, const sl_sums *sums, double *seconds) {
  const sl_plan *plan = p->plan;
  double work[KINDS] = {0}, time[KINDS] = {sums->local, sums->remote, sums->partial};
  int sections = 1;
  seconds[0] = sums->pack;
  for (int i = 0; i < plan->steps.count; i++)
    if (SL_STEP(plan, i)->kind->acts & SL_ACT_SUM && plan->parts.count > 0)
      work[kind_of(SL_PART(plan, SL_STEP(plan, i)->index))] += SL_PART(plan, SL_STEP(plan, i)->index)->work;
  if (work[LOCAL] == 0 || work[REMOTE] == 0) { /* the parts that exist do the work of both kinds */
    kind k = work[LOCAL] == 0 ? REMOTE : LOCAL;
    time[k] = time[LOCAL] + time[REMOTE];
    time[k == LOCAL ? REMOTE : LOCAL] = 0;
  }
  for (int i = 0; i < plan->steps.count && holds_up_senders(p); i++) {
    const sl_step *step = SL_STEP(plan, i);
    if (step->kind->acts & SL_ACT_SUM && plan->parts.count > 0) {
      const sl_part *part = SL_PART(plan, step->index);
      kind k = kind_of(part);
      double share = k == LENT ? 1 : work[k] > 0 ? part->work / work[k] : 0;
      seconds[sections - 1] += time[k] * share;
      time[k] -= k == LENT ? time[k] : 0;
    } else if (step->kind->acts & SL_ACT_END && sections < SL_SECTIONS) {
      seconds[sections++] = 0;
    }
  }
  double told = 0;
  for (int i = 0; i < sections; i++)
    told += seconds[i];
  seconds[sections - 1] += sums->pack + sums->local + sums->remote + sums->partial - told;
  return sections;
}
