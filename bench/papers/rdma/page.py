#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/RDMA.md from bench/results/rdma: the tables and figures of the RDMA paper, the paper's values beside Sley's, and what
differs. With --check: says whether the page agrees with the results."""
import os
import statistics

import rdma
from paper import section, table, wrapped, write
from rdma import common

PAGE = os.path.join(common.ROOT, "docs", "RDMA.md")
HEAD = """# The tables and figures of the RDMA paper

`bench/papers/rdma/page.py` makes this page from `bench/results/rdma`; do not edit it. The paper is B. Brock, A. Buluç and K. Yelick,
*RDMA-Based Algorithms for Sparse Matrix Multiplication on GPUs*, ICS 2024. Each section names its command, the machine, and what differs
from the paper. Every product was checked. Algorithms have Sley's names ([TILES.md](TILES.md)); in the paper they are called: {names}.
Rivals of the paper that were not run: {rivals}."""


def name_of(case):
    return case["matrix"].rsplit("/", 1)[-1].split(",")[0]


def where(case):
    return {"here": "one node", "links": "links", "mpi": "mpirun, shared memory", "windows": "MPI one-sided"}[case["way"]]


def table1(found):
    mine = table(["matrix", "rows", "nonzeros", "imbalance"], [[f"`{row['matrix']}`", row["rows"], row["nnz"], row["imbalance"]] for row in found["rows"]])
    theirs = ", ".join(f"{name} {values[2]:.2f}" for name, values in found["paper"].items())
    return f"{mine}\n\nIn the paper: {theirs}."


def figure1(found):
    rows, median = found["rows"], found["median"]

    def span(key):
        return f"{min(row[key] for row in rows):.2f} to {max(row[key] for row in rows):.2f}, median {median[key]:.2f}"
    near = ", ".join(f"{row['seed']} ({row['end']:.2f} and {row['stages']:.2f})" for row in rows if row["near"])
    return (f"At the end of the run the busiest rank has {span('end')} times the mean work over {len(rows)} seeds; the paper's matrix {found['paper']['end']}. By stages "
            f"the factor is {span('stages')}; the paper's matrix {found['paper']['stages']}. So the paper's second figure is one of the larger ones: the factor depends on where "
            f"the random order puts the few longest rows and columns. Seeds within 5 % of both: {near}. SUMMA, whose stages have all ranks at one column of tiles, has {span('summa')}. "
            "The left picture has the work of each rank for the first of these seeds.")


def figure2(found):
    rows = [[row["roofline"], row["name"], row["intensity"], row["network_gflops"], row["local_gflops"], row["bound"], row["predicted_ms"], row["measured_ms"]]
            for row in found["rows"]]
    return ("The black line is the network's roof, dashed lines are local roofs, the brown line is the arithmetic. Circles are predicted, dots measured.\n\n"
            + table(["roofline", "", "flop/B", "network GFLOP/s", "local GFLOP/s", "bound", "predicted ms", "measured ms"], rows))


PAIRS = (("tile-c", "tile-summa"), ("tile-c-steal-local", "tile-c"), ("tile-a-steal-local", "tile-a"), ("tile-a-steal-local", "tile-a-steal"))


def ahead(cases):
    """How much faster tile-c is than tile-summa, and locality-aware stealing than none and than random, by the way."""
    def by(algo, way):
        return {(case["matrix"], case["k"], case["ranks"]): case["ms"] for case in cases if (case["algo"], case["way"]) == (algo, way) and "ms" in case}
    words = []
    for way, left, right in ((way, *pair) for way in dict.fromkeys(case["way"] for case in cases) for pair in PAIRS):
        one, two = by(left, way), by(right, way)
        ratios = [two[key] / one[key] for key in one if key in two]
        if ratios:
            words.append(f"{where({'way': way})}: `{right}` takes {statistics.geometric_mean(ratios):.2f} times as long as `{left}` ({min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} cases)")
    return "Times relative to each other, geometric means: " + "; ".join(words) + "."


def scaling(found):
    ran = [case for case in found["cases"] if "ms" in case]
    algos = list(dict.fromkeys(case["algo"] for case in ran))
    keys = list(dict.fromkeys((name_of(case), where(case), case["k"], case["ranks"]) for case in ran))
    ms = {(name_of(case), where(case), case["k"], case["ranks"], case["algo"]): case["ms"] for case in ran}
    failed = sorted({f"`{case['algo']}` ({case['failed']})" for case in found["cases"] if "failed" in case})
    rows = [[*(key[:2]), *([key[2]] if key[2] else ["-"]), key[3], *(ms.get((*key, algo)) for algo in algos)] for key in keys]
    return (f"Milliseconds of a product, median.\n\n{table(['matrix', 'where', 'k', 'ranks', *algos], rows)}\n\n{ahead(ran)} The paper: {found['paper']}."
            + (f" Not run: {'; '.join(failed)}." if failed else ""))


def table2(found):
    parts = ("compute", "communicate", "accumulate", "imbalance")
    rows = [["SpMM" if case["k"] else "SpGEMM", where(case), case["algo"], case["ranks"], *(case.get(part) for part in parts), case["ms"], case["bytes"] / common.MIB]
            for case in found["cases"] if "ms" in case]
    mine = table(["product", "where", "algorithm", "ranks", *(f"{part} ms" for part in parts), "ms", "MiB"], rows)
    theirs = table(["", *found["paper"]["columns"]], [[half, *row] for half in "ab" for row in found["paper"][half]])
    return f"{mine}\n\nSome rows of the paper's table:\n\n{theirs}"


def main():
    names = ", ".join(f"`{name}` {theirs}" for name, theirs in rdma.NAMES.items())
    rivals = "; ".join(f"{name} ({why.removeprefix('not run: ')})" for name, why in rdma.NOT_RUN.items())
    sections = [("table1", table1), ("table2", table2), ("figure1", figure1), ("figure2", figure2), ("figure3", scaling), ("figure4", scaling), ("figure4_windows", scaling),
                ("figure5", scaling)]
    parts = [section("rdma", name, body, ", by MPI's one-sided communication" if name.endswith("_windows") else "") for name, body in sections]
    return write(PAGE, wrapped("\n\n".join([HEAD.format(names=names, rivals=rivals), *parts])) + "\n")


common.start(main)
