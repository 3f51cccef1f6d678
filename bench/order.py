#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times orderings and counts what they save: the halo rows N_R of equal row blocks, and V_FC = 4 N_R k bytes; and the intensity of
windows, entries per distinct column of 16 rows.

With --shuffle the matrix is shuffled first, because generated graphs already have the order that a good ordering should find. The
orders are checked to be permutations. Peak memory is the process's peak so far, including the matrix and the interpreter. Processor seconds are also
reported, because other work on the machine affects them less. Needs SLEY_LIBRARY, and PYTHONPATH=python, if the package is not
installed."""
import ctypes
import resource
import time

import numpy as np

import common
import sley
from sley import _c
from sley._library import lib
from sley.ordering import partition_equal


def halo_rows(o, matrix, perm):
    """Distinct remote columns, summed over equal blocks of the rows in the order perm."""
    rows = matrix.shape[0]
    if not np.array_equal(np.bincount(perm, minlength=rows), np.ones(rows)):
        raise common.Failed("the order is no permutation")
    owner = np.searchsorted(partition_equal(rows, o.ranks)[1:], perm, side="right")
    return common.count_remote(np.asarray(matrix.indptr), np.asarray(matrix.indices), owner, o.ranks)[1]


def intensity(o, matrix, perm):
    info, row_at = _c.sley_window_info(), np.argsort(perm).astype(np.int64)
    if lib.sley_matrix_windows(matrix, row_at.ctypes.data, o.threads, ctypes.byref(info)) != 0:
        raise common.Failed("the windows cannot be counted")
    return info.entries / info.columns if info.columns else 0


def measure(o, matrix, name, before):
    start, start_cpu = time.monotonic(), time.process_time()
    perm = sley.order(matrix, name, seed=o.seed, threads=o.threads)
    seconds, cpu = time.monotonic() - start, time.process_time() - start_cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    halo = halo_rows(o, matrix, perm)
    return {"order": name, "seconds": seconds, "cpu_seconds": cpu, "halo_rows": halo, "v_fc_bytes": 4 * halo * o.k,
            "times_lower": before / halo if halo else 0, "intensity": intensity(o, matrix, perm), "peak_mib": peak}


def main():
    parser = common.Parser(__doc__)
    parser.add_argument("matrix")
    parser.add_argument("orders", nargs="*", metavar="ORDER", help="rabbit, rcm and degree, if none is named")
    parser.add("--ranks", 16)
    parser.add("--k", 32)
    parser.add("--threads", 2)
    parser.add("--seed", 1)
    parser.add("--shuffle", False, action="store_true")
    parser.add("--json")
    o = parser.parse_args()
    parser.check(o, ranks=1, k=0, threads=0, seed=0)
    matrix = sley.read(o.matrix, dtype=np.float32, threads=o.threads)
    if o.shuffle:
        perm = sley.order(matrix, "random", seed=o.seed, threads=o.threads)
        matrix = matrix.permute(perm, perm, threads=o.threads)
    none = sley.order(matrix, "none", seed=o.seed, threads=o.threads)
    before, dense = halo_rows(o, matrix, none), intensity(o, matrix, none)
    found = [measure(o, matrix, name, before) for name in o.orders or ("rabbit", "rcm", "degree")]
    print(f"{o.matrix}{', shuffled' * o.shuffle}: {matrix.shape[0]} rows, {matrix.nnz} nonzeros, {o.ranks} ranks, k {o.k}, {o.threads} threads")
    common.show(["order", "s", "processor s", "halo rows", "MiB", "x lower", "intensity", "peak MiB"],
                [["before", None, None, before, 4 * before * o.k / common.MIB, None, dense, None]]
                + [[one["order"], one["seconds"], one["cpu_seconds"], one["halo_rows"], one["v_fc_bytes"] / common.MIB, one["times_lower"],
                    one["intensity"], one["peak_mib"]] for one in found])
    common.save(o.json, {"matrix": o.matrix, "shuffled": o.shuffle, "rows": matrix.shape[0], "nnz": matrix.nnz, "ranks": o.ranks, "k": o.k,
                         "threads": o.threads, "halo_rows": before, "v_fc_bytes": 4 * before * o.k, "intensity": dense, "orders": found})


if __name__ == "__main__":
    common.start(main)
