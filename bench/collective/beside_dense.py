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

Runs on GPUs are started --iters at a time without waiting between them, as in nccl-tests and in a training step. A case is run
--rounds times, each with a seed of its own. Its time is the median of the rounds' medians; its ratio is dense / compressed,
above 1 if compressed is faster. The script prints the cases, and the geometric mean and the least ratio, of the drawn cases and
of all. For a fixed case of the usual size it also prints the ratio claimed and whether it is reached. Exit status: 1 if a value
is wrong or a run fails, 2 for wrong words, 77 if the launcher cannot run here; ratios do not affect it.
"""
import argparse
import functools
import json
import math
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
MIB = 1 << 20
KINDS = ["allreduce", "reducescatter", "allgather"]
# Kind, share of zeros, and the least ratio claimed; the size is --bytes. For GPUs of one process: with two, and with four.
CLAIMS_OF_FOUR = [("allgather", 0.99, 5.25), ("allgather", 0.95, 3.5), ("allgather", 0.5, 1), ("reducescatter", 0.99, 4), ("reducescatter", 0.95, 2.5),
                  ("allreduce", 0.99, 4), ("allreduce", 0.95, 2.5)]
CLAIMS = {
    "gpus": [("allgather", 0.99, 3), ("allgather", 0.95, 2), ("allgather", 0.5, 1), ("reducescatter", 0.99, 2.5), ("reducescatter", 0.95, 1.7),
             ("allreduce", 0.99, 2.5), ("allreduce", 0.95, 1.7)],
    "hosts": [("allgather", 0.99, 12), ("allreduce", 0.99, 8)],
    "mpi": [("allreduce", 0.99, 8), ("allreduce", 0, 0.95)]}
SIZES = {"gpus": 512 * MIB, "hosts": 512 * MIB, "mpi": 64 * MIB}
# Allows more ranks than cores, and root in a container; waiting ranks yield their core.
HABITS = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_ALLOW_RUN_AS_ROOT": "1",
          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


class Failed(Exception):
    """A run that failed, with the reason."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")


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
    fixed = [{"kind": kind, "bytes": args.bytes, "zeros": zeros, "fixed": True, "claim": claim if args.bytes == SIZES[args.where] else None}
             for kind, zeros, claim in claims]
    return fixed + draw(args)


# ---- runs

def run(command, launched):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**HABITS, **os.environ})
    except OSError as error:
        raise Failed(f"{command[0]}: {error.strerror}") from error
    if launched and done.returncode == SKIPPED:
        sys.stdout.write(done.stdout)
        sys.exit(SKIPPED)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith(("sley: ", "bench_"))] or done.stderr.splitlines()
        raise Failed(lines[0] if lines else f"exit {done.returncode}")
    return done.stdout


