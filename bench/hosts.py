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

Needs the build in build/, and root or a system that allows namespaces. Exit status 77: no namespaces here.
"""
import argparse
import os
import statistics
import tempfile

import common

ALGOS = ["rowwise", "halo", "halo-fused", "halo-coalesced", "halo-pipelined", "cover", "bcast-1d", "bcast-1.5d", "summa-2d"]


def run(o, *words, rate=None):
    """Runs the command on all hosts; returns its JSON, and (received, sent) in bytes for every host's link."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = common.sley(os.path.abspath(o.sley), "spmm", *words, "--threads", 1, "--device", "cpu", "--transport", "tcp", "--timeout", 120,
                                launch=common.on_hosts(o.hosts, o.per_host, rate or o.rate, "--out", folder))
        except common.Failed as error:
            with open(os.path.join(folder, "0.err"), encoding="utf-8") as stream:
                raise common.Failed(f"{words}: {error}; {stream.read()}") from error
        with open(os.path.join(folder, "links.txt"), encoding="utf-8") as stream:
            return found, [(int(line[3]), int(line[5])) for line in map(str.split, stream)]


def links(o, spec, k, algo):
    """Bytes over the links for one product, by the interfaces: the total, and the busiest link's, in or out."""
    few, many = 2, 2 + o.products
    moved = [run(o, spec, "--k", k, "--algo", algo, "--no-verify", "--warmup", 0, "--repeat", n, rate="0")[1] for n in (few, many)]
    each = [[(b - a) / (many - few) for a, b in zip(*ways)] for ways in zip(*moved)]
    return sum(sent for _, sent in each), max(max(ways) for ways in each)


def best(o, spec, algo, rate):
    """The least and the median time of a product, in milliseconds."""
    ms = run(o, spec, "--k", o.overlap_k, "--algo", algo, "--no-verify", "--warmup", 2, "--repeat", 30, rate=rate)[0]["time_ms"]
    return ms["min"], ms["median"]


def idle(o, spec, algo, rate):
    """Milliseconds of a product during which a processor was idle, averaged over processors."""
    def stand():
        with open("/proc/stat", encoding="ascii") as stream:
            words = stream.readline().split()
        return (int(words[4]) + int(words[5])) / os.sysconf("SC_CLK_TCK") * 1e3 / os.cpu_count()

    taken, few, many = [], 10, 210
    for n in (few, many):
        before = stand()
        run(o, spec, "--k", o.overlap_k, "--algo", algo, "--no-verify", "--warmup", 0, "--repeat", n, rate=rate)
        taken.append(stand() - before)
    return max(taken[1] - taken[0], 0) / (many - few)


def overlap(o, spec, algo="halo-pipelined"):
    """The part of a transfer that is not hidden, if it takes as long as the computation: runs over both kinds of links in turn."""
    _, busiest = links(o, spec, o.overlap_k, algo)
    free, shaped = [best(o, spec, algo, "0") for _ in range(o.rounds)], []
    rate = busiest * 8 / (statistics.median(f[1] for f in free) / 1e3)
    limit = f"{rate / 1e3:.0f}kbit"
    for _ in range(o.rounds):
        shaped.append(best(o, spec, algo, limit))
        free.append(best(o, spec, algo, "0"))
    transfer = busiest * 8 / rate * 1e3
    compute, total = statistics.median(f[1] for f in free), statistics.median(s[1] for s in shaped)
    row = {"hosts": o.hosts, "per_host": o.per_host, "matrix": spec, "k": int(o.overlap_k), "algo": algo, "rate_mbit": rate / 1e6,
           "busiest_bytes": busiest, "compute_ms": compute, "transfer_ms": transfer, "product_ms": total, "not_hidden": (total - compute) / transfer,
           "idle_ms": idle(o, spec, algo, limit), "compute_min_ms": min(f[0] for f in free), "product_min_ms": min(s[0] for s in shaped)}
    print(f"{o.hosts} x {o.per_host} {spec:22} {algo:15} {rate / 1e6:7.1f} Mbit/s: computation {compute:7.1f} ms (least {row['compute_min_ms']:.1f}), "
          f"transfer {transfer:7.1f}, product {total:7.1f} (least {row['product_min_ms']:.1f}): {100 * row['not_hidden']:5.1f} % of the transfer not hidden, "
          f"processors idle {row['idle_ms']:.1f} ms", flush=True)
    return row


