#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Microseconds that a call of sley.torch takes beyond the library's C function, for a matrix of no cost.

Usage: overhead.py [cpu|cuda]. With SLEY_LIBRARY as for the tests.
"""
import sys
import time

import torch

import sley.torch
from sley._library import lib
from sley.torch import ops


def microseconds(call, device, calls=50, rounds=400):
    """The fastest round's mean; on a GPU of the host's part, with its queue emptied between rounds."""
    best = float("inf")
    for _ in range(rounds):
        if device == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - begin) / calls)
    return best * 1e6


def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    torch.set_num_threads(1)
    graph = sley.torch.Graph(torch.randint(0, 4, (2, 8), device=device), 4)
    x = torch.randn(4, 8, device=device)
    recorded, y, weight = x.clone().requires_grad_(), torch.empty_like(x), torch.randn(8, 1, device=device)
    bias, labels = x[0].clone(), torch.zeros(4, dtype=torch.int32, device=device)
    sley.torch.spmm(graph, x)
    plan = graph._plans[8, torch.float32][0].address
    arguments = plan, 1.0, x.data_ptr(), 8, 0.0, y.data_ptr(), 8
    c = microseconds(lambda: lib.sley_spmm(*arguments), device)
    print(f"{device}: C function, by ctypes     {c:6.2f}")
    for name, call in (("spmm(graph, x)", lambda: sley.torch.spmm(graph, x)),
                       ("the same, recorded", lambda: sley.torch.spmm(graph, recorded)),
                       ("torch.ops.sley.spmm", lambda: ops.spmm.op(graph.id, x)),
                       ("the same, recorded", lambda: ops.spmm.op(graph.id, recorded)),
                       ("spmm with weights", lambda: ops.spmm(graph.id, x, weight)),
                       ("bias_act_dropout, p = 0", lambda: sley.torch.bias_act_dropout(x, bias, "relu")),
                       ("nll", lambda: sley.torch.nll(x, labels)),
                       ("torch.mm of 4 x 8", lambda: torch.mm(x, x.T))):
        print(f"{device}: {name:<25} {microseconds(call, device) - c:+6.2f}")


if __name__ == "__main__":
    main()
