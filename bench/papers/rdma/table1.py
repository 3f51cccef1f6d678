#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Table 1 of the RDMA paper: the imbalance of matrices in 10 x 10 tiles, max(nnz(tile)) / mean(nnz(tile)).

`sley roofline --algo tile-a --ranks 100 --grid 10x10` counts it: each rank multiplies its own tile of A, so the flops of the ranks
are as the nonzeros of the tiles. Nothing is multiplied.
"""
import rdma
from rdma import common

PAPER = {"Mouse Gene": (45.1e3, 29.0e6, 2.13), "ldoor": (952e3, 46.5e6, 8.23), "reddit": (233e3, 115e6, 1.08), "nlpkkt160": (8.3e6, 230e6, 9.46),
         "Amazon Large": (14.3e6, 230e6, 3.78), "com-Orkut": (3.1e6, 234e6, 8.15), "Nm7": (5.0e6, 648e6, 6.38), "Nm8": (7.6e6, 592e6, 6.48),
         "Isolates, Subgraph4": (4.4e6, 327e6, 1.00), "Isolates, Subgraph2": (17.5e6, 5.2e9, 1.00), "Friendster": (62.5e6, 3.4e9, 7.68)}
MATRICES = ("mtx/cnr-2000.mtx.gz mtx/usa-road-NE.mtx.gz metis/wave.graph.gz mtx/bcsstk17.mtx.gz mtx/delaunay_n16.mtx.gz mtx/luxembourg_osm.mtx.gz "
            "mtx/p2p-Gnutella31.mtx.gz gnn/coauthor_phy.adj.mtx.gz metis/astro-ph.graph.gz mtx/ca-CondMat.mtx.gz twin:red:scale=0.1 twin:cok:scale=0.1")
TWINS = {"twin:red": "reddit", "twin:cok": "com-Orkut"}
DIFFERS = ("The paper's matrices are not here: real matrices of other collections, in the order of their files, and twins of two of its graphs, which "
           "resemble these in nonzeros and halos, not in the order of their rows. The definition is the paper's.")


def main():
    parser = rdma.parser_of(__doc__, "table1")
    parser.add("--matrices", MATRICES, "separated by blanks: files of the data folder, or generators")
    args = rdma.start(parser)
    rows = []
    for name in args.matrices.split():
        found = rdma.roofline(args, name, "--algo", "tile-a", "--ranks", 100, "--grid", "10x10", "--k", 10)
        beside = TWINS.get(name.split(":scale")[0])
        rows.append({"matrix": name, "rows": found["rows"], "nnz": found["nnz"], "imbalance": found["algorithms"][0]["flops_imbalance"],
                     "paper": PAPER[beside][2] if beside else None})
    common.show(["matrix", "rows", "nonzeros", "imbalance", "paper"], [[row[key] for key in ("matrix", "rows", "nnz", "imbalance", "paper")] for row in rows])
    args.plot = None
    return rdma.end(args, "Table 1: imbalance of nonzeros on a grid of 10 x 10", PAPER, DIFFERS, rows=rows)


common.start(main)
