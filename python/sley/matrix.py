# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices."""
import ctypes
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
from sley._library import decoded, encoded, initial, lib, names_of
from sley._to_host import on_host
from sley.errors import SleyArgumentError, SleyUnsupportedError

_INDEX_DTYPES: dict[_c.sley_index, np.dtype[Any]] = {
    _c.sley_index.SLEY_I32: np.dtype(np.int32),
    _c.sley_index.SLEY_I64: np.dtype(np.int64),
}


@dataclass(frozen=True)
class Source:
    """What a file was read as."""

    format: str  #: one of `sley.formats()`
    description: str  #: the format in words
    base: int | None  #: what rows and columns were counted from, where the format leaves a choice
    base_reason: str | None  #: why
    unread_lines: int  #: lines of an edge list with fields after the value, which were not read


class Matrix:
    """A sparse matrix of m rows and n columns, in CSR. It does not change.

    Parameters
    ----------
    a : sparse container of SciPy, CuPy, PyTorch, JAX or pydata/sparse, or array_like of shape (m, n)
        Containers are known by the type and format that they state; docs/PYTHON.md lists them, and others are refused.
        Rows whose columns do not ascend are sorted. Entries that repeat count as their sum. What is in a GPU's memory
        is copied to the host's.
    dtype : dtype, optional
        float16, float32, float64 or the bfloat16 of ml_dtypes. By default that of `a`; booleans and integers of up to
        16 bits become float32, longer ones float64.
    copy : bool
        True: the matrix has arrays of its own, and what is done to those of `a` later does not change it. False: CSR
        in a type of values that Sley has is used where it lies: neither `data` nor `indices` is copied, nor `indptr` of
        int64 (that of int32 is widened). They must not change while the matrix, or a plan of it, lives.

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

    def __init__(self, a: Any, *, dtype: npt.DTypeLike | None = None, copy: bool = True) -> None:
        if isinstance(a, Matrix):
            raise SleyArgumentError("this is a sley.Matrix already")
        self._fill(operand(a), dtype, copy)

    @classmethod
    def from_csr(cls, indptr: npt.ArrayLike, indices: npt.ArrayLike, data: npt.ArrayLike, shape: tuple[int, int], *,
                 dtype: npt.DTypeLike | None = None, copy: bool = True) -> Self:
        """A matrix of CSR arrays: of NumPy, or whatever has DLPack or `__cuda_array_interface__`.

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
    def from_coo(cls, row: npt.ArrayLike, col: npt.ArrayLike, data: npt.ArrayLike, shape: tuple[int, int], *,
                 dtype: npt.DTypeLike | None = None) -> Self:
        """A matrix of entries; those of the same place are added up.

        Parameters
        ----------
        row, col : array_like of integers, shape (nnz,)
            Where the entries are.
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
        """The matrix of a handle, which becomes its own."""
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
        """Of arrays that are used where they lie."""
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
        self._reordered = False  # whether the entries are in another order than in what it was made of
        self._as_parameter_ = handle  # calls are given the matrix itself, which therefore outlives them
        self._kept = kept  # what the library reads where it lies: nothing, arrays or a matrix
        destroy_later(self, lib.sley_matrix_destroy, handle)
        self._info = value_of(_c.sley_matrix_info, lib.sley_matrix_info_get, handle)

    @property
    def shape(self) -> tuple[int, int]:
        """m and n."""
        return self._info.rows, self._info.cols

    @property
    def nnz(self) -> int:
        """Entries."""
        return self._info.nnz

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return dtype_of(self._info.dtype)

    @property
    def source(self) -> "Source | None":
        """What the matrix was read as; None for one that was not read from a file."""
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
        """Where the first row's first entry is."""
        return (address or 0) + int(self.indptr[0]) * dtype.itemsize

    def _arrays(self) -> tuple[Indices, Array, Array]:
        """indptr, from 0 on, indices and data, which may not be written."""
        indptr = self.indptr
        first = int(indptr[0])
        return indptr - first if first else indptr, self.indices, self.data

    def to_scipy(self, *, copy: bool = True) -> scipy.sparse.csr_array:
        """A `scipy.sparse.csr_array` of shape (m, n).

        copy: True: its arrays are its own, and may be written. False: they are the matrix's own, read-only, but for
        `indptr`, which SciPy narrows to int32 where it can.
        """
        indptr, indices, data = self._arrays()
        return scipy.sparse.csr_array((data, indices, indptr), shape=self.shape, copy=copy)

    def _with_values(self, values: Array) -> "Matrix":
        """The matrix with other values of its type, in the order of its entries; these are used where they lie."""
        indptr, indices, _ = self._arrays()
        made = Matrix.__new__(Matrix)
        made._borrow(Csr(indptr, indices, values, self.shape, False, not self._reordered))
        made._kept = (made._kept, self)
        return made

    def __copy__(self) -> Self:
        """A matrix of the same arrays."""
        handle = create(lib.sley_matrix_destroy, lib.sley_matrix_row_block, self, 0, self.shape[0])
        made = type(self)._of(handle, self)
        made._reordered = self._reordered
        return made

    def __deepcopy__(self, _memo: Any) -> Self:
        """A matrix with arrays of its own."""
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

    def transpose(self, *, threads: int = 0) -> "Matrix":
        """A^T as a new matrix of shape (n, m). threads: 0 for all cores."""
        return Matrix._of(create(lib.sley_matrix_destroy, lib.sley_matrix_transpose, self, threads))

    @property
    def T(self) -> "Matrix":
        """A^T as a new matrix of shape (n, m)."""
        return self.transpose()

    def permute(self, rows: npt.ArrayLike | None = None, cols: npt.ArrayLike | None = None, *,
                threads: int = 0) -> "Matrix":
        """A new matrix in which row i of this one is row `rows[i]`, and column j is column `cols[j]`.

        Parameters
        ----------
        rows, cols : array_like of integers, shapes (m,) and (n,), optional
            Permutations, such as `order` gives; None leaves a side as it is.
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

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the matrix by the path's ending: .mtx, .sley, .npz, .graph, .el, .rb; .gz or .zst after it packs it.

        The file appears whole or not at all.
        """
        call(lib.sley_matrix_write, self, encoded(path))

    def __matmul__(self, x: Any) -> Any:
        """A X on one rank, of x with shape (n, k) or (n,): see `spmm`, and `Plan` for more than one product. Of
        another Matrix: the sparse product, see `spgemm`."""
        from sley.products import spgemm, spmm
        return spgemm(self, x) if isinstance(x, Matrix) else spmm(self, x)

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
    """The same with arrays that share no memory with others."""
    indptr, indices, values = (each.copy() if any(np.may_share_memory(each, other) for other in others) else each
                               for each in (csr.indptr, csr.indices, csr.values))
    return csr._replace(indptr=indptr, indices=indices, values=values, shared=False)


