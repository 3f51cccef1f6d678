#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures small products beside other threads: alone, beside a pool that spins, under a quota of CPU time, on one core, and with
twice as many threads as cores. Compares two builds of the library, in turn.

    bench/beside.py NEW [OLD] [--states alone spinning ...] [--cases N] [--rounds N] [--seed S] [--json FILE]

NEW and OLD are the paths of two libraries libsley.so. Cases are matrices of at most --most entries and widths whose logarithms are
uniform, drawn with the seed, in f32 and f64. A program of each build multiplies; only one multiplies at a time. It times each call,
in rows of calls (`rows`), or with other work of 0.4 ms of the calling thread before each call (`apart`), after which the team's
threads are asleep. Prints for each state and each kind of calls: the geometric mean and the worst of old / new by medians and by
means, the geometric mean and the worst of p90 / median and of p99 / median, and the geometric mean and the worst of the median over
that of the same case alone. Python's own cost of a call, about a microsecond, is in every time.

    alone     nothing else runs
    spinning  one thread for each core but one runs without end, as idle threads of OpenMP pools do
    quota     a cgroup grants three quarters of all cores (needs root and the controller cpu)
    pinned    the threads are bound to one core after they have started
    twice     the team has twice as many threads as there are cores

Needs PYTHONPATH=python, if the package is not installed."""
import contextlib
import ctypes as C
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import common
from draw import widths
from tables import geomean

STATES = ["alone", "spinning", "quota", "pinned", "twice"]
APART = 0.4e-3  # seconds
GROUPS = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"]


# ---- a program of one build: reads cases from standard input, and writes their times

def pin_all_threads():
    core = min(os.sched_getaffinity(0))
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


def time_calls(multiply, calls, seconds, apart):
    """Times of the calls, in seconds: at least 20, at most `calls`, for about `seconds`."""
    times, now = [], time.perf_counter
    for _ in range(3):
        multiply()
    end = now() + seconds
    while len(times) < 20 or (len(times) < calls and now() < end):
        if apart:
            until = now() + APART
            while now() < until:
                pass
        start = now()
        multiply()
        times.append(now() - start)
    return times


def serve(pinned, threads):
    import gc

    import numpy as np
    import sley
    from sley import _c
    from sley._library import initial, lib
    from spmm_local import Operands, by_sley

    class Options:
        dtype = None

    plans, failure = {}, []

    def prepare(comm, key, path, k, dtype):
        Options.dtype = {"f32": np.float32, "f64": np.float64}[dtype]
        matrix = sley.read(path, dtype=Options.dtype)
        operands = Operands(Options, matrix, k)
        plans[key] = (by_sley(comm, operands)[0], operands, matrix)

    def rank_main(comm, _):
        try:
            if pinned:
                pin_all_threads()
            gc.disable()
            for line in sys.stdin:
                key, path, k, dtype, calls, seconds, apart = json.loads(line)
                if key not in plans:
                    plans.clear()
                    prepare(comm, key, path, k, dtype)
                print(json.dumps(time_calls(plans[key][0], calls, seconds, apart)), flush=True)
        except Exception as error:  # ctypes would print it and continue
            failure.append(error)
            return 9
        return 0

    main_type = C.CFUNCTYPE(C.c_int, C.c_void_p, C.c_void_p)
    lib.sley_run_ranks(C.byref(initial(_c.sley_rank_options, ranks=1, threads=threads)), main_type(rank_main), None)
    if failure:
        raise failure[0]


class Program:
    def __init__(self, library, state, threads, group):
        words = [sys.executable, os.path.abspath(__file__), "--serve", "pinned" if state == "pinned" else "free", str(threads)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "SLEY_LIBRARY": library})
        if group:
            with open(os.path.join(group, "cgroup.procs"), "w", encoding="utf-8") as stream:
                stream.write(str(self.process.pid))

    def times(self, *request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise common.Failed("a program of this benchmark ended")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


# ---- states

@contextlib.contextmanager
def spinning(count):
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "spin.c"), os.path.join(folder, "spin")
        with open(source, "w", encoding="utf-8") as stream:
            stream.write("int main(void) { for (volatile long i = 0;; i++) ; }\n")
        common.run(["cc", "-O1", source, "-o", program])
        spinners = [subprocess.Popen([program]) for _ in range(count)]
        try:
            yield
        finally:
            for each in spinners:
                each.send_signal(signal.SIGKILL)
                each.wait()


@contextlib.contextmanager
def quota(cores):
    """Makes a cgroup with three quarters of the cores; None if that is not possible."""
    root = next((each for each in GROUPS if os.path.exists(os.path.join(each, "cgroup.procs"))), None)
    group = root and os.path.join(root, f"sley_beside_{os.getpid()}")
    period, part = 100000, int(cores * 75000)
    try:
        os.mkdir(group)
        first = os.path.exists(os.path.join(group, "cpu.cfs_quota_us"))
        with open(os.path.join(group, "cpu.cfs_quota_us" if first else "cpu.max"), "w", encoding="utf-8") as stream:
            stream.write(str(part) if first else f"{part} {period}")
    except (OSError, TypeError):
        if group and os.path.isdir(group):
            os.rmdir(group)
        yield None
        return
    try:
        yield group
    finally:
        time.sleep(0.2)  # the kernel has noticed that the processes have ended
        os.rmdir(group)


# ---- the run

def part(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def draw_cases(o):
    chance = random.Random(o.seed)
    names = sorted(name for name, entries in common.real_matrices(o.data, o.least).items() if entries <= o.most)
    names = chance.sample(names, min(o.cases, len(names)))
    return [(os.path.join(o.data, name), k, chance.choice(["f32", "f64"])) for name in names for k in widths(chance, 2, 1024)]


def measure(o, state, builds, cases, cores, group):
    threads = {"twice": 2 * cores, "pinned": max(2, cores)}.get(state, cores)
    programs = {build: Program(path, state, threads, group) for build, path in builds.items()}
    rows = []
    for path, k, dtype in cases:
        for kind in ("rows", "apart"):
            times = {build: [] for build in builds}
            for turn in range(o.rounds):
                for build in list(builds)[:: 1 if turn % 2 else -1]:
                    times[build] += programs[build].times(f"{path} {k} {dtype}", path, k, dtype, 400, o.seconds, kind == "apart")
            facts = {build: {"median": part(each, 0.5), "p90": part(each, 0.9), "p99": part(each, 0.99), "least": min(each), "mean": sum(each) / len(each)}
                     for build, each in times.items()}
            rows.append({"state": state, "kind": kind, "matrix": os.path.basename(path), "k": k, "dtype": dtype, "seconds": facts})
    for program in programs.values():
        program.end()
    return rows


def spread(values):
    return f"{geomean(values):6.2f} ({min(values):5.2f} to {max(values):7.2f})"


def report(rows, builds):
    of_alone = {(row["kind"], row["matrix"], row["k"], row["dtype"]): row["seconds"] for row in rows if row["state"] == "alone"}
    for state in STATES:
        for kind in ("rows", "apart"):
            some = [row for row in rows if row["state"] == state and row["kind"] == kind]
            if not some:
                continue
            if "old" in builds:
                print(f"{state:8} {kind:5}      old / new: median {spread([r['seconds']['old']['median'] / r['seconds']['new']['median'] for r in some])}, "
                      f"mean {spread([r['seconds']['old']['mean'] / r['seconds']['new']['mean'] for r in some])}")
            for build in builds:
                each = [row["seconds"][build] for row in some]
                line = f"{state:8} {kind:5} {build:4} p90 / median {spread([e['p90'] / e['median'] for e in each])}, p99 / median {spread([e['p99'] / e['median'] for e in each])}"
                if of_alone and state != "alone":
                    alone = [of_alone[row["kind"], row["matrix"], row["k"], row["dtype"]][build] for row in some]
                    line += f", median / alone {spread([e['median'] / a['median'] for e, a in zip(each, alone)])}"
                print(line)
    sys.stdout.flush()


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(sys.argv[2] == "pinned", int(sys.argv[3]))
    parser = common.Parser(__doc__)
    parser.add_argument("new")
    parser.add_argument("old", nargs="?")
    parser.add("--states", STATES, nargs="+", choices=STATES, type=str)
    parser.add("--data", common.DATA)
    parser.add("--cases", 12, "matrices, of two widths each")
    parser.add("--least", 500, "matrices have more entries")
    parser.add("--most", 100000, "matrices have at most as many entries")
    parser.add("--rounds", 4, "turns of each build")
    parser.add("--seconds", 0.02, "of each turn")
    parser.add("--seed", 1)
    parser.add("--json")
    o = parser.parse_args()
    parser.check(o, cases=1, rounds=1)
    builds, cases, cores = {"new": o.new, **({"old": o.old} if o.old else {})}, draw_cases(o), len(os.sched_getaffinity(0))
    print(f"{len(cases)} cases, seed {o.seed}, {cores} cores; load average {os.getloadavg()[0]:.1f}", flush=True)
    rows = []
    for state in o.states:
        with contextlib.ExitStack() as stack:
            group = None
            if state == "spinning":
                stack.enter_context(spinning(max(1, cores - 1)))
            if state == "quota" and not (group := stack.enter_context(quota(cores))):
                print("quota    not run: no cgroup can be made here")
                continue
            rows += measure(o, state, builds, cases, cores, group)
    report(rows, builds)
    common.save(o.json, {"seed": o.seed, "cores": cores, "rows": rows})
    return 0


if __name__ == "__main__":
    common.start(main)
