# SPDX-License-Identifier: Apache-2.0
"""Graphs divided among ranks: every operator and layer beside the same on one rank, with first and second gradients;
ranks are threads, and processes over tcp."""
import copy
import inspect
import os
import socket
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402
import torch_rank_transforms  # noqa: E402
from torch_support import drawn  # noqa: E402

import sley  # noqa: E402
import sley.nn  # noqa: E402
from sley.torch import (  # noqa: E402
    DistGraph,
    Graph,
    allreduce_grads,
    edge_softmax,
    gat,
    halo_gather,
    halo_scatter_add,
    on_ranks,
    sddmm,
    spmm,
)

GENERATED = ["er:n=37,nnz=180", "er:n=9,nnz=0", "rmat:scale=6,edgefactor=5"]
# How many ranks, and of which devices; autograd has a thread for each GPU, so that each rank needs one of its own.
GPUS = torch.cuda.device_count() if "device" in inspect.signature(sley.Comm).parameters else 0
WORLDS = [(1, "cpu"), (2, "cpu"), (3, "cpu"), *((ranks, "cuda") for ranks in (1, 2) if ranks <= GPUS)]
on_ranks_of = pytest.mark.parametrize("ranks", WORLDS, ids=lambda each: f"{each[0]}-{each[1]}")
on_graphs = pytest.mark.parametrize("name", GENERATED)


class OnRanks(torch.autograd.Function):
    """function(graph, *own rows) on all ranks as a function of whole operands, which can be differentiated any number
    of times: its gradient is the ranks' own, by torch.autograd.grad, which makes collective calls."""

    @staticmethod
    def forward(ctx, world, function, sides, *whole):
        ctx.world, ctx.function, ctx.sides = world, function, sides
        ctx.save_for_backward(*whole)
        return world.run(function, sides, [each.detach() for each in whole])

    @staticmethod
    def backward(ctx, gradient):
        count = len(ctx.saved_tensors)

        def first(graph, *own):
            with torch.enable_grad():
                given = [each if each.requires_grad else each.detach().requires_grad_() for each in own[:count]]
                y = ctx.function(graph, *given)
                made = torch.autograd.grad(y, given, own[count], create_graph=True, allow_unused=True,
                                           materialize_grads=True)
            return made

        sides = [*ctx.sides, ctx.world.side_of(ctx.function)]
        made = [OnRanks.apply(ctx.world, Chosen(first, number, ctx.sides[number]), sides, *ctx.saved_tensors, gradient)
                for number in range(count)]
        return None, None, None, *made


class Chosen:
    """One of several results of a function, and whose rows it has."""

    def __init__(self, function, number, side):
        self.function, self.number, self.side = function, number, side

    def __call__(self, graph, *own):
        return self.function(graph, *own)[self.number]


