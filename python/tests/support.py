# SPDX-License-Identifier: Apache-2.0
"""What several tests use: matrices to draw, and the comparison with float64 sums."""
from typing import Any

import numpy as np
import scipy.sparse

DTYPES = ("float16", "float32", "float64")
FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok", "csr_matrix", "dense")
_EPS = {"float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}


def drawn(rows: int, cols: int, nnz: int, seed: int, dtype: str = "float64") -> scipy.sparse.csr_array:
    """A matrix of small values at random places; entries of the same place are added up."""
    rng = np.random.default_rng(seed)
    nnz = nnz if rows and cols else 0
    places = rng.integers(0, max(rows, 1), nnz), rng.integers(0, max(cols, 1), nnz)
    values = rng.uniform(-1, 1, nnz).astype(dtype)
    wide = scipy.sparse.coo_array((values.astype(np.float64), places), shape=(rows, cols)).tocsr()
    return scipy.sparse.csr_array((wide.data.astype(dtype), wide.indices, wide.indptr), shape=(rows, cols))


def in_format(a: scipy.sparse.csr_array, name: str) -> Any:
    """The same matrix in a format of scipy's, or as a dense array."""
    if name == "dense":
        return dense_of(a)
    if name == "csr_matrix":
        return scipy.sparse.csr_matrix((a.data, a.indices, a.indptr), shape=a.shape)
    return a.asformat(name)


def dense_of(a: scipy.sparse.csr_array) -> np.ndarray:
    """A CSR matrix without repeated entries as a dense array; scipy's own refuses float16."""
    made = np.zeros(a.shape, a.dtype)
    made[np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)), a.indices] = a.data
    return made


def assert_product(y: np.ndarray, a: np.ndarray, x: np.ndarray, dtype: str, *, scale: float = 1.0) -> None:
    """That y is scale a x, each entry within what the roundings of its sum allow."""
    wide_a, wide_x = a.astype(np.float64), x.astype(np.float64)
    exact, size = scale * (wide_a @ wide_x), abs(scale) * (np.abs(wide_a) @ np.abs(wide_x))
    terms = np.count_nonzero(wide_a, axis=1) + 3.0
    bound = size * (terms.reshape((-1,) + (1,) * (y.ndim - 1)) * _EPS[dtype]) + 1e-7 * (dtype == "float16")
    assert y.dtype == np.dtype(dtype)
    assert y.shape == exact.shape
    assert np.all(np.abs(y.astype(np.float64) - exact) <= bound)
