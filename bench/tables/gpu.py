# SPDX-License-Identifier: Apache-2.0
"""Tables of bench/results/gpu-*, which bench/gpu/run.sh writes: one GPU compared with cuSPARSE, several with NCCL broadcasts
and CoLa, plans, two workgroups joined by sockets, and predictions."""
import os

from tables import geomean, load as read, number, read_lines, table

ANCHORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpu", "anchors.json")


def load(folder):
    """{"machine", "spmm": [...], "ranks": [...]} of one run. Cases of ranks also get cola_ms, if it was measured on the same kind
    of GPU, speedup and so on."""
    machine = read(folder, "machine.json")
    spmm = [r for r in read_lines(os.path.join(folder, "spmm_gpu.jsonl")) if r["record"] == "case"]
    ranks = [r for r in read_lines(os.path.join(folder, "ranks_gpu.jsonl")) if r["record"] == "case"]
    kept = read(ANCHORS)
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
    cuSPARSE's preprocessing in its products; None if not known."""
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
    """The dtypes of the rows, in order of appearance."""
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


def ranks_summary(cases):
    """For each number of GPUs: geometric mean and worst ratio to CoLa and to the broadcasts, slowest gather, worst ratio to the
    floor."""
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
    """How often the choice was within 10 % of the best, and predicted times within 25 % of measured ones."""
    near = sum(c["choice_ms"] <= 1.1 * min(a["ms"] for a in c["algorithms"].values()) for c in cases)
    each = [a for c in cases for a in c["algorithms"].values()]
    right = sum(abs(a["predicted_ms"] - a["ms"]) <= 0.25 * a["ms"] for a in each)
    return f"auto's choice is within 10 % of the best in {near} of {len(cases)} cases; {right} of {len(each)} predictions are within 25 %."


def ablation_cases(lines):
    """((matrix, k), its lines in order) of each case."""
    keys = dict.fromkeys((r["matrix"], r["k"]) for r in lines)
    return [(key, [r for r in lines if (r["matrix"], r["k"]) == key]) for key in keys]


def ablation_summary(lines):
    """For each matrix: whether each step was no slower than the previous one, in the median and in every round, and cover
    relative to halo-pipelined by time and by bytes over message links."""
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


def blocks_too(cases):
    """Text about BSR and Blocked-ELL, which are rivals in results whose cases list the rivals left out."""
    if not any("left_out" in c for c in cases):
        return ""
    return (", and its products for BSR (blocks of 4 to 32) and Blocked-ELL (8 to 32) where these hold less than 8 values an "
            "entry, whose preprocessing is the way from CSR")


def single(cases):
    rows = spmm_rows(cases)
    if not rows:
        return
    print("## One GPU beside cuSPARSE\n")
    print("Each time is the median of alternating runs on one stream. cuSPARSE: the fastest of `CUSPARSE_SPMM_ALG_DEFAULT` and "
          "`CSR_ALG1` to `3`, each with `cusparseSpMM_preprocess`, row-major operands" + blocks_too(cases) + ". Inspection: making the plan, in products, "
          "with the copy of A to the GPU and less the time that cudaMemcpy takes for it from ordinary memory: below 0 where Sley, whose "
          "plans copy by way of pinned buffers, is done before. Preprocessing likewise in cuSPARSE's products.\n")
    for dtype in spmm_dtypes(rows):
        mine = [r for r in rows if r[2] == dtype]
        print(spmm_summary(mine)[0] + "\n")
        table(["matrix", "k", "type", "Sley ms", "cuSPARSE ms", "its algorithm", "x cuSPARSE", "inspection", "with copy",
               "preprocessing"],
              [[r[0], r[1], r[2], f"{r[3]:.4f}", f"{r[4]:.4f}", r[5], f"{r[6]:.2f}", f"{r[7]:.1f}", f"{r[8]:.1f}", number(r[9], ".1f")]
               for r in mine])