def command(args, case, seed, launch, words):
    """The JSON report of `sley collective`."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        run([*launch, args.program, "collective", case["kind"], "--bytes", str(case["bytes"]), "--zeros", f"{case['zeros']:.9g}", "--repeat",
             str(args.repeat), "--warmup", str(args.warmup), "--iters", str(args.iters), "--seed", str(seed), "--threads", str(args.threads), "--device", args.device, "--json",
             report.name, *words], bool(launch))
        with open(report.name) as stream:  # the command has replaced the file
            return json.load(stream)


def of_command(found):
    """The figures of one run of the command that a round keeps."""
    case = found["cases"][0]
    kept = ("time_us", "dense_us", "wire_bytes", "dense_wire_bytes", "density_in", "density_out", "path", "reason", "bound_us", "bound_share")
    return {"sley_us": case["time_us"], "rival_us": case["dense_us"], "wrong": case["wrong"], "size": case["size"], "device": found["device"],
            "transport": found["transport"], "ranks": found["ranks"], **{key: case[key] for key in kept if key in case}}


def dense_processes(args, case, seed):
    """Ranks as processes that NCCL joins, each rank a workgroup of its own; both sides of that run are dense."""
    return command(args, case, seed, [], ["--ranks", str(args.ranks), "--transport", args.rival, "--workgroup", "1", "--any-order",
                                          "--format", "dense", "--no-check"])


def round_of_gpus(args, case, seed):
    mine = command(args, case, seed, [], ["--ranks", str(args.ranks), "--transport", "threads"])
    rival = dense_processes(args, case, seed)
    one = of_command(mine)
    one["rival_us"] = rival["cases"][0]["dense_us"]
    one["rival"] = f"{rival['ranks']} processes over {rival['transport']}"
    return one


def round_of_hosts(args, case, seed):
    return of_command(command(args, case, seed, args.launch, ["--transport", args.transport, "--any-order"]))


def round_of_mpi(args, case, seed):
    words = [args.program, str(case["bytes"]), f"{case['zeros']:.9g}", str(args.repeat), str(seed)] + ([args.address] if args.address else [])
    found = json.loads(run([*args.launch, *words], True))
    return {"sley_us": 1e3 * statistics.median(found.pop("sley_ms")), "rival_us": 1e3 * statistics.median(found.pop("mpi_ms")),
            "device": "cpu", "rival": found.pop("version"), **found}


ROUNDS = {"gpus": round_of_gpus, "hosts": round_of_hosts, "mpi": round_of_mpi}


def measure(args, case):
    """Adds the rounds to the case, their medians, the ratio with the least and the greatest over the rounds, and whether the
    claim holds; or why the case failed."""
    try:
        case["rounds"] = [ROUNDS[args.where](args, case, args.seed + r) for r in range(args.rounds)]
    except Failed as error:
        case["failed"] = str(error)
        return
    for key in ("sley_us", "rival_us"):
        case[key] = statistics.median(one[key] for one in case["rounds"])
    ratios = [one["rival_us"] / one["sley_us"] for one in case["rounds"]]
    case.update(ratio=case["rival_us"] / case["sley_us"], least_ratio=min(ratios), most_ratio=max(ratios), wrong=sum(one["wrong"] for one in case["rounds"]))
    if case["claim"]:
        case["holds"] = case["ratio"] >= case["claim"]


# ---- output

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
    return {"cases": len(cases), "geomean": math.exp(statistics.fmean(math.log(case["ratio"]) for case in cases)), "worst": worst["ratio"],
            "worst_case": f"{worst['kind']}, {worst['bytes']} B, zeros {worst['zeros']:g}"}


def summaries(cases):
    return {"drawn": summary([case for case in cases if not case["fixed"]]), "all": summary(cases)}


def write(args, cases):
    """Writes the file after each case, so that an interrupted run keeps the earlier ones."""
    if not args.json:
        return
    with open(args.json, "w") as stream:
        json.dump({"where": args.where, "machine": machine(cases), "seed": args.seed,
                   "options": {key: value for key, value in vars(args).items() if key not in ("json", "program")}, "summary": summaries(cases),
                   "cases": cases}, stream, indent=1)
        stream.write("\n")


def machine(cases):
    """Facts of the machine on which the figures depend; None if they cannot be found."""
    return describe(any(one["device"].startswith("cuda") for case in cases for one in case.get("rounds", [])))


@functools.cache
def describe(on_gpu):
    """Describes the machine by the script for the device."""
    script = os.path.join(HERE, "..", *(["gpu"] if on_gpu else []), "machine.py")
    try:
        return json.loads(subprocess.run([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout)
    except (subprocess.CalledProcessError, ValueError):
        return None


# ---- options

def options():
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where", choices=list(CLAIMS))
    parser.add_argument("program", help="the command, or bench_mpi_allreduce")
    parser.add_argument("--bytes", type=int, default=0, help="of the larger array of a rank; default 512 MiB, mpi: 64 MiB")
    parser.add_argument("--cases", type=int, default=12, help="that are drawn, beside the fixed ones")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=11, help="timed runs of each side in a round")
    parser.add_argument("--warmup", type=int, default=3, help="runs before them; of mpi always 2")
    parser.add_argument("--iters", type=int, default=0, help="runs that are waited for together: default 5 of gpus, else 1; of mpi always 1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=2, help="of gpus; else the launcher's")
    parser.add_argument("--threads", type=int, default=0, help="of each rank; 0: cores / ranks; of mpi always 1")
    parser.add_argument("--device", default="cuda", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--transport", default="nccl", help="of hosts")
    parser.add_argument("--rival", default="nccl", help="transport of the dense processes of gpus")
    parser.add_argument("--launch", default="", help="words before the command that start it as ranks")
    parser.add_argument("--address", default="", help="of mpi on several hosts: where rank 0 is reached")
    parser.add_argument("--json", help="file for the figures")
    args = parser.parse_args()
    args.launch = shlex.split(args.launch)
    args.bytes = args.bytes or SIZES[args.where]
    args.iters = args.iters or (5 if args.where == "gpus" else 1)
    for name, least in (("bytes", 64), ("cases", 0), ("rounds", 1), ("repeat", 1), ("warmup", 0), ("iters", 1), ("seed", 0), ("ranks", 1), ("threads", 0)):
        if getattr(args, name) < least:
            parser.error(f"--{name} is {getattr(args, name)}: it must be {least} or more")
    if args.where == "gpus" and args.launch:
        parser.error("gpus takes no --launch: its ranks are threads, and the rival's are forked")
    if args.where != "gpus" and not args.launch:
        parser.error(f"{args.where} wants --launch: the words that start the ranks")
    if args.json and not os.path.isdir(os.path.dirname(args.json) or "."):
        parser.error(f"--json {args.json}: there is no such folder")
    return args


def main():
    args = options()
    print(f"{args.where}: seed {args.seed}, {args.rounds} rounds of {args.repeat} times {args.iters} runs", flush=True)
    cases = list_cases(args)
    for number, case in enumerate(cases):
        measure(args, case)
        show(case)
        write(args, cases[:number + 1])
    for name, mean in summaries(cases).items():
        if mean:
            print(f"{name}: {mean['cases']} cases, dense / compressed: geometric mean {mean['geomean']:.3f}, worst {mean['worst']:.3f} ({mean['worst_case']})")
    print(f"seed {args.seed}")
    return 1 if any("failed" in case or case["wrong"] for case in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
