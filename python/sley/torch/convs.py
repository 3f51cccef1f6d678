# SPDX-License-Identifier: Apache-2.0
"""The computation of the layers of sley.nn, and of PyG's patched layers, on a Graph.

Both have PyG's attributes. An unsupported option raises SleyUnsupportedError before any computation: sley.nn raises it
further, while a patched layer falls back to PyG.
"""
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.parameter import UninitializedParameter

from sley.errors import SleyUnsupportedError
from sley.torch import dense_ops, ops
from sley.torch.functional import spmm
from sley.torch.graph import Graph, Operand, gcn_weights

Pair = tuple[Tensor, Tensor | None]
Finish = Callable[[Tensor, Tensor | None], Tensor]  # arguments: rows before the bias is added, and the bias
_LEAST_ROWS, _LEAST, _MOST = 2048, 32, 512  # least rows, least and most features of products that are faster with Sley
SAGE_KINDS = {"mean": "mean", "sum": "plain", "add": "plain"}


def _pair(x: Any) -> Pair:
    """The rows of sources and the rows of targets."""
    pair = (x, x) if isinstance(x, Tensor) else tuple(x)
    if pair[0].dim() != 2:
        raise SleyUnsupportedError(f"x has {pair[0].dim()} dimensions: a layer on a Graph takes rows of features")
    return pair


def _whole(graph: Operand, what: str) -> Graph:
    if not isinstance(graph, Graph):
        raise SleyUnsupportedError(f"{what} is served on a Graph, not on a {type(graph).__name__}")
    return graph


def _plain(linear: Any) -> bool:
    """Whether the layer's weight may be used without calling the layer."""
    return (not isinstance(linear.weight, UninitializedParameter) and not linear._forward_hooks
            and not linear._forward_pre_hooks and not linear._backward_hooks and not linear._backward_pre_hooks)


def _narrows(linear: Any) -> bool:
    """Whether a linear layer has fewer output than input features, so that it runs before the sums."""
    return _plain(linear) and linear.weight.shape[0] < linear.weight.shape[1]


def _takes_bias(linear: Any, bias: Tensor | None, rows: Tensor) -> bool:
    """Whether the product of a linear layer without a bias may add this bias, which saves a pass over the result. Not
    under autocast, where the sum would have another type."""
    return bias is not None and bias.dtype == rows.dtype and linear.bias is None and _plain(linear)


def _with_bias(rows: Tensor, bias: Tensor | None) -> Tensor:
    return rows if bias is None else rows + bias


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _multiplies(device: torch.device) -> bool:
    """Whether Sley's float32 products are faster than torch's on this device: see gemm_split.c."""
    return device.type == "cuda" and all(torch.cuda.get_device_capability(number)[0] == 9
                                         for number in range(torch.cuda.device_count()))


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _full_precision() -> bool:
    """Whether torch computes float32 products in full float32. The compiler evaluates this once."""
    try:
        return torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # the precision was set through another interface of torch
        return torch.backends.cuda.matmul.fp32_precision == "ieee"


def _product(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """rows weight^T + bias, by Sley or by torch, to the accuracy of the type."""
    outputs, inputs = weight.shape
    if (rows.dtype == weight.dtype == torch.float32 and rows.dim() == 2 and rows.shape[0] >= _LEAST_ROWS
            and min(inputs, outputs) >= _LEAST and max(inputs, outputs) <= _MOST and _multiplies(rows.device)
            and not torch.is_autocast_enabled(rows.device.type) and _full_precision()):
        return dense_ops.gemm(rows, weight, False, True, bias)
    return functional.linear(rows, weight, bias)


def _applied(linear: Any, rows: Tensor) -> Tensor:
    """The output of a linear layer."""
    if type(linear) is torch.nn.Linear and _plain(linear):
        return _product(rows, linear.weight, linear.bias)
    return linear(rows)


def gcn(layer: Any, x: Tensor, graph: Operand, edge_weight: Tensor | None = None,
        finish: Finish | None = None) -> Tensor:
    """GCNConv: the normalised sum of x W^T, plus b, or the result of `finish` on both."""
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
        out = spmm(summing, _applied(layer.lin, x), values)
    else:
        sums = spmm(summing, x, values)
        if finish is None and _takes_bias(layer.lin, layer.bias, sums):
            return _product(sums, layer.lin.weight, layer.bias)
        out = _applied(layer.lin, sums)
    return (finish or _with_bias)(out, layer.bias)


def sage(layer: Any, x: Any, graph: Operand, size: Any = None, finish: Finish | None = None) -> Tensor:
    """SAGEConv: the mean (or sum) of x W_l^T, plus b, plus x W_r^T, or the result of `finish` on the sum and b."""
    source, target = _pair(x)
    kind = SAGE_KINDS.get(layer.aggr) if isinstance(layer.aggr, str) else None
    if kind is None:
        raise SleyUnsupportedError(f"SAGEConv on a Graph aggregates by {', '.join(SAGE_KINDS)}, not by {layer.aggr}")
    if layer.project:
        source = _applied(layer.lin, source).relu()
    summing = graph.derived(kind)
    bias = layer.lin_l.bias
    if _narrows(layer.lin_l):
        out = spmm(summing, _product(source, layer.lin_l.weight))
    elif finish is not None and _plain(layer.lin_l):
        out = _product(spmm(summing, source), layer.lin_l.weight)
    else:
        out, bias = _applied(layer.lin_l, spmm(summing, source)), None
    if finish is None or layer.normalize:
        out, bias = _with_bias(out, bias), None
    if layer.root_weight and target is not None:
        out = out + _applied(layer.lin_r, target)
    out = functional.normalize(out, p=2.0, dim=-1) if layer.normalize else out
    return out if finish is None else finish(out, bias)


def gin(layer: Any, x: Any, graph: Operand, size: Any = None, finish: Finish | None = None) -> Tensor:
    """GINConv: nn(sum + (1 + eps) x), or the result of `finish` on it."""
    source, target = _pair(x)
    out = spmm(graph.derived("plain"), source)
    out = layer.nn(out if target is None else out + (1 + layer.eps) * target)
    return out if finish is None else finish(out, None)


def _gat_rows(layer: Any, x: Any) -> Pair:
    """Rows of sources and of targets after the linear layers, each with heads x width values."""
    source, target = _pair(x)
    if layer.lin is not None:
        rows = _applied(layer.lin, source)
        return rows, rows if target is source else None if target is None else _applied(layer.lin, target)
    return layer.lin_src(source), None if target is None else layer.lin_dst(target)


def _gat_edges(layer: Any, graph: Operand, summing: Operand, edge_attr: Tensor | None) -> Tensor | None:
    """The edges' terms of the scores, heads values per entry."""
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
    """Attributes of added edges: a value, or the mean or sum of the attributes of the edges to the node."""
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
        return_attention_weights: Any = None, finish: Finish | None = None) -> Any:
    """GATConv: attention over the edges to a node, plus b, or the result of `finish` on both."""
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
    out = (finish or _with_bias)(out, layer.bias)
    if not return_attention_weights:
        return out
    return out, (summing.edge_index, summing.to_edges(weights if dropout is None else dropout(weights)))
