#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares compressed collectives with dense ones, in the cases of the claims in docs/PERFORMANCE.md, and in cases whose sizes
and shares of zeros are drawn with a printed seed.

  beside_dense.py gpus SLEY [--json FILE]
      GPUs of one process, beside NCCL's own dense collectives of as many processes: two commands in turn
  beside_dense.py hosts SLEY --launch "bench/collective/as_hosts.sh 2" --transport nccl [--json FILE]
      ranks that a launcher starts, beside the dense collective of the same run; as_hosts.sh 2x2: two hosts of two
  beside_dense.py mpi PROGRAM --launch "mpirun -n 4" [--json FILE]
      PROGRAM is build/bench/bench_mpi_allreduce: all-reduces beside MPI_Allreduce, in turn in one run; over slow links
      --launch "tests/hosts/hosts.sh --hosts 4 --per-host 1 --rate 1gbit --mpirun mpirun --" --address 10.77.0.1
  beside_dense.py sweep SLEY [--json FILE]
      is a compressed collective ever slower than a dense one? Sizes from 1 MiB to --bytes and shares of zeros from 0 to 0.999, on
      the GPUs of one process, compared with NCCL's own dense collectives of as many processes, whose times do not depend on zeros.
      A case is good where time <= 1.05 * NCCL's dense time + 20 us, and the same holds for the dense collective of its own run.
      The script prints, for each size, the case nearest to that limit and the fastest one, and the number of cases above it.

