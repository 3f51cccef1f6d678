# SPDX-License-Identifier: Apache-2.0
"""Sley's products in place of SciPy's."""
import functools
import threading
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse

from sley._direct import multiply_scipy
from sley._kinds import is_whole
from sley.errors import SleyArgumentError

# What SciPy calls its products of a CSR matrix with dense arrays, in its versions.
_DENSE = ("_matmul_vector", "_matmul_multivector", "_mul_vector", "_mul_multivector")
_LEAST = 1 << 16
_lock = threading.Lock()
_open: "list[Patch]" = []
_before: dict[str, Any] = {}  # what SciPy's class had of its own


def _kind() -> type:
    """The class that `csr_array` and `csr_matrix` have in common."""
    return next(each for each in scipy.sparse.csr_array.__mro__
                if each in scipy.sparse.csr_matrix.__mro__ and each.__name__ in ("_csr_base", "csr_matrix"))


def _instead(name: str, old: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    @functools.wraps(old)
    def product(a: Any, x: Any) -> Any:
        newest = _open[-1] if _open else None
        if newest is None or type(x) is not np.ndarray or x.dtype != a.dtype or a.ndim != 2 or x.ndim > 2 \
                or a.nnz * (x.shape[1] if x.ndim == 2 else 1) < newest.least:
            return old(a, x)
        made = multiply_scipy(a, x)
        if made is None:
            return old(a, x)
        newest.products += 1
        return made

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
                kind = _kind()
                for name in _DENSE:
                    if hasattr(kind, name):
                        _before[name] = vars(kind).get(name)
                        setattr(kind, name, _instead(name, getattr(kind, name)))

    def undo(self) -> None:
        """Ends the patch. The last one that ends restores SciPy's functions. Later calls do nothing."""
        with _lock:
            if self not in _open:
                return
            _open.remove(self)
            if _open:
                return
            kind = _kind()
            for name, own in _before.items():
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
    """Puts Sley's products of CSR matrices with dense arrays in place of SciPy's, in the whole process.

    It concerns `csr_array` and `csr_matrix` of float32 and float64 with dense arrays of the same type, and all that
    SciPy computes with such products, as the solvers of `scipy.sparse.linalg`. SciPy computes the other products as
    before: of other types, of matrices whose columns do not ascend, and of few entries.

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
