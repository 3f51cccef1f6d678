/* SPDX-License-Identifier: Apache-2.0 */
/* Measurement of messages between workgroups, for machines without a description: built-in figures describe
 * one particular network, and the choice between dense and compressed would be wrong on a faster or slower
 * network. */
#ifndef SLEY_COLLECTIVE_LINKS_H
#define SLEY_COLLECTIVE_LINKS_H

#include "machine/machine.h"

/* For a collective that moves `bytes` bytes: sets machine to a copy of *costs with the message link and the
 * meeting measured on comm, the same on all ranks, and sets *measured. The first such call on a comm
 * measures, by dense all-gathers in which a rank receives 1 MiB at most, and takes memory meanwhile; the comm
 * keeps the result, and later calls on it move nothing. *measured is not set if *costs is not built in on all
 * ranks, SLEY_MACHINE=builtin requests fixed figures, no messages travel, or the collective is too small to
 * gain. Collective. */
sley_status sl_links_measure(sl_comm *comm, const sl_machine *costs, int64_t bytes, sl_machine *machine,
                             bool *measured);

#endif
