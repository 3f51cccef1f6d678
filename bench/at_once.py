#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products without a plan beside SciPy: the first call, the second, and later ones.

Four real matrices of the data folder and six that a seed draws (generators, sizes and types), each by dense arrays of 1, 4, 8, 32
and 64 columns. For a `sley.Matrix` and for the SciPy matrix itself, which is a new object in every round:

- first: the first product after a pause of 2 ms, beside SciPy's own first product of a new object after such a pause
- second: the second one, and later: the median of the next calls, beside the median of SciPy's next four
- mean: the mean of the second call and the next 19, beside the same

Each is measured anew in every round, in turn with SciPy; the least over the rounds counts, but for medians, where it is the least
of the rounds' medians. Every product is compared with SciPy's in float64. With --solvers also 50 steps of power iteration, cg
and lobpcg with `patch_scipy`, for arrays that may change and for read-only arrays.
"""
import argparse
import gc
import json
import os
import statistics
import time
import warnings

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

import common
import sley
from tables import at_once

REAL = (("mtx/cnr-2000.mtx.gz", np.float32), ("mtx/bcsstk17.mtx.gz", np.float64), ("snap/soc-Epinions1.txt.gz", np.float32),
        ("mtx/ca-CondMat.mtx.gz", np.float64))
WIDTHS = (1, 4, 8, 32, 64)
CALLS = 19
EPS = {np.float32: 2.0**-24, np.float64: 2.0**-53}


def drawn(seed):
    """Six matrices: their names are the generators' texts."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(6):
        nnz = int(10 ** rng.uniform(4.7, 6.6))
        if i % 2:
            scale = int(np.clip(np.log2(nnz) - rng.uniform(2, 5), 10, 20))
            text = f"rmat:scale={scale},edgefactor={max(1, nnz >> scale)}"
        else:
            text = f"er:n={max(100, int(nnz / rng.uniform(3, 60)))},nnz={nnz}"
        made.append((text, rng.choice([np.float32, np.float64])))
    return made


def seconds(job):
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


def paused(a):
    """A new matrix object with the same arrays, after a pause."""
    time.sleep(0.002)
    return scipy.sparse.csr_array((a.data, a.indices, a.indptr), shape=a.shape)


def one_round(a, x):
    """Seconds of SciPy, and of each call of Sley, in turn."""
    given = paused(a)
    calls = [seconds(lambda: given @ x) for _ in range(5)]
    found = {"scipy": {"first": calls[0], "later": statistics.median(calls[1:])}}
    for kind in ("matrix", "scipy's"):
        sley.cache_clear()
        given = paused(a)
        if kind == "matrix":
            given = sley.Matrix(given)
        calls = [seconds(lambda: sley.spmm(given, x)) for _ in range(2 + CALLS)]
        found[kind] = {"first": calls[0], "second": calls[1], "later": statistics.median(calls[2:]),
                       "mean": statistics.mean(calls[1:])}
    return found


def verify(a, x, name):
    wide = a.astype(np.float64)
    bound = (np.diff(a.indptr) + 2) * EPS[a.dtype.type]
    size = abs(wide) @ np.abs(x.astype(np.float64))
    bound = bound.reshape((-1,) + (1,) * (x.ndim - 1)) * size
    for given in (sley.Matrix(a), a):
        for _ in range(3):
            if not np.all(np.abs(sley.spmm(given, x) - wide @ x.astype(np.float64)) <= bound):
                raise common.Failed(f"the product of {name} is wrong")


def measured(name, a, rounds):
    rows = []
    for k in WIDTHS:
        x = np.random.default_rng(1).uniform(-1, 1, (a.shape[1], k)).astype(a.dtype)
        x = x[:, 0].copy() if k == 1 else x
        verify(a, x, name)
        found = [one_round(a, x) for _ in range(rounds)]
        row = {"name": name, "dtype": a.dtype.name, "rows": a.shape[0], "nnz": int(a.nnz), "k": k}
        for kind, calls in found[0].items():
            row[kind] = {call: 1e3 * min(each[kind][call] for each in found) for call in calls}
        rows.append(row)
        told = "  ".join(f"{kind}: " + " ".join(f"{call} {at_once.ratio(row, kind, call):.2f}" for call in row[kind])
                         for kind in at_once.KINDS)
        print(f"{name[:40]:40} {a.dtype.name} k={k:<2} scipy {row['scipy']['later']:8.3f} ms  {told}", flush=True)
    return rows


def power(a, x):
    for _ in range(50):
        x = a @ x
        x /= np.linalg.norm(x)


def solvers(name, a, rounds):
    """Seconds of SciPy's own solvers without the patch, and with it."""
    square = a if a.shape[0] == a.shape[1] else a.T @ a
    spd = scipy.sparse.csr_array(abs(square) + abs(square).T)
    spd = scipy.sparse.csr_array(spd + scipy.sparse.diags_array(spd.sum(axis=1) + 1)).astype(a.dtype)
    spd.sort_indices()
    b, start = np.ones(spd.shape[0], a.dtype), np.random.default_rng(2).random((spd.shape[0], 8)).astype(a.dtype)
    jobs = {"power": lambda: power(spd, b.copy()),
            "cg": lambda: scipy.sparse.linalg.cg(spd, b, rtol=1e-30, maxiter=50),
            "lobpcg": lambda: scipy.sparse.linalg.lobpcg(spd, start, maxiter=50, tol=1e-30)}
    rows = []
    for what, job in jobs.items():
        least = {"scipy": [], "patched": [], "read-only": []}
        for _ in range(rounds):
            least["scipy"].append(seconds(job))
            with sley.patch_scipy():
                least["patched"].append(seconds(job))
                for each in ("data", "indices", "indptr"):
                    setattr(spd, each, getattr(spd, each).copy())
                    getattr(spd, each).flags.writeable = False
                least["read-only"].append(seconds(job))
            for each in ("data", "indices", "indptr"):
                setattr(spd, each, getattr(spd, each).copy())
        rows.append({"name": name, "dtype": a.dtype.name, "solver": what,
                     **{f"{each}_ms": 1e3 * min(times) for each, times in least.items()}})
        print(name[:40], what, " ".join(f"{each} {1e3 * min(times):.1f}" for each, times in least.items()), flush=True)
    return rows


def main():
    warnings.simplefilter("ignore")  # lobpcg does not reach its tolerance in a given number of steps
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", default=os.environ.get("SLEY_DATA", "data"), help="folder with the real matrices")
    parser.add_argument("--solvers", action="store_true")
    parser.add_argument("--json")
    o = parser.parse_args()
    rows, solved, load = [], [], os.getloadavg()[0]
    for name, dtype in [*REAL, *drawn(o.seed)]:
        source = name if ":" in name else os.path.join(o.data, name)
        matrix = sley.generate(name, dtype=dtype) if ":" in name else sley.read(source, dtype=dtype)
        a = matrix.to_scipy()
        del matrix
        rows += measured(name, a, o.rounds)
        if o.solvers and ":" not in name:
            solved += solvers(name, a, min(o.rounds, 3))
        gc.collect()
    made = at_once.summary(rows)
    print(json.dumps(made, indent=1))
    common.save(o.json, {"seed": o.seed, "rounds": o.rounds, "load": load, "summary": made, "rows": rows, "solvers": solved},
                numpy=np.__version__, scipy=scipy.__version__)


if __name__ == "__main__":
    common.start(main)
