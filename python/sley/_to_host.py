# SPDX-License-Identifier: Apache-2.0
"""Copies of arrays from a GPU's memory to the host, where matrices are planned."""
import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from sley import _c
from sley._arrays import Array
from sley._foreign import DeviceArray, device_array
from sley._library import lib
from sley.comm import Comm
from sley.errors import SleyArgumentError


def on_host(arrays: Sequence[Any]) -> Sequence[Any]:
    """The arrays of one matrix: unchanged if they are in host memory, otherwise copies in host memory.

    Raises
    ------
    SleyArgumentError
        Some arrays are on a GPU and some are not, or an array is not contiguous.
    """
    there = [device_array(each) for each in arrays]
    found = [each for each in there if each is not None]
    if not found:
        return arrays
    if len(found) < len(there):
        raise SleyArgumentError("some of the arrays are in a GPU's memory and some are not: give all in one place")
    with Comm(device="cuda") as comm:
        return [_copied(comm, each) for each in found]


def _copied(comm: Comm, given: DeviceArray) -> Array:
    if not given.array.flags.c_contiguous:
        raise SleyArgumentError(f"an array in a GPU's memory has strides of {given.array.strides} bytes: its values "
                                "must follow each other")
    made = np.empty(given.array.shape, given.array.dtype)

    def copy(_i: int, handle: ctypes.c_void_p) -> int:
        status = 0 if given.stream is None else lib.sley_comm_set_stream(handle, given.stream)
        return int(status or lib.sley_comm_copy(handle, made.ctypes.data, given.array.ctypes.data, made.nbytes,
                                                int(_c.sley_copy.SLEY_TO_HOST)))

    if made.size:
        comm._run(copy)
    return made
