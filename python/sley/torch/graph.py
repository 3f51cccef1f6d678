# SPDX-License-Identifier: Apache-2.0
"""Graphs for PyTorch modules."""
import ctypes
import itertools
import secrets
import weakref
from typing import Any

import numpy as np
import torch

from sley import _c
from sley._library import encoded, initial, lib
from sley.errors import SleyArgumentError
from sley.torch._order import order_of
from sley.torch._pattern import Block, Pattern
from sley.torch._rank import Handle, Rank, check, local_rank, require, rows_of
from sley.torch._transform import aside, numbers_of

# Numbers start at a random value in each process, so that a number in a saved program matches no graph of the process
# that loads it.
_ids = itertools.count(secrets.randbits(32) << 24)
_graphs: "dict[int, weakref.ref[Operand]]" = {}
_spmm = lib.sley_spmm


def graph_of(number: int) -> "Operand":
    """The graph with this number; operators receive numbers."""
    found = _graphs.get(number if type(number) is int else int(number))  # under the compiler numbers may be symbols
    graph = None if found is None else found()
    if graph is None:
        raise SleyArgumentError(f"there is no graph {int(number)} in this process: a sley.torch.Graph ends when nobody "
                                "refers to it, so keep it as long as what uses it; a saved program does not have it")
    return graph


class Operand:
    """A rank's rows of a matrix A with values, for operators.

    Operators of torch.library take only numbers and tensors, so a graph has a number, `id`, which is never reused. The
    table of numbers does not keep a graph alive: its creator owns it.
    """

    edge_index: torch.Tensor
    shape: tuple[int, int]  # numbers of rows of X and of Y on this rank
    _order: torch.Tensor | None = None  # edge of each entry; None: entry e is edge e
    _places: torch.Tensor | None = None  # entry of each edge

    def __init__(self, pattern: Pattern, values: torch.Tensor, algo: str | None = None) -> None:
        self.id = next(_ids)
        self.pattern = pattern
        self.device = pattern.device
        self.rows, self.cols = pattern.rows, pattern.cols
        self.first_row = int(pattern.block.row_begin[pattern.rank.rank])  # first row of this rank, among all rows
        self.num_edges = pattern.nnz
        self._rank: Rank = pattern.rank
        self._values = values  # values in the order of entries, in host memory
        self._algo = algo
        self._plans: dict[tuple[int, torch.dtype], tuple[Handle, Handle]] = {}
        self._blocks: dict[torch.dtype, Any] = {}
        number = self.id
        _graphs[number] = weakref.ref(self, lambda _: _graphs.pop(number, None))

    def product(self, x: torch.Tensor, transpose: bool) -> torch.Tensor:
        """Y = A X, or A^T X, with the graph's own values. x: rows x k, on the graph's device."""
        given, made = (self.rows, self.cols) if transpose else (self.cols, self.rows)
        shape = x.shape
        if len(shape) != 2 or shape[0] != given or x.device != self.device:
            self.refuse("spmm: x", x, given)
        k = shape[1]
        plans = self._plans.get((k, x.dtype)) or self._plan(k, x.dtype)
        ldx = k or 1
        pattern = self.pattern
        x = x if pattern.place is None else pattern.ordered(x)
        if not x.is_contiguous():
            x, ldx = rows_of(x)
        y = x.new_empty(made, k)  # passing a tuple would take half a microsecond more
        with self._rank:
            check(_spmm(plans[transpose].address, 1.0, x.data_ptr(), ldx, 0.0, y.data_ptr(), k or 1))
        return y if pattern.place is None else pattern.restored(y)

    def refuse(self, what: str, x: torch.Tensor, rows: int) -> None:
        """Raises the error that an operand has the wrong shape or device."""
        raise SleyArgumentError(f"{what} has shape {tuple(x.shape)} on {x.device}: expected ({rows}, any) on "
                                f"{self.device}")

    def _plan(self, k: int, dtype: torch.dtype) -> tuple[Handle, Handle]:
        """The plans of A and A^T for a width and type, created together once."""
        block = self._blocks.get(dtype)
        if block is None:
            with aside():
                block = self._blocks[dtype] = self.pattern.block.matrix(self._values.to(dtype).contiguous())
        options = initial(_c.sley_plan_options, algo=encoded(self._algo))
        transposed = ctypes.c_void_p()

        def create_pair(*arguments: Any) -> int:
            return lib.sley_plan_create_pair(*arguments[:-1], arguments[-1], ctypes.byref(transposed))

        with self._rank:
            forward = self._rank.make(lib.sley_plan_destroy, create_pair, self._rank.comm, block,
                                      *self.pattern.block.begins, k, ctypes.byref(options), kept=block)
            made = forward, Handle(self._rank, lib.sley_plan_destroy, transposed, block)
        self._plans[k, dtype] = made
        return made

    def derived(self, kind: str, improved: bool = False, loops: bool = True) -> "Operand":
        """A variant of this graph for a layer: "gcn" is normalised, "mean" takes means, "plain" has no values, "loops"
        has one edge from each node to itself and no values. It is created once; the compiler uses the result without
        tracing its creation."""
        id(self)  # makes the compiler call this again for another graph
        return self._derived_graph(kind, improved, loops)

    def _derived_graph(self, kind: str, improved: bool, loops: bool) -> "Operand":
        raise NotImplementedError

    def to_entries(self, values: torch.Tensor) -> torch.Tensor:
        """Reorders values from the order of edge_index to the order of entries, which is row by row of A."""
        return values if self._order is None else values.index_select(0, self._order)

    def to_edges(self, values: torch.Tensor) -> torch.Tensor:
        """Reorders values from the order of entries to the order of edge_index."""
        return values if self._places is None else values.index_select(0, self._places)


