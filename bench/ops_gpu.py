# SPDX-License-Identifier: Apache-2.0
"""The GPU's side of bench/ops.py: rivals of cuSPARSE, PyTorch, PyTorch Geometric and turbo-gnn."""
import ctypes
import statistics
import warnings

import numpy as np
import torch

import common
import ops
import torch_side
from rivals import Library
from torch_side import MIB

try:
    import turbo_gnn
except ImportError:
    turbo_gnn = None

warnings.simplefilter("ignore")  # turbo-gnn warns about numbers of threads
MODULES = {"torch_geometric": torch_side.pyg, "turbo_gnn": turbo_gnn}
OPS = ["sddmm", "max", "gat", "gatv2"]
ENDING = ".sley"
DTYPES = {"f32": (torch.float32, 0), "f16": (torch.float16, 2), "bf16": (torch.bfloat16, 14)}  # and cudaDataType
INDEX_32, BASE_0, ROW_ORDER, COL_ORDER, SUMS_F32 = 2, 0, 2, 1, 0  # constants of cusparse.h and library_types.h
SLOPE = 0.2
TURN_S = 0.03  # a rival's turn takes about this long, or is one call


class CannotRun(Exception):
    pass


def options(o):
    return {"dtype": o.dtype}


facts = torch_side.versions


def begin(o, path):
    """Finds the memory of the smallest run: the CUDA context and the kernels."""
    common.generate(o.sley, "er:n=100,nnz=500", path, o.seed)
    o.context_mib = 0
    o.context_mib = sley_case(o, path, "sddmm", 16, 1, 1)[1]


class Graph:
    """A .sley file on the device."""

    def __init__(self, o, path):
        self.rows, self.cols, rowptr, col = common.read_pattern(path)
        self.nnz, (self.dtype, self.cuda_type), self.turbo = col.size, DTYPES[o.dtype], None
        self.rowptr = torch.from_numpy(rowptr).cuda()
        self.rowptr32 = self.rowptr.int()
        self.col = torch.from_numpy(col.astype(np.int32, copy=False)).cuda()

    def entry_rows(self):
        return torch.repeat_interleave(torch.arange(self.rows, device="cuda"), self.rowptr.diff())

    def values(self, rows, *width):
        return (torch.rand(rows, *width, device="cuda") * 2 - 1).to(self.dtype)

    def for_turbo(self):
        if self.turbo is None:
            row, order = self.entry_rows().int(), torch.argsort(self.col, stable=True)
            first = torch.zeros(self.cols + 1, dtype=torch.int64, device="cuda")
            first[1:] = torch.bincount(self.col, minlength=self.cols).cumsum(0)
            self.turbo = turbo_gnn.AdjacencyForwardBackwardWithNodeBuckets.from_csr(
                self.rowptr32, self.col, first.int(), row[order].contiguous()).to("cuda")
        return self.turbo


# ---- cuSPARSE's SDDMM, by its C interface

