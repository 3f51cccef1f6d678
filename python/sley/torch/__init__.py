# SPDX-License-Identifier: Apache-2.0
"""Sley for PyTorch: graphs, and operators on them that autograd and torch.compile know."""
from sley.torch.functional import edge_softmax, gat, sddmm, spmm
from sley.torch.graph import Graph
from sley.torch.pyg import patch_pyg, unpatch_pyg

__all__ = ["Graph", "edge_softmax", "gat", "patch_pyg", "sddmm", "spmm", "unpatch_pyg"]
