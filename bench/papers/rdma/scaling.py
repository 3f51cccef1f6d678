#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures 3, 4 and 5 of the RDMA paper: strong scaling of SpMM in one node (3) and between nodes (4), and of SpGEMM in both (5).

Stationary C and A, both kinds of stealing, and SUMMA on the same tiles, by name of the paper; also stationary B, and SUMMA from row
blocks. One node: ranks are threads of this machine. Between nodes: hosts that are network namespaces of this machine, one rank on
each, joined by shaped links, over tcp (links); ranks of mpirun on this machine, which read tiles in shared memory (mpi), or move
them by MPI's one-sided communication, as between nodes (windows). Every product is checked.
"""
import rdma
from rdma import common

import charts

FIGURES = {
    "3": {"what": "Figure 3: strong scaling of SpMM in one node", "ways": "here", "k": "128,512", "ranks": "1,4,9,16",
          "matrices": "rmat:scale=16 gnn/coauthor_phy.adj.mtx.gz", "paper": "DGX-2, 1 to 16 V100, N = 128 and 512: scales to 8 GPUs; at 16 some slow down, most with stationary A"},
    "4": {"what": "Figure 4: strong scaling of SpMM between nodes", "ways": "links,mpi", "k": "128,512", "ranks": "4,9,16", "matrices": "rmat:scale=14 gnn/coauthor_phy.adj.mtx.gz",
          "paper": "Summit, 24 to 384 V100, N = 128 and 512: RDMA ahead of SUMMA in most cases, most at small N; locality-aware stealing ahead of random"},
    "5": {"what": "Figure 5: strong scaling of SpGEMM in one node and between nodes", "ways": "here,links", "k": "0", "ranks": "4,9,16", "matrices": "rmat:scale=14 metis/wave.graph.gz",
          "paper": "DGX-2 and Summit, A A: all alike, RDMA somewhat ahead on matrices of uneven work; PETSc much slower"}}
DIFFERS = ("CPUs instead of GPUs: this machine has two cores, which all ranks share, so in one node more than two ranks cannot be faster; between hosts the shaped "
           "links are the bound, as in the paper. Matrices are smaller, and others. Up to 16 ranks.")


def lines_of(cases, matrix, way, k):
    """{name: [(ranks, ms)]} of a panel, in the order of the algorithms."""
    mine = [case for case in cases if (case["matrix"], case["way"], case["k"]) == (matrix, way, k) and "ms" in case]
    return {rdma.NAMES[algo]: [(case["ranks"], case["ms"]) for case in mine if case["algo"] == algo] for algo in dict.fromkeys(case["algo"] for case in mine)}


def expand(name):
    """rmat:scale=S stands for the paper's R-MAT of this scale."""
    return rdma.RMAT.format(scale=name[11:]) if name.startswith("rmat:scale=") and "," not in name else name


def main():
    parser = rdma.parser_of(__doc__, "figure", measures=True)
    parser.add_argument("figure", choices=list(FIGURES))
    parser.add("--matrices", "", "separated by blanks; rmat:scale=S: the paper's R-MAT; default: the figure's")
    parser.add("--ranks", "", "separated by commas; default: the figure's")
    parser.add("--k", "", "widths of X, separated by commas; default: the figure's")
    parser.add("--ways", "", "here, links, mpi, windows, separated by commas; default: the figure's")
    parser.add("--algo", ",".join(rdma.NAMES), "separated by commas")
    args = rdma.start(parser)
    figure = FIGURES[args.figure]
    for name in ("matrices", "ranks", "k", "ways"):
        setattr(args, name, getattr(args, name) or figure[name])
    args.json, args.plot = (path.replace("/figure.", f"/figure{args.figure}.") for path in (args.json, args.plot))
    algos, widths = parser.names("--algo", args.algo, list(rdma.NAMES)), [int(k) for k in args.k.split(",")]
    cases = [case for way in parser.names("--ways", args.ways, ["here", "links", "mpi", "windows"]) for matrix in map(expand, args.matrices.split()) for k in widths
             for ranks in parser.numbers("--ranks", args.ranks) for case in rdma.measure(args, matrix, ranks, way, algos, k)]
    groups = list(dict.fromkeys((case["matrix"], case["way"], case["k"]) for case in cases))
    titles = {"here": "one node", "links": f"links of {args.rate}", "mpi": "mpirun, shared memory", "windows": "MPI one-sided"}
    rdma.draw(args, charts.beside(*(charts.scaling(f"{common.os.path.basename(matrix).split(',')[0]}, {titles[way]}" + (f", k {k}" if k else ""), lines_of(cases, matrix, way, k))
                                    for matrix, way, k in groups)))
    return rdma.end(args, figure["what"], figure["paper"], DIFFERS, rivals=rdma.NOT_RUN, names=rdma.NAMES, cases=cases)


common.start(main)