Runs on GPUs are started --iters at a time without waiting between them, as in nccl-tests and in a training step. A case is run
--rounds times, each with a seed of its own. Its time is the median of the rounds' medians; its ratio is dense / compressed,
above 1 if compressed is faster. The script prints the cases, and the geometric mean and the least ratio, of the drawn cases and
of all. For a fixed case of the usual size it also prints the ratio claimed and whether it is reached. Exit status: 1 if a value
is wrong or a run fails, 2 for wrong words, 77 if the launcher cannot run here; ratios and times do not affect it.
"""
import json
import random
import shlex
import statistics
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import common  # noqa: E402
from common import MIB  # noqa: E402
from tables import geomean  # noqa: E402

KINDS = ["allreduce", "reducescatter", "allgather"]
# Kind, share of zeros, and the least ratio claimed; the size is --bytes. For GPUs of one process: with two, and with four.
CLAIMS_OF_FOUR = [("allgather", 0.99, 5.25), ("allgather", 0.95, 3.5), ("allgather", 0.5, 1), ("reducescatter", 0.99, 4), ("reducescatter", 0.95, 2.5),
                  ("allreduce", 0.99, 4), ("allreduce", 0.95, 2.5)]
CLAIMS = {
    "gpus": [("allgather", 0.99, 3), ("allgather", 0.95, 2), ("allgather", 0.5, 1), ("reducescatter", 0.99, 2.5), ("reducescatter", 0.95, 1.7),
             ("allreduce", 0.99, 2.5), ("allreduce", 0.95, 1.7)],
    "hosts": [("allgather", 0.99, 12), ("allreduce", 0.99, 8)],
    "mpi": [("allreduce", 0.99, 8), ("allreduce", 0, 0.95)]}
SIZES = {"gpus": 512 * MIB, "hosts": 512 * MIB, "mpi": 64 * MIB, "sweep": 2048 * MIB}
SHARE, MORE_US = 1.05, 20.0  # the limit of a sweep


# ---- cases

def draw(args):
    """Draws sizes from 64 KiB (or --bytes) to --bytes, and shares of nonzero values from 1 to 0.001, both with a uniform
    logarithm."""
    random_ = random.Random(args.seed)
    kinds = sorted({kind for kind, _, _ in CLAIMS[args.where]}) if args.where == "mpi" else KINDS
    least = min(64 << 10, args.bytes)
    return [{"kind": random_.choice(kinds), "bytes": int(least * (args.bytes / least) ** random_.random()) // 64 * 64 or 64,
             "zeros": round(1 - 10 ** (-3 * random_.random()), 6), "fixed": False, "claim": None} for _ in range(args.cases)]


def list_cases(args):
    """The fixed cases come first; if their size is not the usual one, nothing is claimed."""
    claims = CLAIMS_OF_FOUR if args.where == "gpus" and args.ranks >= 4 else CLAIMS[args.where]
    return [{"kind": kind, "bytes": args.bytes, "zeros": zeros, "fixed": True, "claim": claim if args.bytes == SIZES[args.where] else None}
            for kind, zeros, claim in claims] + draw(args)


# ---- runs

def command(args, case, seed, *words, launch=()):
    """The JSON report of `sley collective`."""
    return common.sley(args.program, "collective", case["kind"], "--bytes", case["bytes"], "--zeros", f"{case['zeros']:.9g}", "--repeat", args.repeat,
                       "--warmup", args.warmup, "--iters", args.iters, "--seed", seed, "--threads", args.threads, "--device", args.device, *words,
                       launch=launch)


def of_command(found):
    """The figures of one run of the command that a round keeps."""
    case = found["cases"][0]
    kept = ("time_us", "dense_us", "wire_bytes", "dense_wire_bytes", "density_in", "density_out", "path", "reason", "bound_us", "bound_share")
    return {"sley_us": case["time_us"], "rival_us": case["dense_us"], "wrong": case["wrong"], "size": case["size"], "device": found["device"],
            "transport": found["transport"], "ranks": found["ranks"], **{key: case[key] for key in kept if key in case}}


def of_threads(args, case, seed, *words):
    return command(args, case, seed, "--ranks", args.ranks, "--transport", "threads", *words)


def dense_processes(args, case, seed):
    """Ranks as processes that NCCL joins, each rank a workgroup of its own; both sides of that run are dense."""
    return command(args, case, seed, "--ranks", args.ranks, "--transport", args.rival, "--workgroup", 1, "--any-order", "--format", "none", "--no-check")


def round_of_gpus(args, case, seed):
    one, rival = of_command(of_threads(args, case, seed)), dense_processes(args, case, seed)
    return {**one, "rival_us": rival["cases"][0]["dense_us"], "rival": f"{rival['ranks']} processes over {rival['transport']}"}


def round_of_hosts(args, case, seed):
    return of_command(command(args, case, seed, "--transport", args.transport, "--any-order", launch=args.launch))


def round_of_mpi(args, case, seed):
    words = [args.program, case["bytes"], f"{case['zeros']:.9g}", args.repeat, seed] + ([args.address] if args.address else [])
    found = json.loads(common.run([*args.launch, *words], True))
    return {"sley_us": 1e3 * statistics.median(found.pop("sley_ms")), "rival_us": 1e3 * statistics.median(found.pop("mpi_ms")),
            "device": "cpu", "rival": found.pop("version"), **found}


ROUNDS = {"gpus": round_of_gpus, "hosts": round_of_hosts, "mpi": round_of_mpi}


def measure(args, case):
    """Adds the rounds to the case, their medians, the ratio with the least and the greatest over the rounds, and whether the
    claim holds; or why the case failed."""
    try:
        case["rounds"] = [ROUNDS[args.where](args, case, args.seed + r) for r in range(args.rounds)]
    except common.Failed as error:
        case["failed"] = str(error)
        return
    for key in ("sley_us", "rival_us"):
        case[key] = statistics.median(one[key] for one in case["rounds"])
    ratios = [one["rival_us"] / one["sley_us"] for one in case["rounds"]]
    case.update(ratio=case["rival_us"] / case["sley_us"], least_ratio=min(ratios), most_ratio=max(ratios), wrong=sum(one["wrong"] for one in case["rounds"]))
    if case["claim"]:
        case["holds"] = case["ratio"] >= case["claim"]


def show(case):
    head = f"{case['kind']:13} {case['bytes']:>11} B  zeros {100 * case['zeros']:8.4f} %"
    if "failed" in case:
        print(f"{head}  failed: {case['failed']}", flush=True)
        return
    last = case["rounds"][-1]
    claim = f"  claimed {case['claim']:g}: {'holds' if case['holds'] else 'does not hold'}" if case["claim"] else ""
    print(f"{head}  {case['sley_us']:11.1f} us  dense {case['rival_us']:11.1f} us  dense / compressed {case['ratio']:6.2f} ({case['least_ratio']:.2f} to "
          f"{case['most_ratio']:.2f})  wire {last['wire_bytes'] / max(last['dense_wire_bytes'], 1):.4f}  wrong {case['wrong']}  {last['path']}{claim}", flush=True)


def summary(cases):
    """Geometric mean and least of the ratios; None if there are none."""
    cases = [case for case in cases if "ratio" in case]
    if not cases:
        return None
    worst = min(cases, key=lambda case: case["ratio"])
    return {"cases": len(cases), "geomean": geomean(case["ratio"] for case in cases), "worst": worst["ratio"],
            "worst_case": f"{worst['kind']}, {worst['bytes']} B, zeros {worst['zeros']:g}"}


def compare(args):
    """Cases one by one; the file is written after each, so that an interrupted run keeps the earlier ones."""
    cases, options = list_cases(args), {key: value for key, value in vars(args).items() if key not in ("json", "program")}
    for number, case in enumerate(cases, 1):
        measure(args, case)
        show(case)
        means = {"drawn": summary([one for one in cases[:number] if not one["fixed"]]), "all": summary(cases[:number])}
        device = next((one["device"] for each in cases[:number] for one in each.get("rounds", [])), "cpu")
        common.save(args.json, {"where": args.where, "seed": args.seed, "options": options, "summary": means, "cases": cases[:number]}, device)
    for name, mean in means.items():
        if mean:
            print(f"{name}: {mean['cases']} cases, dense / compressed: geometric mean {mean['geomean']:.3f}, worst {mean['worst']:.3f} ({mean['worst_case']})")
    return 1 if any("failed" in case or case["wrong"] for case in cases) else 0


# ---- a sweep

def limit(dense_us):
    return SHARE * dense_us + MORE_US


def joined(kind, case, rival_us):
    """A case of a sweep with the rival's dense time, and the time as a share of both limits."""
    kept = {key: case[key] for key in ("size", "zeros", "time_us", "p10_us", "p90_us", "dense_us", "wire_bytes", "dense_wire_bytes", "path", "reason")}
    return {"kind": kind, **kept, "rival_us": rival_us, "share": case["time_us"] / limit(rival_us), "own_share": case["time_us"] / limit(case["dense_us"])}


