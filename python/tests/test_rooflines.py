# SPDX-License-Identifier: Apache-2.0
"""Rooflines: their equations, what they count, and what is refused."""
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import drawn

import sley

hypothesis = pytest.importorskip("hypothesis")
given, settings, st = hypothesis.given, hypothesis.settings, hypothesis.strategies

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)
A = drawn(200, 150, 2500, 4)


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    return {"rows": draw(st.integers(0, 40)), "cols": draw(st.integers(0, 40)), "nnz": draw(st.integers(0, 200)),
            "k": draw(st.sampled_from([0, 1, 3, 16])), "seed": draw(st.integers(0, 1000)),
            "algo": draw(st.sampled_from(sley.roofline_algorithms())), "ranks": draw(st.integers(1, 8))}


@EXAMPLES
@given(cases())
def test_its_equations_hold(case: dict[str, Any]) -> None:
    a = drawn(case["rows"], case["cols"], case["nnz"], case["seed"])
    line = sley.roofline(a, case["k"], algo=case["algo"], ranks=case["ranks"], ranks_per_node=1)
    assert (line.algo, line.ranks, line.nodes) == (case["algo"], case["ranks"], case["ranks"])
    assert line.grid[0] * line.grid[1] == case["ranks"] == len(line.per_rank)
    assert line.flops == 2 * a.nnz * case["k"] == sum(each.flops for each in line.per_rank)
    assert line.network_bytes == pytest.approx(sum(each.network_in for each in line.per_rank))
    assert line.network_bytes == pytest.approx(sum(each.network_out for each in line.per_rank))
    assert line.messages == pytest.approx(sum(each.messages for each in line.per_rank))
    if line.flops:
        assert line.attainable == min(line.local_roof, line.network_roof)
        assert line.attainable_ms == pytest.approx(line.flops / line.ranks / line.attainable * 1e3)
        assert line.predicted_rate <= line.attainable * 1.000001
        assert line.predicted_ms == pytest.approx(max(each.predicted_ms for each in line.per_rank)) \
            or case["algo"] == "summa-2d"


@pytest.mark.parametrize("algo", ["tile-c", "tile-a", "tile-b", "tile-summa"])
def test_it_predicts_what_products_move(algo: str) -> None:
    """Bytes of tiles of the operands, which the product counts as it moves them; sums that are pushed are more."""
    line = sley.roofline(A, 8, algo=algo, ranks=4, tiles=(2, 2, 2), ranks_per_node=1)
    with (sley.Comm(4, workgroup=1) as comm, sley.TiledMatrix(A, comm=comm) as t,
          sley.spmm(t, np.ones((150, 8)), algo=algo) as y):
        counted = sum(each.counted.message_bytes + each.counted.direct_bytes for each in y.reports)
    if algo in ("tile-c", "tile-summa"):
        assert counted == line.network_bytes
    else:
        assert counted > line.network_bytes > 0


def test_figures_in_place_of_the_machines() -> None:
    slow = sley.roofline(A, 8, ranks=4, ranks_per_node=1, network_bandwidth=1e3, memory_bandwidth=1e9)
    assert slow.bound == "network" and slow.network_bandwidth == 1e3 and slow.memory_bandwidth == 1e9
    assert slow.memory_roof == pytest.approx(1e9 * slow.local_intensity)
    assert sley.roofline(A, 8, peak=1.0).bound == "arithmetic"
    assert sley.roofline(A, 8, memory_bandwidth=1e3).bound == "memory"


def test_sparse_times_sparse() -> None:
    b = drawn(150, 90, 1500, 5)
    line = sley.roofline(A, b=b, ranks=6, tiles=(3, 0, 0))
    products = int(np.diff(b.indptr)[A.indices].sum())
    assert line.flops == 2 * products
    assert line.compression == pytest.approx(products / sley.spgemm(A, b).nnz)
    assert sley.roofline(A, b=b, compression=2.0).compression == 2.0
    square = drawn(60, 60, 300, 1)
    assert sley.roofline(square, b=square) == sley.roofline(square, b=square.copy())


def test_what_is_refused(tmp_path: Path) -> None:
    for message, call in {
        "give either k or b": lambda: sley.roofline(A),
        "0 ranks: there is at least 1": lambda: sley.roofline(A, 8, ranks=0),
        "tile-d": lambda: sley.roofline(A, 8, algo="tile-d"),
        "3 x 2": lambda: sley.roofline(A, 8, ranks=4, grid=(3, 2)),
        "k is 9223372036854775808": lambda: sley.roofline(A, 2**63),
        "negative|below 0": lambda: sley.roofline(A, -1),
        "summa-2d": lambda: sley.roofline(np.eye(4), b=np.eye(4), algo="summa-2d"),
    }.items():
        with pytest.raises(sley.SleyArgumentError, match=message):
            call()
    with pytest.raises(sley.SleyInputError, match="nowhere"):
        sley.roofline(A, 8, machine=tmp_path / "nowhere")
    (tmp_path / "machine").write_text("nonsense\n")
    with pytest.raises(sley.SleyInputError, match="machine"):
        sley.roofline(A, 8, machine=tmp_path / "machine")
