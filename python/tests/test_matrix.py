# SPDX-License-Identifier: Apache-2.0
"""Matrices: what they are made of, what is copied and what is refused."""
import copy
import gc
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from support import DTYPES, FORMATS, dense_of, drawn, in_format

import sley
import sley.dist


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_csr_is_used_where_it_lies_if_it_is_not_copied(dtype: str, index: type) -> None:
    a = drawn(50, 40, 300, 1, dtype)
    data, indices, indptr = a.data, a.indices.astype(index), a.indptr.astype(np.int64)
    made = sley.Matrix.from_csr(indptr, indices, data, a.shape, copy=False)
    assert (address(made.data), address(made.indices), address(made.indptr)) == (
        address(data), address(indices), address(indptr))
    assert made.indices.dtype == index and made.dtype == dtype and made.shape == a.shape and made.nnz == a.nnz
    assert not made.data.flags.writeable


def test_scipys_own_csr_is_used_where_it_lies_if_it_is_not_copied() -> None:
    a = drawn(50, 40, 300, 1)
    made = sley.Matrix(a, copy=False)
    assert address(made.data) == address(a.data) and address(made.indices) == address(a.indices)
    back = made.to_scipy(copy=False)
    assert address(back.data) == address(a.data)
    assert (abs(back - a)).nnz == 0


