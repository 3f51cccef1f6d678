/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a process or a thread of this host, from /proc. */
#ifndef SLEY_BASE_TASK_STATE_H
#define SLEY_BASE_TASK_STATE_H

/* The state letter of a process (thread 0: its first thread), or of a thread of the process: R runs or could
 * run, S and D sleep, T and t are stopped, Z has ended; '\0': it cannot be read. Allocates nothing. */
char sl_task_state(int process, int thread);

#endif
