# SPDX-License-Identifier: Apache-2.0
"""Sparse containers of other libraries, recognised by their type and their format attribute.

`operand` returns the arrays of a container in host memory; `csr_of` converts them to CSR. Containers that are not in
the table here are refused, even if they have similar attributes.
"""
import importlib
import numbers
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from sley._arrays import Array, code_of, dtype_of, exact_dtype, integers_of, values_of
from sley._c import sley_dtype
from sley._foreign import host_array
from sley._to_host import on_host
from sley.errors import SleyArgumentError, SleyError, SleyUnsupportedError


class Operand(NamedTuple):
    """A matrix in the format of its library.

    Attributes
    ----------
    format : str
        A key of `_ARRAYS`, which defines the arrays.
    arrays : sequence of ndarray
        Arrays in host memory; the last one has the values.
    shape : (int, int)
    shared : bool
        Whether other code may also hold the arrays.
    """

    format: str
    arrays: Sequence[Any]
    shape: tuple[int, int]
    shared: bool = True

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return np.dtype(self.arrays[-1].dtype)


class Csr(NamedTuple):
    """The arrays of CSR.

    Attributes
    ----------
    indptr, indices, values : ndarray
    shape : (int, int)
    shared : bool
        Whether other code may also hold the arrays.
    in_order : bool
        Whether the values are in the order of the container.
    """

    indptr: Array
    indices: Array
    values: Array
    shape: tuple[int, int]
    shared: bool
    in_order: bool


# ---- formats of containers, and their arrays

Taken = tuple[str, Sequence[Any]]


def _compressed(a: Any) -> Taken:
    return a.format, (a.indptr, a.indices, a.data)


def _places(a: Any) -> Taken:
    return "coo", (a.row, a.col, a.data)


def _by_scipy(a: Any) -> Taken:
    return _compressed(a.tocsr())


def _of_cupy_dia(a: Any) -> Taken:
    return _by_scipy(a.get())


def _torch_host(tensor: Any) -> Any:
    """A tensor as a NumPy array."""
    tensor = tensor.cpu() if hasattr(tensor, "cpu") else tensor
    if str(getattr(tensor, "dtype", "")) == "torch.bfloat16":
        return tensor.view(dtype=importlib.import_module("torch").int16).numpy().view(dtype_of(sley_dtype.SLEY_BF16))
    return np.asarray(tensor)


def _torch_parts(kind: str, *names: str) -> Callable[[Any], Taken]:
    def take(a: Any) -> Taken:
        return kind, [_torch_host(getattr(a, name)()) for name in (*names, "values")]

    return take


def _torch_coo(a: Any) -> Taken:
    """The entries without torch's own summation: torch would sum repeated entries in their type, which may be
    narrow."""
    inside = hasattr(a, "_indices") and hasattr(a, "_values")
    places, values = (a._indices(), a._values()) if inside else (a.indices(), a.values())
    return "places", (_torch_host(places), _torch_host(values))


def _jax_bcoo(a: Any) -> Taken:
    return "padded", (a.indices, a.data)


def _jax_compressed(kind: str) -> Callable[[Any], Taken]:
    return lambda a: (kind, (a.indptr, a.indices, a.data))


def _pydata_coo(a: Any) -> Taken:
    return "places", (a.coords, a.data)


def _pydata_compressed(a: Any) -> Taken:
    axes = tuple(a.compressed_axes)
    if axes not in ((0,), (1,)):
        raise SleyArgumentError(f"a GCXS compressed along the axes {axes}: a matrix is compressed along 0 or 1")
    return ("csr", "csc")[axes[0]], (a.indptr, a.indices, a.data)


def _format(a: Any) -> str:
    return str(a.format)


def _layout(a: Any) -> str:
    return str(a.layout).removeprefix("torch.")


def _name(a: Any) -> str:
    return next(each.__name__ for each in type(a).__mro__ if _inside(each, tuple(_KNOWN)) is not None)


