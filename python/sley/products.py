# SPDX-License-Identifier: Apache-2.0
"""Products in one call."""
import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from sley import _c
from sley._arrays import Array, exact_dtype, fitting
from sley._calls import create
from sley._dense import Dense, as_columns, dense_input, promoted, readable
from sley._direct import multiply, multiply_scipy
from sley._division import Division, Rows
from sley._foreign import device_array
from sley._kinds import kinds
from sley._library import encoded, initial, lib
from sley._promotion import common_dtype, pair, taken
from sley.comm import Comm
from sley.errors import SleyArgumentError, SleyUnsupportedError
from sley.machine import info
from sley.matrix import Matrix, as_matrix
from sley.plan import Plan
from sley.tile_products import in_tiles, on_ranks, semiring_number, spgemm_by_ranks, spgemm_of_tiles, spmm_in_tiles
from sley.tiles import Pair


@kinds
def spmm(a: Any, x: Any, *, ranks: int | None = None, comm: Comm | None = None, algo: str = "auto",
         transpose: bool = False, out: Any = None, alpha: float = 1.0, beta: float = 0.0,
         reproducible: bool = False, wire: str | None = None, grid: Pair | None = None,
         tiles: int | Pair | None = None, columns: int = 0, buffers: int = 0) -> Any:
    """Y = alpha A X + beta Y.

    On one rank of the cpu with the algorithm "auto", a product begins at once, and the library keeps what it prepares
    for the next products of the same matrix and k: see `cache_info`. Otherwise each call plans anew; for repeated
    products make a `Plan`, or in tiles a `TileProduct`.

    Parameters
    ----------
    a : Matrix, what `Matrix` takes, or TiledMatrix
        A, of shape (m, n). If it is not a Matrix, it is converted to NumPy's promoted type of A and X, or to the type
        of X if X is on a GPU. Arrays of SciPy in float32 and float64 are read in place where possible.
    x : array_like, shape (n, k) or (n,); or TiledMatrix
        X; with transpose it has m rows. An array in a GPU's memory is multiplied on that GPU: see `Plan.execute`.
    ranks, comm, transpose, reproducible, wire
        As in `Plan`. A TiledMatrix has ranks of its own: then leave ranks and comm out.
    algo : str
        As in `Plan`, or one of `tile_algorithms`, which divide A, X and Y into tiles and do not take transpose,
        reproducible, wire and beta. A TiledMatrix is multiplied in tiles; "auto" is then "tile-c".
    out, alpha, beta
        As in `Plan.execute`.
    grid, tiles
        In tiles: as in `TiledMatrix`, of A.
    columns, buffers
        In tiles: as in `TileProduct`.

    Returns
    -------
    ndarray, shape (m, k) or (m,)
        Y; with transpose it has n rows. If x is on a GPU, it is an array of the same library. If ranks are processes,
        it is this rank's rows.
    TiledMatrix, shape (m, k)
        If a is one; its `reports` have the times and the traffic of each rank.

    Examples
    --------
    >>> y = sley.spmm(a, x, ranks=4)
    """
    division: dict[str, Any] = {"grid": grid, "tiles": tiles, "columns": columns, "buffers": buffers}
    if in_tiles(algo, a, x):
        _refuse({"transpose": transpose, "reproducible": reproducible, "wire": wire, "beta": beta}, "in tiles")
        return spmm_in_tiles(a, x, ranks=ranks, comm=comm, algo=algo, alpha=alpha, out=out, **division)
    _refuse(division, f"by {algo}")
    there = None if type(x) is np.ndarray else device_array(x)
    if there is not None:
        return _spmm_there(a, x, there.array, ranks, comm, {"algo": algo, "transpose": transpose,
                                                            "reproducible": reproducible, "wire": wire},
                           {"out": out, "alpha": alpha, "beta": beta})
    given = dense_input(x, "x")
    if given.dtype.kind == "c" or getattr(getattr(a, "dtype", None), "kind", "") == "c":
        if out is not None:
            raise SleyUnsupportedError("a product with complex values returns a new array: leave out out")
        options: dict[str, Any] = {"ranks": ranks, "comm": comm, "algo": algo, "transpose": transpose, "wire": wire,
                                   "reproducible": reproducible}
        return alpha * _spmm_complex(a, given, options)
    if comm is None and ranks in (None, 1) and algo == "auto" and not wire and not isinstance(a, Rows):
        return _spmm_here(a, given, transpose, out, alpha, beta)
    a = taken(a)
    matrix = a if isinstance(a, Rows) else as_matrix(a, common_dtype(a, given))
    k = 1 if given.ndim == 1 else given.shape[1]
    if not isinstance(a, (Matrix, Rows)) and given.dtype != matrix.dtype:
        given = promoted(given, matrix.dtype)
    with Plan(matrix, k, ranks=ranks, comm=comm, algo=algo, transpose=transpose, reproducible=reproducible,
              wire=wire) as plan:
        return plan.execute(given, out=out, alpha=alpha, beta=beta)


