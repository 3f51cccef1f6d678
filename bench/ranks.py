#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products on several ranks, with the command itself: every run verifies its result.

1. overhead: 2 ranks of one thread beside 1 rank of two threads, per matrix and k, alternately;
2. algorithms: bcast-1d, halo-pipelined and cover on 4 ranks of the twins, in one process each;
3. planning: `sley plan twin:clj` at full size on 4 ranks: time and peak memory against the CSR's bytes.

Times are medians of the command's own repeats. Prints tables; --json FILE keeps the numbers.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

TWINS = ["cyt", "clj", "prd", "cok", "cit", "slj", "spk", "sso"]
HERE = os.path.dirname(os.path.abspath(__file__))


def sley(command, *arguments):
    """Runs the command and returns its JSON."""
    done = subprocess.run([command, *arguments, "--json", "-"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def median_ms(result):
    assert result["verify"]["ok"], "a product was wrong"
    return result["time_ms"]["median"]


def overhead(command, specs, widths, rounds):
    rows = []
    for spec in specs:
        for k in widths:
            one, two = [], []
            for _ in range(rounds):
                shared = ["spmm", spec, "--k", str(k), "--repeat", "15", "--warmup", "3"]
                one.append(median_ms(sley(command, *shared, "--ranks", "1", "--threads", "2")))
                result = sley(command, *shared, "--ranks", "2", "--threads", "1")
                two.append(median_ms(result))
            row = {"matrix": spec, "k": k, "algo": result["algo"], "one_rank_ms": statistics.median(one),
                   "two_ranks_ms": statistics.median(two)}
            row["ratio"] = row["two_ranks_ms"] / row["one_rank_ms"]
            rows.append(row)
            print(f"{spec:22} k {k:4}  1 rank x 2 threads {row['one_rank_ms']:9.3f} ms   2 ranks x 1 thread "
                  f"{row['two_ranks_ms']:9.3f} ms ({row['algo']})  ratio {row['ratio']:.3f}", flush=True)
    return rows


def algorithms(command, specs, widths):
    rows = []
    for spec in specs:
        for k in widths:
            times = {}
            for algo in ["bcast-1d", "halo-pipelined", "cover"]:
                times[algo] = median_ms(sley(command, "spmm", spec, "--k", str(k), "--ranks", "4", "--algo", algo,
                                             "--repeat", "9", "--warmup", "2"))
            best = min(times["halo-pipelined"], times["cover"])
            rows.append({"matrix": spec, "k": k, "ms": times, "best_over_bcast": best / times["bcast-1d"]})
            print(f"{spec:22} k {k:4}  bcast-1d {times['bcast-1d']:9.3f}   halo-pipelined {times['halo-pipelined']:9.3f}"
                  f"   cover {times['cover']:9.3f} ms   best / bcast-1d {best / times['bcast-1d']:.3f}", flush=True)
    return rows


def planning(command, spec):
    begin = time.monotonic()
    result = sley(command, "plan", spec, "--ranks", "4")
    whole = time.monotonic() - begin
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    csr = result["nnz"] * 8 + (result["rows"] + 1) * 8
    row = {"matrix": spec, "load_s": result["load_ms"] / 1e3, "plan_s": whole - result["load_ms"] / 1e3,
           "peak_bytes": peak, "csr_bytes": csr, "peak_over_csr": peak / csr}
    print(f"{spec}: generated in {row['load_s']:.2f} s, planned (all algorithms) in {row['plan_s']:.2f} s; peak memory "
          f"{peak / 2**20:.0f} MiB = {row['peak_over_csr']:.2f} x the CSR's {csr / 2**20:.0f} MiB", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sley", default=os.path.join(HERE, "..", "build", "cli", "sley"), help="the command")
    parser.add_argument("--scale", default="0.1", help="of the twins (default 0.1)")
    parser.add_argument("--plan", default="twin:clj", help="matrix of part 3; an empty text leaves it out")
    parser.add_argument("--json", help="file for the numbers")
    options = parser.parse_args()
    specs = [f"twin:{twin}:scale={options.scale}" for twin in TWINS]
    results = {}
    if options.plan:
        results["planning"] = planning(options.sley, options.plan)  # first, because peak memory is the maximum over all children so far
    results["overhead"] = overhead(options.sley, specs, [32, 128], 2)
    results["algorithms"] = algorithms(options.sley, specs, [32, 128])
    ratios = [row["ratio"] for row in results["overhead"]]
    results["overhead_geomean"] = statistics.geometric_mean(ratios)
    print(f"2 ranks over 1 rank: geometric mean {results['overhead_geomean']:.3f}, worst {max(ratios):.3f}; best of "
          f"halo-pipelined and cover over bcast-1d: worst {max(r['best_over_bcast'] for r in results['algorithms']):.3f}")
    if options.json:
        with open(options.json, "w") as stream:
            json.dump(results, stream, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
