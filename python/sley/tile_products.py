# SPDX-License-Identifier: Apache-2.0
"""Products of matrices in tiles: Y = A X, and C = A B of two sparse matrices."""
import contextlib
import ctypes
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from sley import _c
from sley._arrays import Indices, fitting
from sley._dense import converted, dense_input, promoted
from sley._division import Rows, Shares
from sley._library import decoded, encoded, initial, lib, names_of
from sley._process import Closable
from sley._promotion import common_dtype, taken
from sley.comm import Comm
from sley.errors import SleyArgumentError
from sley.matrix import Matrix, as_matrix, as_matrix_of
from sley.ordering import partition
from sley.tile_report import TileReport, reports_of
from sley.tiles import Pair, TiledMatrix, all_on_first, complete, is_sparse, matrix_of_ranks


def tile_algorithms() -> dict[str, str]:
    """The names for `algo` of `spmm`, `spgemm` and `TileProduct` in tiles, with a summary of each."""
    names = names_of(lib.sley_tile_algorithms())
    return {name: decoded(lib.sley_tile_algorithm_summary(encoded(name))) for name in names}


def in_tiles(algo: str, *operands: Any) -> bool:
    """True if the algorithm is one in tiles, or an operand is a TiledMatrix."""
    return algo.startswith("tile-") or any(isinstance(each, TiledMatrix) for each in operands)


def semiring_number(semiring: str) -> int:
    """The `sley_semiring` of a name."""
    known = names_of(lib.sley_semirings())
    if semiring not in known:
        raise SleyArgumentError(f"no semiring {semiring!r}: known are {', '.join(known)}")
    return known.index(semiring)


class TileProduct(Closable):
    """Y = alpha A X + beta Y of matrices in tiles, prepared once and run any number of times. Creating, running and
    closing it are collective.

    Parameters
    ----------
    a : TiledMatrix
        A, sparse, of shape (m, n).
    x : TiledMatrix, or array_like of shape (n, k) or (n,)
        X. Every rank passes the whole array, which is divided into tiles that fit the tiles of A. A TiledMatrix must
        have as many rows of tiles as A has columns of tiles, on the same grid.
    algo : str
        One of `tile_algorithms`.
    buffers : int
        Buffers of each rank for products that are pushed to other ranks; 0: 4.
    columns : int
        Number of columns of tiles if X is an array; 0: as many as the grid has columns.

    Attributes
    ----------
    a, x, y : TiledMatrix
        The operands. Y has shape (m, k), and is zero before the first run; it is destroyed with the product.
    reports : tuple of TileReport
        Reports on the last run, one per rank of this process; empty before the first run.

    Examples
    --------
    >>> with sley.TiledMatrix(a, ranks=4) as t, sley.TileProduct(t, x) as product:
    ...     y = product.run().gather()
    """

    def __init__(self, a: TiledMatrix, x: Any, *, algo: str = "tile-c", buffers: int = 0, columns: int = 0) -> None:
        if not isinstance(a, TiledMatrix):
            raise SleyArgumentError(f"a must be a sley.TiledMatrix, not {type(a).__name__}")
        options = initial(_c.sley_tile_spmm_options, algo=encoded(algo), buffers=fitting(buffers, 32, "buffers"))
        self.a, comm = a, a.comm
        self._own: list[TiledMatrix] = []
        _check_open(a)
        try:
            self.x = x if isinstance(x, TiledMatrix) else self._tiled(x, columns)
            _check_fit(a, self.x, "x")
            tiling = _c.sley_tiling(*a.info.grid, a.info.tiles[0], self.x.info.tiles[1])
            self.y = TiledMatrix._empty(comm, (a.shape[0], self.x.shape[1]), tiling, a.dtype)
            self._own.append(self.y)
            self._create(comm, options)
        except BaseException:
            for each in reversed(self._own):
                each.close()
            raise
        self.reports: tuple[TileReport, ...] = ()

    def _tiled(self, x: Any, columns: int) -> TiledMatrix:
        """X as a TiledMatrix that fits A, made from an array."""
        if is_sparse(x):
            raise SleyArgumentError("x is sparse: see spgemm")
        given = dense_input(x, "x")
        if given.shape[0] != self.a.shape[1]:
            raise SleyArgumentError(f"x has shape {given.shape}: expected ({self.a.shape[1]}, k)")
        tiling = complete(self.a.comm.size, self.a.info.grid, self.a.info.tiles, columns)[1]
        made = TiledMatrix._tiled(self.a.comm, converted(given, "x", self.a.dtype), tiling, None)
        self._own.append(made)
        return made

    def _create(self, comm: Comm, options: Any) -> None:
        operands = self.a, self.x, self.y

        def make(i: int, _: ctypes.c_void_p, out: ctypes.c_void_p) -> int:
            return lib.sley_tile_spmm_create(*(each._handles[i] for each in operands), ctypes.byref(options),
                                             ctypes.byref(out))

        self._comm = comm
        self._number, self._handles = comm._make(lambda _, handle: lib.sley_tile_spmm_destroy(handle), make,
                                                 [each._held for each in operands])
        self._forget = weakref.finalize(self, comm._holdings.forget, self._number)
        for each in operands:
            each._users.add(self)

    def run(self, *, alpha: float = 1.0, beta: float = 0.0) -> TiledMatrix:
        """Computes one product.

        Parameters
        ----------
        alpha, beta : float
            With beta = 0 the previous values of Y are not read.

        Returns
        -------
        TiledMatrix
            `y`, with the `reports` of this run.
        """
        if self.closed:
            raise SleyArgumentError("the product is closed")
        made = [_c.sley_tile_report() for _ in self._handles]

        def multiply(i: int, _: ctypes.c_void_p) -> int:
            status = lib.sley_tile_spmm_run(self._handles[i], alpha, beta)
            return int(status or lib.sley_tile_spmm_report_get(self._handles[i], ctypes.byref(made[i])))

        self._comm._run(multiply)
        self.reports = self.y.reports = reports_of(made)
        return self.y

    @property
    def closed(self) -> bool:
        """Whether the product, or its comm, is closed."""
        return not self._forget.alive or self._comm.closed

    def close(self) -> None:
        """Destroys the product and Y, and X if it was made from an array. Later calls do nothing."""
        if self._forget.detach() is None:
            return
        self._comm._remove(self._number)
        for each in reversed(self._own):
            each.close()


