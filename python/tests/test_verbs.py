# SPDX-License-Identifier: Apache-2.0
"""SciPy's verbs on a Matrix, beside NumPy in float64."""
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from support import dense_of, drawn

import sley

hypothesis = pytest.importorskip("hypothesis")
given, settings, st = hypothesis.given, hypothesis.settings, hypothesis.strategies
EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)
TOLERANCE = {"float16": 2e-2, "float32": 1e-5, "float64": 1e-12}


@st.composite
def matrices(draw: Any) -> scipy.sparse.csr_array:
    return drawn(draw(st.integers(1, 20)), draw(st.integers(1, 20)), draw(st.integers(0, 120)),
                 draw(st.integers(0, 1000)), draw(st.sampled_from(sorted(TOLERANCE))))


def near(made: Any, wanted: np.ndarray, dtype: Any) -> None:
    made = made.toarray() if isinstance(made, sley.Matrix) else np.asarray(made)
    assert made.dtype == dtype
    assert made.shape == wanted.shape
    assert np.allclose(made.astype(np.float64), wanted, rtol=TOLERANCE[np.dtype(dtype).name],
                       atol=TOLERANCE[np.dtype(dtype).name] * 10)


@EXAMPLES
@given(matrices(), st.data())
def test_verbs(a: scipy.sparse.csr_array, data: Any) -> None:
    m, d = sley.Matrix(a), dense_of(a).astype(np.float64)
    t = m.dtype
    near(m.toarray(), d, t)
    near(m + m, 2 * d, t)
    near(m - 2 * m, -d, t)
    near(-m / 4, -d / 4, t)
    near(m * m, d * d, t)
    near(m * d.astype(t), d * d, t)
    near(m + d.astype(t), 2 * d, t)
    near(d.astype(t) - m, 0 * d, t)
    near(m + m.astype(np.float64), 2 * d, np.float64)
    near(m.sum(), d.sum(), t)
    near(m.sum(axis=0), d.sum(axis=0), t)
    near(m.sum(axis=1), d.sum(axis=1), t)
    near(m.T, d.T, t)
    k = data.draw(st.integers(-3, 3))
    if -d.shape[0] < k < d.shape[1]:
        near(m.diagonal(k), d.diagonal(k), t)
    assert (len(m), m.ndim) == (d.shape[0], 2)
    near(np.concatenate([each.toarray() for each in m]), d, t)


@EXAMPLES
@given(matrices(), st.data())
def test_rows(a: scipy.sparse.csr_array, data: Any) -> None:
    m, d = sley.Matrix(a), dense_of(a).astype(np.float64)
    rows = d.shape[0]
    i = data.draw(st.integers(-rows, rows - 1))
    near(m[i], d[i].reshape(1, -1), m.dtype)
    ends = st.none() | st.integers(-25, 25)
    some = slice(data.draw(ends), data.draw(ends), data.draw(st.sampled_from([None, 1, 2, -1, -3])))
    near(m[some], d[some], m.dtype)
    near(m[some, :], d[some], m.dtype)
    chosen = data.draw(st.lists(st.integers(-rows, rows - 1), min_size=1, max_size=9))
    near(m[chosen], d[chosen], m.dtype)
    near(m[d[:, 0] != 0], d[d[:, 0] != 0], m.dtype)
    j = data.draw(st.integers(0, d.shape[1] - 1))
    assert m[i, j] == d[i, j]
    assert m[i, j].dtype == m.dtype


@EXAMPLES
@given(matrices(), st.integers(0, 5), st.integers(0, 99))
def test_products_on_both_sides(a: scipy.sparse.csr_array, k: int, seed: int) -> None:
    m, d = sley.Matrix(a), dense_of(a).astype(np.float64)
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(-1, 1, (d.shape[1], k)), rng.uniform(-1, 1, (k, d.shape[0]))
    x, z = x.astype(m.dtype), z.astype(m.dtype)
    near(m @ x, d @ x, m.dtype)
    near(m.dot(x), d @ x, m.dtype)
    near(m.matmat(x), d @ x, m.dtype)
    near(z @ m, z @ d, m.dtype)
    near(m.rmatmat(z.T), d.T @ z.T, m.dtype)
    if k:
        near(m.matvec(x[:, 0]), d @ x[:, 0], m.dtype)
        near(z[0] @ m, z[0] @ d, m.dtype)
        near(m.rmatvec(z[0]), d.T @ z[0], m.dtype)
    if m.dtype != np.float16:
        near(m.T @ m, d.T @ d, m.dtype)
        near(a.T @ m, d.T @ d, m.dtype)
        near(m.T @ a, d.T @ d, m.dtype)


