# SPDX-License-Identifier: Apache-2.0
"""The processors' side of bench/ops.py: rivals of numpy, scipy, PyTorch and PyTorch Geometric."""
import math
import os
import statistics
import sys
import time
import warnings

# glibc gives large blocks back to the system when they are freed, and the next one's pages are made anew, which takes PyTorch most of
# its time once its temporaries have 32 MiB. --keep-memory measures without that.
KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(1 << 28)}
THREADS = 2
warnings.filterwarnings("ignore", module="torch")
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, str(THREADS))

import numpy as np  # noqa: E402: reads the environment
import scipy.sparse  # noqa: E402

import common  # noqa: E402
import ops  # noqa: E402

try:
    import torch
    import torch_side
    torch.set_num_threads(THREADS)
except ImportError:
    torch = torch_side = None

MODULES = {"torch": torch, "torch_geometric": torch_side and torch_side.pyg}
OPS = ["sddmm", "sum", "mean", "max", "gat", "gatv2"]
ENDING = ".npz"
BLOCK = 1 << 18  # values in a block of gathered rows: as many as fit in a core's cache
DENSE = 6000     # largest number of rows for which a dense product with V^T is tried
SLOPE = 0.2
TURN_S = 0.02    # a rival's turn takes this long, or is one call


def keep_memory():
    """Starts the script anew with glibc's settings, unless it has them."""
    if any(os.environ.get(name) != value for name, value in KEEP.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP})


def begin(o, path):
    pass


def Graph(o, path):
    a = scipy.sparse.csr_matrix(scipy.sparse.load_npz(path))
    a.data, a.indices, a.indptr = a.data.astype(np.float32), a.indices.astype(np.int32), a.indptr.astype(np.int32)
    return a


def options(o):
    return {"keep_memory": o.keep_memory}


def facts():
    return {**(torch_side.versions() if torch else {"torch": None, "torch_geometric": None}), "threads": THREADS}


# ---- rivals: name -> function without arguments, which returns its result

def entry_rows(a):
    return np.repeat(np.arange(a.shape[0], dtype=np.int32), np.diff(a.indptr))


