#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Local SpMM, Y = A X: compares Sley with MKL and scipy.sparse, in one run.

The ten real matrices of the data folder with most nonzeros, and the eight twins at scale 0.1, in f32 at k = 32 and
128; other matrices, or with --cases FILE matrices and widths that draw.py has drawn.
All rivals multiply the same CSR arrays by the same X into the same Y (64-byte aligned, huge pages), with the same
number of threads (scipy has one). Sley runs one rank through the public header; MKL's handle is optimised with
mkl_sparse_set_mm_hint and mkl_sparse_optimize. Every product is compared with float64 sums within their rounding.

The rivals run in turn. Each turn is a pause, in which the threads of the previous one go to sleep (MKL's would otherwise spin
on the cores that the next needs), an untimed call, which wakes its own threads, and as many timed calls as take half a
millisecond, whose mean counts. Medians are compared; the ratios are how many times as fast as the rival Sley is. Needs the
wheels numpy, scipy and mkl.
"""
import argparse
import ctypes as C
import functools
import glob
import json
import math
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TWINS = ["cyt", "clj", "prd", "cok", "cit", "slj", "spk", "sso"]
os.environ.setdefault("KMP_BLOCKTIME", "1")  # ms until an idle thread of MKL stops spinning

import draw  # noqa: E402
import numpy as np  # noqa: E402: reads the environment
import scipy.sparse  # noqa: E402

PAUSE, TURN = 0.003, 0.0005  # seconds
EPS = {"f32": 2.0**-24, "f64": 2.0**-53}
NUMPY = {"f32": np.float32, "f64": np.float64}
SCALAR = {"f32": C.c_float, "f64": C.c_double}


class ReadOptions(C.Structure):
    _fields_ = [("struct_size", C.c_size_t), ("dtype", C.c_int), ("threads", C.c_int), ("seed", C.c_uint64),
                ("unpack_limit", C.c_int64)]


class MatrixInfo(C.Structure):
    _fields_ = [("rows", C.c_int64), ("cols", C.c_int64), ("nnz", C.c_int64), ("entries_stored", C.c_int64),
                ("max_row_nnz", C.c_int64), ("dtype", C.c_int), ("index", C.c_int), ("bytes", C.c_int64)]


class Csr(C.Structure):
    _fields_ = [("rows", C.c_int64), ("cols", C.c_int64), ("rowptr", C.POINTER(C.c_int64)), ("col", C.c_void_p),
                ("val", C.c_void_p), ("index", C.c_int), ("dtype", C.c_int), ("rowptr32", C.POINTER(C.c_int32))]


class RankOptions(C.Structure):
    _fields_ = [("struct_size", C.c_size_t), ("ranks", C.c_int), ("workgroup", C.c_int), ("threads", C.c_int),
                ("transport", C.c_char_p), ("trace", C.c_char_p)]


class MklDescription(C.Structure):
    _fields_ = [("type", C.c_int), ("mode", C.c_int), ("diagonal", C.c_int)]


RANK_MAIN = C.CFUNCTYPE(C.c_int, C.c_void_p, C.c_void_p)


def load_sley(path):
    lib = C.CDLL(path)
    lib.sley_last_error.restype = C.c_char_p
    lib.sley_matrix_read.argtypes = [C.c_char_p, C.c_void_p, C.POINTER(C.c_void_p)]
    lib.sley_matrix_csr.argtypes = [C.c_void_p, C.POINTER(Csr)]
    lib.sley_matrix_destroy.argtypes = [C.c_void_p]
    lib.sley_matrix_destroy.restype = None
    lib.sley_buffer_alloc.argtypes = [C.c_int64, C.POINTER(C.c_void_p)]
    lib.sley_buffer_free.argtypes = [C.c_void_p]
    lib.sley_buffer_free.restype = None
    lib.sley_run_ranks.argtypes = [C.POINTER(RankOptions), RANK_MAIN, C.c_void_p]
    lib.sley_plan_create.argtypes = [C.c_void_p, C.c_void_p, C.c_void_p, C.c_void_p, C.c_int64, C.c_void_p,
                                     C.POINTER(C.c_void_p)]
    lib.sley_plan_destroy.argtypes = [C.c_void_p]
    lib.sley_plan_destroy.restype = None
    lib.sley_spmm.argtypes = [C.c_void_p, C.c_double, C.c_void_p, C.c_int64, C.c_double, C.c_void_p, C.c_int64]
    return lib


def load_mkl(threads):
    places = [os.path.join(sys.prefix, "lib"), os.path.join(sys.base_prefix, "lib"), "/usr/local/lib"]
    found = [f for p in places for f in sorted(glob.glob(os.path.join(p, "libmkl_rt.so*")))]
    if not found:
        return None
    mkl = C.CDLL(found[0])
    mkl.MKL_Set_Num_Threads(C.c_int(threads))
    return mkl


def largest(data, count):
    sizes = draw.sizes_of(data)
    return sorted(sizes, key=sizes.get, reverse=True)[:count]


class Bench:
    def __init__(self, args):
        self.args = args
        self.dtype, self.scalar, self.bytes = NUMPY[args.dtype], SCALAR[args.dtype], C.sizeof(SCALAR[args.dtype])
        self.sley = load_sley(args.library)
        self.mkl = load_mkl(args.threads)
        self.rows = []
        self.error = None

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.sley.sley_last_error().decode())

    def buffer(self, rows, k):
        """rows x k values of Sley's buffer, which every rival uses."""
        block = C.c_void_p()
        self.check(self.sley.sley_buffer_alloc(max(rows * k, 1) * self.bytes, C.byref(block)))
        values = np.ctypeslib.as_array((self.scalar * (rows * k)).from_address(block.value)).reshape(rows, k)
        return block, values

    def sley_rival(self, comm, matrix, csr, k, x, y):
        begins = [(C.c_int64 * 2)(0, csr.rows), (C.c_int64 * 2)(0, csr.cols)]
        plan = C.c_void_p()
        self.check(self.sley.sley_plan_create(comm, matrix, begins[0], begins[1], k, None, C.byref(plan)))
        spmm, one, zero, width = self.sley.sley_spmm, C.c_double(1), C.c_double(0), C.c_int64(k)
        return (lambda: self.check(spmm(plan, one, x, width, zero, y, width)),
                lambda: self.sley.sley_plan_destroy(plan))

    def mkl_rival(self, arrays, shape, k, x, y):
        rowptr, col, val = arrays
        handle, general, row_major, none = C.c_void_p(), MklDescription(20, 0, 0), C.c_int(101), C.c_int(10)
        ends = rowptr.ctypes.data + rowptr.itemsize
        letter = "s" if self.dtype is np.float32 else "d"
        create = getattr(self.mkl, f"mkl_sparse_{letter}_create_csr")
        status = create(C.byref(handle), C.c_int(0), C.c_int(shape[0]), C.c_int(shape[1]), C.c_void_p(rowptr.ctypes.data),
                        C.c_void_p(ends), C.c_void_p(col.ctypes.data), C.c_void_p(val.ctypes.data))
        hint = functools.partial(self.mkl.mkl_sparse_set_mv_hint, handle, none, general) if k == 1 else functools.partial(
            self.mkl.mkl_sparse_set_mm_hint, handle, none, general, row_major, C.c_int(k))
        status = status or hint(C.c_int(1000))
        status = status or self.mkl.mkl_sparse_optimize(handle)
        if status:
            raise RuntimeError(f"MKL refuses the matrix with status {status}")
        width, one, zero = C.c_int(k), self.scalar(1), self.scalar(0)
        mm, mv = (getattr(self.mkl, f"mkl_sparse_{letter}_{kind}") for kind in ("mm", "mv"))

        def multiply():
            if (mv(none, one, handle, general, x, zero, y) if k == 1 else
                    mm(none, one, handle, general, row_major, x, width, width, zero, y, width)) != 0:
                raise RuntimeError("MKL failed to multiply")

        return multiply, lambda: self.mkl.mkl_sparse_destroy(handle)

    def scipy_rival(self, arrays, shape, k, x, y):
        """The compiled loop under csr_matrix @ dense, which adds to Y, on the same buffers, so that no allocation is timed."""
        rowptr, col, val = arrays
        from scipy.sparse import _sparsetools
        flat_x, flat_y = x.reshape(-1), y.reshape(-1)

        def multiply():
            flat_y.fill(0)
            _sparsetools.csr_matvecs(shape[0], shape[1], k, rowptr, col, val, flat_x, flat_y)

        return multiply, lambda: None

    def verify(self, arrays, shape, x, y, rival, name):
        """Checks every entry in a sample of columns to within (terms + 1) eps |A||X|."""
        a = scipy.sparse.csr_matrix((arrays[2].astype(np.float64), arrays[1], arrays[0]), shape=shape)
        terms = np.diff(arrays[0]).reshape(-1, 1) + 1
        columns = sorted({0, x.shape[1] // 2, x.shape[1] - 1})
        part = x[:, columns].astype(np.float64)
        error = np.abs(y[:, columns] - a @ part)
        bound = terms * EPS[self.args.dtype] * (abs(a) @ abs(part))
        if not np.all(error <= bound):
            raise RuntimeError(f"{rival}'s product of {name} is wrong")

    @staticmethod
    def seconds(multiply, calls):
        start = time.perf_counter()
        for _ in range(calls):
            multiply()
        return (time.perf_counter() - start) / calls

    def measure(self, comm, name, matrix, k):
        csr = Csr()
        self.check(self.sley.sley_matrix_csr(matrix, C.byref(csr)))
        shape = (csr.rows, csr.cols)
        rowptr = np.ctypeslib.as_array(csr.rowptr, (csr.rows + 1,)).astype(np.int32)
        nnz = int(rowptr[-1])
        col = np.ctypeslib.as_array(C.cast(csr.col, C.POINTER(C.c_int32)), (nnz,))
        val = np.ctypeslib.as_array(C.cast(csr.val, C.POINTER(self.scalar)), (nnz,))
        arrays = (rowptr, col, val)
        x_block, x = self.buffer(csr.cols, k)
        y_block, y = self.buffer(csr.rows, k)
        x[:] = np.random.default_rng(1).uniform(-1, 1, x.shape)
        rivals = {"sley": self.sley_rival(comm, matrix, csr, k, x_block, y_block)}
        if self.mkl:
            rivals["mkl"] = self.mkl_rival(arrays, shape, k, x_block, y_block)
        rivals["scipy"] = self.scipy_rival(arrays, shape, k, x, y)
        for rival, (multiply, _) in rivals.items():
            y.fill(np.nan)
            multiply()
            self.verify(arrays, shape, x, y, rival, name)
        times, calls = {rival: [] for rival in rivals}, {}
        end = time.perf_counter() + self.args.seconds
        while len(times["sley"]) < self.args.repeat or (time.perf_counter() < end and len(times["sley"]) < 200):
            for rival, (multiply, _) in rivals.items():
                time.sleep(PAUSE)
                multiply()
                if rival not in calls:
                    calls[rival] = math.ceil(TURN / max(self.seconds(multiply, 1), 1e-6))
                times[rival].append(self.seconds(multiply, calls[rival]))
        for _, release in rivals.values():
            release()
        self.sley.sley_buffer_free(x_block)
        self.sley.sley_buffer_free(y_block)
        median = {rival: float(np.median(t)) * 1e3 for rival, t in times.items()}
        row = {"matrix": name, "rows": csr.rows, "cols": csr.cols, "nnz": nnz, "k": k, "repeats": len(times["sley"]),
               "median_ms": median, "min_ms": {r: min(t) * 1e3 for r, t in times.items()},
               "gflops": 2e-6 * nnz * k / median["sley"],
               "ratio": {r: median[r] / median["sley"] for r in rivals if r != "sley"}}
        self.rows.append(row)
        print(f"{name:36} {nnz:10} {k:4} " + " ".join(f"{median[r]:9.3f}" for r in rivals) +
              f" {row['gflops']:7.1f} " + " ".join(f"{r}: {v:5.2f}" for r, v in row["ratio"].items()), flush=True)

    def rank_main(self, comm, _):
        try:
            for name, path, widths in self.args.inputs:
                matrix = C.c_void_p()
                options = ReadOptions(C.sizeof(ReadOptions), 0 if self.args.dtype == "f32" else 1, 0, 1, 0)
                self.check(self.sley.sley_matrix_read(path.encode(), C.byref(options), C.byref(matrix)))
                for k in widths:
                    self.measure(comm, name, matrix, k)
                self.sley.sley_matrix_destroy(matrix)
        except Exception as error:  # ctypes would print it and continue
            self.error = error
            return 9
        return 0

    def run(self):
        options = RankOptions(C.sizeof(RankOptions), 1, 0, self.args.threads, None, None)
        print(f"{'matrix':36} {'nnz':>10} {'k':>4} " + " ".join(f"{r + ' ms':>9}" for r in
              ["sley"] + (["mkl"] if self.mkl else []) + ["scipy"]) +
              f" {'GFLOP/s':>7} times faster than")
        status = self.sley.sley_run_ranks(C.byref(options), RANK_MAIN(self.rank_main), None)
        if self.error:
            sys.exit(f"spmm_local: {self.error}")
        self.check(status)


def geometric_mean(values):
    return float(np.exp(np.mean(np.log(values))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("matrices", nargs="*", help="files or generator names in place of the usual ones")
    parser.add_argument("--library", default=os.path.join(HERE, "../build/src/libsley.so"))
    parser.add_argument("--cases", help="a file of drawn cases in place of the usual matrices")
    parser.add_argument("--data", default=draw.DATA)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--k", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f32")
    parser.add_argument("--repeat", type=int, default=7, help="least turns of each rival")
    parser.add_argument("--seconds", type=float, default=1.0, help="go on with turns for as long")
    parser.add_argument("--json", default=os.path.join(HERE, "results/spmm_local.json"))
    args = parser.parse_args()
    if args.cases:
        with open(args.cases) as cases:
            drawn = [line.split() for line in cases]
        args.inputs = [(os.path.basename(m), m, [int(k) for k in widths.split(",")]) for m, widths in drawn]
    elif args.matrices:
        args.inputs = [(os.path.basename(m), m, args.k) for m in args.matrices]
    else:
        args.inputs = [(n, os.path.join(args.data, n), args.k) for n in largest(args.data, 10)]
        args.inputs += [(f"twin:{t}:scale=0.1", f"twin:{t}:scale=0.1", args.k) for t in TWINS]
    bench = Bench(args)
    if not bench.mkl:
        print("note: libmkl_rt.so is not to be had, so MKL takes no part (pip install mkl)", file=sys.stderr)
    bench.run()
    summary = {r: geometric_mean([row["ratio"][r] for row in bench.rows]) for r in bench.rows[0]["ratio"]}
    for rival, mean in summary.items():
        worst = min(bench.rows, key=lambda row: row["ratio"][rival])
        print(f"times faster than {rival}: geometric mean {mean:.3f}, worst {worst['ratio'][rival]:.3f} "
              f"({worst['matrix']}, k = {worst['k']})")
    os.makedirs(os.path.dirname(os.path.abspath(args.json)), exist_ok=True)
    with open(args.json, "w") as out:
        json.dump({"threads": args.threads, "dtype": args.dtype, "geometric_mean": summary,
                   "rows": bench.rows}, out, indent=1)


if __name__ == "__main__":
    main()