@pytest.mark.parametrize("name", ["csr", "csc", "coo", "bsr", "dense"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_what_is_done_to_the_arrays_later_changes_no_matrix(name: str, ranks: int) -> None:
    a, x = drawn(50, 50, 300, 1), np.random.default_rng(1).random((50, 3))
    expected, given = a @ x, in_format(a, name)
    made, plan = sley.Matrix(given), sley.Plan(given, 3, ranks=ranks)
    arrays = [made.indptr.copy(), made.indices.copy(), made.data.copy()]
    of_others = [getattr(given, each) for each in ("indices", "row", "indptr") if hasattr(given, each)]
    for each in [given if name == "dense" else given.data, *of_others]:
        each[...] = 10**6
    assert np.allclose(plan(x), expected) and np.allclose(sley.spmm(made, x, ranks=ranks), expected)
    assert all(map(np.array_equal, arrays, (made.indptr, made.indices, made.data)))
    plan.close()


def test_from_csr_copies_lists_widened_and_offset_arrays() -> None:
    for index in (np.int32, np.int64):
        indptr, indices, data = np.array([1, 2, 3], index), np.array([9, 0, 1], index), np.array([9.0, 1, 2])
        made = sley.Matrix.from_csr(indptr, indices, data, (2, 2))
        for each in (indptr, indices, data):
            each[:] = 7
        assert made.to_scipy().toarray().tolist() == [[1, 0], [0, 2]]


def writes(result: scipy.sparse.csr_array) -> None:
    before = result.toarray()
    result.data *= 2
    result.data[0] = 0
    result.eliminate_zeros()
    result.sort_indices()
    result.sum_duplicates()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result[0, 0] = 1
    assert np.count_nonzero(result.toarray() - before)


def test_results_for_scipy_are_written_and_change_nothing_else(tmp_path: Path) -> None:
    a, x = drawn(20, 20, 80, 1), np.ones((20, 2))
    sley.write(a, tmp_path / "a.sley")
    lent = sley.Matrix(a, copy=False)
    with sley.TiledMatrix(a) as tiled:
        made = [sley.spgemm(a, a), sley.read(tmp_path / "a.sley"), sley.Matrix(a), sley.Matrix(a).T, lent,
                sley.Matrix(a).permute(sley.order(a)), sley.generate("er:n=20,nnz=80"), tiled.gather(),
                tiled.get_tile(0, 0), sley.Matrix.from_csr([1, 2, 3], [9, 0, 1], [9.0, 1.0, 2.0], (2, 2))]
    for each in made:
        before = each.to_scipy().toarray()
        writes(each.to_scipy())
        assert np.array_equal(each.to_scipy().toarray(), before)
        with pytest.raises(ValueError, match="read-only"):
            each.to_scipy(copy=False).data[0] = 1
    sampled = sley.sddmm(lent, x, x)
    writes(sampled)
    assert np.array_equal(lent.to_scipy().toarray(), a.toarray())
    for array in (sley.order(a), sley.partition(a, 2), sley.spmm(a, x)):
        array[0] += 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_outlive_the_matrix(dtype: str) -> None:
    a = drawn(20, 30, 80, 1, dtype)
    for make in (lambda: sley.Matrix(a), lambda: sley.Matrix(a, copy=False), lambda: sley.Matrix(a).T.T,
                 lambda: sley.Matrix.from_csr(np.append(a.indptr[:1], a.indptr), a.indices, a.data, (21, 30))):
        made = make()
        expected = dense_of(made.to_scipy())
        copies = [copy.copy(made), copy.deepcopy(made), copy.deepcopy([made])[0],
                  *(pickle.loads(pickle.dumps(made, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1))]
        del made
        gc.collect()
        for each in copies:
            assert type(each) is sley.Matrix and each.dtype == dtype
            assert np.array_equal(dense_of(each.to_scipy()), expected)
    rows = pickle.loads(pickle.dumps(sley.dist.Rows(sley.Matrix(a), np.array([0, 20]))))
    assert np.array_equal(dense_of(rows.matrix.to_scipy()), dense_of(a))
    lent = sley.Matrix(a, copy=False)
    own = copy.deepcopy(lent)
    a.data *= 2
    assert np.array_equal(own.data * np.array(2, dtype), lent.data)


def test_arrays_live_as_long_as_they_are_used() -> None:
    a = drawn(500, 400, 3000, 1)
    data = sley.Matrix(a).T.data
    assert np.array_equal(data, a.tocsc().data)
    b = drawn(500, 400, 3000, 2)
    assert np.array_equal(sley.Matrix(b).T.T.to_scipy().toarray(), b.toarray())
    assert np.array_equal(data, a.tocsc().data)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_format(name: str, dtype: str) -> None:
    a = drawn(17, 23, 90, 2, dtype)
    made = sley.Matrix(in_format(a, name))
    assert made.dtype == dtype
    assert np.array_equal(made.to_scipy().toarray(), a.toarray())


def test_unsorted_rows_are_sorted_into_a_copy() -> None:
    indices = np.array([3, 0, 2, 1])
    made = sley.Matrix.from_csr([0, 2, 4], indices, [1.0, 2.0, 3.0, 4.0], (2, 4))
    assert made.indices.tolist() == [0, 3, 1, 2] and made.data.tolist() == [2.0, 1.0, 4.0, 3.0]
    assert indices.tolist() == [3, 0, 2, 1]


def test_entries_of_the_same_place_are_added_up() -> None:
    made = sley.Matrix.from_coo([0, 0, 1], [2, 2, 0], [1.0, 2.0, 5.0], (2, 3))
    assert made.to_scipy().toarray().tolist() == [[0, 0, 3], [5, 0, 0]]


def test_row_pointers_may_begin_later() -> None:
    made = sley.Matrix.from_csr([1, 2, 3], [9, 0, 1], [9.0, 1.0, 2.0], (2, 2))
    assert made.nnz == 2 and made.to_scipy().toarray().tolist() == [[1, 0], [0, 2]]
    assert (made @ np.ones(2)).tolist() == [1, 2]


@pytest.mark.parametrize(("given", "kept"), [("bool", "float32"), ("int8", "float32"), ("uint16", "float32"),
                                            ("int32", "float64"), ("int64", "float64"), (">f4", "float32"),
                                            (">f8", "float64")])
def test_other_types_become_one_that_holds_them(given: str, kept: str) -> None:
    made = sley.Matrix.from_csr([0, 1, 2], [0, 1], np.array([1, 0]).astype(given), (2, 2))
    assert made.dtype == kept and made.data.tolist() == [1, 0]


def test_overflow_is_refused() -> None:
    rows = [0, 1], [0]
    with pytest.raises(sley.SleyOverflowError, match="float32"):
        sley.Matrix.from_csr(*rows, [1e39], (1, 1), dtype="float32")
    with pytest.raises(sley.SleyOverflowError, match="float16"):
        sley.Matrix.from_csr(*rows, [70000], (1, 1), dtype="float16")
    for beyond in [2**53 + 1, 2**53 + 2, -(2**53) - 1, -(2**63), np.uint64(2**63)]:
        with pytest.raises(sley.SleyOverflowError, match="2\\^53"):
            sley.Matrix.from_csr(*rows, [beyond], (1, 1))
        with pytest.raises(sley.SleyOverflowError, match="2\\^53"):
            sley.spmm(scipy.sparse.csr_array(np.eye(1)), np.array([[beyond]]))
        with pytest.raises(sley.SleyOverflowError, match="2\\^53"):
            sley.spmm(scipy.sparse.csr_array(np.array([[beyond]])), np.ones((1, 2)))
    assert sley.Matrix.from_csr(*rows, [-(2**53)], (1, 1)).data[0] == -(2**53)
    with pytest.raises(OverflowError, match="indices: a number is beyond"):
        sley.Matrix.from_csr([0, 1], np.array([2**63], np.uint64), [1.0], (1, 1))
    assert sley.Matrix.from_csr(*rows, [np.inf], (1, 1), dtype="float32").data[0] == np.inf
    assert sley.Matrix.from_csr(*rows, [65504.0], (1, 1), dtype="float16").data[0] == 65504


def test_what_is_no_matrix_is_refused() -> None:
    with pytest.raises(sley.SleyUnsupportedError, match="complex128"):
        sley.Matrix(np.eye(2) * 1j)
    with pytest.raises(sley.SleyUnsupportedError, match="complex64"):
        sley.Matrix(scipy.sparse.csr_array(np.eye(2, dtype=np.complex64)))
    with pytest.raises(sley.SleyArgumentError, match="two dimensions"):
        sley.Matrix(np.ones(3))
    with pytest.raises(sley.SleyArgumentError, match="int16"):
        sley.Matrix(np.eye(2), dtype="int16")
    with pytest.raises(sley.SleyArgumentError, match="a sley.Matrix already"):
        sley.Matrix(sley.Matrix(np.eye(2)))
    with pytest.raises(sley.SleyArgumentError, match="indices: expected"):
        sley.Matrix.from_csr([0, 1], [0.5], [1.0], (1, 1))


def test_what_is_wrong_in_csr_is_refused() -> None:
    with pytest.raises(sley.SleyInputError, match="row 1"):
        sley.Matrix.from_csr([0, 1, 2], [0, 7], [1.0, 1.0], (2, 2))
    with pytest.raises(sley.SleyInputError):
        sley.Matrix.from_csr([0, 2, 1, 2], [0, 1], [1.0, 1.0], (3, 2))
    with pytest.raises(sley.SleyArgumentError, match="expected \\(3,\\)"):
        sley.Matrix.from_csr([0, 1], [0], [1.0], (2, 2))
    with pytest.raises(sley.SleyArgumentError, match="from 0 to 5"):
        sley.Matrix.from_csr([0, 5], [0], [1.0], (1, 1))
    with pytest.raises(sley.SleyArgumentError, match="from -1"):
        sley.Matrix.from_csr([-1, 1], [0], [1.0], (1, 1))
    with pytest.raises(sley.SleyArgumentError):
        sley.Matrix.from_coo([5], [0], [1.0], (2, 2))


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0), (3, 5)])
def test_empty_matrices(shape: tuple[int, int]) -> None:
    made = sley.Matrix(scipy.sparse.csr_array(shape))
    assert (made.shape, made.nnz, made.data.size, made.T.shape) == (shape, 0, 0, shape[::-1])
    assert made.to_scipy().shape == shape


