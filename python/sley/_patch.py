# SPDX-License-Identifier: Apache-2.0
"""Sley's products in place of SciPy's."""
import functools
import threading
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse

from sley._direct import multiply_scipy, threads_of_products
from sley._kinds import is_whole
from sley.errors import SleyArgumentError
from sley.products import spgemm

# What SciPy calls its products with dense arrays, and with sparse matrices, in its versions.
_DENSE = ("_matmul_vector", "_matmul_multivector", "_mul_vector", "_mul_multivector")
_SPARSE = ("_matmul_sparse", "_mul_sparse_matrix")
_LEAST = 1 << 16
# Multiplications for a row of a sparse product, on average, from which Sley is at least as fast: SciPy leaves the rows
# unsorted, which is faster for short ones.
_ROW_LEAST = 256
_lock = threading.Lock()
_open: "list[Patch]" = []
_before: dict[tuple[type, str], Any] = {}  # what SciPy's classes had of their own


def _kinds() -> tuple[type, type]:
    """The class that `csr_array` and `csr_matrix` have in common, and that of `csc_array` and `csc_matrix`."""
    csr, csc = (next(each for each in array.__mro__ if each in matrix.__mro__ and each.__name__ in names)
                for array, matrix, names in (
                    (scipy.sparse.csr_array, scipy.sparse.csr_matrix, ("_csr_base", "csr_matrix")),
                    (scipy.sparse.csc_array, scipy.sparse.csc_matrix, ("_csc_base", "csc_matrix"))))
    return csr, csc


def _instead(name: str, old: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    @functools.wraps(old)
    def product(a: Any, x: Any) -> Any:
        newest = _open[-1] if _open else None
        if newest is None or type(x) is not np.ndarray or x.dtype != a.dtype or a.ndim != 2 or x.ndim > 2 \
                or a.data.size * (x.shape[1] if x.ndim == 2 else 1) < newest.least:
            return old(a, x)
        made = multiply_scipy(a, x)
        if made is None:
            return old(a, x)
        newest.products += 1
        return made

    return product


def _multiplications(a: Any, b: Any) -> int:
    """Number of multiplications of the product of two CSR matrices."""
    lengths = np.diff(b.indptr)
    return int(lengths[a.indices[a.indptr[0]: a.indptr[-1]]].sum())


def _sparse_instead(name: str, old: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    @functools.wraps(old)
    def product(a: Any, b: Any) -> Any:
        newest = _open[-1] if _open else None
        if newest is None or type(b) is not type(a) or a.dtype not in (np.float32, np.float64) or b.dtype != a.dtype \
                or a.ndim != 2 or b.ndim != 2:
            return old(a, b)
        count = _multiplications(a, b)
        if count < newest.least or count < _ROW_LEAST * a.shape[0]:
            return old(a, b)
        made = spgemm(a, b, threads=threads_of_products())
        newest.products += 1
        indptr, indices, data = made._arrays()
        wide = np.promote_types(a.indices.dtype, np.int32 if made.nnz <= np.iinfo(np.int32).max else np.int64)
        return type(a)((data.copy(), indices.astype(wide), indptr.astype(wide)), shape=made.shape)

    return product


class Patch:
    """Sley's products in place of SciPy's, until `undo`, or the end of a `with` statement.

    Attributes
    ----------
    least : int
        Products of fewer multiplications remain SciPy's.
    products : int
        Number of products that Sley has computed for SciPy.
    """

    def __init__(self, least: int) -> None:
        self.least, self.products = least, 0
        with _lock:
            _open.append(self)
            if len(_open) == 1:
                csr, csc = _kinds()
                for kind, names, instead in ((csr, _DENSE, _instead), (csc, _DENSE, _instead),
                                             (csr, _SPARSE, _sparse_instead)):
                    for name in names:
                        if hasattr(kind, name):
                            _before[kind, name] = vars(kind).get(name)
                            setattr(kind, name, instead(name, getattr(kind, name)))

    def undo(self) -> None:
        """Ends the patch. The last one that ends restores SciPy's functions. Later calls do nothing."""
        with _lock:
            if self not in _open:
                return
            _open.remove(self)
            if _open:
                return
            for (kind, name), own in _before.items():
                if own is None:
                    delattr(kind, name)
                else:
                    setattr(kind, name, own)
            _before.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()


def patch_scipy(*, least: int = _LEAST) -> Patch:
    """Puts Sley's products in place of SciPy's, in the whole process.

    It concerns CSR and CSC matrices and arrays of SciPy, of float32 and float64, with dense arrays of the same type;
    products of two CSR matrices of the same type that take 256 multiplications for each row of the result or more; and
    all that SciPy computes with such products, as the solvers of `scipy.sparse.linalg`. SciPy computes the other
    products as before: of other types, and of few entries.

    Changes of a matrix in place are seen, as with SciPy. If its three arrays, and those of which they are views, are
    read-only for NumPy (`a.data.flags.writeable = False`), the library also keeps a copy of the entries in the order in
    which narrow products read them fastest.

    Parameters
    ----------
    least : int
        Products of fewer multiplications remain SciPy's, which starts sooner.

    Returns
    -------
    Patch
        With `undo`; also for a `with` statement.

    Examples
    --------
    >>> with sley.patch_scipy():
    ...     solution, status = scipy.sparse.linalg.cg(a, b)
    """
    if not is_whole(least) or least < 0:
        raise SleyArgumentError(f"least is {least!r}: give a number of multiplications, 0 or more")
    return Patch(int(least))
