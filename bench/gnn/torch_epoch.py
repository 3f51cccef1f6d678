#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of a GCN, and a product with its gradient, by sley.torch, and by rivals on the same tensors: PyG's GCNConv on
edge_index (values of edges cached), torch's CSR of A and A^T (kept), and `sley gnn train`.

Products are compared with each other. On a GPU times are those of the device's queue, which is empty before and after each
measurement.
Usage: torch_epoch.py GRAPH [--sley COMMAND] [--device NAME] [--features N] [--hidden N] [--classes N] [--repeat N]
                      [--json FILE]
GRAPH: any graph that sley reads. Set SLEY_LIBRARY, and PYTHONPATH=python, if the package is not installed.
"""
import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import runs
import torch
import torch.nn.functional as F
from captured import captured

import sley.nn
import sley.torch


def options_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("--sley", help="the command")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--features", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--classes", type=int, default=40)
    parser.add_argument("--repeat", type=int, default=50)
    parser.add_argument("--json")
    return parser.parse_args()


def median_ms(call, device, repeat):
    times = []
    for number in range(repeat + 5):
        if device == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        if device == "cuda":
            torch.cuda.synchronize()
        if number >= 5:
            times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


# ---- contenders

def step_of(net, graph, x, target):
    """A step of training: for a network of Sley with Sley's loss, for others with torch's own loss."""
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


class Rival(torch.nn.Module):
    """Two of PyG's layers, which keep the normalised values."""

    def __init__(self, features, hidden, classes):
        super().__init__()
        from torch_geometric.nn import GCNConv
        self.first = GCNConv(features, hidden, cached=True)
        self.second = GCNConv(hidden, classes, cached=True)

    def forward(self, x, graph):
        x = F.relu(self.first(F.dropout(x, 0.5, self.training), graph))
        return self.second(F.dropout(x, 0.5, self.training), graph)


class CsrProduct(torch.autograd.Function):
    """A X by torch's CSR of A and A^T."""

    @staticmethod
    def forward(ctx, x, a, transposed):
        ctx.transposed = transposed
        return a @ x

    @staticmethod
    def backward(ctx, dy):
        return ctx.transposed @ dy.contiguous(), None, None


class CsrNet(torch.nn.Module):
    """Two layers on torch's CSR of the normalised A and A^T, both kept, as a user of torch alone would write them."""

    def __init__(self, features, hidden, classes):
        super().__init__()
        self.first, self.second = torch.nn.Linear(features, hidden), torch.nn.Linear(hidden, classes)

    def forward(self, x, pair):
        x = F.relu(CsrProduct.apply(self.first(F.dropout(x, 0.5, self.training)), *pair))
        return CsrProduct.apply(self.second(F.dropout(x, 0.5, self.training)), *pair)


def csr_of(graph, device):
    """A and A^T of a graph with its values."""
    block = graph.pattern.block
    a = torch.sparse_csr_tensor(block.rowptr, block.col.to(torch.int64), graph._values.float(),
                                size=(graph.num_nodes, graph.num_nodes))
    return a.to(device), a.to_sparse_coo().t().coalesce().to_sparse_csr().to(device)


def command_ms(options):
    """The median epoch of `sley gnn train` with the same sizes."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run([options.sley, "gnn", "train", options.graph, "--features", f"random:{options.features}", "--labels",
                        f"planted:{options.classes}", "--hidden", str(options.hidden), "--epochs", str(options.repeat),
                        "--train", "1000000", "--fresh-features", "--device", options.device, "--json", report.name],
                       check=True, stdout=subprocess.DEVNULL)
        with open(report.name, encoding="utf-8") as file:
            return statistics.median(each["ms"] for each in json.load(file)["epochs"])


# ---- measurements

def compare(options):
    device, k = options.device, options.hidden
    a = (sley.read if Path(options.graph).exists() else sley.generate)(options.graph).to_scipy()
    row, col = a.nonzero()
    edges = torch.from_numpy(np.stack((col, row)).astype(np.int64)).to(device)
    graph = sley.torch.Graph(edges, a.shape[0])
    normalised = graph.derived("gcn")
    pair = csr_of(normalised, device)
    sizes = options.features, options.hidden, options.classes
    x = torch.randn(a.shape[0], options.features, device=device)
    target = torch.randint(0, options.classes, (a.shape[0],), device=device)
    h, dy = torch.randn(a.shape[0], k, device=device, requires_grad=True), torch.randn(a.shape[0], k, device=device)
    torch.testing.assert_close(sley.torch.spmm(normalised, h), pair[0] @ h, rtol=1e-4, atol=1e-4)

    def product(function):
        return lambda: torch.autograd.grad(function(), h, dy)

    found = {
        "product sley.torch": product(lambda: sley.torch.spmm(normalised, h)),
        "product torch CSR": product(lambda: CsrProduct.apply(h, *pair)),
        "step sley.nn": step_of(sley.nn.Net("gcn", *sizes).to(device), graph, x, target),
        "step torch CSR": step_of(CsrNet(*sizes).to(device), pair, x, target)}
    if device == "cuda":
        found["step sley.nn, captured"] = captured(step_of(sley.nn.Net("gcn", *sizes).to(device), graph, x, target))
    try:
        found["step PyG, edge_index"] = step_of(Rival(*sizes).to(device), edges, x, target)
        value, (source, place) = normalised._values.float().to(device), normalised.to_entries(normalised.edge_index.t()).t()
        found["product PyG, edge_index"] = product(lambda: torch.zeros_like(h).index_add(
            0, place, h.index_select(0, source) * value.unsqueeze(1)))
    except ImportError:
        print("torch_geometric is not installed: PyG is left out")
    return {name: median_ms(call, device, options.repeat) for name, call in found.items()}, graph


def main():
    options = options_of()
    times, graph = compare(options)
    if options.sley:
        times["step sley gnn train"] = command_ms(options)
    print(f"{options.graph}: {graph.num_nodes} nodes, {graph.num_edges} edges; {options.features} features, hidden "
          f"{options.hidden}, {options.classes} classes; {options.device}")
    for name, ms in sorted(times.items()):
        own = times["product sley.torch"] if name.startswith("product") else times.get("step sley.nn, captured",
                                                                                       times["step sley.nn"])
        print(f"{name:<26} {ms:10.3f} ms  {ms / own:7.2f} times that of Sley")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"machine": {**(runs.machine(options.device) or {}), "torch": torch.__version__},
                       "graph": options.graph, "device": options.device, "ms": times}, file, indent=2)


if __name__ == "__main__":
    main()
