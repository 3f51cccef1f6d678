# SPDX-License-Identifier: Apache-2.0
"""Products beside float64 sums: every format, type, layout and size."""
from typing import Any

import numpy as np
import pytest
from support import DTYPES, FORMATS, assert_product, dense_of, drawn, in_format

import sley

hypothesis = pytest.importorskip("hypothesis")
given, settings, st = hypothesis.given, hypothesis.settings, hypothesis.strategies

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)
LAYOUTS = ("c", "fortran", "wide", "every second", "reversed", "broadcast", "unaligned", "read-only", "list")


def laid_out(x: np.ndarray, layout: str) -> Any:
    """The same values at other places in memory."""
    rows, k = x.shape
    if layout == "fortran":
        return np.asfortranarray(x)
    if layout in ("wide", "every second"):
        step = 2 if layout == "every second" else 1
        room = np.full((rows, step * k + 3), np.nan, x.dtype)
        room[:, 1 : 1 + step * k : step] = x
        return room[:, 1 : 1 + step * k : step]
    if layout == "reversed":
        return x[::-1].copy()[::-1]
    if layout == "broadcast":
        return np.broadcast_to(x[:1] if rows else x, x.shape)
    if layout == "unaligned":
        room = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
        room[...] = x
        return room
    if layout == "read-only":
        x = x.copy()
        x.flags.writeable = False
        return x
    return x.tolist() if layout == "list" else x


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    """Sizes, with empty ones, and everything that a product depends on."""
    rows = draw(st.integers(0, 40))
    cols = draw(st.sampled_from([rows, draw(st.integers(0, 40))]))
    return {"rows": rows, "cols": cols, "nnz": draw(st.integers(0, 200)),
            "k": draw(st.sampled_from([0, 1, 2, 3, 7, 33])), "seed": draw(st.integers(0, 1000)),
            "dtype": draw(st.sampled_from(DTYPES)),
            "format": draw(st.sampled_from(FORMATS)), "layout": draw(st.sampled_from(LAYOUTS)),
            "ranks": draw(st.sampled_from([1, 1, 2, 4])), "transpose": draw(st.booleans()),
            "algo": draw(st.sampled_from(["auto", "halo", "cover", "halo-pipelined"]))}


@EXAMPLES
@given(cases())
def test_spmm(case: dict[str, Any]) -> None:
    dtype = case["dtype"]
    a = drawn(case["rows"], case["cols"], case["nnz"], case["seed"], dtype)
    exact = dense_of(a).T if case["transpose"] else dense_of(a)
    x = np.random.default_rng(case["seed"]).uniform(-1, 1, (exact.shape[1], case["k"])).astype(dtype)
    x = laid_out(x, case["layout"])
    if case["layout"] == "list":  # of Python's numbers, which are float64
        x, dtype = np.asarray(x, np.float64).reshape(exact.shape[1], case["k"]), "float64"
    if dtype == "float16" and case["format"] not in ("csr", "csr_matrix", "dense"):
        case["format"] = "csr"  # scipy has no float16 in the others
    y = sley.spmm(in_format(a, case["format"]), x, ranks=case["ranks"], transpose=case["transpose"], algo=case["algo"])
    assert_product(y, exact, np.asarray(x), dtype)


@EXAMPLES
@given(cases(), st.sampled_from(["c", "fortran", "wide", "every second", "unaligned"]),
       st.sampled_from([0.0, 1.0, -0.5]), st.sampled_from([1.0, 2.0]))
def test_out(case: dict[str, Any], layout: str, beta: float, alpha: float) -> None:
    a = drawn(case["rows"], case["cols"], case["nnz"], case["seed"])
    rng = np.random.default_rng(case["seed"])
    x, y = rng.uniform(-1, 1, (case["cols"], case["k"])), rng.uniform(-1, 1, (case["rows"], case["k"]))
    wanted = alpha * (dense_of(a) @ x) + beta * y
    out = laid_out(y, layout)
    assert sley.spmm(a, x, out=out, alpha=alpha, beta=beta, ranks=case["ranks"]) is out
    assert np.allclose(out, wanted, rtol=1e-12, atol=1e-12)
    if layout == "wide":
        assert out.base is None or np.isnan(out.base[:, 0]).all()


@EXAMPLES
@given(cases(), st.booleans())
def test_sddmm(case: dict[str, Any], values: bool) -> None:
    dtype = case["dtype"]
    a = drawn(case["rows"], case["cols"], case["nnz"], case["seed"], dtype)
    rng = np.random.default_rng(case["seed"])
    u, v = (rng.uniform(-1, 1, (n, case["k"])).astype(dtype) for n in a.shape)
    layout = case["layout"] if case["layout"] != "list" else "c"
    u, v = laid_out(u, layout), laid_out(v, "c")
    s = sley.sddmm(a, u, v, values=values, ranks=case["ranks"])
    assert s.dtype == dtype and np.array_equal(s.indices, a.indices) and np.array_equal(s.indptr, a.indptr)
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    exact = np.sum(u.astype(np.float64)[row] * v.astype(np.float64)[a.indices], axis=1)
    exact = exact * a.data if values else exact
    unit = {"float16": 2e-3, "float32": 3e-7, "float64": 1e-15}[dtype]
    assert np.allclose(s.data, exact, rtol=0, atol=(case["k"] + 3) * unit)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_vector_is_one_column(ranks: int) -> None:
    a = drawn(30, 20, 100, 1)
    x = np.random.default_rng(1).random(40)[::2]
    y = sley.spmm(a, x, ranks=ranks)
    assert y.shape == (30,)
    assert_product(y, dense_of(a), x, "float64")
    assert np.array_equal(sley.spmm(a, x[:, None], ranks=ranks)[:, 0], y)
    assert np.array_equal(sley.Matrix(a) @ x, sley.spmm(a, x))


