# SPDX-License-Identifier: Apache-2.0
"""Training: planted labels are learned by every model, on one rank and several; python -m sley."""
import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402
from torch_support import DEVICES, needs_draws, on_devices  # noqa: E402

import sley  # noqa: E402
import sley.train  # noqa: E402
from sley import _train_data as data  # noqa: E402
from sley.torch import DistGraph, Graph, on_ranks  # noqa: E402

NAME = "er:n=300,nnz=1500"


def planted(device="cpu"):
    """A graph and features, labels and sets of its rows."""
    a = data.graph(NAME, False)
    x = data.features("random:8", a.shape[0], False, 1)
    labels = data.labels("planted:3", a.shape[0], x, 1)
    split = data.split(None, labels, 40, 20, 1)
    row, col = a.nonzero()
    graph = Graph(torch.from_numpy(np.stack((col, row)).astype(np.int64)).to(device), a.shape[0])
    return graph, torch.from_numpy(x).to(device), torch.from_numpy(labels), {
        name: torch.from_numpy(each) for name, each in split.items()}


@on_devices
@pytest.mark.parametrize("model", sley.train.MODELS)
def test_every_model_learns_planted_labels(device, model):
    graph, x, labels, split = planted(device)
    torch.manual_seed(2)
    net = sley.train.Net(model, 8, 16, 3, heads=2, dropout=0.1).to(device)
    told = []
    result = sley.train.train(net, graph, x, labels, split, epochs=80, rate=0.03,
                              progress=lambda number, epoch: told.append(number))
    assert told == list(range(80)) and len(result.epochs) == 80
    losses = [each.loss for each in result.epochs]
    assert losses[-1] < 0.9 * losses[0] and 0.9 < losses[0] < 3
    best = result.epochs[result.best]
    assert best.valid == max(each.valid for each in result.epochs)
    net.load_state_dict(result.best_state)
    net.eval()
    right = (net(x, graph).argmax(1).cpu() == labels)[split["valid"]].double().mean()
    assert float(right) == pytest.approx(best.valid)


@pytest.mark.skipif("cuda" not in DEVICES, reason="no GPU")
def test_captured_steps_are_those_that_are_not():
    graph, x, labels, split = planted("cuda")
    losses = []
    for capture in (False, True):
        torch.manual_seed(1)
        net = sley.train.Net("gat", 8, 16, 3, heads=2, dropout=0.0).to("cuda")
        result = sley.train.train(net, graph, x, labels, split, epochs=12, capture=capture)
        losses.append(torch.tensor([each.loss for each in result.epochs]))
    torch.testing.assert_close(*losses, rtol=1e-3, atol=1e-4)


def test_patience_and_optimizers():
    graph, x, labels, split = planted()
    net = sley.train.Net("gcn", 8, 16, 3)
    result = sley.train.train(net, graph, x, labels, split, epochs=50, rate=0.0, patience=4, optimizer="sgd")
    assert len(result.epochs) == 5 and result.best == 0


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("model", sley.train.MODELS)
@pytest.mark.parametrize("dropout", [0.0, pytest.param(0.3, marks=needs_draws)])
def test_ranks_train_as_one(monkeypatch, ranks, model, dropout):
    """With dropout if they have drawn the same numbers."""
    monkeypatch.setattr(sley.train, "draw_seed", lambda device: torch.tensor([5], device=device))
    graph, x, labels, split = planted()
    torch.manual_seed(1)
    first = sley.train.Net(model, 8, 16, 3, heads=2, dropout=dropout).state_dict()

    def train(graph, rank, own):
        net = sley.train.Net(model, 8, 16, 3, heads=2, dropout=dropout)
        net.load_state_dict(first)
        masks = {name: each[own] for name, each in split.items()}
        return sley.train.train(net, graph, x[own], labels[own], masks, epochs=5, comm=rank).epochs

    def on_rank(rank):
        made = DistGraph.load(NAME, rank, values=False)
        return train(made, rank, slice(*made.row_begin[rank.rank:rank.rank + 2].tolist()))

    expected = train(graph, None, slice(None))
    with sley.Comm(ranks, threads=1) as comm:
        for found in on_ranks(comm, on_rank):
            np.testing.assert_allclose([each.loss for each in found], [each.loss for each in expected], rtol=1e-4)
            assert [each.train for each in found] == pytest.approx([each.train for each in expected], abs=0.02)


