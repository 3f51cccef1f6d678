# SPDX-License-Identifier: Apache-2.0
"""The operators on graphs, in the namespace torch.ops.sley.

Gradients are computed by operators, so each operator can be differentiated twice. Operators that are linear in an
operand, and the softmax, have rules for forward mode and vmap, in which a batch becomes columns or heads; under these
transforms the other operators are composed of them. Dense operands are matrices whose rows have heads x width values.
Values of entries are in the order of the rows of A, heads values per entry. `sley.torch.functional` has the functions
for users.
"""
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sley.torch._operator import Operator, cast_nothing, cast_to_float32
from sley.torch._rank import require
from sley.torch._transform import apart, batch, pull_back, side_by_side
from sley.torch.graph import Operand, graph_of


def _check_dense(what: str, x: Tensor, rows: int, graph: Operand) -> None:
    if x.dim() != 2 or x.shape[0] != rows or x.device != graph.device:
        graph.refuse(what, x, rows)


def _check_entries(what: str, s: Tensor, graph: Operand) -> None:
    if s.dim() != 2 or s.shape[0] != graph.pattern.nnz or s.device != graph.device:
        require(False, f"{what} has shape {tuple(s.shape)} on {s.device}: expected ({graph.pattern.nnz}, heads) on "
                       f"{graph.device}")


def _check_types(what: str, *tensors: Tensor) -> None:
    types = [each.dtype for each in tensors]
    require(types.count(types[0]) == len(types), f"{what}: operands are of different types, {types}")


# ---- spmm: Y = A X or A^T X


def _spmm_rows(graph: Operand, x: Tensor, weight: Tensor | None, transpose: bool) -> int:
    """Checks the operands; returns the number of rows of the result."""
    _check_dense("spmm: x", x, graph.rows if transpose else graph.cols, graph)
    if weight is not None:
        _check_entries("spmm: weight", weight, graph)
        _check_types("spmm", x, weight)
        heads = weight.shape[1]
        require(x.shape[1] % heads == 0 if heads else x.shape[1] == 0,
                f"spmm: rows of x have {x.shape[1]} values, which are not {heads} heads")
    return graph.cols if transpose else graph.rows


def _spmm_run(number: int, x: Tensor, weight: Tensor | None = None, transpose: bool = False) -> Tensor:
    graph = graph_of(number)
    if weight is None:
        return graph.product(x, transpose)
    _spmm_rows(graph, x, weight, transpose)
    return graph.pattern.aggregate_transposed(x, weight) if transpose else graph.pattern.aggregate(x, weight)


def _spmm_fake(number: int, x: Tensor, weight: Tensor | None = None, transpose: bool = False) -> Tensor:
    return x.new_empty((_spmm_rows(graph_of(number), x, weight, transpose), x.shape[1]))


def _spmm_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.number, x, weight, ctx.transpose = inputs
    ctx.weighted = weight is not None
    if weight is not None:
        ctx.save_for_backward(x if ctx.needs_input_grad[2] else None, weight)


def _spmm_backward(ctx: Any, dy: Tensor) -> tuple[Any, ...]:
    if not ctx.weighted:
        return None, spmm(ctx.number, dy, None, not ctx.transpose), None, None
    x, weight = ctx.saved_tensors
    dx = spmm(ctx.number, dy, weight, not ctx.transpose) if ctx.needs_input_grad[1] else None
    dweight = None
    if ctx.needs_input_grad[2]:
        rows = (x, dy) if ctx.transpose else (dy, x)
        dweight = sddmm(ctx.number, *rows, weight.shape[1])
    return None, dx, dweight, None


def _spmm_jvp(given: Any, tangents: Any) -> Tensor | None:
    number, x, weight, transpose = given
    of_x = None if tangents[1] is None else spmm(number, tangents[1], weight, transpose)
    of_weight = None if tangents[2] is None else spmm(number, x, tangents[2], transpose)
    return _sum(of_x, of_weight)