def find_cusparse():
    with open("/proc/self/maps", encoding="utf-8") as maps:  # the library that PyTorch has loaded
        return next((line.split()[-1] for line in maps if "libcusparse.so" in line), "libcusparse.so")


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class CusparseSddmm(Library):
    def __init__(self, graph, u, v, column_major):
        super().__init__(find_cusparse())
        self.handle, self.a, self.b, self.c = (ctypes.c_void_p() for _ in range(4))
        self.alpha, self.beta = ctypes.c_float(1), ctypes.c_float(0)
        self.kind, (rows, k), cols = graph.cuda_type, u.shape, v.shape[0]
        self.out = torch.zeros(graph.nnz, dtype=u.dtype, device="cuda")
        self.keep = u, v, graph
        self.call("cusparseCreate", ctypes.byref(self.handle))
        self.dense(self.a, rows, k, k, u, ROW_ORDER)
        # V^T, k x n: a row-major V is a column-major V^T
        self.dense(self.b, *((k, cols) if column_major else (cols, k)), k, v, COL_ORDER if column_major else ROW_ORDER)
        self.transpose = 0 if column_major else 1
        self.call("cusparseCreateCsr", ctypes.byref(self.c), *map(ctypes.c_int64, (rows, cols, graph.nnz)), pointer(graph.rowptr32), pointer(graph.col),
                  pointer(self.out), INDEX_32, INDEX_32, BASE_0, self.kind)
        size = ctypes.c_size_t()
        self.call("cusparseSDDMM_bufferSize", *self.arguments(), ctypes.byref(size))
        self.buffer = torch.empty(max(1, size.value), dtype=torch.uint8, device="cuda")
        self.call("cusparseSDDMM_preprocess", *self.arguments(), pointer(self.buffer))

    def dense(self, to, rows, cols, ld, values, order):
        self.call("cusparseCreateDnMat", ctypes.byref(to), *map(ctypes.c_int64, (rows, cols, ld)), pointer(values), self.kind, order)

    def arguments(self):
        return self.handle, 0, self.transpose, ctypes.byref(self.alpha), self.a, self.b, ctypes.byref(self.beta), self.c, SUMS_F32, 0

    def __call__(self):
        self.call("cusparseSetStream", self.handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        self.call("cusparseSDDMM", *self.arguments(), pointer(self.buffer))
        return self.out


# ---- rivals: name -> function that returns a function without arguments, which returns its result

def sddmm_rivals(graph, k, _):
    u, v = graph.values(graph.rows, k), graph.values(graph.cols, k)

    def expected():
        row = graph.entry_rows()[:100000]
        return (u[row].double() * v[graph.col[:len(row)].long()].double()).sum(1)

    return {"cusparse": lambda: CusparseSddmm(graph, u, v, False),
            "cusparse, column-major": lambda: CusparseSddmm(graph, u, v, True)}, expected


def step(forward, dy, leaves):
    return torch_side.step(forward, dy, leaves, lambda y: y.detach())


def max_rivals(graph, k, _):
    x, dy = graph.values(graph.cols, k).requires_grad_(), graph.values(graph.rows, k)

    def scatter():
        col, index = graph.col.long(), graph.entry_rows()[:, None].expand(-1, k)
        return step(lambda: torch.zeros(graph.rows, k, dtype=x.dtype, device="cuda").scatter_reduce(
            0, index, x[col], "amax", include_self=False), dy, [x])

    def turbo():
        adjacency = graph.for_turbo()
        return step(lambda: turbo_gnn.reduction_aggr(adjacency, x, reduce="max"), dy, [x])

    rivals = {"torch scatter_reduce": scatter}
    if turbo_gnn and graph.rows == graph.cols:
        rivals["turbo-gnn"] = turbo
    return rivals, None


def attention_rivals(op, graph, k, heads):
    x, q = (graph.values(graph.cols, k).requires_grad_() for _ in range(2))
    dy, att, width = graph.values(graph.rows, k), graph.values(heads, k // heads).requires_grad_(), k // heads

    def layer():
        conv = torch_side.attention(op, width, heads, SLOPE).cuda().to(graph.dtype)
        edges = torch.stack([graph.col.long(), graph.entry_rows()])
        return step(lambda: conv(x, edges), dy, [x, *conv.parameters()])

    def turbo():
        adjacency = graph.for_turbo()
        return step(lambda: turbo_gnn.gatv2_aggr(adjacency, q.view(-1, heads, width), x.view(-1, heads, width), att, negative_slope=SLOPE).view(-1, k),
                    dy, [x, q, att])

    rivals = {}
    if torch_side.pyg and graph.rows == graph.cols:
        rivals[{"gat": "PyG GATConv", "gatv2": "PyG GATv2Conv"}[op]] = layer
    if turbo_gnn and graph.rows == graph.cols and op == "gatv2":
        rivals["turbo-gnn"] = turbo
    return rivals, None


RIVALS = {"sddmm": sddmm_rivals, "max": max_rivals, "gat": lambda *case: attention_rivals("gat", *case),
          "gatv2": lambda *case: attention_rivals("gatv2", *case)}


# ---- turns

def sley_case(o, path, op, k, heads, repeat):
    """Milliseconds of each pass, and MiB used."""
    with torch_side.MemoryWatch(0.005) as memory:
        passes, reason = ops.sley_passes(o, path, op, k, heads, repeat, "--dtype", o.dtype, "--alone")
    if reason:
        raise common.Failed(f"{op}, k = {k}: Sley refuses: {reason}")
    return passes, memory.mib - o.context_mib


def timed(function):
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    calls = 1
    while True:
        first.record()
        for _ in range(calls):
            function()
        last.record()
        torch.cuda.synchronize()
        ms = first.elapsed_time(last)
        if ms >= TURN_S * 500 or calls > 200:
            return ms / calls
        calls = max(calls + 1, int(calls * TURN_S * 1000 / max(ms, 0.01)))


def measure_rival(make, turns, expected, before):
    """Times of turns, and MiB allocated beyond the `before` bytes."""
    torch_side.clear_memory()
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


def measure_rivals(o, graph, rivals, expected, before, one):
    for name, make in rivals.items():
        try:
            times, mib = measure_rival(make, o.turns, expected, before)
            if name.startswith("cusparse"):  # it uses the graph as loaded
                mib += (graph.rowptr32.nbytes + graph.col.nbytes) / MIB
            one["rivals"][name] = {"ms": statistics.median(times), "spread_ms": max(times) - min(times), "mib": mib}
        except CannotRun as error:
            one["refused"][name] = str(error)


def measure(o, path, graph, op, k, heads):
    graph.turbo, own = None, []
    torch_side.clear_memory()
    before = torch.cuda.memory_allocated()
    rivals, expected = RIVALS[op](graph, k, heads)
    one = {"op": op, "rows": graph.rows, "nnz": graph.nnz, "k": k, "heads": heads, "rivals": {}, "refused": {}}
    for turn in range(2):
        torch_side.clear_memory()
        passes, memory = sley_case(o, path, op, k, heads, o.turns)
        own.append(passes[0] if op == "sddmm" else sum(passes))
        if turn == 0:
            measure_rivals(o, graph, rivals, expected, before, one)
    one["sley"] = {"ms": statistics.median(own), "spread_ms": max(own) - min(own), "mib": memory, "passes_ms": passes}
    if one["rivals"]:
        one["best"] = min(one["rivals"], key=lambda name: one["rivals"][name]["ms"])
        one["ratio"] = one["rivals"][one["best"]]["ms"] / one["sley"]["ms"]
    return one


def words(one):
    def of(each):
        return f"{each['ms']:9.3f} {each['spread_ms']:7.3f} {each['mib']:7.0f} MiB"
    text = of(one["sley"]) + (f" {of(one['rivals'][one['best']])} {one['ratio']:7.2f}  {one['best']}" if "ratio" in one else "")
    others = [f"{name} {rival['ms']:.3f} ms {rival['mib']:.0f} MiB" for name, rival in one["rivals"].items() if name != one.get("best")]
    others += [f"{name}: {reason}" for name, reason in one["refused"].items()]
    return text + (f"  ({'; '.join(others)})" if others else "")


def draw(o, random_):
    """Graphs, each with a function that returns the (k, heads) for an operation."""
    specs = o.matrix.split()
    for _ in range(0 if specs else o.graphs):
        kind = random_.choice(["rmat", "er", "twin", "twin"])
        if kind == "rmat":
            specs.append(f"rmat:scale={random_.randint(16, 20)},edgefactor={random_.randint(6, 20)}")
        elif kind == "er":
            n = int(2 ** random_.uniform(16, 20))
            specs.append(f"er:n={n},nnz={int(n * random_.uniform(4, 24))}")
        else:
            name, largest = random_.choice([("cyt", 1), ("prd", 0.4), ("clj", 0.4), ("cok", 0.1)])
            specs.append(f"twin:{name}:scale={largest * random_.uniform(0.2, 1):.4f}")

    def shapes(op):
        if op in ("sddmm", "max"):
            return [(random_.choice([32, 40, 64, 96, 100, 128, 192, 256] if op == "sddmm" else [32, 64, 100, 128]), 1)]
        return [(16, 1), (128, 8)] if op == "gat" else [(64, 1)]
    return [(spec, shapes) for spec in specs]
