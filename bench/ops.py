#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operations of graph networks: compares Sley with numpy, scipy, PyTorch and PyTorch Geometric on processors, and on one GPU with
cuSPARSE, PyTorch, PyTorch Geometric and turbo-gnn, in one run.

Graphs and widths are drawn with a seed, which is printed. `sley generate` writes each graph to a file, which `sley bench ops
--json` and the rivals read. They run in turn: Sley's command, which checks its own results, then each rival. Medians are compared;
the ratio is how many times as fast as the fastest rival Sley is.

  --device cpu                   rivals in ops_cpu.py
  sddmm          numpy's and scipy's expressions of one sum of products for each entry
  sum mean max   scipy's product, numpy's reduceat, PyTorch's index_add, scatter_reduce and sparse product
  gat gatv2      forward and backward: PyTorch Geometric's layer without its linear map, and PyTorch's operations; one head
                 or several. Sley is given the scores' parts of GAT, which the layer makes of its vectors of weights.

  --device cuda                  rivals in ops_gpu.py
  sddmm          forward: cuSPARSE, both layouts of V
  max            forward and backward: PyTorch's scatter_reduce, turbo-gnn
  gat            forward and backward, 1 and 8 heads of 16: PyTorch Geometric's layer without its linear map
  gatv2          forward and backward, 1 head of 64: PyTorch Geometric's layer, turbo-gnn

Rivals that are not installed, or do not run, are left out, with a message. Rivals' results are compared with float64 sums or with
each other. Memory on a GPU includes the graph and the operands: for a rival the most that PyTorch had allocated for it; for Sley
the device memory in use while its command ran, less the use for a graph of 500 entries, which is the CUDA context.
"""
import importlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time

import common
from tables.ops import summary


def sley_passes(o, path, op, k, heads, repeat, *more, without=()):
    """Milliseconds of each pass; or None, and why Sley refuses the case."""
    command = [o.sley, "bench", "ops", "--matrix", path, "--ops", op, "--k", k, "--heads", heads, "--device", o.device, "--repeat", repeat, "--seed",
               o.seed, "--json", "-", *more]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env={name: value for name, value in os.environ.items() if name not in without})
    if not done.stdout or done.returncode not in (0, 1):
        raise common.Failed(f"{' '.join(map(str, command))}: exit {done.returncode}: {done.stderr[-500:]}")
    case = next(one for one in json.loads(done.stdout)["cases"] if one["op"] == op)
    if case["result"] == "wrong":
        raise common.Failed(f"{op}, k = {k}: Sley's result is wrong: {case['reason']}")
    if case["result"] != "ok":
        return None, case["reason"]
    return [one["median_ms"] for one in case["passes"]], None


def show(one, side):
    """Prints a case: Sley, the best rival with its ratio, and what was left out."""
    head = f"{one['graph']:34} {one.get('nnz', ''):9} {one.get('k', ''):4} {one.get('heads', ''):2} {one['op']:6}"
    print(head, side.words(one) if "refused" not in one or isinstance(one["refused"], dict) else f"refused by Sley: {one['refused']}", flush=True)


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("sley")
    parser.add("--device", "cpu", choices=["cpu", "cuda"])
    parser.add("--seed", 1)
    parser.add("--graphs", 0, "drawn graphs; 0: 8, on a GPU 6")
    parser.add("--matrix", "", "these graphs instead of drawn ones, separated by blanks; cuda only")
    parser.add("--turns", 5)
    parser.add("--only", "", "operations, separated by commas")
    parser.add("--dtype", "f32", "of cuda", choices=["f32", "f16", "bf16"])
    parser.add("--seconds", math.inf, "no case is begun after so long")
    parser.add("--keep-memory", False, "cpu: let rivals keep the memory that they free", action="store_true")
    parser.add("--json", None, "write the results")
    o = parser.parse_args()
    parser.check(o)
    side = importlib.import_module("ops_gpu" if o.device == "cuda" else "ops_cpu")
    o.graphs = o.graphs or (6 if o.device == "cuda" else 8)
    begin, cases = time.monotonic(), []
    for name, module in side.MODULES.items():
        if not module:
            print(f"{name} is not installed: its rivals are left out")
    print(f"seed {o.seed}; {o.graphs} graphs, {o.turns} turns, {o.dtype}, {o.device}; ms, and greatest less least")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph" + side.ENDING)
        side.begin(o, path)
        for spec, shapes in side.draw(o, random.Random(o.seed)):
            common.generate(o.sley, spec, path, o.seed)
            graph = side.Graph(o, path)
            for op in parser.names("--only", o.only or ",".join(side.OPS), side.OPS):
                for k, heads in shapes(op):
                    if time.monotonic() - begin <= o.seconds:
                        cases.append({**side.measure(o, path, graph, op, k, heads), "graph": spec})
                        show(cases[-1], side)
            del graph
    means = [one for one in (summary(cases, op) for op in side.OPS) if one]
    for one in means:
        print(f"{one['op']}: {one['cases']} cases, geometric mean {one['geomean']:.2f}, worst {one['worst']:.2f} "
              f"({one['worst_graph']}, k = {one['worst_k']})")
    common.save(o.json, {"seed": o.seed, "turns": o.turns, **side.options(o), "means": means, "cases": cases}, o.device, **side.facts())


if __name__ == "__main__":
    if "--keep-memory" in sys.argv:
        importlib.import_module("ops_cpu").keep_memory()
    common.start(main)
