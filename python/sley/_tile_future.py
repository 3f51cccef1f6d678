# SPDX-License-Identifier: Apache-2.0
"""Futures for tiles that are being fetched."""
import ctypes
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from sley import _c
from sley._library import lib
from sley._process import NotCopied
from sley.errors import SleyArgumentError
from sley.matrix import Matrix

if TYPE_CHECKING:
    from sley.tiles import TiledMatrix, TileInfo

_OK = int(_c.sley_status.SLEY_OK)


class TileFuture(NotCopied):
    """A tile that this process's first rank is fetching, from `TiledMatrix.get_tile_later`.

    Attributes
    ----------
    info : TileInfo
        Owner, position and size of the tile.
    """

    def __init__(self, tiled: "TiledMatrix", info: "TileInfo", i: int, j: int) -> None:
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

    def _sparse(self, tiled: "TiledMatrix") -> Matrix:
        out = ctypes.c_void_p()
        tiled._run_first(lambda _: lib.sley_tile_get_matrix(self._handles[0], ctypes.byref(out)))
        return Matrix._of(out)

    def _dense(self, tiled: "TiledMatrix") -> Any:
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
