# SPDX-License-Identifier: Apache-2.0
"""Products without a plan, on the cores of this process: the library keeps what it prepares (sley_multiply.h).

A CSR or CSC matrix of SciPy is read in place. It is recognised when it is given again, so that it is not checked again.
"""
import collections
import contextlib
import contextvars
import ctypes
import os
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from sley import _c
from sley._arrays import Array, code_of, fitting
from sley._calls import call, value_of
from sley._containers import Csr
from sley._dense import Dense, host_product
from sley._kinds import is_whole, kinds
from sley._library import lib
from sley.errors import SleyArgumentError, last_error
from sley.matrix import Matrix

_threads: contextvars.ContextVar[int] = contextvars.ContextVar("sley_threads", default=0)
_KNOWN_MOST = 64  # matrices of SciPy that are recognised
_VALUES = {np.dtype(each): code_of(each) for each in (np.float32, np.float64)}
_INDICES = (np.dtype(np.int32), np.dtype(np.int64))
_OPTIONS_BYTES = ctypes.sizeof(_c.sley_multiply_options)
_memcmp = ctypes.CDLL(None).memcmp
_memcmp.restype, _memcmp.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Inside the `with` statement, products without a plan use that many threads; 0: all cores.

    It holds for the Python thread, or the task of asyncio, that enters it.

    Examples
    --------
    >>> with sley.threads(1):
    ...     y = a @ x
    """
    if not is_whole(count) or count < 0:
        raise SleyArgumentError(f"count is {count!r}: give a number of threads, or 0 for all cores")
    token = _threads.set(fitting(count, 32, "count"))
    try:
        yield
    finally:
        _threads.reset(token)


def threads_of_products() -> int:
    """The number that `threads` has set; 0: all cores."""
    return _threads.get()


@dataclass(frozen=True)
class CacheInfo:
    """What the library keeps for products without a plan.

    Attributes
    ----------
    products : int
        Kept products; each belongs to a matrix, a number of columns, of threads, and to A or A^T.
    bytes, limit : int
        Bytes that they take besides the matrices, and the most that they may take.
    hits, misses : int
        Products of this process that used what was kept, and that did not.
    """

    products: int
    bytes: int
    limit: int
    hits: int
    misses: int


def _refuse_others(matrix: Any) -> None:
    if matrix is not None and not isinstance(matrix, Matrix):
        raise SleyArgumentError(f"matrix is a {type(matrix).__name__}: it must be a sley.Matrix")


def cache_info(matrix: Matrix | None = None) -> CacheInfo:
    """What is kept for products without a plan, of a matrix or of all matrices."""
    _refuse_others(matrix)
    made = value_of(_c.sley_kept_info, lib.sley_kept_get, matrix)
    return CacheInfo(**{name: getattr(made, name) for name in CacheInfo.__dataclass_fields__})


def cache_clear(matrix: Matrix | None = None) -> None:
    """Drops what is kept for products without a plan: of a matrix; or of all matrices, with the matrices of SciPy that
    are recognised."""
    _refuse_others(matrix)
    if matrix is None:
        with _lock:
            _known.clear()
    lib.sley_kept_clear(matrix)


@kinds
def cache_limit(limit: int) -> None:
    """Sets the most bytes that may be kept for products without a plan; 0: nothing is kept."""
    call(lib.sley_kept_set_limit, fitting(limit, 64, "limit"))


class _Source(NamedTuple):
    """The arrays of a CSR or CSC matrix of SciPy that the library can read in place."""

    indptr: Array
    indices: Array
    data: Array
    shape: tuple[int, int]  # of the matrix whose CSR arrays these are: for CSC of A^T
    flipped: bool  # whether that is A^T

    def readable(self) -> bool:
        """Whether the library can read the arrays."""
        if any(type(each) is not np.ndarray or not each.flags.c_contiguous or not each.dtype.isnative
               or each.ndim != 1 for each in self[:3]):
            return False
        pointers, rows = self.indptr, self.shape[0]
        return (self.data.dtype in _VALUES and self.indices.dtype in _INDICES and pointers.dtype in _INDICES
                and len(pointers) == rows + 1 and len(self.indices) == len(self.data)
                and 0 <= int(pointers[0]) <= int(pointers[-1]) <= len(self.data))

    def csr(self) -> _c.sley_csr:
        """The struct of the library."""
        index = _c.sley_index.SLEY_I32 if self.indices.dtype == np.int32 else _c.sley_index.SLEY_I64
        made = _c.sley_csr(rows=self.shape[0], cols=self.shape[1], col=self.indices.ctypes.data,
                           val=self.data.ctypes.data, index=index, dtype=_VALUES[self.data.dtype])
        setattr(made, "rowptr32" if self.indptr.dtype == np.int32 else "rowptr", self.indptr.ctypes.data)
        return made

    def matrix(self) -> Matrix | None:
        """A Matrix that reads the arrays; None if columns do not ascend."""
        made = Matrix.__new__(Matrix)
        made._borrow(Csr(self.indptr, self.indices, self.data, self.shape, True, True))
        return None if made._reordered else made


def _source(a: Any) -> _Source | None:
    if not scipy.sparse.issparse(a) or a.format not in ("csr", "csc") or a.ndim != 2:
        return None
    flipped = a.format == "csc"
    made = _Source(a.indptr, a.indices, a.data, a.shape[::-1] if flipped else a.shape, flipped)
    return made if made.readable() else None


def _sorted_source(a: Any) -> _Source | None:
    """The arrays of a COO matrix of SciPy whose rows or columns ascend, which needs only pointers; otherwise None."""
    row, col, data = a.row, a.col, a.data
    for places, others, shape, flipped in ((row, col, a.shape, False), (col, row, a.shape[::-1], True)):
        if type(places) is not np.ndarray or places.ndim != 1 or places.shape != data.shape:
            return None
        if len(places) and (places[0] < 0 or places[-1] >= shape[0] or np.any(places[1:] < places[:-1])):
            continue
        pointers = np.zeros(shape[0] + 1, np.int64)
        np.cumsum(np.bincount(places, minlength=shape[0]), out=pointers[1:])
        made = _Source(pointers, others, data, shape, flipped)
        return made if made.readable() else None
    return None


class _Known:
    """A matrix of SciPy that has been given, and from the second time on a Matrix that reads its arrays.

    That Matrix has row pointers of its own, and `pointers` are those of SciPy as they were then.
    """

    def __init__(self, a: Any, source: _Source) -> None:
        number = id(a)
        self.owner: weakref.ref[Any] = weakref.ref(a, lambda _: _forget(number, self_of()))
        self_of = weakref.ref(self)
        self.source, self.shape, self.csr = source, a.shape, source.csr()
        self.places = [each.__array_interface__ for each in source[:3]]  # which differ if arrays are resized in place
        self.matrix: Matrix | None = None
        self.refused = False  # whether its columns did not ascend when it was given again
        self.pointers: Array | None = None

    def is_still(self, a: Any) -> bool:
        """Whether `a` has the same arrays in the same places, and, if there is a Matrix, the same row pointers; without
        one each product checks them, but for the last. Columns and values are read in place by every product, so they
        need no check."""
        source, places, kept = self.source, self.places, self.pointers
        pointers, indices, data = source.indptr, source.indices, source.data
        owner: Any = self.owner()
        return (owner is a and a.indptr is pointers and a.indices is indices and a.data is data
                and a.shape == self.shape and pointers.__array_interface__ == places[0]
                and indices.__array_interface__ == places[1] and data.__array_interface__ == places[2]
                and (pointers[-1] <= len(data) if kept is None else
                     not _memcmp(places[0]["data"][0], kept.__array_interface__["data"][0], kept.nbytes)))

    def make(self) -> None:
        """Makes the Matrix."""
        self.pointers = self.source.indptr.copy()
        self.matrix = self.source.matrix()
        self.refused = self.matrix is None
        if self.refused:
            self.pointers = None


_known: "collections.OrderedDict[int, _Known]" = collections.OrderedDict()
_lock = threading.RLock()  # a callback of a weak reference may run in the thread that holds it


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


def _forget(number: int, known: "_Known | None") -> None:
    with _lock:
        if known is not None and _known.get(number) is known:
            del _known[number]


def _given(a: Any) -> tuple[_Known, bool] | None:
    """What is known of a matrix of SciPy, and whether it is given again; None if the library cannot read its arrays in
    place."""
    with _lock:
        found = _known.get(id(a))
        if found is not None and found.is_still(a):
            _known.move_to_end(id(a))
            return found, True
    source = _source(a)
    if source is None:
        return None
    made = _Known(a, source)
    with _lock:
        _known[id(a)] = made
        while len(_known) > _KNOWN_MOST:
            _known.popitem(last=False)
    return made, False


def multiply_scipy(a: Any, x: Array, out: Any = None, alpha: float = 1.0, beta: float = 0.0, *,
                   transpose: bool = False) -> Array | None:
    """`multiply` for a CSR, CSC or COO matrix of SciPy, whose arrays are read in place; x has its type.

    The first product begins at once. When the matrix is given again, a Matrix is made of it, for which the library
    keeps the division of the rows; for arrays that may change it keeps nothing for one column and for A^T, so then a
    Matrix would not be faster. None: the library cannot read the arrays, as those of a COO matrix in which neither rows
    nor columns ascend.
    """
    if a.format == "coo":
        places = _sorted_source(a)
        return None if places is None or places.data.dtype != x.dtype else _once(
            places, places.csr(), x, out, alpha, beta, transpose != places.flipped)
    given = _given(a)
    if given is None:
        return None
    known, again = given
    source = known.source
    if source.data.dtype != x.dtype:
        return None
    transpose = transpose != source.flipped
    fixed = _fixed(source)
    if again and known.matrix is None and not known.refused and (fixed or (x.size > x.shape[0] and not transpose)):
        known.make()
    if known.matrix is not None:
        return _run(known.matrix, lib.sley_multiply_with, known.matrix._as_parameter_, x, out, alpha, beta, transpose,
                    not fixed)
    return _once(source, known.csr, x, out, alpha, beta, transpose)


def _once(source: _Source, csr: _c.sley_csr, x: Array, out: Any, alpha: float, beta: float, transpose: bool) -> Array:
    return _run(source, lib.sley_multiply_csr, ctypes.byref(csr), x, out, alpha, beta, transpose, True)


def _fixed(source: _Source) -> bool:
    """Whether NumPy refuses to change the arrays."""
    for array in source[:3]:
        each: Any = array
        while isinstance(each, np.ndarray):
            if each.flags.writeable:
                return False
            each = each.base
        if each is not None:  # memory of another library, which may change it
            return False
    return True


def multiply(matrix: Matrix, x: Array, out: Any = None, alpha: float = 1.0, beta: float = 0.0, *,
             transpose: bool = False) -> Array:
    """Y = alpha A X + beta Y for an X of one or two dimensions in host memory."""
    return _run(matrix, lib.sley_multiply_with, matrix._as_parameter_, x, out, alpha, beta, transpose, False)


def _run(matrix: "Matrix | _Source", function: Any, handle: Any, x: Array, out: Any, alpha: float, beta: float,
         transpose: bool, changing: bool) -> Array:
    if out is None and beta != 0.0:
        raise SleyArgumentError("beta needs out")
    rows, cols = matrix.shape[::-1] if transpose else matrix.shape
    k = 1 if x.ndim == 1 else x.shape[1]
    options = _c.sley_multiply_options(_OPTIONS_BYTES, alpha, beta, 0, 0, transpose, changing, _threads.get())

    def run(given: Dense, made: Dense) -> None:
        options.ldx, options.ldy = given.ld, made.ld
        status = function(handle, k, ctypes.byref(options), given.array.ctypes.data, made.array.ctypes.data)
        if status:  # too short for `call`, which Ctrl-C interrupts
            raise last_error(status)

    dtype, arrays = (matrix.data.dtype, lambda: matrix[:3]) if isinstance(matrix, _Source) \
        else (matrix.dtype, matrix._arrays)
    return host_product(x, out, (rows, cols, k), dtype, arrays, run)