def show_sizes(cases):
    for size in sorted({case["size"] for case in cases}):
        same = [case for case in cases if case["size"] == size]
        worst, best = max(same, key=lambda case: case["share"]), min(same, key=lambda case: case["time_us"] / case["rival_us"])
        print(f"{worst['kind']:13} {size:>11} B  dense {worst['rival_us']:10.1f} us  slowest: zeros {100 * worst['zeros']:5.1f} %, {worst['time_us']:10.1f} us, "
              f"{worst['share']:.2f} of the limit  fastest: zeros {100 * best['zeros']:5.1f} %, {best['time_us']:10.1f} us", flush=True)


def sweep(args):
    """Kinds one by one, each in one run of the command with --sweep; the rival runs once for each size."""
    cases = []
    for kind in args.kinds:
        mine = of_threads(args, {"kind": kind, "bytes": args.bytes, "zeros": 0}, args.seed, "--sweep", "--no-check")
        dense = {size: dense_processes(args, {"kind": kind, "bytes": size, "zeros": 0}, args.seed)["cases"][0]["dense_us"]
                 for size in sorted({case["size"] for case in mine["cases"]})}
        cases += [joined(kind, case, dense[case["size"]]) for case in mine["cases"]]
        show_sizes([case for case in cases if case["kind"] == kind])
        found = {"cases": len(cases), "above": sum(case["share"] > 1 for case in cases), "above_own": sum(case["own_share"] > 1 for case in cases),
                 "greatest": max(case["share"] for case in cases)}
        common.save(args.json, {"device": mine["device"], "ranks": mine["ranks"], "rival": args.rival, "seed": args.seed, "repeat": args.repeat,
                                "iters": args.iters, "summary": found, "cases": cases}, args.device)
    for name, key in (("NCCL's dense" if args.rival == "nccl" else f"dense over {args.rival}", "share"), ("dense of the same run", "own_share")):
        worst = max(cases, key=lambda case: case[key])
        print(f"against {name}: {sum(case[key] > 1 for case in cases)} of {len(cases)} cases above 1.05 x dense + 20 us; the greatest share of it "
              f"{worst[key]:.3f} ({worst['kind']}, {worst['size']} B, zeros {worst['zeros']:g}, {worst['path']})")
    return 0


