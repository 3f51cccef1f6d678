/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives over the sockets. Each begins with a meeting, in which every rank sends all others the name of
 * its call, its sizes and its status, so that all ranks make the same decision. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "socket/wire.h"

/* Sends own bytes to every peer, and receives as many from each peer r at dst + r * stride. */
static sley_status swap_with_all(sl_mesh *mesh, uint64_t tag, const void *own, void *dst, int64_t stride,
                                 int64_t bytes) {
  for (int p = 0; p < mesh->size; p++)
    if (p != mesh->rank)
      sl_mesh_recv(mesh, p, tag, (char *)dst + p * stride, bytes, &mesh->peer[p].own_recv);
  for (int i = 1; i < mesh->size; i++) {
    int p = (mesh->rank + i) % mesh->size;
    sl_mesh_send(mesh, p, tag, own, bytes, &mesh->peer[p].own_send);
  }
  for (int p = 0; p < mesh->size; p++)
    if (p != mesh->rank)
      SL_TRY(sl_mesh_wait_received(mesh, p, &mesh->peer[p].own_recv));
  for (int p = 0; p < mesh->size; p++)
    if (p != mesh->rank)
      SL_TRY(sl_mesh_wait_sent(mesh, p, &mesh->peer[p].own_send));
  return SLEY_OK;
}

/* Sends bytes from root to all ranks. */
static sley_status pass_on(sl_mesh *mesh, int root, uint64_t tag, void *data, int64_t bytes) {
  if (mesh->rank != root) {
    sl_mesh_incoming *recv = &mesh->peer[root].own_recv;
    sl_mesh_recv(mesh, root, tag, data, bytes, recv);
    return sl_mesh_wait_received(mesh, root, recv);
  }
  for (int p = 0; p < mesh->size; p++)
    if (p != root)
      sl_mesh_send(mesh, p, tag, data, bytes, &mesh->peer[p].own_send);
  for (int p = 0; p < mesh->size; p++)
    if (p != root)
      SL_TRY(sl_mesh_wait_sent(mesh, p, &mesh->peer[p].own_send));
  return SLEY_OK;
}

/* Compares the posts that the ranks brought to the meeting. The result is the same on every rank, because all
 * compare the same posts. */
static sley_status compare_posts(const sl_mesh *mesh) {
  const sl_mesh_post *first = &mesh->peer[0].post;
  for (int r = 1; r < mesh->size; r++) {
    const sl_mesh_post *post = &mesh->peer[r].post;
    if (strncmp(post->call, first->call, sizeof post->call) != 0)
      return sl_fail(SLEY_ERR_ARG,
                     "rank 0 calls %s, rank %d calls %s: all ranks must make the same collective calls",
                     first->call, r, post->call);
    for (int i = 0; i < 2; i++)
      if (post->number[i] != first->number[i])
        return sl_fail(SLEY_ERR_ARG,
                       "%s: rank 0 passes %lld, but rank %d passes %lld: all ranks must pass the same",
                       first->call, (long long)first->number[i], r, (long long)post->number[i]);
  }
  return SLEY_OK;
}

/* Returns this rank's result of a meeting once every rank's status is known. */
static sley_status share_reason(sl_mesh *mesh, const sl_error *own) {
  int first = 0;
  while (first < mesh->size && mesh->peer[first].post.status == SLEY_OK)
    first++;
  if (first == mesh->size)
    return SLEY_OK;
  sl_error error = *own;
  sley_status status = pass_on(mesh, first, SL_TAG_REASON | mesh->epoch, &error, sizeof error);
  if (own->status != SLEY_OK)
    return sl_error_restore(own);
  SL_TRY(status);
  sl_error_check(&error, mesh->size);
  return sl_error_of_peer(first, &error);
}