def _sum(*terms: Tensor | None) -> Tensor | None:
    """The sum of the terms that are not None."""
    made = None
    for each in terms:
        made = each if made is None else made if each is None else made + each
    return made


def _spmm_vmap(size: int, dims: Any, given: Any) -> tuple[Tensor, int]:
    """The batch becomes columns of X; a batch of weights becomes heads; if there are heads with unbatched weights, the
    batch becomes columns of each head."""
    number, x, weight, transpose = given
    x = batch(x, dims[1], size)
    if weight is None:
        return apart(spmm(number, side_by_side(x), None, transpose), size)
    if dims[2] is not None:
        return apart(spmm(number, side_by_side(x), side_by_side(batch(weight, dims[2], size)), transpose), size)
    heads = weight.shape[1]
    rows, width = x.shape[1], x.shape[2] // max(heads, 1)
    x = x.reshape(size, rows, heads, width).permute(1, 2, 0, 3).reshape(rows, heads * size * width)
    y = spmm(number, x, weight, transpose)
    return y.reshape(y.shape[0], heads, size, width).transpose(1, 2).reshape(y.shape[0], size, heads * width), 1


spmm = Operator("spmm(int graph, Tensor x, Tensor? weight=None, bool transpose=False) -> Tensor", _spmm_run, _spmm_fake,
                _spmm_setup, _spmm_backward, jvp=_spmm_jvp, vmap=_spmm_vmap)


# ---- sddmm: S(i, j) = U[i] . V[j]


def _check_sddmm(graph: Operand, u: Tensor, v: Tensor, heads: int) -> None:
    _check_dense("sddmm: u", u, graph.rows, graph)
    _check_dense("sddmm: v", v, graph.cols, graph)
    _check_types("sddmm", u, v)
    require(u.shape[1] == v.shape[1] and (u.shape[1] % heads == 0 if heads else u.shape[1] == 0),
            f"sddmm: rows of u and v have {u.shape[1]} and {v.shape[1]} values, for {heads} heads")


def _sddmm_run(number: int, u: Tensor, v: Tensor, heads: int = 1) -> Tensor:
    graph = graph_of(number)
    _check_sddmm(graph, u, v, heads)
    return graph.pattern.sddmm(u, v, heads)


def _sddmm_fake(number: int, u: Tensor, v: Tensor, heads: int = 1) -> Tensor:
    graph = graph_of(number)
    _check_sddmm(graph, u, v, heads)
    return u.new_empty((graph.pattern.nnz, heads))


def _sddmm_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.number, u, v, _heads = inputs
    ctx.save_for_backward(u, v)


def _sddmm_backward(ctx: Any, ds: Tensor) -> tuple[Any, ...]:
    u, v = ctx.saved_tensors
    du = spmm(ctx.number, v, ds, False) if ctx.needs_input_grad[1] else None
    dv = spmm(ctx.number, u, ds, True) if ctx.needs_input_grad[2] else None
    return None, du, dv, None


def _sddmm_jvp(given: Any, tangents: Any) -> Tensor | None:
    number, u, v, heads = given
    return _sum(None if tangents[1] is None else sddmm(number, tangents[1], v, heads),
                None if tangents[2] is None else sddmm(number, u, tangents[2], heads))


def _sddmm_vmap(size: int, dims: Any, given: Any) -> tuple[Tensor, int]:
    """The batch becomes heads."""
    number, u, v, heads = given
    u, v = (side_by_side(batch(each, dim, size)) for each, dim in ((u, dims[1]), (v, dims[2])))
    return apart(sddmm(number, u, v, heads * size), size)


sddmm = Operator("sddmm(int graph, Tensor u, Tensor v, int heads=1) -> Tensor", _sddmm_run, _sddmm_fake, _sddmm_setup,
                 _sddmm_backward, jvp=_sddmm_jvp, vmap=_sddmm_vmap)


# ---- edge_softmax: over the entries of each row


