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
"""
import os
import random
import statistics
import sys
import tempfile
import time
import warnings

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import common  # noqa: E402
import torch_side  # noqa: E402
from tables import geomean  # noqa: E402

warnings.simplefilter("ignore")
WIDTHS = [100, 128, 128, 47]
PAIRS = list(zip(WIDTHS, WIDTHS[1:]))
RATE, DECAY = 0.01, 5e-4
LABELLED = 0.1  # share of the rows
WARM = 2


# ---- graphs

def draw(random_, number):
    drawn = [random_.choice([("prd", 0.5), ("clj", 0.4), ("cok", 0.15), ("cyt", 1)]) + (random_.uniform(0.4, 1),) for _ in range(number)]
    return [f"twin:{name}:scale={largest * share:.4f}" for name, largest, share in drawn]


class Graph:
    """A .sley file, and labels, on the device."""

    def __init__(self, path, labels):
        self.rows, _, begin, col = common.read_pattern(path)
        self.nnz = col.size
        self.row = torch.from_numpy(np.repeat(np.arange(self.rows), np.diff(begin))).cuda()
        self.col = torch.from_numpy(col.astype(np.int64)).cuda()
        self.x = torch.randn(self.rows, WIDTHS[0], device="cuda")
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
        return [torch.sparse_coo_tensor(torch.stack(index), value, (self.rows, self.rows)).coalesce().to_sparse_csr()
                for index in ([row, col], [col, row])]


# ---- rivals: functions that return two things: a function that returns logits, and the parameters

def stack(graph, layers, apply):
    def run():
        x = graph.x
        for number, layer in enumerate(layers):
            x = apply(x, layer)
            if number < len(layers) - 1:
                x = F.relu(x)
        return x
    return run


def csr_model(graph, kind):
    a, back = graph.csr(kind)

    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.sparse.mm(a, x)

        @staticmethod
        def backward(ctx, dy):
            return torch.sparse.mm(back, dy)

    def gcn(x, layer):
        return Sum.apply(x @ layer[0].weight.t()) + layer[0].bias

    def sage(x, layer):
        narrows = layer[0].out_features < layer[0].in_features
        return layer[0](x) + (Sum.apply(layer[1](x)) if narrows else layer[1](Sum.apply(x)))

    def gin(x, layer):
        narrows = layer[0].out_features < layer[0].in_features
        return layer[1](F.relu(gcn(x, layer) if narrows else layer[0](Sum.apply(x))))

    linear = torch.nn.Linear
    make = {"gcn": lambda i, o: [linear(i, o)], "sage": lambda i, o: [linear(i, o), linear(i, o, bias=False)],
            "gin": lambda i, o: [linear(i, o), linear(o, o)]}[kind]
    layers = [[one.cuda() for one in make(i, o)] for i, o in PAIRS]
    return stack(graph, layers, {"gcn": gcn, "sage": sage, "gin": gin}[kind]), [p for layer in layers for one in layer for p in one.parameters()]


def pyg_model(graph, kind, edge):
    index = torch.stack([graph.col, graph.row])
    if edge:
        index = torch_side.torch_geometric.EdgeIndex(index, sparse_size=(graph.rows, graph.rows)).sort_by("col")[0]
        index.validate()
    layers = [torch_side.conv(kind, i, o, **({"cached": True} if kind == "gcn" else {})).cuda() for i, o in PAIRS]
    return stack(graph, layers, lambda x, layer: layer(x, index)), [p for layer in layers for p in layer.parameters()]


RIVALS = {"csr": csr_model, "pyg": lambda graph, kind: pyg_model(graph, kind, False), "edge": lambda graph, kind: pyg_model(graph, kind, True)}


def figures(times, mib):
    return {"ms": statistics.median(times), "spread_ms": max(times) - min(times), "mib": mib}


def rival_case(graph, kind, name, epochs):
    torch_side.clear_memory()
    forward, parameters = RIVALS[name](graph, kind)
    optimizer = torch.optim.Adam(parameters, lr=RATE, weight_decay=DECAY)

    def step():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(forward()[graph.train], graph.label[graph.train]).backward()
        optimizer.step()
    return figures(torch_side.times(step, "cuda", epochs, WARM), torch.cuda.max_memory_allocated() / common.MIB)


def try_rival(graph, kind, name, epochs):
    try:
        return rival_case(graph, kind, name, epochs)
    except torch.OutOfMemoryError:
        return {"failed": "out of memory"}
    except (RuntimeError, AttributeError, TypeError, ValueError, NotImplementedError) as error:
        return {"failed": str(error).splitlines()[0][:120]}


# ---- Sley

def sley_case(args, path, labels, kind, ranks, fresh):
    try:
        with torch_side.MemoryWatch(0.01) as memory:
            report = common.sley(args.sley, "gnn", "train", path, "--features", f"random:{WIDTHS[0]}", "--labels", labels, "--model", kind, "--layers",
                                 len(PAIRS), "--hidden", WIDTHS[1], "--heads", 1, "--dropout", 0, "--train", 1 << 30, "--rate", RATE, "--decay", DECAY,
                                 "--epochs", args.epochs + WARM, "--ranks", ranks, "--device", "cuda", "--precision", args.precision,
                                 *["--fresh-features"] * fresh)
    except common.Failed as error:
        return {"failed": str(error)[-300:]}
    return figures([one["ms"] for one in report["epochs"]][WARM:], memory.mib - args.context_mib)


def context_mib(args, folder):
    """Memory of the smallest run: the CUDA context and the kernels."""
    path, labels = os.path.join(folder, "small.sley"), os.path.join(folder, "small.txt")
    common.generate(args.sley, "er:n=100,nnz=500", path, args.seed)
    np.savetxt(labels, np.arange(100) % WIDTHS[-1], fmt="%d")
    args.context_mib = 0
    case = sley_case(args, path, labels, "gcn", 1, False)
    if "failed" in case:
        raise common.Failed(case["failed"])
    return case["mib"]


# ---- the run

def measure(args, path, labels, graph, kind):
    case = {"model": kind, "rivals": {},
            "sley": {f"{way} on {ranks}": sley_case(args, path, labels, kind, ranks, way == "fresh")
                     for ranks in args.ranks for way in (args.ways if kind != "gat" else ["fresh"])}}
    for name in args.rivals:
        if (name == "csr" and kind != "gat") or (name != "csr" and torch_side.pyg):
            case["rivals"][name] = try_rival(graph, kind, name, args.epochs)
    ran = {name: one for name, one in case["rivals"].items() if "ms" in one}
    first = case["sley"].get(f"fresh on {args.ranks[0]}", {})
    if ran and "ms" in first:
        case["best"] = min(ran, key=lambda name: ran[name]["ms"])
        case["ratio"] = ran[case["best"]]["ms"] / first["ms"]
    return case


def show(case):
    head = f"{case['graph']:28} {case['model']:5}"
    for name, one in [(f"sley {name}", one) for name, one in case["sley"].items()] + list(case["rivals"].items()):
        print(head, f"{name:14}", f"{one['ms']:8.2f} ms {one['mib']:7.0f} MiB" if "ms" in one else one["failed"], flush=True)
    if "ratio" in case:
        print(head, f"{case['best']} / sley fresh: {case['ratio']:.2f}", flush=True)


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("sley")
    parser.add("--seed", 20261126)
    parser.add("--graphs", 3)
    parser.add("--matrix", "", "specs, separated by blanks, in place of drawn ones")
    parser.add("--models", "gcn,sage,gin,gat")
    parser.add("--ranks", "1")
    parser.add("--epochs", 8)
    parser.add("--seconds", 1e9, "no case begins after so many")
    parser.add("--ways", "kept,fresh", "of Sley")
    parser.add("--rivals", ",".join(RIVALS), "or an empty word for none")
    parser.add("--precision", "full", "of dense products, on both sides", choices=["full", "tf32"])
    parser.add("--json")
    args = parser.parse_args()
    parser.check(args, epochs=1)
    args.ranks, args.ways = parser.numbers("--ranks", args.ranks), args.ways.split(",")
    args.rivals = parser.names("--rivals", args.rivals, RIVALS) if args.rivals else []
    torch.backends.cuda.matmul.allow_tf32 = args.precision == "tf32"
    begin, models, cases = time.monotonic(), args.models.split(","), []
    print(f"{torch.cuda.get_device_name(0)}; seed {args.seed}, {args.epochs} steps after {WARM}, f32, precision {args.precision}")
    with tempfile.TemporaryDirectory() as folder:
        args.context_mib = context_mib(args, folder)
        for spec in args.matrix.split() or draw(random.Random(args.seed), args.graphs):
            path, labels = os.path.join(folder, "graph.sley"), os.path.join(folder, "labels.txt")
            common.generate(args.sley, spec, path, args.seed)
            rows, generator = common.sizes(path)[0], np.random.default_rng(args.seed)
            label = np.where(generator.random(rows) < LABELLED, generator.integers(0, WIDTHS[-1], rows), -1)
            np.savetxt(labels, label, fmt="%d")
            graph = Graph(path, label)
            for kind in models:
                if time.monotonic() - begin <= args.seconds:
                    cases.append({**measure(args, path, labels, graph, kind), "graph": spec, "rows": rows, "entries": graph.nnz})
                    show(cases[-1])
            del graph
            torch.cuda.empty_cache()
    for kind in models:
        ratios = [case["ratio"] for case in cases if case["model"] == kind and "ratio" in case]
        if ratios:
            print(f"{kind}: {len(ratios)} graphs, geometric mean {geomean(ratios):.2f}, worst {min(ratios):.2f}")
    common.save(args.json, {"seed": args.seed, "precision": args.precision, "epochs": args.epochs, "widths": WIDTHS, "cases": cases}, "cuda",
                **torch_side.versions())


common.start(main)
