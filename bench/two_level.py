#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes between workgroups of C = A A in tiles: tile-summa on a square grid, tile-two-level on the same grid and with
workgroups on a grid of their own, for orders of rows. Bytes are counted, and do not depend on time.

    python3 bench/two_level.py build/cli/sley GRAPH... [--ranks 16] [--workgroup 4] [--grids 4x4,2x8] [--orders none,metis]

Prints a table in Markdown; with --json FILE also writes the numbers. Each run is checked against float64 sums."""

import argparse
import json
import pathlib
import subprocess
import tempfile


def product(sley, graph, grid, algos, options):
    """The JSON of a product, by algorithm."""
    command = [sley, "spgemm", graph, "--ranks", options.ranks, "--workgroup", options.workgroup, "--grid", grid,
               "--algo", algos, "--threads", "1", "--repeat", "1", "--warmup", "0", "--verify", "--json", "-"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    results = json.loads(run.stdout)["algorithms"]
    assert all(r["as_predicted"] and r["verify"]["ok"] for r in results), command
    return {r["algo"]: r for r in results}


def rows_of(sley, graph, options):
    """A row for each order: tile-summa's bytes on the first grid, and tile-two-level's on each."""
    grids = options.grids.split(",")
    with tempfile.TemporaryDirectory() as folder:
        for order in options.orders.split(","):
            path = f"{folder}/{order}.sley"
            subprocess.run([sley, "order", graph, "--order", order, "--dtype", "f32", "-o", path], check=True,
                           capture_output=True)
            row = {"graph": pathlib.Path(graph).name, "order": order, "two_level": {}}
            for grid in grids:
                algos = "tile-summa,tile-two-level" if grid == grids[0] else "tile-two-level"
                result = product(sley, path, grid, algos, options)
                if "tile-summa" in result:
                    row["summa"] = result["tile-summa"]["volume_bytes"]["message"]
                    row["formula"] = result["tile-two-level"]["summa_bytes"]
                two = result["tile-two-level"]
                row["two_level"][grid] = {"bytes": two["volume_bytes"]["message"], "prepare": two["prepare_bytes"],
                                          "messages": two["messages"]["message"]}
            yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sley")
    parser.add_argument("graphs", nargs="+")
    for name, default in (("ranks", "16"), ("workgroup", "4"), ("grids", "4x4,2x8"), ("orders", "none,metis")):
        parser.add_argument(f"--{name}", default=default)
    parser.add_argument("--json")
    options = parser.parse_args()
    grids, rows = options.grids.split(","), []
    print("| graph | order | tile-summa, MiB | its formula | " +
          " | ".join(f"tile-two-level {g}, MiB | of tile-summa" for g in grids) + " |")
    print("|---" * (4 + 2 * len(grids)) + "|")
    for graph in options.graphs:
        for row in rows_of(options.sley, graph, options):
            cells = [row["graph"], row["order"], f"{row['summa'] / 2**20:.2f}", f"{row['formula'] / 2**20:.2f}"]
            for grid in grids:
                bytes_of = sum(row["two_level"][grid][part] for part in ("bytes", "prepare"))
                cells += [f"{bytes_of / 2**20:.2f}", f"{bytes_of / row['summa']:.2f}"]
            rows.append(row)
            print("| " + " | ".join(cells) + " |", flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
