# SPDX-License-Identifier: Apache-2.0
"""The one table of what sley.torch computes on tensors: each operator and layer beside the same of dense torch
operators, on operands of float64."""
import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_support import dense, drawn, drawn_edges

import sley.nn
import sley.torch
from sley.torch import Graph, dense_ops, ops

GRAPH = Graph(drawn_edges(6, 4, 11, 1), (6, 4))  # sources, targets, edges
NODES = Graph(drawn_edges(5, 5, 9, 2), 5)
A = dense(GRAPH)
LABELS, SEED = torch.tensor([0, 2, -1, 2, 1]), torch.tensor([11])


@dataclass
class Row:
    """An operator: function(*operands) has the values and derivatives of dense(*operands)."""

    name: str  # as users call it, or an operator of torch.ops.sley
    function: Callable[..., Tensor]
    dense: Callable[..., Tensor]
    shapes: tuple[tuple[int, ...], ...]

    def operands(self, seed: int = 1) -> list[Tensor]:
        """Of which gradients are wanted."""
        return [drawn(*shape, seed=seed + 10 * i) for i, shape in enumerate(self.shapes)]


def weighted(weight: Tensor) -> Tensor:
    """A for each head: heads x targets x sources."""
    return torch.stack([dense(GRAPH, each) for each in weight.unbind(1)])


def spmm_dense(x: Tensor, weight: Tensor) -> Tensor:
    return torch.einsum("hij,jhk->ihk", weighted(weight), x)


def softmax_dense(graph: Graph, s: Tensor) -> Tensor:
    target = graph.edge_index[1]
    sums = s.new_zeros(graph.shape[1], s.shape[1]).index_add(0, target, s.exp())
    return s.exp() / sums[target]


def softmax_backward_dense(p: Tensor, dp: Tensor) -> Tensor:
    target = GRAPH.edge_index[1]
    return p * (dp - p.new_zeros(4, p.shape[1]).index_add(0, target, p * dp)[target])


def gat_dense(query: Tensor, key: Tensor, value: Tensor, graph: Graph = GRAPH, slope: float = 0.2) -> Tensor:
    source, target = graph.edge_index
    p = softmax_dense(graph, torch.nn.functional.leaky_relu(query[target] + key[source], slope))
    return value.new_zeros(graph.shape[1], *value.shape[1:]).index_add(0, target, p.unsqueeze(2) * value[source])


def gat_of_source(query: Tensor, source: Tensor) -> Tensor:
    return gat_dense(query, source[:, 4:], source[:, :4].unflatten(1, (2, 2))).flatten(1)


def gat_backward_of(query: Tensor, source: Tensor, dy: Tensor) -> Tensor:
    """The operator; what the forward has saved is found again."""
    with torch.no_grad():
        y, saved = ops.gat.op(GRAPH.id, *(each.detach() for each in (query, source)), 0.2)
    return torch.cat([each.flatten() for each in ops.gat_backward.op(GRAPH.id, query, source, y, saved, dy, 0.2)])


def gradient(function: Callable[..., Tensor], count: int) -> Callable[..., Tensor]:
    """Of the first operands of a function, flat, with the last operand as the result's gradient."""
    def made(*operands: Tensor) -> Tensor:
        *given, dy = operands
        pull = torch.func.vjp(lambda *first: function(*first, *given[count:]), *given[:count])[1]
        return torch.cat([each.flatten() for each in pull(dy)])

    return made


MASK = {p: sley.torch.bias_act_dropout(torch.ones(5, 3, dtype=torch.float64), p=p, seed=SEED) for p in (0.0, 0.4)}


def drop_dense(act: str, p: float) -> Callable[..., Tensor]:
    return lambda x, bias: ((x + bias).relu() if act == "relu" else x + bias) * MASK[p]


def drop_backward(act: str) -> Callable[..., Tensor]:
    y = (drawn(5, 3, seed=3).detach().relu() * MASK[0.4]) if act == "relu" else None
    return lambda dy: torch.cat([each.flatten() for each in dense_ops.bias_act_dropout_backward.op(
        dy, y, act, 0.4, SEED, 0, 0, True)])


def drop_backward_dense(act: str) -> Callable[..., Tensor]:
    kept = (drawn(5, 3, seed=3).detach() > 0).double() if act == "relu" else 1.0
    return lambda dy: torch.cat(((dy * kept * MASK[0.4]).flatten(), (dy * kept * MASK[0.4]).sum(0)))


def nll_dense(logits: Tensor) -> Tensor:
    return torch.nn.functional.cross_entropy(logits, LABELS, ignore_index=-1)


def nll_backward_of(logits: Tensor, dloss: Tensor) -> Tensor:
    sums = torch.tensor([0.0, 4.0], dtype=torch.float64)
    return dense_ops.nll_backward.op(dloss, logits, LABELS.int(), sums, 0.0).flatten()


def traced_call(layer: torch.nn.Module, parameters: dict[str, Tensor], x: Tensor) -> Tensor:
    """As functional_call."""
    layer = copy.deepcopy(layer)
    for key, each in parameters.items():
        owner, _, name = key.rpartition(".")
        layer.get_submodule(owner)._parameters[name] = each
    return layer(x, NODES)


def layer_row(name: str, layer: torch.nn.Module, of_dense: Callable[..., Tensor]) -> Row:
    """A layer as a function of x and its parameters."""
    layer = layer.double()
    names, shapes = zip(*((key, tuple(each.shape)) for key, each in layer.named_parameters()), strict=True)

    def function(x: Tensor, *parameters: Tensor) -> Tensor:
        if torch.jit.is_tracing():  # which functional_call does not know
            return traced_call(layer, dict(zip(names, parameters, strict=True)), x)
        return torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x, NODES))

    def expected(x: Tensor, *parameters: Tensor) -> Tensor:
        return of_dense(x, **{key.replace(".", "_"): each for key, each in zip(names, parameters, strict=True)})

    return Row(name, function, expected, ((5, 3), *shapes))


