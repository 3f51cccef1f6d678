# SPDX-License-Identifier: Apache-2.0
"""Training of graph networks on whole graphs with PyTorch, on one rank or several.

>>> net = sley.train.Net("gcn", features, 64, classes).to(device)
>>> result = sley.train.train(net, graph, x, labels, {"train": train_mask, "valid": valid_mask, "test": test_mask})
>>> net.load_state_dict(result.best_state)
"""
import functools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from sley import nn
from sley.errors import SleyError
from sley.torch._dense import draws
from sley.torch._rank import Rank, require
from sley.torch.dist import allreduce, allreduce_grads, rank_of
from sley.torch.functional import bias_act_dropout, draw_seed, nll
from sley.torch.graph import Operand

__all__ = ["MODELS", "SETS", "Epoch", "Net", "Result", "train"]

SETS = ("train", "valid", "test")
_TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)  # of sley.torch.bias_act_dropout
_WARM = 3  # steps before one is captured, in which plans are made and torch's allocator reserves the memory of a step


class _Kind(NamedTuple):
    """A kind of layer: a function that makes a layer from its input width, output width and number of heads."""

    layer: Callable[[int, int, int], torch.nn.Module]
    act: Callable[[Tensor], Tensor] = functional.relu  # activation between layers
    heads: bool = False  # whether hidden layers have several heads


def _gin(given: int, made: int, _heads: int) -> torch.nn.Module:
    return nn.GINConv(torch.nn.Sequential(torch.nn.Linear(given, made), torch.nn.ReLU(), torch.nn.Linear(made, made)))


_KINDS = {
    "gcn": _Kind(lambda given, made, _heads: nn.GCNConv(given, made)),
    "gin": _Kind(_gin),
    "sage": _Kind(lambda given, made, _heads: nn.SAGEConv(given, made)),
    "gat": _Kind(lambda given, made, heads: nn.GATConv(given, made, heads=heads), functional.elu, heads=True),
}
MODELS = tuple(_KINDS)


class Net(torch.nn.Module):
    """Layers of one model, with dropout on the input of each layer and an activation between layers. Bias, relu and
    dropout are one pass. Masks depend on `torch.manual_seed`; with the same seed on all ranks, the masks are the same
    as on one rank.

    Parameters
    ----------
    model : str
        One of `MODELS`.
    features, hidden, classes : int
        Number of values per row of x, per row between layers (per head if the model has heads), and per row of logits.
    layers : int
    heads : int
        Number of heads of hidden layers, if the model has heads; the last layer has one.
    dropout : float
        Probability that a value is set to zero in training.
    """

    def __init__(self, model: str, features: int, hidden: int, classes: int, *, layers: int = 2, heads: int = 8,
                 dropout: float = 0.5) -> None:
        super().__init__()
        require(model in MODELS, f"there is no model {model!r}: take one of {', '.join(MODELS)}")
        require(layers >= 1, f"{layers} layers: there is at least 1")
        self.dropout = dropout
        kind = _KINDS[model]
        self.act: Callable[[Tensor], Tensor] = kind.act
        self._own_masks = draws()
        self.convs = torch.nn.ModuleList()
        given = features
        for last in [False] * (layers - 1) + [True]:
            self.convs.append(kind.layer(given, classes if last else hidden, 1 if last else heads))
            given = hidden * (heads if kind.heads else 1)

    def forward(self, x: Tensor, graph: Operand) -> Tensor:
        """Logits, shape (nodes, classes)."""
        p = self.dropout if self.training else 0.0
        seed = draw_seed(x.device) if 0.0 < p < 1.0 and self._own_masks else None
        first_row = getattr(graph, "first_row", 0)  # an edge_index contains all rows
        x = _dropped(x, p, seed, 0, first_row)
        for number, conv in enumerate(self.convs, 1):
            finish = functools.partial(self._finish, p=p, seed=seed, stream=number, first_row=first_row)
            x = conv(x, graph, finish=None if number == len(self.convs) else finish)
        return x

    def _finish(self, rows: Tensor, bias: Tensor | None, p: float, seed: Tensor | None, stream: int,
                first_row: int) -> Tensor:
        """Returns dropout of act(rows + bias)."""
        if self.act is functional.relu and _served(rows, bias, p, seed):
            return bias_act_dropout(rows, bias, "relu", p, seed=seed, stream=stream, first_row=first_row)
        return _dropped(self.act(rows if bias is None else rows + bias), p, seed, stream, first_row)


