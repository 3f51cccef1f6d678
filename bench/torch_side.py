# SPDX-License-Identifier: Apache-2.0
"""Shared by the scripts that compare with PyTorch and PyTorch Geometric: versions, layers, times, memory of GPUs."""
import statistics
import threading
import time

import torch

try:
    import torch_geometric
    import torch_geometric.nn as pyg
except ImportError:
    torch_geometric = pyg = None

MIB = 1 << 20
WARM = 3  # steps before one is captured, in which plans are made and torch's allocator reserves the memory of a step


def versions():
    return {"torch": torch.__version__, "torch_geometric": torch_geometric and torch_geometric.__version__}


def conv(kind, i, o, heads=1, **more):
    """A layer of PyTorch Geometric."""
    return {"gcn": lambda: pyg.GCNConv(i, o, **more), "sage": lambda: pyg.SAGEConv(i, o), "gat": lambda: pyg.GATConv(i, o, heads),
            "gin": lambda: pyg.GINConv(torch.nn.Sequential(torch.nn.Linear(i, o), torch.nn.ReLU(), torch.nn.Linear(o, o)))}[kind]()


def attention(kind, width, heads, slope):
    """A layer of PyTorch Geometric, gat or gatv2, without its linear map."""
    made = {"gat": pyg.GATConv, "gatv2": pyg.GATv2Conv}[kind](heads * width, width, heads=heads, add_self_loops=False, bias=False, negative_slope=slope)
    for name in ["lin"] if kind == "gat" else ["lin_l", "lin_r"]:
        setattr(made, name, torch.nn.Identity())
    return made


def step(forward, dy, leaves, result):
    """A function that runs a step forward and backward, and returns result(y)."""
    def run():
        for leaf in leaves:
            leaf.grad = None
        y = forward()
        y.backward(dy)
        return result(y)
    return run


def wait(device):
    if str(device).startswith("cuda"):
        torch.cuda.synchronize()


def times(call, device, repeat, warm):
    """Milliseconds of calls; the device's queue is empty before and after each."""
    found = []
    for _ in range(repeat + warm):
        wait(device)
        begin = time.perf_counter()
        call()
        wait(device)
        found.append((time.perf_counter() - begin) * 1e3)
    return found[warm:]


def median_ms(call, device, repeat, warm):
    return statistics.median(times(call, device, repeat, warm))


def captured(call):
    """A function that replays one step of a training, whose optimizer is capturable, as a CUDA graph."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def clear_memory():
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


class MemoryWatch:
    """A context; afterwards `mib` is the most memory of the first GPU that other processes used. Samples every period_s."""

    def __init__(self, period_s):
        self.period_s = period_s

    def __enter__(self):
        torch.cuda.synchronize()
        self.before = self.least = torch.cuda.mem_get_info(0)[0]
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        while not self.ends.wait(self.period_s):
            self.least = min(self.least, torch.cuda.mem_get_info(0)[0])

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()
        self.mib = (self.before - self.least) / MIB