# Key: module of the type. Values: name of the library, function that returns the format, and a function per format that
# returns the arrays.
_KNOWN: dict[str, tuple[str, Callable[[Any], str], dict[str, Callable[[Any], Taken]]]] = {
    "scipy.sparse": ("SciPy", _format, {
        "csr": _compressed, "csc": _compressed, "coo": _places, "bsr": _compressed, "dia": _by_scipy, "lil": _by_scipy,
        "dok": _by_scipy}),
    "cupyx.scipy.sparse": ("CuPy", _format, {
        "csr": _compressed, "csc": _compressed, "coo": _places, "dia": _of_cupy_dia}),
    "torch": ("PyTorch", _layout, {
        "sparse_csr": _torch_parts("csr", "crow_indices", "col_indices"),
        "sparse_csc": _torch_parts("csc", "ccol_indices", "row_indices"),
        "sparse_coo": _torch_coo,
        "sparse_bsr": _torch_parts("bsr", "crow_indices", "col_indices")}),
    "jax.experimental.sparse": ("JAX", _name, {
        "BCOO": _jax_bcoo, "BCSR": _jax_compressed("csr"), "CSR": _jax_compressed("csr"),
        "CSC": _jax_compressed("csc"), "COO": _places}),
    "sparse": ("pydata/sparse", _name, {
        "COO": _pydata_coo, "GCXS": _pydata_compressed, "CSR": _pydata_compressed, "CSC": _pydata_compressed}),
}
_DENSE_LAYOUTS = ("strided",)
_SAYS_SPARSE = ("indptr", "tocsr", "tocoo", "todense", "crow_indices", "nnz")  # attributes of unknown sparse containers
_SAYS_DENSE = ("__array__", "__array_interface__", "__dlpack__", "__cuda_array_interface__")


def _inside(kind: type, modules: tuple[str, ...]) -> str | None:
    """The module in `modules` that defines a type, if any."""
    return next((each for each in modules if f"{kind.__module__}.".startswith(f"{each}.")), None)


def _library(a: Any) -> str | None:
    """The library in the table that defines a container's type or one of its base classes."""
    if scipy.sparse.issparse(a):
        return "scipy.sparse"
    found = (_inside(each, tuple(_KNOWN)) for each in type(a).__mro__)
    return next((each for each in found if each is not None), None)


def _called(a: Any) -> str:
    return f"{type(a).__module__}.{type(a).__qualname__}"


def _accepted() -> str:
    return "; ".join(f"{name}: {', '.join(kinds)}" for name, _, kinds in _KNOWN.values())


def _refusal(a: Any, what: str, stated: str) -> SleyArgumentError:
    return SleyArgumentError(f"{what} is a {_called(a)}{stated}: sparse matrices are taken of {_accepted()}; of "
                             "others give the arrays to Matrix.from_csr or Matrix.from_coo")


def sparse_kind(a: Any, what: str = "a") -> tuple[str, str] | None:
    """The library (a key of the table) and the format of a sparse container; None for a dense array.

    Raises
    ------
    SleyArgumentError
        `a` is neither a container of the table nor an array.
    """
    if isinstance(a, (np.ndarray, np.generic, Sequence, numbers.Number)):
        return None
    library = _library(a)
    if library is not None:
        _, says, kinds = _KNOWN[library]
        try:
            kind = says(a)
        except AttributeError:
            raise _refusal(a, what, ", which does not state its format") from None
        if library == "torch" and kind in _DENSE_LAYOUTS:
            return None
        if kind not in kinds:
            raise _refusal(a, what, f" of format {kind}" if kind != type(a).__name__ else "")
        return library, kind
    if any(hasattr(a, name) for name in _SAYS_SPARSE):
        raise _refusal(a, what, "")
    if not any(hasattr(type(a), name) or hasattr(a, name) for name in _SAYS_DENSE) and not _is_buffer(a):
        raise SleyArgumentError(f"{what} is a {_called(a)}: give an array of NumPy, or what has DLPack or __array__")
    return None


def _is_buffer(a: Any) -> bool:
    try:
        memoryview(a).release()
    except TypeError:
        return False
    return True


