# SPDX-License-Identifier: Apache-2.0
"""The operators as users call them: values of edges in the order of the graph's edge_index, heads as a dimension."""
import torch
from torch import Tensor

from sley.torch import ops
from sley.torch._rank import require
from sley.torch.graph import Operand


def _entries(graph: Operand, what: str, values: Tensor) -> Tensor:
    """Values of edges as operators take them: of each head, in the order of entries."""
    require(values.dim() in (1, 2) and values.shape[0] == graph.num_edges,
            f"{what} has shape {tuple(values.shape)}: expected ({graph.num_edges},) or ({graph.num_edges}, heads)")
    return graph.to_entries(values if values.dim() == 2 else values.unsqueeze(1))


def spmm(graph: Operand, x: Tensor, weight: Tensor | None = None, *, transpose: bool = False) -> Tensor:
    """Y[i] = the sum over the edges (j, i) of their value times X[j]; with transpose X[i] is summed at j.

    Parameters
    ----------
    graph : Graph or DistGraph
    x : Tensor, shape (sources, width) or (sources, heads, width)
        With transpose (targets, ...). float32, float64, float16 or bfloat16, on the graph's device. Read where it lies
        if the values of a row follow each other.
    weight : Tensor, shape (edges,) or (edges, heads), optional
        In place of the graph's own values, in the order of `graph.edge_index`; a gradient reaches it.

    Returns
    -------
    Tensor, shape (targets, ...)
        With transpose (sources, ...). Differentiable twice, with respect to x and weight.
    """
    rows = x if x.dim() == 2 else x.flatten(1)
    if weight is not None:
        weight = _entries(graph, "spmm: weight", weight)
    y = ops.spmm(graph.id, rows, weight, transpose)
    return y if x.dim() == 2 else y.unflatten(1, x.shape[1:])


def sddmm(graph: Operand, u: Tensor, v: Tensor) -> Tensor:
    """S = U[i] . V[j] for each edge (j, i).

    Parameters
    ----------
    u : Tensor, shape (targets, width) or (targets, heads, width)
    v : Tensor, shape (sources, ...)

    Returns
    -------
    Tensor, shape (edges,) or (edges, heads)
        In the order of `graph.edge_index`.
    """
    require(u.dim() == v.dim() and u.dim() in (2, 3), f"sddmm: u and v have {u.dim()} and {v.dim()} dimensions")
    if u.dim() == 2:
        return graph.to_edges(ops.sddmm(graph.id, u, v, 1)).squeeze(1)
    return graph.to_edges(ops.sddmm(graph.id, u.flatten(1), v.flatten(1), u.shape[1]))


def edge_softmax(graph: Operand, s: Tensor) -> Tensor:
    """Softmax over the edges of each target, head by head.

    Parameters
    ----------
    s : Tensor, shape (edges,) or (edges, heads)
        In the order of `graph.edge_index`.
    """
    p = graph.to_edges(ops.edge_softmax(graph.id, _entries(graph, "edge_softmax: s", s)))
    return p if s.dim() == 2 else p.squeeze(1)


def gat(graph: Operand, query: Tensor, key: Tensor, value: Tensor, *, slope: float = 0.2) -> Tensor:
    """The attention of GAT in one pass: with p the softmax of leaky(query[i] + key[j]) over the edges (j, i) of i, the
    sum of p value[j]. Nothing of the size of the edges is stored.

    Parameters
    ----------
    query : Tensor, shape (targets, heads)
    key : Tensor, shape (sources, heads)
    value : Tensor, shape (sources, heads, width)
    slope : float
        Of leaky where its argument is negative.

    Returns
    -------
    Tensor, shape (targets, heads, width)
    """
    require(value.dim() == 3, f"gat: value has shape {tuple(value.shape)}: expected (sources, heads, width)")
    source = torch.cat((value.flatten(1), key), 1)
    return ops.gat(graph.id, query, source, slope)[0].unflatten(1, value.shape[1:])


def halo_gather(graph: Operand, x: Tensor) -> Tensor:
    """The rows of X that this rank's rows of the graph name and that other ranks own, ascending. Collective.

    Parameters
    ----------
    graph : DistGraph
    x : Tensor, shape (rows of X of this rank, width)

    Returns
    -------
    Tensor, shape (graph.halo_rows, width)
        Its gradient is `halo_scatter_add`.
    """
    return ops.halo_gather(graph.id, x)


def halo_scatter_add(graph: Operand, buffer: Tensor) -> Tensor:
    """The reverse: the sums of all ranks' rows for each row of X, at its owner, in the order of the ranks. Collective.

    Parameters
    ----------
    graph : DistGraph
    buffer : Tensor, shape (graph.halo_rows, width)

    Returns
    -------
    Tensor, shape (rows of X of this rank, width)
        0 where no other rank needs the row. Its gradient is `halo_gather`.
    """
    return ops.halo_scatter_add(graph.id, buffer)
