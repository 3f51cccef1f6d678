#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares A A of sparse matrices by Sley with scipy, SuiteSparse:GraphBLAS and MKL, if these are installed.

The rivals' results are converted to the form of Sley's, rows with ascending columns: GraphBLAS by GrB_wait, MKL by
mkl_sparse_order, scipy by sort_indices; that is part of their time. Every product must have the same number of entries, or the
run ends with status 1. Each case is measured in turns, and its least time counts. The core time of all threads is also
reported: it is more reliable on a machine that others use.

Needs SLEY_LIBRARY, and PYTHONPATH=python, if the package is not installed. GraphBLAS is libgraphblas.so.7 of the system (Debian:
libgraphblas7), MKL libmkl_rt of the wheel `mkl`.
"""
import ctypes
import math
import os
import random
import sys
import time

import numpy as np

import common
import rivals
import sley
from tables import geomean

LARGEST = ("mtx/cnr-2000.mtx.gz", "mtx/usa-road-NE.mtx.gz", "snap/web-NotreDame.txt.gz", "metis/wave.graph.gz",
           "snap/soc-Epinions1.txt.gz", "mtx/bcsstk17.mtx.gz", "mtx/delaunay_n16.mtx.gz",
           "edgelist/musae_github_edges.csv.gz", "mtx/bcsstk16.mtx.gz", "metis/wing.graph.gz")
RMAT = ("rmat:scale=14,edgefactor=8", "rmat:scale=15,edgefactor=8", "rmat:scale=16,edgefactor=8")


# ---- rivals: `prepare` returns a function that multiplies and returns the number of entries

class GraphBLAS(rivals.Library):
    """GrB_mxm, on matrices built once."""

    def __init__(self, threads):
        super().__init__("libgraphblas.so.7")
        self.call("GrB_init", 0)
        self.call("GxB_Global_Option_set", 5, ctypes.c_int(threads))  # GxB_GLOBAL_NTHREADS

    def object(self, name):
        return ctypes.c_void_p.in_dll(self.lib, name)

    def prepare(self, a):
        kind = "FP32" if a.dtype == np.float32 else "FP64"
        size, count, matrix = ctypes.c_uint64(a.shape[0]), ctypes.c_uint64(a.nnz), ctypes.c_void_p()
        row = np.repeat(np.arange(a.shape[0], dtype=np.uint64), np.diff(a.indptr))
        col = a.indices.astype(np.uint64)
        self.call("GrB_Matrix_new", ctypes.byref(matrix), self.object(f"GrB_{kind}"), size, size)
        self.call(f"GrB_Matrix_build_{kind}", matrix, *map(rivals.address, (row, col, a.data)), count, self.object(f"GrB_PLUS_{kind}"))
        self.call("GrB_wait" if hasattr(self.lib, "GrB_wait") else "GrB_Matrix_wait", matrix, 1)
        semiring = self.object(f"GrB_PLUS_TIMES_SEMIRING_{kind}")

        def product():
            out, nnz = ctypes.c_void_p(), ctypes.c_uint64()
            self.call("GrB_Matrix_new", ctypes.byref(out), self.object(f"GrB_{kind}"), size, size)
            self.call("GrB_mxm", out, None, None, semiring, matrix, matrix, None)
            self.call("GrB_Matrix_wait", out, 1)
            self.call("GrB_Matrix_nvals", ctypes.byref(nnz), out)
            self.call("GrB_Matrix_free", ctypes.byref(out))
            return nnz.value
        return product


class Mkl(rivals.Mkl):
    """mkl_sparse_spmm, on handles created once."""

    def prepare(self, a):
        kept = a.indptr.astype(np.int32), a.indices.astype(np.int32), a.data
        matrix = self.handle(a.shape, *kept)

        def product():
            out, base, rows, cols, found = ctypes.c_void_p(), *(ctypes.c_int() for _ in range(3)), [ctypes.c_void_p() for _ in range(4)]
            self.call("mkl_sparse_spmm", 10, matrix, matrix, ctypes.byref(out))
            self.call("mkl_sparse_order", out)
            self.typed("mkl_sparse_TYPE_export_csr", a.dtype, out, *map(ctypes.byref, (base, rows, cols, *found)))
            nnz = ctypes.cast(found[1], ctypes.POINTER(ctypes.c_int))[rows.value - 1] if rows.value else 0
            self.call("mkl_sparse_destroy", out)
            return nnz if kept else 0
        return product


class Scipy:
    """a @ a of scipy, which uses one thread."""

    def __init__(self, threads):
        pass

    def prepare(self, a):
        def product():
            c = a @ a
            c.sort_indices()
            return int(c.nnz)
        return product


def installed(threads):
    """The installed rivals; stderr says why the others are missing."""
    found = {}
    for name, kind in {"scipy": Scipy, "graphblas": GraphBLAS, "mkl": Mkl}.items():
        try:
            found[name] = kind(threads)
        except (OSError, RuntimeError) as error:
            print(f"without {name}: {error}", file=sys.stderr)
    return found


# ---- the run

def best_times(products, repeat):
    """Milliseconds of each, by the clock ("ms") and on cores ("cpu_ms"), and the number of entries that it returned."""
    clocks = {"ms": time.perf_counter, "cpu_ms": time.process_time}
    times, entries = {clock: dict.fromkeys(products, math.inf) for clock in clocks}, {}
    for _ in range(repeat):
        for name, product in products.items():
            start = {clock: now() for clock, now in clocks.items()}
            entries[name] = product()
            for clock, now in clocks.items():
                times[clock][name] = min(times[clock][name], 1e3 * (now() - start[clock]))
    return times, entries


def draw(seed, count):
    rng = random.Random(seed)
    return [f"er:n={rng.randrange(1000, 60000)},nnz={rng.randrange(10000, 400000)},seed={rng.randrange(1000)}"
            if rng.random() < 0.5 else
            f"rmat:scale={rng.randrange(9, 15)},edgefactor={rng.randrange(2, 17)},seed={rng.randrange(1000)}"
            for _ in range(count)]


def measure(o, name, matrix, others):
    a = matrix.to_scipy()
    times, entries = best_times({"sley": lambda: sley.spgemm(matrix, matrix, threads=o.threads).nnz,
                                 **{rival: other.prepare(a) for rival, other in others.items()}}, o.repeat)
    case = {"name": name, "rows": a.shape[0], "nnz": a.nnz, "products": int(np.diff(a.indptr)[a.indices].sum()), "nnz_c": entries["sley"], **times,
            "same": len(set(entries.values())) == 1}
    print(f"{name}: {case['products']} products, ms (on cores): "
          + "  ".join(f"{rival} {ms:.2f} ({times['cpu_ms'][rival]:.2f})" for rival, ms in times["ms"].items()), flush=True)
    return case


def summary(cases, rival, clock):
    ratios = {each["name"]: each[clock][rival] / each[clock]["sley"] for each in cases}
    worst = min(ratios, key=lambda name: ratios[name])
    return {"geomean": geomean(ratios.values()), "worst": ratios[worst], "worst_case": worst}


def main():
    parser = common.Parser(__doc__)
    parser.add("--data", None, "folder of the real matrices")
    parser.add("--threads", 2)
    parser.add("--seed", 1)
    parser.add("--cases", 6, "drawn matrices")
    parser.add("--repeat", 5)
    parser.add("--dtype", "f64", choices=("f32", "f64"))
    parser.add("--json")
    o = parser.parse_args()
    parser.check(o)
    dtype = np.float32 if o.dtype == "f32" else np.float64
    others, cases = installed(o.threads), []
    real = [os.path.join(o.data, each) for each in LARGEST] if o.data else []
    for name in [*real, *RMAT, *draw(o.seed, o.cases)]:
        matrix = sley.generate(name, dtype=dtype) if ":" in name else sley.read(name, dtype=dtype)
        if matrix.shape[0] != matrix.shape[1]:
            print(f"{name} is not square: left out", file=sys.stderr)
            continue
        cases.append(measure(o, os.path.basename(name), matrix, others))
    result = {"threads": o.threads, "dtype": o.dtype, "seed": o.seed, "cases": cases,
              "times_as_fast": {rival: summary(cases, rival, "ms") for rival in others},
              "times_as_fast_on_cores": {rival: summary(cases, rival, "cpu_ms") for rival in others}}
    for by in ("times_as_fast", "times_as_fast_on_cores"):
        for rival, each in result[by].items():
            print(f"{by}, {rival}: geomean {each['geomean']:.2f}, worst {each['worst']:.2f} ({each['worst_case']})")
    common.save(o.json, result)
    return 0 if all(each["same"] for each in cases) else 1


if __name__ == "__main__":
    common.start(main)