def dense(given: Any, what: str) -> Array:
    """A dense array in host memory as a NumPy array, without a copy if possible.

    Raises
    ------
    SleyArgumentError
        The array is sparse, masked or ragged, or requires a gradient, which these products do not support.
    """
    if type(given) is np.ndarray:
        return given
    if type(given).__module__.startswith("sley.") or sparse_kind(given, what) is not None:
        raise SleyArgumentError(f"{what} must be a dense array, and is a {_called(given)}: the product of two sparse "
                                "matrices is spgemm")
    _refuse_gradient(given, what)
    if np.ma.isMaskedArray(given) and np.ma.is_masked(given):
        raise SleyArgumentError(f"{what} has masked values, which no product has: fill them first, as {what}.filled(0)")
    try:
        if _library(given) == "torch":
            return np.asarray(_torch_host(given))
        return np.asarray(host_array(given))
    except SleyError:
        raise
    except (TypeError, ValueError, RuntimeError) as error:
        raise _unreadable(given, what, error) from None


def _unreadable(given: Any, what: str, error: Exception) -> SleyArgumentError:
    reason = (str(error) or type(error).__name__).splitlines()[0]
    return SleyArgumentError(f"{what}, a {_called(given)}, is no array that NumPy can read: {reason}")


def _refuse_gradient(given: Any, what: str) -> None:
    if _library(given) == "torch" and getattr(given, "requires_grad", False) is True:
        raise SleyArgumentError(f"{what} requires a gradient, which products here do not have: give {what}.detach(), "
                                "or see sley.torch")


# ---- from a container to CSR

def operand(a: Any, what: str = "a") -> Operand:
    """The arrays of a sparse container of the table, or of a dense array.

    Raises
    ------
    SleyArgumentError
        `a` is neither, or does not have two dimensions.
    """
    if isinstance(a, Operand):
        return a
    found = sparse_kind(a, what)
    if found is None:
        array = dense(a, what)
        if array.ndim != 2:
            raise SleyArgumentError(f"a matrix has two dimensions, not {array.ndim}")
        return Operand("dense", (array,), (array.shape[0], array.shape[1]))
    library, kind = found
    _refuse_more(a, what)
    try:
        made, arrays = _KNOWN[library][2][kind](a)
    except AttributeError as error:
        raise SleyArgumentError(f"{what} is a {_called(a)} of format {kind}, and lacks an array: {error}") from None
    except SleyError:
        raise
    except (TypeError, RuntimeError) as error:
        raise _unreadable(a, what, error) from None
    host = on_host(arrays)
    rows, cols = a.shape
    return Operand(made, [dense(each, "an array of a") for each in host], (int(rows), int(cols)), host is arrays)


def _refuse_more(a: Any, what: str) -> None:
    """Refuses properties that a matrix of numbers does not have, such as masks and gradients."""
    shape = tuple(a.shape)
    batch, inner = getattr(a, "n_batch", 0), getattr(a, "n_dense", 0)
    if len(shape) != 2 or batch or inner:
        raise SleyArgumentError(f"a matrix has two dimensions, and {what} is a {_called(a)} of shape {shape}"
                                + (f" with {batch} batch and {inner} dense dimensions" if batch or inner else ""))
    fill = getattr(a, "fill_value", 0)
    if not fill == 0:
        raise SleyArgumentError(f"{what} is a {_called(a)} whose other values are {fill}: only 0 is left out of a "
                                "sparse matrix")
    _refuse_gradient(a, what)


def _entries(values: Array, *places: Array) -> None:
    if values.ndim != 1 or any(each.shape != values.shape for each in places):
        shapes = ", ".join(str(each.shape) for each in (*places, values))
        raise SleyArgumentError(f"places and values of shapes {shapes}: expected as many of each, in one dimension")


def _within(places: Array, count: int, what: str) -> None:
    if places.size and not 0 <= int(places.min()) <= int(places.max()) < count:
        raise SleyArgumentError(f"{what} goes from {places.min()} to {places.max()}, in a matrix that has {count}")


def _sums(values: Array) -> Array:
    """Values in a type in which SciPy can add: float32 for values of 16 bits."""
    return values if values.dtype.itemsize > 2 else values.astype(np.float32)


def _back(csr: Any, dtype: np.dtype[Any]) -> Csr:
    """A result of SciPy as Csr, with the values converted back to dtype."""
    return Csr(csr.indptr, csr.indices, values_of(csr.data, dtype), csr.shape, False, False)


