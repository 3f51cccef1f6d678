#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of matrices with dense parts on one GPU, beside every cuSPARSE product, BSR and Blocked-ELL among them: a matrix of which 30 %
is full, a band, random blocks of 16 x 16, a pruned weight, an attention mask. Times by bench_spmm_gpu, and with --kernels by
`sley bench`, which compares Sley's own kernels. Prints the best cuSPARSE time divided by Sley's for each case.

Usage: dense.py [BUILD] [--dtype T,...] [--seed N] [--only NAME,...] [--repeat N] [--kernels] [--json FILE]
"""
import array
import os
import random
import struct
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import common  # noqa: E402
from tables import geomean, read_lines  # noqa: E402


def npy(kind, values):
    """An array in the format of numpy."""
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + values.tobytes()


def write(path, cols, rows):
    """Writes a matrix as scipy does; rows: the columns of each row, ascending."""
    first, col = array.array("q", [0]), array.array("i")
    for row in rows:
        col.extend(row)
        first.append(len(col))
    chance = random.Random(len(col))
    few = array.array("f", (chance.uniform(-1, 1) for _ in range(4099)))
    val = (few * (len(col) // len(few) + 1))[:len(col)]
    shape = array.array("q", [len(first) - 1, cols])
    with zipfile.ZipFile(path, "w") as file:
        for name, kind, values in (("indices", "<i4", col), ("indptr", "<i8", first), ("shape", "<i8", shape), ("data", "<f4", val)):
            file.writestr(name + ".npy", npy(kind, values))
        file.writestr("format.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) +
                      "{'descr': '|S3', 'fortran_order': False, 'shape': (), }".ljust(117).encode() + b"\ncsr")


def blocks(chance, size=16, rows=1250, each=20):
    """Random blocks of size x size."""
    for _ in range(rows):
        row = [b * size + i for b in sorted(chance.sample(range(rows), each)) for i in range(size)]
        for _ in range(size):
            yield row


def pruned(chance, rows=512, cols=2048, vector=4, density=0.05):
    """A weight of which vectors of 4 rows are kept."""
    for _ in range(rows // vector):
        row = sorted(chance.sample(range(cols), int(cols * density)))
        for _ in range(vector):
            yield row


def mask(chance, rows=1024, near=32, everywhere=17):
    """Each query attends to its neighbours and to a few columns that all attend to."""
    common_columns = set(chance.sample(range(rows), everywhere))
    for i in range(rows):
        yield sorted(common_columns | set(range(max(0, i - near), min(rows, i + near + 1))))


# The name, the spec or the rows and the number of columns, the widths.
CASES = [("full30", "er:n=3000,nnz=2700000", None, "100,500"), ("band81", "band:n=300000,width=40", None, "12,80,256"),
         ("blocks16", blocks, 20000, "32,128"), ("pruned", pruned, 2048, "128"), ("mask", mask, 1024, "64,256")]


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("build", nargs="?", default=common.BUILD)
    parser.add("--dtype", "f32,f64")
    parser.add("--seed", 1)
    parser.add("--only", "")
    parser.add("--repeat", 20)
    parser.add("--kernels", False, "also compare Sley's kernels", action="store_true")
    parser.add("--json", "")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases, results, name_of = os.path.join(folder, "cases"), o.json or os.path.join(folder, "results"), {}
        with open(cases, "w", encoding="utf-8") as file:
            for name, how, cols, widths in CASES:
                if o.only and name not in o.only.split(","):
                    continue
                spec = how
                if cols:
                    spec = os.path.join(folder, name + ".npz")
                    write(spec, cols, how(random.Random(o.seed)))
                name_of[spec] = name
                file.write(f"{spec} {widths}\n")
                if o.kernels:
                    for dtype in o.dtype.split(","):
                        print(f"## {name}, {dtype}", flush=True)
                        subprocess.run([os.path.join(o.build, "cli/sley"), "bench", "--device", "cuda", "--matrix", spec, "--k", widths,
                                        "--dtype", dtype, "--repeat", "7", "--budget", "0.2"], check=True)
        subprocess.run([os.path.join(o.build, "bench/gpu/bench_spmm_gpu"), "--cases", cases, "--dtype", o.dtype, "--repeat", str(o.repeat),
                        "--json", results], check=True)
        records = [record for record in read_lines(results) if record["record"] == "case"]
    print(f"seed {o.seed}: the best cuSPARSE time divided by Sley's")
    for r in records:
        if "ratio" in r:
            ms = r["sley"]["ms"]["median"]
            print(f"{name_of[r['matrix']]:9} k = {r['k']:4} {r['dtype']:4}  {r['ratio']:6.3f}  {ms:9.4f} ms, {r['best']:6} "
                  f"{r['cusparse_' + r['best']]['ms']['median']:9.4f} ms, plan {r['sley']['plan_ms'] / ms:6.1f} products")
    ratios = [r["ratio"] for r in records if "ratio" in r]
    if ratios:
        print(f"{len(ratios)} cases: geomean {geomean(ratios):.3f}, worst {min(ratios):.3f}")


if __name__ == "__main__":
    common.start(main)
