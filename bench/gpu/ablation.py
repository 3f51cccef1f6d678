#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two workgroups of two GPUs joined by sockets: the effect of each step from rowwise to cover. For each matrix and k four ranks
of `sley spmm` are started once, as by a launcher, two for each of the hosts that NCCL_HOSTID simulates on this one. They run
all steps in turn: at least 3 products of each, and no more once the step's budget is spent. That is repeated in rounds, every
other one in reverse order, because the speed of sockets changes by a quarter from one communicator to the next. Writes a line
of JSON with the machine, then one for each step: bytes by link class, messages, and times; and prints tables. A step that did
not run has a line with the reason. bench/gpu/run.sh calls this script."""
import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tables import gpu  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = ["rowwise", "halo", "halo-fused", "halo-coalesced", "halo-pipelined", "cover"]
RANKS = 4


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def prepare(args, matrix, folder):
    """Writes the matrix to a file that every rank reads; otherwise each rank would generate it."""
    if os.path.exists(matrix):
        return matrix
    path = os.path.join(folder, matrix.replace(":", "-").replace("=", "-") + ".sley")
    if not os.path.exists(path):
        name = matrix if ":" in matrix else "twin:" + matrix
        subprocess.run([args.sley, "convert", name, path], check=True, stdout=subprocess.DEVNULL)
    return path


def run(args, name, k, algorithms, seconds):
    """Rank 0's JSON object for the steps on a file; raises RuntimeError with the output if a rank fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        words = [args.sley, "spmm", name, "--device", args.device, "--transport", args.transport, "--algo", ",".join(algorithms),
                 "--k", str(k), "--order", args.order, "--repeat", str(args.repeat), "--warmup", "2", "--budget", str(args.budget),
                 "--timeout", str(int(seconds) + 1)]
        port = free_port()
        ranks = []
        try:
            for rank in range(RANKS):
                env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1",
                           MASTER_PORT=str(port), NCCL_HOSTID="ab"[rank // 2], NCCL_NET="Socket", NCCL_SOCKET_IFNAME="lo")
                ranks.append(subprocess.Popen(words + (["--json", path] if rank == 0 else []), env=env, text=True,
                                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
            end = time.monotonic() + seconds
            texts = [r.communicate(timeout=max(0.1, end - time.monotonic()))[0] for r in ranks]
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"not done within {seconds:.0f} s") from None
        finally:
            for r in ranks:
                if r.poll() is None:
                    r.kill()
                    r.wait()
        if any(r.returncode for r in ranks):
            raise RuntimeError("\n".join(dict.fromkeys(line for text in texts for line in text.splitlines() if line.strip())))
        with open(path) as stream:
            return json.load(stream)


def step_lines(args, matrix, k, result):
    """A line for each step of a run; "missing" in place of figures if it could not run."""
    lines = []
    for step in result["algorithms"] if "algorithms" in result else [result]:
        line = {"record": "ablation", "matrix": matrix, "k": k, "order": args.order, "algo": step["algo"]}
        if "impossible" in step:
            line["missing"] = step["impossible"]
        else:
            times = step["time_ms"]
            line.update({"transport": step["transport"], "device": step["device"], "self_bytes": step["volume_bytes"]["self"],
                         "direct_bytes": step["volume_bytes"]["direct"], "message_bytes": step["volume_bytes"]["message"],
                         "messages": step["messages"]["message"], "direct_messages": step["messages"]["direct"],
                         "ms": times["median"], "min_ms": times["min"], "p95_ms": times["p95"], "repeats": times["count"],
                         "plan_ms": step["plan_ms"], "ok": step["verify"]["ok"] if step["verify"] else None})
        lines.append(line)
    return lines


def join_rounds(rounds):
    """Joins the lines of all rounds; a step that is missing in one round is missing."""
    joined = []
    for line in rounds[0]:
        mine = [next(other for other in r if other["algo"] == line["algo"]) for r in rounds]
        gaps = [other for other in mine if "missing" in other]
        if gaps:
            joined.append(gaps[0])
            continue
        joined.append({**line, "ms": statistics.median(other["ms"] for other in mine), "min_ms": min(other["min_ms"] for other in mine),
                       "p95_ms": max(other["p95_ms"] for other in mine), "repeats": sum(other["repeats"] for other in mine),
                       "round_ms": [other["ms"] for other in mine], "ok": all(other["ok"] is not False for other in mine)})
    return joined


def missing(args, matrix, k, algorithms, why):
    return [{"record": "ablation", "matrix": matrix, "k": k, "order": args.order, "algo": algo, "missing": str(why)}
            for algo in algorithms]


def measure(args, matrix, k, folder, end):
    """Lines of all steps. If the steps fail together, each is tried alone, so that one failure does not affect the others."""
    def left():
        seconds = end - time.monotonic()
        if seconds < 5:
            raise RuntimeError(f"no time is left of {args.limit:.0f} s")
        return seconds

    try:
        left()
        name = prepare(args, matrix, args.cache or folder)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        return missing(args, matrix, k, args.algorithms, error)
    def attempt(algorithms):
        try:
            return step_lines(args, matrix, k, run(args, name, k, algorithms, left()))
        except RuntimeError as error:
            print(f"{matrix}, k = {k}, {', '.join(algorithms)}: {error}", file=sys.stderr, flush=True)
            return missing(args, matrix, k, algorithms, error)

    rounds = []
    for number in range(args.rounds):
        found = attempt(args.algorithms[::-1] if number % 2 else args.algorithms)
        if all("missing" in line for line in found):
            if rounds:
                break
            return [line for algo in args.algorithms for line in attempt([algo])]
        rounds.append(sorted(found, key=lambda line: args.algorithms.index(line["algo"])))
    return join_rounds(rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sley", required=True)
    parser.add_argument("--json", required=True)
    parser.add_argument("--matrices", nargs="+", default=["cyt", "clj"], help="twins, generators or files")
    parser.add_argument("--algorithms", nargs="+", default=STEPS)
    parser.add_argument("--k", type=int, nargs="+", default=[32, 64])
    parser.add_argument("--order", default="none")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--transport", default="nccl")
    parser.add_argument("--repeat", type=int, default=10, help="products timed at most")
    parser.add_argument("--rounds", type=int, default=3, help="times that all steps are run")
    parser.add_argument("--budget", type=float, default=1.5, help="seconds after which a step begins no more than 3 timed products")
    parser.add_argument("--cache", help="folder that keeps the matrices")
    parser.add_argument("--limit", type=float, default=150, help="seconds for everything")
    args = parser.parse_args()
    begin = time.monotonic()
    machine = subprocess.run([sys.executable, os.path.join(HERE, "machine.py")], stdout=subprocess.PIPE, text=True, check=True)
    records = []
    with open(args.json, "w") as out, tempfile.TemporaryDirectory() as folder:
        def keep(line):
            out.write(json.dumps(line) + "\n")
            out.flush()

        keep({"record": "machine", **json.loads(machine.stdout),
              "sley": subprocess.run([args.sley, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]})
        for matrix in args.matrices:
            for k in args.k:
                records += measure(args, matrix, k, folder, begin + args.limit)
                for line in records[-len(args.algorithms):]:
                    keep(line)
                print(f"{matrix}, k = {k}: done after {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    gpu.ablation(records)
    return int(any("missing" in line or line["ok"] is False for line in records))


if __name__ == "__main__":
    sys.exit(main())
