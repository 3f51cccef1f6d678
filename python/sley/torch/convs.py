# SPDX-License-Identifier: Apache-2.0
"""What the layers of sley.nn and the patched ones of PyG compute on a Graph.

Both have the same attributes, those of PyG. An option that is not served here raises SleyUnsupportedError before
anything is computed: sley.nn passes it on, a patched layer lets PyG compute.
"""
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.parameter import UninitializedParameter

from sley.errors import SleyUnsupportedError
from sley.torch import ops
from sley.torch.functional import spmm
from sley.torch.graph import Graph, Operand, gcn_weights

Pair = tuple[Tensor, Tensor | None]
SAGE_KINDS = {"mean": "mean", "sum": "plain", "add": "plain"}


def _pair(x: Any) -> Pair:
    """Rows of sources and of targets."""
    pair = (x, x) if isinstance(x, Tensor) else tuple(x)
    if pair[0].dim() != 2:
        raise SleyUnsupportedError(f"x has {pair[0].dim()} dimensions: a layer on a Graph takes rows of features")
    return pair


def _whole(graph: Operand, what: str) -> Graph:
    if not isinstance(graph, Graph):
        raise SleyUnsupportedError(f"{what} is served on a Graph, not on a {type(graph).__name__}")
    return graph


def _plain(linear: Any) -> bool:
    """Whether its weight may be used without calling it."""
    return (not isinstance(linear.weight, UninitializedParameter) and not linear._forward_hooks
            and not linear._forward_pre_hooks)


def _narrows(linear: Any) -> bool:
    """Whether a linear layer gives fewer features than it takes, so that it goes before the sums."""
    return _plain(linear) and linear.weight.shape[0] < linear.weight.shape[1]


def _takes_bias(linear: Any, bias: Tensor | None, rows: Tensor) -> bool:
    """Whether the product of a linear layer without a bias may add this one, which spares a pass over the result. Under
    autocast the sum would have another type."""
    return bias is not None and bias.dtype == rows.dtype and linear.bias is None and _plain(linear)


def gcn(layer: Any, x: Tensor, graph: Operand, edge_weight: Tensor | None = None) -> Tensor:
    """GCNConv: the normalised sum of x W^T, + b."""
    if not isinstance(x, Tensor) or x.dim() != 2:
        raise SleyUnsupportedError("GCNConv on a Graph takes x of shape (nodes, features)")
    values = edge_weight
    if layer.normalize:
        summing = graph.derived("gcn", layer.improved, layer.add_self_loops)
        if edge_weight is not None:
            whole = _whole(graph, "edge_weight")
            values = gcn_weights(whole.base[0], edge_weight, whole.nodes("GCNConv"), layer.improved,
                                 layer.add_self_loops)[1]
    else:
        summing = graph
    values = None if values is None else values.to(x.dtype)
    if isinstance(layer.lin.weight, UninitializedParameter) or _narrows(layer.lin):
        out = spmm(summing, layer.lin(x), values)
    else:
        sums = spmm(summing, x, values)
        if _takes_bias(layer.lin, layer.bias, sums):
            return functional.linear(sums, layer.lin.weight, layer.bias)
        out = layer.lin(sums)
    return out if layer.bias is None else out + layer.bias


def sage(layer: Any, x: Any, graph: Operand, size: Any = None) -> Tensor:
    """SAGEConv: the mean (or sum) of x W_l^T, + b, + x W_r^T."""
    source, target = _pair(x)
    kind = SAGE_KINDS.get(layer.aggr) if isinstance(layer.aggr, str) else None
    if kind is None:
        raise SleyUnsupportedError(f"SAGEConv on a Graph aggregates by {', '.join(SAGE_KINDS)}, not by {layer.aggr}")
    if layer.project:
        source = layer.lin(source).relu()
    summing = graph.derived(kind)
    if _narrows(layer.lin_l):
        out = spmm(summing, functional.linear(source, layer.lin_l.weight))
        out = out if layer.lin_l.bias is None else out + layer.lin_l.bias
    else:
        out = layer.lin_l(spmm(summing, source))
    if layer.root_weight and target is not None:
        out = out + layer.lin_r(target)
    return functional.normalize(out, p=2.0, dim=-1) if layer.normalize else out


