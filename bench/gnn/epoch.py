#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Full-graph training of three layers, 100 -> 128 -> 128 -> 47, on one GPU or more: milliseconds a step and memory of
Sley beside PyTorch and PyTorch Geometric, in one run.

Graphs are drawn with a seed, which is printed, or they are specified. `sley generate` writes each to a file, which `sley gnn
train` and the rivals read; features and labels are random, without dropout, with the same parameters of Adam. The ratio is how
many times as fast as the fastest rival Sley is.

  csr    gcn, sage, gin: torch.sparse.mm with a CSR matrix and its transpose, both kept
  pyg    GCNConv with kept normalisation, SAGEConv, GINConv, GATConv with an edge_index
  edge   the same with an EdgeIndex, sorted by columns

Sley is measured twice: `kept`, where the first layer's sums of the features are computed once, as the command does without
dropout, and `fresh`, where each step computes them again, as the rivals do. Memory: the most that PyTorch had allocated; for
Sley the device memory in use while its command ran, less the CUDA context.
Usage: epoch.py SLEY [--seed N] [--graphs N] [--matrix SPECS] [--models WORDS] [--ranks LIST] [--epochs N] [--seconds S]
                [--ways WORDS] [--rivals WORDS] [--precision full|tf32] [--json FILE]
"""
import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import torch
import torch.nn.functional as F

try:
    import torch_geometric
    import torch_geometric.nn as pyg
except ImportError:
    torch_geometric = None

warnings.simplefilter("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.dirname(HERE)
sys.path[:0] = [BENCH, os.path.join(BENCH, "gpu")]
import runs  # noqa: E402
import sley_file  # noqa: E402
from memory_watch import MemoryWatch  # noqa: E402
WIDTHS = [100, 128, 128, 47]
RATE, DECAY = 0.01, 5e-4
LABELLED = 0.1  # share of the rows
MIB = 1 << 20


# ---- graphs

def draw(random_, number):
    specs = []
    for _ in range(number):
        name, largest = random_.choice([("prd", 0.5), ("clj", 0.4), ("cok", 0.15), ("cyt", 1)])
        specs.append(f"twin:{name}:scale={largest * random_.uniform(0.4, 1):.4f}")
    return specs


class Graph:
    """A .sley file, and labels, on the device."""

    def __init__(self, path, labels):
        rows, _, begin, col = sley_file.read(path)
        self.rows, self.nnz = rows, col.size
        self.row = torch.from_numpy(np.repeat(np.arange(rows), np.diff(begin))).cuda()
        self.col = torch.from_numpy(col.astype(np.int64)).cuda()
        self.x = torch.randn(rows, WIDTHS[0], device="cuda")
        self.label = torch.from_numpy(labels).cuda()
        self.train = (self.label >= 0).nonzero().squeeze(1)

    def csr(self, kind):
        """The matrix over which the model sums, and its transpose."""
        row, col = self.row, self.col
        if kind != "sage":
            own = torch.arange(self.rows, device="cuda")
            row, col = torch.cat([row, own]), torch.cat([col, own])
        degree = torch.bincount(row, minlength=self.rows).float()
        value = {"gcn": lambda: (degree[row] * degree[col]).rsqrt(), "sage": lambda: 1 / degree[row],
                 "gin": lambda: torch.ones(row.numel(), device="cuda")}[kind]()
        shape = (self.rows, self.rows)
        a = torch.sparse_coo_tensor(torch.stack([row, col]), value, shape).coalesce().to_sparse_csr()
        back = torch.sparse_coo_tensor(torch.stack([col, row]), value, shape).coalesce().to_sparse_csr()
        return a, back


# ---- rivals: functions without arguments that return two things: a function that returns logits, and the parameters

def linear(a, b, bias=True):
    return torch.nn.Linear(a, b, bias=bias).cuda()


def csr_model(graph, kind):
    a, back = graph.csr(kind)

    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.sparse.mm(a, x)

        @staticmethod
        def backward(ctx, dy):
            return torch.sparse.mm(back, dy)

    pairs = list(zip(WIDTHS, WIDTHS[1:]))
    if kind == "gcn":
        layers = [[linear(i, o)] for i, o in pairs]

        def apply(x, layer):
            return Sum.apply(x @ layer[0].weight.t()) + layer[0].bias
    elif kind == "sage":
        layers = [[linear(i, o), linear(i, o, False)] for i, o in pairs]

        def apply(x, layer):
            narrows = layer[0].out_features < layer[0].in_features
            summed = Sum.apply(layer[1](x)) if narrows else layer[1](Sum.apply(x))
            return layer[0](x) + summed
    else:
        layers = [[linear(i, o), linear(o, o)] for i, o in pairs]

        def apply(x, layer):
            narrows = layer[0].out_features < layer[0].in_features
            first = Sum.apply(x @ layer[0].weight.t()) + layer[0].bias if narrows else layer[0](Sum.apply(x))
            return layer[1](F.relu(first))
    return stack(graph, layers, apply), [p for layer in layers for one in layer for p in one.parameters()]


def stack(graph, layers, apply):
    def run():
        x = graph.x
        for number, layer in enumerate(layers):
            x = apply(x, layer)
            if number < len(layers) - 1:
                x = F.relu(x)
        return x
    return run


def pyg_model(graph, kind, edge):
    index = torch.stack([graph.col, graph.row])
    if edge:
        index = torch_geometric.EdgeIndex(index, sparse_size=(graph.rows, graph.rows)).sort_by("col")[0]
        index.validate()

    def make(i, o):
        return {"gcn": lambda: pyg.GCNConv(i, o, cached=True), "sage": lambda: pyg.SAGEConv(i, o),
                "gin": lambda: pyg.GINConv(torch.nn.Sequential(torch.nn.Linear(i, o), torch.nn.ReLU(), torch.nn.Linear(o, o))),
                "gat": lambda: pyg.GATConv(i, o)}[kind]().cuda()

    layers = [make(i, o) for i, o in zip(WIDTHS, WIDTHS[1:])]
    return stack(graph, layers, lambda x, layer: layer(x, index)), [p for layer in layers for p in layer.parameters()]


RIVALS = {"csr": lambda g, kind: csr_model(g, kind), "pyg": lambda g, kind: pyg_model(g, kind, False),
          "edge": lambda g, kind: pyg_model(g, kind, True)}


def rival_case(graph, kind, name, epochs):
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    forward, parameters = RIVALS[name](graph, kind)
    optimizer = torch.optim.Adam(parameters, lr=RATE, weight_decay=DECAY)
    times = []
    for _ in range(epochs + 2):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(forward()[graph.train], graph.label[graph.train]).backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    return {"ms": statistics.median(times[2:]), "spread_ms": max(times[2:]) - min(times[2:]),
            "mib": torch.cuda.max_memory_allocated() / MIB}


# ---- Sley

def sley_case(args, path, labels, kind, ranks, fresh):
    with tempfile.NamedTemporaryFile(suffix=".json") as report, MemoryWatch(0.01) as memory:
        command = [args.sley, "gnn", "train", path, "--features", f"random:{WIDTHS[0]}", "--labels", labels, "--model", kind,
                   "--layers", str(len(WIDTHS) - 1), "--hidden", str(WIDTHS[1]), "--heads", "1", "--dropout", "0", "--train",
                   str(1 << 30), "--rate", str(RATE), "--decay", str(DECAY), "--epochs", str(args.epochs + 2), "--ranks", str(ranks),
                   "--device", "cuda", "--precision", args.precision, "--json", report.name] + (["--fresh-features"] if fresh else [])
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if result.returncode != 0:
            return {"failed": result.stderr.strip()[-300:]}
        with open(report.name) as stream: # the command has replaced the file
            times = [one["ms"] for one in json.load(stream)["epochs"]][2:]
    return {"ms": statistics.median(times), "spread_ms": max(times) - min(times), "mib": memory.taken / MIB - args.context_mib}


def context_mib(args, folder):
    """Memory of the smallest run: the CUDA context and the kernels."""
    path, labels = os.path.join(folder, "small.sley"), os.path.join(folder, "small.txt")
    generate(args, "er:n=100,nnz=500", path)
    with open(labels, "w") as stream:
        stream.write("\n".join(str(i % WIDTHS[-1]) for i in range(100)))
    args.context_mib = 0
    case = sley_case(args, path, labels, "gcn", 1, False)
    if "failed" in case:
        sys.exit(case["failed"])
    return case["mib"]


def generate(args, spec, path):
    subprocess.run([args.sley, "generate", spec, "-o", path, "--dtype", "f32", "--seed", str(args.seed)], check=True,
                   stdout=subprocess.DEVNULL)


# ---- the run

def measure(args, path, labels, graph, kind):
    case = {"model": kind, "sley": {}, "rivals": {}}
    for ranks in args.ranks:
        for way in args.ways if kind != "gat" else ("fresh",):
            case["sley"][f"{way} on {ranks}"] = sley_case(args, path, labels, kind, ranks, way == "fresh")
    for name in args.rivals:
        if (name == "csr" and kind == "gat") or (name != "csr" and not torch_geometric):
            continue
        try:
            case["rivals"][name] = rival_case(graph, kind, name, args.epochs)
        except torch.OutOfMemoryError:
            case["rivals"][name] = {"failed": "out of memory"}
        except (RuntimeError, AttributeError, TypeError, ValueError, NotImplementedError) as error:
            case["rivals"][name] = {"failed": str(error).splitlines()[0][:120]}
    ran = {name: one for name, one in case["rivals"].items() if "ms" in one}
    first = case["sley"].get(f"fresh on {args.ranks[0]}", {})
    if ran and "ms" in first:
        case["best"] = min(ran, key=lambda name: ran[name]["ms"])
        case["ratio"] = ran[case["best"]]["ms"] / first["ms"]
    return case


def show(spec, case):
    def text(one):
        return f"{one['ms']:8.2f} ms {one['mib']:7.0f} MiB" if "ms" in one else one["failed"]
    for name, one in list(case["sley"].items()) + list(case["rivals"].items()):
        print(f"{spec:28} {case['model']:5} {'sley ' + name if name in case['sley'] else name:14} {text(one)}", flush=True)
    if "ratio" in case:
        print(f"{spec:28} {case['model']:5} {case['best']} / sley fresh: {case['ratio']:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sley")
    parser.add_argument("--seed", type=int, default=20261126)
    parser.add_argument("--graphs", type=int, default=3)
    parser.add_argument("--matrix", default="", help="specs, separated by blanks, in place of drawn ones")
    parser.add_argument("--models", default="gcn,sage,gin,gat")
    parser.add_argument("--ranks", default="1")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=1e9, help="no case begins after so many")
    parser.add_argument("--ways", default="kept,fresh", help="of Sley")
    parser.add_argument("--rivals", default=",".join(RIVALS), help="or an empty word for none")
    parser.add_argument("--precision", default="full", choices=["full", "tf32"], help="of dense products, on both sides")
    parser.add_argument("--json")
    args = parser.parse_args()
    args.ranks = [int(one) for one in args.ranks.split(",")]
    args.ways = args.ways.split(",")
    args.rivals = [one for one in args.rivals.split(",") if one]
    torch.backends.cuda.matmul.allow_tf32 = args.precision == "tf32"
    begin = time.monotonic()
    random_ = random.Random(args.seed)
    specs = args.matrix.split() or draw(random_, args.graphs)
    gpu = torch.cuda.get_device_name(0)
    print(f"{gpu}; seed {args.seed}, {args.epochs} steps after 2, f32, precision {args.precision}")
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        args.context_mib = context_mib(args, folder)
        for spec in specs:
            path, labels = os.path.join(folder, "graph.sley"), os.path.join(folder, "labels.txt")
            generate(args, spec, path)
            rows = sley_file.sizes(path)[0]
            generator = np.random.default_rng(args.seed)
            label = np.where(generator.random(rows) < LABELLED, generator.integers(0, WIDTHS[-1], rows), -1)
            np.savetxt(labels, label, fmt="%d")
            graph = Graph(path, label)
            for kind in args.models.split(","):
                if time.monotonic() - begin > args.seconds:
                    continue
                case = measure(args, path, labels, graph, kind)
                case.update(graph=spec, rows=rows, entries=graph.nnz)
                cases.append(case)
                show(spec, case)
            del graph
            torch.cuda.empty_cache()
    for kind in args.models.split(","):
        ratios = [case["ratio"] for case in cases if case["model"] == kind and "ratio" in case]
        if ratios:
            print(f"{kind}: {len(ratios)} graphs, geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.2f}, worst {min(ratios):.2f}")
    if args.json:
        machine = runs.machine("cuda")
        machine.update(torch=torch.__version__, torch_geometric=torch_geometric and torch_geometric.__version__)
        with open(args.json, "w") as stream:
            json.dump({"machine": machine, "seed": args.seed, "precision": args.precision, "epochs": args.epochs, "widths": WIDTHS, "cases": cases}, stream, indent=1)


main()
