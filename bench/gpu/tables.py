#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON lines of bench/gpu/run.sh and sets CoLa's times beside them: bench/gpu/tables.py FOLDER prints short
tables; bench/report.py makes the ones of docs/PERFORMANCE.md from the same functions."""
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def read_lines(path):
    """Objects of a file of JSON lines; a last line that was cut off is left out."""
    records = []
    if not os.path.exists(path):
        return records
    with open(path) as stream:
        for line in stream:
            try:
                records.append(json.loads(line))
            except ValueError:
                break
    return records


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def load(folder):
    """{"machine", "spmm": [...], "ranks": [...]} of one run; ranks' cases have cola_ms, where it was measured on the same kind of GPU, speedup and
    so on added."""
    with open(os.path.join(folder, "machine.json")) as stream:
        machine = json.load(stream)
    spmm = [r for r in read_lines(os.path.join(folder, "spmm_gpu.jsonl")) if r["record"] == "case"]
    ranks = [r for r in read_lines(os.path.join(folder, "ranks_gpu.jsonl")) if r["record"] == "case"]
    with open(os.path.join(HERE, "anchors.json")) as stream:
        kept = json.load(stream)
    anchors = {(a["matrix"], a["k"], a["gpus"]): a["ms"] for a in kept["cola_ms"] if kept["gpu"] == machine["gpu"]}
    one = {(r["matrix"], r["k"]): r["sley"]["ms"]["median"] for r in ranks if r["gpus"] == 1}
    for r in ranks:
        ms = r["sley"]["ms"]["median"]
        r["ms"] = ms
        r["cola_ms"] = anchors.get((r["matrix"], r["k"], r["gpus"]))
        r["x_cola"] = r["cola_ms"] / ms if r["cola_ms"] else None
        r["x_broadcast"] = r["broadcast"]["ms"]["median"] / ms
        r["speedup"] = one[r["matrix"], r["k"]] / ms if (r["matrix"], r["k"]) in one else None
        floor = max(r["local"]["ms"]["median"], r["gather"]["ms"]["median"])
        r["over_floor"] = ms / floor if floor > 0 else None
    ablation = [r for r in read_lines(os.path.join(folder, "ablation.jsonl")) if r["record"] == "ablation"]
    predictions = [r for r in read_lines(os.path.join(folder, "predictions.jsonl")) if r["record"] == "prediction"]
    plans = [r for r in read_lines(os.path.join(folder, "plan_gpu.jsonl")) if r["record"] == "plan"]
    return {"machine": machine, "spmm": spmm, "ranks": ranks, "ablation": ablation, "predictions": predictions, "plans": plans}


def spmm_rows(cases):
    """matrix, k, dtype, Sley ms, cuSPARSE ms, its algorithm, ratio, inspection in products (without, with the copy of A),
    cuSPARSE's preprocessing in its products, None where it is not known."""
    rows = []
    for r in cases:
        if "sley" not in r or "best" not in r:
            continue
        sley, rival = r["sley"], r["cusparse_" + r["best"]]
        ms = sley["ms"]["median"]
        rows.append((r["matrix"], r["k"], r["dtype"], ms, rival["ms"]["median"], r["best"], r["ratio"],
                     (sley["plan_ms"] - r["upload_ms"]) / ms, sley["plan_ms"] / ms,
                     rival["preprocess_ms"] / rival["ms"]["median"] if "preprocess_ms" in rival else None))
    return rows


def spmm_dtypes(rows):
    """Those that there are rows of, in order of appearance."""
    return list(dict.fromkeys(row[2] for row in rows))


def spmm_summary(rows):
    """For each dtype: cases, geometric mean, worst ratio and its case, most inspection."""
    lines = []
    for dtype in spmm_dtypes(rows):
        mine = [row for row in rows if row[2] == dtype]
        worst = min(mine, key=lambda row: row[6])
        lines.append(f"{dtype}: {len(mine)} cases, geometric mean {geomean([row[6] for row in mine]):.2f} times the best cuSPARSE, "
                     f"worst {worst[6]:.2f} ({worst[0]}, k = {worst[1]}); inspection at most {max(row[7] for row in mine):.1f} "
                     f"products, {max(row[8] for row in mine):.1f} with the copy of A.")
    return lines


def number(value, form):
    return "" if value is None else format(value, form)


def ranks_summary(cases):
    """For each number of GPUs: geometric mean and worst against CoLa and the broadcasts, slowest gather, worst over floor."""
    lines = []
    for gpus in dict.fromkeys(r["gpus"] for r in cases if r["gpus"] > 1):
        mine = [r for r in cases if r["gpus"] == gpus]
        cola = [r["x_cola"] for r in mine if r["x_cola"]]
        text = f"{gpus} GPUs: "
        if cola:
            text += f"{geomean(cola):.2f} times CoLa (worst {min(cola):.2f}), "
        rival = [r["x_broadcast"] for r in mine]
        text += f"{geomean(rival):.2f} times NCCL broadcasts with cuSPARSE (worst {min(rival):.2f}); "
        text += f"slowest gather {min(r['gather_gb_s'] for r in mine):.0f} GB/s a GPU; "
        text += f"time at most {max(r['over_floor'] or 0 for r in mine):.2f} times the longer of local part and gather"
        speedup = [r["speedup"] for r in mine if r["speedup"]]
        if speedup:
            text += f"; {min(speedup):.2f} to {max(speedup):.2f} times one GPU"
        lines.append(text + ".")
    cola = [r["x_cola"] for r in cases if r["gpus"] > 1 and r["x_cola"]]
    if len({r["gpus"] for r in cases if r["gpus"] > 1}) > 1 and cola:
        lines.append(f"All of several GPUs: {geomean(cola):.2f} times CoLa (worst {min(cola):.2f}).")
    return lines