# ---- options

def options():
    parser = common.Parser(__doc__)
    parser.add_argument("where", choices=list(SIZES))
    parser.add_argument("program", help="the command, or bench_mpi_allreduce")
    parser.add("--bytes", 0, "of the larger array of a rank; default 512 MiB, mpi: 64 MiB, sweep: up to 2 GiB")
    parser.add("--kinds", "allgather,reducescatter,allreduce", "of sweep")
    parser.add("--cases", 12, "that are drawn, beside the fixed ones")
    parser.add("--rounds", 3)
    parser.add("--repeat", 11, "timed runs of each side in a round")
    parser.add("--warmup", -1, "runs before them: default 3, of sweep and always of mpi 2")
    parser.add("--iters", 0, "runs that are waited for together: default 5 of gpus, else 1; of mpi always 1")
    parser.add("--seed", 1)
    parser.add("--ranks", 2, "of gpus and sweep; else the launcher's")
    parser.add("--threads", 0, "of each rank; 0: cores / ranks; of mpi always 1")
    parser.add("--device", "cuda", choices=["auto", "cpu", "cuda"])
    parser.add("--transport", "nccl", "of hosts")
    parser.add("--rival", "nccl", "transport of the dense processes of gpus and sweep")
    parser.add("--launch", "", "words before the command that start it as ranks")
    parser.add("--address", "", "of mpi on several hosts: where rank 0 is reached")
    parser.add("--json", None, "file for the figures")
    args = parser.parse_args()
    args.launch, args.kinds = shlex.split(args.launch), parser.names("--kinds", args.kinds, KINDS)
    args.bytes, args.iters = args.bytes or SIZES[args.where], args.iters or (5 if args.where == "gpus" else 1)
    if args.warmup == -1:
        args.warmup = 2 if args.where == "sweep" else 3
    swept = args.where == "sweep"
    parser.check(args, bytes=MIB if swept else 64, cases=0, rounds=1, repeat=1, warmup=0, iters=1, seed=0, ranks=2 if swept else 1, threads=0)
    launched = args.where in ("hosts", "mpi")
    if args.launch and not launched:
        parser.error(f"{args.where} takes no --launch: its ranks are threads, and the rival's are forked")
    if launched and not args.launch:
        parser.error(f"{args.where} wants --launch: the words that start the ranks")
    return args


def main():
    args = options()
    rounds = "" if args.where == "sweep" else f"{args.rounds} rounds of "
    print(f"{args.where}: seed {args.seed}, {rounds}{args.repeat} times {args.iters} runs", flush=True)
    return sweep(args) if args.where == "sweep" else compare(args)


if __name__ == "__main__":
    common.start(main)