def _softmax_run(number: int, s: Tensor) -> Tensor:
    graph = graph_of(number)
    _check_entries("edge_softmax: s", s, graph)
    return graph.pattern.softmax(s)


def _softmax_fake(number: int, s: Tensor) -> Tensor:
    _check_entries("edge_softmax: s", s, graph_of(number))
    return torch.empty_like(s, memory_format=torch.contiguous_format)


def _softmax_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.number = inputs[0]
    ctx.save_for_backward(output)


def _softmax_backward(ctx: Any, dp: Tensor) -> tuple[Any, ...]:
    return None, edge_softmax_backward(ctx.number, ctx.saved_tensors[0], dp)


def _softmax_jvp(given: Any, tangents: Any) -> Tensor:
    """The same map as the gradient, since it is symmetric."""
    number, s = given
    return edge_softmax_backward(number, edge_softmax(number, s), tangents[1])


def _softmax_vmap(size: int, dims: Any, given: Any) -> tuple[Tensor, int]:
    """The batch becomes heads."""
    number, s = given
    return apart(edge_softmax(number, side_by_side(batch(s, dims[1], size))), size)


edge_softmax = Operator("edge_softmax(int graph, Tensor s) -> Tensor", _softmax_run, _softmax_fake, _softmax_setup,
                        _softmax_backward, cast_to_float32, jvp=_softmax_jvp, vmap=_softmax_vmap)


def _softmax_backward_run(number: int, p: Tensor, dp: Tensor) -> Tensor:
    graph = graph_of(number)
    _check_entries("edge_softmax: the gradient", dp, graph)
    return graph.pattern.softmax_backward(p, dp)


def _softmax_backward_fake(number: int, p: Tensor, dp: Tensor) -> Tensor:
    return torch.empty_like(p, memory_format=torch.contiguous_format)


def _softmax_backward_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.number, p, dp = inputs
    ctx.save_for_backward(p, dp)


def _row_sums_at_entries(number: int, values: Tensor) -> Tensor:
    """For each entry the sum of the values of its row, head by head."""
    graph = graph_of(number)
    ones = values.new_ones((graph.cols, values.shape[1]))
    return sddmm(number, spmm(number, ones, values, False), ones, values.shape[1])


def _softmax_backward_backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
    """Gradients of dS = P (dP - r), where r is the row's sum of P dP, and g is the incoming gradient. With respect to
    dP it is the same map, since the map is symmetric. With respect to P it is g (dP - r) - dP (the row's sum of P
    g)."""
    p, dp = ctx.saved_tensors
    of_p = g * (dp - _row_sums_at_entries(ctx.number, p * dp)) - dp * _row_sums_at_entries(ctx.number, p * g)
    return None, of_p, edge_softmax_backward(ctx.number, p, g)


def _softmax_backward_parts(number: int, p: Tensor, dp: Tensor) -> Tensor:
    return p * (dp - _row_sums_at_entries(number, p * dp))


edge_softmax_backward = Operator("edge_softmax_backward(int graph, Tensor p, Tensor dp) -> Tensor",
                                 _softmax_backward_run, _softmax_backward_fake, _softmax_backward_setup,
                                 _softmax_backward_backward, cast_to_float32, parts=_softmax_backward_parts)


# ---- gat: scores, softmax and weighted sums of the attention of GAT in one pass


def _gat_shape(graph: Operand, query: Tensor, source: Tensor) -> tuple[int, int]:
    """Checks the operands; returns heads and width."""
    _check_dense("gat: queries", query, graph.rows, graph)
    _check_dense("gat: sources", source, graph.cols, graph)
    _check_types("gat", query, source)
    heads = query.shape[1]
    require(heads > 0 and source.shape[1] % heads == 0 and source.shape[1] >= heads,
            f"gat: rows of queries and sources have {heads} and {source.shape[1]} values: expected heads, and heads x "
            "width values with heads keys behind them")
    return heads, source.shape[1] // heads - 1


