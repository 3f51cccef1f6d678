# SPDX-License-Identifier: Apache-2.0
"""Matrices in tiles: every rank can read and write every tile without a call on its owner."""
import contextlib
import ctypes
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sley import _c
from sley._arrays import Array, Indices, code_of, dtype_of, fitting, values_of
from sley._calls import call
from sley._containers import Operand, dense, sparse_kind
from sley._dense import Dense, as_columns, converted, dense_input, readable
from sley._division import Division, Rows
from sley._kinds import kinds
from sley._library import lib
from sley._process import Closable, NotCopied
from sley.comm import Comm
from sley.errors import SleyArgumentError
from sley.matrix import Matrix, as_matrix, as_matrix_of
from sley.ordering import partition_equal
from sley.tile_report import TileReport

_OK = int(_c.sley_status.SLEY_OK)
Pair = tuple[int, int]
Make = Callable[[int, ctypes.c_void_p, Any], int]  # rank's index, its comm, address for a handle


@dataclass(frozen=True)
class TiledInfo:
    """The division of a matrix into tiles.

    Attributes
    ----------
    rows, cols : int
        Size of the matrix.
    grid : (int, int)
        Rows and columns of ranks, which are numbered row by row. Tile (i, j) belongs to the rank at row i mod
        `grid[0]`, column j mod `grid[1]`.
    tiles : (int, int)
        Number of rows and columns of tiles.
    entries : int
        Entries of all tiles; for a dense matrix all values.
    rank_entries, tile_entries : int
        Entries of the rank with the most, and of the tile with the most.
    """

    rows: int
    cols: int
    grid: Pair
    tiles: Pair
    entries: int
    rank_entries: int
    tile_entries: int

    @classmethod
    def _of(cls, made: _c.sley_tiled_info) -> Self:
        tiling = made.tiling
        return cls(made.rows, made.cols, (tiling.grid_rows, tiling.grid_cols),
                   (tiling.tiles_down, tiling.tiles_across), made.entries, made.rank_entries, made.tile_entries)


@dataclass(frozen=True)
class TileInfo:
    """A tile: its owner, its first row and column in the matrix, its numbers of rows and columns, its entries (for a
    dense matrix all values), and the bytes that travel when another rank fetches it."""

    rank: int
    first_row: int
    first_col: int
    rows: int
    cols: int
    entries: int
    bytes: int

    @classmethod
    def _of(cls, made: _c.sley_tile_info) -> Self:
        return cls(**{name: getattr(made, name) for name in cls.__dataclass_fields__})


class Held:
    """Represents the handles of a matrix. When no object refers to it any more, the next call on the comm destroys the
    handles."""


def complete(ranks: int, grid: Pair | None, tiles: int | Pair | None, columns: int = 0) -> list[_c.sley_tiling]:
    """The tilings of A, X and Y, from `sley_tile_complete`."""
    down, across = tiles if isinstance(tiles, tuple) else (tiles or 0, tiles or 0)
    grid_rows, grid_cols = grid or (0, 0)
    made = [_c.sley_tiling(fitting(grid_rows, 32, "grid"), fitting(grid_cols, 32, "grid"),
                           fitting(down, 64, "tiles"), fitting(across, 64, "tiles")), _c.sley_tiling(),
            _c.sley_tiling()]
    call(lib.sley_tile_complete, ranks, fitting(columns, 64, "columns"), *(ctypes.byref(each) for each in made))
    return made


def all_on_first(rows: int, comm: Comm) -> Indices:
    """The first row of each rank if rank 0 has all rows."""
    begin = np.full(comm.size + 1, rows, np.int64)
    begin[0] = 0
    return begin


def matrix_of_ranks(here: int, run: Callable[[Any], None], make: Make) -> Matrix:
    """The matrix that this process's first rank makes; every rank calls make(i, comm, address for a handle)."""
    outs = [ctypes.c_void_p() for _ in range(here)]
    try:
        run(lambda i, comm: make(i, comm, ctypes.byref(outs[i])))
        return Matrix._of(outs.pop(0))
    finally:
        for each in outs:
            lib.sley_matrix_destroy(each)


