# SPDX-License-Identifier: Apache-2.0
"""Products in one call."""
import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from sley import _c
from sley._arrays import Array, Dense, as_columns, dense_input, exact_dtype, readable
from sley._library import initial, lib
from sley.comm import Comm
from sley.errors import SleyArgumentError
from sley.matrix import Matrix, as_matrix
from sley.plan import Division, Plan


def _common_dtype(a: Any, *dense: Array) -> np.dtype[Any]:
    """The type of a product: a Matrix has its own; of others as NumPy promotes them."""
    if isinstance(a, Matrix):
        return a.dtype
    given = a.dtype if hasattr(a, "dtype") else np.asarray(a).dtype
    return exact_dtype(np.result_type(given, *(each.dtype for each in dense)))


def spmm(a: Any, x: npt.ArrayLike, *, ranks: int | None = None, comm: Comm | None = None, algo: str = "auto",
         transpose: bool = False, out: Array | None = None, alpha: float = 1.0, beta: float = 0.0,
         reproducible: bool = False, wire: str | None = None) -> Array:
    """Y = alpha A X + beta Y, planned and multiplied once; for more than one product make a `Plan`.

    Parameters
    ----------
    a : Matrix, or what `Matrix` takes
        A, of shape (m, n). What is no Matrix yet gets the type that NumPy promotes the types of A and X to.
    x : array_like, shape (n, k) or (n,)
        With transpose of m rows.
    ranks, comm, algo, transpose, reproducible, wire
        As in `Plan`.
    out, alpha, beta
        As in `Plan.execute`.

    Returns
    -------
    ndarray, shape (m, k) or (m,)
        With transpose of n rows.

    Examples
    --------
    >>> y = sley.spmm(a, x, ranks=4)
    """
    given = dense_input(x, "x")
    matrix = as_matrix(a, _common_dtype(a, given))
    k = 1 if given.ndim == 1 else given.shape[1]
    if not isinstance(a, Matrix) and given.dtype != matrix.dtype:
        given = given.astype(matrix.dtype)
    with Plan(matrix, k, ranks=ranks, comm=comm, algo=algo, transpose=transpose, reproducible=reproducible,
              wire=wire) as plan:
        return plan.execute(given, out=out, alpha=alpha, beta=beta)


def sddmm(a: Any, u: npt.ArrayLike, v: npt.ArrayLike, *, values: bool = True, ranks: int | None = None,
          comm: Comm | None = None) -> scipy.sparse.csr_array:
    """S = A * (U V^T) where A has entries: `S[i, j] = A[i, j] (U[i] . V[j])`.

    Parameters
    ----------
    a : Matrix, or what `Matrix` takes
        A, of shape (m, n). What is no Matrix yet gets the type that NumPy promotes all types to.
    u : array_like, shape (m, k)
    v : array_like, shape (n, k)
    values : bool
        False: without the factor A[i, j].
    ranks, comm
        As in `Plan`.

    Returns
    -------
    scipy.sparse.csr_array, shape (m, n)
        With the entries of A, columns ascending.
    """
    if ranks is not None and comm is not None:
        raise SleyArgumentError("give either ranks or comm")
    left, right = dense_input(u, "u"), dense_input(v, "v")
    matrix = as_matrix(a, _common_dtype(a, left, right))
    if not isinstance(a, Matrix):
        left, right = left.astype(matrix.dtype, copy=False), right.astype(matrix.dtype, copy=False)
    rows, cols = matrix.shape
    left = as_columns(left, "u", rows, None)
    right = as_columns(right, "v", cols, left.shape[1])
    made = np.empty(matrix.nnz, matrix.dtype)
    operands = readable(left, "u", matrix.dtype), readable(right, "v", matrix.dtype)
    if comm is not None:
        _sample(comm, matrix, operands, made, values)
    else:
        with Comm(1 if ranks is None else ranks) as own:
            _sample(own, matrix, operands, made, values)
    pattern = matrix.to_scipy()
    return scipy.sparse.csr_array((made, pattern.indices.copy(), pattern.indptr.copy()), shape=matrix.shape)


def _sample(comm: Comm, matrix: Matrix, operands: tuple[Dense, Dense], made: Array, values: bool) -> None:
    """Fills made, the values of S, each rank its own rows'."""
    division = Division(matrix, comm.size, "nnz")
    u, v = operands
    options = initial(_c.sley_sddmm_options, width=u.array.shape[1], dtype=matrix._info.dtype)
    forward = initial(_c.sley_graph_options, forward=True)
    indptr = matrix.indptr
    entry = ((indptr[division.row_begin] - indptr[0]) * made.itemsize).tolist()
    rows, cols = division.row_begin.tolist(), division.col_begin.tolist()
    factors = matrix.data

    def sample(rank: int, handle: ctypes.c_void_p) -> int:
        graph, operation = ctypes.c_void_p(), ctypes.c_void_p()
        block = (ctypes.c_void_p * 1)(division.blocks[rank])
        given = initial(_c.sley_sddmm_operands, u=u.row(rows[rank]), ldu=u.ld, v=v.row(cols[rank]), ldv=v.ld,
                        val=factors.ctypes.data + entry[rank] if values else None, s=made.ctypes.data + entry[rank])
        status = lib.sley_graph_create(handle, block, division.row_begin.ctypes.data, division.col_begin.ctypes.data,
                                       ctypes.byref(forward), ctypes.byref(graph))
        status = status or lib.sley_sddmm_create(graph, ctypes.byref(options), ctypes.byref(operation))
        status = status or lib.sley_sddmm_forward(operation, ctypes.byref(given))
        lib.sley_sddmm_destroy(operation)
        lib.sley_graph_destroy(graph)
        return status

    comm._run(sample)