def sddmm_rivals(a, k, rng):
    u, v = (rng.uniform(-1, 1, (n, k)).astype(np.float32) for n in a.shape)
    row, col, out, long = entry_rows(a), a.indices, np.empty(a.nnz, np.float32), max(1, BLOCK // k)
    pieces = [slice(first, min(first + long, a.nnz)) for first in range(0, a.nnz, long)]
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
        first = a.indptr
        for i in range(a.shape[0]):
            out[first[i]:first[i + 1]] = v[col[first[i]:first[i + 1]]] @ u[i]
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
    return rivals, np.einsum("ij,ij->i", u[row].astype(np.float64), v[col])


def reduce_rivals(op, a, k, rng):
    x = rng.uniform(-1, 1, (a.shape[1], k)).astype(np.float32)
    val = rng.uniform(-1, 1, a.nnz).astype(np.float32) if op == "sum" else np.ones(a.nnz, np.float32)
    row, rows, degree = entry_rows(a), a.shape[0], np.diff(a.indptr)
    filled, whole = np.flatnonzero(degree), scipy.sparse.csr_matrix((val, a.indices, a.indptr), shape=a.shape)
    scale = (1 / np.maximum(degree, 1)).astype(np.float32)[:, None]

    def reduceat():
        out = np.zeros((rows, k), np.float32)
        out[filled] = np.maximum.reduceat(x[a.indices], a.indptr[filled], axis=0)
        return out

    rivals = {"max": {"numpy reduceat": reduceat}, "mean": {"scipy product, scaled": lambda: (whole @ x) * scale},
              "sum": {"scipy product": lambda: whole @ x}}[op]
    if torch:
        tx, trow, tcol = torch.from_numpy(x), torch.from_numpy(row).long(), torch.from_numpy(a.indices).long()
        if op == "sum":
            tval = torch.from_numpy(val)[:, None]
            warnings.simplefilter("ignore")  # the warning that sparse tensors are new
            sparse = torch.sparse_csr_tensor(torch.from_numpy(a.indptr).long(), tcol, tval[:, 0], a.shape)
            rivals["torch index_add"] = lambda: torch.zeros(rows, k).index_add_(0, trow, tx[tcol] * tval).numpy()
            rivals["torch sparse product"] = lambda: (sparse @ tx).numpy()
        else:
            name, index = {"mean": "mean", "max": "amax"}[op], trow[:, None].expand(-1, k)
            rivals["torch scatter_reduce"] = lambda: torch.zeros(rows, k).scatter_reduce_(0, index, tx[tcol], name, include_self=False).numpy()
    if op == "max":
        return rivals, reduceat()
    expected = whole.astype(np.float64) @ x
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
    x, dy, first, second = (torch.from_numpy(rng.uniform(-1, 1, shape).astype(np.float32))
                            for shape in ((n, k), (n, k), (1, heads, width), (1, heads, width)))
    row, col = torch.from_numpy(entry_rows(a)).long(), torch.from_numpy(a.indices).long()
    leaky = torch.nn.functional.leaky_relu

    def step(forward, leaves):
        return torch_side.step(forward, dy, leaves, lambda y: np.concatenate([y.detach().numpy(), leaves[0].grad.numpy()]))

    xs, queries, att = x.clone().requires_grad_(), x.clone().requires_grad_(), second.clone().requires_grad_()
    q, key = ((x.view(n, heads, width) * one).sum(-1).requires_grad_() for one in (first, second))

    def gat():
        weight = softmax_of_rows(leaky(q[row] + key[col], SLOPE), row, n)
        return torch.zeros(n, k).index_add(0, row, (weight[:, :, None] * xs.view(n, heads, width)[col]).flatten(1))

    def gatv2():
        v = xs.view(n, heads, width)[col]
        score = (leaky(queries.view(n, heads, width)[row] + v, SLOPE) * att).sum(-1)
        return torch.zeros(n, k).index_add(0, row, (softmax_of_rows(score, row, n)[:, :, None] * v).flatten(1))

    rivals = {"torch operations": step(*((gat, [xs, q, key]) if op == "gat" else (gatv2, [xs, queries, att])))}
    if torch_side.pyg:
        conv, px = torch_side.attention(op, width, heads, SLOPE), x.clone().requires_grad_()
        with torch.no_grad():
            if op == "gat":
                conv.att_dst.copy_(first)
                conv.att_src.copy_(second)
            else:
                conv.att.copy_(second)
        edges = torch.stack([col, row])
        rivals["PyG " + type(conv).__name__] = step(lambda: conv(px, edges), [px, *conv.parameters()])
    return rivals, None


# ---- turns

def check(name, got, expected, found):
    """Compares with float64 sums; attention, whose Y all rivals compute from the same X, with the first rival."""
    if expected is None:
        got = got[:len(got) // 2]
        expected = found.setdefault("first", got)
    error = float(np.max(np.abs(got - expected), initial=0))
    if not error <= 1e-3 * (1 + float(np.max(np.abs(expected), initial=0))):
        raise common.Failed(f"{name}: a rival's result is off by {error}: the comparison is not fair")


def timed(function):
    function()
    calls, start = 0, time.perf_counter()
    while calls == 0 or time.perf_counter() - start < TURN_S:
        function()
        calls += 1
    return (time.perf_counter() - start) / calls * 1e3


def measure(o, path, a, op, k, heads):
    rng, found = np.random.default_rng(o.seed), {}
    heads = heads if op in ("gat", "gatv2") else 1
    rivals, expected = (sddmm_rivals(a, k, rng) if op == "sddmm" else attention_rivals(op, a, k, heads, rng) if op in ("gat", "gatv2")
                        else reduce_rivals(op, a, k, rng))
    for name, function in rivals.items():
        check(f"{op}: {name}", function(), expected, found)
    times, own = {name: [] for name in rivals}, []
    for _ in range(o.turns):
        passes, reason = ops.sley_passes(o, path, op, k, heads, 3, "--threads", THREADS, without=KEEP)
        if reason:
            return {"op": op, "refused": reason}
        own.append(sum(passes) if op in ("gat", "gatv2") else passes[0])
        slow = min((min(t) for t in times.values() if t), default=math.inf) * 4
        for name, function in rivals.items():
            if not times[name] or min(times[name]) < slow:
                times[name].append(timed(function))
    medians = {name: statistics.median(t) for name, t in times.items()}
    best, ms = min(medians, key=medians.get, default=None), statistics.median(own)
    return {"op": op, "rows": a.shape[0], "nnz": int(a.nnz), "k": k, "heads": heads, "sley_ms": ms, "sley_spread_ms": max(own) - min(own),
            "rivals_ms": medians, "best": best, "best_spread_ms": max(times[best]) - min(times[best]) if best else None,
            "ratio": medians[best] / ms if best else None}


def words(one):
    text = f"{one['sley_ms']:9.3f} {one['sley_spread_ms']:8.3f}"
    if one["best"]:
        text += f" {one['rivals_ms'][one['best']]:10.3f} {one['best_spread_ms']:8.3f} {one['ratio']:7.2f}  {one['best']}"
    return text


def draw(o, random_):
    """Graphs, each with a function that returns the (k, heads) for an operation."""
    graphs = []
    for _ in range(o.graphs):
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
        graphs.append((spec, lambda op, shape=(k, heads): [shape]))
    return graphs
