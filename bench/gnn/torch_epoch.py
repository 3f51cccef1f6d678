#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of a GCN, and a product with its gradient, by sley.torch, and by rivals on the same tensors: PyG's GCNConv on
edge_index (values of edges cached), torch's CSR of A and A^T (kept), and `sley gnn train`.

Products are compared with each other. On a GPU times are those of the device's queue, which is empty before and after each
measurement. GRAPH: any graph that sley reads. Set SLEY_LIBRARY, and PYTHONPATH=python, if the package is not installed.
"""
import os
import statistics
import sys

import numpy as np
import torch
import torch.nn.functional as F

import sley.nn
import sley.torch

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import common  # noqa: E402
import torch_side  # noqa: E402


# ---- contenders

def step_of(net, graph, x, target):
    """A step of training: for a network of Sley with Sley's loss, for others with torch's own loss."""
    net = net.to(x.device)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4, capturable=x.is_cuda, fused=x.is_cuda)
    own = isinstance(net, sley.nn.Net)
    target = target.to(torch.int32) if own else target

    def step():
        net.train()
        optimizer.zero_grad(set_to_none=True)
        logits = net(x, graph)
        loss = sley.torch.nll(logits, target) if own else F.cross_entropy(logits, target)
        loss.backward()
        optimizer.step()

    return step


class TwoLayers(torch.nn.Module):
    """Two layers with dropout before each."""

    def __init__(self, first, second, apply):
        super().__init__()
        self.first, self.second, self.apply_layer = first, second, apply

    def forward(self, x, graph):
        x = F.relu(self.apply_layer(self.first, F.dropout(x, 0.5, self.training), graph))
        return self.apply_layer(self.second, F.dropout(x, 0.5, self.training), graph)


def pyg_net(features, hidden, classes):
    """Two of PyG's layers, which keep the normalised values."""
    return TwoLayers(torch_side.conv("gcn", features, hidden, cached=True), torch_side.conv("gcn", hidden, classes, cached=True),
                     lambda layer, x, edges: layer(x, edges))


class CsrProduct(torch.autograd.Function):
    """A X by torch's CSR of A and A^T."""

    @staticmethod
    def forward(ctx, x, a, transposed):
        ctx.transposed = transposed
        return a @ x

    @staticmethod
    def backward(ctx, dy):
        return ctx.transposed @ dy.contiguous(), None, None


def csr_net(features, hidden, classes):
    """Two layers on torch's CSR of the normalised A and A^T, both kept, as a user of torch alone would write them."""
    return TwoLayers(torch.nn.Linear(features, hidden), torch.nn.Linear(hidden, classes), lambda layer, x, pair: CsrProduct.apply(layer(x), *pair))


def csr_of(graph, device):
    """A and A^T of a graph with its values."""
    block = graph.pattern.block
    a = torch.sparse_csr_tensor(block.rowptr, block.col.to(torch.int64), graph._values.float(), size=(graph.num_nodes, graph.num_nodes))
    return a.to(device), a.to_sparse_coo().t().coalesce().to_sparse_csr().to(device)


def command_ms(o):
    """The median epoch of `sley gnn train` with the same sizes."""
    report = common.sley(o.sley, "gnn", "train", o.graph, "--features", f"random:{o.features}", "--labels", f"planted:{o.classes}", "--hidden", o.hidden,
                         "--epochs", o.repeat, "--train", 1000000, "--fresh-features", "--device", o.device)
    return statistics.median(each["ms"] for each in report["epochs"])


# ---- measurements

def compare(o):
    device, k, sizes = o.device, o.hidden, (o.features, o.hidden, o.classes)
    a = (sley.read if os.path.exists(o.graph) else sley.generate)(o.graph).to_scipy()
    row, col = a.nonzero()
    edges = torch.from_numpy(np.stack((col, row)).astype(np.int64)).to(device)
    graph = sley.torch.Graph(edges, a.shape[0])
    normalised = graph.derived("gcn")
    pair = csr_of(normalised, device)
    x, target = torch.randn(a.shape[0], o.features, device=device), torch.randint(0, o.classes, (a.shape[0],), device=device)
    h, dy = torch.randn(a.shape[0], k, device=device, requires_grad=True), torch.randn(a.shape[0], k, device=device)
    torch.testing.assert_close(sley.torch.spmm(normalised, h), pair[0] @ h, rtol=1e-4, atol=1e-4)

    def product(function):
        return lambda: torch.autograd.grad(function(), h, dy)

    found = {
        "product sley.torch": product(lambda: sley.torch.spmm(normalised, h)),
        "product torch CSR": product(lambda: CsrProduct.apply(h, *pair)),
        "step sley.nn": step_of(sley.nn.Net("gcn", *sizes), graph, x, target),
        "step torch CSR": step_of(csr_net(*sizes), pair, x, target)}
    if device == "cuda":
        found["step sley.nn, captured"] = torch_side.captured(step_of(sley.nn.Net("gcn", *sizes), graph, x, target))
    if torch_side.pyg:
        found["step PyG, edge_index"] = step_of(pyg_net(*sizes), edges, x, target)
        value, (source, place) = normalised._values.float().to(device), normalised.to_entries(normalised.edge_index.t()).t()
        found["product PyG, edge_index"] = product(lambda: torch.zeros_like(h).index_add(
            0, place, h.index_select(0, source) * value.unsqueeze(1)))
    else:
        print("torch_geometric is not installed: PyG is left out")
    return {name: torch_side.median_ms(call, device, o.repeat, 5) for name, call in found.items()}, graph


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("graph")
    parser.add("--sley", None, "the command")
    parser.add("--device", "cuda" if torch.cuda.is_available() else "cpu")
    parser.add("--features", 128)
    parser.add("--hidden", 64)
    parser.add("--classes", 40)
    parser.add("--repeat", 50)
    parser.add("--json")
    o = parser.parse_args()
    parser.check(o, repeat=1)
    times, graph = compare(o)
    if o.sley:
        times["step sley gnn train"] = command_ms(o)
    print(f"{o.graph}: {graph.num_nodes} nodes, {graph.num_edges} edges; {o.features} features, hidden {o.hidden}, {o.classes} classes; {o.device}")
    own = {"product": times["product sley.torch"], "step": times.get("step sley.nn, captured", times["step sley.nn"])}
    for name, ms in sorted(times.items()):
        print(f"{name:<26} {ms:10.3f} ms  {ms / own[name.split()[0]]:7.2f} times that of Sley")
    common.save(o.json, {"graph": o.graph, "device": o.device, "ms": times}, o.device, torch=torch.__version__)


if __name__ == "__main__":
    common.start(main)