def _spmm_complex(a: Any, x: Array, options: dict[str, Any]) -> Any:
    """`spmm` of complex values, by real products of the real and the imaginary parts."""
    if scipy.sparse.issparse(a) and a.dtype.kind == "c":
        real, imaginary = (spmm(each, x, **options) for each in (a.real, a.imag))
        return real + 1j * imaginary
    if x.dtype.kind != "c":
        raise SleyUnsupportedError(f"a is a {type(a).__name__} of complex values: of those, only SciPy's are taken")
    columns = x[:, None] if x.ndim == 1 else x
    both = spmm(a, np.concatenate((columns.real, columns.imag), axis=1), **options)
    k = columns.shape[1]
    made = both[:, :k] + 1j * both[:, k:]
    return made[:, 0] if x.ndim == 1 else made


def _spmm_here(a: Any, x: Array, transpose: bool, out: Any, alpha: float, beta: float) -> Array:
    """`spmm` on the cores of this process, by what the library keeps. Sums are those of a reproducible plan."""
    if isinstance(a, Matrix):
        return multiply(a, x, out, alpha, beta, transpose=transpose)
    if scipy.sparse.issparse(a) and a.format in ("csr", "csc", "coo") and a.ndim == 2 and a.dtype.kind == "f":
        fits = a.dtype == x.dtype or exact_dtype(np.result_type(a.dtype, x.dtype)) == a.dtype
        made = multiply_scipy(a, promoted(x, a.dtype), out, alpha, beta, transpose=transpose) if fits else None
        if made is not None:
            return made
    found = taken(a)
    matrix = as_matrix(found, common_dtype(found, x))
    if x.dtype != matrix.dtype:
        x = promoted(x, matrix.dtype)
    return multiply(matrix, x, out, alpha, beta, transpose=transpose)


def _refuse(options: dict[str, Any], where: str) -> None:
    """Raises if an option is given that this kind of product does not have."""
    given = [name for name, value in options.items() if value]
    if given:
        raise SleyArgumentError(f"a product {where} has no {' and no '.join(given)}")


def _spmm_there(a: Any, x: Any, array: Array, ranks: int | None, comm: Comm | None, planned: dict[str, Any],
                executed: dict[str, Any]) -> Any:
    """`spmm` for an x in a GPU's memory; by default on a new rank on that GPU."""
    if array.ndim not in (1, 2):
        raise SleyArgumentError(f"x must be a dense array of one or two dimensions, not of {array.ndim}")
    matrix = a if isinstance(a, (Matrix, Rows)) else as_matrix(a, exact_dtype(array.dtype))
    k = 1 if array.ndim == 1 else array.shape[1]
    if comm is None:
        with Comm(1 if ranks is None else ranks, device="cuda") as own, Plan(matrix, k, comm=own, **planned) as plan:
            return plan.execute(x, **executed)
    with Plan(matrix, k, ranks=ranks, comm=comm, **planned) as plan:
        return plan.execute(x, **executed)


@kinds
def sddmm(a: Any, u: npt.ArrayLike, v: npt.ArrayLike, *, values: bool = True, ranks: int | None = None,
          comm: Comm | None = None) -> scipy.sparse.csr_array:
    """S = A * (U V^T) where A has entries: `S[i, j] = A[i, j] (U[i] . V[j])`.

    Parameters
    ----------
    a : Matrix, or what `Matrix` takes
        A, of shape (m, n). If it is not a Matrix, it is converted to NumPy's promoted type of all operands.
    u : array_like, shape (m, k)
    v : array_like, shape (n, k)
    values : bool
        False: the factor A[i, j] is left out.
    ranks, comm
        As in `Plan`.

    Returns
    -------
    scipy.sparse.csr_array, shape (m, n)
        With the entries of A, columns ascending.
    """
    if ranks is not None and comm is not None:
        raise SleyArgumentError("give either ranks or comm")
    if device_array(u) is not None or device_array(v) is not None or (comm is not None and comm.device != "cpu"):
        raise SleyUnsupportedError("sddmm takes arrays of the host, and ranks on the cpu")
    left, right = dense_input(u, "u"), dense_input(v, "v")
    if comm is not None:
        return _sampled(comm, a, left, right, values)
    with Comm(1 if ranks is None else ranks) as own:
        return _sampled(own, a, left, right, values)


