# SPDX-License-Identifier: Apache-2.0
"""Pictures, drawn with matplotlib: each function draws into the given Axes, or into a new one, and returns it.

>>> import sley, sley.plot
>>> sley.plot.spy(a, ranks=4).figure.savefig("a.png")
"""
import importlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sley.comm import Comm
from sley.errors import SleyInputError, SleyUnsupportedError
from sley.matrix import as_matrix
from sley.ordering import partition
from sley.plan import Plan, PlanInfo, PlanTable
from sley.rooflines import Roofline
from sley.tile_report import TileReport

__all__ = ["ablation", "breakdown", "roofline", "rooflines", "scaling", "spy", "timeline"]

# Okabe and Ito's colours, which colour-blind readers can distinguish.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")
_MIB = 1024.0**2


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        raise SleyUnsupportedError("pictures need the package matplotlib, which is not installed") from None
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def spy(a: Any, *, ranks: int = 0, pixels: int = 400, ax: Any = None) -> Any:
    """The positions of the nonzeros: their number in each of pixels x pixels fields, on a logarithmic scale.

    Parameters
    ----------
    a : Matrix, or what `Matrix` takes
        The matrix, of shape (m, n).
    ranks : int
        Number of ranks, balanced by nonzeros, whose first rows are marked by lines; 0: no lines.
    pixels : int
        Fields along the longer side.
    ax : matplotlib.axes.Axes, optional
    """
    ax = _axes(ax, (5, 5))
    colours = importlib.import_module("matplotlib.colors")
    matrix = as_matrix(a)
    rows, cols = matrix.shape
    step = max(1, -(-max(rows, cols, 1) // pixels))
    fields = np.zeros((max(-(-rows // step), 1), max(-(-cols // step), 1)), np.int64)
    row = np.repeat(np.arange(rows), np.diff(matrix.indptr)) // step
    np.add.at(fields, (row, matrix.indices // step), 1)
    image = ax.imshow(np.ma.masked_equal(fields, 0), cmap="viridis_r", interpolation="nearest",
                      norm=colours.LogNorm(1, max(int(fields.max()), 2)), extent=(0, max(cols, 1), max(rows, 1), 0),
                      aspect="equal" if rows and cols else "auto")
    ax.figure.colorbar(image, ax=ax, label=f"nonzeros in {step} x {step}", shrink=0.8)
    if ranks:
        for begin in partition(matrix, ranks)[1:-1].tolist():
            ax.axhline(begin, color=_COLOURS[5], linewidth=0.8)
    ax.set(title=f"{rows} x {cols}, {matrix.nnz} nonzeros", xlabel="column", ylabel="row")
    return ax


def ablation(table: PlanTable | Sequence[PlanInfo], *, measured_ms: Mapping[str, float] | None = None,
             ax: Any = None) -> Any:
    """The bytes that each algorithm moves, as bars, and its predicted time, as points.

    Parameters
    ----------
    table : PlanTable
        Result of `Plan.table`.
    measured_ms : mapping of str to float, optional
        Measured times of algorithms, in ms, drawn beside the predicted ones.
    ax : matplotlib.axes.Axes, optional
        Axes to draw into; it gets an axis of times on its right.
    """
    ax = _axes(ax, (7, 4))
    names = [each.algo for each in table]
    at = np.arange(len(names))
    direct = np.array([each.predicted.direct_bytes for each in table]) / _MIB
    message = np.array([each.predicted.message_bytes for each in table]) / _MIB
    ax.bar(at, direct, color=_COLOURS[4], label="direct")
    ax.bar(at, message, bottom=direct, color=_COLOURS[0], label="message")
    ax.set_ylabel("MiB a product")
    ax.set_xticks(at, names, rotation=40, ha="right")
    times = ax.twinx()
    times.plot(at, [each.predicted_ms for each in table], "o", color=_COLOURS[5], label="predicted")
    if measured_ms:
        there = [(i, measured_ms[name]) for i, name in enumerate(names) if name in measured_ms]
        times.plot([i for i, _ in there], [each for _, each in there], "x", color=_COLOURS[7], label="measured")
    times.set(ylabel="ms a product", ylim=(0, None))
    handles = [*ax.get_legend_handles_labels()[0], *times.get_legend_handles_labels()[0]]
    ax.legend(handles=handles, loc="upper right", fontsize="small")
    if len(table):
        ax.set_title(f"{table[0].rows} x {table[0].cols}, {table[0].nnz} nonzeros, k = {table[0].k}")
    return ax


def scaling(a: Any, k: int, ranks: Iterable[int] = (1, 2, 4, 8, 16),
            algos: Sequence[str] = ("halo", "cover", "bcast-1d"), *, workgroup: int = 0, ax: Any = None) -> Any:
    """Predicted times of a product against the number of ranks, with a line of perfect scaling.

    Parameters
    ----------
    a : Matrix, or what `Matrix` takes
    k : int
        Columns of X.
    ranks : iterable of int
        Numbers of ranks. The ranks are threads of this process, which plan but do not multiply.
    algos : sequence of str
        Names of `algorithms`, or "auto".
    workgroup : int
        Ranks joined by direct links; 0: all.
    ax : matplotlib.axes.Axes, optional
    """
    ax = _axes(ax, (5.5, 4))
    matrix, counts = as_matrix(a), list(ranks)
    times: dict[str, list[float]] = {name: [] for name in algos}
    for count in counts:
        with Comm(count, workgroup=min(workgroup, count), threads=1) as comm, Plan(matrix, k, comm=comm) as plan:
            for name, info in zip(algos, plan.table(algos), strict=True):
                times[name].append(info.predicted_ms)
    for i, (name, points) in enumerate(times.items()):
        ax.plot(counts, points, "o-", color=_COLOURS[i % len(_COLOURS)], label=name)
    if counts:
        first = min(points[0] for points in times.values())
        ax.plot(counts, [first * counts[0] / each for each in counts], "--", color="grey", label="perfect")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(counts, [str(each) for each in counts])
    ax.set(xlabel="ranks", ylabel="predicted ms a product", title=f"{matrix.nnz} nonzeros, k = {k}")
    ax.legend(fontsize="small")
    return ax


def roofline(measured: Mapping[str, tuple[PlanInfo, int, float]], *, gbytes_per_s: float, gflops: float,
             ax: Any = None) -> Any:
    """Measured products, compared with the limits of memory and arithmetic.

    A product has 2 nnz k operations. It moves the entries of A, X and Y at least once: nnz (value + 4) + (m + n) k
    value bytes. It moves more if rows of X are loaded again.

    Parameters
    ----------
    measured : mapping of str to (PlanInfo, int, float)
        For each point, the plan's info, the bytes of a value, and the measured ms of a product.
    gbytes_per_s : float
        Memory bandwidth in 10^9 bytes per second.
    gflops : float
        Arithmetic rate in 10^9 operations per second.
    ax : matplotlib.axes.Axes, optional
    """
    ax = _axes(ax, (5.5, 4))
    ridge = gflops / gbytes_per_s
    spots = []
    for i, (name, (info, size, ms)) in enumerate(measured.items()):
        work = 2.0 * info.nnz * info.k
        moved = info.nnz * (size + 4.0) + (info.rows + info.cols) * info.k * size
        spots.append(work / moved)
        ax.plot(work / moved, work / ms / 1e6, "o", color=_COLOURS[i % len(_COLOURS)], label=name)
    low, high = min([*spots, ridge]) / 4, max([*spots, ridge]) * 4
    ax.plot([low, ridge, high], [low * gbytes_per_s, gflops, gflops], color="black", linewidth=1)
    return _finished(ax, "operations per byte, at most", f"{gbytes_per_s:.3g} GB/s, {gflops:.3g} GFLOP/s")


def _finished(ax: Any, xlabel: str, title: str) -> Any:
    """Makes both axes logarithmic and labels them."""
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set(xlabel=xlabel, ylabel="GFLOP/s", title=title)
    ax.legend(fontsize="small")
    return ax


def rooflines(lines: Sequence[Roofline], *, measured_ms: Mapping[str, float] | None = None, ax: Any = None) -> Any:
    """The limits of a rank in products of tiles: the network's roof, each algorithm's local roof, and its predicted
    time.

    Parameters
    ----------
    lines : sequence of Roofline
        Rooflines of one product on one machine, by several algorithms. An algorithm that moves nothing has only its
        local roof.
    measured_ms : mapping of str to float, optional
        Measured times of some of the algorithms, as dots.
    ax : matplotlib.axes.Axes, optional
    """
    ax = _axes(ax, (5.5, 4))
    shown = [each for each in lines if each.flops > 0]
    giga, measured = 1e9, measured_ms or {}
    slope = max((each.network_bandwidth / giga for each in shown), default=1.0)
    roofs = [each.local_roof / giga for each in shown]
    spots = [each.network_intensity for each in shown if np.isfinite(each.network_intensity)]
    spots += [roof / slope for roof in roofs]
    low, high = min(spots, default=1.0) / 4, max(spots, default=1.0) * 4
    for i, (each, roof) in enumerate(zip(shown, roofs, strict=True)):
        at, colour = each.network_intensity, _COLOURS[i % len(_COLOURS)]
        ax.plot([low, high], [roof, roof], "--", color=colour, linewidth=1, label=f"{each.algo}, local roof")
        if not np.isfinite(at):
            continue
        ax.plot(at, each.predicted_rate / giga, "o", color=colour, fillstyle="none", label=f"{each.algo}, predicted")
        if each.algo in measured:
            rate = each.flops / each.ranks / measured[each.algo] / 1e6
            ax.plot(at, rate, "o", color=colour, label=f"{each.algo}, measured")
    top = max(roofs, default=slope)
    ax.plot([low, top / slope], [low * slope, top], color="black", linewidth=1, label="network roof")
    ranks = f", {lines[0].ranks} ranks on {lines[0].nodes} nodes" if lines else ""
    return _finished(ax, "flops per byte that travels", f"network {slope:.3g} GB/s{ranks}")


_PARTS = {"compute": _COLOURS[2], "communicate": _COLOURS[0], "accumulate": _COLOURS[1], "imbalance": "lightgrey"}


def breakdown(reports: Sequence[TileReport], *, ax: Any = None) -> Any:
    """The time of each rank in a product of matrices in tiles, divided by activity.

    Parameters
    ----------
    reports : sequence of TileReport
        `TiledMatrix.reports` or `TileProduct.reports`, one per rank.
    ax : matplotlib.axes.Axes, optional
    """
    ax = _axes(ax, (6, 1 + 0.4 * len(reports)))
    ranks, left = np.arange(len(reports)), np.zeros(len(reports))
    for name, colour in _PARTS.items():
        ms = np.array([getattr(each, f"{name}_ms") for each in reports])
        ax.barh(ranks, ms, left=left, color=colour, label=name)
        left = left + ms
    ax.set_yticks(ranks, [f"rank {rank}" for rank in ranks])
    ax.invert_yaxis()
    ax.set(xlabel="ms")
    ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
    return ax


_LETTER = 0.011  # width of a letter as a fraction of a timeline's width


def timeline(path: str | os.PathLike[str], *, product: int = -1, ax: Any = None) -> Any:
    """The steps of each rank during one product, from a file that a `Comm` with `trace` has written. Steps that are
    long enough show their names; the legend has all names.

    Parameters
    ----------
    path : path
    product : int
        Number of the product, counted from 0; -1: the last.
    ax : matplotlib.axes.Axes, optional
    """
    with open(path, encoding="utf-8") as file:
        events = [each for each in json.load(file)["traceEvents"] if each["ph"] == "X"]
    names = sorted({each["name"] for each in events if each["name"].startswith("product ")},
                   key=lambda name: int(name.split()[1]))
    if not -len(names) <= product < len(names):
        raise SleyInputError(f"{os.fspath(path)}: there are {len(names)} products, and none with number {product}")
    whole = {each["tid"]: each for each in events if each["name"] == names[product]}
    ax = _axes(ax, (10, 0.8 + 0.5 * len(whole)))
    start = min(each["ts"] for each in whole.values())
    length = max(each["ts"] + each["dur"] for each in whole.values()) - start
    many = importlib.import_module("matplotlib").colormaps["tab20"]
    colours: dict[str, Any] = {}
    for rank, span in whole.items():
        for each in events:
            inside = each["tid"] == rank and span["ts"] <= each["ts"] < span["ts"] + span["dur"] and each is not span
            if not inside:
                continue
            name = each["name"]
            label = None if name in colours else name
            ax.barh(rank, each["dur"], left=each["ts"] - start, edgecolor="white", linewidth=0.3, label=label,
                    color=colours.setdefault(name, many(len(colours) % many.N)))
            if each["dur"] > _LETTER * (len(name) + 1) * length:
                ax.text(each["ts"] - start + each["dur"] / 2, rank, name, ha="center", va="center", fontsize="x-small")
        ax.barh(rank, span["dur"], left=span["ts"] - start, fill=False, edgecolor="grey", linewidth=0.8)
    ax.set_yticks(sorted(whole), [f"rank {rank}" for rank in sorted(whole)])
    ax.invert_yaxis()
    ax.set(xlabel="us", title=names[product])
    ax.legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1, 1))
    return ax