def compare(o, spec):
    """A row for each algorithm."""
    results = [run(o, spec, "--k", o.k, "--algo", ",".join(ALGOS), "--warmup", 1, "--repeat", o.repeat, "--budget", o.budget)[0] for _ in range(o.rounds)]
    rows = []
    for i, found in enumerate(results[0]["algorithms"]):
        same = [result["algorithms"][i] for result in results]
        median = statistics.median(map(common.ran_right, same))
        counted, (seen, _) = found["volume_bytes"]["message"], links(o, spec, o.k, found["algo"])
        rows.append({"matrix": spec, "rows": results[0]["rows"], "nnz": results[0]["nnz"], "algo": found["algo"], "ms": median,
                     "min_ms": min(one["time_ms"]["min"] for one in same), "p95_ms": max(one["time_ms"]["p95"] for one in same),
                     "counted_bytes": counted, "link_bytes": seen, "messages": found["messages"]["message"] if "messages" in found else None,
                     "x_first": (rows[0]["ms"] if rows else median) / median})
        print(f"{spec:22} {found['algo']:15} {median:9.1f} ms (least {rows[-1]['min_ms']:.1f})   {rows[-1]['x_first']:7.2f} x rowwise   "
              f"{counted / 2**20:8.2f} MiB counted {seen / 2**20:8.2f} MiB on the links, ratio {seen / max(counted, 1):.4f}", flush=True)
    return rows


def main():
    parser = common.Parser(__doc__)
    parser.add("--sley", common.SLEY, "the command")
    parser.add("--hosts", 4)
    parser.add("--per-host", 2, "ranks on each")
    parser.add("--rate", "1gbit", "of every host's link, each way")
    parser.add("--twins", "cyt:scale=0.1,clj:scale=0.005", "separated by commas")
    parser.add("--k", "128")
    parser.add("--repeat", "25", "timed products of each algorithm")
    parser.add("--budget", "12", "seconds for one algorithm's products, after three")
    parser.add("--products", 2, "whose bytes are counted by the interfaces")
    parser.add("--rounds", 3, "runs of everything that is timed")
    parser.add("--overlap", "red:scale=0.1,prd:scale=0.04", "twins for the overlap, separated by commas")
    parser.add("--overlap-k", "256,64", "separated by commas")
    parser.add("--overlap-on", "4x2,2x2,2x1", "hosts x ranks on each, separated by commas")
    parser.add("--json", None, "file for the numbers; of what was not measured they stay as they are")
    o = parser.parse_args()
    parser.check(o)
    kept = common.load(o.json) if o.json and os.path.exists(o.json) else {}
    print(f"{o.hosts} hosts x {o.per_host} ranks, links of {o.rate}, k {o.k}")
    rows = [row for twin in o.twins.split(",") if twin for row in compare(o, "twin:" + twin)]
    hidden = []
    for hosts, per_host in (map(int, on.split("x")) for on in o.overlap_on.split(",")):
        for k in o.overlap_k.split(","):
            there = argparse.Namespace(**{**vars(o), "hosts": hosts, "per_host": per_host, "overlap_k": k})
            hidden += [overlap(there, "twin:" + twin) for twin in o.overlap.split(",") if twin]
    common.save(o.json, {"hosts": o.hosts, "per_host": o.per_host, "rate": o.rate, "k": int(o.k), "rows": rows or kept.get("rows", []),
                         "overlap": hidden or kept.get("overlap", [])})


if __name__ == "__main__":
    common.start(main)