def test_transpose_and_permute() -> None:
    a = drawn(20, 30, 100, 3)
    made = sley.Matrix(a)
    assert np.array_equal(made.T.to_scipy().toarray(), a.toarray().T)
    rows, cols = np.random.default_rng(1).permutation(20), np.random.default_rng(2).permutation(30)
    wanted = np.zeros(a.shape)
    wanted[np.ix_(rows, cols)] = a.toarray()
    assert np.array_equal(made.permute(rows, cols).to_scipy().toarray(), wanted)
    assert np.array_equal(made.permute().to_scipy().toarray(), a.toarray())
    with pytest.raises(sley.SleyArgumentError, match="expected 20 numbers"):
        made.permute(cols)
    with pytest.raises(sley.SleyArgumentError):
        made.permute(np.zeros(20, np.int64))


def test_undirected() -> None:
    a = drawn(25, 25, 120, 4)
    dense, there = a.toarray(), (a != 0).toarray()
    both = there + there.T.astype(int)
    wanted = np.where(both > 0, (dense + dense.T) / np.maximum(both, 1), 0)
    made = sley.Matrix(a).undirected()
    assert np.array_equal(made.to_scipy().toarray(), wanted.astype(a.dtype))
    assert made.nnz == np.count_nonzero(both)
    with pytest.raises(ValueError, match="square"):
        sley.Matrix(drawn(2, 3, 3, 1)).undirected()


