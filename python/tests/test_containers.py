# SPDX-License-Identifier: Apache-2.0
"""Sparse containers of other libraries are known by the type and format that they state, and all else is refused.

Stand-ins state the modules and formats of libraries that need not be installed; test_real_containers takes those of
libraries that are.
"""
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from support import DTYPES, dense_of, drawn

import sley

SQUARE, TALL, X = drawn(20, 20, 90, 1), drawn(20, 12, 90, 2), np.ones(20)


def claimed(module: str, name: str, **members: Any) -> Any:
    """An object whose type states a module and a name."""
    made = type(name, (), {"__module__": module})()
    for each, value in members.items():
        setattr(made, each, value)
    return made


def _cupy(a: Any, format: str) -> Any:
    of = a.asformat(format)
    arrays = {"row": of.row, "col": of.col} if format == "coo" else \
        {"indptr": of.indptr, "indices": of.indices} if format != "dia" else {"get": lambda: of}
    return claimed(f"cupyx.scipy.sparse._{format}", f"{format}_matrix", format=format, data=of.data, shape=a.shape,
                   **arrays)


def _torch(a: Any, layout: str) -> Any:
    kind = {"sparse_csr": "csr", "sparse_csc": "csc", "sparse_coo": "coo", "sparse_bsr": "bsr"}[layout]
    of = a.tobsr(blocksize=(2, 4)) if kind == "bsr" else a.asformat(kind)
    if kind == "coo":
        arrays = {"indices": lambda: np.stack([of.row, of.col]).astype(np.int64)}
    else:
        outer, inner = ("ccol", "row") if kind == "csc" else ("crow", "col")
        arrays = {f"{outer}_indices": lambda: of.indptr.astype(np.int64), f"{inner}_indices": lambda: of.indices}
    return claimed("torch", "Tensor", layout=f"torch.{layout}", shape=a.shape, values=lambda: of.data,
                   requires_grad=False, **arrays)


def _jax(a: Any, name: str) -> Any:
    members: dict[str, Any] = {"shape": a.shape, "n_batch": 0, "n_dense": 0}
    of = a.asformat({"BCOO": "coo", "BCSR": "csr", "CSR": "csr", "CSC": "csc", "COO": "coo"}[name])
    members["data"] = of.data
    if name == "BCOO":  # with two entries that fill it up
        members["data"] = np.append(of.data, [7, 7]).astype(a.dtype)
        members["indices"] = np.concatenate([np.stack([of.row, of.col], 1), [a.shape, (0, a.shape[1])]])
    elif name == "COO":
        members.update(row=of.row, col=of.col)
    else:
        members.update(indptr=of.indptr, indices=of.indices)
    return claimed("jax.experimental.sparse.bcoo", name, **members)


def _pydata(a: Any, name: str) -> Any:
    if name == "COO":
        of = a.tocoo()
        return claimed("sparse.numba_backend._coo.core", "COO", coords=np.stack([of.row, of.col]), data=of.data,
                       shape=a.shape, fill_value=a.dtype.type(0))
    axis = int(name[-1])
    of = (a.tocsr(), a.tocsc())[axis]
    return claimed("sparse.numba_backend._compressed.compressed", "GCXS", indptr=of.indptr, indices=of.indices,
                   data=of.data, shape=a.shape, fill_value=0.0, compressed_axes=(axis,))


