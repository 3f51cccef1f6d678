# SPDX-License-Identifier: Apache-2.0
"""PyG's layers on a Graph, and those of sley.nn, against PyG's own on edge_index: forward and backward."""
import copy
import os
import pickle
import runpy
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric.nn")

import scipy.io  # noqa: E402
import scipy.sparse  # noqa: E402
import torch_geometric.data  # noqa: E402
import torch_geometric.datasets  # noqa: E402
from torch_support import drawn, drawn_edges, on_devices  # noqa: E402

import sley  # noqa: E402
import sley.nn  # noqa: E402
import sley.torch  # noqa: E402
from sley.torch import Graph  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SLEY_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(autouse=True)
def patched():
    sley.torch.patch_pyg()
    yield
    sley.torch.unpatch_pyg()


# ---- graphs


def real(name):
    """Both directions of each entry, the number of nodes, and features."""
    if name == "cora":
        path = DATA / "npz" / "cora.npz"
        if not path.exists():
            pytest.skip(f"{path} is not there")
        with np.load(path, allow_pickle=False) as file:
            a, x = (scipy.sparse.csr_array((file[f"{key}_data"], file[f"{key}_indices"], file[f"{key}_indptr"]),
                                           shape=file[f"{key}_shape"]) for key in ("adj", "attr"))
    else:
        paths = DATA / "gnn" / "coauthor_phy.adj.mtx.gz", DATA / "npz" / "coauthor_phy.features.npz"
        for path in paths:
            if not path.exists():
                pytest.skip(f"{path} is not there")
        a = scipy.sparse.csr_array(scipy.io.mmread(paths[0]))
        with np.load(paths[1], allow_pickle=False) as file:
            prefix = "attr_" if "attr_shape" in file else ""
            x = scipy.sparse.csr_array((file[prefix + "data"], file[prefix + "indices"], file[prefix + "indptr"]),
                                       shape=file[prefix + "shape"])
    both = ((a + a.T) != 0).tocoo()
    edges = torch.from_numpy(np.stack((both.row, both.col)).astype(np.int64))
    return edges, a.shape[0], torch.from_numpy(x[:, :64].toarray().astype(np.float32))


def graphs(name, device):
    """Edges, nodes and features of a graph by its name."""
    if name in ("cora", "physics"):
        edges, nodes, x = real(name)
        return edges.to(device), nodes, (x + 0.1 * drawn(nodes, 64, seed=1, dtype=torch.float32).detach()).to(device)
    nodes, count = {"random": (300, 3000), "sparse": (400, 90), "without edges": (5, 0)}[name]
    return drawn_edges(nodes, nodes, count, 1, device), nodes, drawn(nodes, 64, seed=1, device=device,
                                                                     dtype=torch.float32).detach()


NAMES = ["cora", "physics", "random", "sparse", "without edges"]


def mlp(outside):
    return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, outside))


LAYERS = {
    "gcn": lambda nn: nn.GCNConv(64, 16),
    "gcn, wide": lambda nn: nn.GCNConv(64, 80, improved=True),
    "gcn, no loops": lambda nn: nn.GCNConv(64, 16, add_self_loops=False, bias=False),
    "gcn, not normalised": lambda nn: nn.GCNConv(64, 16, normalize=False),
    "sage": lambda nn: nn.SAGEConv(64, 16),
    "sage, wide": lambda nn: nn.SAGEConv(64, 80, normalize=True, project=True),
    "sage, sum": lambda nn: nn.SAGEConv(64, 16, aggr="sum", root_weight=False),
    "gin": lambda nn: nn.GINConv(mlp(16)),
    "gin, trained eps": lambda nn: nn.GINConv(mlp(16), eps=0.3, train_eps=True),
    "gat": lambda nn: nn.GATConv(64, 8, heads=4),
    "gat, mean of heads": lambda nn: nn.GATConv(64, 8, heads=3, concat=False, residual=True),
    "gat, no loops": lambda nn: nn.GATConv(64, 16, add_self_loops=False, negative_slope=0.1),
}
on_layers = pytest.mark.parametrize("layer", list(LAYERS))


def run(layer, x, edges, *more):
    """Output, and gradients of x and of all parameters in the order of their names."""
    given = x.clone().requires_grad_()
    parameters = [each for _, each in sorted(layer.named_parameters())]
    y = layer(given, edges, *more)
    weight = drawn(*y.shape, seed=9, device=str(x.device), dtype=y.dtype).detach()
    return [y, *torch.autograd.grad((y * weight).sum(), [given, *parameters])]


def assert_equal(found, expected):
    """Within 1e-5 of the largest value."""
    for one, other in zip(found, expected, strict=True):
        scale = max(1.0, float(other.detach().abs().max())) if other.numel() else 1.0
        torch.testing.assert_close(one / scale, other / scale, rtol=0, atol=1e-5)


