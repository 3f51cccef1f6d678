#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Local SpMM, Y = A X: compares Sley with MKL and scipy.sparse, in one run.

The ten real matrices of the data folder with most nonzeros, and the eight twins at scale 0.1, in f32 at k = 32 and 128;
other matrices, or with --cases FILE matrices and widths that draw.py has drawn. All rivals multiply the same CSR arrays by the same
X into the same Y (64-byte aligned, huge pages), with the same number of threads (scipy has one). Sley runs one rank through the
public header; MKL's handle is optimised with mkl_sparse_set_mm_hint and mkl_sparse_optimize. Every product is compared with
float64 sums within their rounding.

The rivals run in turn. Each turn is a pause, in which the threads of the previous one go to sleep (MKL's would otherwise spin on
the cores that the next needs), an untimed call, which wakes its own threads, and as many timed calls as take half a
millisecond, whose mean counts. Medians are compared; the ratios are how many times as fast as the rival Sley is. Needs
SLEY_LIBRARY, and PYTHONPATH=python, if the package is not installed.
"""
import ctypes as C
import math
import os
import sys
import time

os.environ.setdefault("KMP_BLOCKTIME", "1")  # ms until an idle thread of MKL stops spinning

import numpy as np  # noqa: E402: reads the environment
import scipy.sparse  # noqa: E402

import common  # noqa: E402
import rivals  # noqa: E402
import sley  # noqa: E402
from sley import _c  # noqa: E402
from sley._library import initial, lib  # noqa: E402
from tables import geomean  # noqa: E402

PAUSE, TURN = 0.003, 0.0005  # seconds
EPS = {np.float32: 2.0**-24, np.float64: 2.0**-53}
RANK_MAIN = C.CFUNCTYPE(C.c_int, C.c_void_p, C.c_void_p)


class MklDescription(C.Structure):
    _fields_ = [("type", C.c_int), ("mode", C.c_int), ("diagonal", C.c_int)]


def check(status):
    if status != 0:
        raise common.Failed(lib.sley_last_error().decode())


class Operands:
    """A CSR matrix with 32-bit numbers, and X and Y in memory of Sley's, which every rival uses."""

    def __init__(self, o, matrix, k):
        self.matrix, self.shape, self.k, self.dtype = matrix, matrix.shape, k, o.dtype
        self.rowptr, self.col, self.val = matrix.indptr.astype(np.int32), matrix.indices, matrix.data
        (self.x_block, self.x), (self.y_block, self.y) = self.buffer(self.shape[1]), self.buffer(self.shape[0])
        self.x[:] = np.random.default_rng(1).uniform(-1, 1, self.x.shape)

    def buffer(self, rows):
        block, scalar = C.c_void_p(), np.ctypeslib.as_ctypes_type(self.dtype)
        check(lib.sley_buffer_alloc(max(rows * self.k, 1) * C.sizeof(scalar), C.byref(block)))
        return block, np.ctypeslib.as_array((scalar * (rows * self.k)).from_address(block.value)).reshape(rows, self.k)

    def free(self):
        for block in (self.x_block, self.y_block):
            lib.sley_buffer_free(block)

    def verify(self, rival, name):
        """Checks every entry in a sample of columns to within (terms + 1) eps |A||X|."""
        a = scipy.sparse.csr_matrix((self.val.astype(np.float64), self.col, self.rowptr), shape=self.shape)
        columns = sorted({0, self.k // 2, self.k - 1})
        part = self.x[:, columns].astype(np.float64)
        bound = (np.diff(self.rowptr)[:, None] + 1) * EPS[self.dtype] * (abs(a) @ abs(part))
        if not np.all(np.abs(self.y[:, columns] - a @ part) <= bound):
            raise common.Failed(f"{rival}'s product of {name} is wrong")


# ---- rivals: each returns a function that multiplies, and one that frees what it has made

def by_sley(comm, t):
    begins, plan, width = [(C.c_int64 * 2)(0, n) for n in t.shape], C.c_void_p(), C.c_int64(t.k)
    check(lib.sley_plan_create(comm, t.matrix, *begins, t.k, None, C.byref(plan)))
    spmm, one, zero = lib.sley_spmm, C.c_double(1), C.c_double(0)
    return lambda: check(spmm(plan, one, t.x_block, width, zero, t.y_block, width)), lambda: lib.sley_plan_destroy(plan)


def by_mkl(mkl, t):
    handle, general, row_major, none, width = mkl.handle(t.shape, t.rowptr, t.col, t.val), MklDescription(20, 0, 0), C.c_int(101), C.c_int(10), C.c_int(t.k)
    vector = t.k == 1
    mkl.call(*("mkl_sparse_set_mv_hint", handle, none, general) if vector else ("mkl_sparse_set_mm_hint", handle, none, general, row_major, width), C.c_int(1000))
    mkl.call("mkl_sparse_optimize", handle)
    scalar = np.ctypeslib.as_ctypes_type(t.dtype)
    one, zero = scalar(1), scalar(0)
    mm, mv = (getattr(mkl.lib, f"mkl_sparse_{'s' if t.dtype is np.float32 else 'd'}_{kind}") for kind in ("mm", "mv"))

    def run():
        if (mv(none, one, handle, general, t.x_block, zero, t.y_block) if vector else
                mm(none, one, handle, general, row_major, t.x_block, width, width, zero, t.y_block, width)) != 0:
            raise common.Failed("MKL failed to multiply")
    return run, lambda: mkl.lib.mkl_sparse_destroy(handle)


def by_scipy(t):
    """The compiled loop under csr_matrix @ dense, which adds to Y, on the same buffers, so that no allocation is timed."""
    from scipy.sparse import _sparsetools
    flat_x, flat_y = t.x.reshape(-1), t.y.reshape(-1)

    def run():
        flat_y.fill(0)
        _sparsetools.csr_matvecs(*t.shape, t.k, t.rowptr, t.col, t.val, flat_x, flat_y)
    return run, lambda: None


# ---- the run

def seconds(multiply, calls):
    start = time.perf_counter()
    for _ in range(calls):
        multiply()
    return (time.perf_counter() - start) / calls


def measure(o, comm, name, matrix, k):
    t = Operands(o, matrix, k)
    contenders = {"sley": by_sley(comm, t), **({"mkl": by_mkl(o.mkl, t)} if o.mkl else {}), "scipy": by_scipy(t)}
    for rival, (multiply, _) in contenders.items():
        t.y.fill(np.nan)
        multiply()
        t.verify(rival, name)
    times, calls, end = {rival: [] for rival in contenders}, {}, time.perf_counter() + o.seconds
    while len(times["sley"]) < o.repeat or (time.perf_counter() < end and len(times["sley"]) < 200):
        for rival, (multiply, _) in contenders.items():
            time.sleep(PAUSE)
            multiply()
            if rival not in calls:
                calls[rival] = math.ceil(TURN / max(seconds(multiply, 1), 1e-6))
            times[rival].append(seconds(multiply, calls[rival]))
    for _, release in contenders.values():
        release()
    t.free()
    median = {rival: float(np.median(each)) * 1e3 for rival, each in times.items()}
    row = {"matrix": name, "rows": t.shape[0], "cols": t.shape[1], "nnz": matrix.nnz, "k": k, "repeats": len(times["sley"]), "median_ms": median,
           "min_ms": {rival: min(each) * 1e3 for rival, each in times.items()}, "gflops": 2e-6 * matrix.nnz * k / median["sley"],
           "ratio": {rival: ms / median["sley"] for rival, ms in median.items() if rival != "sley"}}
    print(f"{name:36} {matrix.nnz:10} {k:4} " + " ".join(f"{rival} {ms:9.3f} ms" for rival, ms in median.items()) + f" {row['gflops']:7.1f} GFLOP/s; "
          "times as fast as " + ", ".join(f"{rival} {ratio:5.2f}" for rival, ratio in row["ratio"].items()), flush=True)
    return row


def measure_all(o, inputs):
    rows, failure = [], []

    def rank_main(comm, _):
        try:
            for path, widths in inputs:
                matrix = sley.read(path, dtype=o.dtype)
                rows.extend(measure(o, comm, os.path.basename(path), matrix, k) for k in widths)
        except Exception as error:  # ctypes would print it and continue
            failure.append(error)
            return 9
        return 0

    status = lib.sley_run_ranks(C.byref(initial(_c.sley_rank_options, ranks=1, threads=o.threads)), RANK_MAIN(rank_main), None)
    if failure:
        raise failure[0]
    check(status)
    return rows


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("matrices", nargs="*", help="files or generator names in place of the usual ones")
    parser.add("--cases", None, "a file of drawn cases in place of the usual matrices")
    parser.add("--data", common.DATA)
    parser.add("--threads", 2)
    parser.add("--k", [32, 128], nargs="+", type=int)
    parser.add("--dtype", "f32", choices=["f32", "f64"])
    parser.add("--repeat", 7, "least turns of each rival")
    parser.add("--seconds", 1.0, "go on with turns for as long")
    parser.add("--json")
    o = parser.parse_args()
    parser.check(o)
    dtype_name, o.dtype = o.dtype, np.float32 if o.dtype == "f32" else np.float64
    if o.cases:
        with open(o.cases, encoding="utf-8") as cases:
            inputs = [(path, [int(k) for k in widths.split(",")]) for path, widths in map(str.split, cases)]
    else:
        usual = [os.path.join(o.data, name) for name in list(common.real_matrices(o.data))[:10]] + [f"twin:{t}:scale=0.1" for t in common.TWINS]
        inputs = [(path, o.k) for path in o.matrices or usual]
    try:
        o.mkl = rivals.Mkl(o.threads)
    except OSError:
        o.mkl = None
        print("note: libmkl_rt.so is not installed, so MKL takes no part (pip install mkl)", file=sys.stderr)
    rows = measure_all(o, inputs)
    means = {rival: geomean([row["ratio"][rival] for row in rows]) for rival in rows[0]["ratio"]}
    for rival, mean in means.items():
        worst = min(rows, key=lambda row: row["ratio"][rival])
        print(f"times as fast as {rival}: geometric mean {mean:.3f}, worst {worst['ratio'][rival]:.3f} ({worst['matrix']}, k = {worst['k']})")
    common.save(o.json, {"threads": o.threads, "dtype": dtype_name, "geometric_mean": means, "rows": rows})


if __name__ == "__main__":
    common.start(main)
