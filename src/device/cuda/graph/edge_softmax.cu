/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_EDGE_SOFTMAX: the softmax of the values of each row's entries, and its gradient.
 *
 * The limit is memory: values are read once and written once. A group of lanes takes a head of a row. Its
 * lanes hold the values of the first entries in registers; only for the entries beyond those, in longer rows,
 * memory is read again in each pass: maximum, sum, result. A lane reads and writes the same entries in all
 * passes, so the result may overwrite the values. The groups of a warp have neighbouring heads, so with
 * several heads they read whole lines. Long rows: pattern_rows.cuh. */
#include "device/cuda/graph/features.cuh"

namespace {

using namespace sley;

struct softmax_run {
  sl_edge_softmax_args a;
  graph_cut cut;
};

/* Number of entries that a lane holds: first, first + lanes, ..., if the row has them. */
enum { EACH = 8 };

/* The values of one head of a task's entries. */
template <class T> struct edge_values {
  const T *at; /* value of the task's first entry */
  int64_t heads;
  int count, lanes;
  __device__ __forceinline__ void load(int first, accumulator<T> (&to)[EACH]) const {
#pragma unroll
    for (int i = 0; i < EACH; i++) {
      const int e = first + i * lanes;
      to[i] = e < count ? widened(load_plain<T, 1>(at + e * heads), 0) : 0;
    }
  }
};

/* Calls body(i, e) for each of the EACH entries that exists. */
template <class Body> __device__ __forceinline__ void each_entry(int first, int count, int lanes, Body body) {
#pragma unroll
  for (int i = 0; i < EACH; i++)
    if (first + i * lanes < count)
      body(i, first + i * lanes);
}

template <class T>
__global__ void __launch_bounds__(GRAPH_THREADS) softmax(const __grid_constant__ softmax_run run) {
  using A = accumulator<T>;
  __shared__ A room[GRAPH_THREADS];
  const int lanes = run.cut.lanes, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int64_t heads = run.a.heads;
  graph_tasks tasks(run.cut);
  graph_task t;
  while (tasks.next(run.cut, &t)) {
    const int64_t offset = t.begin * heads + t.part;
    const edge_values<T> in = {static_cast<const T *>(run.a.in) + offset, heads, t.count, lanes};
    T *out = static_cast<T *>(run.a.out) + offset;
    const int count = t.count, beyond = lane + EACH * lanes;
    A held[EACH], more[EACH];
    in.load(lane, held);
    A most = minus_infinity(A());
    each_entry(lane, count, lanes, [&](int i, int) { most = larger(most, held[i]); });
    for (int e = beyond; e < count; e += EACH * lanes) {
      in.load(e, more);
      each_entry(e, count, lanes, [&](int i, int) { most = larger(most, more[i]); });
    }
    most = largest_of_group(most, lanes);
    if (is_shared(run.cut, t))
      most = largest_of_shares(run.cut, t, most, room);
    A sum[1] = {0};
    each_entry(lane, count, lanes, [&](int i, int) {
      held[i] = exponential(held[i] - most);
      sum[0] += held[i];
    });
    for (int e = beyond; e < count; e += EACH * lanes) {
      in.load(e, more);
      each_entry(e, count, lanes, [&](int i, int) { sum[0] += exponential(more[i] - most); });
    }
    sum[0] = sum_of_group(sum[0], lanes);
    if (is_shared(run.cut, t))
      add_shares<1>(run.cut, t, sum, room);
    each_entry(lane, count, lanes,
               [&](int i, int e) { out[e * heads] = value<T>::narrow(held[i] / sum[0]); });
    for (int e = beyond; e < count; e += EACH * lanes) {
      in.load(e, more);
      each_entry(e, count, lanes, [&](int i, int at) {
        out[at * heads] = value<T>::narrow(exponential(more[i] - most) / sum[0]);
      });
    }
  }
}

template <class T>
__global__ void __launch_bounds__(GRAPH_THREADS) softmax_grad(const __grid_constant__ softmax_run run) {
  using A = accumulator<T>;
  __shared__ A room[GRAPH_THREADS];
  const int lanes = run.cut.lanes, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int64_t heads = run.a.heads;
  graph_tasks tasks(run.cut);
  graph_task t;
  while (tasks.next(run.cut, &t)) {
    const int64_t offset = t.begin * heads + t.part;
    const edge_values<T> in = {static_cast<const T *>(run.a.in) + offset, heads, t.count, lanes};
    const edge_values<T> grad = {static_cast<const T *>(run.a.grad) + offset, heads, t.count, lanes};
    T *out = static_cast<T *>(run.a.out) + offset;
    const int count = t.count, beyond = lane + EACH * lanes;
    A p[EACH], g[EACH], more[EACH], more_g[EACH], sum[1] = {0};
    in.load(lane, p);
    grad.load(lane, g);
    each_entry(lane, count, lanes, [&](int i, int) { sum[0] = multiply_add(p[i], g[i], sum[0]); });
    for (int e = beyond; e < count; e += EACH * lanes) {
      in.load(e, more);
      grad.load(e, more_g);
      each_entry(e, count, lanes, [&](int i, int) { sum[0] = multiply_add(more[i], more_g[i], sum[0]); });
    }
    sum[0] = sum_of_group(sum[0], lanes);
    if (is_shared(run.cut, t))
      add_shares<1>(run.cut, t, sum, room);
    each_entry(lane, count, lanes,
               [&](int i, int e) { out[e * heads] = value<T>::narrow(p[i] * (g[i] - sum[0])); });
    for (int e = beyond; e < count; e += EACH * lanes) {
      in.load(e, more);
      grad.load(e, more_g);
      each_entry(e, count, lanes,
                 [&](int i, int at) { out[at * heads] = value<T>::narrow(more[i] * (more_g[i] - sum[0])); });
    }
  }
}

template <class T> sley_status launch_of(sl_queue *queue, const sl_edge_softmax_args &a) {
  const graph_cut cut =
      cut_rows(queue, a.pattern, a.heads, lanes_of_entries(a.heads), LANES_OF_ENTRIES, false);
  const softmax_run run = {a, cut};
  if (a.grad)
    softmax_grad<T><<<cut.blocks, GRAPH_THREADS, 0, sl_cuda_stream(queue)>>>(run);
  else
    softmax<T><<<cut.blocks, GRAPH_THREADS, 0, sl_cuda_stream(queue)>>>(run);
  return sl_cuda_launched(queue, "edge-softmax");
}

sley_status run_edge_softmax(sl_queue *queue, const sl_kernel_args *args) {
  const sl_edge_softmax_args *a = &args->edge_softmax;
  if (a->pattern.rows <= 0 || a->heads <= 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  return launch_by_type(a->dtype, [&](auto type) { return launch_of<decltype(type)>(queue, *a); });
}

bool edge_softmax_ok(const sl_kernel_args *args) {
  return sley_dtype_bytes(args->edge_softmax.dtype) != 0;
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_edge_softmax;
const sl_kernel sl_cuda_edge_softmax = {.name = "edge-softmax",
                                        .op = SL_OP_EDGE_SOFTMAX,
                                        .ok = edge_softmax_ok,
                                        .cost = sl_cost_of_bytes,
                                        SL_KERNEL_KEEPS_NOTHING,
                                        .run = run_edge_softmax};
}
