# SPDX-License-Identifier: Apache-2.0
"""Arrays of values that are read and written where they lie: of NumPy, PyTorch and others, in host or GPU memory."""
import importlib
from typing import Any, NamedTuple

import numpy as np

from sley import _c
from sley._arrays import CODES, dtype_of
from sley._foreign import DeviceArray, device_array, empty_like, host_array
from sley.errors import SleyArgumentError

# Types of values that matrices do not have.
WHOLE = {"int64": int(_c.sley_type.SLEY_TYPE_I64), "int8": int(_c.sley_type.SLEY_TYPE_I8),
         "uint8": int(_c.sley_type.SLEY_TYPE_U8)}
_BYTES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int64": 8, "int8": 1, "uint8": 1}


class Values(NamedTuple):
    """One rank's array, contiguous."""

    given: Any  # the array itself, or its contiguous copy; keeps the memory
    address: int
    dtype: str
    shape: tuple[int, ...]
    writable: bool
    stream: int | None  # stream on which the values are computed; None: they are complete
    there: DeviceArray | None  # for an array in a GPU's memory

    @property
    def size(self) -> int:
        """Number of values."""
        return int(np.prod(self.shape, dtype=np.int64))

    def overlaps(self, other: "Values") -> bool:
        """Whether the arrays have values in the same memory."""
        own, others = (each.size * _BYTES.get(each.dtype, 0) for each in (self, other))
        return own > 0 and others > 0 and self.address < other.address + others and other.address < self.address + own

    def copied(self) -> "Values":
        """A copy in host memory."""
        return _of_torch(self.given.clone()) if _is_torch(self.given) else _of_numpy(self.given.copy())


def type_name(dtype: Any) -> str:
    """The name of a type of NumPy or of PyTorch."""
    return str(dtype).removeprefix("torch.") if type(dtype).__module__ == "torch" else _named(dtype)


def _named(dtype: Any) -> str:
    return dtype if dtype == "bfloat16" else np.dtype(dtype).name  # a type that NumPy need not know


def _is_torch(given: Any) -> bool:
    return hasattr(given, "data_ptr") and hasattr(given, "untyped_storage")


def _of_torch(tensor: Any) -> Values:
    return Values(tensor, tensor.data_ptr(), type_name(tensor.dtype), tuple(tensor.shape), True, None, None)


def _of_numpy(array: Any) -> Values:
    return Values(array, array.ctypes.data, array.dtype.name, array.shape, array.flags.writeable, None, None)


def _of_device(made: DeviceArray, what: str, device: str) -> Values:
    array = made.array
    if device == "cpu":
        raise SleyArgumentError(f"{what} is in a GPU's memory, and the ranks work on the cpu: take ranks on GPUs, as "
                                'sley.Comm(device="cuda")')
    if not array.flags.c_contiguous:
        raise SleyArgumentError(f"{what} is in a GPU's memory with strides of {array.strides} bytes: its values must "
                                "follow each other")
    return Values(made.given, array.ctypes.data, array.dtype.name, array.shape, array.flags.writeable, made.stream, made)


def _values(given: Any, what: str, device: str, copies: bool) -> Values:
    """An array as it lies; copies: a host array that is not contiguous, or no array, is copied."""
    if _is_torch(given):
        if str(given.layout) != "torch.strided":
            raise SleyArgumentError(f"{what} is a tensor of layout {given.layout}: give a dense one")
        given = given.detach()
    there = device_array(given)
    if there is not None:
        return _of_device(there, what, device)
    if device != "cpu":
        raise SleyArgumentError(f"{what}, {type(given).__name__}, is in host memory, and the ranks work on {device}: give "
                                "an array in the GPU's memory")
    if _is_torch(given):
        return _of_torch(given.contiguous() if copies else given)
    return _of_numpy(np.ascontiguousarray(host_array(given)).reshape(np.shape(given)) if copies else given)


def readable(given: Any, what: str, device: str) -> Values:
    """An operand; on the host it is copied if it is not contiguous."""
    return _values(given, what, device, True)


def writable(given: Any, what: str, device: str) -> Values:
    """A result, which is written in place."""
    if not _is_torch(given) and not isinstance(given, np.ndarray) and device_array(given) is None:
        raise SleyArgumentError(f"{what} must be an array, not {type(given).__name__}")
    made = _values(given, what, device, False)
    contiguous = made.given.is_contiguous() if _is_torch(made.given) else \
        made.there is not None or (given.flags.c_contiguous and given.flags.aligned)
    if not (contiguous and made.writable):
        raise SleyArgumentError(f"{what} must be writable, and its values must follow each other")
    return made


def empty(shape: tuple[int, ...], code: int, name: str, like: Values) -> Values:
    """A new array of the library of `like`, and where it lies."""
    if like.there is not None:
        made = empty_like(shape, like.there)
        return _of_device(made, "a result", "cuda")
    if _is_torch(like.given):
        return _of_torch(importlib.import_module("torch").empty(shape, dtype=like.given.dtype))
    return _of_numpy(np.empty(shape, np.dtype(name) if name in WHOLE else dtype_of(code)))


def code_of_name(name: str) -> int:
    """The `sley_type` of a type's name."""
    known = {**CODES, **WHOLE}
    if name not in known:
        raise SleyArgumentError(f"there are no values of type {name}: take one of {', '.join(known)}")
    return int(known[name])
