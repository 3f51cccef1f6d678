#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well do products on two GPUs hide their exchange? Draws graphs and widths with a seed and times them on one GPU and on two by
bench_ranks_gpu, which verifies every product. A product on two GPUs cannot take less than half of the time on one, nor less than
its halo takes at the rate of a link (--link GB/s). Prints its time relative to the longer of the two, the speed-up, and the time
of NCCL broadcasts with the fastest product of cuSPARSE relative to Sley's.

Usage: overlap.py [BUILD] [--graphs N] [--widths N] [--widest K] [--dtypes T,T] [--link GB/s] [--seed N] [--json FILE]
"""
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import common  # noqa: E402
import draw as drawn  # noqa: E402
from tables import geomean, gpu  # noqa: E402

NARROWEST = 8


def cases(o):
    """For each graph: its spec, and its widths as text."""
    chance = random.Random(o.seed)
    for name in drawn.graphs(chance, o.graphs):
        widths = sorted({int(NARROWEST * (o.widest / NARROWEST) ** chance.random()) for _ in range(o.widths)})
        yield name, ",".join(map(str, widths))


def measure(o, name, widths, dtype, folder):
    """The cases of a graph, by width."""
    results = os.path.join(folder, "results")
    subprocess.run([os.path.join(o.build, "bench/gpu/bench_ranks_gpu"), "--gpus", "1,2", "--matrices", name, "--k", widths, "--dtype", dtype,
                    "--repeat", "9", "--cache", folder, "--json", results], check=True, stdout=subprocess.DEVNULL)
    if o.json:
        with open(o.json, "ab") as file, open(results, "rb") as lines:
            shutil.copyfileobj(lines, file)
    return {k: case for (_, _, k), case in gpu.overlap_cases(results, o.link)[1].items()}


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("build", nargs="?", default=common.BUILD)
    parser.add("--graphs", 6)
    parser.add("--widths", 10)
    parser.add("--widest", 256)
    parser.add("--dtypes", "f32,f16,f64")
    parser.add("--link", gpu.LINK)
    parser.add("--seed", 1)
    parser.add("--json", "")
    o = parser.parse_args()
    bound, speed_ups, rivals = [], [], []
    print(f"seed {o.seed}: graph, type, k: ms on 1 and 2 GPUs, speed-up, time / max(half of one GPU, halo at {o.link:g} GB/s), "
          "share of that halo, broadcasts / Sley")
    with tempfile.TemporaryDirectory() as folder:
        for name, widths in cases(o):
            for dtype in o.dtypes.split(","):
                for k, c in sorted(measure(o, name, widths, dtype, folder).items()):
                    bound.append(c["bound"])
                    rivals.append(c["broadcast"])
                    if c["share"] < 0.7:
                        speed_ups.append(c["one"] / c["two"])
                    print(f"{name} {dtype} {k}: {c['one']:.3f} {c['two']:.3f} {c['one'] / c['two']:.2f} {c['bound']:.2f} {c['share']:.2f} {c['broadcast']:.2f}",
                          flush=True)
    print(f"{len(bound)} cases: time / bound geomean {geomean(bound):.3f}, worst {max(bound):.2f}; broadcasts / Sley geomean "
          f"{geomean(rivals):.2f}, worst {min(rivals):.2f}")
    if speed_ups:
        print(f"{len(speed_ups)} cases whose halo takes less than 0.7 of half: speed-up geomean {geomean(speed_ups):.2f}, least {min(speed_ups):.2f}")


if __name__ == "__main__":
    main()
