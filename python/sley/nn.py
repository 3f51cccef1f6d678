# SPDX-License-Identifier: Apache-2.0
"""Layers of graph networks for PyTorch, on Sley's operators.

They have the names, constructor arguments and state_dict keys of PyG's layers, so weights can be exchanged with PyG.
They take a `sley.torch.Graph`, a `DistGraph` or an edge_index. The graph of an edge_index is created at the first call
and reused as long as the tensor exists and is unchanged. PyG itself is not needed.

In addition to PyG's arguments each layer takes `finish`, a function of the rows before the bias is added, and of the
bias (or None). The layer returns its result; by default this is the sum of both. With `sley.torch.bias_act_dropout` in
this function, bias, activation and dropout are one pass. `Net` is a network of layers that does so.
"""
import functools
import math
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import Linear, Module, Parameter, functional

from sley.torch import convs
from sley.torch._dense import draws
from sley.torch._rank import require
from sley.torch._transform import numbers_of
from sley.torch.functional import bias_act_dropout, draw_seed
from sley.torch.graph import Graph, Operand

__all__ = ["MODELS", "GATConv", "GCNConv", "GINConv", "Net", "SAGEConv"]

_FUSED_TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)  # of sley.torch.bias_act_dropout

_made: dict[int, tuple["weakref.ref[Tensor]", int, tuple[int, int], Graph]] = {}


def graph_of(edge_index: Tensor | Operand, sources: int, targets: int) -> Operand:
    """A graph unchanged, or the graph of an edge_index, which is created once."""
    if isinstance(edge_index, Operand):
        require(edge_index.shape == (sources, targets), f"x has {sources} rows of sources and {targets} of targets: "
                f"the Graph has {edge_index.shape[0]} and {edge_index.shape[1]}")
        return edge_index
    return _graph_of_edges(edge_index, sources, targets)


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _graph_of_edges(edge_index: Tensor, sources: int, targets: int) -> Graph:
    """The graph of an edge_index. The compiler must not trace this, since it would reuse the graph of the first
    edge_index for all others."""
    edge_index = numbers_of("edge_index", edge_index)
    key = id(edge_index)
    found = _made.get(key)
    if found is not None and found[0]() is edge_index and found[1:3] == (edge_index._version, (sources, targets)):
        return found[3]
    graph = Graph(edge_index, (sources, targets))
    _made[key] = weakref.ref(edge_index, lambda _: _made.pop(key, None)), edge_index._version, graph.shape, graph
    return graph


def _rows(x: Any, size: Any) -> tuple[int, int]:
    """The numbers of sources and of targets."""
    if size is not None:
        return size[0], size[1]
    if isinstance(x, Tensor):
        return x.shape[0], x.shape[0]
    require(x[1] is not None, "x has no rows of targets: give size=(sources, targets)")
    return x[0].shape[0], x[1].shape[0]


def _linear(inside: int, outside: int, *, bias: bool = False) -> Linear:
    require(inside > 0, f"in_channels is {inside}: sley.nn makes its weights at once and has to know it")
    return Linear(inside, outside, bias=bias)


def _glorot(weight: Any) -> None:
    if weight is not None:
        bound = math.sqrt(6.0 / (weight.shape[-2] + weight.shape[-1]))
        torch.nn.init.uniform_(weight, -bound, bound)


def _zeros(bias: Tensor | None) -> None:
    if bias is not None:
        torch.nn.init.zeros_(bias)


class GCNConv(Module):
    """(Sum over N(i) and i itself of x[j] / sqrt(d_i d_j)) W + b. Source: Kipf and Welling, ICLR 2017.

    It has the arguments of torch_geometric.nn.GCNConv; `cached` has no effect, since a Graph keeps its values.
    """

    def __init__(self, in_channels: int, out_channels: int, improved: bool = False, cached: bool = False,
                 add_self_loops: bool | None = None, normalize: bool = True, bias: bool = True) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.improved, self.cached, self.normalize = improved, cached, normalize
        self.add_self_loops = normalize if add_self_loops is None else add_self_loops
        require(normalize or not self.add_self_loops, "GCNConv adds no self loops without normalize")
        self.lin = _linear(in_channels, out_channels)
        self.bias = Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """First weights, drawn anew."""
        _glorot(self.lin.weight)
        _zeros(self.bias)

    def forward(self, x: Tensor, edge_index: Tensor | Operand, edge_weight: Tensor | None = None, *,
                finish: convs.Finish | None = None) -> Tensor:
        """x: (nodes, in_channels); edge_weight: (edges,) or None."""
        return convs.gcn(self, x, graph_of(edge_index, x.shape[0], x.shape[0]), edge_weight, finish)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}"


