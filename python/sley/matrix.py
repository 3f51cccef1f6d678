# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices."""
import ctypes
import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse

from sley import _c
from sley._arrays import Array, Indices, array_at, code_of, dtype_of, exact_dtype, integers_of
from sley._calls import call, create, destroy_later, value_of
from sley._containers import Csr, Operand, csr_of, dense, operand
from sley._html import html_table
from sley._kinds import kinds
from sley._library import decoded, encoded, initial, lib, names_of
from sley._to_host import on_host
from sley._verbs import Verbs
from sley.errors import SleyArgumentError, SleyUnsupportedError

_INDEX_DTYPES: dict[_c.sley_index, np.dtype[Any]] = {
    _c.sley_index.SLEY_I32: np.dtype(np.int32),
    _c.sley_index.SLEY_I64: np.dtype(np.int64),
}


@dataclass(frozen=True)
class Source:
    """The format as which a file was read."""

    format: str  #: one of `sley.formats()`
    description: str  #: the format in words
    base: int | None  #: first row and column number, 0 or 1; None: the format leaves no choice
    base_reason: str | None  #: why
    unread_lines: int  #: lines of an edge list with fields after the value, which were not read


class Matrix(Verbs):
    """An immutable sparse matrix of m rows and n columns, in CSR.

    Parameters
    ----------
    a : sparse container of SciPy, CuPy, PyTorch, JAX or pydata/sparse, or array_like of shape (m, n)
        Containers are recognised by their type and format attribute; docs/PYTHON.md lists them, and others are refused.
        Rows whose columns do not ascend are sorted. Repeated entries are summed. Arrays in a GPU's memory are copied to
        the host.
    dtype : dtype, optional
        float16, float32, float64 or the bfloat16 of ml_dtypes. By default the type of `a`; booleans and integers of up
        to 16 bits become float32, longer integers float64.
    copy : bool
        True: the matrix copies the arrays of `a`, so later changes of `a` do not affect it. False: CSR arrays are used
        without a copy if Sley supports their type of values: `data`, `indices` and an `indptr` of int64 are not copied
        (an `indptr` of int32 is widened). They must not change while the matrix, or a plan of it, exists.

    Raises
    ------
    SleyOverflowError
        A value is beyond the range of `dtype`, or an integer that becomes float64 is beyond 2^53.
    SleyInputError
        `indptr` descends, or a column is out of range; the message names the row.

    Examples
    --------
    >>> import numpy as np, scipy.sparse, sley
    >>> sley.Matrix(scipy.sparse.csr_array(np.eye(3)))
    <sley.Matrix 3 x 3, 3 nonzeros, float64>
    """

    @kinds
    def __init__(self, a: Any, *, dtype: npt.DTypeLike | None = None, copy: bool = True) -> None:
        if isinstance(a, Matrix):
            raise SleyArgumentError("this is a sley.Matrix already")
        self._fill(operand(a), dtype, copy)

    @classmethod
    @kinds
    def from_csr(cls, indptr: npt.ArrayLike, indices: npt.ArrayLike, data: npt.ArrayLike, shape: tuple[int, int], *,
                 dtype: npt.DTypeLike | None = None, copy: bool = True) -> Self:
        """A matrix of CSR arrays: NumPy arrays, or arrays with DLPack or `__cuda_array_interface__`.

        Parameters
        ----------
        indptr : array_like of integers, shape (m + 1,)
            Row i has entries `indptr[i]` to `indptr[i + 1]`.
        indices : array_like of integers, shape (nnz,)
            Their columns.
        data : array_like, shape (nnz,)
            Their values.
        shape : (int, int)
            m and n.
        dtype, copy
            As in `Matrix`.
        """
        return cls._of_arrays("csr", {"indptr": indptr, "indices": indices, "data": data}, shape, dtype, copy)

    @classmethod
    @kinds
    def from_coo(cls, row: npt.ArrayLike, col: npt.ArrayLike, data: npt.ArrayLike, shape: tuple[int, int], *,
                 dtype: npt.DTypeLike | None = None) -> Self:
        """A matrix of the given entries; entries at the same position are summed.

        Parameters
        ----------
        row, col : array_like of integers, shape (nnz,)
            Row and column of each entry.
        data : array_like, shape (nnz,)
            Their values.
        shape : (int, int)
            m and n.
        dtype : dtype, optional
            As in `Matrix`.
        """
        return cls._of_arrays("coo", {"row": row, "col": col, "data": data}, shape, dtype, True)

    @classmethod
    def _of_arrays(cls, kind: str, arrays: dict[str, Any], shape: tuple[int, int], dtype: npt.DTypeLike | None,
                   copy: bool) -> Self:
        given = list(arrays.values())
        host = on_host(given)
        rows, cols = (int(each) for each in shape)
        made = cls.__new__(cls)
        made._fill(Operand(kind, [dense(each, name) for each, name in zip(host, arrays, strict=True)], (rows, cols),
                           host is given), dtype, copy)
        return made

    @classmethod
    def _of(cls, handle: ctypes.c_void_p, kept: object = None) -> Self:
        """A matrix that takes ownership of a handle."""
        made = cls.__new__(cls)
        made._take(handle, kept)
        return made

    def _fill(self, given: Operand, dtype: npt.DTypeLike | None, copy: bool) -> None:
        csr = csr_of(given, dtype)
        if given.format == "csc":
            transposed = Matrix.__new__(Matrix)
            transposed._borrow(csr)
            self._take(create(lib.sley_matrix_destroy, lib.sley_matrix_transpose, transposed, 0), None)
            self._reordered = True
        else:
            self._borrow(_own(csr, given.arrays) if copy and csr.shared else csr)

    def _borrow(self, given: Csr) -> None:
        """Makes the matrix from CSR arrays without copying them."""
        (rows, cols), pointers, columns, values = given.shape, given.indptr, given.indices, given.values
        if values.ndim != 1 or rows < 0 or cols < 0 or len(pointers) != rows + 1:
            raise SleyArgumentError(f"indptr of shape {pointers.shape} and data of shape {values.shape}: "
                                    f"expected ({rows + 1},) and one dimension")
        if len(columns) != len(values) or not 0 <= int(pointers[0]) <= int(pointers[-1]) <= len(columns):
            raise SleyArgumentError(f"indptr goes from {pointers[0]} to {pointers[-1]}, in {len(columns)} indices and "
                                    f"{len(values)} values")
        narrow = pointers.dtype == np.int32
        index = _c.sley_index.SLEY_I32 if columns.dtype == np.int32 else _c.sley_index.SLEY_I64
        csr = _c.sley_csr(rows=rows, cols=cols, col=columns.ctypes.data, val=values.ctypes.data, index=index,
                          dtype=code_of(values.dtype))
        setattr(csr, "rowptr32" if narrow else "rowptr", pointers.ctypes.data)
        handle = create(lib.sley_matrix_destroy, lib.sley_matrix_from_csr, ctypes.byref(csr),
                        _c.sley_ownership.SLEY_BORROW)
        self._take(handle, (pointers, columns, values))
        self._reordered = not given.in_order or (self.nnz > 0 and self._csr().val != values.ctypes.data)

    def _take(self, handle: ctypes.c_void_p, kept: object) -> None:
        self._reordered = False  # whether the entries are in another order than in the source
        self._as_parameter_ = handle  # calls receive the matrix itself, which therefore outlives them
        self._kept = kept  # the object whose memory the library reads: None, arrays or a matrix
        destroy_later(self, lib.sley_matrix_destroy, handle)
        self._info = value_of(_c.sley_matrix_info, lib.sley_matrix_info_get, handle)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns, (m, n)."""
        return self._info.rows, self._info.cols

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return self._info.nnz

    @functools.cached_property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return dtype_of(self._info.dtype)

    @property
    def source(self) -> "Source | None":
        """The format as which the matrix was read; None if it was not read from a file."""
        found = value_of(_c.sley_matrix_source, lib.sley_matrix_source_get, self)
        if not found.format:
            return None
        return Source(decoded(found.format), decoded(found.description), None if found.base < 0 else found.base,
                      decoded(found.base_reason) if found.base_reason else None, found.unread_lines)

    @property
    def nbytes(self) -> int:
        """Bytes of the CSR arrays."""
        return self._info.bytes

    def _csr(self) -> _c.sley_csr:
        return value_of(_c.sley_csr, lib.sley_matrix_csr, self)

    @property
    def indptr(self) -> Indices:
        """int64, shape (m + 1,), read-only: row i has entries `indptr[i] - indptr[0]` on. No copy."""
        return array_at(self, self._csr().rowptr, np.dtype(np.int64), self._info.rows + 1)

    @property
    def indices(self) -> Array:
        """int32 or int64, shape (nnz,), read-only: the entries' columns, ascending in each row. No copy."""
        csr = self._csr()
        dtype = _INDEX_DTYPES[_c.sley_index(csr.index)]
        return array_at(self, self._entry(csr, csr.col, dtype), dtype, self._info.nnz)

    @property
    def data(self) -> Array:
        """Shape (nnz,), read-only: the entries' values. No copy."""
        csr = self._csr()
        return array_at(self, self._entry(csr, csr.val, self.dtype), self.dtype, self._info.nnz)

    def _entry(self, csr: _c.sley_csr, address: int | None, dtype: np.dtype[Any]) -> int:
        """Address of the first row's first entry."""
        return (address or 0) + int(self.indptr[0]) * dtype.itemsize

    def _arrays(self) -> tuple[Indices, Array, Array]:
        """indptr (starting at 0), indices and data, read-only."""
        indptr = self.indptr
        first = int(indptr[0])
        return indptr - first if first else indptr, self.indices, self.data

    def to_scipy(self, *, copy: bool = True) -> scipy.sparse.csr_array:
        """A `scipy.sparse.csr_array` of shape (m, n).

        copy: True: the result has new arrays, which may be written. False: its arrays are read-only views of the
        matrix's arrays, except `indptr`, which is narrowed to the type of `indices` if possible.
        """
        indptr, indices, data = self._arrays()
        return scipy.sparse.csr_array((data, indices, self._narrow(indptr)), shape=self.shape, copy=copy)

    def _narrow(self, indptr: Indices) -> Array:
        """Row pointers in the type of the columns if they fit: SciPy widens the columns to the type of its row
        pointers."""
        small = self._info.index == _c.sley_index.SLEY_I32 and self.nnz <= np.iinfo(np.int32).max
        return indptr.astype(np.int32) if small else indptr

    def _with_values(self, values: Array) -> "Matrix":
        """A matrix with the same pattern and other values of the same type, in the order of the entries. The values are
        not copied."""
        indptr, indices, _ = self._arrays()
        made = Matrix.__new__(Matrix)
        made._borrow(Csr(indptr, indices, values, self.shape, False, not self._reordered))
        made._kept = (made._kept, self)
        return made

    def _rows(self, first: int, count: int) -> "Matrix":
        """A view of adjacent rows."""
        made = Matrix._of(create(lib.sley_matrix_destroy, lib.sley_matrix_row_block, self, first, count), self)
        made._reordered = self._reordered
        return made

    @classmethod
    def _of_scipy(cls, csr: Any, dtype: np.dtype[Any]) -> "Matrix":
        """A matrix of new arrays of SciPy."""
        return cls(csr, dtype=dtype, copy=False)

    def __copy__(self) -> Self:
        """A matrix that shares the arrays."""
        handle = create(lib.sley_matrix_destroy, lib.sley_matrix_row_block, self, 0, self.shape[0])
        made = type(self)._of(handle, self)
        made._reordered = self._reordered
        return made

    def __deepcopy__(self, _memo: Any) -> Self:
        """A matrix with copied arrays."""
        indptr, indices, data = (each.copy() for each in self._arrays())
        return type(self)._again(indptr, indices, data, self.shape, self._reordered)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as CSR."""
        return type(self)._again, (*self._arrays(), self.shape, self._reordered)

    @classmethod
    def _again(cls, indptr: Array, indices: Array, data: Array, shape: tuple[int, int], reordered: bool) -> Self:
        made = cls.__new__(cls)
        made._borrow(Csr(indptr, indices, data, shape, False, not reordered))
        return made

    @kinds
    def transpose(self, *, threads: int = 0) -> "Matrix":
        """A^T as a new matrix of shape (n, m). threads: 0 for all cores."""
        return Matrix._of(create(lib.sley_matrix_destroy, lib.sley_matrix_transpose, self, threads))

    @property
    def T(self) -> "Matrix":
        """A^T as a new matrix of shape (n, m)."""
        return self.transpose()

    @kinds
    def undirected(self, *, threads: int = 0) -> "Matrix":
        """The undirected graph of a square matrix: entries (i, j) and (j, i) wherever this one has one of them.

        If it has both, both get the mean of their values; repeated entries count as their sum. threads: 0 for all
        cores.
        """
        return Matrix._of(create(lib.sley_matrix_destroy, lib.sley_matrix_undirected, self, threads))

    @kinds
    def permute(self, rows: npt.ArrayLike | None = None, cols: npt.ArrayLike | None = None, *,
                threads: int = 0) -> "Matrix":
        """A new matrix in which row i of this one is row `rows[i]`, and column j is column `cols[j]`.

        Parameters
        ----------
        rows, cols : array_like of integers, shapes (m,) and (n,), optional
            Permutations, such as `order` returns; None leaves rows or columns unchanged.
        threads : int
            0 for all cores.
        """
        perms = []
        for given, count, what in ((rows, self.shape[0], "rows"), (cols, self.shape[1], "cols")):
            perm = None if given is None else integers_of(given, what)
            if perm is not None and len(perm) != count:
                raise SleyArgumentError(f"{what}: expected {count} numbers, not {len(perm)}")
            perms.append(perm)
        addresses = [None if perm is None else perm.ctypes.data for perm in perms]
        return Matrix._of(create(lib.sley_matrix_destroy, lib.sley_matrix_permute, self, *addresses, threads))

    @kinds
    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the matrix in the format of the path's ending: .mtx, .sley, .npz, .graph, .el, .rb; a further .gz or
        .zst compresses it.

        The file appears whole or not at all.
        """
        call(lib.sley_matrix_write, self, encoded(path))

    def __matmul__(self, x: Any) -> Any:
        """A X on one rank, for an x with shape (n, k) or (n,): see `spmm`, and `Plan` for repeated products. For
        another Matrix: the sparse product, see `spgemm`."""
        return self._product(x)

    def __repr__(self) -> str:
        name = _c.sley_dtype(self._info.dtype).name
        dtype = "bfloat16" if name == "SLEY_BF16" else self.dtype.name
        return f"<sley.Matrix {self.shape[0]} x {self.shape[1]}, {self.nnz} nonzeros, {dtype}>"

    def _repr_html_(self) -> str:
        rows, cols = self.shape
        return html_table([("rows", rows), ("columns", cols), ("nonzeros", self.nnz),
                           ("longest row", self._info.max_row_nnz), ("values", self.dtype.name),
                           ("bytes", self.nbytes)])


