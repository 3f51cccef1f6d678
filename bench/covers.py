#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the rows that the algorithms halo and cover move between ranks, after several orders side by side.

Draws real graphs of 10^4 rows or more with a seed, half of them with symmetric and half with other patterns by the list of the
test data. Each is ordered and divided into equal row blocks by `sley plan`, which counts halo rows and the floor, the rows of
minimum covers. Also reports the seconds of each order."""
import os
import random

import common
from tables import geomean

LEAST_ROWS = 10000
# No graph: one dense row and column, of which a cover moves 1 / 100 of the halo or less.
LEFT_OUT = {"mtx/arrow.mtx.gz"}


def draw(o):
    """Half of the graphs from each kind, or as many as there are."""
    kinds = {True: [], False: []}
    with open(os.path.join(o.data, "MANIFEST.tsv"), encoding="utf-8") as manifest:
        for line in list(manifest)[1:]:
            name, _, rows, cols, _, text = line.rstrip("\n").split("\t")[:6]
            if rows == cols and rows.isdigit() and int(rows) >= LEAST_ROWS and name not in LEFT_OUT:
                kinds[text.endswith("symmetric")].append(name)
    chance, half = random.Random(o.seed), o.graphs // 2
    return sorted(name for symmetric, many in ((True, half), (False, o.graphs - half))
                  for name in chance.sample(sorted(kinds[symmetric]), min(many, len(kinds[symmetric]))))


def count(o, name, order, ranks):
    plan = common.sley(o.sley, "plan", os.path.join(o.data, name), "--ranks", ranks, "--workgroup", 1, "--threads", 1, "--algo", "halo",
                       "--order", order, "--seed", o.seed)
    assert plan["floor_rows"] == {"between": plan["cover_rows"], "inside": 0}
    return plan


def main():
    parser = common.Parser(__doc__)
    parser.add("--sley", common.SLEY, "the command")
    parser.add("--data", common.DATA)
    parser.add("--graphs", 10)
    parser.add("--orders", "none,rabbit,metis,cover", "orders, with metis among them")
    parser.add("--ranks", "16,128")
    parser.add("--seed", 1, "draws the graphs; also the seed of the orders")
    parser.add("--json")
    o = parser.parse_args()
    parser.check(o, graphs=2, seed=0)
    if "metis" not in o.orders.split(","):
        parser.error("--orders must name metis, to whose halo the means are relative")
    ranks, orders, graphs = parser.numbers("--ranks", o.ranks), o.orders.split(","), draw(o)
    print(f"seed {o.seed}: {' '.join(graphs)}", flush=True)
    rows = []
    for name in graphs:
        for p in ranks:
            plans = {order: count(o, name, order, p) for order in orders}
            one = plans[orders[0]]
            rows.append({"graph": name, "rows": one["rows"], "nnz": one["nnz"], "ranks": p,
                         "orders": {order: {"halo": plan["halo_rows"], "cover": plan["cover_rows"], "seconds": plan["order_ms"] / 1e3}
                                    for order, plan in plans.items()}})
            print(f"{name:36} {p:4} ranks  " + "   ".join(f"{order} {each['halo']} {each['cover']} ({each['seconds']:.2f} s)"
                                                         for order, each in rows[-1]["orders"].items()), flush=True)
    means = [{"ranks": p, **{order: {what: geomean([r["orders"][order][what] / r["orders"]["metis"]["halo"] for r in rows if r["ranks"] == p])
                                     for what in ("halo", "cover")} for order in orders}} for p in ranks]
    for mean in means:
        print(f"{mean['ranks']} ranks, relative to the halo of metis, geometric means: "
              + ", ".join(f"{order} halo {mean[order]['halo']:.3f} cover {mean[order]['cover']:.3f}" for order in orders))
    common.save(o.json, {"seed": o.seed, "least_rows": LEAST_ROWS, "means": means, "rows": rows})


if __name__ == "__main__":
    common.start(main)
