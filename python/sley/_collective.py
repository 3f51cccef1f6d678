# SPDX-License-Identifier: Apache-2.0
"""Collectives over NumPy arrays, dense or compressed, for `sley.dist`."""
import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sley import _c
from sley._arrays import Array, code_of
from sley._calls import call
from sley._library import decoded, initial, lib, names_of
from sley._process import Closable
from sley.comm import Comm
from sley.errors import SleyArgumentError, SleyUnsupportedError

COMPRESSIONS = {"none": _c.sley_compress.SLEY_COMPRESS_NONE, "auto": _c.sley_compress.SLEY_COMPRESS_AUTO,
                "pici": _c.sley_compress.SLEY_COMPRESS_PICI, "coo": _c.sley_compress.SLEY_COMPRESS_COO}
# Types of values that matrices do not have.
WHOLE = {"int64": int(_c.sley_type.SLEY_TYPE_I64), "int8": int(_c.sley_type.SLEY_TYPE_I8),
         "uint8": int(_c.sley_type.SLEY_TYPE_U8)}


def one_of(names: dict[str, Any], word: str, what: str) -> int:
    """The number of a word in a table of names."""
    if word not in names:
        raise SleyArgumentError(f"there is no {what} {word!r}: take one of {', '.join(names)}")
    return int(names[word])


def _numbered(names: Any) -> dict[str, int]:
    """The numbers of a list of names of the library."""
    return {name: number for number, name in enumerate(names_of(names))}


def kinds() -> dict[str, int]:
    """The kinds of collectives, by their names."""
    return _numbered(lib.sley_collective_kinds())


def ops() -> dict[str, int]:
    """The reductions, by their names."""
    return _numbered(lib.sley_reduces())


def ways() -> dict[str, int]:
    """The routes of compressed arrays, by their names."""
    return _numbered(lib.sley_collective_ways())


@dataclass(frozen=True)
class CollectiveInfo:
    """Report on the last run of a collective on this rank."""

    values: int  # number of values in the compressed arrays
    nonzeros: int  # number of these values that are not zero
    result_nonzeros: int  # nonzeros of the result; -1: not known
    sent: int  # bytes to other ranks
    received: int
    dense_sent: int  # bytes that would have been sent without compression
    arrays: int  # number of compressed arrays
    dense: int  # of these, arrays in the format dense,
    pici: int  # in the format pici,
    coo: int  # and in the format coo
    inter: int  # of these, arrays to be reduced in another workgroup,
    inter_dense: int  # and how many of them travelled dense
    intra: int  # the same for arrays to be reduced in the rank's own workgroup,
    intra_dense: int
    allgather: int  # and for gathered arrays
    allgather_dense: int
    path: str  # way that ran, or "dense"; "" before the first run
    reason: str


def collective_info(made: _c.sley_collective_info) -> CollectiveInfo:
    """The library's report on a run."""
    texts = {"path", "reason"}
    values: dict[str, Any] = {field[0]: getattr(made, field[0]) for field in made._fields_}
    told: dict[str, Any] = {name: decoded(value) if name in texts else value for name, value in values.items()}
    return CollectiveInfo(**told)


def bounds(above: float | Sequence[float | None] | None) -> dict[str, float]:
    """The densities above which arrays travel dense, as options of the library."""
    if above is None:
        return {}
    names = ("inter", "intra", "allgather")
    given = [above] * 3 if isinstance(above, (int, float, np.floating)) else list(above)
    if len(given) != 3 or not all(each is None or 0 <= each <= 1 for each in given):
        raise SleyArgumentError(f"dense_above is {above}: give one density from 0 to 1, or three: inter, intra, allgather")
    return {f"dense_above_{name}": float(each) for name, each in zip(names, given, strict=True) if each is not None}


def _destroy(_comm: ctypes.c_void_p, handle: ctypes.c_void_p) -> None:
    lib.sley_collective_destroy(handle)


