#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reading Matrix Market text: compares sley_matrix_read (file to CSR) with scipy.io.mmread (file to COO), in one run.

Both read the same plain files from the page cache with the same number of threads, alternately. The best and the median of the
repeats are reported as MB of text per second, with the ratio of the times and the ratio of the processor times (all threads
together), which other work on the machine disturbs less. The files: the largest real patterns of the data folder, uncompressed,
and two generated ones of a million real entries in column order, with 6 and with 17 digits. Prints a table, and with --json
FILE (or -) the numbers.
"""
import argparse
import ctypes
import gzip
import json
import os
import random
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REAL = ["mtx/cnr-2000.mtx.gz", "mtx/usa-road-NE.mtx.gz", "mtx/bcsstk17.mtx.gz", "mtx/delaunay_n16.mtx.gz"]


class ReadOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("dtype", ctypes.c_int), ("threads", ctypes.c_int),
                ("seed", ctypes.c_uint64)]


def load_library(path):
    library = ctypes.CDLL(path)
    library.sley_matrix_read.argtypes = [ctypes.c_char_p, ctypes.POINTER(ReadOptions), ctypes.POINTER(ctypes.c_void_p)]
    library.sley_matrix_destroy.argtypes = [ctypes.c_void_p]
    library.sley_last_error.restype = ctypes.c_char_p
    return library


def time_sley(library, path, threads, dtype):
    options = ReadOptions(ctypes.sizeof(ReadOptions), dtype, threads, 1)
    matrix = ctypes.c_void_p()
    start, start_cpu = time.perf_counter(), time.process_time()
    status = library.sley_matrix_read(path.encode(), ctypes.byref(options), ctypes.byref(matrix))
    seconds = time.perf_counter() - start, time.process_time() - start_cpu
    if status != 0:
        sys.exit(library.sley_last_error().decode())
    library.sley_matrix_destroy(matrix)
    return seconds


def time_scipy(path):
    import scipy.io
    start, start_cpu = time.perf_counter(), time.process_time()
    scipy.io.mmread(path)
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
    with open(path, "w") as file:
        file.write(f"%%MatrixMarket matrix coordinate real general\n{size} {size} {entries}\n")
        file.writelines(f"{numbers.randint(1, size)} {1 + e * size // entries} {numbers.uniform(-1, 1):.{digits}g}\n"
                        for e in range(entries))


def inputs(data, folder):
    for name in REAL:
        source = os.path.join(data, name)
        if not os.path.exists(source):
            print(f"note: {source} is absent", file=sys.stderr)
            continue
        path = os.path.join(folder, os.path.basename(name)[:-3])
        with gzip.open(source) as packed, open(path, "wb") as file:
            file.write(packed.read())
        yield path
    for digits in (6, 17):
        path = os.path.join(folder, f"real{digits}.mtx")
        generate(path, digits)
        yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", help="plain .mtx files in place of the usual ones")
    parser.add_argument("--library", default=os.path.join(HERE, "../build/src/libsley.so"))
    parser.add_argument("--data", default=os.environ.get("SLEY_DATA", os.path.join(HERE, "../../shared/data")))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f32")
    parser.add_argument("--json", help="write the numbers to this file, - for stdout")
    args = parser.parse_args()
    library = load_library(args.library)
    same_threads = set_scipy_threads(args.threads)
    rows = []
    talk = sys.stderr if args.json == "-" else sys.stdout
    print(f"{'file':24} {'MB':>7} {'sley MB/s':>10} {'(median)':>9} {'scipy MB/s':>11} {'(median)':>9} {'ratio':>6} "
          f"{'cpu':>6}", file=talk)
    with tempfile.TemporaryDirectory() as folder:
        for path in args.files or inputs(args.data, folder):
            size = os.path.getsize(path) / 1e6
            ours, theirs = [], []
            for _ in range(args.repeat):
                ours.append(time_sley(library, path, args.threads, 0 if args.dtype == "f32" else 1))
                theirs.append(time_scipy(path))
            ours, our_cpu = zip(*ours)
            theirs, their_cpu = zip(*theirs)
            row = {"file": os.path.basename(path), "megabytes": size, "sley_mb_s": size / min(ours),
                   "sley_median_mb_s": size / statistics.median(ours), "scipy_mb_s": size / min(theirs),
                   "scipy_median_mb_s": size / statistics.median(theirs), "ratio": min(theirs) / min(ours),
                   "cpu_ratio": min(their_cpu) / min(our_cpu), "sley_cpu_mb_s": size / min(our_cpu)}
            rows.append(row)
            print(f"{row['file']:24} {size:7.1f} {row['sley_mb_s']:10.0f} {row['sley_median_mb_s']:9.0f} "
                  f"{row['scipy_mb_s']:11.0f} {row['scipy_median_mb_s']:9.0f} {row['ratio']:6.2f} "
                  f"{row['cpu_ratio']:6.2f}", file=talk)
    result = {"threads": args.threads, "dtype": args.dtype, "repeat": args.repeat,
              "scipy_same_threads": same_threads, "cores": os.cpu_count(), "files": rows,
              "sley_geomean_mb_s": statistics.geometric_mean(r["sley_mb_s"] for r in rows),
              "ratio_geomean": statistics.geometric_mean(r["ratio"] for r in rows)}
    print(f"geometric mean: {result['sley_geomean_mb_s']:.0f} MB/s, {result['ratio_geomean']:.2f} x scipy", file=talk)
    if args.json == "-":
        json.dump(result, sys.stdout, indent=1)
    elif args.json:
        with open(args.json, "w") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