@contextlib.contextmanager
def ranks_for(comm: Comm | None, ranks: int | None) -> Iterator[tuple[Comm, bool]]:
    """Yields the given comm, or a new one with this number of ranks, and whether it is new. A new comm is closed if an
    exception is raised."""
    if ranks is not None and comm is not None:
        raise SleyArgumentError("give either ranks or comm")
    made = Comm(1 if ranks is None else ranks) if comm is None else comm
    try:
        yield made, comm is None
    except BaseException:
        if comm is None:
            made.close()
        raise


def is_sparse(a: Any) -> bool:
    """Whether `a` is a sparse matrix, and not a dense array."""
    return isinstance(a, (Matrix, Rows)) or (a.format != "dense" if isinstance(a, Operand)
                                             else sparse_kind(a) is not None)


class TiledMatrix(Closable):
    """A sparse or dense matrix of m rows and n columns in tiles, which are divided among ranks on the CPU.

    Single tiles can be read and replaced by calls that are not collective. `spmm`, `spgemm` and `TileProduct`
    multiply it.

    Parameters
    ----------
    a : Matrix or sparse array, or array_like of shape (m, n) or (m,)
        A sparse matrix in any form that `Matrix` takes, or a dense array, which becomes a dense matrix in tiles; an
        array of one dimension becomes a single column. The values are copied. With a comm of `sley.dist`, where ranks
        are processes, each process passes the whole matrix, or its own `sley.dist.Rows` of a sparse matrix. Collective.
    ranks : int, optional
        Number of ranks of a new comm, which is closed with the matrix; 1 if `comm` is not given either.
    comm : Comm, optional
        The ranks.
    grid : (int, int), optional
        Rows and columns of ranks; by default the shape nearest to a square.
    tiles : int or (int, int), optional
        Number of rows and columns of tiles, whose sizes differ by at most one. By default the number of rows is that of
        the grid, and the number of columns is the least common multiple of the grid's rows and columns.
    dtype : dtype, optional
        As in `Matrix`; a Matrix keeps its type.

    Attributes
    ----------
    info : TiledInfo
        The division into tiles.
    reports : tuple of TileReport
        Reports on the product that computed this matrix, one per rank of this process; empty if no product computed it.

    Examples
    --------
    >>> with sley.TiledMatrix(a, ranks=4, tiles=8) as t:
    ...     later = t.get_tile_later(0, 1)
    ...     first = t.get_tile(0, 0)
    ...     second = later.result()
    """

    info: TiledInfo
    reports: tuple[TileReport, ...] = ()

    @kinds
    def __init__(self, a: Any, *, ranks: int | None = None, comm: Comm | None = None, grid: Pair | None = None,
                 tiles: int | Pair | None = None, dtype: npt.DTypeLike | None = None) -> None:
        with ranks_for(comm, ranks) as (chosen, own):
            self._fill(chosen, own, a, complete(chosen.size, grid, tiles)[0], dtype)

    @classmethod
    def zeros(cls, shape: Pair, *, ranks: int | None = None, comm: Comm | None = None, grid: Pair | None = None,
              tiles: int | Pair | None = None, dtype: npt.DTypeLike = np.float64) -> Self:
        """A dense matrix of zeros; other parameters as in `TiledMatrix`. Collective."""
        with ranks_for(comm, ranks) as (chosen, own):
            made = cls.__new__(cls)
            made._zeros(chosen, own, shape, complete(chosen.size, grid, tiles)[0], np.dtype(dtype))
            return made

    @classmethod
    def _tiled(cls, comm: Comm, a: Any, tiling: _c.sley_tiling, dtype: npt.DTypeLike | None) -> Self:
        made = cls.__new__(cls)
        made._fill(comm, False, a, tiling, dtype)
        return made

    @classmethod
    def _empty(cls, comm: Comm, shape: Pair, tiling: _c.sley_tiling, dtype: np.dtype[Any]) -> Self:
        made = cls.__new__(cls)
        made._zeros(comm, False, shape, tiling, dtype)
        return made

    @classmethod
    def _made(cls, comm: Comm, make: Make) -> Self:
        made = cls.__new__(cls)
        made._take(comm, False, make)
        return made

    def _fill(self, comm: Comm, own: bool, a: Any, tiling: _c.sley_tiling, dtype: npt.DTypeLike | None) -> None:
        if isinstance(a, TiledMatrix):
            raise SleyArgumentError("this is a sley.TiledMatrix already")
        if not is_sparse(a):
            given = dense_input(a, "a")
            columns = as_columns(given, "a", given.shape[0], None)
            values = values_of(columns.reshape(-1), dtype).reshape(columns.shape)
            self._zeros(comm, own, (columns.shape[0], columns.shape[1]), tiling, values.dtype)
            self.renew(values)
            return
        if isinstance(a, (Matrix, Rows)) and dtype is not None and np.dtype(dtype) != a.dtype:
            raise SleyArgumentError(f"a is {a.dtype.name}, but dtype is {np.dtype(dtype).name}: omit dtype, or convert a")
        division = Division(a if isinstance(a, Rows) else as_matrix(a, dtype), comm, "nnz")
        self._take(comm, own, lambda i, handle, out: lib.sley_tiled_create_sparse(
            handle, division.blocks[i], division.row_begin.ctypes.data, ctypes.byref(tiling), ctypes.byref(out)))

    def _zeros(self, comm: Comm, own: bool, shape: Pair, tiling: _c.sley_tiling, dtype: np.dtype[Any]) -> None:
        rows, cols = (fitting(each, 64, "shape") for each in shape)
        code = code_of(dtype)
        self._take(comm, own, lambda _, handle, out: lib.sley_tiled_create_dense(
            handle, rows, cols, code, ctypes.byref(tiling), ctypes.byref(out)))

    def _take(self, comm: Comm, own: bool, make: Make) -> None:
        """Creates the handles."""
        self._comm, self._owns_comm = comm, own
        self._users: weakref.WeakSet[Any] = weakref.WeakSet()  # products and futures to be closed before this matrix
        self._held = Held()
        self._number, self._handles = comm._make(lambda _, handle: lib.sley_tiled_destroy(handle), make, None)
        self._forget = weakref.finalize(self._held, comm._holdings.forget, self._number)
        made = _c.sley_tiled_info()
        self._run_first(lambda handle: lib.sley_tiled_info_get(handle, ctypes.byref(made)))
        self.info, self._sparse, self._dtype = TiledInfo._of(made), bool(made.sparse), dtype_of(made.dtype)
        self._row_begin = partition_equal(made.rows, comm.size)

    def _run(self, job: Any) -> None:
        if self.closed:
            raise SleyArgumentError("the tiled matrix is closed")
        self._comm._run(job)

    def _run_first(self, function: Callable[[ctypes.c_void_p], int]) -> None:
        """Runs a function on this process's first rank only."""
        self._run(lambda i, _: _OK if i else function(self._handles[0]))

    # ---- properties

    @property
    def comm(self) -> Comm:
        """The ranks."""
        return self._comm

    @property
    def shape(self) -> Pair:
        """Numbers of rows and columns, (m, n)."""
        return self.info.rows, self.info.cols

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self._dtype

    @property
    def sparse(self) -> bool:
        """Whether it is sparse."""
        return self._sparse

    @property
    def rows(self) -> slice:
        """The rows that `gather` returns in this process: all rows, or about an equal share if ranks are processes."""
        first = self._comm.first
        return slice(int(self._row_begin[first]), int(self._row_begin[first + self._comm.here]))

    # ---- one tile

    def tile_info(self, i: int, j: int) -> TileInfo:
        """Owner, position and size of tile (i, j). Not collective."""
        made = _c.sley_tile_info()
        at = fitting(i, 64, "i"), fitting(j, 64, "j")
        with self._comm._lock:  # so that it is not destroyed meanwhile
            if self.closed:
                raise SleyArgumentError("the tiled matrix is closed")
            call(lib.sley_tile_info_get, self._handles[0], *at, ctypes.byref(made))
        return TileInfo._of(made)

    def get_tile(self, i: int, j: int) -> Any:
        """A copy of tile (i, j), fetched by this process's first rank. Not collective: the owner takes no part.

        Returns
        -------
        Matrix or ndarray
            Of the tile's rows and columns; an ndarray of a dense matrix.
        """
        return self.get_tile_later(i, j).result()

    def get_tile_later(self, i: int, j: int) -> "TileFuture":
        """Begins to fetch tile (i, j) and returns at once. Any number of tiles may be in flight. Not collective.

        Returns
        -------
        TileFuture
            Future whose `result()` waits for the tile.
        """
        return TileFuture(self, self.tile_info(i, j), fitting(i, 64, "i"), fitting(j, 64, "j"))

    def put_tile(self, i: int, j: int, values: npt.ArrayLike) -> None:
        """Replaces the values of tile (i, j); the transfer is complete when the call returns. Not collective.

        If ranks are processes, the ranks that read the tile and the rank that writes it must synchronise with
        `comm.barrier()`.

        Parameters
        ----------
        i, j : int
        values : array_like
            For a sparse matrix, new values of the tile's entries, of shape (entries,), in the order of `get_tile(i,
            j).data`. For a dense matrix, an array of the tile's shape. The type is the matrix's, or converts to it
            exactly.
        """
        tile = self.tile_info(i, j)
        shape = (tile.entries,) if self._sparse else (tile.rows, tile.cols)
        given = dense(values, "values")
        if given.shape != shape:
            raise SleyArgumentError(f"values of shape {given.shape}: tile ({i}, {j}) takes {shape}")
        made = np.ascontiguousarray(converted(given, "values", self._dtype))
        self._run_first(lambda handle: lib.sley_tile_put(handle, i, j, made.ctypes.data))

    # ---- the whole matrix

    def renew(self, a: Any) -> None:
        """Replaces all values. Collective.

        Parameters
        ----------
        a : as in `TiledMatrix`
            Matrix of the same shape and type; a sparse matrix must have entries at the same positions.
        """
        if self.closed:
            raise SleyArgumentError("the tiled matrix is closed")
        if self._sparse:
            given = a if isinstance(a, Rows) else as_matrix_of(a, self._dtype, "a")
            self._renew_entries(Division(given, self._comm, "nnz"))
            return
        if is_sparse(a):
            raise SleyArgumentError("the tiled matrix is dense: give an array")
        dense = readable(as_columns(dense_input(a, "a"), "a", self.info.rows, self.info.cols), "a", self._dtype)
        self._move(dense, lib.sley_tiled_set_rows, 0)

    def _renew_entries(self, division: Division) -> None:
        self._run(lambda i, _: lib.sley_tiled_renew(self._handles[i], division.blocks[i],
                                                    division.row_begin.ctypes.data))

    def _move(self, dense: Dense, function: Any, first_row: int) -> None:
        """Copies rows of this process's ranks from or to an array whose first row is row first_row of the matrix."""
        def move(i: int, _: ctypes.c_void_p) -> int:
            row = int(self._row_begin[self._comm.first + i]) - first_row
            return int(function(self._handles[i], self._row_begin.ctypes.data, dense.row(row), dense.ld))

        self._run(move)

    def gather(self) -> Any:
        """The whole matrix, or its rows `rows` if ranks are processes. Collective.

        Returns
        -------
        Matrix, or ndarray of shape (m, n)
            An ndarray if the matrix is dense; of shape (rows, n) if ranks are processes.
        """
        if self._sparse:
            return self._gather_entries()
        here = self.rows
        made: Array = np.empty((here.stop - here.start, self.info.cols), self._dtype)
        self._move(Dense(made, max(self.info.cols, 1)), lib.sley_tiled_get_rows, here.start)
        return made

    def _gather_entries(self) -> Matrix:
        first = all_on_first(self.info.rows, self._comm) if self._comm.here == self._comm.size else self._row_begin
        return matrix_of_ranks(self._comm.here, self._run, lambda i, _, out: int(
            lib.sley_tiled_get_matrix(self._handles[i], first.ctypes.data, out)))

    # ---- closing

    @property
    def closed(self) -> bool:
        """Whether the matrix, or its comm, is closed."""
        return not self._forget.alive or self._comm.closed

    def close(self) -> None:
        """Destroys the products and futures that use the matrix, then the matrix, and its comm if the matrix made it.
        Later calls do nothing. Collective."""
        for each in sorted(self._users, key=lambda user: user._number, reverse=True):
            each.close()
        if self._forget.detach() is not None:
            self._comm._remove(self._number)
        if self._owns_comm:
            self._comm.close()

    def __repr__(self) -> str:
        kind = f"sparse, {self.info.entries} nonzeros" if self._sparse else "dense"
        return (f"<sley.TiledMatrix {self.info.rows} x {self.info.cols}, {kind}, {self._dtype.name}, "
                f"{self.info.tiles[0]} x {self.info.tiles[1]} tiles on {self.info.grid[0]} x {self.info.grid[1]} "
                f"ranks{', closed' if self.closed else ''}>")


