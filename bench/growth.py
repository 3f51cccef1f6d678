#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How time and memory of plans and products grow with the entries of a matrix, measured by tests/perf/bench_growth.

Two families of matrices from 1e5 entries on, in steps of about the square root of 10: band matrices, whose rows of X are close
together, and random columns, whose rows of X come from the caches while they fit, and otherwise from memory. --data FOLDER:
also the square matrices of a folder with more than 20,000 entries, on one rank and on 4 with several algorithms. OUT.jsonl
receives a line for each case; the tables of bench/tables/growth.py are printed last. Run it by bench/growth.sh.
"""
import argparse
import json
import os
import subprocess
import sys
import time

from tables import growth

HERE = os.path.dirname(os.path.abspath(__file__))
SMALLEST_DATA, MOST_DATA = 20000, 60
RANKS, ALGOS = 4, "halo,cover,auto"


def spec(family, entries):
    if family == "band":
        return f"band:n={max(entries // 17, 1)},width=8"
    return f"er:n={max(entries // 16, 1)},nnz={entries}"


def sizes(least, most):
    out, power = [], 0
    while True:
        entries = int(10 ** (power // 2)) * (3 if power % 2 else 1)
        power += 1
        if entries > most:
            break
        if entries >= least:
            out.append(entries)
    if out and most > 1.5 * out[-1]:
        out.append(int(most))
    return out


def machine(device):
    script = "gpu/machine.py" if device == "cuda" else "machine.py"
    return json.loads(subprocess.run([sys.executable, os.path.join(HERE, script)], stdout=subprocess.PIPE, check=True).stdout)


class Runs:
    def __init__(self, options):
        self.options = options
        self.end = time.monotonic() + options.limit
        self.failed = 0
        self.stream = open(options.out, "w")

    def keep(self, record):
        self.stream.write(json.dumps(record) + "\n")
        self.stream.flush()

    def run(self, record, words):
        """Runs the program and keeps its lines, each with the fields of its record."""
        o, left = self.options, self.end - time.monotonic()
        if left < 1:
            print("left out, the time is over:", " ".join(words), flush=True)
            self.failed = 1
            return
        first = ["chrt", "-f", "10"] if o.realtime else []
        command = first + [o.bench, "--device", o.device, "--threads", str(o.threads)] + words
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=left)
        except subprocess.TimeoutExpired:
            print("left out, it took too long:", " ".join(words), flush=True)
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


def grow(runs, options):
    for entries in sizes(int(options.least), int(options.most)):
        for family in options.families.split(","):
            widths = options.k if entries <= options.most_all_k else options.k.split(",")[-1]
            runs.run({"record": "growth", "family": family},
                     ["--k", widths, "--seconds", str(options.seconds), "--gather", spec(family, entries)])


def data_files(folder):
    """Square matrices of MANIFEST.tsv, the largest first, without complex values and text that is not a matrix."""
    found = {}
    with open(os.path.join(folder, "MANIFEST.tsv")) as manifest:
        for line in list(manifest)[1:]:
            field = line.rstrip("\n").split("\t")
            if (field[1] == "npy" or "labels" in field[0] or "malformed" in field[0] or not field[4].isdigit() or field[5].startswith("HB c")
                    or "complex" in field[5] or field[2] != field[3]):
                continue
            found[field[0]] = int(field[4])
    names = [n for n in found if found[n] > SMALLEST_DATA]
    return sorted(names, key=found.get, reverse=True)[:MOST_DATA]


def real_matrices(runs, options):
    for name in data_files(options.data):
        path = os.path.join(options.data, name)
        runs.run({"record": "data", "name": name}, ["--seconds", str(options.seconds / 2), "--k", "32", "--algo", "auto", path])
        runs.run({"record": "data", "name": name},
                 ["--seconds", str(options.seconds / 2), "--k", "1,32", "--ranks", str(RANKS), "--algo", ALGOS, path])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT.jsonl")
    parser.add_argument("--bench", default=os.path.join(HERE, "..", "build", "tests", "perf", "bench_growth"))
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="of each rank; 0: cores / ranks")
    parser.add_argument("--families", default="band,er")
    parser.add_argument("--least", type=float, default=1e5, help="entries")
    parser.add_argument("--most", type=float, default=1e8, help="entries")
    parser.add_argument("--k", default="1,8,32", help="widths; of large matrices only the last")
    parser.add_argument("--most-all-k", type=float, default=1e7, help="entries up to which all widths are measured")
    parser.add_argument("--seconds", type=float, default=0.3, help="for the plans of a case, and for its products")
    parser.add_argument("--limit", type=float, default=1800, help="seconds in all, after which cases are left out")
    parser.add_argument("--data", help="folder of real matrices with a MANIFEST.tsv")
    parser.add_argument("--realtime", action="store_true", help="run with real-time priority, beside other work (needs root)")
    parser.add_argument("--rest", type=float, default=0, help="seconds of rest after each case")
    options = parser.parse_args()
    os.makedirs(os.path.dirname(os.path.abspath(options.out)), exist_ok=True)
    runs = Runs(options)
    runs.keep({"record": "machine", **machine(options.device)})
    grow(runs, options)
    if options.data:
        real_matrices(runs, options)
    runs.stream.close()
    growth.print_file(options.out)
    return runs.failed


if __name__ == "__main__":
    sys.exit(main())