@on_devices
@pytest.mark.parametrize("name", NAMES)
@on_layers
def test_pyg_layers_are_the_same_on_a_graph(device, name, layer):
    edges, nodes, x = graphs(name, device)
    torch.manual_seed(1)
    made = LAYERS[layer](pyg).to(device)
    assert_equal(run(made, x, Graph(edges, nodes)), run(made, x, edges))


@on_devices
@on_layers
def test_layers_of_sley_take_the_weights_of_pyg(device, layer):
    edges, nodes, x = graphs("random", device)
    torch.manual_seed(1)
    theirs, own = LAYERS[layer](pyg).to(device), LAYERS[layer](sley.nn).to(device)
    state = theirs.state_dict()
    shapes = [{key: each.shape for key, each in layer.state_dict().items()} for layer in (own, theirs)]
    assert shapes[0] == shapes[1]
    own.load_state_dict(state)
    expected = run(theirs, x, edges)
    assert_equal(run(own, x, edges), expected)
    assert_equal(run(own, x, Graph(edges, nodes)), expected)


@on_devices
@pytest.mark.parametrize("nn", [pyg, sley.nn], ids=["pyg", "sley"])
def test_first_weights_are_drawn_alike(device, nn):
    """The same range, whose ends are close to what is drawn."""
    for layer in LAYERS.values():
        for own, theirs in zip(layer(nn).state_dict().values(), layer(pyg).state_dict().values(), strict=True):
            if own.numel() >= 256:
                assert 0.8 < float(own.abs().max() / theirs.abs().max()) < 1.25


# ---- arguments


@on_devices
def test_weights_of_edges(device):
    edges, nodes, x = graphs("random", device)
    weight = drawn(edges.shape[1], seed=2, device=device, dtype=torch.float32).detach().abs().requires_grad_()
    layer = pyg.GCNConv(64, 16, improved=True).to(device)
    assert_equal(run(layer, x, Graph(edges, nodes), weight), run(layer, x, edges, weight))
    found, expected = (torch.autograd.grad(layer(x, each, weight).square().sum(), weight)
                       for each in (Graph(edges, nodes), edges))
    assert_equal(found, expected)
    assert_equal(run(layer, x, Graph(edges, nodes, edge_weight=weight)), run(layer, x, edges, weight.detach()))


@on_devices
@pytest.mark.parametrize("fill", ["mean", "add", 0.5])
def test_attributes_of_edges_and_weights_of_attention(device, fill):
    edges, nodes, x = graphs("random", device)
    attributes = drawn(edges.shape[1], 3, seed=2, device=device, dtype=torch.float32).detach()
    layer = pyg.GATConv(64, 8, heads=2, edge_dim=3, fill_value=fill).to(device)
    found, (of_graph, weights) = layer(x, Graph(edges, nodes), attributes, return_attention_weights=True)
    expected, (of_edges, expected_weights) = layer(x, edges, attributes, return_attention_weights=True)
    assert torch.equal(of_graph, of_edges)
    assert_equal([found, weights], [expected, expected_weights])


@on_devices
def test_sources_and_targets_may_be_different_nodes(device):
    edges = drawn_edges(40, 30, 200, 1, device)
    x = drawn(40, 64, seed=1, device=device, dtype=torch.float32).detach(), drawn(
        30, 64, seed=2, device=device, dtype=torch.float32).detach()
    graph = Graph(edges, (40, 30))
    for layer in (pyg.SAGEConv((64, 64), 8), pyg.GATConv((64, 64), 8, heads=2), pyg.GINConv(mlp(8))):
        layer = layer.to(device)
        assert_equal([layer(x, graph)], [layer(x, edges)])
    layer = pyg.SAGEConv((64, 64), 8).to(device)
    assert_equal([layer((x[0], None), graph, size=(40, 30))], [layer((x[0], None), edges, size=(40, 30))])


@on_devices
def test_dropout_of_attention_is_that_of_pyg_on_average(device):
    edges, nodes, x = graphs("random", device)
    layer = pyg.GATConv(64, 8, heads=2, dropout=0.5).to(device)
    graph = Graph(edges, nodes)
    assert not torch.equal(layer(x, graph), layer(x, graph))
    mean = torch.stack([layer(x, graph).detach() for _ in range(400)]).mean(0)
    layer.eval()
    exact = layer(x, graph).detach()
    assert float((mean - exact).abs().mean() / exact.abs().mean()) < 0.2
    assert_equal([layer(x, graph)], [layer(x, edges)])


def test_what_is_not_served_pyg_computes():
    edges, nodes, x = graphs("random", "cpu")
    graph = Graph(edges, nodes)
    for layer in (pyg.SAGEConv(64, 8, aggr="max"), pyg.SAGEConv(64, 8, aggr=["mean", "max"]),
                  pyg.GCNConv(64, 8, flow="target_to_source")):
        assert torch.equal(layer(x, graph), layer(x, edges))
    seen = []
    layer = pyg.SAGEConv(64, 8)
    layer.register_propagate_forward_hook(lambda *_: seen.append(1))
    layer(x, graph)
    assert seen


