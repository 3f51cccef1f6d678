#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figure 2 of the SpCCL paper: the time of a reduce-scatter with Pici, by the thresholds at which messages go dense.

The ring of the paper, with `--dense-above INTER,INTRA,`: the command takes densities, the paper's thresholds are shares of zeros. Each pair
is measured beside the dense collective, in rounds.
"""
import statistics

import spccl
from spccl import common, paper

import charts

THEIRS = {"intra_thresh": 0.6, "inter_thresh": 0.5, "GPUs": 16, "MiB": 512, "zeros": 0.95}
DIFFERS = ("CPUs instead of GPUs: hosts are network namespaces of one machine, joined by shaped links, whose ranks share two cores, and compute far more slowly than "
           "GPUs. Shorter arrays.")


def row_of(inter, intra, rounds):
    """A row of the results: medians over the rounds."""
    ms, dense = ([one[key] / 1e3 for one in rounds] for key in ("time_us", "dense_us"))
    first = rounds[0]
    return {"inter": inter, "intra": intra, "ms": statistics.median(ms), "least_ms": min(ms), "most_ms": max(ms), "dense_ms": statistics.median(dense),
            "faster": statistics.median(dense) / statistics.median(ms), "bytes": first["wire_bytes"], "dense_bytes": first["dense_wire_bytes"],
            **{name: first[name] for name in ("inter_arrays", "inter_dense_arrays", "intra_arrays", "intra_dense_arrays", "density_out")}}


def main():
    parser = spccl.parser_of(__doc__, "figure2")
    parser.add("--layout", "4x2", "hosts x ranks of each")
    parser.add("--bytes", "8M")
    parser.add("--zeros", 0.95)
    parser.add("--steps", 5, "equal steps of each threshold from 0 to 1")
    parser.add("--rounds", 3, "of all pairs; their medians are taken")
    args = paper.start(parser)
    parser.check(args, steps=1, repeat=1, rounds=1)
    layout = spccl.layout_of(parser, args.layout)
    values = [i / args.steps for i in range(args.steps + 1)]
    pairs = [(inter, intra) for inter in values for intra in values]
    cases = {pair: [] for pair in pairs}
    for turn in range(args.rounds):  # so that what slows the machine for a while meets other pairs in other rounds
        for inter, intra in pairs[:: 1 if turn % 2 == 0 else -1]:
            found = spccl.measure(args, "reducescatter", layout, "--bytes", args.bytes, "--zeros", args.zeros, "--way", "ring", "--format", "pici",
                                  "--dense-above", f"{1 - inter:g},{1 - intra:g},")["cases"][0]
            assert found["wrong"] == 0, "a sum was wrong"
            cases[inter, intra].append(found)
            print(f"round {turn} inter {inter:.2f} intra {intra:.2f} {found['time_us'] / 1e3:8.2f} ms, dense {found['dense_us'] / 1e3:8.2f} ms", flush=True)
    rows = [row_of(*pair, found) for pair, found in cases.items()]
    best = max(rows, key=lambda row: row["faster"])
    grid = charts.heat("dense time / time; right: intra_thresh 0 to 1, down: inter_thresh 0 to 1", [row["faster"] for row in rows], len(values),
                       f"best {best['faster']:.2f} at inter {best['inter']:g}, intra {best['intra']:g}; least {min(row['faster'] for row in rows):.2f}")
    shares = charts.heat("bytes / dense bytes", [row["bytes"] / row["dense_bytes"] for row in rows], len(values),
                         f"{min(row['bytes'] / row['dense_bytes'] for row in rows):.2f} to {max(row['bytes'] / row['dense_bytes'] for row in rows):.2f}")
    paper.draw(args, charts.beside(grid, shares))
    return paper.end(args, "Figure 2: a reduce-scatter by its thresholds", THEIRS, DIFFERS, best={name: best[name] for name in ("inter", "intra", "faster")}, rows=rows)


common.start(main)
