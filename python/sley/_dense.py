# SPDX-License-Identifier: Apache-2.0
"""Dense operands of products, as the library takes them."""
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sley._arrays import CODES, Array, refuse_overflow
from sley._containers import dense
from sley.errors import SleyArgumentError


class Dense(NamedTuple):
    """A dense operand of rows x k values: a reference to the array, and its leading dimension in elements."""

    array: Array
    ld: int

    def row(self, first: int) -> int:
        """The address of a row."""
        return self.array.ctypes.data + first * self.ld * self.array.itemsize


def leading_dimension(array: Array) -> int | None:
    """Elements between the beginnings of rows if the library can read the array without a copy; otherwise None."""
    rows, k = array.shape
    size = array.itemsize
    if not array.flags.aligned or not array.dtype.isnative:
        return None
    if rows == 0 or k == 0:
        return max(k, 1)
    if k > 1 and array.strides[1] != size:
        return None
    if rows == 1:
        return k
    if array.strides[0] % size or array.strides[0] < k * size:
        return None
    return int(array.strides[0] // size)


def as_columns(array: Array, what: str, rows: int, k: int | None) -> Array:
    """A dense operand as rows x k; an array of one dimension is one column. k None: any number of columns."""
    two = array[:, None] if array.ndim == 1 else array
    if two.ndim != 2 or two.shape[0] != rows or (k is not None and two.shape[1] != k):
        raise SleyArgumentError(f"{what} has shape {array.shape}: expected ({rows}, {'k' if k is None else k})"
                                + (f" or ({rows},)" if k in (None, 1) else ""))
    return two


def dense_input(given: npt.ArrayLike, what: str) -> Array:
    """A dense operand as an array, of one or two dimensions and of any type."""
    array = dense(given, what)
    if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16" and array.dtype.kind not in "SU":
        raise SleyArgumentError(f"{what} has values of type {array.dtype.name}: give numbers of one of "
                                f"{', '.join(CODES)}, or integers or complex numbers that these hold")
    if array.dtype.kind in "SU" or array.ndim not in (1, 2):
        raise SleyArgumentError(f"{what} must be a dense array of one or two dimensions, "
                                f"not {type(given).__name__} of {array.ndim}")
    return array


def promoted(array: Array, dtype: npt.DTypeLike) -> Array:
    """Values converted to dtype, without a copy if they already have it; SleyOverflowError if a value does not fit.

    NumPy promotes int64 and float64 to float64.
    """
    if array.dtype == dtype:
        return array
    with np.errstate(over="ignore"):
        made = array.astype(dtype, copy=False)
    if made is not array:
        refuse_overflow(array, made)
    return made


def converted(array: Array, what: str, dtype: np.dtype[Any]) -> Array:
    """Values converted to the matrix's type; refused if this type does not hold them exactly."""
    if array.dtype == dtype:
        return array
    if not np.can_cast(array.dtype, dtype, "safe"):
        raise SleyArgumentError(f"{what} has values of type {array.dtype.name} and the matrix of {dtype.name}: "
                                f"convert one of them")
    return promoted(array, dtype)


def readable(array: Array, what: str, dtype: np.dtype[Any]) -> Dense:
    """An input operand in the plan's type: the array itself, or a row-major copy if the library cannot read the
    array."""
    array = converted(array, what, dtype)
    ld = leading_dimension(array)
    if ld is None:
        array = np.ascontiguousarray(array, dtype=dtype)
        ld = max(array.shape[1], 1)
    return Dense(array, ld)


def writable(array: Array, what: str, dtype: np.dtype[Any]) -> Dense | None:
    """An output operand that is written in place; None if the library cannot write to the array."""
    if array.dtype != dtype or not array.flags.writeable:
        raise SleyArgumentError(f"{what} must be writable and of type {dtype.name}, not {array.dtype.name}"
                                + ("" if array.flags.writeable else " and read-only"))
    ld = leading_dimension(array)
    return None if ld is None else Dense(array, ld)


def host_product(given: Array, out: Any, size: tuple[int, int, int], dtype: np.dtype[Any],
                 matrix: Callable[[], Sequence[Array]], run: Callable[[Dense, Dense], None], *,
                 packed: bool = False) -> Array:
    """Checks the operands of a product in host memory, runs it, and returns Y.

    size: rows of Y, rows of X, and k. matrix: returns the arrays of A. run: fills Y from X. packed: run needs a
    contiguous Y.
    """
    rows, cols, k = size
    source = readable(as_columns(given, "x", cols, k), "x", dtype)
    if out is None:
        result = np.empty((rows,) if given.ndim == 1 else (rows, k), dtype)
        run(source, Dense(result[:, None] if given.ndim == 1 else result, max(k, 1)))
        return result
    if not isinstance(out, np.ndarray):
        raise SleyArgumentError(f"out must be an ndarray, not {type(out).__name__}")
    if any(np.may_share_memory(out, each) for each in matrix()):
        raise SleyArgumentError("out overlaps the arrays of the matrix")
    columns = as_columns(out, "out", rows, k)
    target = writable(columns, "out", dtype)
    if np.may_share_memory(out, source.array):
        source = readable(source.array.copy(), "x", dtype)
    if target is None or (packed and not columns.flags.c_contiguous):
        aside = Dense(np.array(columns, dtype, order="C"), max(k, 1))
        run(source, aside)
        columns[...] = aside.array
    else:
        run(source, target)
    return out
