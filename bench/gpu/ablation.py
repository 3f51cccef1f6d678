#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two workgroups of two GPUs joined by sockets: the effect of each step from rowwise to cover. For each matrix and k four ranks
of `sley spmm` are started once by bench/collective/as_hosts.sh, two for each of the hosts that NCCL_HOSTID simulates on this one.
They run all steps in turn: at least 3 products of each, and no more once the step's budget is spent. That is repeated in rounds,
every other one in reverse order, because the speed of sockets changes by a quarter from one communicator to the next. Writes a line
of JSON with the machine, then one for each step: bytes by link class, messages, and times; and prints tables. A step that did
not run has a line with the reason. bench/gpu/run.sh calls this script."""
import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import common  # noqa: E402
import machine  # noqa: E402
from tables import gpu  # noqa: E402

STEPS = ["rowwise", "halo", "halo-fused", "halo-coalesced", "halo-pipelined", "cover"]
HOSTS = ["timeout", "{seconds}", os.path.join(common.BENCH, "collective", "as_hosts.sh"), "2x2"]


def step_line(step, line):
    """The line of a step of a run; "missing" in place of figures if it could not run."""
    if "impossible" in step:
        return {**line, "missing": step["impossible"]}
    times, volume = step["time_ms"], step["volume_bytes"]
    return {**line, "transport": step["transport"], "device": step["device"], "self_bytes": volume["self"], "direct_bytes": volume["direct"],
            "message_bytes": volume["message"], "messages": step["messages"]["message"], "direct_messages": step["messages"]["direct"],
            "ms": times["median"], "min_ms": times["min"], "p95_ms": times["p95"], "repeats": times["count"], "plan_ms": step["plan_ms"],
            "ok": step["verify"]["ok"] if step["verify"] else None}


def join_rounds(rounds):
    """Joins the lines of all rounds; a step that is missing in one round is missing."""
    joined = []
    for line in rounds[0]:
        mine = [next(other for other in r if other["algo"] == line["algo"]) for r in rounds]
        gaps = [other for other in mine if "missing" in other]
        joined.append(gaps[0] if gaps else {
            **line, "ms": statistics.median(other["ms"] for other in mine), "min_ms": min(other["min_ms"] for other in mine),
            "p95_ms": max(other["p95_ms"] for other in mine), "repeats": sum(other["repeats"] for other in mine),
            "round_ms": [other["ms"] for other in mine], "ok": all(other["ok"] is not False for other in mine)})
    return joined


class Case:
    """A matrix and a width."""

    def __init__(self, args, matrix, k, folder, end):
        self.args, self.matrix, self.k, self.folder, self.end = args, matrix, k, args.cache or folder, end

    def line(self, algo):
        return {"record": "ablation", "matrix": self.matrix, "k": self.k, "order": self.args.order, "algo": algo}

    def run(self, algorithms):
        """A line for each step."""
        args, seconds = self.args, int(self.end - time.monotonic())
        try:
            if seconds < 5:
                raise common.Failed(f"no time is left of {args.limit:.0f} s")
            spec = self.matrix if ":" in self.matrix or os.path.exists(self.matrix) else "twin:" + self.matrix
            path = common.cached(args.sley, spec, self.folder)  # otherwise each rank would generate it
            result = common.sley(args.sley, "spmm", path, "--device", args.device, "--transport", args.transport, "--algo", ",".join(algorithms), "--k",
                                 self.k, "--order", args.order, "--repeat", args.repeat, "--warmup", 2, "--budget", args.budget, "--timeout", seconds + 1,
                                 launch=[word.format(seconds=seconds) for word in HOSTS])
        except common.Failed as error:
            print(f"{self.matrix}, k = {self.k}, {', '.join(algorithms)}: {error}", file=sys.stderr, flush=True)
            return [{**self.line(algo), "missing": str(error)} for algo in algorithms]
        return [step_line(step, self.line(step["algo"])) for step in result.get("algorithms", [result])]

    def measure(self):
        """Lines of all steps. If the steps fail together, each is tried alone, so that one failure does not affect the others."""
        algorithms, rounds = self.args.algorithms, []
        for number in range(self.args.rounds):
            found = self.run(algorithms[::-1] if number % 2 else algorithms)
            if all("missing" in line for line in found):
                if rounds:
                    break
                return [line for algo in algorithms for line in self.run([algo])]
            rounds.append(sorted(found, key=lambda line: algorithms.index(line["algo"])))
        return join_rounds(rounds)


def main():
    parser = common.Parser(__doc__)
    parser.add("--sley", common.SLEY)
    parser.add("--json", None, required=True)
    parser.add("--matrices", ["cyt", "clj"], "twins, generators or files", nargs="+", type=str)
    parser.add("--algorithms", STEPS, nargs="+", type=str)
    parser.add("--k", [32, 64], nargs="+", type=int)
    parser.add("--order", "none")
    parser.add("--device", "cuda")
    parser.add("--transport", "nccl")
    parser.add("--repeat", 10, "products timed at most")
    parser.add("--rounds", 3, "times that all steps are run")
    parser.add("--budget", 1.5, "seconds after which a step begins no more than 3 timed products")
    parser.add("--cache", None, "folder that keeps the matrices")
    parser.add("--limit", 150.0, "seconds for everything")
    args = parser.parse_args()
    begin, records = time.monotonic(), []
    with common.lines(args.json) as keep, tempfile.TemporaryDirectory() as folder:
        keep({"record": "machine", **machine.describe("cuda"), "sley": common.run([args.sley, "--version"]).split()[-1]})
        for matrix in args.matrices:
            for k in args.k:
                lines = Case(args, matrix, k, folder, begin + args.limit).measure()
                for line in lines:
                    keep(line)
                records += lines
                print(f"{matrix}, k = {k}: done after {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    gpu.ablation(records)
    return int(any("missing" in line or line["ok"] is False for line in records))


if __name__ == "__main__":
    common.start(main)