def gin(layer: Any, x: Any, graph: Operand, size: Any = None) -> Tensor:
    """GINConv: nn(sum + (1 + eps) x)."""
    source, target = _pair(x)
    out = spmm(graph.derived("plain"), source)
    return layer.nn(out if target is None else out + (1 + layer.eps) * target)


def _gat_rows(layer: Any, x: Any) -> Pair:
    """Rows of sources and targets after the linear layers, heads x width values each."""
    source, target = _pair(x)
    if layer.lin is not None:
        rows = layer.lin(source)
        return rows, rows if target is source else None if target is None else layer.lin(target)
    return layer.lin_src(source), None if target is None else layer.lin_dst(target)


def _gat_edges(layer: Any, graph: Operand, summing: Operand, edge_attr: Tensor | None) -> Tensor | None:
    """Terms of the scores that edges bring, heads values for each entry."""
    if edge_attr is None or layer.lin_edge is None:
        return None
    edge_attr = edge_attr.view(-1, 1) if edge_attr.dim() == 1 else edge_attr
    if layer.add_self_loops:
        edges = _whole(graph, "edge_attr with self loops").base[0]
        other = edges[0] != edges[1]
        loops = summing.num_edges - int(other.sum())
        edge_attr = torch.cat([edge_attr[other], _filled(layer.fill_value, edge_attr[other], edges[1][other], loops)])
    rows = layer.lin_edge(edge_attr).view(-1, layer.heads, layer.out_channels)
    return summing.to_entries((rows * layer.att_edge).sum(-1))


def _filled(fill: Any, edge_attr: Tensor, target: Tensor, loops: int) -> Tensor:
    """Attributes of added edges: a value, or the mean or sum of those of the edges to the node."""
    if not isinstance(fill, str):
        given = torch.as_tensor(fill, dtype=edge_attr.dtype, device=edge_attr.device)
        return given.expand(loops, edge_attr.shape[1])
    if fill not in ("mean", "add", "sum"):
        raise SleyUnsupportedError(f"GATConv on a Graph fills attributes with a number, 'mean' or 'sum', not {fill!r}")
    here = target < loops
    sums = edge_attr.new_zeros(loops, edge_attr.shape[1]).index_add(0, target[here], edge_attr[here])
    if fill != "mean":
        return sums
    return sums / torch.bincount(target[here], minlength=loops).clamp(min=1).to(sums.dtype).unsqueeze(1)


def gat(layer: Any, x: Any, graph: Operand, edge_attr: Tensor | None = None, size: Any = None,
        return_attention_weights: Any = None) -> Any:
    """GATConv: attention over the edges to a node."""
    heads, width = layer.heads, layer.out_channels
    source, target = _gat_rows(layer, x)
    key = (source.view(-1, heads, width) * layer.att_src).sum(-1)
    query = key.new_zeros(graph.shape[1], heads) if target is None else (
        target.view(-1, heads, width) * layer.att_dst).sum(-1)
    summing = graph.derived("loops" if layer.add_self_loops else "plain")
    bias = _gat_edges(layer, graph, summing, edge_attr)
    dropout: Callable[[Tensor], Tensor] | None = None
    if layer.training and layer.dropout > 0:
        dropout = lambda p: functional.dropout(p, layer.dropout)  # noqa: E731
    rows = torch.cat((source, key), 1)
    if bias is None and dropout is None and not return_attention_weights:
        out = weights = ops.gat(summing.id, query, rows, layer.negative_slope)[0]
    else:
        out, weights = ops.gat_in_parts(summing.id, query, rows, layer.negative_slope, bias, dropout)
    out = out if layer.concat else out.view(-1, heads, width).mean(1)
    if layer.res is not None and (isinstance(x, Tensor) or x[1] is not None):
        out = out + layer.res(x if isinstance(x, Tensor) else x[1])
    out = out if layer.bias is None else out + layer.bias
    if not return_attention_weights:
        return out
    return out, (summing.edge_index, summing.to_edges(weights if dropout is None else dropout(weights)))
