# SPDX-License-Identifier: Apache-2.0
"""Access to arrays of other libraries without copies: DLPack and the CUDA array interface.

An array in a GPU's memory is described by a NumPy array with its address, shape and strides, whose values must not be
read. So the same checks serve host and GPU memory.
"""
import ctypes
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from sley._arrays import Array, dtype_of
from sley._c import sley_dtype
from sley._process import NotCopied
from sley.errors import SleyArgumentError, SleyUnsupportedError

_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13  # DLDeviceType
_LEGACY_STREAM = 1  # number of the default stream in both protocols, and CUDA's own handle of it
_NAME, _USED_NAME = b"dltensor", b"used_dltensor"


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    """DLManagedTensor of dlpack.h."""


_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p),
                     ("deleter", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed)))]

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_capsule_rename = ctypes.pythonapi.PyCapsule_SetName
_capsule_rename.restype, _capsule_rename.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]

_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}  # DLDataTypeCode; 4 is bfloat
_BFLOAT = 4


class DeviceArray(NamedTuple):
    """An array in a GPU's memory."""

    array: Array  # address, shape, strides and type; its values cannot be read on the host
    stream: int | None  # stream on which its values are computed; None: they are complete
    given: Any  # the original object


class _Place:
    """Memory with NumPy's array interface, and its owner."""

    def __init__(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: np.dtype[Any],
                 writable: bool, kept: object) -> None:
        self.kept = kept
        self.__array_interface__ = {"data": (address, not writable), "typestr": dtype.str, "shape": shape,
                                    "strides": strides, "version": 3}


class _Elsewhere(np.ndarray[Any, Any]):
    """An array that the host cannot read. It prints no values, because debuggers and test reports print arrays."""

    def __repr__(self) -> str:
        return f"<array of {self.dtype.name} {self.shape} in a GPU's memory at {self.ctypes.data:#x}>"

    __str__ = __repr__


def _described(address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: np.dtype[Any],
               writable: bool, kept: object) -> Array:
    if 0 in shape:
        return np.empty(shape, dtype)  # the address is not accessed
    stored = np.dtype(np.uint16) if dtype.name == "bfloat16" else dtype
    array = np.asarray(_Place(address, shape, strides, stored, writable, kept)).view(_Elsewhere)
    return array if stored is dtype else array.view(dtype)


def _attribute(given: Any, name: str) -> Any:
    """An attribute, or None. Some libraries raise different exceptions for arrays that are not on a GPU."""
    try:
        return getattr(given, name, None)
    except (RuntimeError, TypeError, ValueError):
        return None


def _device_type(given: Any) -> int:
    """The DLPack device type of an array; 0 if it does not support DLPack."""
    ask = None if isinstance(given, (np.ndarray, np.generic)) else _attribute(given, "__dlpack_device__")
    try:
        return int(ask()[0]) if callable(ask) else 0
    except (RuntimeError, TypeError, ValueError):  # for example PyTorch tensors without memory
        return 0


class _Release(NotCopied):
    """Returns a DLPack tensor to its library when it is no longer used."""

    def __init__(self, managed: Any) -> None:
        self._managed = managed

    def __del__(self) -> None:
        if self._managed.contents.deleter:
            self._managed.contents.deleter(self._managed)


def _by_dlpack(given: Any) -> DeviceArray:
    capsule = given.__dlpack__(stream=_LEGACY_STREAM)
    address = _capsule_pointer(capsule, _NAME)
    _capsule_rename(capsule, _USED_NAME)
    managed = ctypes.cast(address, ctypes.POINTER(_Managed))
    kept = _Release(managed)
    tensor = managed.contents.tensor
    if tensor.code == _BFLOAT and tensor.bits == 16:
        dtype = dtype_of(sley_dtype.SLEY_BF16)
    elif tensor.code in _KINDS and tensor.lanes == 1:
        dtype = np.dtype(f"{_KINDS[tensor.code]}{max(tensor.bits // 8, 1)}")
    else:
        raise SleyUnsupportedError(f"values of DLPack's type {tensor.code} of {tensor.bits} bits cannot be multiplied")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(each * dtype.itemsize for each in tensor.strides[: tensor.ndim]) if tensor.strides else None
    return DeviceArray(_described((tensor.data or 0) + tensor.byte_offset, shape, strides, dtype, True, kept),
                       _LEGACY_STREAM, given)


def _by_cuda_interface(given: Any, made: dict[str, Any], fresh: bool) -> DeviceArray:
    if made.get("mask") is not None:
        raise SleyUnsupportedError("arrays with a mask cannot be multiplied")
    address, read_only = made["data"]
    strides = made.get("strides")
    array = _described(address or 0, tuple(made["shape"]), None if strides is None else tuple(strides),
                       np.dtype(made["typestr"]), fresh or not read_only, given)
    return DeviceArray(array, made.get("stream"), given)


def device_array(given: Any, *, fresh: bool = False) -> DeviceArray | None:
    """Describes an array in a GPU's memory, without a copy; None for everything else.

    fresh: no other code has the array yet, so it may be written even if it is marked read-only, as all arrays of JAX
    are.
    """
    if isinstance(given, (np.ndarray, np.generic, list, tuple)):
        return None
    made = _attribute(given, "__cuda_array_interface__")
    if made is not None and not made["typestr"].startswith(("|V", "<V")):  # bfloat16, which this interface cannot name
        return _by_cuda_interface(given, made, fresh)
    if _device_type(given) in (_CUDA, _CUDA_MANAGED):
        return _by_dlpack(given)
    return None


def host_array(given: Any) -> Any:
    """An array of another library in host memory, as a NumPy array without a copy; anything else unchanged."""
    if _device_type(given) in (_CPU, _CUDA_HOST) and not hasattr(given, "__array__"):
        return np.from_dlpack(given)
    return given


def _jax_empty(shape: tuple[int, ...], dtype: Any, like: Any) -> Any:
    numpy = importlib.import_module("jax.numpy")
    return numpy.zeros(shape, dtype, device=like.device).block_until_ready()


def _torch_empty(shape: tuple[int, ...], dtype: Any, like: Any) -> Any:
    return importlib.import_module("torch").empty(shape, dtype=like.dtype, device=like.device)


def _cupy_empty(shape: tuple[int, ...], dtype: Any, like: Any) -> Any:
    cupy = importlib.import_module("cupy")
    with cupy.cuda.Device(like.device.id):
        return cupy.empty(shape, dtype)


def _numba_empty(shape: tuple[int, ...], dtype: Any, like: Any) -> Any:
    return importlib.import_module("numba.cuda").device_array(shape, dtype)


_EMPTY: dict[str, Callable[[tuple[int, ...], Any, Any], Any]] = {
    "cupy": _cupy_empty, "jax": _jax_empty, "jaxlib": _jax_empty, "torch": _torch_empty, "numba": _numba_empty}


def empty_like(shape: tuple[int, ...], like: DeviceArray) -> DeviceArray:
    """A new array of the same library, type and GPU."""
    library = type(like.given).__module__.split(".")[0]
    if library not in _EMPTY:
        raise SleyArgumentError(f"arrays of {library} cannot be made here: give out")
    return cast(DeviceArray, device_array(_EMPTY[library](shape, like.array.dtype, like.given), fresh=True))