class World:
    """Ranks as threads that have a graph, and the same graph on one rank."""

    def __init__(self, name, ranks, norm=None):
        count, device = ranks
        self.comm = sley.Comm(count, threads=1, **({} if device == "cpu" else {"device": device}))
        # The thread of a GPU's gradient cannot wait for ranks that need it.
        self.device = torch.device("cuda:0" if device == "cuda" and count == 1 else "cpu")
        self.graphs = on_ranks(self.comm, lambda rank: DistGraph.load(name, rank, norm=norm))
        a = sley.generate(name)
        row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
        edges = torch.from_numpy(np.stack((a.indices.astype(np.int64), row.astype(np.int64)))).to(self.device)
        self.whole = Graph(edges, a.shape[0], edge_weight=torch.from_numpy(np.array(a.data)).to(self.device), norm=norm)
        self.edges, self.nodes = edges, a.shape[0]
        self.counts = {"rows": [each.num_nodes for each in self.graphs],
                       "edges": [each.num_edges for each in self.graphs],
                       "halo": on_ranks(self.comm, lambda rank: self.graphs[rank.rank].halo_rows)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.comm.close()

    @staticmethod
    def side_of(function):
        return function.side

    def run(self, function, sides, whole):
        parts = [each.split(self.counts[side]) for side, each in zip(sides, whole, strict=True)]

        def own(rank):
            graph = self.graphs[rank.rank]
            given = [part[rank.rank].detach().clone().to(graph.device).requires_grad_() for part in parts]
            return function(graph, *given).detach().to(self.device)

        return torch.cat(on_ranks(self.comm, own))

    def of(self, function, side, *sides):
        """function(graph, *own) as one of whole operands."""
        chosen = Chosen(lambda *own: (function(*own),), 0, side)
        return lambda *whole: OnRanks.apply(self, chosen, sides, *whole)


def operands(world):
    n, e, device = world.nodes, world.edges.shape[1], str(world.device)
    shapes = (n, 4), (n, 4), (e, 2), (n, 2), (n, 2), (n, 2, 2)
    return [drawn(*shape, seed=seed, device=device) for seed, shape in enumerate(shapes)]


CASES = {  # function, whose rows it gives, whose rows it takes, which operands
    "spmm": (lambda g, x: spmm(g, x), "rows", ["rows"], [0]),
    "spmm, transposed": (lambda g, x: spmm(g, x, transpose=True), "rows", ["rows"], [0]),
    "spmm with weights": (lambda g, x, w: spmm(g, x.view(-1, 2, 2), w), "rows", ["rows", "edges"], [0, 2]),
    "spmm with weights, transposed": (lambda g, x, w: spmm(g, x.view(-1, 2, 2), w, transpose=True), "rows",
                                      ["rows", "edges"], [0, 2]),
    "sddmm": (lambda g, u, v: sddmm(g, u.view(-1, 2, 2), v.view(-1, 2, 2)), "edges", ["rows", "rows"], [0, 1]),
    "edge_softmax": (lambda g, s: edge_softmax(g, s), "edges", ["edges"], [2]),
    "gat": (lambda g, q, k, v: gat(g, q, k, v), "rows", ["rows", "rows", "rows"], [3, 4, 5]),
}


@on_ranks_of
@on_graphs
@pytest.mark.parametrize("case", list(CASES))
def test_operators_are_the_same_on_every_number_of_ranks(ranks, name, case):
    function, side, sides, chosen = CASES[case]
    with World(name, ranks) as world:
        given = [operands(world)[each] for each in chosen]
        found, expected = world.of(function, side, *sides)(*given), function(world.whole, *given)
        torch.testing.assert_close(found, expected)
        weight = drawn(*expected.shape, seed=9, device=str(world.device))
        first = [torch.autograd.grad(y, given, weight, create_graph=True) for y in (found, expected)]
        torch.testing.assert_close(*first)
        second = [torch.autograd.grad(sum((each * each.detach().cos()).sum() for each in gradients), [*given, weight],
                                      allow_unused=True, materialize_grads=True) for gradients in first]
        torch.testing.assert_close(*second)


@pytest.mark.parametrize("ranks", WORLDS[1:], ids=lambda each: f"{each[0]}-{each[1]}")
@pytest.mark.parametrize("case", list(CASES))
def test_gradients_across_ranks(ranks, case):
    function, side, sides, chosen = CASES[case]
    with World("er:n=7,nnz=16", ranks) as world:
        given = [operands(world)[each] for each in chosen]
        assert torch.autograd.gradcheck(world.of(function, side, *sides), given, fast_mode=ranks[0] > 2)
        assert torch.autograd.gradgradcheck(world.of(function, side, *sides), given, fast_mode=ranks[0] > 2)


@on_ranks_of
@on_graphs
def test_halos_are_gathered_and_added_back(ranks, name):
    with World(name, ranks) as world:
        x = drawn(world.nodes, 3, seed=1, device=str(world.device))
        begin = world.graphs[0].row_begin
        wanted = []  # of each rank the rows that its edges name and it does not own
        for r, graph in enumerate(world.graphs):
            cols = graph.edge_index[0].to(world.device).unique()
            wanted.append(cols[(cols < begin[r]) | (cols >= begin[r + 1])])
        rows = torch.cat(wanted)
        gather = world.of(halo_gather, "halo", "rows")
        assert torch.equal(gather(x), x[rows])
        buffer = drawn(len(rows), 3, seed=2, device=str(world.device))
        scatter = world.of(halo_scatter_add, "rows", "halo")
        torch.testing.assert_close(scatter(buffer), torch.zeros_like(x).index_add(0, rows, buffer))
        assert torch.autograd.gradcheck(gather, (x,), fast_mode=True)
        assert torch.autograd.gradgradcheck(gather, (x,), fast_mode=True)
        assert torch.autograd.gradcheck(scatter, (buffer,), fast_mode=True)
        assert torch.autograd.gradgradcheck(scatter, (buffer,), fast_mode=True)


@on_ranks_of
@pytest.mark.parametrize("norm", [None, "gcn", "mean"])
@on_graphs
def test_norms_are_those_of_one_rank(ranks, norm, name):
    with World(name, ranks, norm) as world:
        x = drawn(world.nodes, 3, seed=1, device=str(world.device))
        torch.testing.assert_close(world.of(spmm, "rows", "rows")(x), spmm(world.whole, x))


def net():
    torch.manual_seed(1)
    return torch.nn.ModuleList((sley.nn.GCNConv(4, 8), sley.nn.GATConv(8, 4, heads=2), sley.nn.SAGEConv(8, 8),
                                sley.nn.GINConv(torch.nn.Linear(8, 3)))).double()


def through(layers, x, graph):
    for layer in layers:
        x = torch.tanh(layer(x, graph))
    return x


@on_ranks_of
def test_a_network_is_trained_as_on_one_rank(ranks):
    """Three steps; gradients of weights are added over the ranks, so that all have the same bits."""
    with World(GENERATED[0], ranks) as world:
        x, label = (drawn(world.nodes, k, seed=k, device=str(world.device)).detach() for k in (4, 3))

        first = net()

        def train(rank, graph, x, label):
            layers = copy.deepcopy(first).to(graph.device)  # threads share torch's generator
            x, label = x.to(graph.device), label.to(graph.device)
            optimizer = torch.optim.Adam(layers.parameters(), lr=0.01)
            for _ in range(3):
                optimizer.zero_grad()
                (through(layers, x, graph) - label).square().sum().backward()
                if rank is not None:
                    allreduce_grads(layers, rank)
                optimizer.step()
            return [each.detach().to(world.device) for each in layers.parameters()]

        begin = world.graphs[0].row_begin

        def on_rank(rank):
            own = slice(*begin[rank.rank:rank.rank + 2].tolist())
            return train(rank, world.graphs[rank.rank], x[own], label[own])

        found = on_ranks(world.comm, on_rank)
        plain = Graph(world.edges, world.nodes, edge_weight=world.whole.base[1])
        expected = train(None, plain, x, label)
        for each in found:
            torch.testing.assert_close(each, expected)
            assert all(torch.equal(one, other) for one, other in zip(each, found[0], strict=True))


def test_gradients_are_added_and_averaged():
    with sley.Comm(3, threads=1) as comm:
        def work(rank):
            a, b = torch.nn.Parameter(torch.zeros(5)), torch.nn.Parameter(torch.zeros(2, 2, dtype=torch.bfloat16))
            frozen = torch.nn.Parameter(torch.zeros(3), requires_grad=False)
            if rank.rank:
                a.grad = torch.full((5,), float(rank.rank))
            b.grad = torch.full((2, 2), 1.0 + rank.rank, dtype=torch.bfloat16)
            allreduce_grads([a, b, frozen], rank)
            first = a.grad.clone(), b.grad.clone()
            allreduce_grads([a], rank, mean=True)
            return *first, a.grad, frozen.grad

        for a, b, mean, frozen in on_ranks(comm, work):
            assert torch.equal(a, torch.full((5,), 3.0)) and torch.equal(mean, a) and frozen is None
            assert torch.equal(b, torch.full((2, 2), 6.0, dtype=torch.bfloat16))


def test_operators_are_compiled_and_exported_on_ranks():
    """Threads run what is compiled at the same time, once plans are made."""
    with World(GENERATED[0], (3, "cpu")) as world:
        a = spmm(world.whole, torch.eye(world.nodes, dtype=torch.float64))
        maps = on_ranks(world.comm, lambda rank: torch_rank_transforms.maps(rank, world.graphs[rank.rank], a))
        on_ranks(world.comm, lambda rank: torch_rank_transforms.check(rank, maps[rank.rank], ("backward", "vmap")))
        for name in maps[0]:
            made = [torch_rank_transforms.exported(each[name]) for each in maps]
            torch._dynamo.reset()
            compiled = [torch.compile(each[name].function, fullgraph=True, backend="aot_eager") for each in maps]
            for calls in (made, compiled):
                on_ranks(world.comm, lambda rank, calls=calls, name=name: torch_rank_transforms.compiled(
                    maps[rank.rank][name], calls[rank.rank]))


def test_mistakes_are_told():
    def of_different_widths(rank):
        graph = DistGraph.load(GENERATED[0], rank)
        x = torch.ones(graph.num_nodes, 2 + rank.rank)
        for call in (lambda: halo_gather(graph, x), lambda: sddmm(graph, x, x), lambda: spmm(graph, x)):
            with pytest.raises(sley.SleyArgumentError, match="the ranks (have|were given)"):
                call()

    with sley.Comm(2, threads=1) as comm:
        on_ranks(comm, of_different_widths)
    with sley.Comm(2, threads=1) as comm, pytest.raises(sley.SleyArgumentError, match="not a whole number"):
        on_ranks(comm, lambda rank: DistGraph.load("er:n=x", rank))
    with pytest.raises(sley.SleyArgumentError, match="is no rank"):
        DistGraph.load("er:n=5,nnz=5", "comm")
    with sley.Comm(2, threads=1) as comm, pytest.raises(ZeroDivisionError):
        on_ranks(comm, lambda rank: 1 // 0)


@pytest.mark.skipif(GPUS == 0, reason="there is no GPU")
def test_ranks_that_share_a_gpu_as_threads_are_refused():
    with (sley.Comm(GPUS + 1, threads=1, device="cuda") as comm,
          pytest.raises(sley.SleyArgumentError, match="one thread for each")):
        on_ranks(comm, lambda rank: None)


@pytest.mark.skipif(GPUS < 2, reason="there are not two GPUs")
def test_the_gradient_of_a_gpu_cannot_call_ranks():
    """It would wait without end for its own thread."""
    with World(GENERATED[0], (2, "cuda")) as world:
        world.device = torch.device("cuda:0")
        x = drawn(world.nodes, 4, seed=1, device="cuda:0")
        y = world.of(spmm, "rows", "rows")(x)
        with pytest.raises(sley.SleyArgumentError, match="gradient of a tensor on a GPU"):
            y.sum().backward()


PROGRAM = textwrap.dedent("""
    import ctypes, sys, torch, sley.nn, sley.torch, torch_rank_transforms
    from sley import _c
    from sley._calls import create
    from sley._library import initial, lib
    options = initial(_c.sley_comm_options, transport=b"tcp", threads=1)
    handle = create(lib.sley_comm_close, lib.sley_comm_open, ctypes.byref(options))
    rank = sley.torch.Rank(handle, torch.device("cpu"))
    graph = sley.torch.DistGraph.load("er:n=50,nnz=300", rank, norm="gcn")
    x = torch.arange(50.0, dtype=torch.float64).sin().outer(torch.ones(4, dtype=torch.float64))
    own = x[graph.row_begin[rank.rank]:graph.row_begin[rank.rank + 1]].clone().requires_grad_()
    torch.manual_seed(1)
    layer = sley.nn.GATConv(4, 3, heads=2).double()
    y = layer(sley.torch.spmm(graph, own), graph)
    y.square().sum().backward()
    sley.torch.allreduce_grads(layer, rank)
    local = sley.torch.Graph(torch.tensor([[0], [1]]), 2)  # a launched process has graphs of its own, too
    assert sley.torch.spmm(local, torch.ones(2, 1))[1] == 1
    torch.save([y.detach(), own.grad, [each.grad for each in layer.parameters()]], f"{sys.argv[1]}/{rank.rank}.pt")
    maps = torch_rank_transforms.maps(rank, graph, torch.load(f"{sys.argv[1]}/a.pt"))
    torch_rank_transforms.check(rank, maps, torch_rank_transforms.IN_PROCESSES)
    graph.close()
    lib.sley_comm_close(handle)
""")


def test_ranks_that_are_processes(tmp_path):
    """Beside one rank, and what transforms of torch make of the operators: forward mode has one level for all threads
    of a process, so ranks that are threads cannot have it."""
    a = sley.generate("er:n=50,nnz=300")
    row = np.repeat(np.arange(50), np.diff(a.indptr))
    graph = Graph(torch.from_numpy(np.stack((a.indices.astype(np.int64), row))), 50,
                  edge_weight=torch.from_numpy(np.array(a.data)), norm="gcn")
    torch.save(spmm(graph, torch.eye(50, dtype=torch.float64)), tmp_path / "a.pt")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                   "PYTHONPATH": os.pathsep.join(sys.path), "SLEY_SECRET": "a secret of the test"}
    started = [subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path)], env={**environment, "RANK": str(rank)},
                                stderr=subprocess.PIPE, text=True) for rank in range(3)]
    try:
        for each in started:
            _, said = each.communicate(timeout=240)
            assert each.returncode == 0, said
    finally:
        for each in started:
            each.kill()
    found = [torch.load(tmp_path / f"{rank}.pt") for rank in range(3)]
    x = torch.arange(50.0, dtype=torch.float64).sin().outer(torch.ones(4, dtype=torch.float64)).requires_grad_()
    torch.manual_seed(1)
    layer = sley.nn.GATConv(4, 3, heads=2).double()
    y = layer(spmm(graph, x), graph)
    y.square().sum().backward()
    torch.testing.assert_close(torch.cat([each[0] for each in found]), y.detach())
    torch.testing.assert_close(torch.cat([each[1] for each in found]), x.grad)
    for each in found:
        torch.testing.assert_close(each[2], [parameter.grad for parameter in layer.parameters()])