def _served(rows: Tensor, bias: Tensor | None, p: float, seed: Tensor | None) -> bool:
    """Whether Sley's fused pass can be used: not if types differ under autocast, or if the library has no generator for
    masks."""
    return rows.dtype in _TYPES and (bias is None or bias.dtype == rows.dtype) and (p == 0.0 or seed is not None)


def _dropped(x: Tensor, p: float, seed: Tensor | None, stream: int, first_row: int) -> Tensor:
    if _served(x, None, p, seed):
        return bias_act_dropout(x, None, "none", p, seed=seed, stream=stream, first_row=first_row)
    return functional.dropout(x, p)


@dataclass(frozen=True)
class Epoch:
    """One step over the whole graph: the loss before the step, its time in ms, and the accuracy on each set after the
    step, without dropout (NaN for a set without rows)."""

    loss: float
    ms: float
    train: float
    valid: float
    test: float


@dataclass
class Result:
    """The result of a training. `best` is the number of the epoch with the best validation accuracy, the first of equal
    ones; without validation rows it is the last epoch."""

    epochs: list[Epoch] = field(default_factory=list)
    best: int = 0
    best_state: dict[str, Tensor] = field(default_factory=dict)


class _Training:
    """The state of a training on this rank: rows, labels, network and optimizer."""

    def __init__(self, net: Net, graph: Operand, x: Tensor, labels: Tensor, split: Mapping[str, Tensor],
                 rank: Rank | None, optimizer: torch.optim.Optimizer) -> None:
        rows = x.shape[0]
        require(len(labels) == rows and all(len(split[name]) == rows for name in SETS),
                f"x has {rows} rows: labels and each of {', '.join(SETS)} need as many")
        self.net, self.graph, self.x, self.rank, self.optimizer = net, graph, x, rank, optimizer
        self.labels = labels.to(x.device, torch.int64)
        sets = torch.stack([split[name].to(x.device).bool() & (self.labels >= 0) for name in SETS])
        require(not bool((sets.sum(0) > 1).any()), "a row is in two of the sets train, valid and test")
        self._finite(x)
        self.sets = sets.to(torch.float64)
        self.counts = self._sum(self.sets.sum(1))
        self.count, self.most = float(self.counts[0]), int(self.labels.max()) if rows else -1
        require(self.count > 0, "no row is there to train on")
        self.target = torch.where(sets[0], self.labels, -1).to(torch.int32)

    @staticmethod
    def _finite(x: Tensor) -> None:
        """Refuses features that are not finite; the message has the position of the first."""
        strange = torch.nonzero(~torch.isfinite(x))
        if len(strange):
            row, column = strange[0].tolist()
            require(False, f"x[{row}, {column}] is {float(x[row, column])}: networks are trained on finite values")

    def check(self, number: int, loss: float) -> None:
        """Raises SleyError if the loss or a weight is not finite."""
        if not math.isfinite(loss):
            raise SleyError(f"epoch {number + 1}: the loss is {loss}: training has diverged")
        for name, value in self.net.named_parameters():
            if not bool(torch.isfinite(value).all()):
                raise SleyError(f"epoch {number + 1}: {name} is not finite: training has diverged")

    def _sum(self, values: Tensor) -> Tensor:
        """Sums values over all ranks."""
        if self.rank is not None:
            allreduce(self.rank, values)
        return values

    def step(self) -> Tensor:
        """Runs one step; returns this rank's part of the loss."""
        self.net.train()
        self.optimizer.zero_grad(set_to_none=True)
        logits = self.net(self.x, self.graph)
        require(self.most < logits.shape[1], f"labels go up to {self.most}, and there are {logits.shape[1]} classes")
        loss = nll(logits, self.target, counted=self.count)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.rank is not None:
            allreduce_grads(self.net, self.rank)
        self.optimizer.step()
        return loss.detach()

    def loss_of(self, part: Tensor) -> float:
        """The loss of all ranks, from this rank's part; waits for the result."""
        return float(self._sum(part.double().reshape(1).clone()))

    @torch.no_grad()
    def right(self) -> list[float]:
        """The accuracy on each set, without dropout; NaN for an empty set."""
        self.net.eval()
        hits = (self.net(self.x, self.graph).argmax(1) == self.labels).to(torch.float64)
        return (self._sum(self.sets @ hits) / self.counts).tolist()


