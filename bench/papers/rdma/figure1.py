#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figure 1 of the RDMA paper: the imbalance of squaring an R-MAT matrix on 16 x 16 ranks, at the end of the run and by stages.

Both figures are those of `sley roofline --spgemm` (docs/ROOFLINE.md), for stationary C with the paper's offset. The paper shows one
random matrix, whose seed is not known; here are several seeds, each another matrix and other random orders.
"""
import statistics

import rdma
from rdma import common

import charts

PAPER = {"end": 1.2, "stages": 2.3}
DIFFERS = ("The paper's seed is not known: the figures are those of many seeds. Rows and columns have a random order each. Simulated in both, "
           "so no GPUs are missed.")


def near(found, wanted, most=0.05):
    return abs(found - wanted) <= most * wanted


def main():
    parser = rdma.parser_of(__doc__, "figure1")
    parser.add("--seeds", 40, "numbers of seeds, from 1 on")
    parser.add("--scale", 17)
    parser.add("--grid", 16)
    args = rdma.start(parser)
    rows, shown = [], None
    for seed in range(1, args.seeds + 1):
        args.seed = seed
        found = rdma.roofline(args, rdma.RMAT.format(scale=args.scale), "--spgemm", "--compression", 1, "--algo", "tile-c,tile-summa",
                              "--ranks", args.grid**2, "--grid", f"{args.grid}x{args.grid}")
        one, summa = found["algorithms"]
        rows.append({"seed": seed, "nnz": found["nnz"], "end": one["flops_imbalance"], "stages": one["stage_imbalance"], "summa": summa["stage_imbalance"]})
        rows[-1]["near"] = near(rows[-1]["end"], PAPER["end"]) and near(rows[-1]["stages"], PAPER["stages"])
        if shown is None and rows[-1]["near"]:
            shown = seed, [rank["flops"] for rank in one["ranks"]]
    args.seed = f"1 to {args.seeds}"
    median = {key: statistics.median(row[key] for row in rows) for key in ("end", "stages", "summa")}
    common.show(["seed", "end", "by stages", "SUMMA by stages", "within 5 %"], [[row["seed"], row["end"], row["stages"], row["summa"], "yes" if row["near"] else ""] for row in rows])
    print(f"median {median}, {sum(row['near'] for row in rows)} of {len(rows)} seeds within 5 % of both of the paper's figures")
    left = charts.heat(f"flops of each rank relative to the mean, seed {shown[0]}" if shown else "no seed is near", shown[1] if shown else [], args.grid)
    rdma.draw(args, charts.beside(left, charts.dots("max/mean by seed", {"end of the run": [row["end"] for row in rows], "by stages": [row["stages"] for row in rows],
                                                                        "SUMMA by stages": [row["summa"] for row in rows]}, PAPER)))
    return rdma.end(args, "Figure 1: imbalance at the end and by stages, R-MAT squared", PAPER, DIFFERS, median=median, near=sum(row["near"] for row in rows),
                    shown=shown[0] if shown else None, rows=rows)


common.start(main)