def gcn_dense(x: Tensor, bias: Tensor, lin_weight: Tensor) -> Tensor:
    a = dense(NODES)
    a = a - a.diag().diag() + torch.eye(5, dtype=torch.float64)
    scale = a.sum(1).pow(-0.5)
    return scale[:, None] * a * scale @ x @ lin_weight.T + bias


def sage_dense(x: Tensor, lin_l_weight: Tensor, lin_l_bias: Tensor, lin_r_weight: Tensor) -> Tensor:
    a = dense(NODES)
    return a / a.sum(1, keepdim=True).clamp(min=1) @ x @ lin_l_weight.T + lin_l_bias + x @ lin_r_weight.T


def gin_dense(x: Tensor, eps: Tensor, nn_weight: Tensor, nn_bias: Tensor) -> Tensor:
    return (dense(NODES) @ x + (1 + eps) * x) @ nn_weight.T + nn_bias


LOOPS = NODES.derived("loops")


def gat_layer_dense(x: Tensor, att_src: Tensor, att_dst: Tensor, bias: Tensor, lin_weight: Tensor) -> Tensor:
    rows = (x @ lin_weight.T).view(5, 2, 2)
    return gat_dense((rows * att_dst).sum(-1), (rows * att_src).sum(-1), rows, LOOPS).flatten(1) + bias


source, target = GRAPH.edge_index
ROWS = [
    Row("spmm", lambda x: sley.torch.spmm(GRAPH, x), lambda x: A @ x, ((6, 2),)),
    Row("spmm, transpose", lambda y: sley.torch.spmm(GRAPH, y, transpose=True), lambda y: A.T @ y, ((4, 2),)),
    Row("spmm, weight", lambda x, weight: sley.torch.spmm(GRAPH, x, weight), spmm_dense, ((6, 2, 2), (11, 2))),
    Row("sddmm", lambda u, v: sley.torch.sddmm(GRAPH, u, v), lambda u, v: (u[target] * v[source]).sum(-1),
        ((4, 2, 2), (6, 2, 2))),
    Row("edge_softmax", lambda s: sley.torch.edge_softmax(GRAPH, s), lambda s: softmax_dense(GRAPH, s), ((11, 2),)),
    Row("edge_softmax_backward", lambda p, dp: GRAPH.to_edges(ops.edge_softmax_backward.op(
        GRAPH.id, GRAPH.to_entries(p), GRAPH.to_entries(dp))), softmax_backward_dense, ((11, 2), (11, 2))),
    Row("gat", lambda query, key, value: sley.torch.gat(GRAPH, query, key, value), gat_dense,
        ((4, 2), (6, 2), (6, 2, 2))),
    Row("gat_backward", gat_backward_of, gradient(gat_of_source, 2), ((4, 2), (6, 6), (4, 4))),
    Row("linear", sley.torch.linear, torch.nn.functional.linear, ((4, 3), (2, 3), (2,))),
    Row("gemm", lambda a, b: dense_ops.gemm.op(a, b, True, False), lambda a, b: a.T @ b, ((3, 4), (3, 2))),
    Row("bias_act_dropout", lambda x, bias: sley.torch.bias_act_dropout(x, bias, "relu", 0.4, seed=SEED),
        drop_dense("relu", 0.4), ((5, 3), (3,))),
    Row("bias_act_dropout, none", lambda x, bias: sley.torch.bias_act_dropout(x, bias, "none", 0.4, seed=SEED),
        drop_dense("none", 0.4), ((5, 3), (3,))),
    Row("bias_act_dropout, p=0", lambda x, bias: sley.torch.bias_act_dropout(x, bias, "relu"), drop_dense("relu", 0.0),
        ((5, 3), (3,))),
    Row("bias_act_dropout_backward", drop_backward("relu"), drop_backward_dense("relu"), ((5, 3),)),
    Row("bias_act_dropout_backward, none", drop_backward("none"), drop_backward_dense("none"), ((5, 3),)),
    Row("dropout_mask", lambda x: x * dense_ops.dropout_mask.op(SEED, 5, 3, 0.4, 0, 0, torch.float64),
        lambda x: x * MASK[0.4], ((5, 3),)),
    Row("nll", lambda logits: sley.torch.nll(logits, LABELS), nll_dense, ((5, 3),)),
    Row("nll_backward", nll_backward_of, gradient(nll_dense, 1), ((5, 3), ())),
    layer_row("GCNConv", sley.nn.GCNConv(3, 2), gcn_dense),
    layer_row("SAGEConv", sley.nn.SAGEConv(3, 2), sage_dense),
    layer_row("GINConv", sley.nn.GINConv(torch.nn.Linear(3, 2), eps=0.3, train_eps=True), gin_dense),
    layer_row("GATConv", sley.nn.GATConv(3, 2, heads=2), gat_layer_dense),
]
# Exported, and not functions of tensors.
OTHERS = {"DistGraph", "Graph", "MODELS", "Net", "Rank", "SparseHookState", "allreduce_grads", "draw_seed", "on_ranks",
          "patch_pyg", "sparse_allreduce_hook", "unpatch_pyg"}
ACROSS_RANKS = {"halo_gather", "halo_scatter_add"}  # measured by torch_rank_transforms.py
