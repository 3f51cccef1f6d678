#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operations of graph networks: compares Sley with numpy, scipy, PyTorch and PyTorch Geometric, in one run.

Graphs and widths are drawn with a seed, which is printed. `sley generate` writes each graph to a file, which `sley bench ops
--json` and the rivals read. They run in turn: Sley's command, which checks its own results, then each rival. Medians over the
turns are compared; the ratio is how many times as fast as the fastest rival Sley is.

  sddmm      numpy's and scipy's expressions of one sum of products for each entry
  sum mean max   scipy's product, numpy's reduceat, PyTorch's index_add, scatter_reduce and sparse product
  gat gatv2  forward and backward: PyTorch Geometric's layer without its linear map, and PyTorch's operations; one head
             or several. Sley is given the scores' parts of GAT, which the layer makes of its vectors of weights.

Rivals that are not installed are left out, with a message. Rivals' results are compared with float64 sums or with each other.
Usage: ops.py SLEY [--seed N] [--graphs N] [--turns N] [--only WORDS] [--seconds S] [--keep-memory] [--out FILE.json]
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

# glibc gives large blocks back to the system when they are freed, and the next one's pages are made anew, which takes
# PyTorch most of its time once its temporaries have 32 MiB. --keep-memory measures without that.
KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(1 << 28)}
if "--keep-memory" in sys.argv and any(os.environ.get(name) != value for name, value in KEEP.items()):
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP})

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
THREADS = 2
warnings.filterwarnings("ignore", module="torch")
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, str(THREADS))

import numpy as np  # noqa: E402: reads the environment
import scipy.sparse  # noqa: E402
from tables.ops import summary  # noqa: E402

try:
    import torch
    torch.set_num_threads(THREADS)
except ImportError:
    torch = None
try:
    import torch_geometric
    from torch_geometric.nn import GATConv, GATv2Conv
except ImportError:
    torch_geometric = None

OPS = ["sddmm", "sum", "mean", "max", "gat", "gatv2"]
BLOCK = 1 << 18  # values in a block of gathered rows: as many as fit in a core's cache
DENSE = 6000     # largest number of rows for which a dense product with V^T is tried
SLOPE = 0.2
TURN_S = 0.02    # a rival's turn takes this long, or is one call


# ---- rivals: name -> function without arguments, which returns its result

def entry_rows(a):
    return np.repeat(np.arange(a.shape[0], dtype=np.int32), np.diff(a.indptr))


