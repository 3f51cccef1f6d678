/* SPDX-License-Identifier: Apache-2.0 */
/* Finds row windows on the GPU. Entries are sorted by window and column with a stable sort, so that the
 * entries of a column are in the order of rows; each new column begins a slot. Sorting and prefix sums are
 * CUB's. */
#include "device/cuda/spmm/spmm_windows.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

extern "C" {
#include "base/memory.h"
}

namespace {

enum { BLOCK = 256, BITS = 32 };
/* TABLE: slots of the hash table in which the columns of a window of at most HASHED_MOST entries are counted;
 * the columns of longer ones are counted in at most PASSES passes. */
enum { TABLE = 8192, HASHED_MOST = TABLE / 2, PASSES = 32 };

unsigned blocks(int64_t work) {
  return static_cast<unsigned>((work + BLOCK - 1) / BLOCK);
}

__device__ __forceinline__ int64_t thread() {
  return static_cast<int64_t>(blockIdx.x) * BLOCK + threadIdx.x;
}

int bits_for(int64_t numbers) {
  int bits = 1;
  while (bits < 63 && int64_t{1} << bits < numbers)
    bits++;
  return bits;
}

/* Returns the last of `rows` stored rows, from `row` on, that begins at or before the entry. That row is
 * therefore not empty. */
__device__ __forceinline__ int64_t row_of(const sl_window_matrix &a, int64_t row, int64_t rows,
                                          int64_t entry) {
  int64_t low = row, high = row + rows - 1;
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    if (a.rowptr[middle] - a.rowptr[0] <= entry)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

} // namespace

struct sl_window_sort {
  int64_t room;
  void *memory; /* one allocation that contains the arrays below */
  uint64_t *key, *sorted;
  uint32_t *entry, *sorted_entry; /* relative to begin */
  uint32_t *number;               /* number of each entry's slot, plus 1, relative to the first window of the
                                   * sort */
  void *temporary;
  size_t temporary_bytes;
  int64_t from, begin, count; /* range of the last sort */
  int column_bits;
};

namespace {

/* Arrays of a sort that kernels read. */
struct sorted_entries {
  const uint64_t *key;
  const uint32_t *entry, *number;
  int64_t from, begin, count;
  int column_bits;
  __device__ int64_t window(int64_t i) const {
    return static_cast<int64_t>(key[i] >> column_bits);
  }
  __device__ int32_t column(int64_t i) const {
    return static_cast<int32_t>(key[i] & ((uint64_t{1} << column_bits) - 1));
  }
  /* First entry of a window. */
  __device__ int64_t first(const sl_window_matrix &a, int64_t window) const {
    const int64_t row = (from + window) * a.form.rows;
    return a.rowptr[row < a.rows ? row : a.rows] - a.rowptr[0] - begin;
  }
  /* Row of an entry within its window. */
  __device__ int row(const sl_window_matrix &a, int64_t window, int64_t i) const {
    const int64_t row = (from + window) * a.form.rows, left = a.rows - row;
    return static_cast<int>(row_of(a, row, left < a.form.rows ? left : a.form.rows, begin + entry[i]) - row);
  }
};

sorted_entries view(const sl_window_sort *s) {
  return {s->sorted, s->sorted_entry, s->number, s->from, s->begin, s->count, s->column_bits};
}

__global__ void __launch_bounds__(BLOCK)
    make_keys(const sl_window_matrix a, const sorted_entries s, uint64_t *key, uint32_t *entry) {
  const int64_t i = thread();
  if (i >= s.count)
    return;
  const int64_t first = s.from * a.form.rows;
  const uint64_t window =
      static_cast<uint64_t>((row_of(a, first, a.rows - first, s.begin + i) - first) / a.form.rows);
  key[i] = window << s.column_bits | static_cast<uint32_t>(a.col[s.begin + i] & INT32_MAX);
  entry[i] = static_cast<uint32_t>(i);
}

/* Sets 1 for each entry that begins a slot: the first of a column, and one in the same row as the entry
 * before it. */
__global__ void __launch_bounds__(BLOCK)
    begin_slots(const sl_window_matrix a, const sorted_entries s, uint32_t *number) {
  const int64_t i = thread();
  if (i >= s.count)
    return;
  const int64_t window = s.window(i);
  number[i] = i == 0 || s.key[i] != s.key[i - 1] || s.row(a, window, i) == s.row(a, window, i - 1);
}

/* Number of slots in a window up to its entry i. */
__device__ __forceinline__ int32_t slots_to(const sorted_entries &s, int64_t first, int64_t i) {
  return static_cast<int32_t>(s.number[i] - s.number[first]) + 1;
}

__global__ void __launch_bounds__(BLOCK)
    count_slots(const sl_window_matrix a, const sorted_entries s, int64_t windows, int32_t *slots) {
  const int64_t w = thread();
  if (w >= windows)
    return;
  const int64_t first = s.first(a, w), end = s.first(a, w + 1);
  slots[w] = end > first ? slots_to(s, first, end - 1) : 0;
}

/* mask: the bits of the exponent; in a value that is not finite all of them are 1. */
template <typename V>
__global__ void __launch_bounds__(BLOCK)
    mark_special(const sl_window_matrix a, const V mask, int32_t *slots) {
  const int64_t i = thread();
  if (i < a.entries && (static_cast<const V *>(a.val)[i] & mask) == mask)
    slots[row_of(a, 0, a.rows, i) / a.form.rows] = -1;
}

/* Position of the bit for row `row` and slot `slot` of a slab. */
__device__ __forceinline__ int bit_of(int row, int slot, int slots) {
  if (slots == 1) /* of a dense window */
    return row;
  const int quarter = slots / 4, lane = row % 8 * 4 + slot / quarter, half = row / 8, s = slot % quarter;
  return lane * (slots / 2) + (slots == 8 ? half + 2 * s : (half + 2 * (s / 2)) * 2 + s % 2);
}

/* Finds the word of an entry and its bit; returns false if its window has no slabs. */
__device__ __forceinline__ bool find_bit(const sl_window_matrix &a, const sorted_entries &s,
                                         const int64_t *first_slab, int64_t i, int64_t *word, int *bit) {
  const int slots = a.form.slots;
  const int64_t window = s.window(i), slab = first_slab[window];
  if (slab < 0)
    return false;
  const int slot = slots_to(s, s.first(a, window), i) - 1;
  const int at = bit_of(s.row(a, window, i), slot % slots, slots);
  *word = (slab + slot / slots) * a.form.words + at / BITS;
  *bit = at % BITS;
  return true;
}

__global__ void __launch_bounds__(BLOCK) fill(const sl_window_matrix a, const sorted_entries s,
                                              const int64_t *first_slab, int32_t *col, sl_slab_word *word) {
  const int slots = a.form.slots;
  const int64_t i = thread();
  int64_t at;
  int bit;
  if (i >= s.count || !find_bit(a, s, first_slab, i, &at, &bit))
    return;
  atomicOr(&word[at].bits, 1u << bit);
  const int64_t window = s.window(i), first = s.first(a, window), end = s.first(a, window + 1);
  if (i > first && s.number[i] == s.number[i - 1])
    return;
  const int slot = slots_to(s, first, i) - 1;
  int32_t *mine = col + (first_slab[window] + slot / slots) * slots;
  mine[slot % slots] = s.column(i);
  if (s.number[i] == s.number[end - 1])
    for (int left = slot % slots + 1; left < slots; left++)
      mine[left] = s.column(i);
}

template <typename V>
__global__ void __launch_bounds__(BLOCK)
    place_values(const sl_window_matrix a, const sorted_entries s, const int64_t *first_slab,
                 const sl_slab_word *word, V *val, uint32_t *place) {
  const int64_t i = thread();
  int64_t at;
  int bit;
  if (i >= s.count || !find_bit(a, s, first_slab, i, &at, &bit))
    return;
  const uint32_t to = word[at].first + __popc(word[at].bits & ((1u << bit) - 1));
  val[to] = static_cast<const V *>(a.val)[s.begin + s.entry[i]];
  if (place)
    place[s.begin + s.entry[i]] = to;
}

__global__ void __launch_bounds__(BLOCK) count_bits(int64_t words, const sl_slab_word *word, uint32_t *bits) {
  const int64_t i = thread();
  if (i < words)
    bits[i] = static_cast<uint32_t>(__popc(word[i].bits));
}

__global__ void __launch_bounds__(BLOCK)
    set_first(int64_t words, uint32_t base, const uint32_t *first, sl_slab_word *word) {
  const int64_t i = thread();
  if (i < words)
    word[i].first = base + first[i];
}

__global__ void __launch_bounds__(BLOCK)
    mark_ends(int64_t windows, const int64_t *first, const int slots, int32_t *col) {
  const int64_t w = thread();
  for (int s = 0; w < windows && s < slots; s++)
    col[(first[w + 1] - 1) * slots + s] |= INT32_MIN;
}

template <typename V>
__global__ void __launch_bounds__(BLOCK)
    refill(int64_t entries, const uint32_t *place, const V *from, V *val) {
  const int64_t i = thread();
  if (i < entries && place[i] != UINT32_MAX)
    val[place[i]] = from[i];
}

/* One warp processes one row. */
template <typename V>
__global__ void __launch_bounds__(BLOCK)
    gather(int64_t rows, const int64_t *from, const int64_t *rowptr, const int32_t *col, const V *val,
           int32_t *col_out, V *val_out) {
  const int64_t row = thread() / 32;
  if (row >= rows)
    return;
  for (int64_t i = rowptr[row] + threadIdx.x % 32; i < rowptr[row + 1]; i += 32) {
    const int64_t j = from[row] + i - rowptr[row];
    if (col_out)
      col_out[i] = col[j] & INT32_MAX;
    val_out[i] = val[j];
  }
}

/* Counts the distinct columns of entries `begin` to `end` - 1 in a hash table. */
__device__ void count_hashed(const sl_window_matrix &a, int64_t begin, int64_t end, int32_t *table,
                             int *distinct) {
  for (int i = threadIdx.x; i < TABLE; i += BLOCK)
    table[i] = -1;
  __syncthreads();
  for (int64_t i = begin + threadIdx.x; i < end; i += BLOCK) {
    const int32_t col = a.col[i] & INT32_MAX;
    unsigned at = static_cast<unsigned>(col) * 2654435761u % TABLE;
    for (;; at = (at + 1) % TABLE) {
      const int32_t there = atomicCAS(&table[at], -1, col);
      if (there == -1)
        atomicAdd(distinct, 1);
      if (there == -1 || there == col)
        break;
    }
  }
}

/* Counts columns from `least` to `most` by one bit each, as many at a time as the table has bits. */
__device__ void count_bitwise(const sl_window_matrix &a, int64_t begin, int64_t end, int least, int most,
                              int32_t *table, int *distinct) {
  for (int64_t from = least; from <= most; from += TABLE * BITS) {
    __syncthreads();
    for (int i = threadIdx.x; i < TABLE; i += BLOCK)
      table[i] = 0;
    __syncthreads();
    for (int64_t i = begin + threadIdx.x; i < end; i += BLOCK) {
      const int64_t at = (a.col[i] & INT32_MAX) - from;
      if (at < 0 || at >= TABLE * BITS)
        continue;
      const int32_t bit = static_cast<int32_t>(1u << at % BITS);
      if (!(atomicOr(&table[at / BITS], bit) & bit))
        atomicAdd(distinct, 1);
    }
  }
}

/* One block processes one window. */
__global__ void __launch_bounds__(BLOCK)
    count_columns(const sl_window_matrix a, const int64_t *window, int32_t *counted) {
  __shared__ int32_t table[TABLE];
  __shared__ int distinct, least, most;
  const int64_t row = window[blockIdx.x] * a.form.rows,
                end_row = row + a.form.rows < a.rows ? row + a.form.rows : a.rows;
  const int64_t begin = a.rowptr[row] - a.rowptr[0], end = a.rowptr[end_row] - a.rowptr[0];
  if (threadIdx.x == 0) {
    distinct = 0;
    least = INT32_MAX;
    most = 0;
  }
  __syncthreads();
  if (end - begin <= HASHED_MOST) {
    count_hashed(a, begin, end, table, &distinct);
  } else {
    int low = INT32_MAX, high = 0;
    for (int64_t i = begin + threadIdx.x; i < end; i += BLOCK) {
      const int col = a.col[i] & INT32_MAX;
      low = col < low ? col : low;
      high = col > high ? col : high;
    }
    atomicMin(&least, low);
    atomicMax(&most, high);
    __syncthreads();
    if ((most - least) / (TABLE * BITS) < PASSES)
      count_bitwise(a, begin, end, least, most, table, &distinct);
    else if (threadIdx.x == 0)
      distinct = -1;
  }
  __syncthreads();
  if (threadIdx.x == 0)
    counted[blockIdx.x] = distinct;
}

/* Upper bound of CUB's temporary memory for sorting and prefix sums. */
size_t temporary_for(int64_t entries) {
  size_t sort = 0, scan = 0;
  (void)cub::DeviceRadixSort::SortPairs(
      nullptr, sort, static_cast<const uint64_t *>(nullptr), static_cast<uint64_t *>(nullptr),
      static_cast<const uint32_t *>(nullptr), static_cast<uint32_t *>(nullptr), entries);
  (void)cub::DeviceScan::InclusiveSum(nullptr, scan, static_cast<uint32_t *>(nullptr),
                                      static_cast<uint32_t *>(nullptr), entries);
  return sort > scan ? sort : scan;
}

int64_t padded(int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

} // namespace

int64_t sl_window_sort_bytes(int64_t entries) {
  return sl_device_bytes(2 * padded(entries * 8) + 3 * padded(entries * 4) +
                         static_cast<int64_t>(temporary_for(entries)));
}

sley_status sl_window_sort_create(sl_queue *queue, int64_t entries, sl_window_sort **out) {
  sl_window_sort *s;
  *out = NULL;
  SL_TRY(sl_cuda_use(queue->device));
  s = static_cast<sl_window_sort *>(sl_alloc_zero(1, sizeof *s, "the sort of windows"));
  if (!s)
    return SLEY_ERR_MEMORY;
  s->room = entries;
  s->temporary_bytes = temporary_for(entries);
  sley_status status = queue->device->ops->alloc_private(queue->device, sl_window_sort_bytes(entries),
                                                         "the sort of windows", &s->memory);
  if (status != SLEY_OK) {
    sl_free(s);
    return status;
  }
  char *at = static_cast<char *>(s->memory);
  s->key = reinterpret_cast<uint64_t *>(at);
  s->sorted = reinterpret_cast<uint64_t *>(at += padded(entries * 8));
  s->entry = reinterpret_cast<uint32_t *>(at += padded(entries * 8));
  s->sorted_entry = reinterpret_cast<uint32_t *>(at += padded(entries * 4));
  s->number = reinterpret_cast<uint32_t *>(at += padded(entries * 4));
  s->temporary = at + padded(entries * 4);
  *out = s;
  return SLEY_OK;
}

void sl_window_sort_destroy(sl_device *device, sl_window_sort *sort) {
  if (!sort)
    return;
  device->ops->free(device, sort->memory);
  sl_free(sort);
}

sley_status sl_window_sort_run(sl_queue *queue, sl_window_sort *s, const sl_window_matrix *a, int64_t from,
                               int64_t to, int64_t begin, int64_t end, int32_t *slots) {
  cudaStream_t stream = sl_cuda_stream(queue);
  SL_TRY(sl_cuda_use(queue->device));
  s->from = from;
  s->begin = begin;
  s->count = end - begin;
  s->column_bits = bits_for(a->columns);
  if (s->count > 0) {
    const int bits = s->column_bits + bits_for(to - from);
    make_keys<<<blocks(s->count), BLOCK, 0, stream>>>(*a, view(s), s->key, s->entry);
    SL_TRY(
        sl_cuda_check(cub::DeviceRadixSort::SortPairs(s->temporary, s->temporary_bytes, s->key, s->sorted,
                                                      s->entry, s->sorted_entry, s->count, 0, bits, stream),
                      "sorting columns of windows"));
    begin_slots<<<blocks(s->count), BLOCK, 0, stream>>>(*a, view(s), s->number);
    SL_TRY(sl_cuda_check(cub::DeviceScan::InclusiveSum(s->temporary, s->temporary_bytes, s->number, s->number,
                                                       s->count, stream),
                         "counting columns of windows"));
  }
  count_slots<<<blocks(to - from), BLOCK, 0, stream>>>(*a, view(s), to - from, slots);
  return sl_cuda_launched(queue, "window-sort");
}

sley_status sl_window_mark_special(sl_queue *queue, const sl_window_matrix *a, int32_t *slots) {
  cudaStream_t stream = sl_cuda_stream(queue);
  SL_TRY(sl_cuda_use(queue->device));
  if (a->dtype == SLEY_F64)
    mark_special<uint64_t><<<blocks(a->entries), BLOCK, 0, stream>>>(*a, uint64_t{0x7ff0000000000000}, slots);
  else if (a->dtype == SLEY_F32)
    mark_special<uint32_t><<<blocks(a->entries), BLOCK, 0, stream>>>(*a, 0x7f800000, slots);
  else
    mark_special<uint16_t>
        <<<blocks(a->entries), BLOCK, 0, stream>>>(*a, a->dtype == SLEY_F16 ? 0x7c00 : 0x7f80, slots);
  return sl_cuda_launched(queue, "window-mark-special");
}

sley_status sl_window_fill(sl_queue *queue, const sl_window_sort *s, const sl_window_matrix *a,
                           const int64_t *first_slab, int32_t *col, sl_slab_word *word) {
  SL_TRY(sl_cuda_use(queue->device));
  if (s->count > 0)
    fill<<<blocks(s->count), BLOCK, 0, sl_cuda_stream(queue)>>>(*a, view(s), first_slab, col, word);
  return sl_cuda_launched(queue, "window-fill");
}

static sley_status number_words(sl_queue *queue, int64_t words, uint32_t base, sl_slab_word *word,
                                uint32_t *count, void *temporary, size_t bytes) {
  cudaStream_t stream = sl_cuda_stream(queue);
  count_bits<<<blocks(words), BLOCK, 0, stream>>>(words, word, count);
  SL_TRY(sl_cuda_check(cub::DeviceScan::ExclusiveSum(temporary, bytes, count, count, words, stream),
                       "counting entries of windows"));
  set_first<<<blocks(words), BLOCK, 0, stream>>>(words, base, count, word);
  return sl_cuda_launched(queue, "window-number");
}

sley_status sl_window_number(sl_queue *queue, int64_t words, uint32_t base, sl_slab_word *word) {
  sl_device *device = queue->device;
  const int64_t count_bytes = padded(words * static_cast<int64_t>(sizeof(uint32_t)));
  if (words == 0)
    return SLEY_OK;
  const size_t bytes = temporary_for(words);
  void *room;
  SL_TRY(device->ops->alloc_private(device, count_bytes + static_cast<int64_t>(bytes), "sums over windows",
                                    &room));
  sley_status status = number_words(queue, words, base, word, static_cast<uint32_t *>(room),
                                    static_cast<char *>(room) + count_bytes, bytes);
  const sley_status waited = device->ops->queue_wait(queue);
  device->ops->free(device, room);
  return status != SLEY_OK ? status : waited;
}

sley_status sl_window_mark(sl_queue *queue, int64_t windows, const int64_t *first, int slots, int32_t *col) {
  SL_TRY(sl_cuda_use(queue->device));
  mark_ends<<<blocks(windows), BLOCK, 0, sl_cuda_stream(queue)>>>(windows, first, slots, col);
  return sl_cuda_launched(queue, "window-mark");
}

/* Calls enqueue(V) with an unsigned integer of `bytes` bytes, because values are only moved. */
template <class ENQUEUE> static void by_size(int64_t bytes, ENQUEUE enqueue) {
  if (bytes == 2)
    enqueue(uint16_t{});
  else if (bytes == 4)
    enqueue(uint32_t{});
  else
    enqueue(uint64_t{});
}

sley_status sl_window_place(sl_queue *queue, const sl_window_sort *s, const sl_window_matrix *a,
                            const int64_t *first_slab, const sl_slab_word *word, void *val, uint32_t *place) {
  SL_TRY(sl_cuda_use(queue->device));
  if (s->count > 0)
    by_size(static_cast<int64_t>(sley_dtype_bytes(a->dtype)), [&](auto v) {
      place_values<<<blocks(s->count), BLOCK, 0, sl_cuda_stream(queue)>>>(
          *a, view(s), first_slab, word, static_cast<decltype(v) *>(val), place);
    });
  return sl_cuda_launched(queue, "window-place");
}

sley_status sl_window_refill(sl_queue *queue, int64_t entries, const uint32_t *place, const void *from,
                             int64_t value_bytes, void *val) {
  SL_TRY(sl_cuda_use(queue->device));
  by_size(value_bytes, [&](auto v) {
    refill<<<blocks(entries), BLOCK, 0, sl_cuda_stream(queue)>>>(
        entries, place, static_cast<const decltype(v) *>(from), static_cast<decltype(v) *>(val));
  });
  return sl_cuda_launched(queue, "window-refill");
}

sley_status sl_window_gather(sl_queue *queue, int64_t rows, const int64_t *from, const int64_t *rowptr,
                             const int32_t *col, const void *val, int64_t value_bytes, int32_t *col_out,
                             void *val_out) {
  SL_TRY(sl_cuda_use(queue->device));
  by_size(value_bytes, [&](auto v) {
    gather<<<blocks(rows * 32), BLOCK, 0, sl_cuda_stream(queue)>>>(
        rows, from, rowptr, col, static_cast<const decltype(v) *>(val), col_out,
        static_cast<decltype(v) *>(val_out));
  });
  return sl_cuda_launched(queue, "window-gather");
}

sley_status sl_window_count(sl_queue *queue, const sl_window_matrix *a, int64_t count, const int64_t *window,
                            int32_t *counted) {
  SL_TRY(sl_cuda_use(queue->device));
  count_columns<<<static_cast<unsigned>(count), BLOCK, 0, sl_cuda_stream(queue)>>>(*a, window, counted);
  return sl_cuda_launched(queue, "window-count");
}
