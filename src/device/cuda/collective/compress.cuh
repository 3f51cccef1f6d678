/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels that compress have in common: their arguments, and the end of a compression, when it is
 * known how many values are kept. */
#ifndef SLEY_DEVICE_CUDA_COLLECTIVE_COMPRESS_CUH
#define SLEY_DEVICE_CUDA_COLLECTIVE_COMPRESS_CUH

#include "device/cuda/cuda.h"

namespace sley {

/* Of one launch: a warp of a block places the tiles of each (compress_pici.cu). */
enum { MOST_ARRAYS = 8 };

struct compression {
  const char *src;
  char *dst;
  int64_t count, tiles, room;
  int64_t value_bytes;
  sley_type type;
  sl_compressed_format format; /* as asked for */
  unsigned long long *state;   /* a word a tile, and one more */
  char *copy;                  /* NULL, or where the values go as well */
};

/* Zeros behind an array of the payload, up to the next multiple of the alignment. */
__device__ inline void pad_array(char *payload, int64_t end) {
  for (int64_t i = end; i < sl_compressed_padded(end); i++)
    payload[i] = 0;
}

/* One thread. The header of what fits, the asked format or dense, and the pads of the asked format. */
__device__ inline void finish_compression(const compression &job, int64_t nonzeros) {
  char *payload = job.dst + SL_COMPRESSED_HEADER;
  sl_compressed_format format = job.format;
  sl_compressed_layout layout = sl_compressed_lay_out(format, job.value_bytes, job.count, nonzeros);
  if (layout.bytes > job.room - SL_COMPRESSED_HEADER) {
    format = SL_COMPRESSED_DENSE;
    layout = sl_compressed_lay_out(format, job.value_bytes, job.count, nonzeros);
  }
  if (format != SL_COMPRESSED_DENSE)
    pad_array(payload, layout.values + nonzeros * job.value_bytes);
  if (format == SL_COMPRESSED_COO)
    pad_array(payload, nonzeros * 4);
  if (format == SL_COMPRESSED_PICI32)
    pad_array(payload, layout.index + job.tiles * 4);
  sl_compressed_header header = {};
  header.magic = SL_COMPRESSED_MAGIC;
  header.version = SL_COMPRESSED_VERSION;
  header.format = static_cast<uint8_t>(format);
  header.type = static_cast<uint8_t>(job.type);
  header.count = job.count;
  header.nonzeros = nonzeros;
  header.payload_bytes = layout.bytes;
  *reinterpret_cast<sl_compressed_header *>(job.dst) = header;
}

__device__ inline const sl_compressed_header *header_of(const compression &job) {
  return reinterpret_cast<const sl_compressed_header *>(job.dst);
}

/* Arrays of one call, of one type. */
struct compressions {
  int arrays = 0;
  compression array[MOST_ARRAYS];
};

/* Launchers; the queue's device is in use. pici: the words of state are 0, and the words and counts of the
 * tiles fit into room; all arrays in one kernel. rest: the values of those arrays whose headers say dense, in
 * one kernel. */
sley_status launch_pici(sl_queue *queue, const compressions &jobs);
sley_status launch_coo(sl_queue *queue, const compression &job);
sley_status launch_dense(sl_queue *queue, const compression &job);
sley_status launch_rest(sl_queue *queue, const compressions &jobs);

/* Adds to *a->nonzeros. */
sley_status launch_count(sl_queue *queue, const sl_nonzeros_args *a);

} // namespace sley

#endif
