# SPDX-License-Identifier: Apache-2.0
"""Rooflines between nodes: the resource that limits a product of matrices in tiles, and the predicted time."""
import contextlib
import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sley import _c
from sley._arrays import fitting
from sley._calls import call, create
from sley._kinds import kinds
from sley._library import decoded, encoded, initial, lib, names_of
from sley.errors import SleyArgumentError
from sley.matrix import as_matrix
from sley.tiles import Pair

_MOST_RANKS = 2**24  # limit of products of tiles, of which each rank has at least one


@dataclass(frozen=True)
class RooflineRank:
    """Figures of one rank, as in `Roofline`. Received and sent bytes are separate; messages are those of
    `network_in`."""

    tasks: int
    flops: float
    local_bytes: float
    network_in: float
    network_out: float
    inside_in: float
    inside_out: float
    messages: float
    local_ms: float
    network_ms: float
    predicted_ms: float


@dataclass(frozen=True)
class Roofline:
    """The limits of a product. Figures are totals over all ranks unless stated otherwise; rates are of one rank.

    Attributes
    ----------
    algo : str
        The algorithm.
    ranks, nodes, ranks_per_node : int
    grid : (int, int)
        Rows and columns of ranks.
    tiles : (int, int, int)
        Number of rows of tiles of A, of columns of tiles of A, and of columns of tiles of X or B.
    tasks : int
        Number of products of two tiles.
    flops : float
        Operations: 2 per product of two numbers.
    compression : float
        For C = A B, products per entry of C; otherwise 0.
    local_bytes, network_bytes, inside_bytes, messages : float
        Least bytes that the tasks move to and from memory; bytes between nodes (on a single node, between ranks); bytes
        between ranks of the same node if there are several nodes; number of messages with `network_bytes`.
    memory_bandwidth, network_bandwidth : float
        Bytes/s of a rank's memory, and of the rank's share of its node's link.
    peak : float
        Arithmetic peak of a rank in flop/s; 0: not known.
    local_intensity, network_intensity : float
        Flops per byte of `local_bytes` and of `network_bytes`; infinite if nothing travels.
    memory_roof, local_roof, network_roof, attainable : float
        Limits in flop/s: of memory; the least of memory, `peak` and measured rates of sums; of the network; the least
        of all.
    bound : str
        The resource that determines `attainable`: "memory", "sums", "arithmetic" or "network".
    flops_imbalance : float
        Flops of the rank with the most, divided by the average.
    attainable_ms : float
        Time of a product if all ranks had equal work and latency were 0.
    local_ms, network_ms, predicted_ms : float
        Times of the rank for which each is longest; only the last includes latency.
    per_rank : tuple of RooflineRank
        The figures of each rank.
    """

    algo: str
    ranks: int
    nodes: int
    ranks_per_node: int
    grid: Pair
    tiles: tuple[int, int, int]
    tasks: int
    flops: float
    compression: float
    local_bytes: float
    network_bytes: float
    inside_bytes: float
    messages: float
    memory_bandwidth: float
    network_bandwidth: float
    peak: float
    local_intensity: float
    network_intensity: float
    memory_roof: float
    local_roof: float
    network_roof: float
    attainable: float
    bound: str
    flops_imbalance: float
    attainable_ms: float
    local_ms: float
    network_ms: float
    predicted_ms: float
    per_rank: tuple[RooflineRank, ...]

    @property
    def predicted_rate(self) -> float:
        """Flop/s of a rank with `predicted_ms`; 0 if there are no flops."""
        return self.flops / self.ranks / self.predicted_ms * 1e3 if self.predicted_ms > 0 else 0.0


def roofline_algorithms() -> tuple[str, ...]:
    """The names for `algo` of `roofline`."""
    return tuple(names_of(lib.sley_roofline_algorithms()))


@contextlib.contextmanager
def _machine(path: str | os.PathLike[str] | None) -> Iterator[ctypes.c_void_p | None]:
    if path is None:
        yield None
        return
    made = create(lib.sley_machine_destroy, lib.sley_machine_read, encoded(path))
    try:
        yield made
    finally:
        lib.sley_machine_destroy(made)


