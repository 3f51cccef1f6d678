#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are predictions right without `sley tune`? Ten real matrices x 1, 2, 4 and 16 ranks x all algorithms: the time predicted with
the built-in figures, divided by the measured time.

Ranks are threads of one process and share this machine's cores. A time is the least of the --rounds medians, because other work
on the machine can only make times longer. With --again the matrices are predicted again and the times of OUT.json kept, which
shows the effect of a change of the model within a minute. Exit status 1 if a ratio is outside of --least to --most.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

MATRICES = ("mtx/usa-road-NE.mtx.gz", "mtx/cnr-2000.mtx.gz", "metis/wave.graph.gz", "snap/web-NotreDame.txt.gz",
            "npz/coauthor_phy.features.npz", "snap/soc-Epinions1.txt.gz", "gnn/coauthor_phy.adj.mtx.gz", "mtx/bcsstk17.mtx.gz",
            "mtx/delaunay_n16.mtx.gz", "mtx/p2p-Gnutella31.mtx.gz")


def run(options, words):
    """Runs the command with --json; returns what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        command = [options.sley, *words, "--json", path]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "SLEY_MACHINE": options.machine})
        if done.returncode != 0:
            sys.exit(f"predict.py: {' '.join(command)}: exit {done.returncode}: {done.stdout}{done.stderr}")
        with open(path) as stream:
            return json.load(stream)["algorithms"]


def words_of(options, matrix, ranks):
    threads = max(len(os.sched_getaffinity(0)) // ranks, 1)
    return [os.path.join(options.data, matrix), "--k", str(options.k), "--ranks", str(ranks), "--threads", str(threads),
            "--device", "cpu"]


def predict(options, matrix, ranks):
    return {a["algo"]: (a["predicted_ms"], a["phases_ms"])
            for a in run(options, ["plan", *words_of(options, matrix, ranks), "--algo", "all"])}


def measure(options, matrix, ranks, algos):
    times = {}
    words = words_of(options, matrix, ranks) + ["--algo", ",".join(list(algos) * options.rounds), "--repeat", "1000", "--warmup",
                                                "2", "--budget", str(options.budget), "--no-verify"]
    for one in run(options, ["spmm", *words]):
        times[one["algo"]] = min(times.get(one["algo"], math.inf), one["time_ms"]["median"])
    return times


def table(cases, options):
    algos = list(cases[0]["algorithms"])
    print("predicted over measured\n\nmatrix".ljust(32) + " ranks " + " ".join(a.replace("pipelined", "p").rjust(9)[:14] for a in algos))
    everything, outside = [], 0
    for c in cases:
        ratios = [a["predicted_ms"] / a["measured_ms"] for a in c["algorithms"].values()]
        everything += [(r, c["matrix"], c["ranks"], name) for r, name in zip(ratios, c["algorithms"])]
        cells = [f"{r:.2f}{' ' if options.least <= r <= options.most else '*'}" for r in ratios]
        print(f"{c['matrix']:32} {c['ranks']:4}  " + " ".join(cell.rjust(max(9, min(len(a.replace('pipelined', 'p')), 14)))
                                                        for cell, a in zip(cells, algos)))
    outside = sum(not options.least <= r[0] <= options.most for r in everything)
    logs = [math.log(r[0]) for r in everything]
    low, high = min(everything), max(everything)
    print(f"\n{len(everything)} predictions: geometric mean {math.exp(sum(logs) / len(logs)):.2f}, worst {low[0]:.2f} "
          f"({low[3]}, {low[1]}, {low[2]} ranks) and {high[0]:.2f} ({high[3]}, {high[1]}, {high[2]} ranks); "
          f"{outside} outside {options.least} to {options.most}")
    return outside


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sley")
    parser.add_argument("out", metavar="OUT.json")
    parser.add_argument("--data", required=True, help="folder of the matrices")
    parser.add_argument("--matrices", default=",".join(MATRICES))
    parser.add_argument("--ranks", default="1,2,4,16")
    parser.add_argument("--k", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--budget", type=float, default=0.15, help="seconds for one algorithm's products in a round")
    parser.add_argument("--machine", default="builtin", help="a description instead of the figures built in")
    parser.add_argument("--again", action="store_true", help="predict anew, keep the times")
    parser.add_argument("--least", type=float, default=0.6)
    parser.add_argument("--most", type=float, default=1.7)
    options = parser.parse_args()
    kept = {}
    if options.again:
        with open(options.out) as stream:
            kept = {(c["matrix"], c["ranks"]): c for c in json.load(stream)["cases"]}
    cases = []
    for matrix in options.matrices.split(","):
        for ranks in map(int, options.ranks.split(",")):
            told = predict(options, matrix, ranks)
            times = ({name: a["measured_ms"] for name, a in kept[matrix, ranks]["algorithms"].items()} if options.again
                     else measure(options, matrix, ranks, told))
            cases.append({"matrix": matrix, "ranks": ranks, "k": options.k, "algorithms": {
                name: {"predicted_ms": told[name][0], "measured_ms": times[name], "phases_ms": told[name][1]} for name in told}})
            with open(options.out, "w") as stream:
                stream.write('{"cases": [\n' + ",\n".join("  " + json.dumps(c) for c in cases) + "\n]}\n")
            if not options.again:
                print(matrix, ranks, flush=True, file=sys.stderr)
    return 1 if table(cases, options) else 0


if __name__ == "__main__":
    sys.exit(main())