class _Captured:
    """Steps on a GPU: after the first steps one step is captured into a CUDA graph, which is then replayed."""

    def __init__(self, step: Callable[[], Tensor]) -> None:
        self._step, self._done = step, 0
        self._aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> Tensor:
        self._done += 1
        if self._done <= _WARM:
            self._aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self._aside):
                loss = self._step()
            torch.cuda.current_stream().wait_stream(self._aside)
            return loss
        if self._graph is None:
            torch.cuda.synchronize()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._loss = self._step()
        self._graph.replay()
        return self._loss


def _optimizer(name: str, net: Net, rate: float, decay: float, captured: bool) -> torch.optim.Optimizer:
    if name == "adam":
        fused = all(each.is_cuda for each in net.parameters())  # one kernel instead of one per operation
        return torch.optim.Adam(net.parameters(), lr=rate, weight_decay=decay, capturable=captured, fused=fused)
    require(name == "sgd", f"there is no optimizer {name!r}: take adam or sgd")
    return torch.optim.SGD(net.parameters(), lr=rate, weight_decay=decay)


def train(net: Net, graph: Operand, x: Tensor, labels: Tensor, split: Mapping[str, Tensor], *, epochs: int = 200,
          rate: float = 0.01, decay: float = 5e-4, optimizer: str = "adam", patience: int = 0, comm: Any = None,
          capture: bool | None = None, progress: Callable[[int, Epoch], None] | None = None) -> Result:
    """Trains on the whole graph: each epoch is one step over all training rows, with the mean negative log-likelihood
    of their labels as the loss.

    Parameters
    ----------
    net : Net, or a module with forward(x, graph)
        Network on the graph's device. At the end it has the weights of the last epoch. All ranks must start with the
        same weights.
    graph : Graph or DistGraph
    x : Tensor, shape (nodes, features)
        Features; with comm, x, labels and split have the rank's own rows.
    labels : Tensor of integers, shape (nodes,)
        Class of each row; -1: no label.
    split : mapping of "train", "valid" and "test" to a mask
        Masks are tensors of bool, shape (nodes,).
    epochs, rate, decay, optimizer
        Number of epochs; learning rate; weight decay, which is added to the gradient; "adam" or "sgd".
    patience : int
        Number of epochs without a better validation accuracy after which training ends; 0: no limit.
    comm : optional
        For a DistGraph: the comm with which it was loaded. Gradients, losses and counts are summed over the ranks.
        Collective.
    capture : bool, optional
        Whether steps are captured into a CUDA graph; by default on a GPU with one rank.
    progress : callable, optional
        Called after each epoch with its number, from 0 on, and the `Epoch`.

    Returns
    -------
    Result

    Raises
    ------
    SleyArgumentError
        Shapes differ, a row is in two sets, or a feature is not finite.
    SleyError
        Training has diverged; the message has the epoch.
    """
    rank = None if comm is None else rank_of(comm)
    captured = x.is_cuda and rank is None if capture is None else capture
    training = _Training(net, graph, x, labels, split, rank, _optimizer(optimizer, net, rate, decay, captured))
    step: Callable[[], Tensor] = _Captured(training.step) if captured else training.step
    result = Result()
    for number in range(epochs):
        begin = time.perf_counter()
        loss = training.loss_of(step())
        training.check(number, loss)
        made = Epoch(loss, (time.perf_counter() - begin) * 1e3, *training.right())
        result.epochs.append(made)
        if number == 0 or math.isnan(made.valid) or made.valid > result.epochs[result.best].valid:
            result.best = number
            result.best_state = {key: each.detach().clone() for key, each in net.state_dict().items()}
        if progress is not None:
            progress(number, made)
        if patience and number - result.best >= patience:
            break
    return result