def several(cases):
    if not cases:
        return
    anchors = read(ANCHORS)
    print("## Several GPUs of one host, one process\n")
    print("f32, equal row blocks. ms: of the slowest rank, from a barrier on; steady: a product's share of many enqueued one after "
          "the other. Local: the plan's local parts alone, all GPUs at once; gather: its exchange alone, and its rate on the slowest "
          "GPU, from the start until its own rows are there. Plan: what sley_plan_create takes on the slowest rank, once, with "
          "the copy of A from ordinary memory. Broadcast: NCCL broadcasts with the best cuSPARSE algorithm, all of X first or stage by stage, the faster."
          + (f" CoLa: times kept in `bench/gpu/anchors.json`: {anchors['source']}" if any(r["cola_ms"] for r in cases) else "") + "\n")
    for line in ranks_summary(cases):
        print(line + "\n")
    table(["matrix", "k", "GPUs", "algorithm", "ms", "steady", "local", "gather", "GB/s", "x longer of both", "halo MiB", "plan",
           "broadcast ms", "x broadcast", "CoLa ms", "x CoLa", "x one GPU"],
          [[r["matrix"], r["k"], r["gpus"], r["algo"], f"{r['ms']:.4f}", f"{r['sley']['steady_ms']:.4f}",
            f"{r['local']['ms']['median']:.4f}", f"{r['gather']['ms']['median']:.4f}", f"{r['gather_gb_s']:.0f}",
            number(r["over_floor"], ".2f"), f"{r['halo_bytes'] / 2**20:.1f}", f"{r['plan_ms']:.1f}",
            f"{r['broadcast']['ms']['median']:.4f} ({r['rival']})", f"{r['x_broadcast']:.2f}",
            number(r["cola_ms"], ".3f"), number(r["x_cola"], ".2f"), number(r["speedup"], ".2f")]
           for r in cases])


def plans(cases):
    if not cases:
        return
    print("## What plans take on GPUs\n")
    print("`bench/gpu/bench_plan_gpu.cu`: medians of the slowest rank, their range, and a product's share of many. f32, equal row blocks; the first plan, which "
          "loads modules, does not count.\n")
    table(["matrix", "k", "GPUs", "algorithm", "plans", "plan ms", "range", "product ms"],
          [[r["matrix"], r["k"], r["ranks"], r["algo"], r["plans"], f"{r['plan_ms']['median']:.1f}",
            f"{r['plan_ms']['min']:.1f} to {r['plan_ms']['max']:.1f}", f"{r['ms']:.4f}"] for r in cases])


def ablation(lines):
    if not lines:
        return
    print("## Two workgroups of two GPUs, joined by sockets\n")
    print("Four processes over NCCL, two of each of the hosts that NCCL_HOSTID makes of one: between the groups only sockets, inside "
          "direct loads. Each step adds one idea to the one before. f32, median of the rounds' medians, and the range of all runs to 95 %. "
          "Between two workgroups halo-pipelined has one stage: it is then the plan of halo-coalesced, step for step, and what "
          "differs between the two is what sockets bring from one communicator to the next.\n")
    for line in ablation_summary(lines):
        print(line + "\n")
    rows, before = [], {}
    for r in lines:
        case = r["matrix"], r["k"]
        if "missing" in r:
            rows.append([*case, r["algo"], "missing", "", "", "", "", "", ""])
            continue
        rows.append([*case, r["algo"], f"{r['ms']:.3f}", f"{r['min_ms']:.3f} to {r['p95_ms']:.3f}", r["repeats"],
                     f"{r['direct_bytes'] / 2**20:.1f}", f"{r['message_bytes'] / 2**20:.1f}", r["messages"],
                     f"{before[case] / r['ms']:.2f}" if case in before else ""])
        before[case] = r["ms"]
    table(["matrix", "k", "step", "ms", "range", "runs", "direct MiB", "message MiB", "messages", "x step before"], rows)


def predictions(cases):
    if not cases:
        return
    print("## The planner's choices and predictions on GPUs\n")
    print("`bench/predict.py gpus`: predicted by what `sley tune --device cuda` measured there, f32; predicted / measured ms. "
          + predictions_summary(cases) + "\n")
    names = list(cases[0]["algorithms"])
    table(["matrix", "GPUs", "k", "choice", *names],
          [[c["matrix"], c["gpus"], c["k"], c["choice"],
            *[f"{a['predicted_ms']:.3f} / {a['ms']:.3f}" for a in (c["algorithms"][name] for name in names)]] for c in cases])


