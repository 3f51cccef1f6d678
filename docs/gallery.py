# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/GALLERY.md: `python3 docs/gallery.py [FOLDER [GENERATOR]]`, by default into docs/img.

It needs the package sley and matplotlib. Times are those of the machine that runs it.
"""
import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np  # noqa: E402 the backend is chosen first

import sley  # noqa: E402
import sley.plot  # noqa: E402

K = 32


def least_seconds(work: Callable[[], object], times: int = 20) -> float:
    """The shortest time of some calls, since other programs may use the cores."""
    least = math.inf
    for _ in range(times):
        start = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - start)
    return least


def bandwidth() -> float:
    """The bandwidth of a copy, bytes read plus written, in 10^9 bytes per second."""
    source = np.ones(1 << 23)
    target = source.copy()
    return 2 * source.nbytes / least_seconds(lambda: np.copyto(target, source)) / 1e9


def multiply_rate() -> float:
    """The rate of NumPy's dense matrix product in 10^9 operations per second."""
    a = np.ones((512, 512), np.float32)
    return 2 * 512.0**3 / least_seconds(lambda: a @ a) / 1e9


def main(folder: Path, generator: str) -> None:
    a = sley.generate(generator, dtype="float32")
    x, y = np.ones((a.shape[1], K), np.float32), np.zeros((a.shape[0], K), np.float32)

    def save(ax: Any, name: str) -> None:
        ax.figure.savefig(folder / f"gallery_{name}.png", dpi=90)
        matplotlib.pyplot.close(ax.figure)

    save(sley.plot.spy(a, ranks=4), "spy")
    order = sley.order(a, "rabbit")
    ordered = a.permute(order, order)
    save(sley.plot.spy(ordered, ranks=4), "spy_rabbit")

    measured, points = {}, {}
    with sley.Comm(4, workgroup=2) as comm:
        with sley.Plan(ordered, K, comm=comm) as plan:
            table = plan.table()
        for info in table:
            with sley.Plan(ordered, K, comm=comm, algo=info.algo) as plan:
                measured[info.algo] = 1e3 * least_seconds(lambda plan=plan: plan(x, out=y))
                if info.algo in ("halo", "cover", "bcast-1d"):
                    points[info.algo] = (plan.info, 4, measured[info.algo])
    save(sley.plot.ablation(table, measured_ms=measured), "ablation")
    save(sley.plot.roofline(points, gbytes_per_s=bandwidth(), gflops=multiply_rate()), "roofline")
    save(sley.plot.scaling(ordered, K, workgroup=4), "scaling")

    lines = [sley.roofline(a, K, algo=algo, ranks=4, ranks_per_node=1) for algo in sley.roofline_algorithms()]
    save(sley.plot.rooflines(lines), "rooflines")
    with sley.TiledMatrix(a, ranks=4, tiles=8) as t, sley.spmm(t, x) as made:
        save(sley.plot.breakdown(made.reports), "breakdown")

    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "trace.json"
        with sley.Comm(4, workgroup=2, trace=path) as comm:
            plan = sley.Plan(ordered, K, comm=comm, algo="halo-pipelined")
            for _ in range(3):
                plan(x, out=y)
        save(sley.plot.timeline(path), "timeline")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "img"),
         sys.argv[2] if len(sys.argv) > 2 else "rmat:scale=15,edgefactor=16")