class SAGEConv(Module):
    """(Mean of x[j]) W_l + b + x[i] W_r. Source: Hamilton and others, NIPS 2017.

    It has the arguments of torch_geometric.nn.SAGEConv; aggr is "mean", "sum" or "add".
    """

    def __init__(self, in_channels: int | tuple[int, int], out_channels: int, aggr: str = "mean",
                 normalize: bool = False, root_weight: bool = True, project: bool = False, bias: bool = True) -> None:
        super().__init__()
        require(aggr in convs.SAGE_KINDS, f"aggr is {aggr!r}: SAGEConv has {', '.join(convs.SAGE_KINDS)}")
        self.in_channels, self.out_channels, self.aggr = in_channels, out_channels, aggr
        self.normalize, self.root_weight, self.project = normalize, root_weight, project
        of_source, of_target = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        if project:
            self.lin = _linear(of_source, of_source, bias=True)
        self.lin_l = _linear(of_source, out_channels, bias=bias)
        if root_weight:
            self.lin_r = _linear(of_target, out_channels)

    def reset_parameters(self) -> None:
        """First weights, drawn anew."""
        for each in self.children():
            each.reset_parameters()  # type: ignore[operator]

    def forward(self, x: Any, edge_index: Tensor | Operand, size: tuple[int, int] | None = None, *,
                finish: convs.Finish | None = None) -> Tensor:
        """x: (nodes, in_channels), or a pair: rows of sources and rows of targets."""
        return convs.sage(self, x, graph_of(edge_index, *_rows(x, size)), finish=finish)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, aggr={self.aggr}"


class GINConv(Module):
    """nn((1 + eps) x[i] + sum of x[j]). Source: Xu and others, ICLR 2019.

    It has the arguments of torch_geometric.nn.GINConv.
    """

    def __init__(self, nn: Module, eps: float = 0.0, train_eps: bool = False) -> None:
        super().__init__()
        self.nn, self.initial_eps = nn, eps
        if train_eps:
            self.eps = Parameter(torch.full((1,), float(eps)))
        else:
            self.register_buffer("eps", torch.full((1,), float(eps)))

    def reset_parameters(self) -> None:
        """First weights, drawn anew."""
        for each in self.nn.modules():
            if hasattr(each, "reset_parameters"):
                each.reset_parameters()  # type: ignore[operator]
        self.eps.data.fill_(self.initial_eps)

    def forward(self, x: Any, edge_index: Tensor | Operand, size: tuple[int, int] | None = None, *,
                finish: convs.Finish | None = None) -> Tensor:
        """x: (nodes, features), or a pair: rows of sources and rows of targets."""
        return convs.gin(self, x, graph_of(edge_index, *_rows(x, size)), finish=finish)


