# SPDX-License-Identifier: Apache-2.0
"""One execute of a plan: the memory of the operands, copies, and the calls of the ranks."""
import ctypes
from typing import Any

import numpy as np

from sley import _c
from sley._arrays import Array
from sley._dense import Dense, as_columns, dense_input, host_product, leading_dimension, writable
from sley._division import Division
from sley._foreign import DeviceArray, device_array, empty_like
from sley._library import lib
from sley._process import NotCopied
from sley.comm import Comm
from sley.errors import SleyArgumentError, SleyUnsupportedError


class Multiplier(NotCopied):
    """Y = alpha A X + beta Y by the plans of a process's ranks.

    rows and cols are the numbers of rows of Y and X in this process.
    """

    def __init__(self, comm: Comm, division: Division, handles: list[ctypes.c_void_p], k: int, transpose: bool) -> None:
        self._comm, self._handles, self._k = comm, handles, k
        self._dtype = division.matrix.dtype
        self._read = division.local._arrays()  # arrays of A, which may belong to the caller
        places = division.row_at, division.col_at
        self._y_at, self._x_at = places[::-1] if transpose else places
        self.rows, self.cols = self._y_at[-1], self._x_at[-1]

    def execute(self, x: Any, out: Any, alpha: float, beta: float) -> Any:
        """As `Plan.execute`."""
        if out is None and beta != 0.0:
            raise SleyArgumentError("beta needs out")
        x_there, out_there = device_array(x), device_array(out)
        if x_there is not None:
            return self._where_it_lies(x_there, out, out_there, alpha, beta)
        if out_there is not None:
            raise SleyArgumentError(f"out is in a GPU's memory, and x, {type(x).__name__}, is not")
        return self._of_host(dense_input(x, "x"), out, alpha, beta)

    def _of_host(self, given: Array, out: Any, alpha: float, beta: float) -> Array:
        on_gpu = self._comm.device != "cpu"
        run = self._staged if on_gpu else self._multiply
        return host_product(given, out, (self.rows, self.cols, self._k), self._dtype, lambda: self._read,
                            lambda x, y: run(x, y, alpha, beta), packed=on_gpu)

    def _where_it_lies(self, x: DeviceArray, out: Any, y: DeviceArray | None, alpha: float, beta: float) -> Any:
        """Multiplies operands in the memory of this process's GPU, without copies."""
        if self._comm.device == "cpu":
            raise SleyArgumentError('x is in a GPU\'s memory, and the ranks work on the cpu: take ranks on GPUs, '
                                    'as sley.Comm(device="cuda")')
        if self._comm.here != 1:
            raise SleyUnsupportedError(f"x is in the memory of one GPU, and {self._comm.here} ranks of this process "
                                       "work on theirs: give an array of the host, or take a process for each rank")
        if out is not None and y is None:
            raise SleyArgumentError(f"x is in a GPU's memory, and out, {type(out).__name__}, is not")
        if y is None:
            y = empty_like((self.rows,) if x.array.ndim == 1 else (self.rows, self._k), x)
        source = _there(as_columns(x.array, "x", self.cols, self._k), "x", self._dtype)
        target = writable(as_columns(y.array, "out", self.rows, self._k), "out", self._dtype)
        if target is None:
            raise _not_in_rows("out", y.array)
        if np.may_share_memory(x.array, y.array):
            raise SleyArgumentError("out overlaps x, of which no copy is made on a GPU")
        self._multiply(source, target, alpha, beta, [each for each in (x.stream, y.stream) if each is not None])
        return y.given

    def _multiply(self, x: Dense, y: Dense, alpha: float, beta: float, streams: list[int] | None = None) -> None:
        """Runs the product on all ranks of this process; returns when Y is complete. streams: the streams on which the
        operands are computed."""
        on_gpu = self._comm.device != "cpu"

        def multiply(i: int, comm: ctypes.c_void_p) -> int:
            status = 0
            for stream in streams or []:  # each stream waits for the work on the stream before it
                status = status or lib.sley_comm_set_stream(comm, stream)
            status = status or lib.sley_spmm(self._handles[i], alpha, x.row(self._x_at[i]), x.ld, beta,
                                             y.row(self._y_at[i]), y.ld)
            if on_gpu:
                status = status or lib.sley_comm_wait(comm)
            if streams:
                status = status or lib.sley_comm_set_stream(comm, None)
            return int(status)

        self._comm._run(multiply)

    def _staged(self, x: Dense, y: Dense, alpha: float, beta: float) -> None:
        """Multiplies operands in host memory, which ranks on GPUs copy to their GPUs and back; y is contiguous."""
        given = np.ascontiguousarray(x.array)
        row_bytes = self._k * given.itemsize
        numbers = []
        try:
            number, xs = self._buffers(self._x_at, row_bytes)
            numbers.append(number)
            number, ys = self._buffers(self._y_at, row_bytes)
            numbers.append(number)
            self._copy(xs, given, self._x_at, row_bytes, back=False)
            if beta != 0.0:
                self._copy(ys, y.array, self._y_at, row_bytes, back=False)
            ld = max(self._k, 1)
            self._comm._run(lambda i, _: lib.sley_spmm(self._handles[i], alpha, xs[i], ld, beta, ys[i], ld))
            self._copy(ys, y.array, self._y_at, row_bytes, back=True)
        finally:
            for number in numbers:
                self._comm._remove(number)

    def _buffers(self, at: list[int], row_bytes: int) -> tuple[int, list[ctypes.c_void_p]]:
        """Device memory of each rank for its rows."""
        return self._comm._make(
            lib.sley_comm_free,
            lambda i, comm, out: lib.sley_comm_alloc(comm, (at[i + 1] - at[i]) * row_bytes, ctypes.byref(out)), None)

    def _copy(self, buffers: list[ctypes.c_void_p], array: Array, at: list[int], row_bytes: int, back: bool) -> None:
        kind = int(_c.sley_copy.SLEY_TO_HOST if back else _c.sley_copy.SLEY_TO_DEVICE)

        def copy(i: int, comm: ctypes.c_void_p) -> int:
            there, here = buffers[i], array.ctypes.data + at[i] * row_bytes
            ends = (here, there) if back else (there, here)
            size = (at[i + 1] - at[i]) * row_bytes
            return int(lib.sley_comm_copy(comm, *ends, size, kind)) if size else 0

        self._comm._run(copy)


def _not_in_rows(what: str, array: Array) -> SleyArgumentError:
    return SleyArgumentError(f"{what} is in a GPU's memory with strides of {array.strides} bytes: values of a row must "
                             "follow each other")


def _there(array: Array, what: str, dtype: np.dtype[Any]) -> Dense:
    """An input operand in a GPU's memory."""
    if array.dtype != dtype:
        raise SleyArgumentError(f"{what} has values of type {array.dtype.name} and the matrix of {dtype.name}: convert "
                                "one of them")
    ld = leading_dimension(array)
    if ld is None:
        raise _not_in_rows(what, array)
    return Dense(array, ld)