CONTAINERS: list[tuple[Callable[[Any, str], Any], str]] = [
    *((_cupy, each) for each in ("csr", "csc", "coo", "dia")),
    *((_torch, each) for each in ("sparse_csr", "sparse_csc", "sparse_coo", "sparse_bsr")),
    *((_jax, each) for each in ("BCOO", "BCSR", "CSR", "CSC", "COO")),
    *((_pydata, each) for each in ("COO", "GCXS0", "GCXS1")),
    *((lambda a, name: a.asformat(name), each) for each in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok"))]


@pytest.mark.parametrize(("make", "kind"), CONTAINERS)
@pytest.mark.parametrize("a", [SQUARE, TALL], ids=["square", "tall"])
def test_each_container_is_the_matrix_that_it_states(make: Callable[[Any, str], Any], kind: str, a: Any) -> None:
    given, x = make(a, kind), np.random.default_rng(1).random((a.shape[1], 3))
    assert np.allclose(sley.spmm(given, x), a @ x)
    assert np.array_equal(sley.Matrix(given).to_scipy().toarray(), a.toarray())
    with sley.Plan(given, 3) as plan:
        assert np.allclose(plan(x), a @ x)
    assert np.allclose(sley.spgemm(given, TALL.T.tocsr() if a is TALL else a).to_scipy().toarray(),
                       (a @ (TALL.T if a is TALL else a)).toarray())
    with sley.TiledMatrix(given) as tiled:
        assert tiled.sparse
    with pytest.raises(sley.SleyArgumentError, match="x must be a dense array, and is a"):
        sley.spmm(a, given)


@pytest.mark.parametrize("bad", [
    claimed("cupyx.scipy.sparse._bsr", "bsr_matrix", format="bsr", indptr=[], indices=[], data=[], shape=(2, 2)),
    claimed("cupyx.scipy.sparse._csr", "csr_matrix", indptr=[], indices=[], data=[], shape=(2, 2)),
    claimed("torch", "Tensor", layout="torch.sparse_bsc", shape=(2, 2)),
    claimed("sparse.numba_backend._dok", "DOK", shape=(2, 2), data={}),
    claimed("other.library", "Csr", indptr=SQUARE.indptr, indices=SQUARE.indices, data=SQUARE.data, shape=SQUARE.shape),
    claimed("other.library", "Coo", tocsr=lambda: SQUARE),
    claimed("other.library", "Tocoo", tocoo=lambda: SQUARE, __array__=lambda: SQUARE.toarray())])
def test_what_is_not_known_is_refused_in_one_line(bad: Any) -> None:
    for job in (sley.Matrix, lambda a: sley.spmm(a, np.ones(2)), lambda a: sley.Plan(a, 1), sley.TiledMatrix):
        with pytest.raises(sley.SleyArgumentError, match=type(bad).__qualname__) as error:
            job(bad)
        assert "\n" not in str(error.value) and "SciPy: csr, csc" in str(error.value)


def test_what_is_walked_through_element_by_element_is_refused_at_once() -> None:
    class Walked:
        def __len__(self) -> int:
            return 10**9

        def __getitem__(self, at: Any) -> Any:
            raise AssertionError("it was walked through")

    for job in (lambda: sley.Matrix(Walked()), lambda: sley.spmm(SQUARE, Walked()), lambda: sley.spmm(Walked(), X)):
        with pytest.raises(sley.SleyArgumentError, match="Walked"):
            job()


def test_what_a_matrix_of_numbers_has_not_is_refused() -> None:
    for change, what in (({"n_batch": 1, "shape": (2, 20, 20)}, "two dimensions"), ({"n_dense": 1}, "1 dense"),
                         ({"shape": (20, 20, 2)}, "two dimensions")):
        given = _jax(SQUARE, "BCOO")
        vars(given).update(change)
        with pytest.raises(sley.SleyArgumentError, match=what):
            sley.Matrix(given)
    for given, change, what in ((_pydata(SQUARE, "COO"), {"fill_value": np.nan}, "nan"),
                                (_pydata(SQUARE, "COO"), {"fill_value": 1.0}, "other values are 1.0"),
                                (_pydata(SQUARE, "GCXS0"), {"compressed_axes": (0, 1)}, "compressed along"),
                                (_torch(SQUARE, "sparse_csr"), {"requires_grad": True}, "gradient"),
                                (_torch(SQUARE, "sparse_coo"), {"values": lambda: np.ones((90, 2))}, "of each")):
        vars(given).update(change)
        with pytest.raises(sley.SleyArgumentError, match=what):
            sley.Matrix(given)
    for dtype in ("complex64", "complex128", "longdouble", "O", "U3", "M8[s]"):
        given = _cupy(SQUARE, "csc")
        given.data = np.zeros(len(given.data), dtype)
        for asked in (None, "float32"):
            if (dtype, asked) != ("longdouble", "float32"):
                with pytest.raises(sley.SleyUnsupportedError, match="cannot be multiplied"):
                    sley.Matrix(given, dtype=asked)


def test_places_out_of_range_are_refused_before_anything_reads_by_them() -> None:
    for kind, name in (("csr", "indices"), ("csc", "indices"), ("coo", "row"), ("bsr", "indices"), ("coo", "col")):
        for bad in (10**6, -1):
            given = SQUARE.asformat(kind, copy=True)
            setattr(given, name, getattr(given, name).copy())
            getattr(given, name)[3] = bad
            with pytest.raises(ValueError, match="row|col|indices"):
                sley.Matrix(given)
    bsr = TALL.tobsr(blocksize=(2, 4))
    for change in ({"indptr": bsr.indptr[:-1]}, {"indptr": bsr.indptr + 1}, {"indptr": bsr.indptr[::-1].copy()},
                   {"data": bsr.data[:-1]}, {"data": bsr.data[:, 0]}, {"shape": (21, 12)}):
        of = {"shape": bsr.shape, "indptr": bsr.indptr, "data": bsr.data, **change}
        given = claimed("torch", "Tensor", layout="torch.sparse_bsr", requires_grad=False, shape=of["shape"],
                        crow_indices=lambda of=of: of["indptr"], col_indices=lambda: bsr.indices,
                        values=lambda of=of: of["data"])
        with pytest.raises(sley.SleyArgumentError):
            sley.Matrix(given)


@pytest.mark.parametrize("dtype", [*DTYPES, "int8", "bool"])
def test_entries_of_one_place_are_added_up_in_the_matrixs_type(dtype: str) -> None:
    """Integers of 8 bits would wrap around in their own."""
    values, row, col = np.array([100, 100, 3]).astype(dtype), np.array([0, 0, 1]), np.array([1, 1, 0])
    first = 2 * int(values[0])
    bsr = claimed("torch", "Tensor", layout="torch.sparse_bsr", shape=(2, 2), values=lambda: values.reshape(3, 1, 1),
                  crow_indices=lambda: np.array([0, 2, 3]), col_indices=lambda: np.array([1, 1, 0]))
    coo = claimed("cupyx.scipy.sparse._coo", "coo_matrix", format="coo", row=row, col=col, data=values, shape=(2, 2))
    for given in (coo, bsr,
                  scipy.sparse.csr_matrix((values, [1, 1, 0], [0, 2, 3]), shape=(2, 2)),
                  claimed("torch", "Tensor", layout="torch.sparse_coo", shape=(2, 2), values=lambda: values,
                          indices=lambda: np.stack([row, col]))):
        made = sley.Matrix(given)
        assert made.dtype == (dtype if dtype in DTYPES else "float32")
        assert sley.spmm(made, np.eye(2, dtype=made.dtype)).tolist() == [[0, first], [float(values[2]), 0]]
    assert sley.Matrix.from_coo(row, col, values, (2, 2)).dtype == made.dtype


def test_unsorted_blocks_and_columns() -> None:
    bsr = scipy.sparse.bsr_matrix((np.arange(12.0).reshape(3, 2, 2), [1, 0, 1], [0, 2, 3]), shape=(4, 4))
    csc = scipy.sparse.csc_matrix((np.arange(4.0), [3, 0, 2, 1], [0, 2, 2, 4]), shape=(4, 3))
    for given in (bsr, csc):
        assert np.array_equal(sley.Matrix(given).to_scipy().toarray(), given.toarray())


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_dense_arrays_say_what_they_are() -> None:
    x = np.arange(40.0).reshape(20, 2)
    masked = np.ma.masked_array(x, mask=x > 30)
    with pytest.raises(sley.SleyArgumentError, match="x must be a dense array, and is a sley.matrix.Matrix"):
        sley.spmm(SQUARE, sley.Matrix(SQUARE))
    for job in (lambda: sley.spmm(SQUARE, masked), lambda: sley.Matrix(masked), lambda: sley.sddmm(SQUARE, masked, x)):
        with pytest.raises(sley.SleyArgumentError, match="masked"):
            job()
    for bad in (np.zeros(20, [("a", "f8")]), np.zeros(20, "M8[s]"), np.zeros(20, "U2"), np.zeros(20, object), "text",
                None, object(), {}, {1.0}):
        with pytest.raises((sley.SleyArgumentError, sley.SleyUnsupportedError)):
            sley.spmm(SQUARE, bad)
    frozen = x.copy()
    frozen.flags.writeable = False
    for given in (np.ma.masked_array(x), np.asfortranarray(x), np.matrix(x), x[::-1][::-1], frozen, x.astype(">f8"),
                  x.tolist(), x.astype(np.float32), np.repeat(x, 2, 1)[:, ::2], memoryview(x)):
        y = sley.spmm(SQUARE, given)
        assert type(y) is np.ndarray and np.allclose(y, SQUARE @ x)
    assert np.allclose(sley.spmm(SQUARE, x[::-1, ::-1]), SQUARE @ x[::-1, ::-1])
    assert sley.spmm(SQUARE, x[:, :0]).shape == (20, 0)


def test_out_that_overlaps() -> None:
    both = np.random.default_rng(1).random((30, 3))
    expected = SQUARE @ both[:20]
    assert np.allclose(sley.spmm(SQUARE, both[:20], out=both[10:]), expected)
    lent = sley.Matrix(SQUARE.copy(), copy=False)
    with pytest.raises(sley.SleyArgumentError, match="out overlaps the arrays of the matrix"):
        sley.spmm(lent, np.ones(20), out=lent._kept[2][:20])


def test_a_type_of_its_own_is_not_dropped() -> None:
    matrix = sley.Matrix(SQUARE.astype(np.float32))
    for job in (lambda: sley.spgemm(matrix, SQUARE), lambda: sley.spgemm(SQUARE, matrix),
                lambda: sley.spmm(matrix, np.ones(20)), lambda: sley.TiledMatrix(matrix, dtype="float64"),
                lambda: sley.TiledMatrix(matrix).renew(SQUARE)):
        with pytest.raises(sley.SleyArgumentError, match="float32"):
            job()


@pytest.mark.parametrize("library", ["torch", "jax", "sparse"])
def test_real_containers(library: str) -> None:
    module = pytest.importorskip(library)
    a = drawn(12, 8, 40, 3, "float32")
    if library == "torch":
        dense = module.from_numpy(dense_of(a))
        made = [dense.to_sparse_csr(), dense.to_sparse_csc(), dense.to_sparse(), dense.to_sparse_bsr((3, 2)), dense]
    elif library == "jax":
        kinds = importlib.import_module("jax.experimental.sparse")
        made = [kinds.BCOO.fromdense(dense_of(a), nse=60), kinds.BCSR.fromdense(dense_of(a))]
    else:
        made = [module.COO(dense_of(a)), *(module.GCXS.from_numpy(dense_of(a), compressed_axes=(i,)) for i in (0, 1))]
    for each in made:
        assert np.array_equal(sley.Matrix(each).to_scipy().toarray(), a.toarray())
