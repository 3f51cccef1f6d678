# SPDX-License-Identifier: Apache-2.0
"""The functions for users: values of edges are in the order of the graph's edge_index, and heads are a dimension."""
import torch
from torch import Tensor

from sley.torch import dense_ops, ops
from sley.torch._rank import require
from sley.torch.graph import Operand


def _entries(graph: Operand, what: str, values: Tensor) -> Tensor:
    """Values of edges for operators: heads values per entry, in the order of entries."""
    require(values.dim() in (1, 2) and values.shape[0] == graph.num_edges,
            f"{what} has shape {tuple(values.shape)}: expected ({graph.num_edges},) or ({graph.num_edges}, heads)")
    return graph.to_entries(values if values.dim() == 2 else values.unsqueeze(1))


def spmm(graph: Operand, x: Tensor, weight: Tensor | None = None, *, transpose: bool = False) -> Tensor:
    """Y[i] = the sum over the edges (j, i) of the edge's value times X[j]. With transpose, Y[j] sums X[i] instead.

    Parameters
    ----------
    graph : Graph or DistGraph
    x : Tensor, shape (sources, width) or (sources, heads, width)
        X; with transpose of shape (targets, ...). float32, float64, float16 or bfloat16, on the graph's device. It is
        read without a copy if the values of each row are contiguous.
    weight : Tensor, shape (edges,) or (edges, heads), optional
        Values that replace the graph's own, in the order of `graph.edge_index`. Differentiable.

    Returns
    -------
    Tensor, shape (targets, ...)
        Y; with transpose of shape (sources, ...). Differentiable twice, with respect to x and weight.
    """
    if weight is not None:
        weight = _entries(graph, "spmm: weight", weight)
    if x.dim() == 2:
        return ops.spmm(graph.id, x, weight, transpose)
    return ops.spmm(graph.id, x.flatten(1), weight, transpose).unflatten(1, x.shape[1:])


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
    """The attention of GAT in one pass: the sum over the edges (j, i) of p value[j], where p is the softmax of
    leaky(query[i] + key[j]) over the edges of i. No array with a value per edge is allocated.

    Parameters
    ----------
    query : Tensor, shape (targets, heads)
    key : Tensor, shape (sources, heads)
    value : Tensor, shape (sources, heads, width)
    slope : float
        Slope of leaky for negative arguments.

    Returns
    -------
    Tensor, shape (targets, heads, width)
    """
    require(value.dim() == 3, f"gat: value has shape {tuple(value.shape)}: expected (sources, heads, width)")
    source = torch.cat((value.flatten(1), key), 1)
    return ops.gat(graph.id, query, source, slope)[0].unflatten(1, value.shape[1:])


def halo_gather(graph: Operand, x: Tensor) -> Tensor:
    """The halo: the rows of X that this rank's rows of the graph need from other ranks, in ascending order. Collective.

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
    """The reverse of `halo_gather`: each owner receives the sums of all ranks' halo rows for its rows of X, added in
    the order of the ranks. Collective.

    Parameters
    ----------
    graph : DistGraph
    buffer : Tensor, shape (graph.halo_rows, width)

    Returns
    -------
    Tensor, shape (rows of X of this rank, width)
        The sums; 0 for rows that no other rank needs. Its gradient is `halo_gather`.
    """
    return ops.halo_scatter_add(graph.id, buffer)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x weight^T + bias, by `sley_gemm`. Many float32 rows on a GPU of compute capability 9.0 are computed on Tensor
    cores, with the accuracy of float32.

    Parameters
    ----------
    x : Tensor, shape (rows, inputs)
        float32, float64, float16 or bfloat16; 16-bit types are summed in float32.
    weight : Tensor, shape (outputs, inputs)
    bias : Tensor, shape (outputs,), optional

    Returns
    -------
    Tensor, shape (rows, outputs)
        Differentiable twice.
    """
    return dense_ops.gemm(x, weight, False, True, bias)


def draw_seed(device: torch.device | str) -> Tensor:
    """A seed for dropout masks, drawn by torch's generator of the device. It depends on `torch.manual_seed`, the call
    does not wait for the device, and each replay of a captured step draws a new seed."""
    return torch.randint(2**63 - 1, (1,), device=device)


def bias_act_dropout(x: Tensor, bias: Tensor | None = None, act: str = "none", p: float = 0.0, *,
                     seed: Tensor | None = None, stream: int = 0, first_row: int = 0) -> Tensor:
    """Dropout of act(x + bias) in one pass over x: values are set to zero with probability p, and others are divided by
    1 - p. No mask is stored: the gradient, also one pass, draws it again, or with relu reads the result.

    Parameters
    ----------
    x : Tensor, shape (rows, width)
        float32, float64, float16 or bfloat16.
    bias : Tensor, shape (width,), optional
    act : "none" or "relu"
    p : float
        At least 0, less than 1.
    seed : Tensor of int64, one value, optional
        Seed of the mask, which depends only on seed, stream, row number and column, and is the same on all devices. The
        seed is read on the device. By default `draw_seed` draws one.
    stream : int
        Number below 2^32, which must differ between masks with the same seed.
    first_row : int
        The number of row 0: if rows are divided among ranks, the number of rows before the rank's own.

    Returns
    -------
    Tensor, shape (rows, width)
        Differentiable twice, with respect to x and bias.
    """
    if act == "none" and p == 0.0:
        dense_ops.check_drop(x, bias, act, p, None, stream, first_row)
        return x if bias is None else x + bias
    if seed is None and p > 0.0:
        seed = draw_seed(x.device)
    return dense_ops.bias_act_dropout(x, bias, act, float(p), seed, stream, first_row)


def nll(logits: Tensor, labels: Tensor, mask: Tensor | None = None, *, counted: float | None = None) -> Tensor:
    """The mean negative log-likelihood of labels, which is torch's cross_entropy(logits[mask], labels[mask]) without
    copies of rows. Softmax and loss are one pass over the counted rows of logits, and the gradient is another.

    Parameters
    ----------
    logits : Tensor, shape (rows, classes)
        float32, float64, float16 or bfloat16.
    labels : Tensor of integers, shape (rows,)
        Classes from 0 to classes - 1; -1: the row is not counted. Any other value makes the loss NaN. Labels of int32
        are read without a copy if there is no mask.
    mask : Tensor of bool, shape (rows,), optional
        Rows with False are not counted.
    counted : float, optional
        Divisor of the sum of the losses, for example the number of counted rows of all ranks; by default the number of
        counted rows. If no rows are counted, the loss is NaN, as in torch.

    Returns
    -------
    Tensor, without dimensions
        The loss, summed in float64. Differentiable twice, with respect to logits.
    """
    if mask is not None:
        labels = torch.where(mask, labels, -1)
    require(not labels.is_floating_point() and not labels.is_complex(),
            f"nll: labels are of {labels.dtype}: expected whole numbers, as torch.int64")
    require(counted is None or counted > 0, f"nll: counted is {counted}: it must be greater than 0")
    if labels.dtype != torch.int32:
        labels = labels.long().clamp(-2, 2**31 - 1).to(torch.int32)
    return dense_ops.nll(logits, labels, 0.0 if counted is None else float(counted))[0]
