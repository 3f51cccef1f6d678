# SPDX-License-Identifier: Apache-2.0
"""Pictures: what is drawn is what was measured."""
from pathlib import Path

import numpy as np
import pytest
from support import drawn

import sley

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plot = pytest.importorskip("sley.plot")
A = drawn(300, 200, 2500, 7)


def test_spy_counts_every_nonzero() -> None:
    for a, pixels in ((A, 400), (A, 37), (drawn(5, 500, 40, 1), 64)):
        ax = plot.spy(a, pixels=pixels, ranks=3)
        fields = ax.images[0].get_array()
        assert fields.sum() == a.nnz and max(fields.shape) <= pixels
        assert fields.shape == tuple(-(-n // (-(-max(a.shape) // pixels))) for n in a.shape)
        begin = sley.partition(a, 3)
        assert [line.get_ydata()[0] for line in ax.lines] == begin[1:-1].tolist()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 3)])
def test_spy_of_nothing(shape: tuple[int, int]) -> None:
    assert plot.spy(np.zeros(shape)).images[0].get_array().sum() in (0, np.ma.masked)


def test_ablation_has_the_bytes_of_the_table() -> None:
    with sley.Comm(4, workgroup=2) as comm, sley.Plan(A, 8, comm=comm) as plan:
        table = plan.table()
    ax = plot.ablation(table, measured_ms={"halo": 3.0, "nonsense": 1.0})
    heights = [each.get_height() for each in ax.patches]
    wanted = [each.predicted.direct_bytes for each in table] + [each.predicted.message_bytes for each in table]
    assert np.allclose(np.array(heights) * 1024**2, wanted)
    times = ax.figure.axes[1].lines
    assert times[0].get_ydata().tolist() == [each.predicted_ms for each in table]
    assert times[1].get_ydata().tolist() == [3.0]
    assert [each.get_text() for each in ax.get_xticklabels()] == [each.algo for each in table]


def test_scaling_has_a_line_for_each_algorithm() -> None:
    ax = plot.scaling(A, 8, ranks=(1, 2, 3), algos=("halo", "cover"), workgroup=2)
    assert [each.get_label() for each in ax.lines] == ["halo", "cover", "perfect"]
    with sley.Comm(3, workgroup=2, threads=1) as comm, sley.Plan(A, 8, comm=comm) as plan:
        assert [each.predicted_ms for each in plan.table(["halo", "cover"])] == pytest.approx(
            [each.get_ydata()[2] for each in ax.lines[:2]])


def test_roofline() -> None:
    with sley.Plan(A, 8) as plan:
        ax = plot.roofline({"here": (plan.info, 8, 0.5)}, gbytes_per_s=10, gflops=40)
    point, roof = ax.lines
    work = 2 * A.nnz * 8
    assert point.get_xydata()[0] == pytest.approx([work / (A.nnz * 12 + 500 * 64), work / 0.5e6])
    assert roof.get_xydata()[1] == pytest.approx([4, 40]) and roof.get_ydata()[-1] == 40


def test_rooflines() -> None:
    lines = [sley.roofline(A, 8, algo=algo, ranks=4, ranks_per_node=1, network_bandwidth=1e6)
             for algo in ("tile-c", "tile-a")]
    ax = plot.rooflines(lines, measured_ms={"tile-a": 2.0})
    drawn_lines = {each.get_label(): each for each in ax.lines}
    assert drawn_lines["network roof"].get_ydata()[1] == pytest.approx(max(each.local_roof for each in lines) / 1e9)
    for each in lines:
        spot = drawn_lines[f"{each.algo}, predicted"].get_xydata()[0]
        assert spot == pytest.approx([each.network_intensity, each.flops / 4 / each.predicted_ms / 1e6])
        assert drawn_lines[f"{each.algo}, local roof"].get_ydata()[0] == pytest.approx(each.local_roof / 1e9)
    assert drawn_lines["tile-a, measured"].get_ydata()[0] == pytest.approx(2 * A.nnz * 8 / 4 / 2.0 / 1e6)
    assert "tile-c, measured" not in drawn_lines
    assert [each.get_label() for each in sley.roofline(A, 8).plot().lines] == ["tile-c, local roof", "network roof"]
    assert len(sley.roofline(np.zeros((3, 3)), 8).plot().lines) == 1 and plot.rooflines([]).get_title()


def test_breakdown_adds_up() -> None:
    with sley.TiledMatrix(A, ranks=3) as t, sley.spmm(t, np.ones((200, 3))) as y:
        ax = plot.breakdown(y.reports)
    ends = [each.get_x() + each.get_width() for each in ax.patches]
    assert ends[-3:] == pytest.approx([each.total_ms for each in y.reports])
    assert ax.get_legend_handles_labels()[1] == ["compute", "communicate", "accumulate", "imbalance"]
    assert [each.get_text() for each in ax.get_yticklabels()] == ["rank 0", "rank 1", "rank 2"]


def test_timeline(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with sley.Comm(3, trace=path) as comm, sley.Plan(A, 8, comm=comm, algo="halo-coalesced") as plan:
        for _ in range(2):
            plan(np.ones((200, 8)))
    ax = plot.timeline(path)
    assert ax.get_title() == "product 2" and len(ax.get_yticks()) == 3
    names = ax.get_legend_handles_labels()[1]
    assert "local" in names
    written = [each.get_text() for each in ax.texts]  # at least the longest step of the three ranks, which take a product together
    assert written and set(written) <= set(names)
    assert plot.timeline(path, product=0).get_title() == "product 1"
    with pytest.raises(sley.SleyInputError, match="there are 2 products, and none with number 2"):
        plot.timeline(path, product=2)


def test_an_axes_of_the_callers() -> None:
    ax = matplotlib.figure.Figure().subplots()
    assert plot.spy(A, ax=ax) is ax