@kinds
def roofline(a: Any, k: int | None = None, *, b: Any = None, algo: str = "tile-c", ranks: int = 1,
             grid: Pair | None = None, tiles: tuple[int, int, int] | None = None, ranks_per_node: int = 0,
             threads: int = 0, machine: str | os.PathLike[str] | None = None, memory_bandwidth: float = 0.0,
             network_bandwidth: float = 0.0, latency: float = 0.0, peak: float = 0.0,
             compression: float = 0.0) -> Roofline:
    """The limits of Y = A X, or C = A B, in tiles. Nothing is multiplied, and no ranks are started.

    Parameters
    ----------
    a : Matrix, or what `Matrix` takes
        A, of shape (m, n).
    k : int, optional
        Columns of X. Pass either this or `b`.
    b : Matrix, or what `Matrix` takes, optional
        B, with n rows and the type of A; it may be A.
    algo : str
        One of `roofline_algorithms`.
    ranks : int
    grid : (int, int), optional
        Rows and columns of ranks; by default the shape nearest to a square.
    tiles : (int, int, int), optional
        Number of rows of tiles of A, of columns of tiles of A, and of columns of tiles of X or B; 0 selects the
        default.
    ranks_per_node, threads : int
        Number of consecutive ranks on a node, and threads of a rank; 0: from the machine's description.
    machine : path, optional
        Path of a machine description; by default the description that `sley tune` has written, or the built-in one.
    memory_bandwidth, network_bandwidth, latency, peak : float
        Figures that replace those of the machine, if above 0: bytes/s of a rank; bytes/s into and out of a node;
        seconds per message; flop/s of a rank.
    compression : float
        Products per entry of C; 0: computed from the pattern of C.

    Returns
    -------
    Roofline

    Examples
    --------
    >>> sley.roofline(a, 64, ranks=16, ranks_per_node=1).bound
    'network'
    """
    if (k is None) == (b is None):
        raise SleyArgumentError("give either k or b")
    first = as_matrix(a)
    second = None if b is None else first if b is a else as_matrix(b, first.dtype)
    down, between, across = tiles or (0, 0, 0)
    grid_rows, grid_cols = grid or (0, 0)
    if not 1 <= ranks <= _MOST_RANKS:
        raise SleyArgumentError(f"{ranks} ranks: there is at least 1, and at most {_MOST_RANKS}")
    made, per_rank = _c.sley_roofline(), (_c.sley_roofline_rank * ranks)()
    with _machine(machine) as described:
        options = initial(
            _c.sley_roofline_options, algo=encoded(algo), ranks=ranks, grid_rows=fitting(grid_rows, 32, "grid"),
            grid_cols=fitting(grid_cols, 32, "grid"), tiles_down=fitting(down, 64, "tiles"),
            tiles_between=fitting(between, 64, "tiles"), tiles_across=fitting(across, 64, "tiles"),
            ranks_per_node=fitting(ranks_per_node, 32, "ranks_per_node"), threads=fitting(threads, 32, "threads"),
            machine=described, memory_bandwidth=memory_bandwidth, network_bandwidth=network_bandwidth,
            latency=latency, peak=peak, compression=compression)
        places = ctypes.byref(options), ctypes.byref(made), per_rank
        if k is not None:
            call(lib.sley_roofline_spmm, first, fitting(k, 64, "k"), *places)
        else:
            call(lib.sley_roofline_spgemm, first, second, *places)
    return _roofline(made, algo, list(per_rank))


def _roofline(made: _c.sley_roofline, algo: str, per_rank: list[Any]) -> Roofline:
    names = set(Roofline.__dataclass_fields__) - {"algo", "ranks", "grid", "tiles", "bound", "per_rank"}
    values = {name: getattr(made, name) for name in names}
    each = tuple(RooflineRank(**{name: getattr(rank, name) for name in RooflineRank.__dataclass_fields__})
                 for rank in per_rank)
    return Roofline(algo=algo, ranks=len(per_rank), grid=(made.grid_rows, made.grid_cols),
                    tiles=(made.tiles_down, made.tiles_between, made.tiles_across),
                    bound=decoded(lib.sley_bound_name(made.bound)), per_rank=each, **values)
