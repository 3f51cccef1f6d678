#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is the planner right? For twins x k x ranks: the time of auto's choice beside the best algorithm's, and every
algorithm's predicted time beside its measured one, from `sley plan --measure`.
Usage: planner.py SLEY OUT.json [--scale S] [--budget-minutes M]; SLEY_MACHINE names the machine's description."""
import argparse
import json
import subprocess
import sys
import time

TWINS, WIDTHS, RANKS = ("cyt", "clj", "prd"), (16, 64, 128), (2, 4)


def run_case(sley, matrix, k, ranks):
    command = [sley, "plan", matrix, "--k", str(k), "--ranks", str(ranks), "--workgroup", str(max(1, ranks // 2)),
               "--threads", "1", "--device", "cpu", "--measure", "--json", "-"]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    times = {a["algo"]: (a["predicted_ms"], a["measured_ms"]) for a in found["algorithms"] if a.get("measured_ms")}
    best = min(times, key=lambda a: times[a][1])
    choice = found["choice"]["algo"]
    return {"matrix": matrix, "k": k, "ranks": ranks, "machine": found["machine"], "choice": choice, "best": best,
            "choice_ms": times[choice][1], "best_ms": times[best][1], "predicted_ms": times[choice][0],
            "algorithms": {a: {"predicted_ms": p, "measured_ms": m} for a, (p, m) in times.items()}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sley")
    parser.add_argument("out")
    parser.add_argument("--scale", type=float, default=0.05)
    parser.add_argument("--budget-minutes", type=float, default=30)
    options = parser.parse_args()
    cases, start = [], time.monotonic()
    print("| matrix | k | ranks | choice | ms | best | ms | choice/best | predicted/measured |\n|---|" + "---|" * 8)
    for ranks in RANKS:
        for k in WIDTHS:
            for twin in TWINS:
                if time.monotonic() - start > 60 * options.budget_minutes:
                    continue
                c = run_case(options.sley, f"twin:{twin}:scale={options.scale}", k, ranks)
                cases.append(c)
                print(f"| {twin} | {k} | {ranks} | {c['choice']} | {c['choice_ms']:.3f} | {c['best']} | {c['best_ms']:.3f} "
                      f"| {c['choice_ms'] / c['best_ms']:.2f} | {c['predicted_ms'] / c['choice_ms']:.2f} |", flush=True)
    near = sum(c["choice_ms"] <= 1.1 * c["best_ms"] for c in cases)
    ratios = [a["predicted_ms"] / a["measured_ms"] for c in cases for a in c["algorithms"].values()]
    within = sum(0.75 <= r <= 1.25 for r in ratios)
    chosen = sum(0.75 <= c["predicted_ms"] / c["choice_ms"] <= 1.25 for c in cases)
    print(f"\nchoice within 10 % of the best: {near} of {len(cases)}; predictions within 25 %: of the choice {chosen} of "
          f"{len(cases)}, of all algorithms {within} of {len(ratios)}")
    with open(options.out, "w") as file:
        json.dump({"scale": options.scale, "cases": cases, "near": near, "choice_within": chosen, "within": within,
                   "predictions": len(ratios)}, file, indent=1)
        file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
