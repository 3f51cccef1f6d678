# SPDX-License-Identifier: Apache-2.0
"""The type of values in which operands of unlike types are multiplied."""
from typing import Any

import numpy as np

from sley._arrays import Array, exact_dtype
from sley._division import Rows
from sley._foreign import host_array
from sley.matrix import Matrix, as_matrix


def _given_dtype(a: Any) -> np.dtype[Any]:
    return a.dtype if hasattr(a, "dtype") else np.asarray(host_array(a)).dtype


def common_dtype(a: Any, *dense: Array) -> np.dtype[Any]:
    """The type of a product: a Matrix has its own; of others as NumPy promotes them."""
    if isinstance(a, (Matrix, Rows)):
        return a.dtype
    return exact_dtype(np.result_type(_given_dtype(a), *(each.dtype for each in dense)))


def pair(a: Any, b: Any) -> tuple[Any, Any]:
    """Two sparse operands, each a Matrix or Rows, of one type if one of them is neither yet."""
    if isinstance(a, (Matrix, Rows)):
        return a, b if isinstance(b, Rows) else as_matrix(b, a.dtype)
    if isinstance(b, (Matrix, Rows)):
        return as_matrix(a, b.dtype), b
    dtype = exact_dtype(np.result_type(_given_dtype(a), _given_dtype(b)))
    return as_matrix(a, dtype), as_matrix(b, dtype)
