#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weak scaling of reading and planning: the same number of nonzeros per rank on 2, 4 and 8 ranks, processes over tcp, by
build/bench/bench_scaling. Prints, for each matrix, how much more memory a rank needs at its peak than with the fewest ranks."""
import json
import os

import common

ALGOS = ["halo", "halo-pipelined", "cover"]
SPECS = {"cyt": lambda ranks: f"twin:cyt:scale={0.25 * ranks:g}", "clj": lambda ranks: f"twin:clj:scale={0.05 * ranks:g}",
         "band": lambda ranks: f"band:n={400000 * ranks},width=4"}


def measure(o, name, ranks, first):
    row = json.loads(common.run([o.bench, ranks, o.k, SPECS[name](ranks), *ALGOS]))
    peak = max([row["read"]["peak_bytes"]] + [row["plans"][algo]["peak_bytes"] for algo in ALGOS])
    row.update(name=name, peak_bytes=peak, x_first=peak / (first or {"peak_bytes": peak})["peak_bytes"])
    print(f"{name:5} {ranks:3} ranks: {row['rank_nnz']:9} nonzeros and {row['rank_halo']:7} halo rows a rank; peak {peak / 2**20:6.1f} MiB "
          f"({row['x_first']:.2f} x), read {row['read']['cpu_seconds']:.3f} s, plan "
          + ", ".join(f"{algo} {row['plans'][algo]['cpu_seconds']:.3f} s" for algo in ALGOS), flush=True)
    return row


def main():
    parser = common.Parser(__doc__)
    parser.add("--ranks", "2,4,8")
    parser.add("--k", 32)
    parser.add("--bench", os.path.join(common.BUILD, "bench", "bench_scaling"))
    parser.add("--json")
    o = parser.parse_args()
    parser.check(o)
    rows = []
    for name in SPECS:
        first = None
        for ranks in parser.numbers("--ranks", o.ranks):
            rows.append(measure(o, name, ranks, first))
            first = first or rows[-1]
    common.save(o.json, {"k": o.k, "algorithms": ALGOS, "rows": rows})


if __name__ == "__main__":
    common.start(main)
