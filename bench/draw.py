#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws cases for benchmarks with a seed: matrices of the test data, and widths whose logarithms are uniform.

Prints a line for each matrix: its path, a space, its widths separated by commas. spmm_local.py --cases and
bench_spmm_gpu --cases read such a file.
Usage: draw.py [--data FOLDER] [--cases NxW] [--least N] [--widest K] [--seed N] >FILE
"""
import os
import random

import common


def widths(chance, count, widest):
    """Up to count different widths from 1 to widest, in ascending order."""
    return sorted({min(widest, int((widest + 1) ** chance.random())) for _ in range(count)})


def graphs(chance, count):
    """Specs of graphs of 5 to 60 million entries."""
    kinds = [lambda: f"twin:{chance.choice(common.TWINS)}:scale={chance.uniform(0.2, 0.6):.2f},seed={chance.randrange(1 << 20)}",
             lambda: f"rmat:scale={chance.randint(18, 20)},edgefactor={chance.randint(16, 40)},seed={chance.randrange(1 << 20)}",
             lambda: f"er:n={chance.randint(200000, 1500000)},nnz={chance.randint(5, 40)}000000,seed={chance.randrange(1 << 20)}"]
    return [kinds[i % len(kinds)]() for i in range(count)]


def main():
    parser = common.Parser(__doc__)
    parser.add("--data", common.DATA)
    parser.add("--cases", "8x4", "matrices, and widths of each")
    parser.add("--least", 20000, "matrices have more entries")
    parser.add("--widest", 1024)
    parser.add("--seed", 1)
    o = parser.parse_args()
    matrices, count = map(int, o.cases.split("x"))
    names, chance = sorted(common.real_matrices(o.data, o.least)), random.Random(o.seed)
    for name in chance.sample(names, min(matrices, len(names))):
        print(os.path.join(o.data, name), ",".join(map(str, widths(chance, count, o.widest))))


if __name__ == "__main__":
    main()
