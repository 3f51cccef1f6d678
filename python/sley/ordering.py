# SPDX-License-Identifier: Apache-2.0
"""Orders of rows, and partitions of rows among ranks."""
from typing import Any

import numpy as np

from sley._arrays import Indices
from sley._calls import call
from sley._kinds import kinds
from sley._library import decoded, encoded, lib, names_of
from sley.errors import SleyArgumentError
from sley.matrix import as_matrix


def orders() -> dict[str, str]:
    """The names of the library's orderings, with a summary of each."""
    return {name: decoded(lib.sley_order_summary(encoded(name))) for name in names_of(lib.sley_orders())}


@kinds
def order(a: Any, name: str = "rabbit", *, seed: int = 1, threads: int = 0) -> Indices:
    """An order for the rows and columns of a square matrix.

    Parameters
    ----------
    a : Matrix, or what `Matrix` takes
        The matrix, of shape (n, n); for an unsymmetric pattern the order is computed for A + A^T.
    name : str
        One of `sley.orders()`.
    seed : int
        Seed of random choices; the same seed returns the same order.
    threads : int
        0 for all cores.

    Returns
    -------
    ndarray of int64, shape (n,)
        Row i moves to position `perm[i]`: `a.permute(perm, perm)` applies the order.
    """
    matrix = as_matrix(a)
    perm = np.empty(matrix.shape[0], np.int64)
    call(lib.sley_order, matrix, encoded(name), seed, threads, perm.ctypes.data)
    return perm


@kinds
def partition(a: Any, ranks: int, *, by: str = "nnz") -> Indices:
    """The assignment of rows to ranks.

    Parameters
    ----------
    a : Matrix, or what `Matrix` takes
    ranks : int
        Number of ranks, at least 1.
    by : str
        "nnz" (about equal numbers of nonzeros) or "rows" (equal numbers of rows).

    Returns
    -------
    ndarray of int64, shape (ranks + 1,)
        Rank r owns rows `begin[r]` to `begin[r + 1] - 1`.
    """
    begin = _begins(ranks)
    call(lib.sley_partition_rows, as_matrix(a), encoded(by), ranks, begin.ctypes.data)
    return begin


def partition_equal(rows: int, ranks: int) -> Indices:
    """A partition with equal numbers of rows; int64, shape (ranks + 1,)."""
    begin = _begins(ranks)
    call(lib.sley_partition_equal, rows, ranks, begin.ctypes.data)
    return begin


def _begins(ranks: int) -> Indices:
    if not 1 <= ranks < 2**31:
        raise SleyArgumentError(f"{ranks} ranks: there is at least 1")
    return np.zeros(ranks + 1, np.int64)
