#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares products with PETSc's MatMatMult of MPIAIJ by dense: build/bench/bench_petsc (petsc.c) on the same ranks, matrices
and X, f64, in one run each, with both results checked, Sley over mpi and over tcp. On this host under mpirun; with --hosts H on
network namespaces of it that are joined by slow links (tests/hosts/hosts.sh), where mpirun starts the ranks. Times are medians;
ratios are PETSc's time divided by Sley's. Prints a table; --json FILE keeps the numbers. Exit status 77: PETSc is not
installed, or there are no namespaces.
"""
import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTS = os.path.join(HERE, "..", "tests", "hosts", "hosts.sh")
SKIPPED = 77
# Allows more ranks than cores, and root in a container; waiting ranks yield their core.
HABITS = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_ALLOW_RUN_AS_ROOT": "1",
          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


def run(options, spec, k, algo, transport):
    command = [os.path.abspath(options.program), spec, k, options.repeat, algo, transport] + (["10.77.0.1"] if options.hosts else [])
    with tempfile.TemporaryDirectory() as folder:
        if options.hosts:
            command = [HOSTS, "--hosts", str(options.hosts), "--per-host", str(options.per_host), "--rate", options.rate, "--out", folder,
                       "--mpirun", options.mpirun, "--", *command]
        else:
            command = [options.mpirun, "-n", str(options.per_host), *command]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env={**os.environ, **HABITS})
        if options.hosts and done.returncode == SKIPPED:
            print(done.stdout, end="")
            sys.exit(SKIPPED)
        text = done.stdout
        if options.hosts:
            with open(os.path.join(folder, "0.out")) as stream:
                text = stream.read()
        if done.returncode != 0:
            sys.exit(f"petsc.py: {' '.join(command)}: exit {done.returncode}: {text}")
    row = json.loads(text)
    assert row["petsc"]["ok"] and row["sley"]["ok"], "a product was wrong"
    row["ratio"] = row["petsc"]["median_ms"] / row["sley"]["median_ms"]
    row["asked"] = algo
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(HERE, "..", "build", "bench", "bench_petsc"))
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--hosts", type=int, default=0, help="network namespaces; 0: this host itself")
    parser.add_argument("--per-host", type=int, default=2, help="ranks on each")
    parser.add_argument("--rate", default="1gbit", help="of every host's link, each way")
    parser.add_argument("--twins", default="cyt:scale=0.2,clj:scale=0.03", help="separated by commas")
    parser.add_argument("--k", default="32,128")
    parser.add_argument("--algo", default="auto", help="Sley's, separated by commas")
    parser.add_argument("--transport", default="mpi,tcp", help="Sley's, separated by commas")
    parser.add_argument("--repeat", default="9")
    parser.add_argument("--json", help="file for the numbers")
    options = parser.parse_args()
    if not os.path.exists(options.program):
        print("petsc.py: skipped: there is no bench_petsc: PETSc is not installed (Debian: petsc-dev)")
        return SKIPPED
    rows = []
    for spec in ("twin:" + twin for twin in options.twins.split(",")):
        for k in options.k.split(","):
            for algo, transport in itertools.product(options.algo.split(","), options.transport.split(",")):
                row = run(options, spec, k, algo, transport)
                rows.append(row)
                work = 2e-6 * row["nnz"] * row["k"]
                print(f"{spec:22} k {k:4} {row['ranks']} ranks   PETSc {row['petsc']['median_ms']:9.2f} ms "
                      f"({work / row['petsc']['median_ms']:.2f} GFLOP/s)   Sley {row['sley']['median_ms']:9.2f} ms "
                      f"({work / row['sley']['median_ms']:.2f} GFLOP/s, {row['algo']}, {transport})   ratio {row['ratio']:.2f}", flush=True)
    means = {}
    for transport in options.transport.split(","):
        ratios = [row["ratio"] for row in rows if row["transport"] == transport]
        means[transport] = statistics.geometric_mean(ratios)
        print(f"{transport}: geometric mean {means[transport]:.2f}, least {min(ratios):.2f}")
    if options.json:
        with open(options.json, "w") as stream:
            json.dump({"hosts": options.hosts, "per_host": options.per_host, "rate": options.rate if options.hosts else None,
                       "version": rows[0]["version"], "geometric_means": means, "rows": rows}, stream, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