def _sorted_block(row: torch.Tensor, col: torch.Tensor, shape: tuple[int, int]) -> tuple[Block, torch.Tensor | None]:
    """Edges as CSR, and the edge of each entry; None: entry e is edge e."""
    rows, cols = shape
    key = row * max(cols, 1) + col
    order = None
    if key.numel() > 1 and bool((key[1:] < key[:-1]).any()):
        order = torch.argsort(key, stable=True)
        row, col = row[order], col[order]
    rowptr = torch.zeros(rows + 1, dtype=torch.int64)
    rowptr[1:] = torch.bincount(row, minlength=rows).cumsum(0).cpu()
    narrow = col.to(torch.int32 if cols < 2**31 else torch.int64).cpu().contiguous()
    begins = (np.array([0, each], np.int64) for each in shape)
    return Block(rowptr, narrow, *begins), order


def _edges_of(edge_index: torch.Tensor, shape: tuple[int, int] | None) -> tuple[torch.Tensor, tuple[int, int]]:
    """A checked copy of the edges, and the numbers of sources and targets."""
    require(edge_index.dim() == 2 and edge_index.shape[0] == 2,
            f"edge_index has shape {tuple(edge_index.shape)}: expected (2, edges), sources above targets")
    require(edge_index.dtype in (torch.int64, torch.int32),
            f"edge_index is of {edge_index.dtype}: expected torch.int64")
    edge_index = edge_index.to(torch.int64, copy=True)
    if shape is None:
        nodes = int(edge_index.max()) + 1 if edge_index.numel() else 0
        shape = nodes, nodes
    if edge_index.numel():
        least, most = int(edge_index.min()), edge_index.amax(1).tolist()
        require(least >= 0 and most[0] < shape[0] and most[1] < shape[1],
                f"edge_index has nodes {least} to {max(most)}, and there are {shape[0]} sources and {shape[1]} targets")
    return edge_index, shape