def _check_open(*matrices: TiledMatrix) -> None:
    if any(each.closed for each in matrices):
        raise SleyArgumentError("the tiled matrix is closed")


def _check_fit(a: TiledMatrix, b: TiledMatrix, name: str) -> None:
    """Checks that both matrices are on the same comm. The library cannot check this, since handles of another comm are
    in other threads."""
    _check_open(a, b)
    if b.comm is not a.comm:
        raise SleyArgumentError(f"a and {name} must be of one comm")


def _check_options(options: dict[str, Any]) -> None:
    """Refuses options that a TiledMatrix already determines."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise SleyArgumentError(f"a is a sley.TiledMatrix, which has its own {' and '.join(given)}")


def _named(algo: str) -> str:
    return "tile-c" if algo == "auto" else algo


def spmm_in_tiles(a: Any, x: Any, *, ranks: int | None, comm: Comm | None, grid: Pair | None,
                  tiles: int | Pair | None, columns: int, algo: str, buffers: int, alpha: float, out: Any) -> Any:
    """`spmm` in tiles. Collective."""
    if isinstance(a, TiledMatrix):
        _check_options({"ranks": ranks, "comm": comm, "grid": grid, "tiles": tiles, "out": out})
        return _multiplied(a, x, _named(algo), buffers, columns, alpha)
    if isinstance(x, TiledMatrix):
        raise SleyArgumentError("x is a sley.TiledMatrix, and a is not: make a one on the same comm and grid")
    if is_sparse(x):
        raise SleyArgumentError("x is sparse: see spgemm")
    given = dense_input(x, "x")
    with on_ranks(comm, ranks) as chosen:
        tiling = complete(chosen.size, grid, tiles, columns)[0]
        a = taken(a)
        dtype = common_dtype(a, given)
        matrix = a if isinstance(a, (Matrix, Rows)) else as_matrix(a, dtype)
        if matrix is not a and given.dtype != dtype:
            given = promoted(given, dtype)
        with TiledMatrix._tiled(chosen, matrix, tiling, None) as tiled, \
             _multiplied(tiled, given, algo, buffers, columns, alpha) as made:
            made._row_begin = _rows_of(matrix, chosen)
            y = made.gather()
    return _put(y[:, 0] if given.ndim == 1 else y, out)


def _rows_of(a: Matrix | Rows, comm: Comm) -> Indices:
    """The first row of each rank in the product, as in a plan of A."""
    return a.row_begin if isinstance(a, Rows) else partition(a, comm.size, by="nnz")


def _put(made: Any, out: Any) -> Any:
    """Copies the result to out and returns out; if out is None, returns the result."""
    if out is None:
        return made
    if not isinstance(out, np.ndarray) or out.shape != made.shape or out.dtype != made.dtype:
        raise SleyArgumentError(f"out must be an array of shape {made.shape} and type {made.dtype.name}")
    out[...] = made
    return out


@contextlib.contextmanager
def on_ranks(comm: Comm | None, ranks: int | None, threads: int = 0, device: str = "cpu") -> Iterator[Comm]:
    """The comm, or a new one of this number of ranks that is closed after use."""
    if comm is not None:
        if ranks is not None:
            raise SleyArgumentError("give either ranks or comm")
        yield comm
        return
    with Comm(1 if ranks is None else ranks, threads=threads, device=device) as own:
        yield own


def _multiplied(a: TiledMatrix, x: Any, algo: str, buffers: int, columns: int, alpha: float) -> TiledMatrix:
    """Runs one product and returns its Y, which is not destroyed with the product."""
    with TileProduct(a, x, algo=algo, buffers=buffers, columns=columns) as product:
        made = product.run(alpha=alpha)
        product._own.remove(made)
    return made


def spgemm_of_tiles(a: Any, b: Any, *, semiring: int, mask: Any, mem_limit: int, algo: str, columns: int,
                    buffers: int, given: dict[str, Any]) -> TiledMatrix:
    """`spgemm` of a TiledMatrix. given: options that it determines itself. Collective."""
    if not isinstance(a, TiledMatrix):
        raise SleyArgumentError("b is a sley.TiledMatrix, and a is not: make a one on the same comm and grid")
    _check_options(given)
    options = initial(_c.sley_tile_spgemm_options, semiring=semiring, algo=encoded(_named(algo)),
                      buffers=fitting(buffers, 32, "buffers"), mem_limit=fitting(mem_limit, 64, "mem_limit"))
    if isinstance(b, TiledMatrix):
        return _masked_product(a, b, mask, options)
    _check_open(a)
    tiling = complete(a.comm.size, a.info.grid, a.info.tiles, columns)[1]
    second = b if isinstance(b, Rows) else as_matrix_of(b, a.dtype, "b")
    with TiledMatrix._tiled(a.comm, second, tiling, None) as right:
        return _masked_product(a, right, mask, options)


def spgemm_by_ranks(comm: Comm, a: Matrix | Rows, b: Matrix | Rows, mask: Any, options: Any, *, grid: Pair | None,
                    tiles: int | Pair | None, columns: int, buffers: int) -> Matrix:
    """`spgemm` by the ranks of a comm. Collective."""
    kept = mask if mask is None or isinstance(mask, Rows) else as_matrix(mask)
    divided = [each.row_begin for each in (a, kept) if isinstance(each, Rows)]
    if not all(np.array_equal(each, divided[0]) for each in divided):
        raise SleyArgumentError("a and mask have their rows on different ranks: divide both alike")
    left, right, under = Shares(comm, a, *divided[:1]), Shares(comm, b), Shares(comm, kept, *divided[:1])
    tiling = complete(comm.size, grid, tiles, columns)[0]
    options.tiling, options.columns = ctypes.addressof(tiling), fitting(columns, 64, "columns")
    options.buffers = fitting(buffers, 32, "buffers")
    options.a_begin, options.b_begin = left.address, right.address
    first = all_on_first(a.shape[0], comm) if comm.here == comm.size else _rows_of(a, comm)
    options.c_begin = first.ctypes.data

    def multiply(i: int, handle: ctypes.c_void_p, out: Any) -> int:
        given = type(options).from_buffer_copy(options)
        given.comm, given.mask = handle, under.blocks[i]
        return int(lib.sley_spgemm(left.blocks[i], right.blocks[i], ctypes.byref(given), out, None))

    return matrix_of_ranks(comm.here, comm._run, multiply)


def _masked_product(a: TiledMatrix, b: TiledMatrix, mask: Any, options: Any) -> TiledMatrix:
    """C = A B, with a mask or without."""
    if mask is None or isinstance(mask, TiledMatrix):
        return _sparse_product(a, b, mask, options)
    _check_fit(a, b, "b")
    tiling = _c.sley_tiling(*a.info.grid, a.info.tiles[0], b.info.tiles[1])
    kept = mask if isinstance(mask, Rows) else as_matrix(mask)
    with TiledMatrix._tiled(a.comm, kept, tiling, None) as tiled:
        return _sparse_product(a, b, tiled, options)


def _sparse_product(a: TiledMatrix, b: TiledMatrix, mask: TiledMatrix | None, options: Any) -> TiledMatrix:
    _check_fit(a, b, "b")
    if mask is not None:
        _check_fit(a, mask, "mask")
    reports = [_c.sley_tile_report() for _ in a._handles]

    def multiply(i: int, _: ctypes.c_void_p, out: ctypes.c_void_p) -> int:
        given = type(options).from_buffer_copy(options)
        if mask is not None:
            given.mask = mask._handles[i]
        return int(lib.sley_tile_spgemm(a._handles[i], b._handles[i], ctypes.byref(given), ctypes.byref(out),
                                        ctypes.byref(reports[i])))

    made = TiledMatrix._made(a.comm, multiply)
    made.reports = reports_of(reports)
    return made