def _of_places(row: Array, col: Array, values: Array, shape: tuple[int, int]) -> Csr:
    rows, cols = integers_of(row, "row"), integers_of(col, "col")
    _entries(values, rows, cols)
    _within(rows, shape[0], "row")
    _within(cols, shape[1], "col")
    return _back(scipy.sparse.coo_array((_sums(values), (rows, cols)), shape=shape).tocsr(), values.dtype)


def _of_padded(places: Array, values: Array, shape: tuple[int, int]) -> Csr:
    """CSR of JAX's BCOO. Entries beyond the matrix are padding and are ignored."""
    _check_pairs(places, 1)
    inside = (places[:, 0] < shape[0]) & (places[:, 1] < shape[1])
    if not inside.all():
        places, values = places[inside], values[inside]
    return _of_places(places[:, 0], places[:, 1], values, shape)


def _of_pairs(places: Array, values: Array, shape: tuple[int, int]) -> Csr:
    _check_pairs(places, 0)
    return _of_places(places[0], places[1], values, shape)


def _check_pairs(places: Array, axis: int) -> None:
    if places.ndim != 2 or places.shape[axis] != 2:
        raise SleyArgumentError(f"places of shape {places.shape}: expected a row and a column of each entry")


def _of_blocks(indptr: Array, indices: Array, blocks: Array, shape: tuple[int, int]) -> Csr:
    pointers, columns = integers_of(indptr, "indptr"), integers_of(indices, "indices")
    if blocks.ndim != 3 or 0 in blocks.shape[1:] or shape[0] % blocks.shape[1] or shape[1] % blocks.shape[2]:
        raise SleyArgumentError(f"blocks of shape {blocks.shape}: expected (blocks, r, c), of which {shape[0]} x "
                                f"{shape[1]} are multiples")
    down, across = shape[0] // blocks.shape[1], shape[1] // blocks.shape[2]
    if len(pointers) != down + 1 or pointers[0] != 0 or np.any(pointers[1:] < pointers[:-1]) \
            or not pointers[-1] <= len(columns) == len(blocks):
        raise SleyArgumentError(f"indptr of shape {pointers.shape}: expected {down + 1} numbers that ascend from 0, to "
                                f"at most {len(columns)}, the number of blocks")
    _within(columns[: pointers[-1]], across, "indices")
    last = int(pointers[-1])
    bsr = scipy.sparse.bsr_array((_sums(blocks[:last]), columns[:last], pointers), shape=shape)
    return _back(bsr.tocsr(), blocks.dtype)


def _of_dense(array: Array, shape: tuple[int, int]) -> Csr:
    """The entries that are not 0; SciPy's conversion does not support float16."""
    row, col = np.nonzero(array)
    indptr = np.zeros(shape[0] + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=shape[0]), out=indptr[1:])
    return Csr(indptr, np.ascontiguousarray(col), array[row, col], shape, False, True)


_MAKE: dict[str, Callable[..., Csr]] = {"coo": _of_places, "places": _of_pairs, "padded": _of_padded,
                                        "bsr": _of_blocks, "dense": _of_dense}


def csr_of(given: Operand, dtype: npt.DTypeLike | None) -> Csr:
    """CSR with values in a type that the library supports. For CSC the result is the CSR of A^T, with the shape of A^T.

    dtype: None for the type that holds the container's values.
    """
    checked_dtype(given.dtype, dtype)
    *places, values = given.arrays
    made = values_of(values, dtype)
    if given.format in ("csr", "csc"):
        shape = given.shape if given.format == "csr" else given.shape[::-1]
        pointers = integers_of(places[0], "indptr", keep_32=True)
        columns = integers_of(places[1], "indices", keep_32=True)
        return Csr(pointers, columns, made, shape, given.shared, given.format == "csr")
    return _MAKE[given.format](*places, made, given.shape)


def checked_dtype(given: np.dtype[Any], dtype: npt.DTypeLike | None) -> None:
    """Checks that values of a type can be multiplied, in type dtype if it is not None."""
    if dtype is None:
        exact_dtype(given)
        return
    code_of(dtype)
    if given.kind not in "biuf" and given.name != "bfloat16":
        raise SleyUnsupportedError(f"values of type {given.name} cannot be multiplied")
