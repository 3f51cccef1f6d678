/* SPDX-License-Identifier: Apache-2.0 */
/* Zip archives of NumPy arrays, .npz: reading and writing members by name. The sizes that a member declares
 * are checked before memory is allocated for it. */
#ifndef SLEY_IO_BYTES_ARCHIVE_H
#define SLEY_IO_BYTES_ARCHIVE_H

#include "io/format.h"
#include "io/npy_array.h"

/* One array read from an archive: its header, and its bytes from sl_alloc. */
typedef struct sl_archive_member {
  sl_npy_array array;
  uint8_t *bytes;
} sl_archive_member;

typedef struct sl_archive {
  struct zip *zip;
  int64_t size;            /* number of bytes of the whole archive */
  int64_t unpacked, limit; /* bytes of the members read so far, and their limit */
} sl_archive;

/* Opens an input, whose bytes must outlive the archive. Errors: SLEY_ERR_INPUT, SLEY_ERR_MEMORY. */
sley_status sl_archive_open(const sl_input *input, sl_archive *out);
void sl_archive_close(sl_archive *archive); /* Closes the archive. Accepts an archive that is zeroed, or whose
                                               opening failed. */

/* Returns the number of unpacked bytes of all members, as the directory declares them; INT64_MAX if it is
   larger. */
int64_t sl_archive_claimed(const sl_archive *archive);

bool sl_archive_has(const sl_archive *archive, const char *name);

/* Reads the member of that name. Errors: SLEY_ERR_INPUT (it does not exist, or is damaged),
 * SLEY_ERR_UNSUPPORTED, SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_archive_read(sl_archive *archive, const char *name, sl_archive_member *out);
void sl_archive_member_free(sl_archive_member *member);

/* Returns the elements of a member, at any alignment. */
const uint8_t *sl_archive_elements(const sl_archive_member *member);

/* An array to be written: its type, as returned by sl_npy_type; 0 to 2 lengths; and its bytes, which outlive
   the call. */
typedef struct sl_archive_array {
  const char *name, *type;
  int dims;
  int64_t shape[2];
  const void *bytes;
  size_t size;
} sl_archive_array;

/* Writes an archive. Its bytes depend on the arrays alone: members have no time stamp. Errors: SLEY_ERR_IO,
 * SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_archive_write(const sl_archive_array *arrays, int count, sl_sink *sink);

#endif
