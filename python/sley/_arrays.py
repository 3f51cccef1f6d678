# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays for the library: types of values, whole numbers."""
import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from sley import _c
from sley.errors import SleyArgumentError, SleyOverflowError, SleyUnsupportedError

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]

CODES = {  # the types of values, by NumPy's name, which torch uses too
    "float32": _c.sley_dtype.SLEY_F32,
    "float64": _c.sley_dtype.SLEY_F64,
    "float16": _c.sley_dtype.SLEY_F16,
    "bfloat16": _c.sley_dtype.SLEY_BF16,
}
_NAMES = {code: name for name, code in CODES.items()}


def code_of(dtype: npt.DTypeLike) -> int:
    """The `sley_dtype` of a NumPy type: float16, float32, float64, or the bfloat16 of ml_dtypes."""
    name = np.dtype(dtype).name
    if name not in CODES:
        raise SleyArgumentError(f"there are no values of type {name}: take one of {', '.join(CODES)}")
    return int(CODES[name])


def dtype_of(code: int) -> np.dtype[Any]:
    """The NumPy type of a `sley_dtype`; the type of SLEY_BF16 is from the package ml_dtypes."""
    name = _NAMES[_c.sley_dtype(code)]
    if name != "bfloat16":
        return np.dtype(name)
    try:
        return np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError:
        raise SleyUnsupportedError("values of bfloat16 need the package ml_dtypes, which is not installed") from None


def exact_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """The type of Sley for values of a given type: float32 for booleans and integers of up to 16 bits, float64 for
    longer integers."""
    given = np.dtype(dtype)
    if given.name in CODES:
        return given.newbyteorder("=")
    if given.kind in "biu":
        return np.dtype(np.float32 if given.itemsize <= 2 else np.float64)
    raise SleyUnsupportedError(f"values of type {given.name} cannot be multiplied: convert them to "
                               "float64 or another of float16, float32, bfloat16")


def values_of(given: Array, dtype: npt.DTypeLike | None = None) -> Array:
    """One-dimensional values in a type that the library supports, without a copy if they already have it.

    Raises
    ------
    SleyOverflowError
        A finite value is beyond the range of dtype, or an integer that becomes float64 is beyond 2^53.
    """
    wanted = exact_dtype(given.dtype) if dtype is None else np.dtype(dtype)
    code_of(wanted)
    if given.dtype == wanted and given.flags.c_contiguous and given.flags.aligned:
        return given
    with np.errstate(over="ignore"):
        made = np.ascontiguousarray(given, dtype=wanted)
    if given.dtype.kind == "c":
        raise SleyUnsupportedError("complex values cannot be multiplied")
    refuse_overflow(given, made)
    return made


def refuse_overflow(given: Array, made: Array) -> None:
    """Raises SleyOverflowError if values were beyond the range of the type to which they were converted.

    Integers beyond 2^53 are out of range for float64; narrower types round them, like all values.
    """
    if given.dtype.kind not in "iu" and np.can_cast(given.dtype, made.dtype, "safe"):
        return
    wide = made.astype(np.float64)
    if np.any(np.isinf(wide) & np.isfinite(given)):
        raise SleyOverflowError(f"a value is beyond the range of {made.dtype.name}")
    if given.dtype.kind not in "iu" or given.dtype.itemsize < 8 or made.dtype != np.float64:
        return
    if np.any(given > 2**53) or (given.dtype.kind == "i" and np.any(given < -(2**53))):
        raise SleyOverflowError("an integer is beyond 2^53, where float64 does not hold every whole number: "
                                "convert the values first")


def integers_of(given: npt.ArrayLike, what: str, keep_32: bool = False) -> Array:
    """Whole numbers as int64, or as int32 if they have this type and keep_32 is set; without a copy if possible."""
    array = np.asarray(given)
    if array.size == 0 and array.dtype.kind == "f":  # np.asarray([])
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise SleyArgumentError(f"{what}: expected one dimension of integers, not {array.ndim} of {array.dtype.name}")
    if array.dtype == np.uint64 and np.any(array > np.uint64(np.iinfo(np.int64).max)):
        raise SleyOverflowError(f"{what}: a number is beyond 2^63 - 1")
    if keep_32 and array.dtype == np.int32:
        return np.ascontiguousarray(array)
    return np.ascontiguousarray(array, dtype=np.int64)


def fitting(value: int, bits: int, what: str) -> int:
    """A whole number, checked to fit in 32 or 64 bits; ctypes would truncate it."""
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise SleyArgumentError(f"{what} is {value}: beyond {bits} bits")
    return int(value)


class _Memory:
    """Memory of the library with NumPy's array interface; it keeps the owner alive as long as an array uses it."""

    def __init__(self, owner: object, address: int, dtype: np.dtype[Any], count: int) -> None:
        self.owner = owner
        self.__array_interface__ = {"data": (address, True), "typestr": dtype.str, "shape": (count,), "version": 3}


def array_at(owner: object, address: int | None, dtype: np.dtype[Any], count: int) -> Array:
    """A read-only array of memory that belongs to owner, and keeps owner alive; no copy."""
    if count == 0 or not address:
        return np.empty(0, dtype)
    if dtype.name == "bfloat16":
        return np.asarray(_Memory(owner, address, np.dtype(np.uint16), count)).view(dtype)
    return np.asarray(_Memory(owner, address, dtype, count))