def report(folder):
    run = load(folder)
    machine = run["machine"]
    nccl = next((r["version"] for r in read_lines(os.path.join(folder, "ranks_gpu.jsonl")) if r["record"] == "nccl"), None)
    print("# GPUs\n")
    print(f"{machine['gpus']} x {machine['gpu']}, {machine['memory']}, driver {machine['driver']}, CUDA {machine['nvcc']}"
          f"{f', NCCL {nccl}' if nccl else ''}; commit {machine['commit']}, {machine['time']}; `bench/gpu/run.sh`. Every product is "
          f"verified.{' ' + machine['note'] if 'note' in machine else ''}\n")
    single(run["spmm"])
    several(run["ranks"])
    plans(run["plans"])
    ablation(run["ablation"])
    predictions(run["predictions"])


LINK = 330.0  # GB/s of one pair of H200: the most that pulls of whole rows have reached


def overlap_case(one, two, link):
    """How well a case on two GPUs hides its exchange, from the records of one GPU and of two: ms of both; time relative to the longer
    of half the time on one and of the halo at link GB/s; share of the halo in that half; broadcasts relative to Sley."""
    alone, both = (r["sley"]["ms"]["median"] for r in (one, two))
    halo = two["halo_bytes"] / 2 / link / 1e6
    return {"one": alone, "two": both, "bound": both / max(alone / 2, halo), "share": 2 * halo / alone,
            "broadcast": two["broadcast"]["ms"]["median"] / both}


def overlap_cases(path, link=LINK):
    """The environment of a file of bench/gpu/overlap.py, and its cases by (graph, dtype, k)."""
    records = read_lines(path)
    by = {(r["matrix"], r["dtype"], r["k"], r["gpus"]): r for r in records if r["record"] == "case"}
    cases = {key[:3]: overlap_case(by[key[:3] + (1,)], r, link) for key, r in by.items() if key[3] == 2 and key[:3] + (1,) in by}
    return next(r for r in records if r["record"] == "environment"), cases


def overlap(folder):
    """Drawn graphs and widths on two GPUs, by bench/gpu/overlap.py."""
    print("# Two GPUs on drawn graphs\n")
    print(f"`bench/gpu/overlap.py`: graphs and widths are drawn by a seed that was not used for tuning, and every product is verified. A product on two GPUs "
          f"takes at least half of the time on one, and at least as long as its halo at {LINK:g} GB/s, the rate of a link. Bound: time relative to the longer of "
          "the two. Halo: the halo's time relative to that half. Broadcasts: NCCL broadcasts of X with the fastest product of cuSPARSE, relative to Sley.\n")
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".jsonl")):
        machine, cases = overlap_cases(os.path.join(folder, name))
        bound, rival = [c["bound"] for c in cases.values()], [c["broadcast"] for c in cases.values()]
        print(f"{machine['gpu']}, commit {machine['commit']}: {len(cases)} cases; bound: geometric mean {geomean(bound):.2f}, worst {max(bound):.2f}; broadcasts: "
              f"geometric mean {geomean(rival):.2f}, worst {min(rival):.2f}.\n")
        print("| graph | type | k | one GPU, ms | two, ms | speed-up | bound | halo | broadcasts |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for (graph, dtype, k), c in cases.items():
            print(f"| {graph} | {dtype} | {k} | {c['one']:.3f} | {c['two']:.3f} | {c['one'] / c['two']:.2f} | {c['bound']:.2f} | {c['share']:.2f} | "
                  f"{c['broadcast']:.2f} |")
        print()


def old_and_new(folder):
    """Effect of rearranging the sources, measured once."""
    print("# Before and after the sources were rearranged\n")
    print("Old is commit 8e4873c, new the commit named in the files; both ran in one run, alternating. `old_and_new.jsonl` has one and two H200s (cyt, spk, "
          "clj; k = 32, 128): the times of products that follow each other differ by at most 0.6 %. `refactoring.json` has CPU products (least of 36): `halo` "
          "read in place on four ranks of four threads takes 1.14 times as long as before (8.4 to 7.4 ms), and `halo-pipelined` 1.06 times, the price of the same "
          "bits on every transport; the others lie between 0.96 and 1.02. It also has planning on GPUs, `summa-2d`, and `sley_plan_set_values` (2.2 % of a new "
          "plan; 3.7 % for A^T).\n")