def test_mistakes_are_told():
    graph, x, labels, split = planted()
    with pytest.raises(sley.SleyArgumentError, match="labels go up to 2, and there are 2 classes"):
        sley.train.train(sley.train.Net("gcn", 8, 16, 2), graph, x, labels, split)
    with pytest.raises(sley.SleyArgumentError, match="there is no model 'mlp'"):
        sley.train.Net("mlp", 8, 16, 3)
    net = sley.train.Net("gcn", 8, 16, 3)
    with pytest.raises(sley.SleyArgumentError, match="x has 300 rows"):
        sley.train.train(net, graph, x, labels[:5], split)
    with pytest.raises(sley.SleyArgumentError, match="no row is there to train on"):
        sley.train.train(net, graph, x, torch.full_like(labels, -1), split)
    with pytest.raises(sley.SleyArgumentError, match="a row is in two of the sets"):
        sley.train.train(net, graph, x, labels, {**split, "test": split["train"]})
    strange = x.clone()
    strange[3, 2] = float("nan")
    with pytest.raises(sley.SleyArgumentError, match=r"x\[3, 2\] is nan"):
        sley.train.train(net, graph, strange, labels, split)
    with pytest.raises(sley.SleyError, match="epoch [12]: .* training has diverged"):
        sley.train.train(sley.train.Net("gcn", 8, 16, 3), graph, x, labels, split, rate=1e38, optimizer="sgd", epochs=2)
    none = {**split, "valid": torch.zeros_like(split["valid"])}
    result = sley.train.train(net, graph, x, labels, none, epochs=3)
    assert result.best == 2 and np.isnan(result.epochs[2].valid)


# ---- python -m sley


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "sley", *arguments], capture_output=True, text=True, timeout=200,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False)


def test_the_command_trains(tmp_path):
    done = command("train", NAME, "--features", "random:8", "--labels", "planted:3", "--epochs", "4", "--device", "cpu",
                   "--out", str(tmp_path / "net.pt"), "--json", str(tmp_path / "net.json"))
    assert done.returncode == 0, done.stderr
    assert "epochs     4, median" in done.stdout and "best       epoch" in done.stdout
    figures = json.loads((tmp_path / "net.json").read_text())
    assert len(figures["epochs"]) == 4 and 1 <= figures["best_epoch"] <= 4 and figures["ranks"] == 1
    assert set(torch.load(tmp_path / "net.pt")) == set(sley.train.Net("gcn", 8, 64, 3).state_dict())


def test_the_command_refuses_what_is_wrong(tmp_path):
    (tmp_path / "labels.txt").write_text("0\n1\nx\n")
    for arguments, message in (
            ((NAME, "--features", "random:x", "--labels", "planted:3"), "random:x: a number from 1 on"),
            ((NAME, "--features", "random:8", "--labels", str(tmp_path / "labels.txt")), "labels.txt, line 3"),
            ((NAME, "--features", "random:8", "--labels", "planted:3", "--model", "mlp"), "there is no model 'mlp'"),
            ((str(tmp_path / "none.mtx"), "--features", "random:8", "--labels", "planted:3"), "none.mtx")):
        done = command("train", *arguments)
        assert done.returncode in (1, 2) and message in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert command("train").returncode == 2


def test_the_command_says_what_there_is():
    done = command("info")
    assert done.returncode == 0 and sley.__version__ in done.stdout
