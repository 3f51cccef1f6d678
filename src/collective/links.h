/* SPDX-License-Identifier: Apache-2.0 */
/* What messages between workgroups take, where no description of the machine says it: figures built in are of
 * some network, and the choice between dense and compressed goes wrong where it is a faster or a slower one.
 */
#ifndef SLEY_COLLECTIVE_LINKS_H
#define SLEY_COLLECTIVE_LINKS_H

#include "machine/machine.h"

/* For a collective that is to move so many bytes: machine becomes a copy of *costs with the message link and
 * the meeting as found on comm, the same on all ranks, and *measured is set. The first such call on a comm
 * measures, by dense all-gathers in which a rank receives 1 MiB at most, and takes memory meanwhile; the comm
 * keeps what was found, and later calls on it move nothing. *measured is not set where *costs is not built in
 * on all ranks, SLEY_MACHINE=builtin asks for figures that do not change, no messages travel, or the
 * collective is too small to gain. Collective. */
sley_status sl_links_measure(sl_comm *comm, const sl_machine *costs, int64_t bytes, sl_machine *machine,
                             bool *measured);

#endif
