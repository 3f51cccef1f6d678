# SPDX-License-Identifier: Apache-2.0
"""Runs the operator that operator.patch adds: its values, and its gradients beside differences."""
import torch

import sley.torch

edges = torch.tensor([[0, 1, 2, 2, 3], [1, 1, 0, 2, 2]])  # sources, targets
graph = sley.torch.Graph(edges, 4)
s = torch.arange(10.0, dtype=torch.float64).reshape(5, 2).requires_grad_()
wanted = torch.zeros(4, 2, dtype=torch.float64).index_add(0, edges[1], s)
assert torch.equal(sley.torch.row_sums(graph, s), wanted)
assert torch.autograd.gradcheck(lambda each: sley.torch.row_sums(graph, each), (s,))
assert torch.ops.sley.row_sums(graph.id, s).shape == (4, 2)
