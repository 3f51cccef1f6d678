#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is a compressed collective ever slower than a dense one? Sizes from 1 MiB to --bytes and shares of zeros from 0 to 0.999, on
the GPUs of one process, compared with NCCL's own dense collectives of as many processes.

  sweep.py SLEY [--bytes 2147483648] [--ranks 2] [--json FILE]

For each collective the command runs once with --sweep, and over NCCL, dense, once for each size, since a dense time does not
depend on zeros. A case is good where
  time <= 1.05 * NCCL's dense time + 20 us,
and the same holds for the dense collective of its own run. The script prints, for each size, the case nearest to that limit and
the fastest one, and the number of cases above it. Exit status: 1 if a run fails, 2 for wrong words; times do not affect it.
"""
import argparse
import json
import os
import sys

import beside_dense

KINDS = ["allgather", "reducescatter", "allreduce"]
SHARE, MORE_US = 1.05, 20.0


def limit(dense_us):
    return SHARE * dense_us + MORE_US


def case_of(kind, size):
    return {"kind": kind, "bytes": size, "zeros": 0}


def dense_times(args, kind, sizes):
    """The rival's times, by size."""
    return {size: beside_dense.dense_processes(args, case_of(kind, size), args.seed)["cases"][0]["dense_us"] for size in sizes}


def join(kind, cases, rival):
    """The cases of a collective, with the rival's dense time and the time as a share of the limit."""
    joined = []
    for case in cases:
        rival_us = rival[case["size"]]
        kept = {key: case[key] for key in ("size", "zeros", "time_us", "p10_us", "p90_us", "dense_us", "wire_bytes", "dense_wire_bytes", "path", "reason")}
        joined.append({"kind": kind, **kept, "rival_us": rival_us, "share": case["time_us"] / limit(rival_us),
                       "own_share": case["time_us"] / limit(case["dense_us"])})
    return joined


def show(cases):
    for size in sorted({case["size"] for case in cases}):
        worst = max((case for case in cases if case["size"] == size), key=lambda case: case["share"])
        best = min((case for case in cases if case["size"] == size), key=lambda case: case["time_us"] / case["rival_us"])
        print(f"{worst['kind']:13} {size:>11} B  dense {worst['rival_us']:10.1f} us  slowest: zeros {100 * worst['zeros']:5.1f} %, {worst['time_us']:10.1f} us, {worst['share']:.2f} "
              f"of the limit  fastest: zeros {100 * best['zeros']:5.1f} %, {best['time_us']:10.1f} us", flush=True)


def options():
    parser = beside_dense.Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the command sley")
    parser.add_argument("--bytes", type=int, default=2 << 30, help="of the greatest size")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=11)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--threads", type=int, default=0, help="of each rank; 0: cores / ranks")
    parser.add_argument("--iters", type=int, default=1, help="runs that are waited for together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    parser.add_argument("--rival", default="nccl", help="transport of the dense processes")
    parser.add_argument("--json", help="file for the figures")
    args = parser.parse_args()
    for name, least in (("bytes", 1 << 20), ("ranks", 2), ("repeat", 1), ("warmup", 0), ("threads", 0), ("iters", 1), ("seed", 0)):
        if getattr(args, name) < least:
            parser.error(f"--{name} is {getattr(args, name)}: it must be {least} or more")
    if not set(args.kinds.split(",")) <= set(KINDS):
        parser.error(f"--kinds {args.kinds}: they are {','.join(KINDS)}")
    if args.json and not os.path.isdir(os.path.dirname(args.json) or "."):
        parser.error(f"--json {args.json}: there is no such folder")
    return args


def main():
    args = options()
    print(f"sweep: seed {args.seed}, {args.repeat} times {args.iters} runs", flush=True)
    cases = []
    for kind in args.kinds.split(","):
        mine = beside_dense.command(args, case_of(kind, args.bytes), args.seed, [],
                                    ["--sweep", "--ranks", str(args.ranks), "--transport", "threads", "--no-check"])
        cases += join(kind, mine["cases"], dense_times(args, kind, sorted({case["size"] for case in mine["cases"]})))
        show([case for case in cases if case["kind"] == kind])
        if args.json:  # written after each collective, so that an interrupted run keeps the earlier ones
            summary = {"cases": len(cases), "above": sum(case["share"] > 1 for case in cases), "above_own": sum(case["own_share"] > 1 for case in cases),
                       "greatest": max(case["share"] for case in cases)}
            with open(args.json, "w") as stream:
                json.dump({"machine": beside_dense.describe(args.device == "cuda"), "device": mine["device"], "ranks": mine["ranks"], "rival": args.rival, "seed": args.seed,
                           "repeat": args.repeat, "iters": args.iters, "summary": summary, "cases": cases}, stream, indent=1)
                stream.write("\n")
    for name, key in (("NCCL's dense" if args.rival == "nccl" else f"dense over {args.rival}", "share"), ("dense of the same run", "own_share")):
        above = [case for case in cases if case[key] > 1]
        worst = max(cases, key=lambda case: case[key])
        print(f"against {name}: {len(above)} of {len(cases)} cases above 1.05 x dense + 20 us; the greatest share of it {worst[key]:.3f} ({worst['kind']}, "
              f"{worst['size']} B, zeros {worst['zeros']:g}, {worst['path']})")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except beside_dense.Failed as error:
        sys.exit(f"sweep.py: {error}")
