#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products on several ranks, with the command itself: every run verifies its result.

1. overhead: 2 ranks of one thread beside 1 rank of two threads, per matrix and k, alternately;
2. algorithms: bcast-1d, halo-pipelined and cover on 4 ranks of the twins, in one process each;
3. planning: `sley plan twin:clj` at full size on 4 ranks: time and peak memory compared with the CSR's bytes.

Times are medians of the command's own repeats.
"""
import itertools
import resource
import statistics
import time

import common


def overhead(o, spec, k, rounds=2):
    shared, one, two = ["spmm", spec, "--k", k, "--repeat", 15, "--warmup", 3], [], []
    for _ in range(rounds):
        one.append(common.ran_right(common.sley(o.sley, *shared, "--ranks", 1, "--threads", 2)))
        result = common.sley(o.sley, *shared, "--ranks", 2, "--threads", 1)
        two.append(common.ran_right(result))
    row = {"matrix": spec, "k": k, "algo": result["algo"], "one_rank_ms": statistics.median(one), "two_ranks_ms": statistics.median(two)}
    row["ratio"] = row["two_ranks_ms"] / row["one_rank_ms"]
    print(f"{spec:22} k {k:4}  1 rank x 2 threads {row['one_rank_ms']:9.3f} ms   2 ranks x 1 thread {row['two_ranks_ms']:9.3f} ms "
          f"({row['algo']})  ratio {row['ratio']:.3f}", flush=True)
    return row


def algorithms(o, spec, k):
    ms = {algo: common.ran_right(common.sley(o.sley, "spmm", spec, "--k", k, "--ranks", 4, "--algo", algo, "--repeat", 9, "--warmup", 2))
          for algo in ("bcast-1d", "halo-pipelined", "cover")}
    row = {"matrix": spec, "k": k, "ms": ms, "best_over_bcast": min(ms["halo-pipelined"], ms["cover"]) / ms["bcast-1d"]}
    print(f"{spec:22} k {k:4}  " + "   ".join(f"{algo} {one:9.3f}" for algo, one in ms.items()) + f" ms   best / bcast-1d {row['best_over_bcast']:.3f}", flush=True)
    return row


def planning(o):
    begin = time.monotonic()
    result = common.sley(o.sley, "plan", o.plan, "--ranks", 4)
    whole = time.monotonic() - begin
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    csr = result["nnz"] * 8 + (result["rows"] + 1) * 8
    row = {"matrix": o.plan, "load_s": result["load_ms"] / 1e3, "plan_s": whole - result["load_ms"] / 1e3, "peak_bytes": peak, "csr_bytes": csr,
           "peak_over_csr": peak / csr}
    print(f"{o.plan}: generated in {row['load_s']:.2f} s, planned (all algorithms) in {row['plan_s']:.2f} s; peak memory {peak / 2**20:.0f} MiB = "
          f"{row['peak_over_csr']:.2f} x the CSR's {csr / 2**20:.0f} MiB", flush=True)
    return row


def main():
    parser = common.Parser(__doc__)
    parser.add("--sley", common.SLEY, "the command")
    parser.add("--scale", "0.1", "of the twins (default 0.1)")
    parser.add("--plan", "twin:clj", "matrix of part 3; an empty text leaves it out")
    parser.add("--json", None, "file for the numbers")
    o = parser.parse_args()
    parser.check(o)
    cases = list(itertools.product([f"twin:{twin}:scale={o.scale}" for twin in common.TWINS], (32, 128)))
    results = {"planning": planning(o)} if o.plan else {}  # first, because peak memory is the maximum over all children so far
    results["overhead"] = [overhead(o, *case) for case in cases]
    results["algorithms"] = [algorithms(o, *case) for case in cases]
    ratios = [row["ratio"] for row in results["overhead"]]
    results["overhead_geomean"] = statistics.geometric_mean(ratios)
    print(f"2 ranks over 1 rank: geometric mean {results['overhead_geomean']:.3f}, worst {max(ratios):.3f}; best of halo-pipelined and cover over "
          f"bcast-1d: worst {max(row['best_over_bcast'] for row in results['algorithms']):.3f}")
    common.save(o.json, results)


if __name__ == "__main__":
    common.start(main)
