# SPDX-License-Identifier: Apache-2.0
"""The verbs of SciPy's sparse arrays and linear operators, for `sley.Matrix`.

Products are Sley's. The other verbs are computed by SciPy on views of the matrix's arrays; 16-bit values, which SciPy
does not compute with, are widened to float32, and results are rounded back once.
"""
import numbers
import operator
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse

from sley._arrays import Array, exact_dtype, values_of
from sley._kinds import is_whole
from sley.errors import SleyArgumentError, SleyUnsupportedError


class Verbs:
    """Base of `Matrix`, which has the members that are only declared here."""

    __array_ufunc__ = None  # NumPy's operators leave products and sums with a Matrix to it
    ndim = 2
    dtype: Any
    _arrays: Any
    _narrow: Any
    _with_values: Any
    _rows: Any
    _of_scipy: Any
    _product: ClassVar[Callable[..., Any]]  # the operator @, which products.py sets

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns, (m, n)."""
        raise NotImplementedError

    @property
    def data(self) -> Array:
        """The entries' values."""
        raise NotImplementedError

    def _wide(self) -> Any:
        """A `csr_array` of views, in a type in which SciPy computes."""
        indptr, indices, data = self._arrays()
        if data.dtype.itemsize <= 2:
            data = data.astype(np.float32)
        return scipy.sparse.csr_array((data, indices, self._narrow(indptr)), shape=self.shape)

    def _from(self, made: Any, other: Any = None) -> Any:
        """A result of SciPy in the type that NumPy gives to this matrix and the other operand."""
        dtype = self.dtype if other is None else result_dtype(self.dtype, other)
        if scipy.sparse.issparse(made):
            return self._of_scipy(made.tocsr(), dtype)
        return made.astype(dtype, copy=False) if isinstance(made, (np.ndarray, np.generic)) else made

    # ---- as a container

    def __len__(self) -> int:
        """Number of rows."""
        return self.shape[0]

    def __bool__(self) -> bool:
        """True, also without rows."""
        return True

    def __iter__(self) -> Any:
        """The rows, each as a Matrix of one row."""
        return (self._rows(i, 1) for i in range(self.shape[0]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """An array of one object, as SciPy's containers are for NumPy: a matrix becomes dense by `toarray` only."""
        made = np.empty((), object)
        made[()] = self
        return made

    def __getitem__(self, index: Any) -> Any:
        """Rows as a Matrix: of a number (one row), a slice, an array of numbers or a mask. `a[rows, cols]` also chooses
        columns; for two numbers it is the value at that position.

        A slice of adjacent rows shares the arrays; other rows are copied.
        """
        rows = index[0] if isinstance(index, tuple) and len(index) == 2 and _is_all(index[1]) else index
        try:
            if is_whole(rows):
                i = range(self.shape[0])[rows]
                return self._rows(i, 1)
            if isinstance(rows, slice):
                chosen = range(self.shape[0])[rows]
                if chosen.step == 1:
                    return self._rows(chosen.start, len(chosen))
            if not isinstance(rows, tuple):
                rows = rows if isinstance(rows, slice) else np.asarray(rows)
            made = self._wide()[rows]
        except (IndexError, TypeError, ValueError) as error:
            raise SleyArgumentError(f"index {index!r} of a matrix of {self.shape[0]} x {self.shape[1]}: {error}"
                                    ) from None
        if scipy.sparse.issparse(made) and made.ndim == 1:
            made = made.reshape(1, -1)
        return self._from(made)

    def toarray(self) -> Array:
        """A dense array of shape (m, n); entries at the same position are summed."""
        return np.asarray(self._wide().toarray().astype(self.dtype, copy=False))

    def astype(self, dtype: npt.DTypeLike) -> Self:
        """A matrix with the same pattern, and the values converted to float16, float32, float64 or bfloat16.

        Raises
        ------
        SleyOverflowError
            A finite value is beyond the range of dtype.
        """
        values = values_of(self.data, dtype)
        made: Self = self._with_values(values)
        return made

    def diagonal(self, k: int = 0) -> Array:
        """The values at (i, i + k)."""
        return np.asarray(self._from(self._wide().diagonal(k)))

    def sum(self, axis: int | None = None) -> Any:
        """The sum of all values; or, with axis 0 or 1, of each column or each row, in one dimension."""
        if axis not in (None, 0, 1, -1, -2):
            raise SleyArgumentError(f"axis is {axis!r}: a matrix has the axes 0 and 1")
        return self._from(np.asarray(self._wide().sum(axis=axis))[()])

    # ---- as a linear operator

    def dot(self, x: Any) -> Any:
        """`a @ x`."""
        return self._product(x)

    def __rmatmul__(self, x: Any) -> Any:
        """X A for an x of shape (k, m) or (m,); for a sparse x the sparse product."""
        return self._product(x, left=True)

    matvec = matmat = dot

    def rmatvec(self, x: Any) -> Any:
        """A^T x, which is A^H x for real values."""
        return self._product(np.asarray(x).T, left=True).T

    rmatmat = rmatvec

    # ---- arithmetic

    def _entry_by_entry(self, other: Any, apply: Callable[[Any, Any], Any], called: str) -> Any:
        refuse_complex(other)
        if isinstance(other, Verbs):
            given: Any = other._wide()
        elif scipy.sparse.issparse(other) or isinstance(other, (np.ndarray, numbers.Number, np.generic)):
            given = other
        else:
            return NotImplemented
        if getattr(given, "ndim", 0) == 2 and given.shape != self.shape and scipy.sparse.issparse(given):
            raise SleyArgumentError(f"{called} of matrices of shapes {self.shape} and {given.shape}")
        try:
            return self._from(apply(self._wide(), given), other)
        except NotImplementedError as error:
            raise SleyUnsupportedError(f"{called} of a sparse matrix and {type(other).__name__}: {error}") from None
        except ValueError as error:
            raise SleyArgumentError(f"{called} of a sparse matrix and {type(other).__name__}: {error}") from None

    def __add__(self, other: Any) -> Any:
        """The sum with a sparse matrix, as a Matrix; with an array, as an array."""
        return self._entry_by_entry(other, operator.add, "the sum")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """The difference, like the sum."""
        return self._entry_by_entry(other, operator.sub, "the difference")

    def __rsub__(self, other: Any) -> Any:
        """The difference, like the sum."""
        return self._entry_by_entry(other, lambda a, b: -(a - b), "the difference")

    def __mul__(self, other: Any) -> Any:
        """The product entry by entry with a number, a sparse matrix or an array; `@` is the product of matrices."""
        return self._entry_by_entry(other, operator.mul, "the product by entries")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        """The quotient entry by entry with a number or an array."""
        if isinstance(other, Verbs) or scipy.sparse.issparse(other):
            raise SleyUnsupportedError("the quotient of two sparse matrices is not sparse: convert them by toarray()")
        return self._entry_by_entry(other, operator.truediv, "the quotient")

    def __neg__(self) -> Any:
        """The matrix with the opposite values."""
        return self._with_values(-self.data)


def _is_all(index: Any) -> bool:
    return isinstance(index, slice) and index == slice(None)


def refuse_complex(other: Any) -> None:
    """Raises if an operand of arithmetic is complex."""
    if isinstance(other, complex) or getattr(getattr(other, "dtype", None), "kind", "") == "c":
        raise SleyUnsupportedError("a sley.Matrix has no complex values: only its products with dense arrays may be "
                                   "complex")


def result_dtype(dtype: np.dtype[Any], other: Any) -> np.dtype[Any]:
    """The type of a sum or a product by entries: NumPy's, where Python's numbers take the type of the matrix."""
    if isinstance(other, numbers.Number) and not isinstance(other, np.generic):
        return dtype
    return exact_dtype(np.result_type(dtype, other.dtype))