@EXAMPLES
@given(matrices(), st.integers(0, 5), st.integers(0, 99), st.booleans())
def test_complex_values(a: scipy.sparse.csr_array, k: int, seed: int, transpose: bool) -> None:
    if a.dtype == np.float16:
        a = scipy.sparse.csr_array(a.astype(np.float32))
    d = dense_of(a).astype(np.float64)
    d = d.T if transpose else d
    rng = np.random.default_rng(seed)
    z = rng.uniform(-1, 1, (d.shape[1], k)) + 1j * rng.uniform(-1, 1, (d.shape[1], k))
    for x in (z, z[:, 0]) if k else (z,):
        made = sley.spmm(a, x, transpose=transpose)
        assert made.dtype == np.complex128
        assert np.allclose(made, d @ x, rtol=1e-6, atol=1e-6)
        if a.dtype == np.float32:
            assert sley.spmm(sley.Matrix(a), x.astype(np.complex64), transpose=transpose).dtype == np.complex64
    made = sley.spmm(a * (1 - 2j), z, transpose=transpose, alpha=2)
    assert np.allclose(made, 2 * (d * (1 - 2j)) @ z, rtol=1e-6, atol=1e-6)


def test_linear_operators() -> None:
    a = drawn(60, 60, 500, 3)
    spd = scipy.sparse.csr_array(a.T @ a + scipy.sparse.eye(60))
    m, b = sley.Matrix(spd), np.ones(60)
    linalg = scipy.sparse.linalg
    operator = linalg.aslinearoperator(m)
    assert operator.shape == (60, 60)
    assert np.allclose(operator.H @ b, spd.T @ b)
    assert np.allclose((operator + operator) @ b, 2 * (spd @ b))
    assert np.allclose(spd @ linalg.cg(m, b)[0], b, atol=1e-3)
    assert np.allclose(spd @ linalg.gmres(m, b)[0], b, atol=1e-3)
    assert np.allclose(linalg.eigsh(m, k=3)[0], linalg.eigsh(spd, k=3)[0])
    assert np.allclose(np.sort(linalg.svds(sley.Matrix(a), k=3)[1]), np.sort(linalg.svds(a, k=3)[1]))
    found = linalg.lobpcg(m, np.random.default_rng(1).random((60, 2)), tol=1e-8, maxiter=200)[0]
    assert np.allclose(np.sort(found), np.sort(linalg.eigsh(spd, k=2)[0]))


REFUSED: dict[str, tuple[Callable[[sley.Matrix], Any], type[Exception], str]] = {
    "scalar": (lambda m: m + 1, sley.SleyUnsupportedError, "the sum"),
    "complex": (lambda m: m * 1j, sley.SleyUnsupportedError, "complex"),
    "quotient": (lambda m: m / m, sley.SleyUnsupportedError, "not sparse"),
    "row": (lambda m: m[99], sley.SleyArgumentError, "index 99"),
    "text": (lambda m: m["a"], sley.SleyArgumentError, "index 'a'"),
    "axis": (lambda m: m.sum(3), sley.SleyArgumentError, "axis is 3"),
    "shapes": (lambda m: m + m[:2], sley.SleyArgumentError, "shapes"),
    "type": (lambda m: m.astype("int32"), sley.SleyArgumentError, "float32, float64, float16, bfloat16"),
    "beyond": (lambda m: (m * 1e30).astype("float16"), sley.SleyOverflowError, "float16"),
    "rows of x": (lambda m: m @ np.ones((2, 2)), sley.SleyArgumentError, "x has shape"),
    "objects": (lambda m: m @ np.ones((5, 2), object), sley.SleyArgumentError, "x has values of type object"),
    "none": (lambda m: m @ None, sley.SleyArgumentError, "x is a"),
    "left": (lambda m: np.ones((2, 9)) @ m, sley.SleyArgumentError, "x has shape"),
    "longer integers": (lambda m: m @ np.full(5, 2**60), sley.SleyOverflowError, "beyond 2"),
    "complex out": (lambda m: sley.spmm(m, np.ones((5, 1), complex), out=np.ones((5, 1))), sley.SleyUnsupportedError,
                    "leave out out"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    call, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        call(sley.Matrix(drawn(5, 5, 12, 1)))
    assert np.asarray(sley.Matrix(np.eye(3))).shape == ()
