# SPDX-License-Identifier: Apache-2.0
"""What the tests of sley.torch use: devices, graphs to draw, and dense matrices to compare with."""
import pytest
import torch

import sley.torch
from sley.torch._dense import draws

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
on_devices = pytest.mark.parametrize("device", DEVICES)
needs_draws = pytest.mark.skipif(not draws(), reason="a library without Random123")


def drawn_edges(sources: int, targets: int, edges: int, seed: int, device: str = "cpu") -> torch.Tensor:
    """Edges at random, some of which repeat; the last target has none."""
    draw = torch.Generator().manual_seed(seed)
    from_node = torch.randint(0, max(sources, 1), (edges,), generator=draw)
    to_node = torch.randint(0, max(targets - 1, 1), (edges,), generator=draw)
    return torch.stack((from_node, to_node)).to(device)


def drawn(*shape: int, seed: int, device: str = "cpu", dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Normal values, of which a gradient is wanted."""
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=draw, dtype=torch.float64).to(device, dtype).requires_grad_()


def dense(graph: sley.torch.Graph, weight: torch.Tensor | None = None) -> torch.Tensor:
    """A as a dense matrix of float64 with the values of edges, or ones; a gradient reaches them."""
    sources, targets = graph.shape
    source, target = graph.edge_index
    ones = torch.ones(graph.num_edges, dtype=torch.float64, device=graph.device)
    values = ones if weight is None else weight.double()
    return torch.zeros(targets, sources, dtype=torch.float64, device=graph.device).index_put(
        (target, source), values, accumulate=True)
