#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Table 2 of the RDMA paper: seconds of a run's components by algorithm and number of ranks, of SpMM (a) and SpGEMM (b).

Computing, waiting for tiles, accumulating, and waiting for slower ranks at the end, each the mean of the ranks, in milliseconds, in
one node (threads) and between hosts that are network namespaces of this machine, joined by shaped links.
"""
import rdma
from rdma import common

ALGOS = ["tile-c", "tile-a", "tile-c-steal-local", "tile-summa"]
PARTS = ("compute", "communicate", "accumulate", "imbalance")
PAPER = {"columns": ["environment", "matrix", "algorithm", "GPUs", "compute s", "communicate s", "accumulate s", "imbalance s"],
         "a": [["Summit", "Amazon", "S-C", 24, 0.02, 1.3, None, 0.4], ["Summit", "Amazon", "S-A", 24, 0.02, 1.1, 0.4, 0.3],
               ["Summit", "Amazon", "S-C LW", 24, 0.01, 1.2, 0.03, 0.3], ["Summit", "Amazon", "MPI", 16, 0.02, 2.1, None, None],
               ["DGX-2", "Nm-7", "S-C", 4, 0.44, 0.01, 0.02, 0.14], ["DGX-2", "Nm-7", "S-A", 4, 0.42, 0, 0.07, 0.12]],
         "b": [["DGX-2", "Mouse Gene", "S-C", 4, 2.14, 0, 0.02, 0.72], ["DGX-2", "Mouse Gene", "S-C", 16, 0.55, 0, 0.01, 0.21],
               ["DGX-2", "Mouse Gene", "S-A", 4, 2.14, 0, 0.38, 0.49], ["DGX-2", "Mouse Gene", "S-A", 16, 0.55, 0, 0.11, 0.13]]}
DIFFERS = ("CPUs instead of GPUs, of which two are shared by all ranks; up to 16 ranks instead of 256; other and smaller matrices. The Summit rows of the paper's table "
           "2b repeat those of 2a, so they are left out of `paper`. SUMMA's waiting for slower ranks within its stages counts as communication, as the paper says of MPI.")


def main():
    parser = rdma.parser_of(__doc__, "table2", measures=True)
    parser.add("--scale", 14, "of the paper's R-MAT")
    parser.add("--k", 256, "of SpMM")
    parser.add("--ranks", "4,16")
    parser.add("--ways", "here,links")
    args = rdma.start(parser)
    args.plot, cases = None, []
    for k in (args.k, 0):
        for way in args.ways.split(","):
            for ranks in parser.numbers("--ranks", args.ranks):
                cases += rdma.measure(args, rdma.RMAT.format(scale=args.scale), ranks, way, ALGOS, k)
    common.show(["product", "way", "algorithm", "ranks", *(name + " ms" for name in PARTS), "ms", "MiB"],
                [["SpMM" if one["k"] else "SpGEMM", one["way"], one["algo"], one["ranks"], *(one.get(name) for name in PARTS), one.get("ms"),
                  one["bytes"] / common.MIB if "bytes" in one else None] for one in cases])
    return rdma.end(args, "Table 2: components of a run", PAPER, DIFFERS, names=rdma.NAMES, rivals=rdma.NOT_RUN, cases=cases)


common.start(main)
