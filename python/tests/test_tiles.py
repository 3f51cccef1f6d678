# SPDX-License-Identifier: Apache-2.0
"""Matrices in tiles: every tile, new values, and products, beside scipy's and float64 sums."""
import gc
import threading
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from support import DTYPES, assert_product, dense_of, drawn

import sley

hypothesis = pytest.importorskip("hypothesis")
given, settings, st = hypothesis.given, hypothesis.settings, hypothesis.strategies

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)
ALGOS = ("tile-c", "tile-a", "tile-b", "tile-c-steal", "tile-c-steal-local", "tile-a-steal", "tile-a-steal-local",
         "tile-b-steal", "tile-b-steal-local", "tile-summa", "tile-two-level")
A = drawn(60, 45, 700, 3)
X = np.random.default_rng(3).uniform(-1, 1, (45, 7))


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    """Sizes, with empty ones, tiles beyond the matrix's rows, and grids of every shape."""
    ranks = draw(st.integers(1, 6))
    down = draw(st.sampled_from([each for each in range(1, ranks + 1) if ranks % each == 0]))
    return {"rows": draw(st.integers(0, 40)), "inner": draw(st.integers(0, 40)), "nnz": draw(st.integers(0, 200)),
            "k": draw(st.sampled_from([0, 1, 2, 3, 7, 33])), "seed": draw(st.integers(0, 1000)),
            "dtype": draw(st.sampled_from(DTYPES)), "columns": draw(st.integers(0, 4)),
            "algo": draw(st.sampled_from(ALGOS)),
            "division": {"ranks": ranks, "grid": draw(st.sampled_from([None, (down, ranks // down)])),
                         "tiles": draw(st.sampled_from([None, 1, 3, (5, 2), (9, 7), (45, 1)]))}}


def operands(case: dict[str, Any]) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    a = drawn(case["rows"], case["inner"], case["nnz"], case["seed"], case["dtype"])
    x = np.random.default_rng(case["seed"]).uniform(-1, 1, (case["inner"], case["k"])).astype(case["dtype"])
    return a, x


def all_tiles(t: sley.TiledMatrix) -> np.ndarray:
    """The matrix, put together of its tiles, which are all on their way before the first is waited for."""
    whole = np.full(t.shape, np.nan, t.dtype)
    later = [t.get_tile_later(i, j) for i in range(t.info.tiles[0]) for j in range(t.info.tiles[1])]
    for each in later:
        info, tile = each.info, each.result()
        assert each.result() is tile and tile.shape == (info.rows, info.cols)
        assert 0 <= info.rank < t.comm.size
        if t.sparse:
            assert tile.nnz == info.entries
            tile = dense_of(tile.to_scipy())
        whole[info.first_row : info.first_row + info.rows, info.first_col : info.first_col + info.cols] = tile
    return whole


@EXAMPLES
@given(cases())
def test_tiles_are_the_matrix(case: dict[str, Any]) -> None:
    a, x = operands(case)
    for matrix, values in ((a, dense_of(a)), (x, x)):
        with sley.TiledMatrix(matrix, **case["division"]) as t:
            assert t.shape == values.shape and t.dtype == values.dtype and t.sparse == (matrix is a)
            assert t.info.entries == (a.nnz if matrix is a else x.size) >= t.info.rank_entries >= t.info.tile_entries
            assert np.array_equal(all_tiles(t), values)
            t.renew(matrix * np.dtype(case["dtype"]).type(2) if matrix is x else doubled(a))
            whole = t.gather()
            assert np.array_equal(dense_of(whole.to_scipy()) if t.sparse else whole, 2 * values)


def doubled(a: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array((a.data * a.dtype.type(2), a.indices, a.indptr), shape=a.shape)


@EXAMPLES
@given(cases())
def test_spmm(case: dict[str, Any]) -> None:
    a, x = operands(case)
    with sley.TiledMatrix(a, **case["division"]) as t:
        y = sley.spmm(t, x, algo=case["algo"], columns=case["columns"])
        assert_product(y.gather(), dense_of(a), x, case["dtype"])
        whole = sley.spmm(sley.Matrix(a), x, algo=case["algo"], columns=case["columns"], **case["division"])
        assert np.array_equal(whole, y.gather())
        assert len(y.reports) == case["division"]["ranks"]
        assert sum(each.flops for each in y.reports) == 2 * a.nnz * case["k"]
        assert all(each.predicted == each.counted for each in y.reports) or "steal" in case["algo"]


@EXAMPLES
@given(cases())
def test_spgemm(case: dict[str, Any]) -> None:
    a, _ = operands(case)
    b = drawn(case["inner"], case["k"], case["nnz"], case["seed"] + 1, case["dtype"])
    with sley.TiledMatrix(a, **case["division"]) as t:
        c = sley.spgemm(t, b, columns=case["columns"])
        made = c.gather()
        whole = sley.spgemm(a, b, algo="tile-c", columns=case["columns"], **case["division"])
        assert all(map(np.array_equal, made._arrays(), whole._arrays()))
        assert_product(dense_of(made.to_scipy()), dense_of(a), dense_of(b), case["dtype"])
        alone = sley.spgemm(sley.Matrix(a), sley.Matrix(b))
        assert np.array_equal(made.indptr, alone.indptr) and np.array_equal(made.indices, alone.indices)
        assert len(c.reports) == case["division"]["ranks"]
        assert sum(each.flops for each in c.reports) == 2 * int((np.diff(b.indptr)[a.indices]).sum())


@EXAMPLES
@given(cases())
def test_new_values_of_tiles(case: dict[str, Any]) -> None:
    a, x = operands(case)
    for matrix, values in ((a, dense_of(a)), (x, x)):
        with sley.TiledMatrix(matrix, **case["division"]) as t:
            wanted = values.copy()
            for i, j in np.ndindex(*t.info.tiles):
                if (i + j) % 2 == 0:
                    tile, info = t.get_tile(i, j), t.tile_info(i, j)
                    t.put_tile(i, j, 2 * (tile.data if t.sparse else tile))
                    wanted[info.first_row : info.first_row + info.rows,
                           info.first_col : info.first_col + info.cols] *= 2
            assert np.array_equal(all_tiles(t), wanted)


def test_a_product_is_made_again() -> None:
    with sley.TiledMatrix(A, ranks=4, tiles=4) as t, sley.TileProduct(t, X, algo="tile-a") as product:
        assert product.reports == () and np.all(product.y.gather() == 0)
        for _ in range(3):
            y = product.run()
        assert y is product.y and y.reports == product.reports and len(y.reports) == 4
        assert_product(y.gather(), dense_of(A), X, "float64")
        product.x.renew(2 * X)
        assert np.allclose(product.run(alpha=0.5, beta=1.0).gather(), 2 * (A @ X))
        t.renew(A * 3)
        assert np.allclose(product.run().gather(), 6 * (A @ X))
        parts = product.reports[0]
        assert parts.total_ms == pytest.approx(parts.compute_ms + parts.communicate_ms + parts.accumulate_ms
                                               + parts.imbalance_ms)


def test_products_of_products() -> None:
    square = drawn(50, 50, 400, 9)
    with sley.TiledMatrix(square, ranks=4) as t:
        y = sley.spmm(t, np.ones(50))
        assert y.shape == (50, 1)
        assert np.allclose(sley.spmm(t, y).gather()[:, 0], square @ (square @ np.ones(50)))
        c = sley.spgemm(sley.spgemm(t, t), square)
        assert np.allclose(dense_of(c.gather().to_scipy()), (square @ square @ square).toarray())
    assert y.closed and c.closed


def test_semirings_and_algorithms() -> None:
    assert tuple(sley.tile_algorithms()) == ALGOS and all(sley.tile_algorithms().values())
    a = np.array([[1.0, 2.0], [0.0, 3.0]])
    for algo in ALGOS:
        c = sley.spgemm(a, a, semiring="min-plus", ranks=2, algo=algo, buffers=2)
        assert c.data.tolist() == [2, 3, 6]
    with pytest.raises(sley.SleyArgumentError, match="tile-d"):
        sley.spgemm(a, a, algo="tile-d")


@pytest.mark.parametrize("algo", ALGOS)
def test_masks_and_limits(algo: str) -> None:
    square, mask = drawn(50, 50, 400, 9), drawn(50, 50, 60, 10)
    expected = (square @ square).toarray() * (mask.toarray() != 0)
    with sley.TiledMatrix(square, ranks=4, tiles=5) as t, \
         sley.TiledMatrix(mask, comm=t.comm, grid=(2, 2), tiles=(5, 2), dtype=np.float16) as tiled:
        for given in (mask, tiled, mask.toarray()):
            c = sley.spgemm(t, square, mask=given, algo=algo, mem_limit=1 << 20)
            assert np.allclose(dense_of(c.gather().to_scipy()), expected)
        with pytest.raises(sley.SleyArgumentError, match="the mask must be 50 x 50 in 5 x 2 tiles"):
            sley.spgemm(t, square, mask=A, algo=algo)
        with pytest.raises(sley.SleyArgumentError, match="a and mask must be of one comm"):
            sley.spgemm(t, square, mask=sley.TiledMatrix(mask), algo=algo)
    with pytest.raises(sley.SleyMemoryError, match="a mem_limit of 1000 bytes"):
        sley.spgemm(square, square, ranks=2, algo=algo, mem_limit=1000)


def test_types_are_promoted() -> None:
    whole = np.array([[1, 0], [0, 3]], np.int64)
    assert sley.spmm(whole, np.ones((2, 1), np.float32), algo="tile-c").dtype == np.float64
    assert sley.spmm(sley.Matrix(whole, dtype=np.float32), np.ones((2, 1), np.float16), algo="tile-c").dtype == np.float32
    assert sley.spgemm(whole.astype(np.float16), sley.Matrix(whole, dtype=np.float32), algo="tile-c").dtype == np.float32


def test_one_door() -> None:
    square, mask = drawn(50, 50, 400, 9), drawn(50, 50, 60, 10)
    expected = sley.spgemm(square, square, transpose_b=True, mask=mask).to_scipy()
    for given in ({"ranks": 3}, {"ranks": 2, "algo": "tile-a-steal", "tiles": 4}, {"algo": "tile-b"}):
        made = sley.spgemm(square, square, transpose_b=True, mask=mask, **given).to_scipy()
        assert np.array_equal(made.indptr, expected.indptr) and np.array_equal(made.indices, expected.indices)
        assert np.allclose(made.data, expected.data)
    with sley.Comm(4, workgroup=2) as comm:
        assert np.allclose(dense_of(sley.spgemm(square, square, comm=comm).to_scipy()), (square @ square).toarray())
        y = np.empty(50)
        assert sley.spmm(square, np.ones(50), comm=comm, algo="tile-b", alpha=2, out=y) is y
        assert np.allclose(y, 2 * (square @ np.ones(50)))
    refused = {
        "\"rows\" is not an algorithm in tiles": lambda: sley.spgemm(square, square, comm=sley.Comm(2), algo="rows"),
        "by rows has no tiles": lambda: sley.spgemm(square, square, tiles=2),
        "ranks are GPUs": lambda: sley.spgemm(square, square, ranks=2, algo="rows"),
        "no algorithm \"halo\" in one process": lambda: sley.spgemm(square, square, algo="halo"),
        "by halo has no grid": lambda: sley.spmm(square, np.ones(50), algo="halo", grid=(1, 1)),
        "in tiles has no transpose and no wire": lambda: sley.spmm(square, np.ones(50), algo="tile-c", transpose=True,
                                                                   wire="bf16"),
        "out must be": lambda: sley.spmm(square, np.ones(50), algo="tile-c", out=np.empty(49)),
    }
    for message, call in refused.items():
        with pytest.raises(sley.SleyArgumentError, match=message):
            call()
    assert sley.TiledMatrix(np.ones((2, 2), np.int8)).dtype == np.float32
    assert sley.TiledMatrix.zeros((3, 4), ranks=2, dtype=np.float16).gather().tolist() == [[0.0] * 4] * 3


def test_threads_share_a_matrix() -> None:
    with sley.TiledMatrix(A, ranks=3, tiles=6) as t:
        found: list[bool] = []
        shared, tiles = [t.get_tile_later(i, 0) for i in range(6)], []

        def read() -> None:
            tiles.append([each.result() for each in shared])
            for _ in range(5):
                found.append(np.array_equal(all_tiles(t), dense_of(A)))

        threads = [threading.Thread(target=read) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert found == [True] * 20 and len(tiles) == 4
        assert all(each is first for others in tiles for each, first in zip(others, tiles[0], strict=True))


def test_what_is_forgotten_is_destroyed() -> None:
    with sley.Comm(3) as comm:
        for _ in range(5):
            t = sley.TiledMatrix(A, comm=comm)
            later = t.get_tile_later(0, 0)
            product = sley.TileProduct(t, X)
            product.run()
            del t, later, product
        gc.collect()
        for _ in range(4):  # a product first, then what it kept
            comm._run(lambda *_: 0)
        assert comm._holdings._held == {}


def test_closing() -> None:
    t = sley.TiledMatrix(A, ranks=2)
    later, product = t.get_tile_later(0, 0), sley.TileProduct(t, X)
    y = product.run()
    got = t.get_tile_later(0, 1)
    tile = got.result()
    t.close()
    t.close()
    assert t.closed and product.closed and y.closed and got.result() is tile
    assert repr(t).endswith("closed>")
    for call in (lambda: t.get_tile(0, 0), lambda: t.gather(), lambda: t.renew(A), later.result, product.run,
                 lambda: sley.spmm(t, X)):
        with pytest.raises(sley.SleyArgumentError, match="closed"):
            call()
    product.close()
    later.close()


def test_what_is_refused() -> None:
    with sley.TiledMatrix(A, ranks=4) as t, sley.TiledMatrix(X, comm=t.comm) as x, sley.TiledMatrix(X) as other:
        refused = {
            "there is no tile \\(2, 0\\): the matrix has 2 x 2": lambda: t.get_tile(2, 0),
            "there is no tile \\(0, -1\\)": lambda: t.put_tile(0, -1, []),
            "tile \\(0, 0\\) takes \\(": lambda: t.put_tile(0, 0, [1.0]),
            "the tiles of A: a grid of 3 x 2 does not have 4 ranks": lambda: sley.TiledMatrix(A, ranks=4, grid=(3, 2)),
            "beyond 64 bits": lambda: sley.TiledMatrix(A, tiles=2**63),
            "give either ranks or comm": lambda: sley.TiledMatrix(A, ranks=2, comm=t.comm),
            "belongs to another matrix": lambda: t.renew(A.T),
            "the entries that the matrix was made of|other rows or columns": lambda: t.renew(
                scipy.sparse.csr_array((60, 45))),
            "the tiled matrix is dense: give an array": lambda: x.renew(A),
            "expected \\(45, 7\\)": lambda: x.renew(X[:, 1:]),
            "values of type complex128": lambda: x.put_tile(0, 0, np.ones((23, 4)) * 1j),
            "this is a sley.TiledMatrix already": lambda: sley.TiledMatrix(t),
            "a must be a sley.TiledMatrix, not csr_array": lambda: sley.TileProduct(A, X),
            "x is sparse": lambda: sley.spmm(t, A),
            "expected \\(45, k\\)": lambda: sley.spmm(t, X[1:]),
            "a and x must be of one comm": lambda: sley.spmm(t, other),
            "a and b must be of one comm": lambda: sley.spgemm(t, other),
            "a and b must be sparse": lambda: sley.spgemm(t, x),
            "b must have 45 rows in 2 tiles": lambda: sley.spgemm(t, t),
            "has its own ranks and tiles": lambda: sley.spmm(t, X, ranks=2, tiles=3),
            "a is not: make a one": lambda: sley.spmm(A, x),
            "tile-d": lambda: sley.spmm(t, X, algo="tile-d"),
            "no semiring 'times'": lambda: sley.spgemm(t, t, semiring="times"),
        }
        for message, call in refused.items():
            with pytest.raises(sley.SleyArgumentError, match=message):
                call()
        assert_product(sley.spmm(t, X).gather(), dense_of(A), X, "float64")  # the comm is as good as before
