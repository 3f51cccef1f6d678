/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed arrays, which leave out the values that are zero, and the operations on them.
 *
 * A value is zero if all its bits are: +0. Every other value is kept exactly: -0, subnormals, and NaN with
 * its sign and payload. So compression followed by decompression returns the same array.
 *
 * A compressed array is a header of SL_COMPRESSED_HEADER bytes and a payload, aligned to 8 bytes, in the byte
 * order of the host. Payload by format, each array padded with zeros to a multiple of 8 bytes:
 *
 *   dense    all values
 *   coo      the positions of the values kept, 32 bits each, ascending; then these values. Arrays of at most
 *            2^32 values
 *   pici32   tiles of 64 x 64 values, the last one padded with zeros. Value e of a tile is in its row e / 64
 *   pici64   and column e % 64. First 64 words of 64 bits per tile: bit r of word c is set if the value in
 *            row r of column c is kept. Then for each tile the number of values kept in all earlier tiles, in
 *            32 or 64 bits. Then the values kept, by tiles, columns and rows.
 *
 * Source of pici: Hough et al., Adaptive Space-efficient Collectives for Dynamic and Unstructured Sparsity on
 * GPU Platforms, section III.
 *
 * A reader trusts nothing in a compressed array: whatever its bytes are, reads stay within the bytes that the
 * arguments allow, and only results are written. An invalid array is read as zeros, as a whole or in its
 * invalid tiles, and is reported. Values kept that are zero are valid. */
#ifndef SLEY_DEVICE_OP_OP_COMPRESS_H
#define SLEY_DEVICE_OP_OP_COMPRESS_H

#include "base/types.h"
#include "base/anywhere.h"

typedef enum sl_compressed_format {
  SL_COMPRESSED_DENSE,
  SL_COMPRESSED_COO,
  SL_COMPRESSED_PICI32,
  SL_COMPRESSED_PICI64,
  SL_COMPRESSED_FORMATS /* number of formats */
} sl_compressed_format;

enum {
  SL_TILE_COLUMNS = 64,
  SL_TILE_VALUES = 4096,
  SL_COMPRESSED_HEADER = 48, /* size in bytes */
  SL_COMPRESSED_ALIGN = 8,
  SL_COMPRESSED_VERSION = 1
};
#define SL_COMPRESSED_MAGIC UINT32_C(0x41435353)

typedef struct sl_compressed_header {
  uint32_t magic;
  uint16_t version;
  uint8_t format;        /* a sl_compressed_format */
  uint8_t type;          /* a sley_type */
  int64_t count;         /* number of values in the array */
  int64_t nonzeros;      /* number of values that are not zero; in every format except dense, number of values
                            kept */
  int64_t payload_bytes; /* as sl_compressed_payload computes it */
  uint64_t reserved[2];  /* zero */
} sl_compressed_header;

/* Bits that report what is invalid. */
typedef enum sl_compressed_fault { SL_FAULT_HEADER = 1, SL_FAULT_PAYLOAD = 2 } sl_compressed_fault;

/* SL_OP_NONZEROS: sets *nonzeros to the number of values of src that are not zero. src: count values, aligned
 * to the type. *nonzeros is in device memory, too. */
typedef struct sl_nonzeros_args {
  const void *src;
  int64_t count;
  sley_type type;
  int64_t *nonzeros;
} sl_nonzeros_args;

/* An array to compress: src is compressed to dst in the format if that takes at most room bytes; else dense,
 * for which room must suffice (sl_compressed_bytes). The bytes between the array's end and room are
 * undefined. */
typedef struct sl_compress_part {
  const void *src; /* aligned to the type */
  int64_t count;   /* number of values */
  sl_compressed_format format;
  void
      *dst; /* destination of the compressed array, aligned to SL_COMPRESSED_ALIGN; overlaps no other array */
  int64_t room;
  void *copy; /* NULL, or a second destination for all values of src; overlaps no other array */
} sl_compress_part;

/* SL_OP_COMPRESS: compresses each part. The bytes are the same on every device, and the same as in a call
 * with the part alone. The list of parts is in host memory and is not used after run has returned.
 *
 * A device can do this in one pass over src. room allows for the worst case, tiles find their place by the
 * counts of earlier tiles, and values that would lie beyond room are not written. In that case a second pass,
 * which starts afterwards, copies src. */
typedef struct sl_compress_args {
  int parts;
  const sl_compress_part *part;
  sley_type type;
  void *work; /* device memory, aligned to 8, used during the run: the sum of sl_compress_work over the
               * parts */
} sl_compress_args;