def _gat_run(number: int, query: Tensor, source: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    graph = graph_of(number)
    return graph.pattern.attention(*_gat_shape(graph, query, source), query.dtype, slope).forward(query, source)


def _gat_fake(number: int, query: Tensor, source: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    graph = graph_of(number)
    heads, width = _gat_shape(graph, query, source)
    saved = graph.pattern.attention(int(heads), int(width), query.dtype, slope).saved_bytes
    return query.new_empty((graph.rows, heads * width)), query.new_empty((saved,), dtype=torch.uint8)


def _gat_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.number, query, source, ctx.slope = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(query, source, *output)


def _gat_backward(ctx: Any, dy: Tensor | None, _dsaved: Any) -> tuple[Any, ...]:
    if dy is None:
        return None, None, None, None
    query, source, y, saved = ctx.saved_tensors
    return None, *gat_backward(ctx.number, query, source, y, saved, dy, ctx.slope), None


def _gat_parts(number: int, query: Tensor, source: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    """The attention composed of operators, without saved values, since its gradient is composed separately."""
    _gat_shape(graph_of(number), query, source)
    return gat_in_parts(number, query, source, slope)[0], torch.empty(0, dtype=torch.uint8, device=query.device)


gat = Operator("gat(int graph, Tensor query, Tensor source, float slope) -> (Tensor, Tensor)", _gat_run, _gat_fake,
               _gat_setup, _gat_backward, parts=_gat_parts)


def _gat_backward_run(number: int, query: Tensor, source: Tensor, y: Tensor, saved: Tensor, dy: Tensor,
                      slope: float) -> tuple[Tensor, Tensor]:
    graph = graph_of(number)
    attention = graph.pattern.attention(*_gat_shape(graph, query, source), query.dtype, slope)
    return attention.backward(query, source, y, saved, dy)


def _gat_backward_fake(number: int, query: Tensor, source: Tensor, y: Tensor, saved: Tensor, dy: Tensor,
                       slope: float) -> tuple[Tensor, Tensor]:
    return query.new_empty(query.shape), source.new_empty(source.shape)


def _gat_backward_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.number, query, source, _y, _saved, dy, ctx.slope = inputs
    ctx.save_for_backward(query, source, dy)


def _gat_scores(number: int, query: Tensor, source: Tensor) -> tuple[Tensor, Tensor]:
    """The values of sources, and query[i] + key[j] for each entry."""
    heads = query.shape[1]
    features = source.shape[1] - heads
    value, key = source[:, :features], source[:, features:]
    left = torch.stack((query, torch.ones_like(query)), -1).flatten(1)
    right = torch.stack((torch.ones_like(key), key), -1).flatten(1)
    return value, sddmm(number, left, right, heads)  # q[i] 1 + 1 k[j]


def gat_in_parts(number: int, query: Tensor, source: Tensor, slope: float, bias: Tensor | None = None,
                 dropout: Callable[[Tensor], Tensor] | None = None) -> tuple[Tensor, Tensor]:
    """The attention composed of operators on entries. It also supports a term for each entry, and dropout of the
    softmax.

    Returns rows of heads x width values, and the softmax, heads values for each entry.
    """
    value, score = _gat_scores(number, query, source)
    score = torch.nn.functional.leaky_relu(score if bias is None else score + bias, slope)
    p = edge_softmax(number, score)
    weight = p if dropout is None else dropout(p)
    return spmm(number, value, weight.to(value.dtype), False), p


def _gat_backward_parts(number: int, query: Tensor, source: Tensor, _y: Tensor, _saved: Tensor, dy: Tensor,
                        slope: float) -> tuple[Tensor, Tensor]:
    """The gradient of attention, composed of operators; y and saved are functions of query and source."""
    value, score = _gat_scores(number, query, source)
    p = edge_softmax(number, torch.nn.functional.leaky_relu(score, slope))
    dscore = edge_softmax_backward(number, p, sddmm(number, dy.to(value.dtype), value, query.shape[1]).to(p.dtype))
    dscore = torch.where(score > 0, dscore, dscore * slope).to(query.dtype)
    dquery = spmm(number, query.new_ones((source.shape[0], query.shape[1])), dscore, False)
    dkey = spmm(number, torch.ones_like(query), dscore, True)
    return dquery, torch.cat((spmm(number, dy.to(value.dtype), p.to(value.dtype), True), dkey), 1)


def _gat_backward_backward(ctx: Any, of_dquery: Tensor, of_dsource: Tensor) -> tuple[Any, ...]:
    def first(query: Tensor, source: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
        return _gat_backward_parts(ctx.number, query, source, dy, dy, dy, ctx.slope)

    of_query, of_source, of_dy = pull_back(first, ctx.saved_tensors, (of_dquery, of_dsource))
    return None, of_query, of_source, None, None, of_dy, None


gat_backward = Operator("gat_backward(int graph, Tensor query, Tensor source, Tensor y, Tensor saved, Tensor dy, "
                        "float slope) -> (Tensor, Tensor)", _gat_backward_run, _gat_backward_fake, _gat_backward_setup,
                        _gat_backward_backward, parts=_gat_backward_parts)


# ---- halo_gather: rows of X that the rank needs from others; halo_scatter_add: values of these rows, added at the
# owners


def _gather_run(number: int, x: Tensor) -> Tensor:
    graph = graph_of(number)
    _check_dense("halo_gather: x", x, graph.cols, graph)
    return graph.pattern.halo(x.shape[1], x.dtype).gather(x)


def _gather_fake(number: int, x: Tensor) -> Tensor:
    graph = graph_of(number)
    _check_dense("halo_gather: x", x, graph.cols, graph)
    return x.new_empty((graph.pattern.halo(int(x.shape[1]), x.dtype).rows, x.shape[1]))


def _halo_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.number = inputs[0]


def _gather_backward(ctx: Any, dbuffer: Tensor) -> tuple[Any, ...]:
    return None, halo_scatter_add(ctx.number, dbuffer)


def _gather_jvp(given: Any, tangents: Any) -> Tensor:
    return halo_gather(given[0], tangents[1])


def _gather_vmap(size: int, dims: Any, given: Any) -> tuple[Tensor, int]:
    return apart(halo_gather(given[0], side_by_side(batch(given[1], dims[1], size))), size)


halo_gather = Operator("halo_gather(int graph, Tensor x) -> Tensor", _gather_run, _gather_fake, _halo_setup,
                       _gather_backward, cast_nothing, jvp=_gather_jvp, vmap=_gather_vmap)


def _scatter_add_run(number: int, buffer: Tensor) -> Tensor:
    graph = graph_of(number)
    require(buffer.dim() == 2, f"halo_scatter_add: buffer has {buffer.dim()} dimensions: expected 2")
    halo = graph.pattern.halo(buffer.shape[1], buffer.dtype)
    _check_dense("halo_scatter_add: buffer", buffer, halo.rows, graph)
    return halo.scatter_add(buffer)


def _scatter_add_fake(number: int, buffer: Tensor) -> Tensor:
    return buffer.new_empty((graph_of(number).cols, buffer.shape[1]))


def _scatter_add_backward(ctx: Any, dx: Tensor) -> tuple[Any, ...]:
    return None, halo_gather(ctx.number, dx)


def _scatter_add_jvp(given: Any, tangents: Any) -> Tensor:
    return halo_scatter_add(given[0], tangents[1])


def _scatter_add_vmap(size: int, dims: Any, given: Any) -> tuple[Tensor, int]:
    return apart(halo_scatter_add(given[0], side_by_side(batch(given[1], dims[1], size))), size)


halo_scatter_add = Operator("halo_scatter_add(int graph, Tensor buffer) -> Tensor", _scatter_add_run, _scatter_add_fake,
                            _halo_setup, _scatter_add_backward, cast_nothing, jvp=_scatter_add_jvp,
                            vmap=_scatter_add_vmap)
