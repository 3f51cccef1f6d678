# SPDX-License-Identifier: Apache-2.0
"""Rooflines between nodes: what bounds a product of matrices in tiles, and how long it takes."""
import contextlib
import ctypes
import importlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sley import _c
from sley._arrays import fitting
from sley._calls import call, create
from sley._library import decoded, encoded, initial, lib, names_of
from sley.errors import SleyArgumentError
from sley.matrix import as_matrix
from sley.tiles import Pair

_MOST_RANKS = 2**24  # products of tiles are no more, and ranks have at least one


@dataclass(frozen=True)
class RooflineRank:
    """What one rank does: figures as in `Roofline`, bytes that come and go apart; messages bring `network_in`."""

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
    """What bounds a product; figures are of all ranks together unless said, rates of one rank.

    Attributes
    ----------
    algo : str
        The algorithm.
    ranks, nodes, ranks_per_node : int
    grid : (int, int)
        Rows and columns of ranks.
    tiles : (int, int, int)
        Rows of tiles of A, columns of them, and columns of tiles of X or B.
    tasks : int
        Products of two tiles.
    flops : float
        2 for each product of two numbers.
    compression : float
        Of C = A B, products for each entry of C; else 0.
    local_bytes, network_bytes, inside_bytes, messages : float
        What the tasks take from memory at least; what travels between nodes (on a single node, between ranks);
        between ranks of a node where there are several nodes; and the messages that bring `network_bytes`.
    memory_bandwidth, network_bandwidth : float
        Bytes/s of a rank's memory, and of its share of its node's link.
    peak : float
        Flop/s of a rank's arithmetic; 0: not known.
    local_intensity, network_intensity : float
        Flops for each of `local_bytes` and `network_bytes`; infinite where nothing travels.
    memory_roof, local_roof, network_roof, attainable : float
        Flop/s: by memory; the least of that, `peak` and measured rates of sums; by the network; the least of all.
    bound : str
        What `attainable` is set by: "memory", "sums", "arithmetic" or "network".
    flops_imbalance : float
        Flops of the rank that has most, by the average.
    attainable_ms : float
        Of a product, were all ranks equal and latency 0.
    local_ms, network_ms, predicted_ms : float
        Of the rank for which each is longest; the last with latency.
    per_rank : tuple of RooflineRank
        The same for each rank.
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
        """Flop/s of a rank in `predicted_ms`; 0 where there are no flops."""
        return self.flops / self.ranks / self.predicted_ms * 1e3 if self.predicted_ms > 0 else 0.0

    def plot(self, *, ax: Any = None) -> Any:
        """Draws it by `sley.plot.rooflines`, and returns the Axes."""
        return importlib.import_module("sley.plot").rooflines([self], ax=ax)


def roofline_algorithms() -> tuple[str, ...]:
    """The names that `roofline` takes as `algo`."""
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


def roofline(a: Any, k: int | None = None, *, b: Any = None, algo: str = "tile-c", ranks: int = 1,
             grid: Pair | None = None, tiles: tuple[int, int, int] | None = None, ranks_per_node: int = 0,
             threads: int = 0, machine: str | os.PathLike[str] | None = None, memory_bandwidth: float = 0.0,
             network_bandwidth: float = 0.0, latency: float = 0.0, peak: float = 0.0,
             compression: float = 0.0) -> Roofline:
    """What bounds Y = A X, or C = A B, in tiles. Nothing is multiplied, and no ranks are made.

    Parameters
    ----------
    a : Matrix, or what `Matrix` takes
        A, of shape (m, n).
    k : int, optional
        Columns of X. Either this or `b`.
    b : Matrix, or what `Matrix` takes, optional
        B, of n rows and A's type; it may be A.
    algo : str
        One of `roofline_algorithms`.
    ranks : int
    grid : (int, int), optional
        Rows and columns of ranks; by default the shape nearest to a square.
    tiles : (int, int, int), optional
        Rows of tiles of A, columns of them, and columns of tiles of X or B; a 0 stands for the default.
    ranks_per_node, threads : int
        Ranks that follow each other on a node, and threads of a rank; 0: as the machine says.
    machine : path, optional
        A machine's description; by default what `sley tune` has left, or one built in.
    memory_bandwidth, network_bandwidth, latency, peak : float
        In place of the machine's figures, where above 0: bytes/s of a rank; bytes/s into and out of a node; s for
        each message; flop/s of a rank.
    compression : float
        Products for each entry of C; 0: its pattern is made, to count them.

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
