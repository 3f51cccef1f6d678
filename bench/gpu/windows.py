#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often is the model of row windows right? Draws kinds of windows and widths with a seed, makes a matrix of many windows of
each kind, and times the kernels stream, tensor and hybrid on it (`sley bench`). The model is right if the kernel that hybrid
has chosen is the faster one, or within 2 %, the scatter of times. Prints a line for each type of values: how often the model is
right, and the time of hybrid relative to the better kernel.

    python3 bench/gpu/windows.py SLEY [--seed 4711] [--matrices 24] [--widths 4] [--types f32,tf32,f16] [--raw FILE] [--matrix "LIST"]

--raw: writes a line for each case: type, matrix, k, ms of stream, tensor and hybrid, and the share of entries that hybrid
processes on Tensor cores. --matrix: these matrices instead of drawn ones. SLEY_MACHINE names the description whose figures are
used."""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from draw import widths as draw_widths  # noqa: E402

ENTRIES, LEAST, MOST, EQUAL, WIDEST = 3000000, 512, 16384, 1.02, 300


def draw(count, seed):
    """Draws cases as tune does (src/tune/tune_windows.c), with another seed."""
    chance = random.Random(seed)
    specs = []
    for i in range(count):
        low, high = (200, 3000) if i % 6 == 5 else (1, 140)
        columns = round(low * (high / low) ** chance.random())
        entries = round(columns * 15 ** chance.random())
        windows = max(LEAST, min(MOST, ENTRIES // entries))
        near = f",near={max(4 * columns, 32)}" if i % 2 else ""
        specs.append(f"windows:rows={16 * windows},columns={columns},entries={entries}{near},seed={seed + i}")
    return specs


def measure(options, spec, kind, folder):
    """The cases of a matrix: its widths depend on the seed and on its name."""
    path = os.path.join(folder, f"{kind}.json")
    widths = draw_widths(random.Random(f"{options.seed} {spec}"), options.widths, WIDEST)
    words = [options.sley, "bench", "--device", "cuda", "--matrix", spec, "--k", ",".join(map(str, widths)),
             "--seed", str(options.seed), "--repeat", "5", "--budget", "0.2", "--dtype", "f32" if kind == "tf32" else kind,
             "--precision", "tf32" if kind == "tf32" else "full", "--json", path]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"windows.py: {kind}: exit {done.returncode}: {done.stderr[-800:]}")
    with open(path) as stream:
        return json.load(stream)["cases"]


def times_of(case):
    times = {t["name"]: t for t in case["times"] if "median_ms" in t}
    if "tensor" not in times or "stream" not in times or "hybrid" not in times:
        return None
    return times["stream"]["median_ms"], times["tensor"]["median_ms"], times["hybrid"]["median_ms"], times["hybrid"]["copied"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sley")
    parser.add_argument("--seed", type=int, default=4711)
    parser.add_argument("--matrices", type=int, default=24)
    parser.add_argument("--widths", type=int, default=4)
    parser.add_argument("--types", default="f32,tf32,f16")
    parser.add_argument("--raw")
    parser.add_argument("--matrix")
    options = parser.parse_args()
    specs = options.matrix.split() if options.matrix else draw(options.matrices, options.seed)
    raw = open(options.raw, "a") if options.raw else None
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.types.split(","):
            right, losses = 0, []
            for case in (each for spec in specs for each in measure(options, spec, kind, folder)):
                times = times_of(case)
                if not times:
                    continue
                stream, tensor, hybrid, copied = times
                if raw:
                    print(kind, case["matrix"], case["k"], *(f"{t:.5g}" for t in times), file=raw, flush=True)
                taken, other = (tensor, stream) if copied > 0.5 else (stream, tensor)
                right += taken <= EQUAL * other
                losses.append(hybrid / min(stream, tensor))
            if losses:
                mean = math.exp(sum(map(math.log, losses)) / len(losses))
                print(f"{kind}: {len(losses)} kinds of windows and widths, the model is right in {right}, {100 * right / len(losses):.1f} %; "
                      f"hybrid's time by that of the better kernel: geometric mean {mean:.3f}, worst {max(losses):.3f}")
            else:
                print(f"{kind}: no case is served by both kernels")


if __name__ == "__main__":
    main()
