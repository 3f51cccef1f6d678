#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares products with PETSc's MatMatMult of MPIAIJ by dense: build/bench/bench_petsc (petsc.c) on the same ranks, matrices
and X, f64, in one run each, with both results checked, Sley over mpi and over tcp. On this host under mpirun; with --hosts H on
network namespaces of it that are joined by slow links (tests/hosts/hosts.sh), where mpirun starts the ranks. Times are medians;
ratios are PETSc's time divided by Sley's. Exit status 77: PETSc is not installed, or there are no namespaces.
"""
import itertools
import json
import os
import statistics
import tempfile

import common


def run(o, spec, k, algo, transport):
    program = [os.path.abspath(o.program), spec, k, o.repeat, algo, transport]
    with tempfile.TemporaryDirectory() as folder:
        if o.hosts:
            common.run([*common.on_hosts(o.hosts, o.per_host, o.rate, "--out", folder, "--mpirun", o.mpirun), *program, "10.77.0.1"], True)
            row = common.load(os.path.join(folder, "0.out"))
        else:
            row = json.loads(common.run([o.mpirun, "-n", o.per_host, *program]))
    assert row["petsc"]["ok"] and row["sley"]["ok"], "a product was wrong"
    row.update(ratio=row["petsc"]["median_ms"] / row["sley"]["median_ms"], asked=algo)
    times = [f"{name} {row[key]['median_ms']:9.2f} ms ({2e-6 * row['nnz'] * row['k'] / row[key]['median_ms']:.2f} GFLOP/s)"
             for name, key in (("PETSc", "petsc"), ("Sley", "sley"))]
    print(f"{spec:22} k {k:4} {row['ranks']} ranks   {'   '.join(times)} {row['algo']}, {transport}   ratio {row['ratio']:.2f}", flush=True)
    return row


def main():
    parser = common.Parser(__doc__)
    parser.add("--program", os.path.join(common.BUILD, "bench", "bench_petsc"))
    parser.add("--mpirun", "mpirun")
    parser.add("--hosts", 0, "network namespaces; 0: this host itself")
    parser.add("--per-host", 2, "ranks on each")
    parser.add("--rate", "1gbit", "of every host's link, each way")
    parser.add("--twins", "cyt:scale=0.2,clj:scale=0.03", "separated by commas")
    parser.add("--k", "32,128")
    parser.add("--algo", "auto", "Sley's, separated by commas")
    parser.add("--transport", "mpi,tcp", "Sley's, separated by commas")
    parser.add("--repeat", "9")
    parser.add("--json", None, "file for the numbers")
    o = parser.parse_args()
    parser.check(o)
    if not os.path.exists(o.program):
        print("petsc.py: skipped: there is no bench_petsc: PETSc is not installed (Debian: petsc-dev)")
        return common.SKIPPED
    transports = o.transport.split(",")
    rows = [run(o, *case) for case in itertools.product([f"twin:{twin}" for twin in o.twins.split(",")], o.k.split(","), o.algo.split(","), transports)]
    means = {}
    for transport in transports:
        ratios = [row["ratio"] for row in rows if row["transport"] == transport]
        means[transport] = statistics.geometric_mean(ratios)
        print(f"{transport}: geometric mean {means[transport]:.2f}, least {min(ratios):.2f}")
    common.save(o.json, {"hosts": o.hosts, "per_host": o.per_host, "rate": o.rate if o.hosts else None, "version": rows[0]["version"],
                         "geometric_means": means, "rows": rows})
    return 0


if __name__ == "__main__":
    common.start(main)
