/* SPDX-License-Identifier: Apache-2.0 */
/* Meshes of two ranks in one process, and what plays the other rank: lines are a socket for messages and an
 * urgent one. */
#ifndef SLEY_TESTS_MESH_LINES_H
#define SLEY_TESTS_MESH_LINES_H

#include "socket/wire.h"

enum { MESSAGES, URGENT, LINES };

/* The ends of both ranks. Whether it could. */
bool mesh_lines(int ends[2][LINES]);

/* Rank `rank` of two, with its ends, which are the mesh's from here on. Ended by sl_wire_destroy. */
sley_status mesh_on_lines(int rank, const int ends[LINES], sl_mesh **out);

#endif
