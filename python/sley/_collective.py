# SPDX-License-Identifier: Apache-2.0
"""Collectives over arrays of NumPy, PyTorch and others, dense or compressed."""
import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sley import _c
from sley._calls import call
from sley._later import Work
from sley._library import decoded, initial, lib, names_of
from sley._process import Closable
from sley._values import Values, code_of_name, empty, readable, type_name, writable
from sley.comm import Comm
from sley.errors import SleyArgumentError

COMPRESSIONS = {"none": _c.sley_compress.SLEY_COMPRESS_NONE, "auto": _c.sley_compress.SLEY_COMPRESS_AUTO,
                "pici": _c.sley_compress.SLEY_COMPRESS_PICI, "coo": _c.sley_compress.SLEY_COMPRESS_COO}

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


class Prepared(Closable):
    """An operation of a comm on one array of each rank of this process, prepared once."""

    def __init__(self, comm: Comm, destroy: Callable[[ctypes.c_void_p], Any],
                 create: Callable[[ctypes.c_void_p, Any], int], kept: object) -> None:
        self._comm = comm
        self._number, self._handles = comm._make(lambda _, handle: destroy(handle),
                                                 lambda _, handle, out: create(handle, ctypes.byref(out)), kept)
        self._forget = weakref.finalize(self, comm._holdings.forget, self._number)

    def _check_open(self) -> None:
        if self.closed:
            raise SleyArgumentError(f"the {type(self).__name__.lower()} is closed")

    def _each(self, given: Any, what: str) -> list[Any]:
        """The arrays of the ranks of this process."""
        here = self._comm.here
        if here == 1:
            return [given]
        if not isinstance(given, (list, tuple)) or len(given) != here:
            raise SleyArgumentError(f"{what} must be a list of {here} arrays, one for each rank of this process, not "
                                    f"{type(given).__name__}")
        return list(given)

    def _one(self, of_ranks: list[Any]) -> Any:
        """What a call returns: of the one rank of this process, or a list over its ranks."""
        return of_ranks[0] if self._comm.here == 1 else of_ranks

    def _start(self, function: Callable[..., int], src: list[Values], out: list[Values], async_op: bool) -> Any:
        """Runs function(handle, src, out) on every rank of this process."""
        on_gpu = self._comm.device != "cpu"
        streams = [[each for each in (one.stream, other.stream) if each is not None]
                   for one, other in zip(src, out, strict=True)]

        def run(i: int, comm: ctypes.c_void_p) -> int:
            status = 0
            for stream in streams[i]:  # each stream waits for the work on the stream before it
                status = status or lib.sley_comm_set_stream(comm, stream)
            status = status or function(self._handles[i], src[i].address, out[i].address)
            if on_gpu:
                status = status or lib.sley_comm_wait(comm)
            if streams[i]:
                status = status or lib.sley_comm_set_stream(comm, None)
            return int(status)

        result = self._one([each.given for each in out])
        if async_op:
            return self._comm._run_later(run, result)
        self._comm._run(run)
        return result

    def _infos(self, kind: Any, function: Callable[..., int]) -> list[Any]:
        """The library's report on each rank of this process."""
        self._check_open()
        made = [kind() for _ in self._handles]
        self._comm._run(lambda i, _: function(self._handles[i], ctypes.byref(made[i])))
        return made

    @property
    def closed(self) -> bool:
        """Whether the object, or its comm, is closed."""
        return not self._forget.alive or self._comm.closed

    def close(self) -> None:
        """Destroys the object. Later calls do nothing."""
        if self._forget.detach() is not None:
            self._comm._remove(self._number)


def refuse_shared(src: list[Values], out: list[Values]) -> None:
    """Raises SleyArgumentError if a result overlaps an array of another rank."""
    for i, one in enumerate(out):
        for j in range(len(out)):
            if i != j and (one.overlaps(src[j]) or one.overlaps(out[j])):
                raise SleyArgumentError(f"out of rank {i} overlaps an array of rank {j}")