class GATConv(Module):
    """Sum of softmax(leaky(a_dst . W x[i] + a_src . W x[j])) W x[j], head by head, + b. Source: Velickovic and others,
    ICLR 2018.

    It has the arguments of torch_geometric.nn.GATConv. Without edge_attr, and without dropout in training, it allocates
    no array with a value per edge.
    """

    def __init__(self, in_channels: int | tuple[int, int], out_channels: int, heads: int = 1, concat: bool = True,
                 negative_slope: float = 0.2, dropout: float = 0.0, add_self_loops: bool = True,
                 edge_dim: int | None = None, fill_value: float | Tensor | str = "mean", bias: bool = True,
                 residual: bool = False) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.negative_slope, self.dropout, self.add_self_loops = negative_slope, dropout, add_self_loops
        self.edge_dim, self.fill_value, self.residual = edge_dim, fill_value, residual
        self.lin = self.lin_src = self.lin_dst = self.lin_edge = self.res = None
        features = heads * out_channels
        if isinstance(in_channels, int):
            self.lin = _linear(in_channels, features)
        else:
            self.lin_src, self.lin_dst = (_linear(each, features) for each in in_channels)
        self.att_src = Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = Parameter(torch.empty(1, heads, out_channels))
        self.att_edge = None
        if edge_dim is not None:
            self.lin_edge = _linear(edge_dim, features)
            self.att_edge = Parameter(torch.empty(1, heads, out_channels))
        total = features if concat else out_channels
        if residual:
            self.res = _linear(in_channels if isinstance(in_channels, int) else in_channels[1], total)
        self.bias = Parameter(torch.empty(total)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """First weights, drawn anew."""
        for each in self.children():
            _glorot(each.weight)
        for weight in (self.att_src, self.att_dst, self.att_edge):
            _glorot(weight)
        _zeros(self.bias)

    def forward(self, x: Any, edge_index: Tensor | Operand, edge_attr: Tensor | None = None,
                size: tuple[int, int] | None = None, return_attention_weights: bool | None = None, *,
                finish: convs.Finish | None = None) -> Any:
        """x: (nodes, in_channels), or a pair: rows of sources and rows of targets. edge_attr: (edges, edge_dim) or
        None. With return_attention_weights also (edge_index, weights)."""
        graph = graph_of(edge_index, *_rows(x, size))
        return convs.gat(self, x, graph, edge_attr, return_attention_weights=return_attention_weights, finish=finish)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, heads={self.heads}"


class _Kind(NamedTuple):
    """A kind of layer: a function that makes a layer from its input width, output width and number of heads."""

    layer: Callable[[int, int, int], Module]
    act: Callable[[Tensor], Tensor] = functional.relu  # activation between layers
    heads: bool = False  # whether hidden layers have several heads


def _gin(given: int, made: int, _heads: int) -> Module:
    return GINConv(torch.nn.Sequential(Linear(given, made), torch.nn.ReLU(), Linear(made, made)))


_KINDS = {
    "gcn": _Kind(lambda given, made, _heads: GCNConv(given, made)),
    "gin": _Kind(_gin),
    "sage": _Kind(lambda given, made, _heads: SAGEConv(given, made)),
    "gat": _Kind(lambda given, made, heads: GATConv(given, made, heads=heads), functional.elu, heads=True),
}
MODELS = tuple(_KINDS)


class Net(Module):
    """Layers of one model, with dropout on the input of each layer and an activation between layers. Bias, relu and
    dropout are one pass. Masks depend on `torch.manual_seed`; with the same seed on all ranks, the masks are the same
    as on one rank.

    Parameters
    ----------
    model : str
        One of `MODELS`.
    features, hidden, classes : int
        Number of values per row of x, per row between layers (per head if the model has heads), and per row of logits.
    layers : int
    heads : int
        Number of heads of hidden layers, if the model has heads; the last layer has one.
    dropout : float
        Probability that a value is set to zero in training.
    """

    def __init__(self, model: str, features: int, hidden: int, classes: int, *, layers: int = 2, heads: int = 8,
                 dropout: float = 0.5) -> None:
        super().__init__()
        require(model in MODELS, f"there is no model {model!r}: take one of {', '.join(MODELS)}")
        require(layers >= 1, f"{layers} layers: there is at least 1")
        self.dropout = dropout
        kind = _KINDS[model]
        self.act: Callable[[Tensor], Tensor] = kind.act
        self._own_masks = draws()
        self.convs = torch.nn.ModuleList()
        given = features
        for last in [False] * (layers - 1) + [True]:
            self.convs.append(kind.layer(given, classes if last else hidden, 1 if last else heads))
            given = hidden * (heads if kind.heads else 1)

    def forward(self, x: Tensor, graph: Operand) -> Tensor:
        """Logits, shape (nodes, classes)."""
        p = self.dropout if self.training else 0.0
        seed = draw_seed(x.device) if 0.0 < p < 1.0 and self._own_masks else None
        first_row = getattr(graph, "first_row", 0)  # an edge_index contains all rows
        x = _dropped(x, p, seed, 0, first_row)
        for number, conv in enumerate(self.convs, 1):
            finish = functools.partial(self._finish, p=p, seed=seed, stream=number, first_row=first_row)
            x = conv(x, graph, finish=None if number == len(self.convs) else finish)
        return x

    def _finish(self, rows: Tensor, bias: Tensor | None, p: float, seed: Tensor | None, stream: int,
                first_row: int) -> Tensor:
        """Returns dropout of act(rows + bias)."""
        if self.act is functional.relu and _served(rows, bias, p, seed):
            return bias_act_dropout(rows, bias, "relu", p, seed=seed, stream=stream, first_row=first_row)
        return _dropped(self.act(rows if bias is None else rows + bias), p, seed, stream, first_row)


def _served(rows: Tensor, bias: Tensor | None, p: float, seed: Tensor | None) -> bool:
    """Whether Sley's fused pass can be used: not if types differ under autocast, or if the library has no generator for
    masks."""
    return rows.dtype in _FUSED_TYPES and (bias is None or bias.dtype == rows.dtype) and (p == 0.0 or seed is not None)


def _dropped(x: Tensor, p: float, seed: Tensor | None, stream: int, first_row: int) -> Tensor:
    if _served(x, None, p, seed):
        return bias_act_dropout(x, None, "none", p, seed=seed, stream=stream, first_row=first_row)
    return functional.dropout(x, p)
