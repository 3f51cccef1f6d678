# SPDX-License-Identifier: Apache-2.0
"""Graphs whose nodes are in another order inside: operators, their gradients and layers return what they return without one."""
import pickle

import pytest

torch = pytest.importorskip("torch")

from torch_support import drawn, drawn_edges, on_devices  # noqa: E402

import sley  # noqa: E402
import sley.torch  # noqa: E402
from sley.errors import SleyArgumentError, SleyUnsupportedError  # noqa: E402
from sley.nn import GATConv, GCNConv, GINConv, SAGEConv  # noqa: E402
from sley.torch import Graph, edge_softmax, gat, sddmm, spmm  # noqa: E402

NODES, EDGES = 60, 400
on_orders = pytest.mark.parametrize("order", [*sley.orders(), "auto"])


def graphs(order, device, **options):
    """A graph without an order, and with it."""
    edges = drawn_edges(NODES, NODES, EDGES, 3, device)
    try:
        return Graph(edges, NODES, **options), Graph(edges, NODES, order=order, **options)
    except SleyUnsupportedError as error:
        pytest.skip(str(error))


def assert_same(function, graphs, *operands):
    """Values and gradients of both graphs are equal to rounding."""
    found = []
    for graph in graphs:
        given = [each.detach().clone().requires_grad_() for each in operands]
        y = function(graph, *given)
        y.mul(torch.linspace(-1, 1, y.numel(), dtype=y.dtype, device=y.device).view_as(y)).sum().backward()
        found.append([y.detach(), *(each.grad for each in given)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-12, atol=1e-12)


@on_devices
@on_orders
def test_operators_keep_the_order_of_nodes_and_edges(device, order):
    both = graphs(order, device)
    assert torch.equal(both[0].edge_index, both[1].edge_index)
    x, u = drawn(NODES, 5, seed=1, device=device), drawn(NODES, 2, 3, seed=2, device=device)
    weight, s = drawn(EDGES, seed=3, device=device), drawn(EDGES, 2, seed=4, device=device)
    query, key = drawn(NODES, 2, seed=5, device=device), drawn(NODES, 2, seed=6, device=device)
    assert_same(spmm, both, x)
    assert_same(lambda graph, x: spmm(graph, x, transpose=True), both, x)
    assert_same(lambda graph, x, w: spmm(graph, x, w), both, x, weight)
    assert_same(sddmm, both, u, u * 2)
    assert_same(edge_softmax, both, s)
    assert_same(gat, both, query, key, u)


@on_devices
@on_orders
def test_layers_and_normalised_graphs(device, order):
    both = graphs(order, device)
    x = drawn(NODES, 4, seed=1, device=device)
    mlp = torch.nn.Linear(4, 3)
    for layer in (GCNConv(4, 3), SAGEConv(4, 3), GINConv(mlp), GATConv(4, 3, heads=2)):
        layer = layer.to(device).double()
        assert_same(lambda graph, x, layer=layer: layer(x, graph), both, x)
    for options in ({"norm": "gcn"}, {"norm": "mean"},
                    {"edge_weight": drawn(EDGES, seed=7, device=device).detach().abs(), "norm": "gcn"}):
        assert_same(spmm, graphs(order, device, **options), x)


def test_the_order_is_known_and_kept():
    graph = Graph(drawn_edges(NODES, NODES, EDGES, 3), NODES, order="rcm")
    assert graph.order == "rcm" and "order rcm" in repr(graph)
    again = pickle.loads(pickle.dumps(graph))
    assert again.order == "rcm" and torch.equal(again.edge_index, graph.edge_index)
    auto = Graph(drawn_edges(NODES, NODES, EDGES, 3), NODES, order="auto")
    assert auto.order in sley.orders()


def test_what_is_refused():
    with pytest.raises(SleyArgumentError, match="needs one set of nodes"):
        Graph(drawn_edges(6, 4, 9, 1), (6, 4), order="rcm")
    with pytest.raises(SleyArgumentError, match="rabbit"):
        Graph(drawn_edges(6, 6, 9, 1), 6, order="best")