def _own(csr: Csr, others: Sequence[Array]) -> Csr:
    """The same matrix, with arrays copied where they share memory with `others`."""
    indptr, indices, values = (each.copy() if any(np.may_share_memory(each, other) for other in others) else each
                               for each in (csr.indptr, csr.indices, csr.values))
    return csr._replace(indptr=indptr, indices=indices, values=values, shared=False)


def as_matrix(a: Any, dtype: npt.DTypeLike | None = None, *, copy: bool = False) -> Matrix:
    """Returns a Matrix unchanged, and makes one of anything else that `Matrix` takes. copy: True if it must outlive the
    call."""
    return a if isinstance(a, Matrix) else Matrix(a, dtype=dtype, copy=copy)


def as_matrix_of(a: Any, dtype: np.dtype[Any], what: str) -> Matrix:
    """Returns a Matrix unchanged, and makes one of type dtype of anything else that `Matrix` takes; dtype must hold the
    given values exactly."""
    if isinstance(a, Matrix):
        return a
    given = operand(a, what)
    if not np.can_cast(exact_dtype(given.dtype), dtype, "safe"):
        raise SleyArgumentError(f"{what} has values of type {given.dtype.name}, which {dtype.name} does not hold: "
                                "convert one of the matrices")
    return Matrix(given, dtype=dtype, copy=False)


