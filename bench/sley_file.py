# SPDX-License-Identifier: Apache-2.0
"""Reads .sley files, as src/io/cache.h describes them, without the values."""
import struct

HEAD, ALIGNED = 128, 64  # bytes


def sizes(path):
    """Rows, columns, entries."""
    with open(path, "rb") as stream:
        return struct.unpack("<3q", stream.read(HEAD)[24:48])


def read(path):
    """Rows, columns, start of each row (int64), columns of the entries (int32, or int64 if the file has these)."""
    import numpy as np  # callers that only need sizes do without numpy
    rows, cols, entries = sizes(path)
    wide = np.fromfile(path, np.uint32, 6)[5] != 0
    begin = np.fromfile(path, np.int64, rows + 1, offset=HEAD)
    at = -(-(HEAD + 8 * (rows + 1)) // ALIGNED) * ALIGNED
    return rows, cols, begin, np.fromfile(path, np.int64 if wide else np.int32, entries, offset=at)
