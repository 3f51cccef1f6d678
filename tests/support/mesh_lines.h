/* SPDX-License-Identifier: Apache-2.0 */
/* Meshes of two ranks in one process, or a mesh and a test that acts as the other rank. The lines of a rank
 * are a socket for messages and an urgent socket. */
#ifndef SLEY_TESTS_MESH_LINES_H
#define SLEY_TESTS_MESH_LINES_H

#include "socket/wire.h"

enum { MESSAGES, URGENT, LINES };

/* Creates the ends of both ranks. Returns whether this succeeded. */
bool mesh_lines(int ends[2][LINES]);

/* Creates the mesh of rank `rank` of two on its ends, of which it takes ownership. Destroyed by
 * sl_wire_destroy. */
sley_status mesh_on_lines(int rank, const int ends[LINES], sl_mesh **out);

#endif