class Collective(Closable):
    """An all-reduce, a reduce-scatter or an all-gather of arrays, prepared once and run any number of times.

    Values are reduced in the order of the ranks, so that the bits are the same on every transport, unless `way` is
    "ring", "two-level" or "recursive-doubling". Creating, running and closing it are collective.

    Parameters
    ----------
    comm : Comm
        A comm of `sley.dist.init`, with ranks on the CPU.
    kind : str
        "allreduce", "reducescatter" or "allgather".
    count : int or sequence of int
        Number of values: of the array for an all-reduce, otherwise of each rank's part (one number, or one per rank).
    dtype : dtype
        float16, float32, float64, int64, or the bfloat16 of ml_dtypes; for an all-gather also int8 and uint8.
    op : str
        "sum", "min" or "max"; an all-gather ignores it.
    compress : str
        Compression for arrays with many zeros: "auto", "pici" or "coo"; "none": no compression.
    way : str
        Algorithm for compressed arrays: "auto", "direct", "ring" or "two-level"; for an all-reduce also
        "recursive-doubling", "split-allgather" or "split-dense".
    dense_above : float or sequence of three floats or None, optional
        Densities, from 0 to 1, above which an array travels dense: an array to be reduced in another workgroup (inter)
        or in the rank's own (intra), and a gathered array (allgather). One number stands for all three; None: chosen by
        predicted time. With any of them, `compress="auto"` never replaces a whole run by the dense collective.

    Examples
    --------
    >>> with sley.dist.Collective(comm, "allreduce", gradient.size, gradient.dtype, compress="auto") as total:
    ...     total(gradient, out=gradient)
    """

    def __init__(self, comm: Comm, kind: str, count: int | Sequence[int], dtype: npt.DTypeLike = np.float32, *,
                 op: str = "sum", compress: str = "none", way: str = "auto",
                 dense_above: float | Sequence[float | None] | None = None) -> None:
        if comm.device != "cpu" or comm.here != 1:
            raise SleyUnsupportedError("collectives take a comm of sley.dist whose ranks are on the CPU")
        self._comm, self._name, self._dtype = comm, kind, np.dtype(dtype)
        number = one_of(kinds(), kind, "collective")
        self._kind = _c.sley_collective_kind_info()
        call(lib.sley_collective_kind_get, number, ctypes.byref(self._kind))
        each = isinstance(count, (int, np.integer))
        self._counts = np.full(comm.size, count, np.int64) if each else np.array(count, np.int64)
        if self._counts.shape != (comm.size,) or (self._kind.whole and not each):
            raise SleyArgumentError(f"count is {count}: give one number, or, of a reduce-scatter or an all-gather, "
                                    f"one for each of {comm.size} ranks")
        code = WHOLE[self._dtype.name] if self._dtype.name in WHOLE else code_of(self._dtype)
        options = initial(_c.sley_collective_options, kind=number, type=code,
                          op=one_of(ops(), op, "reduction"), compress=one_of(COMPRESSIONS, compress, "compression"),
                          way=one_of(ways(), way, "way"), count=int(self._counts[0]),
                          counts=None if each else self._counts.ctypes.data, **bounds(dense_above))
        self._number, self._handles = comm._make(
            _destroy, lambda _, handle, out: lib.sley_collective_create(handle, ctypes.byref(options),
                                                                        ctypes.byref(out)), None)
        self._forget = weakref.finalize(self, comm._holdings.forget, self._number)

    def _values(self, whole: bool) -> int:
        part = int(self._counts[self._comm.first])
        return part if self._kind.whole or not whole else int(self._counts.sum())

    def _check_open(self) -> None:
        if self.closed:
            raise SleyArgumentError("the collective is closed")

    def run(self, src: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """Reduces or gathers the ranks' arrays.

        Parameters
        ----------
        src : array_like
            Operand in the collective's type, in any shape: the array of an all-reduce, the parts for all ranks of a
            reduce-scatter, the rank's own part of an all-gather. It is copied if it is not contiguous.
        out : ndarray, optional
            The result: writable, contiguous, of the collective's type. In an all-reduce it may be src; otherwise it
            must not overlap src.

        Returns
        -------
        ndarray
            `out`, or a new array: for an all-reduce in the shape of src, otherwise of one dimension.
        """
        self._check_open()
        read = np.ascontiguousarray(src)
        shape = np.shape(src) if self._kind.whole else (self._values(self._kind.gathers),)
        made = np.empty(shape, self._dtype) if out is None else out
        if read.dtype != self._dtype or read.size != self._values(self._kind.reduces):
            raise SleyArgumentError(f"src has {read.size} values of type {read.dtype.name}: expected "
                                    f"{self._values(self._kind.reduces)} of {self._dtype.name}")
        if made.dtype != self._dtype or made.size != self._values(self._kind.gathers):
            raise SleyArgumentError(f"out has {made.size} values of type {made.dtype.name}: expected "
                                    f"{self._values(self._kind.gathers)} of {self._dtype.name}")
        if not (made.flags.c_contiguous and made.flags.writeable and made.flags.aligned):
            raise SleyArgumentError("out must be writable, and its values must follow each other")
        if np.may_share_memory(read, made) and (not self._kind.whole or read.ctypes.data != made.ctypes.data):
            read = read.copy()
        self._comm._run(lambda i, _: lib.sley_collective_run(self._handles[i], read.ctypes.data, made.ctypes.data))
        return made

    __call__ = run

    @property
    def info(self) -> CollectiveInfo:
        """Report on the last run on this rank."""
        self._check_open()
        made = _c.sley_collective_info()
        self._comm._run(lambda i, _: lib.sley_collective_info_get(self._handles[i], ctypes.byref(made)))
        return collective_info(made)

    @property
    def closed(self) -> bool:
        """Whether the collective, or its comm, is closed."""
        return not self._forget.alive or self._comm.closed

    def close(self) -> None:
        """Destroys the collective. Later calls do nothing."""
        if self._forget.detach() is not None:
            self._comm._remove(self._number)

    def __repr__(self) -> str:
        return (f"<sley.dist.Collective, {self._name} of {self._dtype.name}, {self._comm.size} ranks"
                f"{', closed' if self.closed else ''}>")
