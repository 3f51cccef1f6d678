#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Algorithms over slow links: ranks on hosts that are network namespaces of this machine (tests/hosts/hosts.sh).

For every twin one run of the command measures all algorithms in turn, verified; times are medians of its repeats. Bytes over the
links: by the command's counters, and by the interfaces' own, as the difference of two runs of one algorithm that differ in the
number of products, over that number. Prints a table; --json FILE keeps the numbers. Exit status 77: no namespaces here.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTS = os.path.join(HERE, "..", "tests", "hosts", "hosts.sh")
STEPS = ["rowwise", "halo", "halo-fused", "halo-coalesced", "halo-pipelined", "cover"]
RIVALS = ["bcast-1d", "bcast-1.5d", "summa-2d"]
SKIPPED = 77


def run(options, *words):
    """Runs the command on all hosts; returns its JSON, and the bytes that all hosts sent over their links."""
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "result.json")
        done = subprocess.run([HOSTS, "--hosts", str(options.hosts), "--per-host", str(options.per_host), "--rate", options.rate,
                               "--out", folder, "--", os.path.abspath(options.sley), "spmm", *words, "--threads", "1",
                               "--device", "cpu", "--transport", "tcp", "--timeout", "120", "--json", result],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == SKIPPED:
            print(done.stdout, end="")
            sys.exit(SKIPPED)
        if done.returncode != 0:
            with open(os.path.join(folder, "0.err")) as stream:
                sys.exit(f"hosts.py: {' '.join(words)}: exit {done.returncode}: {done.stdout}{stream.read()}")
        with open(os.path.join(folder, "links.txt")) as stream:
            sent = sum(int(line.split()[5]) for line in stream)
        with open(result) as stream:
            return json.load(stream), sent


def links(options, spec, k, algo):
    """Bytes over the links for one product, by the interfaces."""
    few, many = 2, 2 + options.products
    sent = [run(options, spec, "--k", k, "--algo", algo, "--no-verify", "--warmup", "0", "--repeat", str(n))[1] for n in (few, many)]
    return (sent[1] - sent[0]) / (many - few)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sley", default=os.path.join(HERE, "..", "build", "cli", "sley"), help="the command")
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--per-host", type=int, default=2, help="ranks on each")
    parser.add_argument("--rate", default="1gbit", help="of every host's link, each way")
    parser.add_argument("--twins", default="cyt:scale=0.1,clj:scale=0.005", help="separated by commas")
    parser.add_argument("--k", default="128")
    parser.add_argument("--repeat", default="25", help="timed products of each algorithm")
    parser.add_argument("--budget", default="12", help="seconds for one algorithm's products, after three")
    parser.add_argument("--products", type=int, default=2, help="whose bytes are counted by the interfaces")
    parser.add_argument("--json", help="file for the numbers")
    options = parser.parse_args()
    rows = []
    print(f"{options.hosts} hosts x {options.per_host} ranks, links of {options.rate}, k {options.k}")
    for spec in ("twin:" + twin for twin in options.twins.split(",")):
        result, _ = run(options, spec, "--k", options.k, "--algo", ",".join(STEPS + RIVALS), "--warmup", "1", "--repeat",
                        options.repeat, "--budget", options.budget)
        basic = None
        for found in result["algorithms"]:
            assert found["verify"]["ok"], "a product was wrong"
            counted, ms = found["volume_bytes"]["message"], found["time_ms"]
            seen = links(options, spec, options.k, found["algo"])
            basic = basic or ms["median"]
            rows.append({"matrix": spec, "rows": result["rows"], "nnz": result["nnz"], "algo": found["algo"], "ms": ms["median"],
                         "min_ms": ms["min"], "p95_ms": ms["p95"], "counted_bytes": counted, "link_bytes": seen,
                         "messages": found["messages"]["message"] if "messages" in found else None,
                         "x_first": basic / ms["median"]})
            print(f"{spec:22} {found['algo']:15} {ms['median']:9.1f} ms (least {ms['min']:.1f})   {basic / ms['median']:7.2f} x rowwise   "
                  f"{counted / 2**20:8.2f} MiB counted {seen / 2**20:8.2f} MiB on the links, ratio {seen / max(counted, 1):.4f}", flush=True)
    if options.json:
        with open(options.json, "w") as stream:
            json.dump({"hosts": options.hosts, "per_host": options.per_host, "rate": options.rate, "k": int(options.k),
                       "rows": rows}, stream, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