@kinds
def spgemm(a: Any, b: Any, *, semiring: str = "plus-times", mask: Any = None, transpose_b: bool = False,
           mem_limit: int = 0, threads: int = 0, device: str = "cpu", ranks: int | None = None,
           comm: Comm | None = None, algo: str = "auto", grid: Pair | None = None, tiles: int | Pair | None = None,
           columns: int = 0, buffers: int = 0) -> Any:
    """C = A B of two sparse matrices, in this process or across ranks.

    C has an entry at each position with at least one product, and an explicit zero if products cancel; columns ascend.
    The bits do not depend on threads, mem_limit, device or ranks; in tiles they depend only on the tiles.

    Parameters
    ----------
    a, b : Matrix, what `Matrix` takes, or TiledMatrix
        A, of shape (m, k), and B, of shape (k, n). An operand that is not a Matrix is converted to the type of the
        other; if neither is a Matrix, both are converted to their promoted type in NumPy. If A is a TiledMatrix, B may
        also be one, with as many rows of tiles as A has columns of tiles, on the same grid.
    semiring : str
        For values x of A and y of B: "plus-times" sums x y; "plus-pair" counts pairs; "min-plus" is the minimum of x +
        y; "or-and" is 1 if x and y are both nonzero in any pair.
    mask : Matrix, what `Matrix` takes, or TiledMatrix, optional
        Matrix of C's shape: C has entries only at positions where the mask has entries, of any value. A TiledMatrix
        must have the rows of tiles of A and the columns of tiles of B, on the same grid.
    transpose_b : bool
        C = A B^T, for a B with shape (n, k).
    mem_limit : int
        Limit in bytes for C and all other memory of the product, on a GPU for the GPU's memory; 0: no limit. In tiles:
        for one product of two tiles, including all memory to compute it, without fetched tiles, products that wait to
        be added, and C.
    threads : int
        Of each rank; 0: all cores, or cores / ranks.
    device : str
        "cpu"; "cuda" or "cuda:1": a GPU, to which the operands are copied, and from which C is copied back; "auto": a
        GPU if there is one.
    ranks : int, optional
        Number of ranks of this process; 1 if comm is not given either.
    comm : Comm, optional
        The ranks; a comm of `sley.dist` has processes as ranks. It has its own threads and device.
    algo : str
        "rows": this process computes rows of C; ranks must be GPUs, share the rows, and each holds all of A and B. One
        of `tile_algorithms`: in tiles, where B and C take the places of X and Y. "auto": "rows" for one rank, or for
        ranks that are GPUs without a comm, else "tile-c".
    grid, tiles
        In tiles: as in `TiledMatrix`, of A.
    columns : int
        In tiles: number of columns of tiles of B and C; 0: as many as the grid has columns.
    buffers : int
        In tiles: buffers of each rank for products that are pushed to other ranks; 0: 4.

    Returns
    -------
    Matrix, shape (m, n)
        If ranks are processes, this rank's rows.
    TiledMatrix, shape (m, n)
        If a is one; its `reports` have the times and the traffic of each rank.

    Raises
    ------
    SleyMemoryError
        C and the memory to compute it exceed `mem_limit`; the message has a sufficient limit. In tiles a comm of
        several ranks is then closed to further calls.

    Examples
    --------
    >>> triangles = sley.spgemm(a, a, semiring="plus-pair", mask=a).data.sum() / 6
    """
    division: dict[str, Any] = {"grid": grid, "tiles": tiles, "columns": columns, "buffers": buffers}
    number = semiring_number(semiring)
    if in_tiles("", a, b):
        second = as_matrix(b).transpose(threads=threads) if transpose_b else b
        return spgemm_of_tiles(a, second, semiring=number, mask=mask, mem_limit=mem_limit, algo=algo, columns=columns,
                               buffers=buffers, given={"ranks": ranks, "comm": comm, "grid": grid, "tiles": tiles})
    count = 1 if ranks is None else ranks
    left, right = pair(a, b)
    options = initial(_c.sley_spgemm_options, semiring=number, mem_limit=fitting(mem_limit, 64, "mem_limit"),
                      algo=encoded(algo))
    if comm is not None or in_tiles(algo) or (algo == "auto" and count > 1 and not _is_gpus(device)):
        if transpose_b:
            right = as_matrix(right).transpose(threads=threads)
        with on_ranks(comm, ranks, threads, device) as chosen:
            return spgemm_by_ranks(chosen, left, right, mask, options, **division)
    _refuse(division, "by rows")
    kept = None if mask is None else as_matrix(mask)
    options.transpose_b, options.threads, options.ranks = transpose_b, fitting(threads, 32, "threads"), count
    options.mask, options.device = None if kept is None else kept._as_parameter_, encoded(device)

    def multiply(first: Matrix, second: Matrix, given: Any, out: Any) -> int:
        return int(lib.sley_spgemm(first, second, given, out, None))

    return Matrix._of(create(lib.sley_matrix_destroy, multiply, left, right, ctypes.byref(options)))


