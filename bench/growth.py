#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How time and memory of plans and products grow with the entries of a matrix, measured by tests/perf/bench_growth.

    bench/growth.py [OUT.jsonl] [--device cpu|cuda]

Two families of matrices from 1e5 entries on, in steps of about the square root of 10, up to 1e8 on the processors and 2e9 on a
GPU: band matrices, whose rows of X are close together, and random columns, whose rows of X come from the caches while they fit,
and otherwise from memory. On the processors also the square matrices of --data with more than 20,000 entries, on one rank and on
4 with several algorithms. OUT.jsonl (by default bench/results/growth/cpu.jsonl, or a file with the GPU's name) receives a line for
each case; the tables of bench/tables/growth.py are printed last. bench_growth, and for a GPU the module sley_cuda, must be built
in --build.
"""
import json
import os
import subprocess
import time

import common
import machine
from tables import growth

SMALLEST_DATA, MOST_DATA = 20000, 60


def spec(family, entries):
    return f"band:n={max(entries // 17, 1)},width=8" if family == "band" else f"er:n={max(entries // 16, 1)},nnz={entries}"


def sizes(least, most):
    steps = [10 ** (power // 2) * (3 if power % 2 else 1) for power in range(40)]
    out = [entries for entries in steps if least <= entries <= most]
    return out + [most] * bool(out and most > 1.5 * out[-1])


class Runs:
    def __init__(self, o, keep):
        self.o, self.keep, self.end, self.failed = o, keep, time.monotonic() + o.limit, 0

    def run(self, record, *words):
        """Runs the program and keeps its lines, each with the fields of its record."""
        o, left = self.o, self.end - time.monotonic()
        command = ["chrt", "-f", "10"] * o.realtime + [os.path.join(o.build, "tests", "perf", "bench_growth"), "--device", o.device,
                                                       "--threads", str(o.threads), *map(str, words)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=max(left, 0.001),
                                  env={"SLEY_MODULE_PATH": os.path.abspath(os.path.join(o.build, "src")), **os.environ})
        except subprocess.TimeoutExpired:
            print("left out, the time is over:", *words, flush=True)
            self.failed = 1
            return
        if done.returncode != 0:
            print(done.stderr.strip(), flush=True)
            self.failed = 1
        for line in done.stdout.splitlines():
            found = {**record, **json.loads(line)}
            if "name" in record:
                found["matrix"] = found.pop("name")
            self.keep(found)
            print(f"{found['matrix']:40} {found['ranks']} ranks {found['asked']:6} k {found['k']:3}: load {found['load_s']:.1f} s, plan "
                  f"{found['plan_ms']['least']:.3f} ms, product {found['product_ms']['least']:.3f} ms, peak {found['peak_bytes'] / 2**20:.1f} MiB"
                  + (f", GPU {found['device_bytes'] / 2**20:.1f} MiB" if found["device_bytes"] else ""), flush=True)
        time.sleep(o.rest)


def grow(runs, o):
    for entries in sizes(int(o.least), int(o.most)):
        for family in o.families.split(","):
            widths = o.k if entries <= o.most_all_k else o.k.split(",")[-1]
            runs.run({"record": "growth", "family": family}, "--k", widths, "--seconds", o.seconds, "--gather", spec(family, entries))


def real_matrices(runs, o):
    for name in list(common.real_matrices(o.data, SMALLEST_DATA, square=True))[:MOST_DATA]:
        for words in (["--k", "32", "--algo", "auto"], ["--k", "1,32", "--ranks", 4, "--algo", "halo,cover,auto"]):
            runs.run({"record": "data", "name": name}, "--seconds", o.seconds / 2, *words, os.path.join(o.data, name))


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("out", metavar="OUT.jsonl", nargs="?")
    parser.add("--build", common.BUILD)
    parser.add("--device", "cpu", choices=["cpu", "cuda"])
    parser.add("--threads", 0, "of each rank; 0: cores / ranks")
    parser.add("--families", "band,er")
    parser.add("--least", 1e5, "entries")
    parser.add("--most", 0.0, "entries; 0: 1e8, of cuda 2e9")
    parser.add("--k", "1,8,32", "widths; of large matrices only the last")
    parser.add("--most-all-k", 0.0, "entries up to which all widths are measured; 0: 1e7, of cuda 1e8")
    parser.add("--seconds", 0.3, "for the plans of a case, and for its products")
    parser.add("--limit", 1800.0, "seconds in all, after which cases are left out")
    parser.add("--data", os.environ.get("SLEY_DATA"), "folder of real matrices with a MANIFEST.tsv; cpu only")
    parser.add("--realtime", False, "run with real-time priority, beside other work (needs root)", action="store_true")
    parser.add("--rest", 0.0, "seconds of rest after each case")
    o = parser.parse_args()
    facts, on_gpu = machine.describe(o.device), o.device == "cuda"
    o.most, o.most_all_k = o.most or (2e9 if on_gpu else 1e8), o.most_all_k or (1e8 if on_gpu else 1e7)
    name = facts["gpu"].lower().replace(" ", "-").removeprefix("nvidia-") if on_gpu else "cpu"
    o.out = o.out or os.path.join(common.BENCH, "results", "growth", name + ".jsonl")
    os.makedirs(os.path.dirname(os.path.abspath(o.out)), exist_ok=True)
    with common.lines(o.out) as keep:
        runs = Runs(o, keep)
        keep({"record": "machine", **facts})
        grow(runs, o)
        if o.data and not on_gpu:
            real_matrices(runs, o)
    growth.print_file(o.out)
    return runs.failed


if __name__ == "__main__":
    common.start(main)
