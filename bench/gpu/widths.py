#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How does the time of a product on one GPU grow with the width? Draws graphs and widths with a seed, times them by bench_spmm_gpu,
and divides each time by the granules of 64 bytes that a row of X has. Prints that relative to the graph's best width: 1 is best.
Widths of less than a granule are timed but have no part in this, because X is then read from caches.

Usage: widths.py [BUILD] [--graphs N] [--widths N] [--widest K] [--dtype T] [--seed N] [--json FILE]
"""
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import common  # noqa: E402
import draw as drawn  # noqa: E402
from tables import geomean, read_lines  # noqa: E402

BYTES = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2}
GRANULE = 64


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("build", nargs="?", default=common.BUILD)
    parser.add("--graphs", 4)
    parser.add("--widths", 40)
    parser.add("--widest", 512)
    parser.add("--dtype", "f32")
    parser.add("--seed", 1)
    parser.add("--json", "")
    o = parser.parse_args()
    chance, size = random.Random(o.seed), BYTES[o.dtype]
    names = drawn.graphs(chance, o.graphs)
    with tempfile.TemporaryDirectory() as folder:
        cases, results = os.path.join(folder, "cases"), o.json or os.path.join(folder, "results")
        with open(cases, "w", encoding="utf-8") as file:
            for name in names:
                file.write(f"{name} {','.join(map(str, drawn.widths(chance, o.widths, o.widest)))}\n")
        subprocess.run([os.path.join(o.build, "bench/gpu/bench_spmm_gpu"), "--cases", cases, "--dtype", o.dtype, "--rivals", "csr",
                        "--repeat", "9", "--json", results], check=True, stdout=subprocess.DEVNULL)
        records = [record for record in read_lines(results) if record["record"] == "case"]
    print(f"seed {o.seed}, {o.dtype}: ms, and the time for each granule of {GRANULE} bytes relative to the graph's best")
    for name in names:
        mine = [(r["k"], r["sley"]["ms"]["median"], r.get("ratio")) for r in records if r["matrix"] == name]
        granule = {k: ms / math.ceil(k * size / GRANULE) for k, ms, _ in mine if k * size >= GRANULE}
        best, ratios = min(granule.values()), [ratio for _, _, ratio in mine if ratio]
        print(f"{name}: {len(mine)} widths")
        print("  " + ", ".join(f"{k}: {ms:.3f}" + (f" {granule[k] / best:.2f}" if k in granule else "") for k, ms, _ in mine))
        print(f"  granules: geomean {geomean([v / best for v in granule.values()]):.3f}, worst {max(granule.values()) / best:.2f}; "
              f"best cuSPARSE / Sley: geomean {geomean(ratios):.2f}, worst {min(ratios):.2f}")


if __name__ == "__main__":
    main()
