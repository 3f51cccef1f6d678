#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws cases for benchmarks with a seed: matrices of the test data, and widths whose logarithms are uniform.

Prints a line for each matrix: its path, a space, its widths separated by commas. spmm_local.py --cases and
bench_spmm_gpu --cases read such a file.
Usage: draw.py [--data FOLDER] [--cases NxW] [--least N] [--widest K] [--seed N] >FILE
"""
import argparse
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.environ.get("SLEY_DATA", os.path.join(HERE, "../../shared/data"))


def sizes_of(data):
    """Number of entries of the real matrices by name; entries of symmetric files count twice."""
    sizes = {}
    with open(os.path.join(data, "MANIFEST.tsv")) as manifest:
        for line in list(manifest)[1:]:
            field = line.rstrip("\n").split("\t")
            if field[1] == "npy" or "labels" in field[0] or "malformed" in field[0] or not field[4].isdigit():
                continue
            if field[5].startswith("HB c"):  # complex
                continue
            both = "symmetric" in field[5] and "fmt" not in field[5]
            sizes[field[0]] = int(field[4]) * (2 if both else 1)
    return sizes


def widths(chance, count, widest):
    """Up to count different widths from 1 to widest, in ascending order."""
    return sorted({min(widest, int((widest + 1) ** chance.random())) for _ in range(count)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=DATA)
    parser.add_argument("--cases", default="8x4", help="matrices, and widths of each")
    parser.add_argument("--least", type=int, default=20000, help="matrices have more entries")
    parser.add_argument("--widest", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    matrices, count = map(int, options.cases.split("x"))
    names = sorted(name for name, entries in sizes_of(options.data).items() if entries > options.least)
    chance = random.Random(options.seed)
    for name in chance.sample(names, min(matrices, len(names))):
        print(os.path.join(options.data, name), ",".join(map(str, widths(chance, count, options.widest))))


if __name__ == "__main__":
    main()
