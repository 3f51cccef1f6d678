# SPDX-License-Identifier: Apache-2.0
"""Products without a plan: every call is right whatever is kept, and what is kept is bounded."""
import concurrent.futures
import gc
import multiprocessing
import os
import weakref
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from support import DTYPES, FORMATS, assert_product, dense_of, drawn, in_format
from test_process import in_child
from test_products import LAYOUTS, laid_out

import sley
from sley import _direct, _patch

hypothesis = pytest.importorskip("hypothesis")
given, settings, st = hypothesis.given, hypothesis.settings, hypothesis.strategies
EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    rows = draw(st.integers(0, 60))
    return {"rows": rows, "cols": draw(st.sampled_from([rows, draw(st.integers(0, 60))])),
            "nnz": draw(st.integers(0, 400)), "k": draw(st.sampled_from([0, 1, 2, 5, 8, 33])),
            "seed": draw(st.integers(0, 1000)), "dtype": draw(st.sampled_from(DTYPES)),
            "layout": draw(st.sampled_from([each for each in LAYOUTS if each != "list"])),
            "transpose": draw(st.booleans()), "threads": draw(st.sampled_from([0, 1, 3])),
            "vector": draw(st.booleans())}


def operands(case: dict[str, Any]) -> tuple[scipy.sparse.csr_array, np.ndarray, np.ndarray]:
    a = drawn(case["rows"], case["cols"], case["nnz"], case["seed"], case["dtype"])
    exact = dense_of(a).T if case["transpose"] else dense_of(a)
    x = np.random.default_rng(case["seed"]).uniform(-1, 1, (exact.shape[1], case["k"])).astype(case["dtype"])
    x = laid_out(x, case["layout"])
    return a, exact, x[:, 0] if case["vector"] and case["k"] else x


@EXAMPLES
@given(cases(), st.sampled_from([each for each in FORMATS if each != "csr"]))
def test_every_call_is_the_same(case: dict[str, Any], form: str) -> None:
    a, exact, x = operands(case)
    if case["dtype"] == "float16":
        form = "dense"
    matrix = sley.Matrix(a)
    with sley.threads(case["threads"]):
        for container in (matrix, a, in_format(a, form)):
            first = sley.spmm(container, x, transpose=case["transpose"])
            assert_product(first, exact, x, case["dtype"])
            for _ in range(7):
                assert np.array_equal(sley.spmm(container, x, transpose=case["transpose"]), first)
        plan = sley.Plan(matrix, 1 if x.ndim == 1 else x.shape[1], transpose=case["transpose"], reproducible=True)
        assert np.array_equal(plan(x), sley.spmm(matrix, x, transpose=case["transpose"]))
        if not case["transpose"]:
            assert np.array_equal(matrix @ x, sley.spmm(a, x))


def _as_source(a: scipy.sparse.csr_array, form: str, wide: bool) -> Any:
    """The same matrix in a form of SciPy whose arrays may be read in place, with columns of 32 or of 64 bits."""
    index = np.int64 if wide else np.int32
    if form == "unsorted":
        back = np.concatenate([np.arange(a.indptr[i + 1] - 1, a.indptr[i] - 1, -1) for i in range(a.shape[0])]
                              or [np.arange(0)])
        a = scipy.sparse.csr_array((a.data[back], a.indices[back], a.indptr), shape=a.shape)
    elif form == "repeated":
        twice = np.repeat(np.arange(a.nnz), 2)
        a = scipy.sparse.csr_array((a.data[twice] / 2, a.indices[twice], 2 * a.indptr), shape=a.shape)
    if form.startswith("coo"):
        made = (a.tocsc() if form == "coo by columns" else a).tocoo()
        turn = np.random.default_rng(1).permutation(made.nnz) if form == "coo" else slice(None)
        return scipy.sparse.coo_array((made.data[turn], (made.row[turn].astype(index), made.col[turn].astype(index))),
                                      shape=a.shape)
    made = a.tocsc() if form == "csc" else a
    for name in ("indices", "indptr"):
        setattr(made, name, getattr(made, name).astype(index))
    return made


