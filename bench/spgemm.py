#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares A A of sparse matrices by Sley with scipy, SuiteSparse:GraphBLAS and MKL, if these are installed.

The rivals' results are converted to the form of Sley's, rows with ascending columns: GraphBLAS by GrB_wait, MKL by
mkl_sparse_order, scipy by sort_indices; that is part of their time. Every product must have the same number of entries, or the
run ends with status 1. Each case is measured in turns, and its least time counts. The core time of all threads is also
reported: it is more reliable on a machine that others use.

Usage: SLEY_LIBRARY=libsley.so PYTHONPATH=python bench/spgemm.py [--data FOLDER] [--threads T] [--seed N] [--cases N]
       [--repeat N] [--dtype f32|f64] [--json FILE]
GraphBLAS is libgraphblas.so.7 of the system (Debian: libgraphblas7), MKL libmkl_rt of the wheel `mkl`.
"""
import argparse
import ctypes
import glob
import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import sley

LARGEST = ("mtx/cnr-2000.mtx.gz", "mtx/usa-road-NE.mtx.gz", "snap/web-NotreDame.txt.gz", "metis/wave.graph.gz",
           "snap/soc-Epinions1.txt.gz", "mtx/bcsstk17.mtx.gz", "mtx/delaunay_n16.mtx.gz",
           "edgelist/musae_github_edges.csv.gz", "mtx/bcsstk16.mtx.gz", "metis/wing.graph.gz")
RMAT = ("rmat:scale=14,edgefactor=8", "rmat:scale=15,edgefactor=8", "rmat:scale=16,edgefactor=8")
Product = Callable[[], int]


class GraphBLAS:
    """GrB_mxm, on matrices built once."""

    def __init__(self, threads: int) -> None:
        self.lib = ctypes.CDLL("libgraphblas.so.7")
        self._call("GrB_init", 0)
        self._call("GxB_Global_Option_set", 5, ctypes.c_int(threads))  # GxB_GLOBAL_NTHREADS

    def _call(self, name: str, *arguments: Any) -> None:
        if getattr(self.lib, name)(*arguments) != 0:
            raise RuntimeError(f"{name} failed")

    def _object(self, name: str) -> ctypes.c_void_p:
        return ctypes.c_void_p.in_dll(self.lib, name)

    def prepare(self, a: Any) -> Product:
        kind = "FP32" if a.dtype == np.float32 else "FP64"
        size, count = ctypes.c_uint64(a.shape[0]), ctypes.c_uint64(a.nnz)
        row = np.repeat(np.arange(a.shape[0], dtype=np.uint64), np.diff(a.indptr))
        col = a.indices.astype(np.uint64)
        matrix = ctypes.c_void_p()
        self._call("GrB_Matrix_new", ctypes.byref(matrix), self._object(f"GrB_{kind}"), size, size)
        self._call(f"GrB_Matrix_build_{kind}", matrix, *(ctypes.c_void_p(x.ctypes.data) for x in (row, col, a.data)),
                   count, self._object(f"GrB_PLUS_{kind}"))
        self._call("GrB_wait" if hasattr(self.lib, "GrB_wait") else "GrB_Matrix_wait", matrix, 1)
        semiring = self._object(f"GrB_PLUS_TIMES_SEMIRING_{kind}")

        def product() -> int:
            out, nnz = ctypes.c_void_p(), ctypes.c_uint64()
            self._call("GrB_Matrix_new", ctypes.byref(out), self._object(f"GrB_{kind}"), size, size)
            self._call("GrB_mxm", out, None, None, semiring, matrix, matrix, None)
            self._call("GrB_Matrix_wait", out, 1)
            self._call("GrB_Matrix_nvals", ctypes.byref(nnz), out)
            self._call("GrB_Matrix_free", ctypes.byref(out))
            return nnz.value

        return product


class Mkl:
    """mkl_sparse_spmm, on handles created once."""

    def __init__(self, threads: int) -> None:
        files = sorted(glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*")))
        self.lib = ctypes.CDLL(files[0] if files else "libmkl_rt.so")
        self.lib.MKL_Set_Num_Threads(threads)

    def _call(self, name: str, *arguments: Any) -> None:
        if getattr(self.lib, name)(*arguments) != 0:
            raise RuntimeError(f"{name} failed")

    def prepare(self, a: Any) -> Product:
        letter = "s" if a.dtype == np.float32 else "d"
        indptr, indices = a.indptr.astype(np.int32), a.indices.astype(np.int32)
        kept, matrix = (indptr, indices, a), ctypes.c_void_p()
        pointers = [ctypes.c_void_p(indptr.ctypes.data), ctypes.c_void_p(indptr.ctypes.data + 4),
                    ctypes.c_void_p(indices.ctypes.data), ctypes.c_void_p(a.data.ctypes.data)]
        self._call(f"mkl_sparse_{letter}_create_csr", ctypes.byref(matrix), 0, *a.shape, *pointers)

        def product() -> int:
            out = ctypes.c_void_p()
            self._call("mkl_sparse_spmm", 10, matrix, matrix, ctypes.byref(out))
            self._call("mkl_sparse_order", out)
            base, rows, cols = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
            found = [ctypes.c_void_p() for _ in range(4)]
            self._call(f"mkl_sparse_{letter}_export_csr", out, ctypes.byref(base), ctypes.byref(rows),
                       ctypes.byref(cols), *(ctypes.byref(each) for each in found))
            nnz = ctypes.cast(found[1], ctypes.POINTER(ctypes.c_int))[rows.value - 1] if rows.value else 0
            self._call("mkl_sparse_destroy", out)
            return nnz if kept else 0

        return product


class Scipy:
    """a @ a of scipy, which uses one thread."""

    def __init__(self, threads: int) -> None:
        pass

    def prepare(self, a: Any) -> Product:
        def product() -> int:
            c = a @ a
            c.sort_indices()
            return int(c.nnz)

        return product


def rivals(threads: int) -> dict[str, Any]:
    """The installed rivals; stderr says why the others are missing."""
    found = {}
    for name, kind in {"scipy": Scipy, "graphblas": GraphBLAS, "mkl": Mkl}.items():
        try:
            found[name] = kind(threads)
        except (OSError, RuntimeError) as error:
            print(f"without {name}: {error}", file=sys.stderr)
    return found


def best_times(products: dict[str, Product], repeat: int) -> tuple[dict[str, dict[str, float]], dict[str, int]]:
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


def draw(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    return [f"er:n={rng.randrange(1000, 60000)},nnz={rng.randrange(10000, 400000)},seed={rng.randrange(1000)}"
            if rng.random() < 0.5 else
            f"rmat:scale={rng.randrange(9, 15)},edgefactor={rng.randrange(2, 17)},seed={rng.randrange(1000)}"
            for _ in range(count)]


def measure(name: str, matrix: sley.Matrix, others: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    a = matrix.to_scipy()
    products: dict[str, Product] = {
        "sley": lambda: sley.spgemm(matrix, matrix, threads=options.threads).nnz}
    products |= {rival: other.prepare(a) for rival, other in others.items()}
    times, entries = best_times(products, options.repeat)
    lengths = np.diff(a.indptr)
    made = int(lengths[a.indices].sum())
    return {"name": name, "rows": a.shape[0], "nnz": a.nnz, "products": made, "nnz_c": entries["sley"], **times,
            "same": len(set(entries.values())) == 1}


def summary(cases: list[dict[str, Any]], rival: str, clock: str) -> dict[str, Any]:
    ratios = {each["name"]: each[clock][rival] / each[clock]["sley"] for each in cases}
    worst = min(ratios, key=lambda name: ratios[name])
    return {"geomean": math.exp(sum(map(math.log, ratios.values())) / len(ratios)), "worst": ratios[worst],
            "worst_case": worst}


def machine() -> Any:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "machine.py")
    return json.loads(subprocess.run([sys.executable, program], stdout=subprocess.PIPE, text=True, check=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description="A A by Sley and its rivals.")
    parser.add_argument("--data", help="folder of the real matrices")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=6, help="drawn matrices")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--dtype", choices=("f32", "f64"), default="f64")
    parser.add_argument("--json")
    options = parser.parse_args()
    dtype = np.float32 if options.dtype == "f32" else np.float64
    others, cases = rivals(options.threads), []
    names = [os.path.join(options.data, each) for each in LARGEST] if options.data else []
    for name in [*names, *RMAT, *draw(options.seed, options.cases)]:
        generated = ":" in name
        matrix = sley.generate(name, dtype=dtype) if generated else sley.read(name, dtype=dtype)
        if matrix.shape[0] != matrix.shape[1]:
            print(f"{name} is not square: left out", file=sys.stderr)
            continue
        cases.append(measure(os.path.basename(name), matrix, others, options))
        on_cores = cases[-1]["cpu_ms"]
        text = "  ".join(f"{rival} {ms:.2f} ({on_cores[rival]:.2f})" for rival, ms in cases[-1]["ms"].items())
        print(f"{cases[-1]['name']}: {cases[-1]['products']} products, ms (on cores): {text}", flush=True)
    result = {"machine": machine(), "threads": options.threads, "dtype": options.dtype, "seed": options.seed, "cases": cases,
              "times_as_fast": {rival: summary(cases, rival, "ms") for rival in others},
              "times_as_fast_on_cores": {rival: summary(cases, rival, "cpu_ms") for rival in others}}
    for by in ("times_as_fast", "times_as_fast_on_cores"):
        for rival, each in result[by].items():
            print(f"{by}, {rival}: geomean {each['geomean']:.2f}, worst {each['worst']:.2f} ({each['worst_case']})")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    return 0 if all(each["same"] for each in cases) else 1


if __name__ == "__main__":
    sys.exit(main())
