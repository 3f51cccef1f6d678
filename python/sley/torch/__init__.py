# SPDX-License-Identifier: Apache-2.0
"""Sley for PyTorch: graphs, and operators on them with support for autograd and torch.compile."""
from sley.torch._rank import Rank
from sley.torch.dist import DistGraph, allreduce_grads, on_ranks
from sley.torch.functional import (
    bias_act_dropout,
    draw_seed,
    edge_softmax,
    gat,
    halo_gather,
    halo_scatter_add,
    linear,
    nll,
    sddmm,
    spmm,
)
from sley.torch.graph import Graph
from sley.torch.hook import SparseHookState, sparse_allreduce_hook
from sley.torch.pyg import patch_pyg, unpatch_pyg

__all__ = [
    "DistGraph",
    "Graph",
    "Rank",
    "SparseHookState",
    "allreduce_grads",
    "bias_act_dropout",
    "draw_seed",
    "edge_softmax",
    "gat",
    "halo_gather",
    "halo_scatter_add",
    "linear",
    "nll",
    "on_ranks",
    "patch_pyg",
    "sddmm",
    "sparse_allreduce_hook",
    "spmm",
    "unpatch_pyg",
]