SOURCES = ("csr", "csc", "unsorted", "repeated", "coo", "coo by rows", "coo by columns")


@EXAMPLES
@given(cases(), st.sampled_from(SOURCES), st.booleans(), st.booleans())
def test_arrays_of_scipy_are_read_in_place(case: dict[str, Any], form: str, wide: bool, fixed: bool) -> None:
    case["dtype"] = "float32" if case["dtype"] == "float16" else case["dtype"]
    a, exact, x = operands(case)
    given = _as_source(a, form, wide)
    if fixed and not form.startswith("coo"):
        for each in (given.data, given.indices, given.indptr):
            each.flags.writeable = False
    out = np.full((exact.shape[0], *x.shape[1:]), 3, x.dtype)
    with sley.threads(case["threads"]):
        first = sley.spmm(given, x, transpose=case["transpose"])
        assert_product(first, exact, x, case["dtype"])
        for _ in range(7):
            assert np.array_equal(sley.spmm(given, x, transpose=case["transpose"]), first)
        sley.spmm(given, x, transpose=case["transpose"], out=out, alpha=2.0, beta=-1.0)
    assert np.allclose(out, 2 * first.astype(np.float64) - 3, rtol=1e-4, atol=1e-4)


def _values(a: Any) -> None:
    a.data[:] = a.data[::-1].copy()


def _columns(a: Any) -> None:
    a.indices[:] = a.shape[1] - 1 - a.indices


def _pointers(a: Any) -> None:
    middle = len(a.indptr) // 2
    a.indptr[middle:-1] = a.indptr[middle - 1]


def _new_arrays(a: Any) -> None:
    a.data, a.indices, a.indptr = a.data * 3, a.indices.copy(), a.indptr.copy()


def _zeros(a: Any) -> None:
    a.data[::3] = 0
    a.eliminate_zeros()


def _resized(a: Any) -> None:
    a.data.resize(len(a.data) + 100, refcheck=False)
    a.indices.resize(len(a.indices) + 100, refcheck=False)


def _scaled(a: Any) -> None:
    a *= 2.5


CHANGES = {each.__name__: each for each in (_values, _columns, _pointers, _new_arrays, _zeros, _resized, _scaled)}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("k", [1, 4, 40])
@pytest.mark.parametrize("change", CHANGES)
def test_changes_in_place_are_seen(change: str, k: int, wide: bool) -> None:
    a = drawn(300, 300, 4000, 7)
    if wide:
        a.indptr, a.indices = a.indptr.astype(np.int64), a.indices.astype(np.int64)
    a.data, a.indices = a.data.copy(), a.indices.copy()  # which can be resized
    x = np.random.default_rng(1).uniform(-1, 1, (300, k))
    for _ in range(7):
        sley.spmm(a, x)
    CHANGES[change](a)
    wanted = scipy.sparse.csr_array((a.data.copy(), a.indices.copy(), a.indptr.copy()), shape=a.shape) @ x
    for _ in range(3):
        assert np.allclose(sley.spmm(a, x), wanted, rtol=1e-12, atol=1e-12)


def _known(a: Any) -> Any:
    return _direct._known[id(a)]


def test_a_matrix_of_scipy_is_recognised() -> None:
    sley.cache_clear()
    a = drawn(200, 200, 3000, 3)
    x = np.ones((200, 4))
    sley.spmm(a, x)
    assert _known(a).matrix is None  # the first product needs none
    sley.spmm(a, x)
    known = _known(a).matrix
    assert known is not None
    hits = sley.cache_info().hits
    for _ in range(4):
        sley.spmm(a, x)
    assert _known(a).matrix is known
    assert sley.cache_info().hits >= hits + 3
    assert sley.cache_info(known).bytes == 0  # its values may change
    gone = weakref.ref(known)
    del a, known
    gc.collect()
    assert gone() is None
    assert not _direct._known