@pytest.mark.parametrize("ending", ["sley", "npz", "mtx", "mtx.gz", "mtx.zst", "rb"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_files(tmp_path: Path, ending: str, dtype: str) -> None:
    a = drawn(30, 20, 100, 4, dtype)
    path = tmp_path / f"a.{ending}"
    sley.write(a, path)
    made = sley.read(path)
    stored = ending in ("sley", "npz")
    assert made.dtype == (dtype if stored else "float64")
    assert np.allclose(made.to_scipy().toarray(), dense_of(a), rtol=1e-6)
    assert sley.read(path, dtype="float32").dtype == "float32"


def test_scipy_reads_what_is_written(tmp_path: Path) -> None:
    a = drawn(30, 20, 100, 4)
    sley.write(a, tmp_path / "a.npz")
    assert abs(scipy.sparse.load_npz(tmp_path / "a.npz") - a).nnz == 0


def test_format_and_base(tmp_path: Path) -> None:
    edges = tmp_path / "edges.el"
    edges.write_text("1 2\n2 3\n")
    a = sley.read(edges)
    assert a.shape == (3, 3)
    assert a.source is not None and (a.source.format, a.source.base, a.source.unread_lines) == ("edgelist", 1, 0)
    assert a.source.base_reason is not None and "smallest" in a.source.base_reason
    assert sley.read(edges, base=0).shape == (4, 4)
    assert sley.read(edges, format="edgelist", base=1).shape == (3, 3)
    assert {"mtx", "edgelist"} <= set(sley.formats())
    with pytest.raises(sley.SleyInputError, match="MatrixMarket"):
        sley.read(edges, format="mtx")
    with pytest.raises(sley.SleyArgumentError, match="no format is named 'excel'"):
        sley.read(edges, format="excel")
    with pytest.raises(sley.SleyArgumentError, match="base is 2"):
        sley.read(edges, base=2)
    assert sley.generate("diag:n=3").source is None
    assert a.T.source is None


def test_bad_files(tmp_path: Path) -> None:
    broken = tmp_path / "broken.mtx"
    broken.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 9 1.0\n")
    with pytest.raises(sley.SleyInputError, match="broken.mtx:3"):
        sley.read(broken)
    with pytest.raises(sley.SleyIOError, match="nowhere.mtx.*No such file"):
        sley.read(tmp_path / "nowhere.mtx")
    with pytest.raises(sley.SleyArgumentError):
        sley.write(np.eye(2), tmp_path / "a.unknown")


def test_generators() -> None:
    a = sley.generate("er:n=100,nnz=500", dtype="float32", seed=3)
    assert a.shape == (100, 100) and a.dtype == "float32"
    again = sley.generate("er:n=100,nnz=500", dtype="float32", seed=3)
    assert np.array_equal(a.indices, again.indices)
    assert not np.array_equal(a.indices[:50], sley.generate("er:n=100,nnz=500", seed=4).indices[:50])
    with pytest.raises(sley.SleyArgumentError, match="no generator"):
        sley.generate("graph.mtx")


def test_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = sley.Matrix(drawn(10, 10, 30, 5), dtype=ml_dtypes.bfloat16)
    assert a.dtype == ml_dtypes.bfloat16 and a.data.dtype == ml_dtypes.bfloat16
    y = a @ np.ones((10, 3), ml_dtypes.bfloat16)
    assert np.allclose(y.astype(float), dense_of(drawn(10, 10, 30, 5)) @ np.ones((10, 3)), atol=0.05)


def test_how_it_looks() -> None:
    made = sley.Matrix(np.eye(3))
    assert repr(made) == "<sley.Matrix 3 x 3, 3 nonzeros, float64>"
    assert "<td" in made._repr_html_() and "nonzeros" in made._repr_html_()