class Graph(Operand):
    """A graph on one rank: the matrix A of its edges, prepared for products with A and with A^T.

    Row i of A has an entry for each edge to node i, in the column of the edge's source: `spmm(graph, x)` is PyG's
    propagation with aggr="add". A and A^T are planned together, once per width and type of x. Edges and values are
    copied: later in-place changes of the tensors have no effect on the graph.

    Parameters
    ----------
    edge_index : Tensor of int64, shape (2, edges)
        Sources in row 0 and targets in row 1, as in PyG. Edges may repeat. The graph is on the device of this tensor.
    num_nodes : int or (int, int), optional
        Number of nodes; or the numbers of sources and of targets, if these are different nodes. By default one more
        than the largest number in edge_index.
    edge_weight : Tensor, shape (edges,), optional
        Values of the edges, by default 1. They are constants: they get no gradient, and transforms of torch.func that
        need one are refused. To differentiate with respect to values, pass them to the operators as `weight`.
    norm : "gcn", "mean" or None
        "gcn": each node gets an edge to itself, if it has none, and the value w of an edge (j, i) becomes w / sqrt(d_i
        d_j), where d is the sum of a node's incoming values (Kipf and Welling, ICLR 2017; PyG's gcn_norm). "mean": each
        value is divided by the number of the target's edges.
    order : str
        The order in which the graph has its nodes inside: one of `sley.orders()`, or "auto", which predicts the time of
        a product of 64 columns in several orders and takes another than "none" if that saves at least 5 %. Rows of
        operands and results, and edges, keep their own order: each operation orders the rows that it reads and restores
        those that it returns. Only for one set of nodes.

    Attributes
    ----------
    num_nodes, num_edges : int
    order : str
        The order; with "auto" the one that was chosen.
    edge_index : Tensor, shape (2, edges)
        The graph's own edges, including those that norm has added. Operators take and return values of edges in this
        order.
    device : torch.device

    Examples
    --------
    >>> graph = sley.torch.Graph(data.edge_index, data.num_nodes, norm="gcn")
    >>> y = sley.torch.spmm(graph, x)
    """

    def __init__(self, edge_index: torch.Tensor, num_nodes: int | tuple[int, int] | None = None, *,
                 edge_weight: torch.Tensor | None = None, norm: str | None = None, order: str = "none") -> None:
        shape = (num_nodes, num_nodes) if isinstance(num_nodes, int) else num_nodes
        require(isinstance(edge_index, torch.Tensor),
                f"edge_index is a {type(edge_index).__name__}, and no torch.Tensor")
        edge_index = numbers_of("edge_index", edge_index)
        if edge_weight is not None:
            edge_weight = numbers_of("edge_weight of a Graph", edge_weight)
        with aside():
            self._make(edge_index, shape, edge_weight, norm, order)

    def _make(self, edge_index: torch.Tensor, shape: tuple[int, int] | None, edge_weight: torch.Tensor | None,
              norm: str | None, order: str) -> None:
        edges, self.shape = _edges_of(edge_index, shape)
        if edge_weight is not None:
            require(edge_weight.shape == edges.shape[1:] and edge_weight.device == edges.device,
                    f"edge_weight has shape {tuple(edge_weight.shape)} on {edge_weight.device}: expected "
                    f"({edges.shape[1]},) on {edges.device}")
            require(edge_weight.layout == torch.strided and not edge_weight.is_complex(),
                    f"edge_weight is of {edge_weight.dtype}, {edge_weight.layout}: expected real values, dense")
            edge_weight = edge_weight.clone()
        self.base = edges, edge_weight  # copies of the arguments, from which layers derive their graphs
        self._derived: dict[tuple[Any, ...], Graph] = {}
        self.norm = norm
        self.order, self._place = self._ordered(edges, order)
        if norm == "gcn":
            edges, edge_weight = gcn_weights(edges, edge_weight, self.nodes("norm='gcn'"))
        elif norm not in (None, "mean"):
            raise SleyArgumentError(f"norm is {norm!r}: take 'gcn', 'mean' or None")
        self._prepare(edges, edge_weight)

    def _ordered(self, edges: torch.Tensor, order: str) -> tuple[str, torch.Tensor | None]:
        """The order's name, and for each node its place; None: its number."""
        if order == "none":
            return order, None
        nodes = self.nodes(f"order={order!r}")
        block, _ = _sorted_block(edges[1], edges[0], (nodes, nodes))
        name, place = order_of(local_rank(edges.device), block, order)
        return name, None if place is None else place.to(edges.device)

    def _prepare(self, edges: torch.Tensor, weight: torch.Tensor | None) -> None:
        self.edge_index = edges
        sources, targets = self.shape
        inside = edges if self._place is None else self._place[edges]
        block, order = _sorted_block(inside[1], inside[0], (targets, sources))
        self._order = order
        self._places = None if order is None else torch.empty_like(order).scatter_(
            0, order, torch.arange(len(order), device=order.device))
        if weight is None:
            values = torch.ones(edges.shape[1], dtype=torch.float64)
        else:
            values = (weight if order is None else weight[order]).cpu()
        if self.norm == "mean":
            degree = block.rowptr.diff()
            values = values / degree.to(values.dtype).repeat_interleave(degree)  # rounded once to the type of x
        super().__init__(Pattern(local_rank(edges.device), block, self._place), values)
        self._versions = self._versions_now()

    @classmethod
    def _made_of(cls, base: "Graph", edges: torch.Tensor, weight: torch.Tensor | None, norm: str | None) -> "Graph":
        """A graph with the nodes of another."""
        made = cls.__new__(cls)
        made.shape, made.norm, made.base, made._derived = base.shape, norm, base.base, {}
        made.order, made._place = base.order, base._place
        made._prepare(edges, weight)
        return made

    def nodes(self, what: str) -> int:
        """The number of nodes; refused if the numbers of sources and targets differ."""
        sources, targets = self.shape
        require(sources == targets,
                f"{what} needs one set of nodes, and there are {sources} sources and {targets} targets")
        return targets

    @property
    def num_nodes(self) -> int:
        """The number of targets."""
        return self.shape[1]

    @torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
    def _derived_graph(self, kind: str, improved: bool, loops: bool) -> "Graph":
        if kind == "gcn" and self.norm == "gcn" or kind == "plain" and self.norm is None and self.base[1] is None:
            return self
        key = kind, improved, loops
        made = self._derived.get(key)
        if made is None:
            with aside():
                made = self._derived[key] = self._derive(kind, improved, loops)
        return made

    def _unchanged(self) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The base. Refused if it was changed in place, since plans have the old values."""
        require(self._versions == self._versions_now(),
                "edge_index of a Graph was changed in place: a Graph does not change, make another")
        return self.base

    def _versions_now(self) -> list[int]:
        return [each._version for each in (self.edge_index, *self.base) if each is not None]

    def _derive(self, kind: str, improved: bool, loops: bool) -> "Graph":
        edges, weight = self._unchanged()
        if kind == "gcn":
            made = gcn_weights(edges, weight, self.nodes("GCNConv"), improved, loops)
            return Graph._made_of(self, *made, "gcn")
        if kind == "loops":
            return Graph._made_of(self, loops_once(edges, min(self.shape)), None, None)
        if kind == "mean":
            return Graph._made_of(self, edges, None, "mean")
        return Graph._made_of(self, edges, None, None)

    def to(self, device: torch.device | str, **_: Any) -> "Graph":
        """The graph on a device; the same object if it is already there."""
        edges, weight = self._unchanged()
        moved = edges.to(device)
        if moved.device == edges.device:
            return self
        return Graph(moved, self.shape, edge_weight=None if weight is None else weight.to(device), norm=self.norm,
                     order=self.order)

    def __deepcopy__(self, _memo: Any) -> "Graph":
        return self  # it is immutable

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (*self._unchanged(), self.shape, self.norm, self.order)

    def __repr__(self) -> str:
        sources, targets = self.shape
        nodes = f"{targets} nodes" if sources == targets else f"{sources} sources, {targets} targets"
        norm = "" if self.norm is None else f", norm {self.norm}"
        order = "" if self.order == "none" else f", order {self.order}"
        return f"<sley.torch.Graph {nodes}, {self.num_edges} edges{norm}{order}, {self.device}>"


def _unpickled(edges: torch.Tensor, weight: torch.Tensor | None, shape: tuple[int, int], norm: str | None,
               order: str) -> Graph:
    return Graph(edges, shape, edge_weight=weight, norm=norm, order=order)


def loops_once(edges: torch.Tensor, nodes: int) -> torch.Tensor:
    """Replaces all edges from a node to itself by exactly one per node, after the other edges."""
    other = edges[:, edges[0] != edges[1]]
    return torch.cat([other, torch.arange(nodes, device=edges.device).expand(2, nodes)], 1)


def gcn_weights(edges: torch.Tensor, weight: torch.Tensor | None, nodes: int, improved: bool = False,
                loops: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    """Edges and their values as in PyG's gcn_norm; `improved` has an effect only with weights. Differentiable with
    respect to weight."""
    if weight is None:
        edges = loops_once(edges, nodes) if loops else edges
        weight = torch.ones(edges.shape[1], dtype=torch.float64, device=edges.device)
    elif loops:
        is_loop = edges[0] == edges[1]
        own = torch.full((nodes,), 2.0 if improved else 1.0, dtype=weight.dtype, device=weight.device)
        own = own.index_put((edges[0][is_loop],), weight[is_loop])
        edges, weight = loops_once(edges, nodes), torch.cat([weight[~is_loop], own])
    source, target = edges
    degree = torch.zeros(nodes, dtype=weight.dtype, device=weight.device).index_add(0, target, weight)
    scale = degree.pow(-0.5).masked_fill(degree == 0, 0.0)
    return edges, scale[source] * weight * scale[target]