def test_arrays_that_do_not_change_are_copied() -> None:
    a = drawn(200, 200, 3000, 3)
    a.data, a.indices, a.indptr = a.data.copy(), a.indices.copy(), a.indptr.copy()  # no views of arrays that may change
    for each in (a.data, a.indices, a.indptr):
        each.flags.writeable = False
    x = np.ones(200)
    for _ in range(7):
        assert np.allclose(sley.spmm(a, x), a @ x)
    assert sley.cache_info(_known(a).matrix).bytes > 0
    view = drawn(200, 200, 3000, 4)
    fixed = scipy.sparse.csr_array((view.data[:], view.indices[:], view.indptr[:]), shape=view.shape)
    for each in (fixed.data, fixed.indices, fixed.indptr):
        each.flags.writeable = False
    for _ in range(7):
        sley.spmm(fixed, x)
    view.data *= 2  # through another view of the same memory
    assert np.allclose(sley.spmm(fixed, x), view @ x)


def test_unsorted_and_repeated_entries() -> None:
    a = scipy.sparse.csr_array((np.array([1.0, 2, 3]), np.array([2, 0, 0]), np.array([0, 3, 3, 3])), shape=(3, 3))
    x = np.array([1.0, 10, 100])
    for _ in range(3):
        assert np.array_equal(sley.spmm(a, x), [105.0, 0, 0])
        assert np.array_equal(sley.spmm(a, np.outer(x, [1, 2])), [[105.0, 210], [0, 0], [0, 0]])
        assert np.array_equal(sley.spmm(a, x, transpose=True), [5.0, 0, 1])
        assert _known(a).matrix is None
    a.indices[1] = 7
    with pytest.raises(sley.SleyInputError, match="row 0: column 7"):
        sley.spmm(a, x)
    a.indices[1] = 0
    for wrong, said in ((99, "indptr goes from 0 to 99"), (1, "row 2: rowptr descends")):
        a.indptr[-1] = wrong
        with pytest.raises(sley.SleyError, match=said):
            sley.spmm(a, x)


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_ten_thousand_products_leak_nothing() -> None:
    x = np.ones((300, 5))
    kept = sley.Matrix(drawn(300, 300, 6000, 1))

    def products(count: int) -> None:
        for i in range(count):
            kept @ x
            if i % 10 == 0:
                a = drawn(300, 300, 6000, 1)
                one = sley.Matrix(a)
                for _ in range(7):
                    one @ x
                    sley.spmm(a, x)
                    sley.spmm(a.T, x)
                    sley.spmm(one, x, transpose=True)

    products(1000)
    gc.collect()
    before, products_before = _resident(), sley.cache_info().products
    products(10000)
    gc.collect()
    assert sley.cache_info().products <= products_before
    assert _resident() - before < 8 << 20  # 1000 matrices of 6000 entries have 70 MiB


def test_the_limit() -> None:
    limit = sley.cache_info().limit
    matrix, x = sley.Matrix(drawn(300, 300, 6000, 1)), np.ones((300, 5))
    try:
        for _ in range(7):
            matrix @ x
        assert sley.cache_info(matrix).bytes > 0
        sley.cache_limit(0)
        assert sley.cache_info().bytes == 0
        for _ in range(3):
            matrix @ x
            sley.spmm(matrix, x, transpose=True)
        assert sley.cache_info().bytes == 0
    finally:
        sley.cache_limit(limit)
    for _ in range(3):
        matrix @ x
    assert sley.cache_info(matrix).products == 2  # A X, and A^T X, for which nothing was kept
    sley.cache_clear(matrix)
    assert sley.cache_info(matrix).products == 0


def test_threads_and_a_fork() -> None:
    a = drawn(400, 400, 8000, 5)
    matrix, x = sley.Matrix(a), np.random.default_rng(2).uniform(-1, 1, (400, 9))
    wanted = matrix @ x

    def often(number: int) -> bool:
        with sley.threads(number % 3):
            return all(np.array_equal(matrix @ x, wanted) and np.array_equal(sley.spmm(a, x), wanted)
                       for _ in range(50))

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert all(pool.map(often, range(12)))
    assert in_child(lambda: np.array_equal(matrix @ x, wanted) and np.array_equal(sley.spmm(a, x), wanted)) == "True"


