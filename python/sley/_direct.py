# SPDX-License-Identifier: Apache-2.0
"""Products without a plan, on the cores of this process: the library keeps what it prepares (sley_multiply.h).

A CSR matrix of SciPy is read in place. It is recognised when it is given again, so that it is not checked again.
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
from typing import Any

import numpy as np
import scipy.sparse

from sley import _c
from sley._arrays import Array, fitting
from sley._calls import call, value_of
from sley._dense import Dense, host_product
from sley._kinds import kinds
from sley._kinds import is_whole
from sley._library import lib
from sley.errors import SleyArgumentError, last_error
from sley.matrix import Matrix

_threads: contextvars.ContextVar[int] = contextvars.ContextVar("sley_threads", default=0)
_KNOWN_MOST = 64  # matrices of SciPy that are recognised
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


class _Known:
    """A CSR matrix of SciPy that has been given, as a Matrix that reads its arrays.

    The Matrix has row pointers of its own, and `pointers` are those of SciPy as they were then.
    """

    def __init__(self, a: Any, matrix: Matrix) -> None:
        self.owner = weakref.ref(a)
        self.arrays = _addresses(a)
        self.pointers = a.indptr.copy()
        self.matrix = matrix

    def is_still(self, a: Any) -> bool:
        """Whether `a` has the same arrays in the same places, with the same row pointers. Columns and values are read
        in place by every product, so they need no check."""
        pointers = a.indptr
        return (self.owner() is a and self.arrays == _addresses(a)
                and not _memcmp(pointers.ctypes.data, self.pointers.ctypes.data, pointers.nbytes))


_known: "collections.OrderedDict[int, _Known]" = collections.OrderedDict()
_lock = threading.RLock()  # a finalizer may run in the thread that holds it


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


def _forget(number: int, made: "weakref.ref[_Known]") -> None:
    with _lock:
        known = made()
        if known is not None and _known.get(number) is known:
            del _known[number]


def _addresses(a: Any) -> tuple[Any, ...]:
    return (a.shape, *((id(each), each.ctypes.data, each.shape, each.dtype) for each in (a.indptr, a.indices, a.data)))


def recognised(a: Any) -> Matrix | None:
    """A Matrix that reads the arrays of a CSR matrix of SciPy in place; None if they must be converted.

    The values must be float32 or float64, and the columns of each row must ascend.
    """
    if not scipy.sparse.issparse(a) or a.format != "csr" or a.ndim != 2 or a.data.dtype not in (np.float32, np.float64):
        return None
    if not all(type(each) is np.ndarray and each.flags.c_contiguous and each.dtype.isnative
               for each in (a.indptr, a.indices, a.data)):
        return None
    with _lock:
        found = _known.get(id(a))
        if found is not None and found.is_still(a):
            _known.move_to_end(id(a))
            return found.matrix
    made = _Known(a, Matrix(a, copy=False))
    if made.matrix._reordered or made.matrix._csr().val != a.data.ctypes.data or \
            made.matrix._csr().col != a.indices.ctypes.data:
        return None
    with _lock:
        _known[id(a)] = made
        while len(_known) > _KNOWN_MOST:
            _known.popitem(last=False)
    weakref.finalize(a, _forget, id(a), weakref.ref(made)).atexit = False
    return made.matrix


def _fixed(a: Any) -> bool:
    """Whether NumPy refuses to change the arrays of a matrix of SciPy."""
    for each in (a.indptr, a.indices, a.data):
        while isinstance(each, np.ndarray):
            if each.flags.writeable:
                return False
            each = each.base
        if each is not None:  # memory of another library, which may change it
            return False
    return True


def multiply(matrix: Matrix, x: Array, out: Any = None, alpha: float = 1.0, beta: float = 0.0, *,
             transpose: bool = False, source: Any = None) -> Array:
    """Y = alpha A X + beta Y for an X of one or two dimensions in host memory. source: the matrix of SciPy whose arrays
    `matrix` reads."""
    if out is None and beta != 0.0:
        raise SleyArgumentError("beta needs out")
    rows, cols = matrix.shape[::-1] if transpose else matrix.shape
    k = 1 if x.ndim == 1 else x.shape[1]
    options = _c.sley_multiply_options(_OPTIONS_BYTES, alpha, beta, 0, 0, transpose,
                                       source is not None and not _fixed(source), _threads.get())

    def run(given: Dense, made: Dense) -> None:
        options.ldx, options.ldy = given.ld, made.ld
        status = lib.sley_multiply_with(matrix._as_parameter_, k, ctypes.byref(options), given.array.ctypes.data,
                                        made.array.ctypes.data)  # too short for `call`, which Ctrl-C interrupts
        if status:
            raise last_error(status)

    return host_product(x, out, (rows, cols, k), matrix.dtype, matrix._arrays, run)
