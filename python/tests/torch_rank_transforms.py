# SPDX-License-Identifier: Apache-2.0
"""Transforms of the operators that exchange rows between ranks, for test_torch_dist.py: each operator is linear, so its
matrix over all ranks gives every derivative. Collective."""
import warnings

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.func import grad, jvp, vjp, vmap
from torch_support import drawn

import sley.torch


class Map:
    """function(own rows) on all ranks: the product of a matrix with the rows of all ranks."""

    def __init__(self, function, matrix: Tensor, out: list[int], own: list[int], rank: int) -> None:
        self.function, self.matrix = function, matrix
        self.out, self.own = (slice(each[rank], each[rank + 1]) for each in (out, own))

    def drawn(self, seed: int, *, result: bool = False) -> Tensor:
        """Rows of all ranks, the same on each."""
        return drawn(self.matrix.shape[0 if result else 1], 3, seed=seed).detach()


def near(found, expected) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def backward(m: Map) -> None:
    x, dy = m.drawn(1), m.drawn(2, result=True)
    near(vjp(m.function, x[m.own])[1](dy[m.out])[0], (m.matrix.T @ dy)[m.own])
    own = x[m.own].clone().requires_grad_()
    near(torch.autograd.grad(m.function(own), own, dy[m.out])[0], (m.matrix.T @ dy)[m.own])


def double_backward(m: Map) -> None:
    x, t = m.drawn(1), m.drawn(2)
    gradient = grad(lambda x: m.function(x).square().sum() / 2)
    near(jvp(gradient, (x[m.own],), (t[m.own],)), tuple((m.matrix.T @ m.matrix @ each)[m.own] for each in (x, t)))
    own = x[m.own].clone().requires_grad_()
    first = torch.autograd.grad(m.function(own).square().sum() / 2, own, create_graph=True)[0]
    near(torch.autograd.grad(first, own, t[m.own])[0], (m.matrix.T @ m.matrix @ t)[m.own])


def forward_mode(m: Map) -> None:
    x, t = m.drawn(1), m.drawn(2)
    expected = tuple((m.matrix @ each)[m.out] for each in (x, t))
    near(jvp(m.function, (x[m.own],), (t[m.own],)), expected)
    with forward_ad.dual_level():
        near(tuple(forward_ad.unpack_dual(m.function(forward_ad.make_dual(x[m.own], t[m.own])))), expected)


def batched(m: Map) -> None:
    x, dy = torch.stack((m.drawn(1), m.drawn(2))), torch.stack((m.drawn(3, result=True), m.drawn(4, result=True)))
    near(vmap(m.function)(x[:, m.own]), (m.matrix @ x)[:, m.out])
    pull = vjp(m.function, x[0, m.own])[1]
    near(vmap(lambda each: pull(each)[0])(dy[:, m.out]), (m.matrix.T @ dy)[:, m.own])


def traced(m: Map) -> None:
    x, t = m.drawn(1), m.drawn(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = torch.jit.trace(m.function, (x[m.own],), check_trace=False)
    near(made(t[m.own]), (m.matrix @ t)[m.out])


IN_PROCESSES = {"backward": backward, "double backward": double_backward, "forward mode": forward_mode, "vmap": batched,
                "trace": traced}


def compiled(m: Map, call) -> None:
    """call: the function, made by a compiler."""
    x = m.drawn(1)[m.own].clone().requires_grad_()
    y = call(x)
    near(y, (m.matrix @ m.drawn(1))[m.out])
    near(torch.autograd.grad(y.square().sum() / 2, x)[0], (m.matrix.T @ m.matrix @ m.drawn(1))[m.own])


def exported(m: Map) -> torch.nn.Module:
    """Not collective where the function was called before."""
    class Program(torch.nn.Module):
        def forward(self, x):
            return m.function(x)

    return torch.export.export(Program(), (m.drawn(1)[m.own],), strict=False).module()


def maps(rank, graph, a: Tensor) -> dict[str, Map]:
    """The operators of a graph whose matrix over all ranks is a."""
    begin, number = graph.row_begin.tolist(), rank.rank
    own = [slice(*begin[i:i + 2]) for i in range(rank.size)]
    needed = []  # columns of each rank's rows that others own
    for rows in own:
        named = (a[rows] != 0).any(0)
        named[rows] = False
        needed.append(named.nonzero()[:, 0])
    halo = [0, *torch.tensor([len(each) for each in needed]).cumsum(0).tolist()]
    gather = torch.eye(len(a), dtype=a.dtype)[torch.cat(needed)]
    return {"spmm": Map(lambda x: sley.torch.spmm(graph, x), a, begin, begin, number),
            "halo_gather": Map(lambda x: sley.torch.halo_gather(graph, x), gather, halo, begin, number),
            "halo_scatter_add": Map(lambda buffer: sley.torch.halo_scatter_add(graph, buffer), gather.T, begin, halo,
                                    number)}


def check(rank, made: dict[str, Map], measures) -> None:
    """Measures of all operators, in the same order on all ranks."""
    for name, each in made.items():
        for measure in measures:
            try:
                IN_PROCESSES[measure](each)
            except Exception as error:
                raise AssertionError(f"rank {rank.rank}: {name}, {measure}") from error
