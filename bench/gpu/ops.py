#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operations of graph networks on one GPU: compares Sley with cuSPARSE, PyTorch, PyTorch Geometric and turbo-gnn, in one run.

Graphs and widths are drawn with a seed, which is printed. `sley generate` writes each graph to a file, which `sley bench ops
--json` and the rivals read. They run in turn: Sley's command, which checks its own results, then each rival. Medians are
compared; the ratio is how many times as fast as the fastest rival Sley is.

  sddmm      forward: cuSPARSE, both layouts of V
  max        forward and backward: PyTorch's scatter_reduce, turbo-gnn
  gat        forward and backward, 1 and 8 heads of 16: PyTorch Geometric's layer without its linear map
  gatv2      forward and backward, 1 head of 64: PyTorch Geometric's layer, turbo-gnn

Rivals that are not installed, or do not run, are left out, with a message. Memory includes the graph and the operands: for a
rival the most that PyTorch had allocated for it; for Sley the device memory in use while its command ran, less the use for a
graph of 500 entries, which is the CUDA context.
Usage: ops.py SLEY [--seed N] [--graphs N] [--matrix SPECS] [--turns N] [--only WORDS] [--dtype TYPE] [--seconds S]
              [--json FILE]
"""
import argparse
import ctypes
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

try:
    import torch_geometric
    from torch_geometric.nn import GATConv, GATv2Conv
except ImportError:
    torch_geometric = None
try:
    import turbo_gnn
except ImportError:
    turbo_gnn = None

warnings.simplefilter("ignore")  # turbo-gnn warns about numbers of threads
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import sley_file  # noqa: E402
from memory_watch import MemoryWatch  # noqa: E402
from tables.ops import summary  # noqa: E402
OPS = ["sddmm", "max", "gat", "gatv2"]
DTYPES = {"f32": (torch.float32, 0), "f16": (torch.float16, 2), "bf16": (torch.bfloat16, 14)}  # and cudaDataType
INDEX_32, BASE_0, ROW_ORDER, COL_ORDER, SUMS_F32 = 2, 0, 2, 1, 0  # constants of cusparse.h and library_types.h
SLOPE = 0.2
TURN_S = 0.03  # a rival's turn takes about this long, or is one call
MIB = 1 << 20


class CannotRun(Exception):
    pass


# ---- cuSPARSE's SDDMM, by its C interface

class CusparseSddmm:
    def __init__(self, graph, u, v, column_major):
        self.lib = ctypes.CDLL(find_cusparse())
        self.handle, self.a, self.b, self.c = (ctypes.c_void_p() for _ in range(4))
        self.alpha, self.beta = ctypes.c_float(1), ctypes.c_float(0)
        kind, (rows, k), cols = DTYPES[graph.dtype_name][1], u.shape, v.shape[0]
        self.out = torch.zeros(graph.nnz, dtype=u.dtype, device="cuda")
        self.keep = u, v, graph
        self.call("cusparseCreate", ctypes.byref(self.handle))
        self.dense(self.a, rows, k, k, u, kind, ROW_ORDER)
        # V^T, k x n: a row-major V is a column-major V^T
        if column_major:
            self.dense(self.b, k, cols, k, v, kind, COL_ORDER)
        else:
            self.dense(self.b, cols, k, k, v, kind, ROW_ORDER)
        self.transpose = 0 if column_major else 1
        self.call("cusparseCreateCsr", ctypes.byref(self.c), ctypes.c_int64(rows), ctypes.c_int64(cols),
                  ctypes.c_int64(graph.nnz), pointer(graph.rowptr32), pointer(graph.col), pointer(self.out), INDEX_32,
                  INDEX_32, BASE_0, kind)
        size = ctypes.c_size_t()
        self.call("cusparseSDDMM_bufferSize", *self.arguments(), ctypes.byref(size))
        self.buffer = torch.empty(max(1, size.value), dtype=torch.uint8, device="cuda")
        self.call("cusparseSDDMM_preprocess", *self.arguments(), pointer(self.buffer))

    def call(self, name, *arguments):
        status = getattr(self.lib, name)(*arguments)
        if status != 0:
            raise CannotRun(f"{name} returns {status}")

    def dense(self, to, rows, cols, ld, values, kind, order):
        self.call("cusparseCreateDnMat", ctypes.byref(to), ctypes.c_int64(rows), ctypes.c_int64(cols),
                  ctypes.c_int64(ld), pointer(values), kind, order)

    def arguments(self):
        return (self.handle, 0, self.transpose, ctypes.byref(self.alpha), self.a, self.b, ctypes.byref(self.beta),
                self.c, SUMS_F32, 0)

    def __call__(self):
        stream = torch.cuda.current_stream().cuda_stream
        self.call("cusparseSetStream", self.handle, ctypes.c_void_p(stream))
        self.call("cusparseSDDMM", *self.arguments(), pointer(self.buffer))
        return self.out


def find_cusparse():
    with open("/proc/self/maps") as maps:  # the library that PyTorch has loaded
        for line in maps:
            if "libcusparse.so" in line:
                return line.split()[-1]
    return "libcusparse.so"


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


# ---- graphs

class Graph:
    """A .sley file on the device."""

    def __init__(self, path, dtype_name):
        self.rows, self.cols, rowptr, col = sley_file.read(path)
        self.nnz, self.dtype_name, self.dtype = col.size, dtype_name, DTYPES[dtype_name][0]
        self.rowptr = torch.from_numpy(rowptr).cuda()
        self.rowptr32 = self.rowptr.int()
        self.col = torch.from_numpy(col.astype(np.int32, copy=False)).cuda()
        self.turbo = None

    def csr_mib(self):
        return (self.rowptr32.nbytes + self.col.nbytes) / MIB

    def entry_rows(self):
        return torch.repeat_interleave(torch.arange(self.rows, device="cuda"), self.rowptr.diff())

    def values(self, rows, *width):
        return (torch.rand(rows, *width, device="cuda") * 2 - 1).to(self.dtype)

    def for_turbo(self):
        if self.turbo is None:
            row = self.entry_rows().int()
            order = torch.argsort(self.col, stable=True)
            begin = torch.zeros(self.cols + 1, dtype=torch.int64, device="cuda")
            begin[1:] = torch.bincount(self.col, minlength=self.cols).cumsum(0)
            self.turbo = turbo_gnn.AdjacencyForwardBackwardWithNodeBuckets.from_csr(
                self.rowptr32, self.col, begin.int(), row[order].contiguous()).to("cuda")
        return self.turbo


# ---- rivals: name -> function that returns a function without arguments, which returns its result

def sddmm_rivals(graph, k, _):
    u, v = graph.values(graph.rows, k), graph.values(graph.cols, k)

    def expected():
        row = graph.entry_rows()[:100000]
        return (u[row].double() * v[graph.col[:len(row)].long()].double()).sum(1)

    return {"cusparse": lambda: CusparseSddmm(graph, u, v, False),
            "cusparse, column-major": lambda: CusparseSddmm(graph, u, v, True)}, expected


def stepping(forward, dy, leaves):
    """A step forward and backward."""
    def run():
        for leaf in leaves:
            leaf.grad = None
        y = forward()
        y.backward(dy)
        return y.detach()
    return run


def max_rivals(graph, k, _):
    x, dy = graph.values(graph.cols, k).requires_grad_(), graph.values(graph.rows, k)

    def scatter():
        row, col = graph.entry_rows(), graph.col.long()
        index = row[:, None].expand(-1, k)
        return stepping(lambda: torch.zeros(graph.rows, k, dtype=x.dtype, device="cuda").scatter_reduce(
            0, index, x[col], "amax", include_self=False), dy, [x])

    def turbo():
        adjacency = graph.for_turbo()
        return stepping(lambda: turbo_gnn.reduction_aggr(adjacency, x, reduce="max"), dy, [x])

    rivals = {"torch scatter_reduce": scatter}
    if turbo_gnn and graph.rows == graph.cols:
        rivals["turbo-gnn"] = turbo
    return rivals, None


def layer(graph, kind, heads, width, x, dy):
    conv = kind(heads * width, width, heads=heads, add_self_loops=False, bias=False, negative_slope=SLOPE)
    if kind is GATConv:
        conv.lin = torch.nn.Identity()
    else:
        conv.lin_l = conv.lin_r = torch.nn.Identity()
    conv = conv.cuda().to(graph.dtype)
    edges = torch.stack([graph.col.long(), graph.entry_rows()])
    return stepping(lambda: conv(x, edges), dy, [x, *conv.parameters()])


def gat_rivals(graph, k, heads):
    x, dy = graph.values(graph.cols, k).requires_grad_(), graph.values(graph.rows, k)
    square = torch_geometric and graph.rows == graph.cols
    return {"PyG GATConv": lambda: layer(graph, GATConv, heads, k // heads, x, dy)} if square else {}, None


def gatv2_rivals(graph, k, heads):
    x, q = (graph.values(graph.cols, k).requires_grad_() for _ in range(2))
    dy, att = graph.values(graph.rows, k), graph.values(heads, k // heads).requires_grad_()
    rivals = {}
    if torch_geometric and graph.rows == graph.cols:
        rivals["PyG GATv2Conv"] = lambda: layer(graph, GATv2Conv, heads, k // heads, x, dy)
    if turbo_gnn and graph.rows == graph.cols:
        def turbo():
            adjacency = graph.for_turbo()
            return stepping(lambda: turbo_gnn.gatv2_aggr(
                adjacency, q.view(-1, heads, k // heads), x.view(-1, heads, k // heads), att,
                negative_slope=SLOPE).view(-1, k), dy, [x, q, att])
        rivals["turbo-gnn"] = turbo
    return rivals, None


RIVALS = {"sddmm": sddmm_rivals, "max": max_rivals, "gat": gat_rivals, "gatv2": gatv2_rivals}


# ---- turns

def sley_case(args, path, op, k, heads, repeat):
    """Milliseconds of each pass, and MiB used."""
    command = [args.sley, "bench", "ops", "--matrix", path, "--ops", op, "--k", str(k), "--heads", str(heads),
               "--device", "cuda", "--dtype", args.dtype, "--repeat", str(repeat), "--seed", str(args.seed), "--json", "-", "--alone"]
    with MemoryWatch(0.005) as memory:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not result.stdout or result.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit {result.returncode}: {result.stderr[-500:]}")
    cases = json.loads(result.stdout)["cases"]
    case = next(one for one in cases if one["op"] == op)
    if case["result"] != "ok":
        sys.exit(f"{op}, k = {k}: Sley's result is {case['result']}: {case['reason']}")
    return [one["median_ms"] for one in case["passes"]], memory.taken / MIB - args.context_mib


def timed(function):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    calls = 1
    while True:
        begin.record()
        for _ in range(calls):
            function()
        end.record()
        torch.cuda.synchronize()
        ms = begin.elapsed_time(end)
        if ms >= TURN_S * 500 or calls > 200:
            return ms / calls
        calls = max(calls + 1, int(calls * TURN_S * 1000 / max(ms, 0.01)))


def clear():
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def measure_rival(make, turns, expected, before):
    """Times of turns, and MiB allocated beyond the `before` bytes."""
    clear()
    try:
        function = make()
        result = function()
        torch.cuda.synchronize()
        if expected is not None:
            wanted = expected()
            error = float((result[:len(wanted)].double() - wanted).abs().max())
            if not error <= 0.02 * (1 + float(wanted.abs().max())):
                raise CannotRun(f"its result is off by {error}")
        memory = (torch.cuda.max_memory_allocated() - before) / MIB
        return [timed(function) for _ in range(turns)], memory
    except torch.cuda.OutOfMemoryError as error:
        raise CannotRun("out of memory") from error
    except (RuntimeError, TypeError, AssertionError) as error:
        raise CannotRun(str(error).splitlines()[0][:120]) from error


def measure(args, path, graph, op, k, heads):
    graph.turbo = None
    clear()
    before = torch.cuda.memory_allocated()
    rivals, expected = RIVALS[op](graph, k, heads)
    one = {"op": op, "rows": graph.rows, "nnz": graph.nnz, "k": k, "heads": heads, "rivals": {}, "refused": {}}
    own = []
    for turn in range(2):
        clear()
        passes, memory = sley_case(args, path, op, k, heads, args.turns)
        own.append(passes[0] if op == "sddmm" else sum(passes))
        if turn == 0:
            for name, make in rivals.items():
                try:
                    times, mib = measure_rival(make, args.turns, expected, before)
                    if name.startswith("cusparse"):  # it uses the graph as loaded
                        mib += graph.csr_mib()
                    one["rivals"][name] = {"ms": statistics.median(times), "spread_ms": max(times) - min(times), "mib": mib}
                except CannotRun as error:
                    one["refused"][name] = str(error)
    one["sley"] = {"ms": statistics.median(own), "spread_ms": max(own) - min(own), "mib": memory, "passes_ms": passes}
    if one["rivals"]:
        one["best"] = min(one["rivals"], key=lambda name: one["rivals"][name]["ms"])
        one["ratio"] = one["rivals"][one["best"]]["ms"] / one["sley"]["ms"]
    return one


# ---- random cases

def draw(random_, number):
    specs = []
    for _ in range(number):
        kind = random_.choice(["rmat", "er", "twin", "twin"])
        if kind == "rmat":
            specs.append(f"rmat:scale={random_.randint(16, 20)},edgefactor={random_.randint(6, 20)}")
        elif kind == "er":
            n = int(2 ** random_.uniform(16, 20))
            specs.append(f"er:n={n},nnz={int(n * random_.uniform(4, 24))}")
        else:
            name, largest = random_.choice([("cyt", 1), ("prd", 0.4), ("clj", 0.4), ("cok", 0.1)])
            specs.append(f"twin:{name}:scale={largest * random_.uniform(0.2, 1):.4f}")
    return specs


def widths(random_, op):
    if op in ("sddmm", "max"):
        return [(random_.choice([32, 40, 64, 96, 100, 128, 192, 256]) if op == "sddmm"
                 else random_.choice([32, 64, 100, 128]), 1)]
    return [(16, 1), (128, 8)] if op == "gat" else [(64, 1)]


def print_case(one):
    sley = one["sley"]
    print(f"{one['graph']:34} {one['nnz']:9} {one['k']:4} {one['heads']:2} {one['op']:6} {sley['ms']:9.3f} "
          f"{sley['spread_ms']:7.3f} {sley['mib']:7.0f}", end="")
    if "ratio" in one:
        best = one["rivals"][one["best"]]
        print(f" {best['ms']:9.3f} {best['spread_ms']:7.3f} {best['mib']:7.0f} {one['ratio']:7.2f}  {one['best']}", end="")
    others = [f"{name} {rival['ms']:.3f} ms {rival['mib']:.0f} MiB" for name, rival in one["rivals"].items()
              if name != one.get("best")]
    others += [f"{name}: {reason}" for name, reason in one["refused"].items()]
    print(f"  ({'; '.join(others)})" if others else "", flush=True)


def generate(args, spec, path):
    result = subprocess.run([args.sley, "generate", spec, "-o", path, "--dtype", "f32", "--seed", str(args.seed)],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(result.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sley")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graphs", type=int, default=6)
    parser.add_argument("--matrix", default="", help="these graphs instead of drawn ones, separated by blanks")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default=",".join(OPS), help="operations, separated by commas")
    parser.add_argument("--dtype", default="f32", choices=DTYPES)
    parser.add_argument("--seconds", type=float, default=math.inf, help="no case is begun after so long")
    parser.add_argument("--json", help="write the results as JSON")
    args = parser.parse_args()
    begin, cases, random_ = time.monotonic(), [], random.Random(args.seed)
    for name, module in (("torch_geometric", torch_geometric), ("turbo_gnn", turbo_gnn)):
        if not module:
            print(f"{name} is not installed: its rivals are left out")
    machine = json.loads(subprocess.run([sys.executable, os.path.join(HERE, "machine.py")], stdout=subprocess.PIPE,
                                        text=True, check=True).stdout)
    machine.update(torch=torch.__version__, torch_geometric=torch_geometric and torch_geometric.__version__)
    print(f"{machine['gpu']}; seed {args.seed}, {args.turns} turns, {args.dtype}; ms, greatest less least, MiB")
    print(f"{'graph':34} {'entries':>9} {'k':>4} {'h':>2} {'op':6} {'sley':>9} {'spread':>7} {'MiB':>7} "
          f"{'rival':>9} {'spread':>7} {'MiB':>7} {'ratio':>7}  rival")
    specs = args.matrix.split() or draw(random_, args.graphs)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.sley")
        generate(args, "er:n=100,nnz=500", path)
        args.context_mib = 0
        args.context_mib = sley_case(args, path, "sddmm", 16, 1, 1)[1]
        for spec in specs:
            generate(args, spec, path)
            graph = Graph(path, args.dtype)
            for op in args.only.split(","):
                for k, heads in widths(random_, op):
                    if time.monotonic() - begin > args.seconds:
                        continue
                    one = measure(args, path, graph, op, k, heads)
                    one["graph"] = spec
                    cases.append(one)
                    print_case(one)
            del graph
    means = [one for one in (summary(cases, op) for op in OPS) if one]
    for one in means:
        print(f"{one['op']}: {one['cases']} cases, geometric mean {one['geomean']:.2f}, worst {one['worst']:.2f} "
              f"({one['worst_graph']}, k = {one['worst_k']})")
    if args.json:
        with open(args.json, "w") as stream:
            json.dump({"machine": machine, "seed": args.seed, "turns": args.turns, "dtype": args.dtype, "means": means,
                       "cases": cases}, stream, indent=1)
            stream.write("\n")


main()