/* A compressed array, and its destination. */
typedef struct sl_compressed_part {
  const void *src; /* compressed array, aligned to SL_COMPRESSED_ALIGN; may be in another device's memory that
                    * kernels can access */
  int64_t room;    /* number of bytes at src that may be read */
  void *dst;       /* destination of the values, aligned to the type; overlaps no other array */
  int64_t count;   /* number of values */
} sl_compressed_part;

/* SL_OP_DECOMPRESS: decompresses the array at src of each part to its dst, including zeros. Adds bits of
 * sl_compressed_fault to *wrong, which is in device memory: SL_FAULT_HEADER if a header does not belong to an
 * array of count values of the type within `room` bytes. The list of parts is in host memory and is not used
 * after run has returned. */
typedef struct sl_decompress_args {
  int parts;
  const sl_compressed_part *part;
  sley_type type;
  uint32_t *wrong;
} sl_decompress_args;

/* SL_OP_SPARSE_SUM: dst[i] = part(0)[i] + part(1)[i] + ... + part(parts - 1)[i], with the same bits as
 * SL_OP_REDUCE with SLEY_SUM on the same arrays, dense: from left to right, 16-bit types in f32 and rounded
 * once, a NaN as the positive quiet one without payload, -0 if all values are -0.
 *
 * Part `own` is dense at own_src; each other part p is compressed at src[p], where `room` bytes may be read;
 * own < 0: all parts are compressed. dst may be own_src, and otherwise overlaps nothing. So a compressed
 * array is added to a dense one by two parts, with own = 0 and the dense array as own_src and dst. Only
 * floating-point types.
 *
 * Parts are aligned to SL_COMPRESSED_ALIGN and may be in other devices' memory that kernels can access; the
 * kernel reads their sizes from their headers. The list src is in host memory and is not used after run has
 * returned. Every device supports at least SL_SPARSE_SUM_PARTS parts. */
enum { SL_SPARSE_SUM_PARTS = 256 };
typedef struct sl_sparse_sum_args {
  int64_t count;
  int parts; /* at least 1 */
  const void *const *src;
  int64_t room;
  int own;
  const void *own_src;
  void *dst;
  sley_type type;
  uint32_t *wrong;
} sl_sparse_sum_args;

SL_ANYWHERE int64_t sl_compressed_tiles(int64_t count) {
  return count / SL_TILE_VALUES + (count % SL_TILE_VALUES != 0);
}

SL_ANYWHERE int64_t sl_compressed_padded(int64_t bytes) {
  return (bytes + SL_COMPRESSED_ALIGN - 1) / SL_COMPRESSED_ALIGN * SL_COMPRESSED_ALIGN;
}

/* Offsets of a payload's arrays, in bytes from its start. */
typedef struct sl_compressed_layout {
  int64_t index;  /* offset of the positions (coo: at 0), or of the tiles' counts (pici: after the words,
                     which are at 0) */
  int64_t values; /* start of the values */
  int64_t bytes;  /* size of the payload */
} sl_compressed_layout;

/* Computes the layout for 0 <= nonzeros <= count, a count whose values fit in INT64_MAX / 4 bytes, and a
   known format. */
SL_ANYWHERE sl_compressed_layout sl_compressed_lay_out(sl_compressed_format format, int64_t value_bytes,
                                                       int64_t count, int64_t nonzeros) {
  sl_compressed_layout out = {0, 0, 0};
  int64_t kept = format == SL_COMPRESSED_DENSE ? count : nonzeros;
  if (format == SL_COMPRESSED_COO)
    out.values = sl_compressed_padded(nonzeros * 4);
  if (format == SL_COMPRESSED_PICI32 || format == SL_COMPRESSED_PICI64) {
    out.index = sl_compressed_tiles(count) * SL_TILE_COLUMNS * 8;
    out.values = out.index +
                 sl_compressed_padded(sl_compressed_tiles(count) * (format == SL_COMPRESSED_PICI32 ? 4 : 8));
  }
  out.bytes = out.values + sl_compressed_padded(kept * value_bytes);
  return out;
}

/* Computes the same for a known type. */
static inline sl_compressed_layout sl_compressed_payload(sl_compressed_format format, sley_type type,
                                                         int64_t count, int64_t nonzeros) {
  return sl_compressed_lay_out(format, (int64_t)sley_type_bytes(type), count, nonzeros);
}

