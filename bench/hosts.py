#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Algorithms over slow links: ranks on hosts that are network namespaces of this machine (tests/hosts/hosts.sh).

For every twin several runs of the command measure all algorithms in turn, with verified results; times are the median of the
runs' medians, and the least of all. Bytes over the links: by the command's counters, and by the interfaces' own, computed as
the difference of two runs of one algorithm that differ in the number of products, divided by that number.

--overlap: how much of the transfer is hidden behind the computation if both take equally long. The computation's time is a
product's over links without a limit (it includes packing and the handling of messages). The transfer's time is the bytes of the
busiest link, in or out, divided by its rate, which is chosen to make both equal. The additional time of a product over the
limited links was not hidden. Part of it is work, because the processors that compute also emulate the links. So the time in
which a processor was idle is reported, too: waiting for a link would appear there.

Prints tables; --json FILE keeps the numbers. Exit status 77: no namespaces here.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTS = os.path.join(HERE, "..", "tests", "hosts", "hosts.sh")
STEPS = ["rowwise", "halo", "halo-fused", "halo-coalesced", "halo-pipelined", "cover"]
RIVALS = ["bcast-1d", "bcast-1.5d", "summa-2d"]
SKIPPED = 77


def run(options, *words, rate=None):
    """Runs the command on all hosts; returns its JSON, and (received, sent) in bytes for every host's link."""
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "result.json")
        done = subprocess.run([HOSTS, "--hosts", str(options.hosts), "--per-host", str(options.per_host), "--rate", rate or options.rate,
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
            moved = [(int(words[3]), int(words[5])) for words in map(str.split, stream)]
        with open(result) as stream:
            return json.load(stream), moved


def links(options, spec, k, algo):
    """Bytes over the links for one product, by the interfaces: the total, and the busiest link's, in or out."""
    few, many = 2, 2 + options.products
    moved = [run(options, spec, "--k", k, "--algo", algo, "--no-verify", "--warmup", "0", "--repeat", str(n), rate="0")[1]
             for n in (few, many)]
    each = [[(b - a) / (many - few) for a, b in zip(*ways)] for ways in zip(*moved)]
    return sum(sent for _, sent in each), max(max(ways) for ways in each)


def best(options, spec, algo, rate):
    """The least and the median time of a product, in milliseconds."""
    ms = run(options, spec, "--k", options.overlap_k, "--algo", algo, "--no-verify", "--warmup", "2", "--repeat", "30", rate=rate)[0]["time_ms"]
    return ms["min"], ms["median"]


def idle(options, spec, algo, rate):
    """Milliseconds of a product during which a processor was idle, averaged over processors."""
    def stand():
        with open("/proc/stat") as stream:
            words = stream.readline().split()
        return (int(words[4]) + int(words[5])) / os.sysconf("SC_CLK_TCK") * 1e3 / os.cpu_count()

    taken, few, many = [], 10, 210
    for n in (few, many):
        before = stand()
        run(options, spec, "--k", options.overlap_k, "--algo", algo, "--no-verify", "--warmup", "0", "--repeat", str(n), rate=rate)
        taken.append(stand() - before)
    return max(taken[1] - taken[0], 0) / (many - few)


def overlap(options, spec, algo="halo-pipelined"):
    """The part of a transfer that is not hidden, if it takes as long as the computation: runs over both kinds of links in turn.
    """
    _, busiest = links(options, spec, options.overlap_k, algo)
    free, shaped = [best(options, spec, algo, "0") for _ in range(options.rounds)], []
    rate = busiest * 8 / (statistics.median(f[1] for f in free) / 1e3)
    for _ in range(options.rounds):
        shaped.append(best(options, spec, algo, f"{rate / 1e3:.0f}kbit"))
        free.append(best(options, spec, algo, "0"))
    transfer = busiest * 8 / rate * 1e3
    compute, total = statistics.median(f[1] for f in free), statistics.median(s[1] for s in shaped)
    least = min(f[0] for f in free), min(s[0] for s in shaped)
    waited = idle(options, spec, algo, f"{rate / 1e3:.0f}kbit")
    row = {"hosts": options.hosts, "per_host": options.per_host, "matrix": spec, "k": int(options.overlap_k), "algo": algo,
           "rate_mbit": rate / 1e6, "busiest_bytes": busiest, "compute_ms": compute, "transfer_ms": transfer, "product_ms": total,
           "not_hidden": (total - compute) / transfer, "idle_ms": waited, "compute_min_ms": least[0], "product_min_ms": least[1]}
    print(f"{options.hosts} x {options.per_host} {spec:22} {algo:15} {rate / 1e6:7.1f} Mbit/s: computation {compute:7.1f} ms (least {least[0]:.1f}), "
          f"transfer {transfer:7.1f}, product {total:7.1f} (least {least[1]:.1f}): {100 * row['not_hidden']:5.1f} % of the transfer not hidden, "
          f"processors idle {waited:.1f} ms",
          flush=True)
    return row


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
    parser.add_argument("--rounds", type=int, default=3, help="runs of everything that is timed")
    parser.add_argument("--overlap", default="red:scale=0.1,prd:scale=0.04", help="twins for the overlap, separated by commas")
    parser.add_argument("--overlap-k", default="256,64", help="separated by commas")
    parser.add_argument("--overlap-on", default="4x2,2x2,2x1", help="hosts x ranks on each, separated by commas")
    parser.add_argument("--json", help="file for the numbers; of what was not measured they stay as they are")
    options = parser.parse_args()
    kept = {}
    if options.json and os.path.exists(options.json):
        with open(options.json) as stream:
            kept = json.load(stream)
    rows = []
    print(f"{options.hosts} hosts x {options.per_host} ranks, links of {options.rate}, k {options.k}")
    for spec in ("twin:" + twin for twin in options.twins.split(",") if twin):
        results = [run(options, spec, "--k", options.k, "--algo", ",".join(STEPS + RIVALS), "--warmup", "1", "--repeat",
                       options.repeat, "--budget", options.budget)[0] for _ in range(options.rounds)]
        basic = None
        for i, found in enumerate(results[0]["algorithms"]):
            same = [result["algorithms"][i] for result in results]
            assert all(one["verify"]["ok"] for one in same), "a product was wrong"
            counted = found["volume_bytes"]["message"]
            median, least = statistics.median(one["time_ms"]["median"] for one in same), min(one["time_ms"]["min"] for one in same)
            seen, _ = links(options, spec, options.k, found["algo"])
            basic = basic or median
            rows.append({"matrix": spec, "rows": results[0]["rows"], "nnz": results[0]["nnz"], "algo": found["algo"], "ms": median,
                         "min_ms": least, "p95_ms": max(one["time_ms"]["p95"] for one in same), "counted_bytes": counted,
                         "link_bytes": seen, "messages": found["messages"]["message"] if "messages" in found else None,
                         "x_first": basic / median})
            print(f"{spec:22} {found['algo']:15} {median:9.1f} ms (least {least:.1f})   {basic / median:7.2f} x rowwise   "
                  f"{counted / 2**20:8.2f} MiB counted {seen / 2**20:8.2f} MiB on the links, ratio {seen / max(counted, 1):.4f}", flush=True)
    hidden = []
    for hosts, per_host in (map(int, on.split("x")) for on in options.overlap_on.split(",")):
        for k in options.overlap_k.split(","):
            there = argparse.Namespace(**{**vars(options), "hosts": hosts, "per_host": per_host, "overlap_k": k})
            hidden += [overlap(there, "twin:" + twin) for twin in options.overlap.split(",") if twin]
    if options.json:
        with open(options.json, "w") as stream:
            json.dump({"hosts": options.hosts, "per_host": options.per_host, "rate": options.rate, "k": int(options.k),
                       "rows": rows or kept.get("rows", []), "overlap": hidden or kept.get("overlap", [])}, stream, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