def _is_gpus(device: str) -> bool:
    """True if the device is a GPU, or "auto" on a machine with a GPU."""
    if device != "auto":
        return device != "cpu"
    return any(each.name == "cuda" and each.available for each in info().backends)


def _sampled(comm: Comm, a: Any, left: Array, right: Array, values: bool) -> scipy.sparse.csr_array:
    a = taken(a)
    matrix = a if isinstance(a, Rows) else as_matrix(a, common_dtype(a, left, right))
    if not isinstance(a, (Matrix, Rows)):
        left, right = promoted(left, matrix.dtype), promoted(right, matrix.dtype)
    division = Division(matrix, comm, "nnz")
    left = as_columns(left, "u", division.row_at[-1], None)
    right = as_columns(right, "v", division.col_at[-1], left.shape[1])
    made = np.empty(division.local.nnz, matrix.dtype)
    _sample(comm, division, (readable(left, "u", matrix.dtype), readable(right, "v", matrix.dtype)), made, values)
    indptr, indices, _ = division.local._arrays()
    pointers = np.array(division.local._narrow(indptr))
    return scipy.sparse.csr_array((made, indices.copy(), pointers), shape=division.local.shape)


def _sample(comm: Comm, division: Division, operands: tuple[Dense, Dense], made: Array, values: bool) -> None:
    """Fills `made` with the values of S; each rank fills those of its own rows."""
    u, v = operands
    options = initial(_c.sley_sddmm_options, width=u.array.shape[1], dtype=division.matrix._info.dtype)
    forward = initial(_c.sley_graph_options, forward=True)
    indptr = division.local.indptr
    entry = ((indptr[division.row_at] - indptr[0]) * made.itemsize).tolist()
    factors = division.local.data

    def sample(i: int, handle: ctypes.c_void_p) -> int:
        graph, operation = ctypes.c_void_p(), ctypes.c_void_p()
        block = (ctypes.c_void_p * 1)(division.blocks[i])
        given = initial(_c.sley_sddmm_operands, u=u.row(division.row_at[i]), ldu=u.ld, v=v.row(division.col_at[i]),
                        ldv=v.ld, val=factors.ctypes.data + entry[i] if values else None,
                        s=made.ctypes.data + entry[i])
        status = lib.sley_graph_create(handle, block, division.row_begin.ctypes.data, division.col_begin.ctypes.data,
                                       ctypes.byref(forward), ctypes.byref(graph))
        status = status or lib.sley_sddmm_create(graph, ctypes.byref(options), ctypes.byref(operation))
        status = status or lib.sley_sddmm_forward(operation, ctypes.byref(given))
        lib.sley_sddmm_destroy(operation)
        lib.sley_graph_destroy(graph)
        return int(status)

    comm._run(sample)


def _product(a: Matrix, b: Any, *, left: bool = False) -> Any:
    """`a @ b`, or `b @ a` if b is the left operand."""
    if isinstance(b, Matrix) or scipy.sparse.issparse(b):
        return spgemm(b, a) if left else spgemm(a, b)
    if left:
        x = dense_input(b, "the left operand")
        return spmm(a, x.T, transpose=True).T
    if type(b) is np.ndarray and b.dtype == a.dtype and b.ndim in (1, 2):
        return multiply(a, b)
    return spmm(a, b)


Matrix._product = _product
