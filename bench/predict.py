#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are predictions right? Compares every algorithm's predicted time with its measured one, and the time of auto's choice with the
best algorithm's.

  predict.py planner SLEY OUT.json       twins on this machine's cores: threads (ranks in one process, workgroups of half of them),
                                         tcp (processes on this host), hosts (processes over tcp on 2 hosts, which are network
                                         namespaces joined by links of --rate). OUT.json keeps its cases of other links and twins.
  predict.py untuned SLEY OUT.json       ten real matrices on 1, 2, 4 and 16 ranks, predicted by the built-in figures
  predict.py gpus SLEY OUT.jsonl         twins on 2 and 4 GPUs

planner and gpus predict by a description that `sley tune` measures first: FOLDER/LINKS.machine, unless that exists. A time is the
least of --rounds rounds over all algorithms (untuned: the least of the rounds' medians; gpus: the median), each with buffers of
its own, because other work on the machine and the addresses of buffers can only make times longer. planner: if other processes
(or the host of a virtual machine) used more than --others of the cores' time, the measurement is repeated when they rest, a few
times at most; OUT.json records that share. untuned: with --again the matrices are predicted again and the times of OUT.json kept,
which shows the effect of a change of the model within a minute; exit status 1 if a ratio is outside of --least to --most.
"""
import math
import os
import resource
import sys
import time

import common
from tables import geomean

ALGOS = ("bcast-1d", "bcast-1d-pipelined", "bcast-1.5d", "summa-2d", "rowwise", "halo", "halo-fused", "halo-coalesced", "halo-pipelined", "cover")
LINKS = ("threads", "tcp", "hosts")
MATRICES = ("mtx/usa-road-NE.mtx.gz", "mtx/cnr-2000.mtx.gz", "metis/wave.graph.gz", "snap/web-NotreDame.txt.gz",
            "npz/coauthor_phy.features.npz", "snap/soc-Epinions1.txt.gz", "gnn/coauthor_phy.adj.mtx.gz", "mtx/bcsstk17.mtx.gz",
            "mtx/delaunay_n16.mtx.gz", "mtx/p2p-Gnutella31.mtx.gz")
WITHIN = 0.25
ATTEMPTS, PATIENCE = 3, 30  # attempts for a case; seconds to wait until other processes rest


# ---- other work on the machine

def core_seconds():
    """Core seconds used so far, by all processes and by the host of a virtual machine; and all core seconds so far."""
    with open("/proc/stat", encoding="ascii") as stream:
        user, nice, system, idle, iowait, irq, softirq, steal = map(int, stream.readline().split()[1:9])
    tick, busy = os.sysconf("SC_CLK_TCK"), user + nice + system + steal
    return busy / tick, (busy + idle + iowait + irq + softirq) / tick


def own_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def share_of_others(run):
    """Calls a function; returns its result, and the share of the cores' time that others used meanwhile."""
    (busy, there), own = core_seconds(), own_seconds()
    result = run()
    (busy_then, there_then), own_then = core_seconds(), own_seconds()
    return result, max(busy_then - busy - (own_then - own), 0) / max(there_then - there, 1e-9)


def calmly(o, run):
    """Repeats until others leave the machine alone, at most ATTEMPTS times; returns the calmest result and its share of others."""
    best = None
    for _ in range(ATTEMPTS):
        waited = 0
        while waited < PATIENCE and share_of_others(lambda: time.sleep(2))[1] > o.others:
            waited += 2
        found = share_of_others(run)
        best = min(best or found, found, key=lambda one: one[1])
        if best[1] <= o.others:
            break
    return best


# ---- planner

def launch(o, links, ranks):
    return common.on_hosts(2, ranks // 2, o.rate) if links == "hosts" else []


def transport(links):
    return "threads" if links == "threads" else "tcp"


def described(o, links, words):
    """The description that predicts, which is measured first unless it exists."""
    path = os.path.join(o.folder, links + ".machine")
    if not os.path.exists(path):
        common.run([*launch(o, links, 4), os.path.abspath(o.sley), "tune", *words, "--out", path], SLEY_MACHINE="builtin")
    return path


def planned_case(o, links, twin, matrix, k, ranks, machine):
    words = ["spmm", matrix, "--k", k, "--threads", 1, "--device", "cpu", "--algo", ",".join(("auto",) + o.rounds * ALGOS), "--warmup", 1,
             "--repeat", 1000, "--budget", o.budget, "--no-verify", "--transport", transport(links)]
    words += ["--ranks", ranks, "--workgroup", ranks // 2] if links != "hosts" else []
    chosen, *others = common.sley(os.path.abspath(o.sley), *words, launch=launch(o, links, ranks), SLEY_MACHINE=machine)["algorithms"]
    found = {}
    for one in others:
        kept = found.setdefault(one["algo"], {"predicted_ms": one["predicted_ms"], "phases_ms": one["phases_ms"], "measured_ms": math.inf})
        kept["measured_ms"] = min(kept["measured_ms"], one["time_ms"]["min"])
    choice, best = chosen["algo"], min(found, key=lambda name: found[name]["measured_ms"])
    return {"links": links, "rounds": o.rounds, "scale": o.scale, "matrix": twin, "k": k, "ranks": ranks, "choice": choice, "best": best,
            "choice_ms": found[choice]["measured_ms"], "best_ms": found[best]["measured_ms"], "predicted_ms": found[choice]["predicted_ms"],
            "algorithms": found}


def is_right(predicted, measured):
    return abs(predicted - measured) <= WITHIN * measured


def summary(cases):
    """Counts over all cases and by links."""
    out = {}
    for links in ("all",) + LINKS:
        mine = [c for c in cases if links in ("all", c["links"])]
        each = [a for c in mine for a in c["algorithms"].values()]
        if mine:
            out[links] = {"cases": len(mine), "near": sum(c["choice_ms"] <= 1.1 * c["best_ms"] for c in mine),
                          "choice_right": sum(is_right(c["predicted_ms"], c["choice_ms"]) for c in mine),
                          "predictions": len(each), "right": sum(is_right(a["predicted_ms"], a["measured_ms"]) for a in each)}
    return out


def planner(o):
    twins, chosen = o.twins.split(","), o.links.split(",")
    kept = common.load(o.out)["cases"] if os.path.exists(o.out) else []
    cases = [c for c in kept if c["links"] not in chosen or c["matrix"] not in twins]
    for links in chosen:
        machine, _ = calmly(o, lambda: described(o, links, ["--transport", transport(links), "--seconds", o.tune_seconds]))
        for twin in twins:
            matrix = common.cached(o.sley, f"twin:{twin}:scale={o.scale}", o.folder)
            for ranks in (2, 4):
                for k in (16, 64, 128):
                    c, others = calmly(o, lambda: planned_case(o, links, twin, matrix, k, ranks, machine))
                    cases.append({**c, "others": round(others, 4)})
                    common.save(o.out, {"rate": o.rate, "summary": summary(cases), "cases": cases})
                    print(f"{links:8} {twin} k {k:3} ranks {ranks}  {c['choice']:15} {c['choice_ms']:9.3f} ms  best {c['best']:15} "
                          f"{c['best_ms']:9.3f}  x{c['choice_ms'] / c['best_ms']:.2f}  predicted/measured "
                          f"{c['predicted_ms'] / c['choice_ms']:.2f}  others {others:.3f}", flush=True)
    for links, n in summary(cases).items():
        print(f"{links}: choice within 10 % of the best in {n['near']} of {n['cases']} cases; predictions within 25 %: of the choice "
              f"{n['choice_right']}, of all algorithms {n['right']} of {n['predictions']}")
    return 0


# ---- untuned

def run_untuned(o, command, matrix, ranks, *words):
    return common.sley(o.sley, command, os.path.join(o.data, matrix), "--k", o.k, "--ranks", ranks, "--threads",
                       max(len(os.sched_getaffinity(0)) // ranks, 1), "--device", "cpu", *words, SLEY_MACHINE=o.machine or "builtin")["algorithms"]


def untuned_case(o, matrix, ranks, kept):
    told = {a["algo"]: a for a in run_untuned(o, "plan", matrix, ranks, "--algo", "all")}
    times = kept.get((matrix, ranks), {})
    if not times:
        print(matrix, ranks, flush=True, file=sys.stderr)
        for one in run_untuned(o, "spmm", matrix, ranks, "--algo", ",".join(list(told) * o.rounds), "--repeat", 1000, "--warmup", 2, "--budget",
                               o.budget, "--no-verify"):
            times[one["algo"]] = min(times.get(one["algo"], math.inf), one["time_ms"]["median"])
    return {"matrix": matrix, "ranks": ranks, "k": o.k, "algorithms": {
        name: {"predicted_ms": a["predicted_ms"], "measured_ms": times[name], "phases_ms": a["phases_ms"]} for name, a in told.items()}}


def untuned(o):
    kept = {(c["matrix"], c["ranks"]): {name: a["measured_ms"] for name, a in c["algorithms"].items()}
            for c in common.load(o.out)["cases"]} if o.again else {}
    cases = []
    for matrix in o.matrices.split(","):
        for ranks in map(int, o.ranks.split(",")):
            cases.append(untuned_case(o, matrix, ranks, kept))
            common.save(o.out, {"cases": cases})
    ratios = [(a["predicted_ms"] / a["measured_ms"], name, c) for c in cases for name, a in c["algorithms"].items()]

    def cell(ratio):
        return f"{ratio:.2f}{' ' if o.least <= ratio <= o.most else '*'}"
    print("predicted / measured")
    common.show(["matrix", "ranks", *cases[0]["algorithms"]],
                [[c["matrix"], c["ranks"]] + [cell(ratio) for ratio, _, of in ratios if of is c] for c in cases])
    outside = sum(not o.least <= ratio <= o.most for ratio, *_ in ratios)
    ends = [f"{ratio:.2f} ({name}, {c['matrix']}, {c['ranks']} ranks)" for ratio, name, c in
            (pick(ratios, key=lambda one: one[0]) for pick in (min, max))]
    print(f"{len(ratios)} predictions: geometric mean {geomean(ratio for ratio, *_ in ratios):.2f}, worst {' and '.join(ends)}; "
          f"{outside} outside {o.least} to {o.most}")
    return outside > 0


# ---- gpus

def gpus(o):
    machine = o.machine or described(o, "gpus", ["--device", "cuda"])
    with common.lines(o.out) as keep:
        for twin in o.twins.split(","):
            matrix = common.cached(o.sley, f"twin:{twin}", o.folder)
            for ranks, k in ((2, 128), (4, 32), (4, 128)):
                first, *others = common.sley(o.sley, "spmm", matrix, "--device", "cuda", "--ranks", ranks, "--k", k, "--algo",
                                             "auto,halo,halo-pipelined,cover,bcast-1d", "--no-verify", "--warmup", 2, "--repeat", 8,
                                             SLEY_MACHINE=machine)["algorithms"]
                keep({"record": "prediction", "machine": o.machine or "measured", "matrix": twin, "gpus": ranks, "k": k,
                      "choice": first["algo"], "choice_ms": first["time_ms"]["median"], "plan_ms": first["plan_ms"],
                      "algorithms": {a["algo"]: {"predicted_ms": a["predicted_ms"], "ms": a["time_ms"]["median"], "plan_ms": a["plan_ms"]}
                                     for a in others}})
    return 0


def main():
    modes = {"planner": planner, "untuned": untuned, "gpus": gpus}
    parser = common.Parser(__doc__)
    parser.add_argument("mode", choices=modes)
    parser.add_argument("sley")
    parser.add_argument("out")
    parser.add("--folder", "/tmp/sley-predict", "for matrices and descriptions")
    parser.add("--machine", None, "untuned, gpus: a description that predicts; builtin too")
    parser.add("--twins", "cyt,clj,prd")
    parser.add("--scale", 0.05, "planner: of the twins")
    parser.add("--links", ",".join(LINKS), "planner: separated by commas")
    parser.add("--rate", "1gbit", "planner: of every host's link, each way")
    parser.add("--rounds", 4, "planner, untuned: over all algorithms")
    parser.add("--budget", 0.15, "planner, untuned: seconds for one algorithm's products in a round")
    parser.add("--tune-seconds", 60.0, "planner")
    parser.add("--others", 0.1, "planner: share of the cores' time that others may take from a case")
    parser.add("--data", common.DATA, "untuned: folder of the matrices")
    parser.add("--matrices", ",".join(MATRICES), "untuned")
    parser.add("--ranks", "1,2,4,16", "untuned")
    parser.add("--k", 32, "untuned")
    parser.add("--again", False, "untuned: predict anew, keep the times", action="store_true")
    parser.add("--least", 0.6, "untuned")
    parser.add("--most", 1.7, "untuned")
    o = parser.parse_args()
    os.makedirs(o.folder, exist_ok=True)
    return modes[o.mode](o)


if __name__ == "__main__":
    common.start(main)