class TileFuture(NotCopied):
    """A tile that this process's first rank is fetching, from `TiledMatrix.get_tile_later`.

    Attributes
    ----------
    info : TileInfo
        Owner, position and size of the tile.
    """

    def __init__(self, tiled: TiledMatrix, info: TileInfo, i: int, j: int) -> None:
        self.info = info
        self._tiled: TiledMatrix | None = tiled
        self._tile: Any = None
        self._comm = comm = tiled.comm
        self._number, self._handles = comm._make(
            lambda _, handle: lib.sley_tile_future_destroy(handle),
            lambda rank, _, out: _OK if rank else lib.sley_tile_get_begin(tiled._handles[0], i, j, ctypes.byref(out)),
            tiled._held)
        self._forget = weakref.finalize(self, comm._holdings.forget, self._number)
        tiled._users.add(self)

    def result(self) -> Any:
        """Waits for the tile and returns it; every call returns the same object. Not collective.

        Returns
        -------
        Matrix or ndarray
            The rows and columns of the tile; an ndarray if the matrix is dense.
        """
        with self._comm._lock:  # several threads may call this
            if self._tile is None:
                if self._tiled is None or self._tiled.closed:
                    raise SleyArgumentError("the tile, or its matrix, was closed before the tile was asked for")
                self._tile = self._sparse(self._tiled) if self._tiled.sparse else self._dense(self._tiled)
                self.close()
            return self._tile

    def _sparse(self, tiled: TiledMatrix) -> Matrix:
        out = ctypes.c_void_p()
        tiled._run_first(lambda _: lib.sley_tile_get_matrix(self._handles[0], ctypes.byref(out)))
        return Matrix._of(out)

    def _dense(self, tiled: TiledMatrix) -> Any:
        made = np.empty((self.info.rows, self.info.cols), tiled.dtype)
        tiled._run_first(lambda _: lib.sley_tile_get_values(self._handles[0], made.ctypes.data,
                                                            max(self.info.cols, 1)))
        return made

    def close(self) -> None:
        """Waits until the fetch has ended, and discards the tile unless `result` has returned it. Later calls do
        nothing. Not collective."""
        if not self._comm._lock.here:
            return
        with self._comm._lock:
            self._tiled = None
            if self._forget.detach() is not None:
                self._comm._remove(self._number)