@kinds
def read(path: str | os.PathLike[str], *, dtype: npt.DTypeLike | None = None, threads: int = 0,
         format: str | None = None, base: int | None = None) -> Matrix:
    """Reads a file: Matrix Market, edge list, METIS, Rutherford-Boeing, scipy's .npz or .sley.

    The format is recognised by the first lines, by the ending of the name, or by all lines, and is stored in
    `Matrix.source`. Files in gzip and zstd are decompressed. Symmetric files are expanded, and repeated entries summed.

    Parameters
    ----------
    path : path
        The file; "-" is standard input.
    dtype : dtype, optional
        Type of the values; by default the type that the file stores, with float32 for integers of up to 16 bits, and
        float64 for longer integers and for texts.
    threads : int
        0 for all cores.
    format : str, optional
        One of `sley.formats()`; by default recognised from the file.
    base : 0 or 1, optional
        First row and column number of an edge list, or of triplets without a header; by default found from the file. A
        list whose smallest number is 1 is assumed to start at 1: pass 0 if it starts at 0 and its node 0 has no edge.

    Returns
    -------
    Matrix

    Raises
    ------
    SleyInputError
        The file is not valid; the message has file and line.
    SleyIOError
        The file cannot be read.
    """
    return _read(path, stored_code(path) if dtype is None else code_of(dtype), threads, 1, **reading(format, base))


