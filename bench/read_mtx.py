#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reading Matrix Market text: compares sley.read (file to CSR) with scipy.io.mmread (file to COO), in one run.

Both read the same plain files from the page cache with the same number of threads, alternately. The best and the median of the
repeats are reported as MB of text per second, with the ratio of the times and the ratio of the processor times (all threads
together), which other work on the machine disturbs less. The files: the largest real patterns of the data folder, uncompressed,
and two generated ones of a million real entries in column order, with 6 and with 17 digits. Needs SLEY_LIBRARY, and
PYTHONPATH=python, if the package is not installed.
"""
import gzip
import os
import random
import statistics
import sys
import tempfile
import time

import numpy as np
import scipy.io

import common
import sley

REAL = ["mtx/cnr-2000.mtx.gz", "mtx/usa-road-NE.mtx.gz", "mtx/bcsstk17.mtx.gz", "mtx/delaunay_n16.mtx.gz"]


def timed(function):
    """Seconds by the clock, and on cores."""
    start, start_cpu = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - start, time.process_time() - start_cpu


def set_scipy_threads(threads):
    """Sets the number of threads of scipy's mmread, which has no public setting; its reader has an internal one."""
    try:
        import scipy.io._fast_matrix_market as reader
        reader.PARALLELISM = threads
        return True
    except (ImportError, AttributeError):
        return False


def generate(path, digits, entries=1_000_000, size=100_000):
    numbers = random.Random(1)
    with open(path, "w", encoding="ascii") as file:
        file.write(f"%%MatrixMarket matrix coordinate real general\n{size} {size} {entries}\n")
        file.writelines(f"{numbers.randint(1, size)} {1 + e * size // entries} {numbers.uniform(-1, 1):.{digits}g}\n" for e in range(entries))


def inputs(data, folder):
    for source in (os.path.join(data, name) for name in REAL):
        if not os.path.exists(source):
            print(f"note: {source} is absent", file=sys.stderr)
            continue
        path = os.path.join(folder, os.path.basename(source)[:-3])
        with gzip.open(source) as packed, open(path, "wb") as file:
            file.write(packed.read())
        yield path
    for digits in (6, 17):
        path = os.path.join(folder, f"real{digits}.mtx")
        generate(path, digits)
        yield path


def measure(o, path):
    size, dtype = os.path.getsize(path) / 1e6, np.float32 if o.dtype == "f32" else np.float64
    ours, theirs = [], []
    for _ in range(o.repeat):
        ours.append(timed(lambda: sley.read(path, dtype=dtype, threads=o.threads)))
        theirs.append(timed(lambda: scipy.io.mmread(path)))
    (ours, our_cpu), (theirs, their_cpu) = zip(*ours), zip(*theirs)
    return {"file": os.path.basename(path), "megabytes": size, "sley_mb_s": size / min(ours), "sley_median_mb_s": size / statistics.median(ours),
            "scipy_mb_s": size / min(theirs), "scipy_median_mb_s": size / statistics.median(theirs), "ratio": min(theirs) / min(ours),
            "cpu_ratio": min(their_cpu) / min(our_cpu), "sley_cpu_mb_s": size / min(our_cpu)}


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("files", nargs="*", help="plain .mtx files in place of the usual ones")
    parser.add("--data", common.DATA)
    parser.add("--threads", 2)
    parser.add("--repeat", 7)
    parser.add("--dtype", "f32", choices=["f32", "f64"])
    parser.add("--json", None, "file for the numbers")
    o = parser.parse_args()
    parser.check(o)
    same_threads = set_scipy_threads(o.threads)
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(o, path) for path in o.files or inputs(o.data, folder)]
    common.show(["file", "MB", "sley MB/s", "(median)", "scipy MB/s", "(median)", "ratio", "cpu"],
                [[row[key] for key in ("file", "megabytes", "sley_mb_s", "sley_median_mb_s", "scipy_mb_s", "scipy_median_mb_s", "ratio", "cpu_ratio")]
                 for row in rows])
    result = {"threads": o.threads, "dtype": o.dtype, "repeat": o.repeat, "scipy_same_threads": same_threads, "cores": os.cpu_count(), "files": rows,
              "sley_geomean_mb_s": statistics.geometric_mean(row["sley_mb_s"] for row in rows),
              "ratio_geomean": statistics.geometric_mean(row["ratio"] for row in rows)}
    print(f"geometric mean: {result['sley_geomean_mb_s']:.0f} MB/s, {result['ratio_geomean']:.2f} x scipy")
    common.save(o.json, result)


if __name__ == "__main__":
    common.start(main)