def test_types_are_promoted_as_numpy_does() -> None:
    a = drawn(10, 10, 40, 1, "float32")
    assert sley.spmm(a, np.ones((10, 2), np.float64)).dtype == np.float64
    assert sley.spmm(a.astype(np.int8), np.ones((10, 2), np.float32)).dtype == np.float32
    assert sley.spmm(a.astype(np.int64), np.ones((10, 2), np.int64)).dtype == np.float64
    assert (sley.Matrix(a) @ np.ones(10, np.int8)).dtype == np.float32
    with pytest.raises(sley.SleyArgumentError, match="x has values of type float64 and the matrix of float32"):
        sley.Matrix(a) @ np.ones(10)


def test_nothing_is_copied_that_can_be_read() -> None:
    from sley._dense import readable
    room = np.zeros((20, 9), np.float32)
    for x, ld in ((room, 9), (room[:, 2:7], 9), (room[::2], 18), (room[:1, ::2][:, :1], 1), (room[:, 3:4], 9)):
        made = readable(x, "x", np.dtype(np.float32))
        assert made.row(0) == x.__array_interface__["data"][0] and made.ld == ld
    for x in (room.T, room[::-1], room[:, ::2], np.broadcast_to(room[:1], (5, 9))):
        made = readable(x, "x", np.dtype(np.float32))
        assert not np.may_share_memory(made.array, room) and np.array_equal(made.array, x)


def test_out_that_overlaps_x() -> None:
    a = drawn(20, 20, 80, 1)
    room = np.random.default_rng(1).random((20, 5))
    x = room.copy()
    sley.spmm(a, room, out=room)
    assert_product(room, dense_of(a), x, "float64")


def test_bad_operands() -> None:
    a = drawn(20, 10, 80, 1)
    x = np.ones((10, 3))
    for bad, what in ((np.ones((9, 3)), "x has shape"), (np.ones((10, 3, 1)), "x must be"), (a, "x must be"),
                      (np.float64(1), "x must be"), (x.astype(object), "x has values of type object")):
        with pytest.raises((sley.SleyArgumentError, sley.SleyUnsupportedError), match=what):
            sley.spmm(a, bad)
    for out, what in ((np.ones((19, 3)), "out has shape"), (np.ones((20, 3), np.float32), "out must be writable"),
                      ([[0.0]], "out must be an ndarray"), (np.broadcast_to(0.0, (20, 3)), "read-only")):
        with pytest.raises(sley.SleyArgumentError, match=what):
            sley.spmm(a, x, out=out)
    with pytest.raises(sley.SleyArgumentError, match="beta needs out"):
        sley.spmm(a, x, beta=1.0)
    with pytest.raises(sley.SleyArgumentError, match="v has shape"):
        sley.sddmm(a, np.ones((20, 3)), np.ones((10, 4)))
    with pytest.raises(sley.SleyArgumentError, match="either ranks or comm"):
        sley.sddmm(a, np.ones((20, 3)), x, ranks=2, comm=sley.Comm(2))


def test_wire_rounds_within_its_bound() -> None:
    a, x = drawn(200, 200, 2000, 1), np.random.default_rng(1).random((200, 8))
    y = sley.spmm(a, x, ranks=4, wire="bf16", algo="halo-coalesced")
    error = np.abs(y - a @ x)
    assert error.max() > 1e-6 and np.all(error <= abs(a) @ x * 2.0**-7)


def test_reproducible_bits() -> None:
    a, x = drawn(300, 300, 9000, 1, "float32"), np.random.default_rng(1).random((300, 8)).astype(np.float32)
    made = [sley.spmm(a, x, ranks=ranks, reproducible=True) for ranks in (1, 2, 5)]
    assert np.array_equal(made[0], made[1]) and np.array_equal(made[0], made[2])


@pytest.mark.parametrize("ranks", [65, 100, 256])
def test_many_more_ranks_than_cores(ranks: int) -> None:
    """Ranks wait for Python, which keeps no other rank from running."""
    a, x = drawn(300, 300, 2000, 1), np.arange(900.0).reshape(300, 3)
    assert_product(sley.spmm(a, x, ranks=ranks), dense_of(a), x, "float64")
    assert np.array_equal(sley.spmm(np.eye(100), np.ones(100), ranks=ranks), np.ones(100))
