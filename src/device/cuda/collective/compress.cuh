/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels that compress: their arguments, and the end of a compression, when the number of
 * values kept is known. */
#ifndef SLEY_DEVICE_CUDA_COLLECTIVE_COMPRESS_CUH
#define SLEY_DEVICE_CUDA_COLLECTIVE_COMPRESS_CUH

#include "device/cuda/cuda.h"

namespace sley {

/* Most arrays per launch: each has a warp of one block that places its tiles (compress_pici.cu). */
enum { MOST_ARRAYS = 8 };

struct compression {
  const char *src;
  char *dst;
  int64_t count, tiles, room;
  int64_t value_bytes;
  sley_type type;
  sl_compressed_format format; /* the requested format */
  unsigned long long *state;   /* one word per tile, and one more */
  char *copy;                  /* NULL, or a second destination of the values */
};

/* Writes zeros after an array of the payload, up to the next multiple of the alignment. */
__device__ inline void pad_array(char *payload, int64_t end) {
  for (int64_t i = end; i < sl_compressed_padded(end); i++)
    payload[i] = 0;
}

/* Called by one thread. Writes the header, for the requested format if the array fits, else for dense; and
 * the padding of the requested format. */
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

/* Arrays of one call, all of the same type. */
struct compressions {
  int arrays = 0;
  compression array[MOST_ARRAYS];
};

/* Launchers; the queue's device must be current. launch_pici: compresses all arrays in one kernel; the words
 * of state must be 0, and room must have space for the words and counts of the tiles. launch_rest: copies the
 * values of the arrays whose headers say dense, in one kernel. */
sley_status launch_pici(sl_queue *queue, const compressions &jobs);
sley_status launch_coo(sl_queue *queue, const compression &job);
sley_status launch_dense(sl_queue *queue, const compression &job);
sley_status launch_rest(sl_queue *queue, const compressions &jobs);

/* Adds the number of nonzeros to *a->nonzeros. */
sley_status launch_count(sl_queue *queue, const sl_nonzeros_args *a);

} // namespace sley

#endif