@kinds
def generate(spec: str, *, dtype: npt.DTypeLike = np.float64, seed: int = 1) -> Matrix:
    """Makes a matrix with a generator.

    Parameters
    ----------
    spec : str
        For example "rmat:scale=17,edgefactor=8", "er:n=1000,nnz=8000" or "twin:cyt".
    dtype : dtype
        Of the values.
    seed : int
        Seed for generators whose spec has none; the same seed makes the same matrix.

    Returns
    -------
    Matrix
    """
    if ":" not in spec:
        raise SleyArgumentError(f'{spec!r} is no generator, such as "er:n=1000,nnz=8000"')
    return _read(spec, code_of(dtype), 0, seed)


def write(a: Any, path: str | os.PathLike[str]) -> None:
    """Writes a matrix, or what `Matrix` takes, to a file: see `Matrix.write`."""
    as_matrix(a).write(path)


def stored_code(path: str | os.PathLike[str]) -> int:
    """The `sley_dtype` in which a file stores its values; float64 for texts."""
    code, dims = ctypes.c_int(), ctypes.c_int()
    try:
        call(lib.sley_stored_type, encoded(path), ctypes.byref(code), ctypes.byref(dims))
    except SleyUnsupportedError:  # texts have no type
        return int(_c.sley_dtype.SLEY_F64)
    return code.value


def formats() -> tuple[str, ...]:
    """The names of the formats that can be read."""
    return tuple(names_of(lib.sley_formats()))


def reading(format: str | None, base: int | None) -> dict[str, Any]:
    """The options for reading a file, as fields of `sley_read_options`."""
    return {"format": encoded(format), "base": -1 if base is None else base}


def _read(name: str | os.PathLike[str], code: int, threads: int, seed: int, **how: Any) -> Matrix:
    options = initial(_c.sley_read_options, dtype=code, threads=threads, seed=seed, **how)
    return Matrix._of(create(lib.sley_matrix_destroy, lib.sley_matrix_read, encoded(name), ctypes.byref(options)))
