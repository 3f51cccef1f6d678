# SPDX-License-Identifier: Apache-2.0
"""The type in which operands of different types are multiplied."""
from typing import Any

import numpy as np

from sley._arrays import Array, exact_dtype
from sley._containers import Operand, operand
from sley._division import Rows
from sley.matrix import Matrix, as_matrix, as_matrix_of


def taken(a: Any, what: str = "a") -> Matrix | Rows | Operand:
    """A sparse operand whose type is known: a Matrix or Rows unchanged, otherwise the arrays of what `Matrix` takes."""
    return a if isinstance(a, (Matrix, Rows)) else operand(a, what)


def common_dtype(a: Matrix | Rows | Operand, *dense: Array) -> np.dtype[Any]:
    """The type of a product: the type of the Matrix if there is one, otherwise NumPy's promoted type."""
    if isinstance(a, (Matrix, Rows)):
        return a.dtype
    return exact_dtype(np.result_type(a.dtype, *(each.dtype for each in dense)))


def pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Two sparse operands, each as a Matrix or Rows; an operand that is neither is converted to the common type."""
    left, right = taken(a), taken(b, "b")
    if isinstance(left, (Matrix, Rows)):
        return left, right if isinstance(right, Rows) else as_matrix_of(right, left.dtype, "b")
    if isinstance(right, (Matrix, Rows)):
        return as_matrix_of(left, right.dtype, "a"), right
    dtype = exact_dtype(np.result_type(left.dtype, right.dtype))
    return as_matrix(left, dtype), as_matrix(right, dtype)
