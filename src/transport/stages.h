/* SPDX-License-Identifier: Apache-2.0 */
/* Stages in which the rows of an exchange arrive (transport.h): the words that its pull tells of them by, and
 * the waits of the rank's queue. What exchanges between devices have in common. */
#ifndef SLEY_TRANSPORT_STAGES_H
#define SLEY_TRANSPORT_STAGES_H

#include "device/device.h"
#include "transport/pull_list.h"

typedef struct sl_stages {
  int count;                   /* 0: none, or one pull does not bring all rows: end waits for them */
  bool unhurried;              /* as sl_exchange_spec says */
  bool first_arrived;          /* in this round a queue waits for the first stage */
  int64_t end[SL_PULL_STAGES]; /* entries of the pull's list, by stage */
  sl_stage_words *arrived;     /* the device's memory */
} sl_stages;

/* As sl_pull_interleave, stage after stage; fills stages->end for stages->count, which may be 0. */
int64_t sl_stages_interleave(sl_stages *stages, const sl_pull_rows *lists, int count, int start,
                             sl_pull_entry *out);

/* The words, in the memory of the queue's device, zeroed in the queue's order. After an error destroy is
 * allowed too. */
sley_status sl_stages_create(sl_stages *stages, sl_queue *queue);
void sl_stages_destroy(sl_stages *stages, sl_device *device);

/* At most what that takes of the device's memory. */
int64_t sl_stages_memory(int count);

/* What a pull needs to know. */
void sl_stages_fill(const sl_stages *stages, sl_pull_args *args);

/* The pull of a round is given to a queue. */
void sl_stages_begin(sl_stages *stages);

/* The queue waits until the first stage has arrived, and kernels in it can wait for the others by *words.
 * Where there are no stages *words is NULL, and it waits for all. `done` follows the pull. May be called
 * again in the round, in the same queue. */
sley_status sl_stages_arrive(sl_stages *stages, sl_event *done, sl_queue *queue,
                             const sl_stage_words **words);

/* The queue waits for all stages; each round ends so, so that queues that were captured together are joined.
 */
sley_status sl_stages_complete(sl_stages *stages, sl_event *done, sl_queue *queue);

#endif
