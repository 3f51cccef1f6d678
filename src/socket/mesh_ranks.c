/* SPDX-License-Identifier: Apache-2.0 */
/* Queries about the ranks of a mesh and their hosts. */
#include <string.h>

#include "socket/wire.h"

int sl_mesh_local_rank(const sl_mesh *mesh) {
  return mesh->local_rank;
}

const char *sl_mesh_host(const sl_mesh *mesh, int rank) {
  return mesh->peer[rank].host;
}

static bool blocks_fit(const sl_mesh *mesh, int block) {
  for (int r = 1; r < mesh->size; r++)
    if (r % block != 0 && strcmp(mesh->peer[r].host, mesh->peer[r - 1].host) != 0)
      return false;
  return true;
}

int sl_mesh_block(const sl_mesh *mesh, int most) {
  int block = most < mesh->size ? most : mesh->size;
  while (block > 1 && !blocks_fit(mesh, block))
    block--;
  return block;
}
