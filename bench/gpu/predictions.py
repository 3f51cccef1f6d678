#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is the planner right on GPUs? Measures them by `sley tune --device cuda`, then runs auto and single algorithms on twins over
2 and 4 GPUs, and writes a JSON line for each case: auto's choice, and for each algorithm its predicted and measured time and
the time of its plan. Times are medians.

    python3 bench/gpu/predictions.py SLEY OUT.jsonl [--machine FILE] [--cache DIR]

--machine: a description to use for predictions instead of measuring one ("builtin" too). bench/tables/gpu.py counts the
predictions within 25 %."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ALGOS = ("halo", "halo-pipelined", "cover", "bcast-1d")
TWINS, CASES = ("cyt", "clj", "prd"), ((2, 128), (4, 32), (4, 128))


def run(words, **env):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **env})
    if done.returncode != 0:
        sys.exit(f"predictions.py: {' '.join(words)}: exit {done.returncode}: {done.stdout[-500:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sley")
    parser.add_argument("out", metavar="OUT.jsonl")
    parser.add_argument("--machine")
    parser.add_argument("--cache", help="folder that keeps the matrices")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open(options.out, "w") as out:
        machine, cache = options.machine, options.cache or folder
        os.makedirs(cache, exist_ok=True)
        if not machine:
            machine = os.path.join(folder, "gpus.machine")
            run([options.sley, "tune", "--device", "cuda", "--out", machine])
        for twin in TWINS:
            matrix = os.path.join(cache, f"{twin}.sley")
            if not os.path.exists(matrix):
                run([options.sley, "generate", "twin:" + twin, "-o", matrix])
            for ranks, k in CASES:
                path = os.path.join(folder, "result.json")
                run([options.sley, "spmm", matrix, "--device", "cuda", "--ranks", str(ranks), "--k", str(k), "--algo", ",".join(("auto",) + ALGOS),
                     "--no-verify", "--warmup", "2", "--repeat", "8", "--json", path], SLEY_MACHINE=machine)
                with open(path) as stream:
                    first, *others = json.load(stream)["algorithms"]
                case = {"record": "prediction", "machine": "measured" if not options.machine else options.machine, "matrix": twin, "gpus": ranks,
                        "k": k, "choice": first["algo"], "choice_ms": first["time_ms"]["median"], "plan_ms": first["plan_ms"],
                        "algorithms": {a["algo"]: {"predicted_ms": a["predicted_ms"], "ms": a["time_ms"]["median"], "plan_ms": a["plan_ms"]}
                                       for a in others}}
                out.write(json.dumps(case) + "\n")
                out.flush()


if __name__ == "__main__":
    main()
