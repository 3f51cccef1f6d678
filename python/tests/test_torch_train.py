# SPDX-License-Identifier: Apache-2.0
"""Training by a loop of PyTorch: planted labels are learned by every model, on one rank and several, and by steps captured
into a CUDA graph."""
import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402
from torch_support import DEVICES, needs_draws, on_devices  # noqa: E402

import sley  # noqa: E402
import sley.nn  # noqa: E402
from sley.torch import DistGraph, Graph, allreduce_grads, nll, on_ranks  # noqa: E402

NAME = "er:n=300,nnz=1500"


def planted(device="cpu"):
    """A graph, features, labels, and a mask of the rows to train on."""
    a = sley.generate(NAME).to_scipy()
    draw = np.random.default_rng(1)
    x = draw.uniform(-1, 1, (a.shape[0], 8)).astype(np.float32)
    labels = (x @ draw.normal(size=(8, 3))).argmax(1)
    row, col = a.nonzero()
    graph = Graph(torch.from_numpy(np.stack((col, row)).astype(np.int64)).to(device), a.shape[0])
    mask = torch.arange(a.shape[0]) % 5 < 2
    return graph, torch.from_numpy(x).to(device), torch.from_numpy(labels).to(device), mask.to(device)


def step_of(net, graph, x, labels, mask, counted, rank=None, rate=0.03):
    """A step, which returns the rank's part of the loss."""
    optimizer = torch.optim.Adam(net.parameters(), lr=rate, capturable=x.is_cuda)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = nll(net(x, graph), labels, mask, counted=counted)
        loss.backward()
        if rank is not None:
            allreduce_grads(net, rank)
        optimizer.step()
        return loss.detach()

    return step


@on_devices
@pytest.mark.parametrize("model", sley.nn.MODELS)
def test_every_model_learns_planted_labels(device, model):
    graph, x, labels, mask = planted(device)
    torch.manual_seed(2)
    net = sley.nn.Net(model, 8, 16, 3, heads=2, dropout=0.1).to(device)
    step = step_of(net, graph, x, labels, mask, float(mask.sum()))
    losses = [float(step()) for _ in range(80)]
    assert losses[-1] < 0.9 * losses[0] and 0.9 < losses[0] < 3
    net.eval()
    assert float((net(x, graph).argmax(1) == labels)[mask].double().mean()) > 0.5


@pytest.mark.skipif("cuda" not in DEVICES, reason="no GPU")
def test_captured_steps_are_those_that_are_not():
    graph, x, labels, mask = planted("cuda")
    losses = []
    for captured in (False, True):
        torch.manual_seed(1)
        net = sley.nn.Net("gat", 8, 16, 3, heads=2, dropout=0.0).to("cuda")
        step = step_of(net, graph, x, labels, mask, float(mask.sum()))
        aside, whole = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with torch.cuda.stream(aside):
            found = [float(step()) for _ in range(3)]  # plans are made, and torch's allocator reserves memory
        if captured:
            torch.cuda.synchronize()
            with torch.cuda.graph(whole):
                loss = step()
        for _ in range(9):
            if captured:
                whole.replay()
            else:
                loss = step()
            found.append(float(loss))
        losses.append(torch.tensor(found))
    torch.testing.assert_close(*losses, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("model", sley.nn.MODELS)
@pytest.mark.parametrize("dropout", [0.0, pytest.param(0.3, marks=needs_draws)])
def test_ranks_train_as_one(monkeypatch, ranks, model, dropout):
    """With dropout if they have drawn the same numbers."""
    monkeypatch.setattr(sley.nn, "draw_seed", lambda device: torch.tensor([5], device=device))
    graph, x, labels, mask = planted()
    torch.manual_seed(1)
    first = sley.nn.Net(model, 8, 16, 3, heads=2, dropout=dropout).state_dict()

    def train(graph, rank, own):
        net = sley.nn.Net(model, 8, 16, 3, heads=2, dropout=dropout)
        net.load_state_dict(first)
        step = step_of(net, graph, x[own], labels[own], mask[own], float(mask.sum()), rank)
        losses = [float(step()) for _ in range(5)]
        net.eval()
        return losses, net(x[own], graph).detach()

    def on_rank(rank):
        made = DistGraph.load(NAME, rank, values=False)
        return train(made, rank, slice(*made.row_begin[rank.rank:rank.rank + 2].tolist()))

    losses, logits = train(graph, None, slice(None))
    with sley.Comm(ranks, threads=1) as comm:
        found = on_ranks(comm, on_rank)
    np.testing.assert_allclose(np.sum([each[0] for each in found], axis=0), losses, rtol=1e-4)
    torch.testing.assert_close(torch.cat([each[1] for each in found]), logits, rtol=1e-2, atol=1e-2)


def test_there_are_no_other_models():
    with pytest.raises(sley.SleyArgumentError, match="there is no model 'mlp'"):
        sley.nn.Net("mlp", 8, 16, 3)
