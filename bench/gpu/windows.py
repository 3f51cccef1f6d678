#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often is the model of row windows right? Draws kinds of windows and widths with a seed, makes a matrix of many windows of
each kind, and times the kernels stream, tensor and hybrid on it (`sley bench`). The model is right if the kernel that hybrid
has chosen is the faster one, or within 2 %, the scatter of times. Prints a line for each type of values: how often the model is
right, and the time of hybrid relative to the better kernel. SLEY_MACHINE names the description whose figures are used."""
import contextlib
import random
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import common  # noqa: E402
import draw as drawn  # noqa: E402
from tables import geomean  # noqa: E402

ENTRIES, LEAST, MOST, EQUAL, WIDEST = 3000000, 512, 16384, 1.02, 300


def draw(count, seed):
    """Draws cases as tune does (src/tune/tune_windows.c), with another seed."""
    chance, specs = random.Random(seed), []
    for i in range(count):
        low, high = (200, 3000) if i % 6 == 5 else (1, 140)
        columns = round(low * (high / low) ** chance.random())
        entries = round(columns * 15 ** chance.random())
        windows = max(LEAST, min(MOST, ENTRIES // entries))
        near = f",near={max(4 * columns, 32)}" if i % 2 else ""
        specs.append(f"windows:rows={16 * windows},columns={columns},entries={entries}{near},seed={seed + i}")
    return specs


def measure(o, specs, kind):
    """The widths of a matrix depend on the seed and on its name. The cases that both kernels serve: matrix, k, (ms of stream, tensor and hybrid, share of hybrid's on Tensor cores)."""
    for spec in specs:
        widths = drawn.widths(random.Random(f"{o.seed} {spec}"), o.widths, WIDEST)
        found = common.sley(o.sley, "bench", "--device", "cuda", "--matrix", spec, "--k", ",".join(map(str, widths)), "--seed", o.seed, "--repeat", 5,
                            "--budget", 0.2, "--dtype", "f32" if kind == "tf32" else kind, "--precision", "tf32" if kind == "tf32" else "full")
        for case in found["cases"]:
            times = {t["name"]: t for t in case["times"] if "median_ms" in t}
            if {"tensor", "stream", "hybrid"} <= set(times):
                yield case["matrix"], case["k"], (*(times[name]["median_ms"] for name in ("stream", "tensor", "hybrid")),
                                                      times["hybrid"]["copied"])


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("sley")
    parser.add("--seed", 4711)
    parser.add("--matrices", 24)
    parser.add("--widths", 4)
    parser.add("--types", "f32,tf32,f16")
    parser.add("--raw", None, "file that receives a line for each case: type, matrix, k, ms of stream, tensor and hybrid, and the share of entries that "
               "hybrid processes on Tensor cores")
    parser.add("--matrix", None, "these matrices instead of drawn ones, separated by blanks")
    o = parser.parse_args()
    specs = o.matrix.split() if o.matrix else draw(o.matrices, o.seed)
    with open(o.raw, "a", encoding="utf-8") if o.raw else contextlib.nullcontext() as raw:
        for kind in o.types.split(","):
            right, losses = 0, []
            for matrix, k, times in measure(o, specs, kind):
                if raw:
                    print(kind, matrix, k, *(f"{t:.5g}" for t in times), file=raw, flush=True)
                stream, tensor, hybrid, copied = times
                taken, other = (tensor, stream) if copied > 0.5 else (stream, tensor)
                right += taken <= EQUAL * other
                losses.append(hybrid / min(stream, tensor))
            if losses:
                print(f"{kind}: {len(losses)} kinds of windows and widths, the model is right in {right}, {100 * right / len(losses):.1f} %; "
                      f"hybrid's time by that of the better kernel: geometric mean {geomean(losses):.3f}, worst {max(losses):.3f}")
            else:
                print(f"{kind}: no case is served by both kernels")


if __name__ == "__main__":
    common.start(main)