/* Bytes of a compressed array, header and payload; greatest for nonzeros = count. */
static inline int64_t sl_compressed_bytes(sl_compressed_format format, sley_type type, int64_t count,
                                          int64_t nonzeros) {
  return SL_COMPRESSED_HEADER + sl_compressed_payload(format, type, count, nonzeros).bytes;
}

/* Bytes of working memory that SL_OP_COMPRESS needs for an array of count values; for several arrays, add
 * them. */
static inline int64_t sl_compress_work(int64_t count) {
  return (sl_compressed_tiles(count) + 1) * 8;
}

/* Returns whether the format supports an array of count values. */
SL_ANYWHERE bool sl_compressed_serves(sl_compressed_format format, int64_t count) {
  if (format == SL_COMPRESSED_COO)
    return count <= INT64_C(1) << 32;
  return format != SL_COMPRESSED_PICI32 || count <= UINT32_MAX;
}

/* Returns whether an array of count values of the type can be compressed in any format. */
static inline bool sl_compressible(sley_type type, int64_t count) {
  int64_t each = (int64_t)sley_type_bytes(type);
  return each != 0 && count >= 0 && count <= INT64_MAX / 8 / each;
}

/* Arguments that every device supports; see also SL_SPARSE_SUM_PARTS. */
static inline bool sl_decompressible(const sl_decompress_args *a) {
  for (int p = 0; p < a->parts; p++)
    if (!sl_compressible(a->type, a->part[p].count))
      return false;
  return sley_type_bytes(a->type) != 0;
}
static inline bool sl_sparsely_summable(const sl_sparse_sum_args *a) {
  return sl_compressible(a->type, a->count) && (unsigned)a->type <= SLEY_TYPE_BF16 && a->parts >= 1 &&
         a->own < a->parts;
}
/* Returns whether every device supports the arguments: for each part the format, and enough room for a dense
 * array. Without parts: whether the type is supported. */
static inline bool sl_compresses(const sl_compress_args *a) {
  for (int p = 0; p < a->parts; p++)
    if (!sl_compressible(a->type, a->part[p].count) || (unsigned)a->part[p].format >= SL_COMPRESSED_FORMATS ||
        a->part[p].room < sl_compressed_bytes(SL_COMPRESSED_DENSE, a->type, a->part[p].count, 0))
      return false;
  return sley_type_bytes(a->type) != 0;
}

/* Bytes of the arrays that are read. */
static inline int64_t sl_compress_bytes(const sl_compress_args *a) {
  int64_t values = 0;
  for (int p = 0; p < a->parts; p++)
    values += a->part[p].count;
  return values * (int64_t)sley_type_bytes(a->type);
}

/* Bytes of the arrays that are written. */
static inline int64_t sl_decompressed_bytes(const sl_decompress_args *a) {
  int64_t values = 0;
  for (int p = 0; p < a->parts; p++)
    values += a->part[p].count;
  return values * (int64_t)sley_type_bytes(a->type);
}

/* Returns what is invalid in a header, for messages; or NULL if it is the header of an array of count values
 * of the type, of at most room bytes with its payload. value_bytes: bytes of a value; count: must be a number
 * for which sl_compressible is true. */
SL_ANYWHERE const char *sl_compressed_contradiction(const sl_compressed_header *header, sley_type type,
                                                    int64_t value_bytes, int64_t count, int64_t room) {
  if (room < SL_COMPRESSED_HEADER)
    return "it is shorter than a header";
  if (header->magic != SL_COMPRESSED_MAGIC)
    return "it does not begin as a compressed array does";
  if (header->version != SL_COMPRESSED_VERSION || header->reserved[0] || header->reserved[1])
    return "it is of another version";
  if (header->type != type)
    return "its values are of another type";
  if (header->format >= SL_COMPRESSED_FORMATS)
    return "its format is unknown";
  if (header->count != count || !sl_compressed_serves((sl_compressed_format)header->format, count))
    return "its length is another one";
  if (header->nonzeros < 0 || header->nonzeros > count)
    return "it has more values than its length";
  if (header->payload_bytes !=
      sl_compressed_lay_out((sl_compressed_format)header->format, value_bytes, count, header->nonzeros).bytes)
    return "its payload has not the size that its values take";
  if (header->payload_bytes > room - SL_COMPRESSED_HEADER)
    return "it ends before its payload does";
  return NULL;
}

/* Does the same for any type and count. */
const char *sl_compressed_fault_of(const sl_compressed_header *header, sley_type type, int64_t count,
                                   int64_t room);

#endif