def as_matrix(a: Any, dtype: npt.DTypeLike | None = None, *, copy: bool = False) -> Matrix:
    """A matrix as it is, or made of what `Matrix` takes; copy: True for one that outlives the call."""
    return a if isinstance(a, Matrix) else Matrix(a, dtype=dtype, copy=copy)


def as_matrix_of(a: Any, dtype: np.dtype[Any], what: str) -> Matrix:
    """A matrix as it is, or one of a type, which holds the given values exactly, made of what `Matrix` takes."""
    if isinstance(a, Matrix):
        return a
    given = operand(a, what)
    if not np.can_cast(exact_dtype(given.dtype), dtype, "safe"):
        raise SleyArgumentError(f"{what} has values of type {given.dtype.name}, which {dtype.name} does not hold: "
                                "convert one of the matrices")
    return Matrix(given, dtype=dtype, copy=False)


def read(path: str | os.PathLike[str], *, dtype: npt.DTypeLike | None = None, threads: int = 0,
         format: str | None = None, base: int | None = None) -> Matrix:
    """Reads a file: Matrix Market, edge list, METIS, Rutherford-Boeing, scipy's .npz or .sley.

    The format is told by the first lines, or by the name's ending, or by all lines, and `Matrix.source` has it; gzip
    and zstd are unpacked. Symmetric files are expanded, and entries of the same place added up.

    Parameters
    ----------
    path : path
        The file; "-" is standard input.
    dtype : dtype, optional
        Of the values; by default the one in which the file stores them, float32 for integers of up to 16 bits, and
        float64 for longer ones and texts.
    threads : int
        0 for all cores.
    format : str, optional
        One of `sley.formats()`, as which the file is read; by default the file tells it.
    base : 0 or 1, optional
        What rows and columns of an edge list, or of triplets without a header, count from; by default the file tells
        it. A list whose smallest number is 1 is taken to count from 1: give 0 if its node 0 has no edge.

    Returns
    -------
    Matrix

    Raises
    ------
    SleyInputError
        The file is not valid; the message has file and line.
    SleyIOError
        It cannot be read.
    """
    return _read(path, stored_code(path) if dtype is None else code_of(dtype), threads, 1, **reading(format, base))


def generate(spec: str, *, dtype: npt.DTypeLike = np.float64, seed: int = 1) -> Matrix:
    """Makes a matrix by a generator.

    Parameters
    ----------
    spec : str
        For example "rmat:scale=17,edgefactor=8", "er:n=1000,nnz=8000" or "twin:cyt".
    dtype : dtype
        Of the values.
    seed : int
        For generators that name none; the same seed gives the same matrix.

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
    """The `sley_dtype` in which a file stores its values; that of float64 for texts."""
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
    """How a file is read, as fields of `sley_read_options`."""
    return {"format": encoded(format), "base": -1 if base is None else base}


def _read(name: str | os.PathLike[str], code: int, threads: int, seed: int, **how: Any) -> Matrix:
    options = initial(_c.sley_read_options, dtype=code, threads=threads, seed=seed, **how)
    return Matrix._of(create(lib.sley_matrix_destroy, lib.sley_matrix_read, encoded(name), ctypes.byref(options)))
