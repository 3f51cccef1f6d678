#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps by sley.torch on one rank and on several under torchrun, on the same graph: compares the gradients of the
first step with one rank's, and reports the time of a step.

A step is forward, backward, the sum of the ranks' gradients and Adam, without dropout, over all rows. Features and labels
depend on the row, weights on the seed, so that every number of ranks computes the same. Times are medians of rank 0's, whose
queue is empty before and after each step; all ranks start a step together, because gradients are summed in it. On one GPU a
step is also captured into a CUDA graph; the ratio is relative to the faster of both. GRAPH: any graph that sley
reads. Set SLEY_LIBRARY, and PYTHONPATH=python, if the package is not installed.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import sley.dist
import sley.nn
import sley.torch

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import common  # noqa: E402
from torch_side import WARM, captured, median_ms  # noqa: E402

HEADS = 4  # heads of gat's hidden layers, which have --hidden values in total
SIZES = {"features": 100, "hidden": 128, "classes": 47, "layers": 3, "steps": 20, "seed": 1}


# ---- a rank

def mixed(number, seed):
    """A pseudorandom integer below 2^31 for each element of a tensor, the same on every device."""
    number = (number + seed * 40503) & 0x7FFFFFFF
    for factor in (0x45D9F3B, 0x2C1B3C6D):
        number = ((number ^ (number >> 16)) * factor) & 0x7FFFFFFF
    return number ^ (number >> 15)


def operands(o, first, rows):
    """Features in [-1, 1) and labels of the rank's rows."""
    row = torch.arange(first, first + rows, device=o.device)
    x = torch.empty(rows, o.features, device=o.device)
    for column in range(o.features):
        x[:, column] = mixed(row * 131 + column, o.seed).float() / 2**30 - 1
    return x, mixed(row, o.seed + 7) % o.classes


def step_of(net, graph, x, labels, whole, comm):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, capturable=x.is_cuda)

    def step(update=True):
        optimizer.zero_grad(set_to_none=True)
        (F.cross_entropy(net(x, graph), labels, reduction="sum") / whole).backward()
        if comm.size > 1:
            sley.torch.allreduce_grads(net, comm)
        if update:
            optimizer.step()

    return step


def measure(o, comm, graph, model, x, labels):
    """The times of a model; rank 0 also writes its gradients."""
    torch.manual_seed(o.seed)
    net = sley.nn.Net(model, o.features, o.hidden // HEADS if model == "gat" else o.hidden, o.classes, layers=o.layers, heads=HEADS,
                         dropout=0.0).to(o.device)
    step = step_of(net, graph, x, labels, int(graph.row_begin[-1]), comm)
    begin = time.perf_counter()
    step(update=False)
    found = {"first_step_s": time.perf_counter() - begin}
    grads = {name: each.grad.detach().cpu().numpy().copy() for name, each in net.named_parameters()}
    found["ms"] = median_ms(step, o.device, o.steps, WARM)
    if comm.size == 1 and o.device == "cuda":
        found["captured_ms"] = median_ms(captured(step), o.device, o.steps, WARM)
    if comm.rank == 0:
        np.savez(Path(o.out) / f"{model}.npz", **grads)
    return found


def work(o):
    """The work of one rank."""
    with sley.dist.init(device=o.device) as comm:
        begin = time.perf_counter()
        with sley.torch.DistGraph.load(o.graph, comm, values=False) as graph:
            loaded = time.perf_counter() - begin
            x, labels = operands(o, int(graph.row_begin[comm.rank]), graph.num_nodes)
            found = {"load_s": loaded, "rows": int(graph.row_begin[-1]),
                     "models": {model: measure(o, comm, graph, model, x, labels) for model in o.models.split(",")}}
            if comm.rank == 0:
                (Path(o.out) / "found.json").write_text(json.dumps(found), encoding="utf-8")


# ---- all ranks

def launch(o, ranks):
    """Returns the ranks' results, and the gradients of each model."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), __file__, o.graph, "--out", folder,
                 "--models", o.models, "--device", o.device]
        for name in SIZES:
            words += [f"--{name}", str(getattr(o, name))]
        threads = str(max(1, (os.cpu_count() or 1) // ranks))  # torchrun would set one thread per rank, but graphs are prepared on the host
        subprocess.run(words, check=True, env={"OMP_NUM_THREADS": threads, **os.environ})
        found = common.load(Path(folder) / "found.json")
        return found, {model: dict(np.load(Path(folder) / f"{model}.npz")) for model in found["models"]}


def difference(grads, others):
    """Largest difference of a parameter's gradient, relative to its largest value."""
    return max(float(np.abs(grads[name] - others[name]).max() / max(np.abs(others[name]).max(), 1e-30)) for name in grads)


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("graph")
    parser.add("--ranks", "1,2")
    parser.add("--models", "gcn,sage,gin,gat")
    parser.add("--device", "cuda" if torch.cuda.is_available() else "cpu")
    for name, default in SIZES.items():
        parser.add(f"--{name}", default)
    parser.add("--json")
    parser.add("--out", None, "for a rank: folder for its results")
    o = parser.parse_args()
    parser.check(o, steps=1)
    if o.out:
        work(o)
        return
    print(f"{o.graph}: {o.layers} layers, {o.features} features, hidden {o.hidden}, {o.classes} classes; {o.device}; seed {o.seed}")
    results, of_one = [], None
    for ranks in parser.numbers("--ranks", o.ranks):
        found, grads = launch(o, ranks)
        results.append({"ranks": ranks, **found})
        of_one = of_one or grads
        for model, one in found["models"].items():
            base = results[0]["models"][model]
            one["faster"] = min(base["ms"], base.get("captured_ms", base["ms"])) / one["ms"]
            one["difference"] = difference(grads[model], of_one[model])
    common.show(["model", "ranks", "ms", "captured", "faster", "gradients differ"],
                [[model, run["ranks"], f"{one['ms']:.3f}", one.get("captured_ms"), one["faster"], f"{one['difference']:.1e}"]
                 for run in results for model, one in run["models"].items()])
    common.save(o.json, {"graph": o.graph, "device": o.device, "seed": o.seed, "runs": results}, o.device, torch=torch.__version__)


if __name__ == "__main__":
    common.start(main)