class Collective(Prepared):
    """An all-reduce, a reduce-scatter or an all-gather of arrays, prepared once and run any number of times.

    Values are reduced in the order of the ranks, so that the bits are the same on every transport, unless `way` is
    "ring", "two-level" or "recursive-doubling", or `any_order` is set. Creating, running and closing it are collective
    if ranks are processes.

    Parameters
    ----------
    comm : Comm
        A comm of `sley.dist.init`, or a `sley.Comm`, whose ranks are threads.
    kind : str
        "allreduce", "reducescatter" or "allgather".
    count : int or sequence of int
        Number of values: of the array for an all-reduce, otherwise of each rank's part (one number, or one per rank).
    dtype : dtype
        float16, float32, float64, int64, or bfloat16, of NumPy or of PyTorch; for an all-gather also int8 and uint8.
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
    any_order : bool
        Floating-point sums, minima and maxima may be those of the transport's own library (NCCL, MPI), in an order
        which may vary, and with its treatment of NaN.

    Examples
    --------
    >>> with sley.dist.Collective(comm, "allreduce", gradient.size, gradient.dtype, compress="auto") as total:
    ...     total(gradient, out=gradient)
    """

    def __init__(self, comm: Comm, kind: str, count: int | Sequence[int], dtype: Any = np.float32, *,
                 op: str = "sum", compress: str = "none", way: str = "auto",
                 dense_above: float | Sequence[float | None] | None = None, any_order: bool = False) -> None:
        self._name, self._dtype = kind, type_name(dtype)
        number = one_of(kinds(), kind, "collective")
        self._kind = _c.sley_collective_kind_info()
        call(lib.sley_collective_kind_get, number, ctypes.byref(self._kind))
        each = isinstance(count, (int, np.integer))
        self._counts = np.full(comm.size, count, np.int64) if each else np.array(count, np.int64)
        if self._counts.shape != (comm.size,) or (self._kind.whole and not each):
            raise SleyArgumentError(f"count is {count}: give one number, or, of a reduce-scatter or an all-gather, "
                                    f"one for each of {comm.size} ranks")
        self._code = code_of_name(self._dtype)
        options = initial(_c.sley_collective_options, kind=number, type=self._code, any_order=any_order,
                          op=one_of(ops(), op, "reduction"), compress=one_of(COMPRESSIONS, compress, "compression"),
                          way=one_of(ways(), way, "way"), count=int(self._counts[0]),
                          counts=None if each else self._counts.ctypes.data, **bounds(dense_above))
        super().__init__(comm, lib.sley_collective_destroy,
                         lambda handle, out: int(lib.sley_collective_create(handle, ctypes.byref(options), out)), None)

    def _size(self, whole: bool, i: int) -> int:
        """Number of values of rank i of this process: of all parts, or of its own."""
        part = int(self._counts[self._comm.first + i])
        return part if self._kind.whole or not whole else int(self._counts.sum())

    def _check(self, values: Values, what: str, size: int) -> None:
        if values.dtype != self._dtype or values.size != size:
            raise SleyArgumentError(f"{what} has {values.size} values of type {values.dtype}: expected {size} of "
                                    f"{self._dtype}")

    def _operands(self, i: int, src: Any, out: Any) -> tuple[Values, Values]:
        """The arrays of rank i of this process."""
        read = readable(src, "src", self._comm.device)
        self._check(read, "src", self._size(self._kind.reduces, i))
        size = self._size(self._kind.gathers, i)
        if out is None:
            return read, empty(read.shape if self._kind.whole else (size,), self._code, self._dtype, read)
        made = writable(out, "out", self._comm.device)
        self._check(made, "out", size)
        made = made._replace(given=out)
        if not read.overlaps(made) or (self._kind.whole and read.address == made.address):
            return read, made
        if made.there is not None:
            raise SleyArgumentError("out overlaps src, of which no copy is made on a GPU")
        return read.copied(), made

    def run(self, src: Any, *, out: Any = None, async_op: bool = False) -> Any:
        """Reduces or gathers the ranks' arrays. Collective if ranks are processes.

        Parameters
        ----------
        src : array_like
            Operand in the collective's type, in any shape: the array of an all-reduce, the parts for all ranks of a
            reduce-scatter, the rank's own part of an all-gather. It is an array of NumPy, PyTorch or another library,
            in the memory of the comm's device; on the CPU it is copied if it is not contiguous. If the ranks are
            several threads of this process: a list with an array for each rank.
        out : array, optional
            The result: writable, contiguous, of the collective's type, or a list of such arrays. In an all-reduce it
            may be src; otherwise it must not overlap src.
        async_op : bool
            True: return at once. The exchange runs in another thread, and later calls on the comm start after it.

        Returns
        -------
        array, list of arrays, or Work
            `out`, or a new array of the library of src: for an all-reduce in the shape of src, otherwise of one
            dimension. A list for several threads. With async_op: a `Work`, whose `wait()` returns this.
        """
        self._check_open()
        sources = self._each(src, "src")
        outs = [None] * len(sources) if out is None else self._each(out, "out")
        pairs = [self._operands(i, one, other) for i, (one, other) in enumerate(zip(sources, outs, strict=True))]
        read, made = [one for one, _ in pairs], [other for _, other in pairs]
        refuse_shared(read, made)
        return self._start(lib.sley_collective_run, read, made, async_op)

    __call__ = run

    @property
    def info(self) -> CollectiveInfo | list[CollectiveInfo]:
        """Report on the last run on this rank; if the ranks are several threads of this process, a list of them."""
        made: CollectiveInfo | list[CollectiveInfo] = self._one(
            [collective_info(each) for each in self._infos(_c.sley_collective_info, lib.sley_collective_info_get)])
        return made

    def __repr__(self) -> str:
        return (f"<sley.dist.Collective, {self._name} of {self._dtype}, {self._comm.size} ranks"
                f"{', closed' if self.closed else ''}>")
