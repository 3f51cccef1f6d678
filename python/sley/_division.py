# SPDX-License-Identifier: Apache-2.0
"""The division of the rows of a matrix, and of X, among ranks, and the rows in this process.

If ranks are threads, all of them are in this process. If ranks are processes, this process has one rank, and its
operands are this rank's own rows.
"""
import ctypes
from typing import Any

import numpy as np

from sley._arrays import Array, Indices
from sley._calls import create, destroy_later
from sley._containers import dense, sparse_kind
from sley._dense import converted
from sley._library import lib
from sley._process import NotCopied
from sley.comm import Comm
from sley.errors import SleyArgumentError
from sley.matrix import Matrix, as_matrix
from sley.ordering import partition as partition_rows
from sley.ordering import partition_equal


class Rows:
    """The rows of a matrix that this process's rank owns, if no process has the whole matrix (for `sley.dist`).

    Attributes
    ----------
    matrix : Matrix
        The rank's rows, of shape (own rows, n); columns are numbered over the whole matrix.
    shape : (int, int)
        m and n of the whole matrix.
    row_begin, col_begin : ndarray of int64, shape (ranks + 1,)
        Rank r owns rows `row_begin[r]` to `row_begin[r + 1] - 1` of A and Y, and rows `col_begin[r]` to `col_begin[r +
        1] - 1` of X.
    """

    def __init__(self, matrix: Matrix, row_begin: Indices) -> None:
        self.matrix = matrix
        self.row_begin = row_begin
        self.shape = int(row_begin[-1]), matrix.shape[1]
        square = self.shape[0] == self.shape[1]
        self.col_begin: Indices = row_begin if square else partition_equal(self.shape[1], len(row_begin) - 1)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.matrix.dtype

    def __repr__(self) -> str:
        return f"<sley.dist.Rows {self.matrix.shape[0]} of {self.shape[0]} x {self.shape[1]}, {self.dtype.name}>"


class Division(NotCopied):
    """A matrix divided among the ranks of a comm.

    Attributes
    ----------
    row_begin, col_begin : ndarray of int64, shape (ranks + 1,)
        First row of each rank in A, and in X.
    blocks : list of handles
        The row block of each rank of this process, in the order of the ranks.
    matrix : Matrix
        The matrix as it was given: the whole matrix, or the rows of `Rows`.
    local : Matrix
        The rows of all ranks of this process.
    row_at, col_at : list of int
        First row of each rank of this process within this process's Y and X; a last entry is the end of the last rank.
    """

    def __init__(self, a: Any, comm: Comm, by: str) -> None:
        if isinstance(a, Rows):
            if len(a.row_begin) != comm.size + 1:
                raise SleyArgumentError(f"the rows are divided among {len(a.row_begin) - 1} ranks, and the comm has "
                                        f"{comm.size}")
            self.row_begin, self.col_begin = a.row_begin, a.col_begin
            self.matrix, first = a.matrix, int(a.row_begin[comm.first])
        else:
            matrix = as_matrix(a, copy=True)
            rows, cols = matrix.shape
            self.row_begin = partition_rows(matrix, comm.size, by=by)
            self.col_begin = self.row_begin if rows == cols else partition_equal(cols, comm.size)
            self.matrix, first = matrix, 0
        self.shape = int(self.row_begin[-1]), int(self.col_begin[-1])
        self._cut(comm, first)

    def with_values(self, matrix: Matrix, comm: Comm) -> "Division":
        """The same division of a matrix with the same entries and other values."""
        made = Division.__new__(Division)
        made.row_begin, made.col_begin, made.shape, made.matrix = self.row_begin, self.col_begin, self.shape, matrix
        made._cut(comm, self._first)
        return made

    def _cut(self, comm: Comm, first: int) -> None:
        """Finds the rows of this process's ranks, in a matrix that begins at row `first` of the whole matrix."""
        self._first = first
        here = slice(comm.first, comm.first + comm.here + 1)
        self.row_at: list[int] = (self.row_begin[here] - self.row_begin[comm.first]).tolist()
        self.col_at: list[int] = (self.col_begin[here] - self.col_begin[comm.first]).tolist()
        self.local = self.matrix
        if self.local.shape[0] != self.row_at[-1]:
            self.local = _row_block(self.local, int(self.row_begin[comm.first]) - first, self.row_at[-1])
        self.blocks: list[ctypes.c_void_p] = []
        destroy_later(self, _destroy_blocks, self.blocks)
        for begin, end in zip(self.row_at[:-1], self.row_at[1:], strict=True):
            self.blocks.append(create(lib.sley_matrix_destroy, lib.sley_matrix_row_block, self.local, begin,
                                      end - begin))


class Shares(NotCopied):
    """What each rank of this process passes of a matrix to a collective call: the whole matrix, or its row block.

    Attributes
    ----------
    address : int or None
        Address of the first row of each rank; None: each rank passes the whole matrix.
    blocks : list of handles
        One per rank of this process; None if there is no matrix.
    """

    def __init__(self, comm: Comm, a: Matrix | Rows | None, row_begin: Indices | None = None) -> None:
        if isinstance(a, Matrix) and row_begin is not None:
            first, last = (int(row_begin[each]) for each in (comm.first, comm.first + comm.here))
            a = Rows(_row_block(a, first, last - first), row_begin)
        self._kept = a  # while ranks read it
        self.blocks: list[Any] = [a._as_parameter_ if isinstance(a, Matrix) else None] * comm.here
        self.address = None
        if isinstance(a, Rows):
            self._kept = division = Division(a, comm, "nnz")
            self.blocks, self.address = division.blocks, division.row_begin.ctypes.data


def new_values(old: Matrix, given: Any) -> Array:
    """A copy of new values for the entries of a matrix, given as an array, or as a matrix with entries at the same
    positions."""
    if not isinstance(given, (Matrix, Rows)) and sparse_kind(given, "values") is None:
        array = dense(given, "values")
        if array.ndim != 2:
            if array.shape != (old.nnz,):
                raise SleyArgumentError(f"values of shape {array.shape}: the matrix has {old.nnz} entries")
            if old._reordered:
                raise SleyArgumentError("the plan has the entries in another order than the matrix that it was made "
                                        "of: give a matrix, not an array of values")
            return np.array(converted(array, "values", old.dtype), order="C")
    matrix = given.matrix if isinstance(given, Rows) else as_matrix(given)
    if matrix.shape != old.shape or not all(map(np.array_equal, matrix._arrays()[:2], old._arrays()[:2])):
        raise SleyArgumentError(f"the new values are of {matrix!r}, whose entries are not in the places of {old!r}")
    return np.array(converted(matrix.data, "the new matrix", old.dtype))


def _row_block(matrix: Matrix, first: int, count: int) -> Matrix:
    """A view of some rows of a matrix."""
    return Matrix._of(create(lib.sley_matrix_destroy, lib.sley_matrix_row_block, matrix, first, count), matrix)


def _destroy_blocks(blocks: list[ctypes.c_void_p]) -> None:
    for block in blocks:
        lib.sley_matrix_destroy(block)