def predictions_summary(cases):
    """How often the choice was within 10 % of the best, and predicted times within 25 % of those measured."""
    near = sum(c["choice_ms"] <= 1.1 * min(a["ms"] for a in c["algorithms"].values()) for c in cases)
    each = [a for c in cases for a in c["algorithms"].values()]
    right = sum(abs(a["predicted_ms"] - a["ms"]) <= 0.25 * a["ms"] for a in each)
    return f"auto's choice is within 10 % of the best in {near} of {len(cases)} cases; {right} of {len(each)} predictions are within 25 %."


def ablation_cases(lines):
    """((matrix, k), its lines in order) of each case."""
    keys = dict.fromkeys((r["matrix"], r["k"]) for r in lines)
    return [(key, [r for r in lines if (r["matrix"], r["k"]) == key]) for key in keys]


def ablation_table(lines):
    """A line for each step: median and spread (least to 95 %), MiB by link class, messages, and how many times as fast as the
    step before; or why it is missing."""
    text = ["Two workgroups of two GPUs, joined by sockets",
            f"{'matrix':6} {'k':>4} {'step':15} {'ms':>10} {'min':>10} {'p95':>10} {'runs':>4} {'self MiB':>9} {'direct MiB':>10} "
            f"{'message MiB':>11} {'messages':>9} {'x before':>8}"]
    for (matrix, k), mine in ablation_cases(lines):
        before = None
        for r in mine:
            if "missing" in r:
                text.append(f"{matrix:6} {k:4} {r['algo']:15} missing: {' '.join(r['missing'].split())[:200]}")
                before = None
                continue
            mib = [r[link + "_bytes"] / 2**20 for link in ("self", "direct", "message")]
            gain = f"{before / r['ms']:8.2f}" if before else ""
            text.append(f"{matrix:6} {k:4} {r['algo']:15} {r['ms']:10.3f} {r['min_ms']:10.3f} {r['p95_ms']:10.3f} {r['repeats']:4} "
                        f"{mib[0]:9.2f} {mib[1]:10.2f} {mib[2]:11.2f} {r['messages']:9} {gain:>8}"
                        + ("" if r["ok"] is not False else "  WRONG"))
            before = r["ms"]
    return text


def ablation_summary(lines):
    """For each matrix: whether each step was no slower than the one before, in the median and in every round, and cover beside
    halo-pipelined by time and by bytes over message links."""
    text = []
    for (matrix, k), every in ablation_cases(lines):
        mine = [r for r in every if "missing" not in r]
        slower = [b["algo"] + ("" if min(b.get("round_ms", [b["ms"]])) > max(a.get("round_ms", [a["ms"]])) else " (within the rounds' spread)")
                  for a, b in zip(mine, mine[1:]) if b["ms"] > a["ms"]]
        line = f"{matrix}, k = {k}: " + ("slower than the step before: " + ", ".join(slower) if slower else "no step is slower than the one before")
        if len(mine) < len(every):
            line += "; missing: " + ", ".join(r["algo"] for r in every if "missing" in r)
        by_name = {r["algo"]: r for r in mine}
        if "cover" in by_name and "halo-pipelined" in by_name:
            cover, halo = by_name["cover"], by_name["halo-pipelined"]
            if halo["message_bytes"] > 0:
                line += (f"; cover takes {cover['ms'] / halo['ms']:.2f} of halo-pipelined's time and "
                         f"{cover['message_bytes'] / halo['message_bytes']:.2f} of its bytes between workgroups")
        text.append(line + ".")
    return text


def main():
    run = load(sys.argv[1])
    rows = spmm_rows(run["spmm"])
    for dtype in spmm_dtypes(rows):
        print(f"One GPU beside the best cuSPARSE algorithm, {dtype}")
        for row in (row for row in rows if row[2] == dtype):
            print(f"{row[0]:5} {row[1]:4} {row[2]:5} sley {row[3]:9.4f} ms  cusparse {row[4]:9.4f} ({row[5]:7})  ratio {row[6]:5.2f}"
                  f"  inspection {row[7]:6.1f}")
    for line in spmm_summary(rows):
        print(line)
    if run["ranks"]:
        print("Several GPUs")
        for r in run["ranks"]:
            print(f"{r['matrix']:5} {r['k']:4} {r['gpus']} GPUs  {r['ms']:8.4f} ms (steady {r['sley']['steady_ms']:8.4f})  local "
                  f"{r['local']['ms']['median']:8.4f}  gather {r['gather']['ms']['median']:8.4f} ({r['gather_gb_s']:5.1f} GB/s)  "
                  f"over floor {number(r['over_floor'], '5.2f')}  x cola {number(r['x_cola'], '5.2f'):5}  x broadcast "
                  f"{r['x_broadcast']:5.2f}  x one GPU {number(r['speedup'], '5.2f')}")
        print("\n".join(ranks_summary(run["ranks"])))
    for r in run["plans"]:
        print(f"a plan of {r['matrix']}, k {r['k']}, {r['ranks']} GPUs ({r['algo']}): {r['plan_ms']['median']:.1f} ms ({r['plan_ms']['min']:.1f} to "
              f"{r['plan_ms']['max']:.1f})")
    if run["predictions"]:
        print(predictions_summary(run["predictions"]))
    if run["ablation"]:
        print("\n".join(ablation_table(run["ablation"])))
        print("\n".join(ablation_summary(run["ablation"])))


if __name__ == "__main__":
    main()
