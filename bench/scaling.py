#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weak scaling of reading and planning: the same number of nonzeros per rank on 2, 4 and 8 ranks, processes over tcp, by
build/bench/bench_scaling. Prints a table; --json FILE keeps the numbers. Prints, for each matrix, how much more memory a rank
needs at its peak with the most ranks than with the fewest."""
import argparse
import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ALGOS = ["halo", "halo-pipelined", "cover"]


def specs(ranks):
    return {"cyt": f"twin:cyt:scale={0.25 * ranks:g}", "clj": f"twin:clj:scale={0.05 * ranks:g}",
            "band": f"band:n={400000 * ranks},width=4"}


def peak(row):
    return max([row["read"]["peak_bytes"]] + [row["plans"][a]["peak_bytes"] for a in ALGOS])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--k", type=int, default=32)
    parser.add_argument("--bench", default=os.path.join(HERE, "..", "build", "bench", "bench_scaling"))
    parser.add_argument("--json")
    arguments = parser.parse_args()
    rows = []
    for name in specs(1):
        first = None
        for ranks in [int(p) for p in arguments.ranks.split(",")]:
            done = subprocess.run([arguments.bench, str(ranks), str(arguments.k), specs(ranks)[name], *ALGOS], stdout=subprocess.PIPE,
                                  check=True)
            row = json.loads(done.stdout)
            row.update(name=name, peak_bytes=peak(row))
            first = first or row
            row["x_first"] = row["peak_bytes"] / first["peak_bytes"]
            rows.append(row)
            print(f"{name:5} {ranks:3} ranks: {row['rank_nnz']:9} nonzeros and {row['rank_halo']:7} halo rows a rank; peak "
                  f"{row['peak_bytes'] / 2**20:6.1f} MiB ({row['x_first']:.2f} x), read {row['read']['cpu_seconds']:.3f} s, plan "
                  + ", ".join(f"{a} {row['plans'][a]['cpu_seconds']:.3f} s" for a in ALGOS), flush=True)
    if arguments.json:
        with open(arguments.json, "w") as stream:
            json.dump({"k": arguments.k, "algorithms": ALGOS, "rows": rows}, stream, indent=1)
            stream.write("\n")


main()