/* Makes all ranks meet, as sl_mesh_agree; afterwards peer[r].post is the post of rank r. */
static sley_status meet(sl_mesh *mesh, const char *call, int64_t first, int64_t second, sley_status mine) {
  sl_wire_enter(mesh);
  sl_error own;
  sl_error_take(mine, &own);
  sl_mesh_post *post = &mesh->peer[mesh->rank].post;
  *post = (sl_mesh_post){.number = {first, second}, .status = mine};
  snprintf(post->call, sizeof post->call, "%s", call);
  mesh->epoch++;
  sley_status status = sl_wire_broken(mesh);
  for (int p = 0; p < mesh->size && status == SLEY_OK; p++)
    if (p != mesh->rank)
      sl_mesh_recv(mesh, p, SL_TAG_POST | mesh->epoch, &mesh->peer[p].post, sizeof *post,
                   &mesh->peer[p].own_recv);
  for (int i = 1; i < mesh->size && status == SLEY_OK; i++) {
    int p = (mesh->rank + i) % mesh->size;
    sl_mesh_send(mesh, p, SL_TAG_POST | mesh->epoch, post, sizeof *post, &mesh->peer[p].own_send);
  }
  for (int p = 0; p < mesh->size && status == SLEY_OK; p++)
    if (p != mesh->rank)
      status = sl_mesh_wait_received(mesh, p, &mesh->peer[p].own_recv);
  for (int p = 0; p < mesh->size && status == SLEY_OK; p++)
    if (p != mesh->rank)
      status = sl_mesh_wait_sent(mesh, p, &mesh->peer[p].own_send);
  if (status != SLEY_OK) /* the meeting failed; this rank's own failure takes precedence */
    return mine == SLEY_OK ? status : sl_error_restore(&own);
  for (int p = 0; p < mesh->size; p++)
    mesh->peer[p].post.call[SL_MESH_CALL - 1] = '\0';
  status = compare_posts(mesh);
  if (status == SLEY_OK)
    return share_reason(mesh, &own);
  /* Before all ranks have found this error themselves, a rank must not leave with it and report it to others
   * as its own failure. */
  char nothing;
  sl_error error;
  sl_error_take(status, &error);
  (void)swap_with_all(mesh, SL_TAG_REASON | mesh->epoch, &nothing, &nothing, 0, 0);
  return sl_error_restore(&error);
}

sley_status sl_mesh_agree(sl_mesh *mesh, const char *call, int64_t first, int64_t second, sley_status mine) {
  return meet(mesh, call, first, second, mine);
}

sley_status sl_mesh_barrier(sl_mesh *mesh) {
  return meet(mesh, "barrier", 0, 0, SLEY_OK);
}

sley_status sl_mesh_allgather(sl_mesh *mesh, const void *src, int64_t bytes, void *dst) {
  sley_status mine = SLEY_OK;
  if (bytes < 0 || (bytes > 0 && (!src || !dst)))
    mine = sl_fail(SLEY_ERR_ARG, "allgather: %lld bytes from %p to %p", (long long)bytes, src, dst);
  SL_TRY(meet(mesh, "allgather", bytes, 0, mine));
  if (bytes == 0)
    return SLEY_OK;
  memmove((char *)dst + mesh->rank * bytes, src, (size_t)bytes);
  return swap_with_all(mesh, SL_TAG_DATA | mesh->epoch, (char *)dst + mesh->rank * bytes, dst, bytes, bytes);
}

/* The sizes that a rank sends to another rank for an alltoallv. */
typedef struct pair_sizes {
  int64_t sent, taken;
} pair_sizes;

/* Checks that this rank and rank r agree on the sizes between them, in both directions. */
static sley_status match_pair(int rank, const pair_sizes *mine, int r, const pair_sizes *theirs) {
  for (int way = 0; way < 2; way++) {
    int64_t sent = way ? mine->sent : theirs->sent, taken = way ? theirs->taken : mine->taken;
    int sender = way ? rank : r, receiver = way ? r : rank;
    if (sent != taken || sent < 0)
      return sl_fail(SLEY_ERR_ARG, "alltoallv: rank %d sends %lld bytes to rank %d, which takes %lld", sender,
                     (long long)sent, receiver, (long long)taken);
  }
  return SLEY_OK;
}

/* Sends every peer its sizes, and compares. sizes: memory for twice the number of ranks. */
static sley_status match_sizes(sl_mesh *mesh, pair_sizes *sizes, const int64_t *send_bytes,
                               const int64_t *recv_bytes) {
  pair_sizes *theirs = sizes + mesh->size;
  uint64_t tag = SL_TAG_DATA | mesh->epoch;
  for (int p = 0; p < mesh->size; p++) {
    sizes[p] = theirs[p] = (pair_sizes){send_bytes[p], recv_bytes[p]};
    if (p != mesh->rank)
      sl_mesh_recv(mesh, p, tag, &theirs[p], sizeof *theirs, &mesh->peer[p].own_recv);
  }
  for (int p = 0; p < mesh->size; p++)
    if (p != mesh->rank)
      sl_mesh_send(mesh, p, tag, &sizes[p], sizeof *sizes, &mesh->peer[p].own_send);
  sley_status status = SLEY_OK;
  for (int i = 0; i < mesh->size; i++) {
    int p = (mesh->rank + i) % mesh->size;
    if (p != mesh->rank) {
      SL_TRY(sl_mesh_wait_received(mesh, p, &mesh->peer[p].own_recv));
      SL_TRY(sl_mesh_wait_sent(mesh, p, &mesh->peer[p].own_send));
    }
    if (status == SLEY_OK)
      status = match_pair(mesh->rank, &sizes[p], p, &theirs[p]);
  }
  return meet(mesh, "end of alltoallv", 0, 0, status);
}

