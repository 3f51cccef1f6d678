#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figure 2 of the RDMA paper: rooflines between nodes, of SpMM for several widths and of SpGEMM for several numbers of ranks.

Two rooflines of each: one with the figures of a V100 and of Summit's links that the paper names, as its model without a measurement;
one with the links of hosts that are network namespaces of this machine, on which the products are also measured.
"""
import rdma
from rdma import common

import charts

PAPER = {"network_GB_s": 3.83, "peak_TFLOP_s": 16, "SpMM": "isolates subgraph2, 24 GPUs", "SpGEMM": "isolates subgraph4"}
SUMMIT = ("--network-bandwidth", 3.83, "--latency", 1, "--memory-bandwidth", 900, "--peak", 16000)  # 900 GB/s: NVIDIA's figure of a V100
DIFFERS = ("R-MAT matrices instead of isolates, whose files are not here. Measured points: ranks on CPUs, on hosts that are network namespaces joined by "
           "shaped links, over tcp. The roofline of Summit has no measured points here.")


def rows_of(found, measured=()):
    """Rows of the picture and of the file, one for each run of a sweep."""
    rows = []
    for run in found["runs"]:
        one = run["algorithms"][0]
        name = f"k {run['k']}" if "k" in run else f"P {run['ranks']}"
        ms = next((case["ms"] for case in measured if case["ranks"] == run["ranks"] and case["k"] == run.get("k", 0) and "ms" in case), None)
        rows.append({"name": name, "ranks": run["ranks"], "k": run.get("k"), "intensity": one["network_intensity"], "network_gflops": one["network_gflops"],
                     "local_gflops": one["local_gflops"], "bound": one["bound"], "predicted_ms": one["predicted_ms"], "measured_ms": ms,
                     "flops": run["flops"], "network_bandwidth": run["network_bandwidth"]})
    return rows


def panel(title, rows, peak=0):
    def rate(row, ms):
        return row["flops"] / row["ranks"] / ms * 1e3 if ms else None
    return charts.roofs(title, rows[0]["network_bandwidth"], peak, [(row["name"], row["intensity"], row["local_gflops"] * 1e9, rate(row, row["predicted_ms"]),
                                                                     rate(row, row["measured_ms"])) for row in rows])


def main():
    parser = rdma.parser_of(__doc__, "figure2", measures=True)
    parser.add("--scale", 14, "of the R-MAT matrix that is measured; the one on Summit's figures has 3 more")
    parser.add("--k", "32,128,512")
    parser.add("--ranks", "4,9,16")
    args = rdma.start(parser)
    here, there = rdma.RMAT.format(scale=args.scale), rdma.RMAT.format(scale=args.scale + 3)
    assert args.rate.endswith("mbit"), "--rate takes a number and mbit"
    links = ("--network-bandwidth", float(args.rate[:-4]) / 8000, "--latency", 50)
    dense = [case for k in parser.numbers("--k", args.k) for case in rdma.measure(args, here, 4, "links", ["tile-c"], k)]
    sparse = [case for ranks in parser.numbers("--ranks", args.ranks) for case in rdma.measure(args, here, ranks, "links", ["tile-c"])]
    found = {"SpMM on Summit's figures, 24 ranks": rows_of(rdma.roofline(args, there, "--ranks", 24, "--k", args.k, *SUMMIT)),
             "SpGEMM on Summit's figures": rows_of(rdma.roofline(args, there, "--spgemm", "--ranks", args.ranks, *SUMMIT)),
             f"SpMM on links of {args.rate}, 4 ranks": rows_of(rdma.roofline(args, here, "--ranks", "4", "--k", args.k, "--workgroup", 1, *links), dense),
             f"SpGEMM on links of {args.rate}": rows_of(rdma.roofline(args, here, "--spgemm", "--ranks", args.ranks, "--workgroup", 1, *links), sparse)}
    for title, rows in found.items():
        print(title)
        common.show(["roof", "flop/B", "network GFLOP/s", "local GFLOP/s", "bound", "predicted ms", "measured ms"],
                    [[row[key] for key in ("name", "intensity", "network_gflops", "local_gflops", "bound", "predicted_ms", "measured_ms")] for row in rows])
    rdma.draw(args, charts.beside(*(panel(title, rows, 16e12 if "Summit" in title else 0) for title, rows in found.items())))
    return rdma.end(args, "Figure 2: rooflines of SpMM by width and of SpGEMM by ranks", PAPER, DIFFERS,
                    rows=[{"roofline": title, **row} for title, rows in found.items() for row in rows])


common.start(main)