def blocks(nnz, k):
    step = max(1, BLOCK // k)
    return [slice(begin, min(begin + step, nnz)) for begin in range(0, nnz, step)]


def sddmm_rivals(a, k, rng):
    u, v = (rng.uniform(-1, 1, (n, k)).astype(np.float32) for n in a.shape)
    row, col, out = entry_rows(a), a.indices, np.empty(a.nnz, np.float32)
    pieces = blocks(a.nnz, k)
    room = [np.empty((pieces[0].stop, k), np.float32) for _ in range(2)]

    def in_blocks(reduce):
        def run():
            for at in pieces:
                out[at] = reduce(u[row[at]], v[col[at]])
            return out
        return run

    def taken():
        for at in pieces:
            x, y = (one[:at.stop - at.start] for one in room)
            np.take(u, row[at], axis=0, out=x, mode="clip")
            np.take(v, col[at], axis=0, out=y, mode="clip")
            np.einsum("ij,ij->i", x, y, out=out[at])
        return out

    def by_rows():
        begin = a.indptr
        for i in range(a.shape[0]):
            out[begin[i]:begin[i + 1]] = v[col[begin[i]:begin[i + 1]]] @ u[i]
        return out

    pattern = scipy.sparse.csr_matrix((np.ones(a.nnz, np.float32), a.indices, a.indptr), shape=a.shape)
    rivals = {"einsum": lambda: np.einsum("ij,ij->i", u[row], v[col]),
              "sum in blocks": in_blocks(lambda x, y: (x * y).sum(1)),
              "einsum in blocks": in_blocks(lambda x, y: np.einsum("ij,ij->i", x, y)),
              "matmul in blocks": in_blocks(lambda x, y: np.matmul(x[:, None, :], y[:, :, None])[:, 0, 0]),
              "take and einsum in blocks": taken,
              "product row by row": by_rows}
    if max(a.shape) <= DENSE:
        rivals["scipy multiply by U V^T"] = lambda: pattern.multiply(u @ v.T).tocsr().data
        rivals["entries of U V^T"] = lambda: (u @ v.T)[row, col]
    expected = np.einsum("ij,ij->i", u[row].astype(np.float64), v[col])
    return rivals, expected


def reduce_rivals(op, a, k, rng):
    x = rng.uniform(-1, 1, (a.shape[1], k)).astype(np.float32)
    row, col, rows = entry_rows(a), a.indices, a.shape[0]
    degree = np.diff(a.indptr)
    filled = np.flatnonzero(degree)
    whole = scipy.sparse.csr_matrix((np.ones(a.nnz, np.float32), a.indices, a.indptr), shape=a.shape)
    scale = (1 / np.maximum(degree, 1)).astype(np.float32)[:, None]

    def reduceat():
        out = np.zeros((rows, k), np.float32)
        out[filled] = np.maximum.reduceat(x[col], a.indptr[filled], axis=0)
        return out

    if op == "max":
        rivals = {"numpy reduceat": reduceat}
    elif op == "mean":
        rivals = {"scipy product, scaled": lambda: (whole @ x) * scale}
    else:
        val = rng.uniform(-1, 1, a.nnz).astype(np.float32)
        weighted = scipy.sparse.csr_matrix((val, a.indices, a.indptr), shape=a.shape)
        rivals = {"scipy product": lambda: weighted @ x}
    if torch:
        tx, trow, tcol = torch.from_numpy(x), torch.from_numpy(row).long(), torch.from_numpy(col).long()
        index = trow[:, None].expand(-1, k)
        name = {"sum": "sum", "mean": "mean", "max": "amax"}[op]
        if op == "sum":
            tval = torch.from_numpy(val)[:, None]
            warnings.simplefilter("ignore")  # the warning that sparse tensors are new
            sparse = torch.sparse_csr_tensor(torch.from_numpy(a.indptr).long(), tcol, tval[:, 0], a.shape)
            rivals["torch index_add"] = lambda: torch.zeros(rows, k).index_add_(0, trow, tx[tcol] * tval).numpy()
            rivals["torch sparse product"] = lambda: (sparse @ tx).numpy()
        else:
            rivals["torch scatter_reduce"] = lambda: torch.zeros(rows, k).scatter_reduce_(
                0, index, tx[tcol], name, include_self=False).numpy()
    if op == "max":
        return rivals, reduceat()
    expected = (weighted if op == "sum" else whole).astype(np.float64) @ x
    return rivals, expected if op == "sum" else expected * scale


def softmax_of_rows(score, row, rows):
    index = row[:, None].expand_as(score)
    most = torch.full((rows, score.shape[1]), -math.inf).scatter_reduce(0, index, score.detach(), "amax")
    weight = (score - most[row]).exp()
    return weight / torch.zeros(rows, score.shape[1]).index_add(0, row, weight)[row]


def attention_rivals(op, a, k, heads, rng):
    """Forward and backward; the result is Y and the gradient with respect to X."""
    if not torch:
        return {}, None
    n, width = a.shape[0], k // heads
    made = [torch.from_numpy(rng.uniform(-1, 1, shape).astype(np.float32))
            for shape in ((n, k), (n, k), (1, heads, width), (1, heads, width))]
    x, dy, first, second = made
    row, col = torch.from_numpy(entry_rows(a)).long(), torch.from_numpy(a.indices).long()
    leaky = torch.nn.functional.leaky_relu

    def step(forward, leaves):
        def run():
            for leaf in leaves:
                leaf.grad = None
            y = forward()
            y.backward(dy)
            return np.concatenate([y.detach().numpy(), leaves[0].grad.numpy()])
        return run

    xs = x.clone().requires_grad_()
    q, key = ((x.view(n, heads, width) * one).sum(-1).requires_grad_() for one in (first, second))
    att = second.clone().requires_grad_()

    def gat():
        weight = softmax_of_rows(leaky(q[row] + key[col], SLOPE), row, n)
        return torch.zeros(n, k).index_add(0, row, (weight[:, :, None] * xs.view(n, heads, width)[col]).flatten(1))

    def gatv2():
        v = xs.view(n, heads, width)[col]
        score = (leaky(queries.view(n, heads, width)[row] + v, SLOPE) * att).sum(-1)
        return torch.zeros(n, k).index_add(0, row, (softmax_of_rows(score, row, n)[:, :, None] * v).flatten(1))

    queries = x.clone().requires_grad_()
    leaves = [xs, q, key] if op == "gat" else [xs, queries, att]
    rivals = {"torch operations": step(gat if op == "gat" else gatv2, leaves)}
    if torch_geometric:
        conv = (GATConv if op == "gat" else GATv2Conv)(k, width, heads=heads, add_self_loops=False, bias=False,
                                                      negative_slope=SLOPE)
        px = x.clone().requires_grad_()
        with torch.no_grad():
            if op == "gat":
                conv.lin = torch.nn.Identity()
                conv.att_dst.copy_(first)
                conv.att_src.copy_(second)
            else:
                conv.lin_l = conv.lin_r = torch.nn.Identity()
                conv.att.copy_(second)
        edges = torch.stack([col, row])
        rivals["PyG " + type(conv).__name__] = step(lambda: conv(px, edges), [px, *conv.parameters()])
    return rivals, None


def check(name, got, expected, found):
    """Compares with float64 sums; attention, whose Y all rivals compute from the same X, with the first rival."""
    if expected is None:
        got = got[:len(got) // 2]
        expected = found.setdefault("first", got)
    error = float(np.max(np.abs(got - expected), initial=0))
    limit = 1e-3 * (1 + float(np.max(np.abs(expected), initial=0)))
    if not error <= limit:
        sys.exit(f"{name}: a rival's result is off by {error}: the comparison is not fair")


# ---- turns

def sley_times(args, path, op, k, heads):
    """Milliseconds of the forward and the backward pass."""
    command = [args.sley, "bench", "ops", "--matrix", path, "--ops", op, "--k", str(k), "--heads", str(heads),
               "--threads", str(THREADS), "--device", "cpu", "--repeat", "3", "--seed", str(args.seed), "--json", "-"]
    environment = {name: value for name, value in os.environ.items() if name not in KEEP}
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    if not result.stdout or result.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit {result.returncode}: {result.stderr[-500:]}")
    case = next(one for one in json.loads(result.stdout)["cases"] if one["op"] == op)
    if case["result"] == "wrong":
        sys.exit(f"{op}: Sley's result is wrong: {case['reason']}")
    if case["result"] != "ok":
        return None, case["reason"]
    return [one["median_ms"] for one in case["passes"]], None


def timed(function):
    function()
    calls, begin = 0, time.perf_counter()
    while calls == 0 or time.perf_counter() - begin < TURN_S:
        function()
        calls += 1
    return (time.perf_counter() - begin) / calls * 1e3


def spread(times):
    return max(times) - min(times)


def measure(args, path, a, op, k, heads):
    rng = np.random.default_rng(args.seed)
    if op == "sddmm":
        rivals, expected = sddmm_rivals(a, k, rng)
    elif op in ("gat", "gatv2"):
        rivals, expected = attention_rivals(op, a, k, heads, rng)
    else:
        rivals, expected = reduce_rivals(op, a, k, rng)
    found = {}
    for name, function in rivals.items():
        check(f"{op}: {name}", function(), expected, found)
    times, own = {name: [] for name in rivals}, []
    for turn in range(args.turns):
        passes, reason = sley_times(args, path, op, k, heads)
        if reason:
            return {"op": op, "refused": reason}
        own.append(sum(passes) if op in ("gat", "gatv2") else passes[0])
        slow = min((min(t) for t in times.values() if t), default=math.inf) * 4
        for name, function in rivals.items():
            if not times[name] or min(times[name]) < slow:
                times[name].append(timed(function))
    medians = {name: statistics.median(t) for name, t in times.items()}
    best = min(medians, key=medians.get) if medians else None
    return {"op": op, "rows": a.shape[0], "nnz": int(a.nnz), "k": k, "heads": heads, "sley_ms": statistics.median(own),
            "sley_spread_ms": spread(own), "rivals_ms": medians, "best": best,
            "best_spread_ms": spread(times[best]) if best else None,
            "ratio": medians[best] / statistics.median(own) if best else None}


# ---- random cases

def draw(random_, number):
    graphs = []
    for _ in range(number):
        kind = random_.choice(["rmat", "er", "twin"])
        if kind == "rmat":
            spec = f"rmat:scale={random_.randint(11, 14)},edgefactor={random_.randint(4, 16)}"
        elif kind == "er":
            n = int(2 ** random_.uniform(10, 14.5))
            spec = f"er:n={n},nnz={int(n * random_.uniform(4, 24))}"
        else:
            name, largest = random_.choice([("cyt", 0.05), ("cok", 0.0015), ("prd", 0.003), ("clj", 0.005)])
            spec = f"twin:{name}:scale={largest * random_.uniform(0.3, 1):.6f}"
        heads = random_.choice([1, 2, 4, 8])
        k = 8 * max(1, round(2 ** random_.uniform(1, 5)))
        graphs.append((spec, k, heads))
    return graphs


def versions():
    text = subprocess.run([sys.executable, os.path.join(HERE, "machine.py")], cwd=HERE, stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    found = json.loads(text)
    found.update(torch=torch.__version__ if torch else None,
                 torch_geometric=torch_geometric.__version__ if torch_geometric else None, threads=THREADS)
    return found


def print_case(one):
    if "refused" in one:
        print(f"{one['graph']:32} {one['op']:6} refused by Sley: {one['refused']}")
    elif one["best"] is None:
        print(f"{one['graph']:32} {one['op']:6} {one['sley_ms']:9.3f} ms; no rival is installed")
    else:
        print(f"{one['graph']:32} {one['nnz']:9} {one['k']:4} {one['heads']:2} {one['op']:6} {one['sley_ms']:9.3f} "
              f"{one['sley_spread_ms']:8.3f} {one['rivals_ms'][one['best']]:10.3f} {one['best_spread_ms']:8.3f} "
              f"{one['ratio']:7.2f}  {one['best']}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sley")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graphs", type=int, default=8)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default=",".join(OPS), help="operations, separated by commas")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no case is begun after so long")
    parser.add_argument("--keep-memory", action="store_true", help="let rivals keep the memory that they free")
    parser.add_argument("--out", help="write the results as JSON")
    args = parser.parse_args()
    begin, cases = time.monotonic(), []
    for name, module in (("torch", torch), ("torch_geometric", torch_geometric)):
        if not module:
            print(f"{name} is not installed: its rivals are left out")
    print(f"seed {args.seed}; {args.graphs} graphs, {args.turns} turns, {THREADS} threads, f32; ms, and greatest less "
          "least")
    print(f"{'graph':32} {'entries':>9} {'k':>4} {'h':>2} {'op':6} {'sley':>9} {'spread':>8} {'rival':>10} "
          f"{'spread':>8} {'ratio':>7}  rival")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.npz")
        for spec, k, heads in draw(random.Random(args.seed), args.graphs):
            subprocess.run([args.sley, "generate", spec, "-o", path, "--seed", str(args.seed)], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            a = scipy.sparse.csr_matrix(scipy.sparse.load_npz(path))
            a.indices, a.indptr = a.indices.astype(np.int32), a.indptr.astype(np.int32)
            for op in args.only.split(","):
                if time.monotonic() - begin > args.seconds:
                    continue
                one = measure(args, path, a, op, k, heads if op in ("gat", "gatv2") else 1)
                one["graph"] = spec
                cases.append(one)
                print_case(one)
    means = [one for one in (summary(cases, op) for op in OPS) if one]
    for one in means:
        print(f"{one['op']}: {one['cases']} cases, geometric mean {one['geomean']:.2f}, worst {one['worst']:.2f} "
              f"({one['worst_graph']}, k = {one['worst_k']})")
    if args.out:
        with open(args.out, "w") as stream:
            json.dump({"machine": versions(), "seed": args.seed, "turns": args.turns, "keep_memory": args.keep_memory,
                       "means": means, "cases": cases}, stream, indent=1)
            stream.write("\n")


main()