sley_status sl_mesh_alltoallv(sl_mesh *mesh, const void *send, const int64_t *send_at,
                              const int64_t *send_bytes, void *recv, const int64_t *recv_at,
                              const int64_t *recv_bytes) {
  pair_sizes *sizes = NULL;
  sley_status status = SLEY_OK;
  if (!send_at || !send_bytes || !recv_at || !recv_bytes)
    status = sl_fail(SLEY_ERR_ARG, "alltoallv: a list of places or sizes is NULL");
  else
    status = SL_NEW(sizes, 2 * (int64_t)mesh->size, "an alltoallv");
  SL_TRY_GOTO(status, meet(mesh, "alltoallv", 0, 0, status), done);
  SL_TRY_GOTO(status, match_sizes(mesh, sizes, send_bytes, recv_bytes), done);
  uint64_t tag = SL_TAG_DATA | mesh->epoch;
  for (int p = 0; p < mesh->size; p++)
    if (p != mesh->rank && recv_bytes[p] > 0)
      sl_mesh_recv(mesh, p, tag, (char *)recv + recv_at[p], recv_bytes[p], &mesh->peer[p].own_recv);
  for (int i = 1; i < mesh->size; i++) {
    int p = (mesh->rank + i) % mesh->size;
    if (send_bytes[p] > 0)
      sl_mesh_send(mesh, p, tag, (const char *)send + send_at[p], send_bytes[p], &mesh->peer[p].own_send);
  }
  int own = mesh->rank;
  if (send_bytes[own] > 0)
    memmove((char *)recv + recv_at[own], (const char *)send + send_at[own], (size_t)send_bytes[own]);
  for (int p = 0; p < mesh->size && status == SLEY_OK; p++)
    if (p != own && recv_bytes[p] > 0)
      status = sl_mesh_wait_received(mesh, p, &mesh->peer[p].own_recv);
  for (int p = 0; p < mesh->size && status == SLEY_OK; p++)
    if (p != own && send_bytes[p] > 0)
      status = sl_mesh_wait_sent(mesh, p, &mesh->peer[p].own_send);
done:
  sl_free(sizes);
  return status;
}

static bool reduce_into(sl_mesh_op op, int64_t *sum, const int64_t *values, int64_t count) {
  bool overflow = false;
  for (int64_t i = 0; i < count; i++) {
    if (op == SL_MESH_SUM)
      overflow |= __builtin_add_overflow(sum[i], values[i], &sum[i]);
    else if (op == SL_MESH_MIN ? values[i] < sum[i] : values[i] > sum[i])
      sum[i] = values[i];
  }
  return !overflow;
}

sley_status sl_mesh_allreduce(sl_mesh *mesh, sl_mesh_op op, int64_t *values, int64_t count) {
  int64_t *all = NULL, total = 0;
  sley_status status = SLEY_OK;
  if (count < 0 || (count > 0 && !values) || op > SL_MESH_MAX ||
      __builtin_mul_overflow(count, mesh->size, &total))
    status = sl_fail(SLEY_ERR_ARG, "allreduce: operator %d on %lld values at %p", (int)op, (long long)count,
                     (void *)values);
  else
    status = SL_NEW(all, total, "an allreduce");
  SL_TRY_GOTO(status, meet(mesh, "allreduce", (int64_t)op, count, status), done);
  if (count == 0)
    goto done;
  int64_t bytes = count * (int64_t)sizeof *all;
  memcpy(all + mesh->rank * count, values, (size_t)bytes);
  SL_TRY_GOTO(status, swap_with_all(mesh, SL_TAG_DATA | mesh->epoch, values, all, bytes, bytes), done);
  bool fits = true;
  for (int r = 1; r < mesh->size; r++)
    fits = reduce_into(op, all, all + r * count, count) && fits;
  if (fits)
    memcpy(values, all, (size_t)bytes);
  else
    status = sl_fail(SLEY_ERR_OVERFLOW, "allreduce: a sum over %d ranks does not fit 64 bits", mesh->size);
done:
  sl_free(all);
  return status;
}

sley_status sl_mesh_broadcast(sl_mesh *mesh, int root, void *data, int64_t bytes) {
  sley_status mine = SLEY_OK;
  if (root < 0 || root >= mesh->size || bytes < 0 || (bytes > 0 && !data))
    mine =
        sl_fail(SLEY_ERR_ARG, "broadcast: %lld bytes from rank %d of %d", (long long)bytes, root, mesh->size);
  SL_TRY(meet(mesh, "broadcast", root, bytes, mine));
  return bytes == 0 ? SLEY_OK : pass_on(mesh, root, SL_TAG_DATA | mesh->epoch, data, bytes);
}
