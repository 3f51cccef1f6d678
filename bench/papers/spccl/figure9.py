#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figure 9 of the SpCCL paper: all-reduces by shares of zeros, sizes and ranks: Sley's, the dense one, and SparCML's four algorithms.

SparCML's algorithms are ways of Sley (docs/COLLECTIVES.md), written after the paper's description, with its format coo. All exchanges are the
same sockets, so that the algorithms are compared, and not two programs. Each is measured beside the dense collective.
"""
import spccl
from spccl import common, paper

import charts

THEIRS = {"SparCML": "not competitive even against dense NCCL; in most cases at least ten times slower", "best at 99 % zeros": 2.66}
DIFFERS = ("CPUs instead of GPUs: hosts are network namespaces of one machine, joined by shaped links, whose ranks share two cores. At most 8 ranks and short arrays. The paper "
           "runs SparCML's own program, which copies arrays from GPUs to the host and back; here its algorithms run in this library. "
           "NCCL and NCCLX: not run, they need GPUs; the dense collective is Sley's.")


def main():
    parser = spccl.parser_of(__doc__, "figure9")
    parser.add("--layouts", "2x1,4x1,4x2", "hosts x ranks of each, separated by commas")
    parser.add("--bytes", "4M", "the largest size; the smallest is 1M, then four times as much")
    args = paper.start(parser)
    parser.check(args, repeat=1)
    rows = []
    for text in args.layouts.split(","):
        layout = spccl.layout_of(parser, text)
        for name, way, form in spccl.SLEY_WAYS + spccl.SPARCML:
            whole = spccl.measure(args, "allreduce", layout, "--sweep", "--bytes", args.bytes, "--way", way, "--format", form)
            for found in whole["cases"]:
                assert found["wrong"] == 0, "a sum was wrong"
                rows.append({"layout": text, "name": name, "size": found["size"], "zeros": found["zeros"], "ms": found["time_us"] / 1e3, "dense_ms": found["dense_us"] / 1e3,
                             "bytes": found["wire_bytes"], "dense_bytes": found["dense_wire_bytes"], "faster": 1 / found["ratio"], "path": found["path"],
                             "arrays": found["arrays"], "dense_arrays": found["dense_arrays"]})
            print(f"{text:6} {name:24} geometric mean of time / dense {whole['geomean']:.3f}", flush=True)
    panels = []
    for text in args.layouts.split(","):
        for size in sorted({row["size"] for row in rows if row["layout"] == text}):
            series = {name: [(1 - row["zeros"], row["faster"]) for row in rows if (row["layout"], row["name"], row["size"]) == (text, name, size)]
                      for name, _, _ in spccl.SLEY_WAYS + spccl.SPARCML}
            panels.append(charts.scaling(f"{text}, {size / common.MIB:g} MiB", series, "density", "dense time / time"))
    paper.draw(args, charts.beside(*panels))
    return paper.end(args, "Figure 9: all-reduces beside SparCML's algorithms", THEIRS, DIFFERS, rows=rows)


common.start(main)
