# SPDX-License-Identifier: Apache-2.0
"""Sparse products beside float64 sums, and beside scipy's."""
import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from support import DTYPES, FORMATS, assert_product, dense_of, drawn, in_format

import sley

hypothesis = pytest.importorskip("hypothesis")
given, settings, st = hypothesis.given, hypothesis.settings, hypothesis.strategies

SAME_ENTRIES = tuple(name for name in FORMATS if name not in ("bsr", "dia"))  # these store zeros of their own
EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    return {"rows": draw(st.integers(0, 40)), "inner": draw(st.integers(0, 40)), "cols": draw(st.integers(0, 90)),
            "nnz": draw(st.integers(0, 300)), "seed": draw(st.integers(0, 1000)),
            "dtype": draw(st.sampled_from(DTYPES)), "format": draw(st.sampled_from(SAME_ENTRIES)),
            "transpose": draw(st.booleans()), "masked": draw(st.booleans()), "threads": draw(st.integers(0, 4))}


@EXAMPLES
@given(cases())
def test_spgemm(case: dict[str, Any]) -> None:
    a = drawn(case["rows"], case["inner"], case["nnz"], case["seed"], case["dtype"])
    b = drawn(case["inner"], case["cols"], case["nnz"], case["seed"] + 1, case["dtype"])
    mask = drawn(case["rows"], case["cols"], case["nnz"], case["seed"] + 2)
    kept = {"mask": mask} if case["masked"] else {}
    given_b = dense_of(b).T.copy() if case["transpose"] else b
    if not case["transpose"] and case["dtype"] != "float16":  # which scipy converts in no format
        given_b = in_format(b, case["format"])
    c = sley.spgemm(sley.Matrix(a), given_b, transpose_b=case["transpose"], threads=case["threads"], **kept)
    made = c.to_scipy()
    places = dense_of(a).astype(bool).astype(int) @ dense_of(b).astype(bool).astype(int) > 0
    if case["masked"]:
        places &= _places(mask)
    assert np.array_equal(_places(made), places)
    assert all(np.all(np.diff(made.indices[first:last]) > 0) for first, last in itertools.pairwise(made.indptr))
    if not case["masked"]:
        assert_product(dense_of(made), dense_of(a), dense_of(b), case["dtype"])


def _places(a: scipy.sparse.csr_array) -> np.ndarray:
    made = np.zeros(a.shape, bool)
    made[np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)), a.indices] = True
    return made


@EXAMPLES
@given(cases())
def test_as_scipy(case: dict[str, Any]) -> None:
    a = drawn(case["rows"], case["inner"], case["nnz"], case["seed"])
    b = drawn(case["inner"], case["cols"], case["nnz"], case["seed"] + 1)
    expected = (a @ b).tocsr()
    expected.sort_indices()
    made = (sley.Matrix(a) @ sley.Matrix(b)).to_scipy()
    assert np.array_equal(made.indptr, expected.indptr)
    assert np.array_equal(made.indices, expected.indices)
    assert np.allclose(made.data, expected.data, rtol=1e-12, atol=1e-14)


def test_semirings() -> None:
    a = np.array([[1.0, 2.0], [0.0, 3.0]])
    expected = {"plus-times": [[1, 8], [9]], "plus-pair": [[1, 2], [1]], "min-plus": [[2, 3], [6]],
                "or-and": [[1, 1], [1]]}
    for semiring, rows in expected.items():
        c = sley.spgemm(a, a, semiring=semiring)
        assert c.data.tolist() == sum(rows, [])
        assert c.shape == (2, 2)


def test_triangles_of_a_clique() -> None:
    a = 1.0 - np.eye(9)
    assert sley.spgemm(a, a, semiring="plus-pair", mask=a).data.sum() / 6 == 84


def test_what_is_refused() -> None:
    a = sley.Matrix(np.eye(3))
    with pytest.raises(sley.SleyArgumentError, match="no semiring 'times'"):
        sley.spgemm(a, a, semiring="times")
    with pytest.raises(sley.SleyArgumentError, match="3 columns and B 2 rows"):
        sley.spgemm(a, np.eye(2))
    with pytest.raises(sley.SleyArgumentError, match="the mask is 2 x 2"):
        sley.spgemm(a, a, mask=np.eye(2))
    with pytest.raises(sley.SleyArgumentError, match="no device called \"abacus\""):
        sley.spgemm(a, a, device="abacus")
    with pytest.raises(sley.SleyMemoryError, match="mem_limit of 100 bytes"):
        sley.spgemm(a, a, mem_limit=100)
