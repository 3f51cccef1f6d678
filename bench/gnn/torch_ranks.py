#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training steps by sley.torch on one rank and on several under torchrun, on the same graph: compares the gradients of the
first step with one rank's, and reports the time of a step.

A step is forward, backward, the sum of the ranks' gradients and Adam, without dropout, over all rows. Features and labels
depend on the row, weights on the seed, so that every number of ranks computes the same. Times are medians of rank 0's, whose
queue is empty before and after each step; all ranks start a step together, because gradients are summed in it. On one GPU a
step is also captured into a CUDA graph; the ratio is relative to the faster of both.
Usage: torch_ranks.py GRAPH [--ranks LIST] [--models LIST] [--device NAME] [--features N] [--hidden N] [--classes N] [--layers N]
                      [--steps N] [--seed N] [--json FILE]
GRAPH: any graph that sley reads. Set SLEY_LIBRARY, and PYTHONPATH=python, if the package is not installed.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import runs
import torch
import torch.nn.functional as F
from captured import WARM, captured

import sley.dist
import sley.nn
import sley.torch

HEADS = 4  # heads of gat's hidden layers, which have --hidden values in total


def options_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--models", default="gcn,sage,gin,gat")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--classes", type=int, default=47)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("--out", help=argparse.SUPPRESS)  # for a rank: folder for its results
    return parser.parse_args()


# ---- a rank

def mixed(number, seed):
    """A pseudorandom integer below 2^31 for each element of a tensor, the same on every device."""
    number = (number + seed * 40503) & 0x7FFFFFFF
    for factor in (0x45D9F3B, 0x2C1B3C6D):
        number = ((number ^ (number >> 16)) * factor) & 0x7FFFFFFF
    return number ^ (number >> 15)


def operands(options, first, rows, device):
    """Features in [-1, 1) and labels of the rank's rows."""
    row = torch.arange(first, first + rows, device=device)
    x = torch.empty(rows, options.features, device=device)
    for column in range(options.features):
        x[:, column] = mixed(row * 131 + column, options.seed).float() / 2**30 - 1
    return x, mixed(row, options.seed + 7) % options.classes


def median_ms(step, steps, device):
    times = []
    for number in range(steps + WARM):
        if device == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        if device == "cuda":
            torch.cuda.synchronize()
        if number >= WARM:
            times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


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


def work(options):
    """The work of one rank; rank 0 writes the gradients and times of each model."""
    with sley.dist.init(device=options.device) as comm:
        device = options.device
        begin = time.perf_counter()
        with sley.torch.DistGraph.load(options.graph, comm, values=False) as graph:
            loaded = time.perf_counter() - begin
            first, whole = int(graph.row_begin[comm.rank]), int(graph.row_begin[-1])
            x, labels = operands(options, first, graph.num_nodes, device)
            found = {"load_s": loaded, "rows": whole, "models": {}}
            for model in options.models.split(","):
                torch.manual_seed(options.seed)
                hidden = options.hidden // HEADS if model == "gat" else options.hidden
                net = sley.nn.Net(model, options.features, hidden, options.classes, layers=options.layers, heads=HEADS,
                                     dropout=0.0).to(device)
                step = step_of(net, graph, x, labels, whole, comm)
                begin = time.perf_counter()
                step(update=False)
                planned = time.perf_counter() - begin
                grads = {name: each.grad.detach().cpu().numpy().copy() for name, each in net.named_parameters()}
                told = {"first_step_s": planned, "ms": median_ms(step, options.steps, device)}
                if comm.size == 1 and device == "cuda":
                    told["captured_ms"] = median_ms(captured(step), options.steps, device)
                found["models"][model] = told
                if comm.rank == 0:
                    np.savez(Path(options.out) / f"{model}.npz", **grads)
            if comm.rank == 0:
                (Path(options.out) / "found.json").write_text(json.dumps(found), encoding="utf-8")


# ---- all ranks

def launch(options, ranks, folder):
    """Returns the ranks' results, and the gradients of each model."""
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), __file__]
    words += [options.graph, "--out", folder, "--models", options.models, "--device", options.device]
    for name in ("features", "hidden", "classes", "layers", "steps", "seed"):
        words += [f"--{name}", str(getattr(options, name))]
    threads = str(max(1, (os.cpu_count() or 1) // ranks))  # torchrun would set one thread per rank, but graphs are prepared on the host
    subprocess.run(words, check=True, env={"OMP_NUM_THREADS": threads, **os.environ})
    found = json.loads((Path(folder) / "found.json").read_text(encoding="utf-8"))
    return found, {model: dict(np.load(Path(folder) / f"{model}.npz")) for model in found["models"]}


def difference(grads, others):
    """Largest difference of a parameter's gradient, relative to its largest value."""
    return max(float(np.abs(grads[name] - others[name]).max() / max(np.abs(others[name]).max(), 1e-30)) for name in grads)


def main():
    options = options_of()
    if options.out:
        work(options)
        return
    results = []
    print(f"{options.graph}: {options.layers} layers, {options.features} features, hidden {options.hidden}, "
          f"{options.classes} classes; {options.device}; seed {options.seed}")
    print(f"{'model':<6} {'ranks':>5} {'ms':>10} {'captured':>10} {'faster':>7} {'gradients differ':>17}")
    one, of_one = None, None
    for ranks in map(int, options.ranks.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            found, grads = launch(options, ranks, folder)
        if one is None:
            one, of_one = found, grads
        for model, told in found["models"].items():
            base = one["models"][model]
            told["faster"] = min(base["ms"], base.get("captured_ms", base["ms"])) / told["ms"]
            told["difference"] = difference(grads[model], of_one[model])
            print(f"{model:<6} {ranks:5} {told['ms']:10.3f} {told.get('captured_ms', float('nan')):10.3f} "
                  f"{told['faster']:7.2f} {told['difference']:17.1e}")
        results.append({"ranks": ranks, **found})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"machine": {**(runs.machine(options.device) or {}), "torch": torch.__version__},
                       "graph": options.graph, "device": options.device, "seed": options.seed, "runs": results}, file, indent=2)


if __name__ == "__main__":
    main()