def _product_of(matrix: sley.Matrix) -> np.ndarray:
    x = np.arange(matrix.shape[1], dtype=matrix.dtype)
    return np.array([sley.spmm(each, x) for each in (matrix, matrix, matrix.to_scipy())])


def _by_processes(way: str, matrices: list[sley.Matrix]) -> list[np.ndarray]:
    if way == "joblib":
        made: list[np.ndarray] = pytest.importorskip("joblib").Parallel(2)(
            pytest.importorskip("joblib").delayed(_product_of)(each) for each in matrices)
        return made
    with multiprocessing.get_context(way).Pool(2) as pool:
        return pool.map(_product_of, matrices)


@pytest.mark.parametrize("way", ["fork", "spawn", "joblib"])
def test_pools_of_processes(way: str) -> None:
    matrices = [sley.Matrix(drawn(400, 400, 8000, seed)) for seed in range(4)]
    wanted = [_product_of(each) for each in matrices]  # before the fork
    assert np.array_equal(_by_processes(way, matrices), wanted)


@pytest.mark.parametrize("wrong", [-1, 1.5, "2", None, True])
def test_wrong_numbers_of_threads(wrong: Any) -> None:
    with pytest.raises(sley.SleyArgumentError, match="count is"), sley.threads(wrong):
        pass


def test_patch_scipy() -> None:
    a = drawn(500, 500, 8000, 6)
    spd = scipy.sparse.csr_array(a.T @ a + 500 * scipy.sparse.eye(500))
    spd.sort_indices()
    b = np.ones(500)
    wanted = scipy.sparse.linalg.cg(spd, b)[0]
    own = scipy.sparse.csr_array.__matmul__, [dict(vars(kind)) for kind in _patch._kinds()]
    with sley.patch_scipy(least=0) as outer:
        assert np.allclose(scipy.sparse.linalg.cg(spd, b)[0], wanted, rtol=1e-4)
        assert outer.products > 1
        with sley.patch_scipy() as inner:
            spd @ np.ones((500, 30))
            assert inner.products == 1
            spd @ np.ones(500, np.float32)
            spd @ np.ones(500, complex)
            spd.astype(np.int64) @ np.ones((500, 30), np.int64)
            assert inner.products == 1
        assert np.allclose(spd @ np.ones((500, 2)), spd.toarray() @ np.ones((500, 2)))
        spd.data *= 2
        assert np.allclose(spd @ b, spd.toarray() @ b)
    outer.undo()
    assert (scipy.sparse.csr_array.__matmul__, [dict(vars(kind)) for kind in _patch._kinds()]) == own
    with pytest.raises(sley.SleyArgumentError, match="least is"):
        sley.patch_scipy(least=-1)



def test_patched_transposes_and_sparse_products() -> None:
    a, few = drawn(300, 400, 20000, 6), drawn(300, 300, 900, 7)
    x = np.random.default_rng(3).uniform(-1, 1, (300, 5))
    with sley.patch_scipy(least=0) as patch:
        for _ in range(3):
            assert np.allclose(a.T @ x, a.toarray().T @ x)
            assert np.allclose(x.T @ a, x.T @ a.toarray())
            assert np.allclose(a.tocsc() @ np.ones(400), a.toarray() @ np.ones(400))
        assert patch.products == 9
        square = a @ scipy.sparse.csr_array(a.T)
        assert patch.products == 10
        assert isinstance(square, scipy.sparse.csr_array)
        assert square.indices.dtype == square.indptr.dtype == a.indices.dtype
        assert np.allclose(square.toarray(), a.toarray() @ a.toarray().T)
        square.data[:], square[0, 0] = 1, 2  # the result may be written
        assert np.allclose((few @ few).toarray(), few.toarray() @ few.toarray())
        assert np.allclose((a.astype(np.float32) @ a.T).toarray(), a.toarray() @ a.toarray().T, rtol=1e-4, atol=1e-4)
        scipy.sparse.csr_matrix(a) @ scipy.sparse.csr_matrix(a.T)
        assert patch.products == 11