def test_mistakes_are_told():
    edges, nodes, x = graphs("random", "cpu")
    with pytest.raises(sley.SleyArgumentError, match="the Graph has 300 sources"):
        pyg.GCNConv(64, 8)(x[:100], Graph(edges, nodes))
    with pytest.raises(sley.SleyArgumentError, match="the Graph has 300 and 300"):
        sley.nn.GCNConv(64, 8)(x[:100], Graph(edges, nodes))
    with pytest.raises(sley.SleyArgumentError, match="aggr is 'max'"):
        sley.nn.SAGEConv(64, 8, aggr="max")


# ---- modules


class Net(torch.nn.Module):
    def __init__(self, nn):
        super().__init__()
        self.layers = torch.nn.ModuleList((nn.GCNConv(64, 16), nn.GATConv(16, 8, heads=2), nn.SAGEConv(16, 8),
                                           nn.GINConv(torch.nn.Linear(8, 4))))

    def forward(self, x, graph):
        for layer in self.layers:
            x = torch.relu(layer(x, graph))
        return x


@on_devices
@pytest.mark.parametrize("nn", [pyg, sley.nn], ids=["pyg", "sley"])
def test_networks_are_compiled_as_one_graph(device, nn):
    torch._dynamo.reset()
    edges, nodes, x = graphs("random", device)
    net = Net(nn).to(device)
    compiled = torch.compile(net, fullgraph=True, backend="inductor" if device == "cuda" else "aot_eager")
    graph = Graph(edges, nodes)
    assert_equal(run(compiled, x, graph), run(net, x, graph))


@on_devices
def test_networks_under_autocast(device):
    edges, nodes, x = graphs("random", device)
    net, graph = Net(pyg).to(device), Graph(edges, nodes)
    exact = net(x, graph)
    with torch.autocast(device, torch.bfloat16):
        y = net(x, graph)
    assert float((y.float() - exact).abs().max()) < 0.05 * float(exact.abs().max())
    y.float().sum().backward()
    assert all(each.grad.dtype == torch.float32 for each in net.parameters() if each.grad is not None)


@on_devices
def test_a_data_object_carries_a_graph(device):
    edges, nodes, x = graphs("random", "cpu")
    data = torch_geometric.data.Data(x=x, edge_index=Graph(edges, nodes)).to(device)
    assert data.edge_index.device.type == device
    layer = pyg.GCNConv(64, 8).to(device)
    assert_equal([layer(data.x, data.edge_index)], [layer(data.x, edges.to(device))])


def test_a_graph_is_copied_and_stored():
    edges, nodes, x = graphs("random", "cpu")
    graph = Graph(edges, nodes, norm="gcn")
    assert copy.deepcopy(graph) is graph
    other = pickle.loads(pickle.dumps(graph))
    assert torch.equal(sley.torch.spmm(other, x), sley.torch.spmm(graph, x))
    assert "300 nodes" in repr(other) and "norm gcn" in repr(other)


@on_devices
def test_an_edge_index_is_planned_once(device):
    edges, nodes, x = graphs("random", device)
    layer = sley.nn.GCNConv(64, 8).to(device)
    first = layer(x, edges)
    assert sley.nn.graph_of(edges, nodes, nodes) is sley.nn.graph_of(edges, nodes, nodes)
    edges[:, 0] = edges[:, 0].flip(0) + 1
    assert_equal([layer(x, edges)], [pyg.GCNConv.forward(copy_of(layer, device), x, edges)])
    assert not torch.equal(first, layer(x, edges))


def copy_of(layer, device):
    made = pyg.GCNConv(64, 8).to(device)
    made.load_state_dict(layer.state_dict())
    return made


def test_the_script_of_pygs_introduction(monkeypatch, capsys):
    edges, nodes, _ = real("cora")
    with np.load(DATA / "npz" / "cora.npz", allow_pickle=False) as file:
        x = scipy.sparse.csr_array((file["attr_data"], file["attr_indices"], file["attr_indptr"]),
                                   shape=file["attr_shape"]).toarray().astype(np.float32)
        labels = torch.from_numpy(file["labels"].astype(np.int64))
    order = np.random.default_rng(1).permutation(nodes)
    train, test = torch.zeros(nodes, dtype=torch.bool), torch.zeros(nodes, dtype=torch.bool)
    train[order[:140]], test[order[-1000:]] = True, True

    class Planetoid(list):
        num_node_features, num_classes = x.shape[1], int(labels.max()) + 1

    def dataset(root, name):
        return Planetoid([torch_geometric.data.Data(x=torch.from_numpy(x), edge_index=edges, y=labels, train_mask=train,
                                                    test_mask=test)])

    monkeypatch.setattr(torch_geometric.datasets, "Planetoid", dataset)
    torch.manual_seed(1)
    runpy.run_path(str(ROOT / "python" / "examples" / "pyg_introduction.py"))
    assert float(capsys.readouterr().out.split()[-1]) > 0.75
